"""Cuts a stream where its content says so: what is the same in two streams gives the same pieces, wherever it stands.

A frame that is added to others, or one changed dict among thousands, makes a new stream that is nearly the last one.
Cut at every so many bytes, nothing behind the change would be as it was.
"""

import sys
from typing import Any

LEAST, MOST = 256, 16 << 10
"""Bytes of a piece."""
BITS = 10
"""A piece ends before one place in 2**10."""
FACTOR = 0x9E3779B97F4A7C15
"""An odd number that spreads the bits of the eight bytes at a place over all of a word."""
WORD = 8
WHOLE = 4 << 10
"""Bytes of a stream that is not cut."""


def cut_by_content(data: memoryview) -> list[memoryview]:
    """Its pieces; all of it as one where it is small, or where NumPy is not loaded."""
    numpy: Any = sys.modules.get("numpy")
    if len(data) < WHOLE or numpy is None:
        return [data]
    pieces: list[memoryview] = []
    start = 0
    try:
        words = numpy.ndarray((len(data) - WORD + 1,), "<u8", buffer=data, strides=(1,))
        ends = numpy.flatnonzero((words * numpy.uint64(FACTOR)) >> numpy.uint64(8 * WORD - BITS) == 0).tolist()
        for end in [*ends, len(data)]:
            while end - start > MOST:
                pieces.append(data[start : start + MOST])
                start += MOST
            if end - start >= LEAST or end == len(data):
                pieces.append(data[start:end])
                start = end
    except Exception:  # cells can replace anything in NumPy
        return [data]
    return [piece for piece in pieces if len(piece)]
