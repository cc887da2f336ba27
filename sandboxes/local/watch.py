"""When the first process of a sandbox looks at the limits: it is told of cells that take a while, not of each one."""

import asyncio
from collections.abc import Callable

AFTER_SECONDS = 0.02
"""How long a cell has run when its limits begin to be watched; what is looked at changes more slowly than that."""
SETTLE_SECONDS = 0.2
"""When it is looked for what short cells left running."""


class Watch:
    """The watch over one sandbox.

    Args:
        tell: Tells its first process whether a cell runs; it looks for what goes on when one has ended.
    """

    def __init__(self, tell: Callable[[bool], None]) -> None:
        self._tell = tell
        self._beginning: asyncio.TimerHandle | None = None
        self._settling: asyncio.TimerHandle | None = None
        self._told = False
        """Whether it watches a cell now."""

    def cell(self, runs: bool) -> None:
        """A cell begins, or has ended."""
        loop = asyncio.get_running_loop()
        if runs:
            self._beginning = loop.call_later(AFTER_SECONDS, self._begin)
            return
        if self._beginning is not None:
            self._beginning.cancel()
            self._beginning = None
        if self._told:
            self._told = False
            self._tell(False)
        elif self._settling is None:
            self._settling = loop.call_later(SETTLE_SECONDS, self._settle)

    def _begin(self) -> None:
        if self._beginning is not None:
            self._beginning.cancel()
            self._beginning = None
        self._told = True
        self._tell(True)

    def _settle(self) -> None:
        self._settling = None
        if self._beginning is not None:
            self._begin()
        elif not self._told:
            self._tell(False)
