"""Stands before pip: `python -m pip` in a sandbox installs into the analysis's own folder."""
