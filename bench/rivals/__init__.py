"""Sessions that other ways of keeping variables are measured with; they run in the rivals' Python, `.venv-rivals`."""
