"""Ending a process without loss: no further step begins, running steps may finish for a while, the rest is paused.

A run that is paused gives its thread back, so others can go on with it at once, and waits for the server to end it; who
starts it again goes on from its last checkpoint.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Never

from langgraph.runtime import RunControl

POLL_SECONDS = 0.05
BREAKING_SECONDS = 10.0
"""How long a run may take that was broken off: a cell that does not react to its interrupt within 3 s is killed."""


class RunInterruptedError(Exception):
    """The run was broken off, since its process ends; it can be resumed."""


@dataclass(eq=False, slots=True)
class ActiveRun:
    """A run that holds its thread."""

    control: RunControl = field(default_factory=RunControl)
    """Tells LangGraph to begin no further step."""
    broken_off: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """Done when the run has to stop in the middle of its step."""

    def interrupt(self) -> None:
        """Have it stop now; may be called from any thread."""
        self.broken_off.get_loop().call_soon_threadsafe(self._set)

    def _set(self) -> None:
        if not self.broken_off.done():
            self.broken_off.set_result(None)


class Drain:
    """Knows the runs of a process, and how it ends.

    Args:
        seconds: How long the steps that run may take to finish.
    """

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds
        self._until: float | None = None
        self._work: set[ActiveRun] = set()

    @property
    def begun(self) -> bool:
        """Whether the process is shutting down."""
        return self._until is not None

    @property
    def seconds_left(self) -> float:
        """How long running steps may still go on."""
        return self._seconds if self._until is None else max(self._until - time.monotonic(), 0.0)

    def begin(self, seconds: float | None = None) -> None:
        """Let no step begin from now on. May be called from a signal handler, from any thread, and more than once.

        Args:
            seconds: In the place of the configured time; of several calls the shortest time counts.
        """
        until = time.monotonic() + (self._seconds if seconds is None else seconds)
        self._until = until if self._until is None else min(self._until, until)
        for work in tuple(self._work):
            work.control.request_drain()

    @contextmanager
    def track_run(self) -> Iterator[ActiveRun]:
        """Count a run among those that must be waited for."""
        work = ActiveRun()
        self._work.add(work)
        if self.begun:
            work.control.request_drain()
        try:
            yield work
        finally:
            self._work.discard(work)

    async def over(self) -> None:
        """Wait until no run is at work; those that still are when the time is up are broken off."""
        while self._work and self.seconds_left > 0:  # noqa: ASYNC110 - runs may be in other threads' loops
            await asyncio.sleep(POLL_SECONDS)
        for work in tuple(self._work):
            work.interrupt()
        until = time.monotonic() + BREAKING_SECONDS
        while self._work and time.monotonic() < until:  # noqa: ASYNC110
            await asyncio.sleep(POLL_SECONDS)

    async def paused(self) -> Never:
        """Wait for the server to end this run, as one that it has to start again.

        If the run ended by itself, the server would call it failed or interrupted.
        """
        while True:
            await asyncio.get_running_loop().create_future()
