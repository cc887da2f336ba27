"""How a server shuts down when it is asked to: running steps may finish, the rest is paused, and nothing is lost.

The signal itself begins it. Web servers wait for their open connections before they tell an application that it ends,
and clients keep theirs open until their runs are over.
"""

import asyncio
import logging
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import FrameType
from typing import Any

from graph.drain import Drain
from sandboxes.base import SandboxError
from sandboxes.opening import Sandboxes
from server.open_requests import Connections

PATIENCE = {signal.SIGTERM: None, signal.SIGINT: 0.0}
"""Seconds that cells may still take; None: as configured. Who presses Ctrl-C does not want to wait."""

logger = logging.getLogger(__name__)


@asynccontextmanager
async def graceful_shutdown(draining: Drain, sandboxes: Sandboxes, connections: Connections) -> AsyncIterator[None]:
    """For the life of a server: drain it when it is asked to end, and put its sandboxes to sleep in the end."""
    loop = asyncio.get_running_loop()
    drains: list[asyncio.Task[None]] = []

    def drain() -> None:
        if not drains:
            drains.append(loop.create_task(_drained(draining, connections)))

    def asked(number: int) -> None:
        draining.begin(PATIENCE[signal.Signals(number)])
        loop.call_soon_threadsafe(drain)

    before = _listen(asked)
    try:
        yield
    finally:
        draining.begin()
        drain()
        await asyncio.gather(*drains)
        for number, handler in before.items():
            signal.signal(number, handler)
        try:
            await sandboxes.close_all()
        except (SandboxError, OSError) as error:
            logger.warning("A sandbox could not be put to sleep (%s); its thread can be resumed.", error)


async def _drained(draining: Drain, connections: Connections) -> None:
    await draining.over()
    await connections.let_go(draining.seconds_left)


def _listen(asked: Any) -> dict[signal.Signals, Any]:
    """Handle signals before those that handle them now do; signals without a handler of Python's are left alone.

    Returns:
        Who handled them.
    """
    before: dict[signal.Signals, Any] = {}
    if threading.current_thread() is not threading.main_thread():
        return before

    def hear(number: int, frame: FrameType | None) -> None:
        asked(number)
        before[signal.Signals(number)](number, frame)

    for number in PATIENCE:
        handler = signal.getsignal(number)
        if callable(handler) and handler is not signal.default_int_handler:
            before[number] = handler
            signal.signal(number, hear)
    return before
