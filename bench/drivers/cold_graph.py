"""The served graph with sandboxes that start cold: each imports its packages anew, and none waits to be asked for.

A server is told to serve this in the place of `graph.app`; nothing else is different.
"""

from typing import Any

from graph.app import agent
from sandboxes.local import zygote
from sandboxes.local.isolation import IsolationConfig


class ColdZygotes(zygote.ZygotePool):
    """A zygote of its own for each sandbox; several are started at the same time."""

    def begin(self, config: IsolationConfig, order: dict[str, Any]) -> zygote.ReadySandbox:
        """Start a zygote, and have it fork the one sandbox that it is for."""
        return self.begin_alone(config, (), order)

    def refill(self, config: IsolationConfig) -> None:
        """Nothing is made ready."""


zygote.WAITING = 0
zygote.ZYGOTES.__class__ = ColdZygotes  # whoever uses them holds this very object

__all__ = ["agent"]
