"""Modules: which were imported, what cells changed in those of the workspace, and those that no file made."""
