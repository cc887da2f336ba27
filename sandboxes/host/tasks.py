"""Work that is not left half done: finished although its task is cancelled, or done in threads of the process."""

import asyncio
import concurrent.futures
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


async def uncancellable(work: Awaitable[T]) -> T:
    """Wait for work that must not be left half done; a caller that is cancelled meanwhile, even twice, leaves after it.

    Raises:
        CancelledError: the waiting was cancelled; the work was done, and its result is lost.
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
    """Run blocking work in a thread, after earlier work; errors are logged."""
    _submit(_BACKGROUND, work)


def run_quickly(work: Callable[[], object]) -> None:
    """Run very short work in a thread of its own, so that slow work does not delay it."""
    _submit(_QUICK, work)


def run_promptly(work: Callable[[], object]) -> None:
    """Run blocking work of some milliseconds in a thread of its own; its result is useless later."""
    _submit(_PROMPT, work)


def _submit(threads: ThreadPoolExecutor, work: Callable[[], object]) -> None:
    try:
        doing = threads.submit(_do, work)
    except RuntimeError:  # the interpreter is ending, and takes with it what was to be kept up
        return
    _UNDER_WAY.add(doing)
    doing.add_done_callback(_UNDER_WAY.discard)


def wait() -> None:
    """Wait until all work is done; blocks."""
    concurrent.futures.wait(tuple(_UNDER_WAY))


def _do(work: Callable[[], object]) -> None:
    try:
        work()
    except Exception:
        log.exception("something beside a sandbox's own work failed")
