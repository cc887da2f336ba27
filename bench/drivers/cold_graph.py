"""The served graph with sandboxes that start cold: each imports its packages anew, and none waits to be asked for.

A server is told to serve this in the place of `graph.app`; nothing else is different.
"""

from typing import Any

from graph.app import agent
from sandboxes.local import zygote
from sandboxes.local.isolation import Walls


class ColdParents(zygote.WarmParents):
    """A parent of its own for each sandbox; several are started at the same time."""

    def begin(self, walls: Walls, order: dict[str, Any]) -> zygote.Ready:
        """Start a parent, and have it fork the one sandbox that it is for."""
        return self.begin_alone(walls, (), order)

    def refill(self, walls: Walls) -> None:
        """Nothing is made ready."""


zygote.POOL = 0
zygote.PARENTS.__class__ = ColdParents  # whoever uses them holds this very object

__all__ = ["agent"]
