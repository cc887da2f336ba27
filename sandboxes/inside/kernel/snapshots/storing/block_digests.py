"""Digests of the blocks of large buffers, taken anew only where memory was written since the last snapshot."""

import ctypes
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate

from .written_pages import Range, WrittenPages

BLOCK = 16 << 10
"""Bytes that are looked at together."""
TRACKED = 1 << 20
"""Bytes of a buffer from which on writes to it are tracked."""
MOST = 512
"""Buffers that are tracked at a time; each may take the system two more of its 65,530 areas of memory."""
SHARE = 4
"""A buffer is tracked unless more than this part of it was changed before the last snapshot."""

Digest = Callable[[memoryview], bytes]
Digests = list[list[bytes]]
"""Of the blocks of each piece of a buffer."""


class _Buffer(ctypes.Structure):
    """`Py_buffer`, by which also memory is found that is for reading only."""

    _fields_ = (("start", ctypes.c_void_p), ("owner", ctypes.py_object), ("size", ctypes.c_ssize_t),
                ("item", ctypes.c_ssize_t), ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
                ("rest", ctypes.c_void_p * 5))  # fmt: skip


def address_of(view: memoryview) -> int:
    """Where a contiguous view of memory begins."""
    buffer = _Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(view), ctypes.byref(buffer), 0)
    try:
        return buffer.start or 0
    finally:
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))


@dataclass(slots=True)
class _Tracked:
    sizes: list[int]
    digests: Digests
    """As the memory is, unless it was written since it was protected."""
    calm: bool
    """Whether little of it changed last time."""
    protected: bool
    used: bool = True


def digests_of(piece: memoryview, digest: Digest) -> list[bytes]:
    """The digests of the blocks of a piece."""
    return [digest(piece[start : start + BLOCK]) for start in range(0, len(piece), BLOCK)]


def check_of(digests: Digests, digest: Digest) -> str:
    """One digest of all of them, in hex."""
    return digest(memoryview(b"".join(one for piece in digests for one in piece))).hex()


class BlockDigests:
    """Takes digests of buffers, snapshot by snapshot.

    What it remembers is about memory alone: it holds whether or not a snapshot comes of it.

    Args:
        digest: The hash function.
        pages: What tracks writes; None: everything is read each time.
    """

    def __init__(self, digest: Digest, pages: WrittenPages | None = None) -> None:
        self._digest = digest
        self._pages = pages
        self._tracked: dict[tuple[int, int], _Tracked] = {}
        """By address and size."""
        self.read = 0
        """Bytes that were read for the snapshot."""

    def begin(self) -> None:
        """Begin a snapshot: what the last one did not have is no longer tracked."""
        self.read = 0
        for (start, size), one in list(self._tracked.items()):
            if not one.used:
                del self._tracked[start, size]
                if one.protected and self._pages is not None and self._pages.works():
                    self._pages.release(start, start + size)
            one.used = False

    def of(self, pieces: list[memoryview]) -> Digests:
        """The digests of a buffer's blocks.

        Args:
            pieces: The buffer, cut into pieces that lie one after the other.
        """
        size = sum(map(len, pieces))
        if size < TRACKED or self._pages is None or not self._pages.works():
            return [self.plain(piece) for piece in pieces]
        start, sizes = address_of(pieces[0]), [len(piece) for piece in pieces]
        # Out of the table while it is brought up to date: what is interrupted must not be believed.
        known = self._tracked.pop((start, size), None)
        if known is None and self._is_shared(start, start + size):
            return [self.plain(piece) for piece in pieces]
        if known is None or known.sizes != sizes:
            now = _Tracked(sizes, [self.plain(piece) for piece in pieces], calm=True, protected=False)
        else:
            now = self._again(self._pages, known, start, pieces)
        if len(self._tracked) < MOST:
            self._tracked[start, size] = now
        elif now.protected:
            self._pages.release(start, start + size)
        return now.digests

    def _is_shared(self, start: int, end: int) -> bool:
        """Whether another buffer that is tracked has some of this memory: what one has seen, the other would miss."""
        return any(start < first + size and first < end for first, size in self._tracked)

    def _again(self, pages: WrittenPages, known: _Tracked, start: int, pieces: list[memoryview]) -> _Tracked:
        end = start + sum(known.sizes)
        unwritten: list[Range] = []
        protected = False
        if known.protected or known.calm:
            try:
                unwritten = pages.unwritten(start, end) if known.protected else []
                # Before it is read: what another thread writes meanwhile is seen next time. What is still protected
                # is left alone, or a write to it of just now would be forgotten.
                for first, last in _between(unwritten, start, end):
                    pages.protect(first, last)
                protected = True
            except OSError:
                unwritten = []
        digests, changed = self._update(known.digests, start, pieces, unwritten)
        calm = changed * SHARE <= sum(map(len, digests))
        if known.protected and not (calm and protected):
            pages.release(start, end)
            protected = False
        return _Tracked(known.sizes, digests, calm, protected)

    def _update(
        self, before: Digests, start: int, pieces: list[memoryview], unwritten: list[Range]
    ) -> tuple[Digests, int]:
        """The digests as they are now, and how many blocks have changed; what has not changed is the same list."""
        ends = list(accumulate(map(len, pieces), initial=start))
        digests, changed = before, 0
        for index, block in _blocks(_between(unwritten, start, ends[-1]), ends):
            one = self._one(pieces[index][block * BLOCK : (block + 1) * BLOCK])
            if one != before[index][block]:
                digests = list(before) if digests is before else digests
                if digests[index] is before[index]:
                    digests[index] = list(before[index])
                digests[index][block] = one
                changed += 1
        return digests, changed

    def plain(self, piece: memoryview) -> list[bytes]:
        """The digests of the blocks of a piece, whatever is known of it."""
        self.read += len(piece)
        return digests_of(piece, self._digest)

    def _one(self, block: memoryview) -> bytes:
        self.read += len(block)
        return self._digest(block)


def _blocks(gaps: list[Range], ends: list[int]) -> Iterator[tuple[int, int]]:
    """The blocks of which a gap has some byte: the number of the piece, and of the block in it.

    Args:
        gaps: In order.
        ends: Where the pieces begin, and where the last one ends.
    """
    done = (0, 0)
    for first, last in gaps:
        index = bisect_right(ends, first) - 1
        while index < len(ends) - 1 and ends[index] < last:
            begin, end = ends[index], min(last, ends[index + 1])
            blocks = range(max(first - begin, 0) // BLOCK, -(-(end - begin) // BLOCK))
            for block in blocks:
                if (index, block) >= done:
                    yield index, block
            done = (index, blocks.stop)
            index += 1


def _between(ranges: list[Range], start: int, end: int) -> list[Range]:
    """What of a stretch the ranges leave out."""
    found: list[Range] = []
    for first, last in ranges:
        if first > start:
            found.append((start, first))
        start = max(start, last)
    return [*found, (start, end)] if start < end else found
