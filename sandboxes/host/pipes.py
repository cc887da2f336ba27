"""The pipes that a sandboxed process prints into, read without blocking."""

import asyncio
import os
from collections.abc import Callable

CHUNK = 65_536
DRAIN = 1 << 20
"""Bytes: what a pipe can hold at most, so what was printed before a cell ended is within it."""


class Pipe:
    """One stream of a process: our end is read when the event loop says so, theirs is given away."""

    def __init__(self, ends: tuple[int, int] | None = None) -> None:
        self._end, self.theirs = ends or os.pipe()
        os.set_blocking(self._end, False)
        self.take: Callable[[bytes], None] | None = None
        """Is passed what comes."""
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when nobody can write into it any more."""

    @classmethod
    def at(cls, end: int) -> "Pipe":
        """A pipe whose other end is with somebody else already."""
        return cls((end, -1))

    def close_theirs(self) -> None:
        """Close the writing end here, once the process has it."""
        if self.theirs >= 0:
            os.close(self.theirs)
            self.theirs = -1

    def fileno(self) -> int:
        """Our end; negative once it is closed."""
        return self._end

    def listen(self, take: Callable[[bytes], None]) -> None:
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
            self.ended.set_result(None)
        elif self.take is not None:
            self.take(data)
        return len(data)
