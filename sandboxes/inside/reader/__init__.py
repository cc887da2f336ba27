"""Reads what came out of a sandbox in a process of its own that can do nothing else. Standard library, and pyarrow."""
