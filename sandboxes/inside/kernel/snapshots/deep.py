"""Calls something that recurses deeply in a thread with room for it, so that a long chain of objects can be pickled."""

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

ROOM = 512 << 20
"""Bytes of stack; only what is used takes memory."""
LEVELS = 200_000

Result = TypeVar("Result")


def too_deep(error: BaseException) -> bool:
    """Whether it failed because of its depth only; cloudpickle says that in its own words."""
    return isinstance(error, RecursionError) or isinstance(error.__cause__, RecursionError)


def with_room(call: Callable[[], Result]) -> Result:
    """Call something in a thread with a large stack.

    Raises:
        BaseException: what it raised.
    """
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:  # carried over to the thread that waits
            errors.append(error)

    levels, size = sys.getrecursionlimit(), threading.stack_size(ROOM)
    try:
        thread = threading.Thread(target=run, daemon=True)
        sys.setrecursionlimit(max(levels, LEVELS))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(levels)
    if errors:
        raise errors[0]
    return results[0]
