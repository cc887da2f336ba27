"""Descriptors of this process: the pipes that sandboxes print into, and how many there may be."""

import asyncio
import contextlib
import os
import resource
import threading
from collections.abc import Callable, Iterator

from sandboxes.inside.bridge.supervision import CHUNK, DRAIN


class Pipe:
    """A stream of a process: our end is read by the event loop, the other end is given to the process."""

    def __init__(self, ends: tuple[int, int] | None = None) -> None:
        self._end, self.theirs = ends or os.pipe()
        os.set_blocking(self._end, False)
        self.take: Callable[[bytes], object] | None = None
        """Is passed what comes."""
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when nobody can write into it any more."""

    @classmethod
    def at(cls, end: int) -> "Pipe":
        """A pipe whose other end the process has already."""
        return cls((end, -1))

    def close_theirs(self) -> None:
        """Close the writing end here, once the process has it."""
        if self.theirs >= 0:
            os.close(self.theirs)
            self.theirs = -1

    def fileno(self) -> int:
        """Our end; negative once it is closed."""
        return self._end

    def listen(self, take: Callable[[bytes], object]) -> None:
        """Pass on what comes from now on."""
        self.take = take
        if not self.ended.done():
            asyncio.get_running_loop().add_reader(self._end, self._hear)

    def pause(self) -> None:
        """Leave what comes from now on in the pipe."""
        self.take = None
        if self._end >= 0:
            asyncio.get_running_loop().remove_reader(self._end)

    def _hear(self) -> None:
        self.read()
        if self.ended.done():
            asyncio.get_running_loop().remove_reader(self._end)

    def drain(self) -> None:
        """Pass on what is in the pipe now, without waiting for more."""
        taken = 0
        while taken < DRAIN and not self.ended.done():
            size = self.read()
            if not size:
                break
            taken += size

    def close(self) -> None:
        """Close our end."""
        self.pause()
        self.close_theirs()
        if self._end >= 0:
            os.close(self._end)
            self._end = -1
        if not self.ended.done():
            self.ended.set_result(None)

    def read(self) -> int:
        """Pass on the next piece that is in the pipe; 0 when there is none, or nobody can write any more."""
        try:
            data = os.read(self._end, CHUNK)
        except BlockingIOError:
            return 0
        if not data:
            if not self.ended.done():  # the loop may call once more for what `drain` has read meanwhile
                self.ended.set_result(None)
        elif self.take is not None:
            self.take(data)
        return len(data)


MOST = 1 << 20
"""Enough for everybody; some systems have no limit."""
TURNED_AWAY = 16
"""Connections at a time that are told that there is no room for them; further ones are just closed."""

_before = resource.getrlimit(resource.RLIMIT_NOFILE)


def raise_limit() -> None:
    """Raise this process's limit to what is allowed, which is often far more than it starts with.

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
        """Take one to answer that none is left; false if too many connections are being answered so already."""
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
