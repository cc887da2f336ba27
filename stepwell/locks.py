"""The lock of a thread, as the command and the Python API hold it: with little patience."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from graph.checkpoints.thread_lock import ThreadHeldError, ThreadHold, hold_thread
from graph.settings import Settings
from stepwell.errors import ThreadError

PATIENCE = 0.3
"""Seconds: `any_thread_held` in another process holds each lock for a moment only to look."""


@asynccontextmanager
async def lock_thread(thread: str, settings: Settings) -> AsyncIterator[ThreadHold]:
    """Hold a thread for the time of the block.

    Raises:
        ThreadError: somebody else holds it.
        SettingsError: the data folder or the database cannot be used.
    """
    try:
        async with hold_thread(thread, settings, patience=PATIENCE) as hold:
            yield hold
    except ThreadHeldError as error:
        raise ThreadError(str(error)) from None
