"""Work that is not left half done: finished although its task is cancelled, or done in threads of the process."""

import asyncio
import concurrent.futures
import logging
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


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


class Threads:
    """Threads of the process for blocking work; a process that is forked from it has none of them, and begins anew.

    Args:
        most: How many there are at most.
        name: What their names begin with.
    """

    def __init__(self, most: int, name: str) -> None:
        self._new = partial(ThreadPoolExecutor, most, name)
        self._begin()
        os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self._pool = self._new()

    def submit(self, work: Callable[P, T], *values: P.args, **named: P.kwargs) -> Future[T]:
        """Have work done, after earlier work.

        Raises:
            RuntimeError: the interpreter is ending.
        """
        return self._pool.submit(work, *values, **named)


_BACKGROUND = Threads(4, "stepwell-background")
_QUICK = Threads(1, "stepwell-quick")
_PROMPT = Threads(1, "stepwell-prompt")
_UNDER_WAY: set[Future[None]] = set()
os.register_at_fork(after_in_child=_UNDER_WAY.clear)


def run_later(work: Callable[[], object]) -> None:
    """Run blocking work in a thread, after earlier work; errors are logged."""
    _submit(_BACKGROUND, work)


def run_quickly(work: Callable[[], object]) -> None:
    """Run very short work in a thread of its own, so that slow work does not delay it."""
    _submit(_QUICK, work)


def run_promptly(work: Callable[[], object]) -> None:
    """Run blocking work of some milliseconds in a thread of its own; its result is useless later."""
    _submit(_PROMPT, work)


def _submit(threads: Threads, work: Callable[[], object]) -> None:
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
