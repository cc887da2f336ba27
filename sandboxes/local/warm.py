"""The warm parents of this process.

One for each Python and set of walls, shared by all event loops of this process. All functions block; call them in a
thread.
"""

import atexit
import threading
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from sandboxes.base import SandboxUnavailableError
from sandboxes.local.upkeep import later
from sandboxes.local.walls import Walls
from sandboxes.local.warm_parent import Ready, WarmParent

MAX_FORKS = 1_000
"""Sandboxes of one parent; they share the layout of its memory and the seed of its hashes."""
REFILL_SECONDS = 0.05
"""How long after a start the next one is made ready."""


class WarmParents:
    """The parents of this process, by what they are made for.

    Args:
        max_forks: How many sandboxes one parent forks.
    """

    def __init__(self, max_forks: int = MAX_FORKS) -> None:
        self._max_forks = max_forks
        self._parents: dict[Walls, WarmParent] = {}
        self._worn: list[WarmParent] = []
        self._turns: dict[Walls, threading.Lock] = {}
        self._refilling: set[Walls] = set()
        self._turn = threading.Lock()

    def start(self, walls: Walls) -> None:
        """Have a parent at hand.

        Raises:
            CannotWallInError: there cannot be one at that level.
            SandboxUnavailableError: its interpreter cannot be started.
        """
        with self._turn_of(walls):
            self._parent(walls)

    def begin(self, walls: Walls, order: dict[str, Any]) -> Ready:
        """Take a sandbox that is ready, and give it its order.

        Raises:
            CannotWallInError: there cannot be one at that level.
            SandboxUnavailableError: its interpreter cannot be started, or its parent died twice.
        """
        with self._turn_of(walls):
            for _ in range(2):
                parent = self._parent(walls)
                if (ready := parent.begin(order)) is not None:
                    return ready
                self._parents.pop(walls).close()
        raise SandboxUnavailableError("The program that starts sandboxes ended twice in a row; try again.")

    def begin_alone(self, walls: Walls, wrap: Sequence[str], order: dict[str, Any]) -> Ready:
        """Start a sandbox with a parent of its own, which ends with it.

        Args:
            walls: What the parent is made for.
            wrap: The command that walls it in.
            order: The sandbox's.

        Raises:
            CannotWallInError: the command does not do so.
            SandboxUnavailableError: its interpreter cannot be started, or the parent died.
        """
        parent = WarmParent(walls, wrap)
        try:
            ready = parent.begin(order)
            if ready is None:
                raise SandboxUnavailableError("The program that starts a sandbox ended at once; try again.")
        except BaseException:
            parent.close()
            raise
        with self._turn:
            self._worn.append(parent)
        return ready

    def refill_later(self, walls: Walls) -> None:
        """Have the next sandboxes ready, a little later: the one that has just begun has a first cell to run."""
        with self._turn:
            if walls in self._refilling:
                return
            self._refilling.add(walls)
        later(partial(self._refill_later, walls))

    def _refill_later(self, walls: Walls) -> None:
        time.sleep(REFILL_SECONDS)
        with self._turn:
            self._refilling.discard(walls)
        self.refill(walls)

    def refill(self, walls: Walls) -> None:
        """Have the next sandboxes ready."""
        with self._turn_of(walls):
            parent = self._parents.get(walls)
            if parent is not None and parent.forks < self._max_forks:
                parent.refill()

    def ended(self, ready: Ready) -> None:
        """A sandbox has ended; the last one of a worn parent takes the parent with it."""
        with self._turn:
            parent = ready.parent
            if parent is None:
                return
            ready.parent, parent.sandboxes = None, parent.sandboxes - 1
            parent.ended(ready)
            gone = parent in self._worn and not parent.sandboxes
            if gone:
                self._worn.remove(parent)
        if gone:  # whoever tells of the end may be an event loop, and this waits for processes to be gone
            threading.Thread(target=parent.close, name="stepwell-parent").start()

    def _parent(self, walls: Walls) -> WarmParent:
        parent = self._parents.get(walls)
        if parent is not None and not parent.alive:
            self._parents.pop(walls).close()
            parent = None
        if parent is not None and parent.forks >= self._max_forks:
            self._retire(self._parents.pop(walls))
            parent = None
        if parent is None:
            parent = self._parents[walls] = WarmParent(walls)
        return parent

    def _retire(self, parent: WarmParent) -> None:
        """Let a parent go on until its last sandbox has ended."""
        with self._turn:
            busy = bool(parent.sandboxes)
            if busy:
                self._worn.append(parent)
        if not busy:
            parent.close()

    def _turn_of(self, walls: Walls) -> threading.Lock:
        with self._turn:
            return self._turns.setdefault(walls, threading.Lock())

    def close(self) -> None:
        """End all of them, with their sandboxes."""
        with self._turn:
            for parent in [*self._parents.values(), *self._worn]:
                parent.close()
            self._parents.clear()
            self._worn.clear()


PARENTS = WarmParents()
"""Those of this process."""
atexit.register(PARENTS.close)
