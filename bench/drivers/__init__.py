"""Ways to run cells, each driven in a process of its own, so that what it costs its host can be seen."""
