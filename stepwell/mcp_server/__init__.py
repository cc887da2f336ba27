"""Sessions for other people's agents: what a client of the Model Context Protocol sees of Stepwell."""
