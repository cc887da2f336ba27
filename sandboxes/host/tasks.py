"""Work that is not left half done: finished although its task is cancelled, or done in threads of the process."""

import asyncio
import concurrent.futures
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


async def uncancellable(work: Awaitable[T]) -> T:
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
        task.exception()  # retrieved, so that it is not logged
    raise cancelled


log = logging.getLogger(__name__)
_BACKGROUND = ThreadPoolExecutor(4, "stepwell-background")
_QUICK = ThreadPoolExecutor(1, "stepwell-quick")
_PROMPT = ThreadPoolExecutor(1, "stepwell-prompt")
_UNDER_WAY: set[Future[None]] = set()


def run_later(work: Callable[[], object]) -> None:
    """Do it in a thread, after what was asked for before; what it raises is logged."""
    _submit(_BACKGROUND, work)


def run_quickly(work: Callable[[], object]) -> None:
    """Do in a thread of its own what neither takes time nor waits, so that slow work does not hold it up."""
    _submit(_QUICK, work)


def run_promptly(work: Callable[[], object]) -> None:
    """Do in a thread of its own what waits some milliseconds and is of no use later."""
    _submit(_PROMPT, work)


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
