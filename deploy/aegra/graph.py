"""The graph for Aegra, which loads graphs from files: the very one that our routes and the end of the server know."""

from graph.app import agent

__all__ = ["agent"]
