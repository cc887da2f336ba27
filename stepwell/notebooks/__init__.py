"""Notebooks that become threads: reading them, translating what only IPython knows, and running their cells."""
