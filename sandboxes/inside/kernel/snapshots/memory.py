"""Memory that loaded arrays lie in, and where a buffer begins."""

import ctypes
import mmap
from typing import Any

MAPPED = 1 << 20
"""Bytes from which on memory is mapped: its pages are then touched once, when they are filled."""


class Mapped(mmap.mmap):
    """Memory of ours, so that it is not taken for a map that the user made."""


class Held(bytearray):
    """Memory of ours, so that it is not taken for a bytearray that the user made."""


def fresh(size: int) -> Any:
    """Writable memory of that size."""
    return Mapped(-1, size) if size >= MAPPED else Held(size)


def address(buffer: Any) -> int:
    """Where a writable buffer begins."""
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer)) if len(buffer) else 0
