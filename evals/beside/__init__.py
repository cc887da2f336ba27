"""Other agents that answer the same tasks at the same endpoint."""
