"""What both supervisors of a kernel share: the bridge, and the host's session of a local sandbox.

Both keep a bounded part of what a kernel prints, say why one did not start, interrupt it at its time limit, and run
programs of ours.
"""

import math
import time

CHUNK = 65_536
"""Bytes that are read from a pipe at a time."""
DRAIN = 1 << 20
"""Bytes: what a pipe can hold at most, so what was printed before a cell ended is within it."""
KEPT = 65_536
"""Bytes of a stream that are kept at each end."""
SAMPLE_SECONDS = 0.25
"""Once the head is full, a listener gets a sample of the stream no more often than this."""
SAMPLE_BYTES = 2_048
PROGRAM_OUTPUT = 4_000_000
"""Bytes of each stream of a program that are kept."""
MAX_COMPLAINT = 300
"""Characters."""


class BoundedOutput:
    """The head and a rolling tail of a stream; memory stays at three times `kept`, whatever is printed.

    Args:
        kept: Bytes to keep at each end.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self.head = bytearray()
        self._tail = bytearray()
        self._after = 0
        """Bytes that came after the head."""

    @property
    def full(self) -> bool:
        """Whether the head is complete."""
        return len(self.head) >= self._kept

    def add(self, data: bytes) -> bytes:
        """Take more bytes; returns those of them that come after the head."""
        room = self._kept - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        if data:
            self._after += len(data)
            self._tail += data[-self._kept :]
            if len(self._tail) > 2 * self._kept:
                del self._tail[: -self._kept]
        return data

    @property
    def tail(self) -> bytes:
        """The newest bytes after the head."""
        return bytes(self._tail[-self._kept :])

    @property
    def dropped(self) -> int:
        """How many bytes were left out between head and tail."""
        return self._after - min(len(self._tail), self._kept)


class Sampler:
    """Passes on the newest of what comes, now and then."""

    def __init__(self) -> None:
        self._newest = b""
        self._taken_at = -math.inf

    def add(self, data: bytes) -> None:
        """Take more bytes."""
        self._newest = data[-SAMPLE_BYTES:]

    def take(self) -> bytes:
        """The newest bytes; empty if there are none, or the last sample was just taken."""
        now = time.monotonic()
        if not self._newest or now - self._taken_at < SAMPLE_SECONDS:
            return b""
        self._taken_at = now
        sample, self._newest = self._newest, b""
        return sample


class FirstBytes:
    """The first bytes of what a program prints.

    Args:
        limit: How many.
    """

    def __init__(self, limit: int = PROGRAM_OUTPUT) -> None:
        self._limit = limit
        self._data = bytearray()

    def add(self, data: bytes) -> None:
        """Take more bytes."""
        self._data += data[: self._limit - len(self._data)]

    def text(self) -> str:
        """All of them as text."""
        return self._data.decode("utf-8", "replace")


def complaint(printed: str, otherwise: str = "it printed nothing") -> str:
    """Why a program ended, by what it printed: the last line of a traceback, else the first line.

    Args:
        printed: What it printed to stderr.
        otherwise: What is returned if that is nothing.
    """
    lines = printed.strip().splitlines() or [otherwise]
    return (lines[-1] if lines[0].startswith("Traceback") else lines[0])[:MAX_COMPLAINT]


def interrupt_waits(grace: float) -> tuple[float, ...]:
    """The seconds to wait after each interrupt of what runs too long; after the last one it is killed.

    There are two interrupts, because a kernel that has not taken in its cell yet loses the first.

    Args:
        grace: Seconds from the first interrupt to the end.
    """
    return (grace / 2, grace / 2)
