"""Work that is not left half done: finished although its task is cancelled, or done in threads of the process."""

import asyncio
import concurrent.futures
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
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


log = logging.getLogger(__name__)
_THREADS = ThreadPoolExecutor(4, "stepwell-upkeep")
_AHEAD = ThreadPoolExecutor(1, "stepwell-looking")
_BESIDE = ThreadPoolExecutor(1, "stepwell-beside")
_UNDER_WAY: set[Future[None]] = set()


def later(work: Callable[[], object]) -> None:
    """Have it done in a thread, after what was asked for before; what it raises is logged."""
    _submit(_THREADS, work)


def soon(work: Callable[[], object]) -> None:
    """The same for what takes no time, and waits for nothing that does."""
    _submit(_AHEAD, work)


def beside(work: Callable[[], object]) -> None:
    """The same for what waits some milliseconds, and is of use only at once."""
    _submit(_BESIDE, work)


def _submit(threads: ThreadPoolExecutor, work: Callable[[], object]) -> None:
    try:
        doing = threads.submit(_do, work)
    except RuntimeError:  # the interpreter is ending, and takes with it what was to be kept up
        return
    _UNDER_WAY.add(doing)
    doing.add_done_callback(_UNDER_WAY.discard)


def wait() -> None:
    """Wait until all that was asked for is done; blocks."""
    concurrent.futures.wait(tuple(_UNDER_WAY))


def _do(work: Callable[[], object]) -> None:
    try:
        work()
    except Exception:
        log.exception("something beside a sandbox's own work failed")
