"""Several descriptors that the event loop knows as one: to listen and to stop costs a call each, not one for each."""

import asyncio
import selectors
from collections.abc import Callable
from contextlib import suppress
from typing import Any


class Ears:
    """Calls what reads a descriptor when something has come; only while they are open."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._number = self._selector.fileno()
        self._open = False

    def add(self, descriptor: int, read: Callable[[], Any]) -> None:
        """Hear of one more descriptor."""
        self._selector.register(descriptor, selectors.EVENT_READ, read)

    def drop(self, descriptor: int) -> None:
        """Hear of it no more; it has to be open still."""
        with suppress(KeyError):
            self._selector.unregister(descriptor)

    def open(self) -> None:
        """Listen; without effect once all of it is closed."""
        if not self._open and self._number >= 0:
            self._open = True
            asyncio.get_running_loop().add_reader(self._number, self._hear)

    def pause(self) -> None:
        """Leave what comes from now on where it is."""
        if self._open:
            self._open = False
            asyncio.get_running_loop().remove_reader(self._number)

    def close(self) -> None:
        """Let go of all descriptors."""
        self.pause()
        if self._number >= 0:
            self._number = -1
            self._selector.close()

    def _hear(self) -> None:
        for key, _ in self._selector.select(0):
            if not self._open:
                return
            key.data()
