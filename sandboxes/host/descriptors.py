"""How many descriptors this process may have, and that connections of sandboxes leave some for everything else."""

import contextlib
import resource
import threading
from collections.abc import Callable, Iterator

MOST = 1 << 20
"""As many as anybody needs; some systems say that there is no limit."""
TURNED_AWAY = 16
"""Connections at a time that are told that there is no room for them; further ones are just closed."""

_before = resource.getrlimit(resource.RLIMIT_NOFILE)


def raise_limit() -> None:
    """Have this process use as many as it may, which is often far more than it is given to begin with.

    Programs that it starts should get what it had: `as_before` says so.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST if hard == resource.RLIM_INFINITY else min(hard, MOST)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):  # then it stays as it is
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def as_before(process: int) -> None:
    """Give a program that was just started the limit that this one had: some cannot deal with large numbers."""
    if hasattr(resource, "prlimit"):
        with contextlib.suppress(OSError, ValueError):  # it has ended
            resource.prlimit(process, resource.RLIMIT_NOFILE, _before)


def for_connections() -> int:
    """How many descriptors connections of sandboxes may have: half of all, the rest is for sessions and stores."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return (MOST if soft == resource.RLIM_INFINITY else min(soft, MOST)) // 2


class Share:
    """The descriptors that all sandboxes' connections have together; may be used by several threads.

    Args:
        most: Says how many there may be.
    """

    def __init__(self, most: Callable[[], int] = for_connections) -> None:
        self._most = most
        self._taken = self._turned_away = 0
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Take one, if there is one; to be given back."""
        with self._lock:
            if self._taken >= self._most():
                return False
            self._taken += 1
            return True

    def give_back(self) -> None:
        """Give one back."""
        with self._lock:
            self._taken -= 1

    @contextlib.contextmanager
    def turning_away(self) -> Iterator[bool]:
        """Hold one for a moment to say that there is none; false when too many do that already."""
        with self._lock:
            may = self._turned_away < TURNED_AWAY
            self._turned_away += may
        try:
            yield may
        finally:
            with self._lock:
                self._turned_away -= may


SHARE = Share()
"""That of this process."""
