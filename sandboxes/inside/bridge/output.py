"""What a cell prints, bounded before it leaves the sandbox: all of its head, then samples, and in the end its tail."""

import os
import time

KEPT = 65_536
"""Bytes kept at each end."""
SAMPLE_SECONDS = 0.25
SAMPLE_BYTES = 2_048
CHUNK = 65_536
DRAIN = 1 << 20
"""Bytes: what a pipe can hold at most, so what was printed before a cell ended is within it."""


class Output:
    """One stream of a kernel.

    Args:
        pipe: Where it comes from; does not block.
    """

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe
        self.begin()

    def begin(self) -> None:
        """A cell begins."""
        self._room = KEPT
        self._head = bytearray()
        self._sample = b""
        self._tail = bytearray()
        self._after = 0
        self._sampled = 0.0

    def read(self) -> int | None:
        """Take in what is there.

        Returns:
            How many bytes that was, 0 as well; None when nobody can write into it any more.
        """
        try:
            data = os.read(self.pipe, CHUNK)
        except BlockingIOError:  # somebody has read it since it was seen
            return 0
        except OSError:
            return None
        if not data:
            return None
        size = len(data)
        if self._room:
            self._head += data[: self._room]
            data, self._room = data[self._room :], max(0, self._room - size)
        if data:
            self._after += len(data)
            self._sample = data[-SAMPLE_BYTES:]
            self._tail += data[-KEPT:]
            if len(self._tail) > 2 * KEPT:
                del self._tail[:-KEPT]
        return size

    def drain(self) -> None:
        """Take in all that was printed until now."""
        taken = 0
        while taken < DRAIN and (size := self.read()):
            taken += size

    def head(self) -> bytes:
        """What has come of the head since it was last asked for."""
        head, self._head = bytes(self._head), bytearray()
        return head

    def sample(self) -> bytes:
        """The newest of what comes after the head, now and then."""
        now = time.monotonic()
        if not self._sample or now - self._sampled < SAMPLE_SECONDS:
            return b""
        self._sampled = now
        sample, self._sample = self._sample, b""
        return sample

    def rest(self) -> tuple[int, bytes]:
        """How many bytes were left out after the head, and the tail after them."""
        tail = bytes(self._tail[-KEPT:])
        return self._after - len(tail), tail
