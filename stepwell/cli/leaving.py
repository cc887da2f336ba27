"""Runs coroutines one after the other for a command that people talk to, and leaves on SIGTERM and SIGHUP.

A signal handler that raised while the event loop works would mostly be lost: the loop takes what a callback raises for
the callback's. So what runs is cancelled instead, as Ctrl-C does.
"""

import asyncio
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")


class LeftError(Exception):
    """The terminal went away, or somebody ended the command."""


class Leaving:
    """One event loop, and whether it is to be left."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self._runner = runner
        self._left = False
        self._running = False
        self._task: asyncio.Task[Any] | None = None

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end.

        Raises:
            KeyboardInterrupt: Ctrl-C; it was cancelled.
            LeftError: the command is to be left; it was cancelled.
        """
        self._running = True
        try:
            result = self._runner.run(self._watched(coroutine))
        except asyncio.CancelledError:
            if not self._left:
                raise
            raise LeftError from None
        finally:
            self._running, self._task = False, None
        if self._left:
            raise LeftError
        return result

    def clean_up(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run what has to be done in any case; signals that come meanwhile do not end it."""
        self._left = True
        self._runner.run(coroutine)

    async def _watched(self, coroutine: Coroutine[Any, Any, T]) -> T:
        self._task = asyncio.current_task()
        if self._left:
            coroutine.close()
            raise asyncio.CancelledError
        return await coroutine

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        """Leave on SIGTERM and SIGHUP."""
        before = {number: signal.signal(number, self._leave) for number in (signal.SIGTERM, signal.SIGHUP)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _leave(self, number: int, frame: FrameType | None) -> None:
        if self._left:
            return
        self._left = True
        if not self._running:
            raise LeftError
        if self._task is not None:
            self._task.get_loop().call_soon_threadsafe(self._task.cancel)
