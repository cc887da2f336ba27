"""The lock of a thread, as the command and the Python API hold it: with little patience."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from graph.checkpoints.thread_lock import Hold, ThreadHeldError, holding
from graph.settings import Settings
from stepwell.errors import ThreadError

PATIENCE = 0.3
"""Seconds: `anybody_at_work` in another process holds each lock for a moment only to look."""


@asynccontextmanager
async def alone_on(thread: str, settings: Settings) -> AsyncIterator[Hold]:
    """Hold a thread for the time of the block.

    Raises:
        ThreadError: somebody else holds it.
        SettingsError: the data folder or the database cannot be used.
    """
    try:
        async with holding(thread, settings, patience=PATIENCE) as hold:
            yield hold
    except ThreadHeldError as error:
        raise ThreadError(str(error)) from None
