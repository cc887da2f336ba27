"""Work for sandboxes that nobody waits for: it belongs to the process, and goes on while an event loop is closed."""

import concurrent.futures
import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

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
