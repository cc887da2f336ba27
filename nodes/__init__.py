"""One step, one file, one function."""
