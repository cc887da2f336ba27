"""What a server adds to the graph: who is who, what is whose, files over HTTP, and what operators look at."""
