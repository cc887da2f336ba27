"""Which chat model answers, and how its replies are read."""
