"""A Jupyter kernel: cells of notebooks run in a walled session, and each is a step."""
