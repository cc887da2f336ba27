"""SIGINT: a KeyboardInterrupt in the user's code, at most one for each time it is allowed, and never in the kernel."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupts:
    """Says when an interrupt may reach the running code.

    One interrupt disarms: so an exception that is on its way out cannot be overtaken by a second one, and whatever
    the kernel does next is safe from it.
    """

    def __init__(self) -> None:
        self._armed = False
        self._waiting = False

    def install(self) -> None:
        """Make SIGINT ours (again: a cell may have changed it)."""
        signal.signal(signal.SIGINT, self._arrived)

    def _arrived(self, signum: int, frame: FrameType | None) -> None:
        if self._armed:
            self._armed = False
            raise KeyboardInterrupt
        self._waiting = True

    @property
    def waiting(self) -> bool:
        """Whether one has come that is kept waiting."""
        return self._waiting

    def forget(self) -> None:
        """Drop an interrupt that came between cells."""
        self._waiting = False

    def guard(self, call: Callable[[], None]) -> BaseException | None:
        """Call something that may be interrupted.

        Returns:
            What it raised, whatever that is, or None.
        """
        try:
            self._armed = True
            try:
                call()
            finally:
                self._armed = False
        except BaseException as raised:
            self._armed = False
            return raised
        return None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep an interrupt waiting until the end of the block: half a frame must not be written."""
        if not self._armed or threading.current_thread() is not threading.main_thread():
            yield
            return
        self._armed = False
        try:
            yield
        finally:
            self._armed = True  # first: one that comes between the two would wait for ever
            if self._waiting:
                self._armed = self._waiting = False
                raise KeyboardInterrupt
