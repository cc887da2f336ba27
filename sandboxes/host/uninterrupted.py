"""Work that is done to its end although whoever waits for it is cancelled."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def to_its_end(work: Awaitable[T]) -> T:
    """Wait for what must not be left half done; who is cancelled meanwhile, even twice, leaves when it is done.

    Raises:
        CancelledError: the waiting was cancelled; the work was done, and what came of it is not told.
        Exception: whatever the work raises.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return task.result()
    if not task.cancelled():
        task.exception()  # nobody is there any more to hear of it
    raise cancelled
