"""Memory that loaded arrays lie in, where a buffer begins, and the collector of garbage held off."""

import ctypes
import gc
import mmap
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

MAPPED = 1 << 20
"""Bytes from which on memory is mapped: its pages are then touched once, when they are filled."""


HUGE = 4 << 20
"""Bytes from which on it is asked for in large pages, as NumPy does: one of them is made in the time of three small."""


class Mapped(mmap.mmap):
    """Memory of ours, so that it is not taken for a map that the user made."""


class Held(bytearray):
    """Memory of ours, so that it is not taken for a bytearray that the user made."""


def fresh(size: int) -> Any:
    """Writable memory of that size."""
    if size < MAPPED:
        return Held(size)
    # Private: the default would be shared with every forked copy, which is to stay as it is.
    memory = Mapped(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if size >= HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a kernel without them
            memory.madvise(mmap.MADV_HUGEPAGE)
    return memory


def address(buffer: Any) -> int:
    """Where a writable buffer begins."""
    return ctypes.addressof(ctypes.c_char.from_buffer(buffer)) if len(buffer) else 0


class _Buffer(ctypes.Structure):
    """`Py_buffer`, of which only the first field is read."""

    _fields_ = (("start", ctypes.c_void_p), ("rest", ctypes.c_void_p * 15))


ANY_LAYOUT = 0x11C
"""`PyBUF_FULL_RO`."""


def start_of(buffer: Any) -> int:
    """Where the first item of a buffer is, also of one that cannot be written to, or whose items lie apart."""
    view = _Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(buffer), ctypes.byref(view), ANY_LAYOUT)
    try:
        return view.start or 0
    finally:
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(view))


_held_off: list[bool] = []
"""For each block in which collections are held off, whether they were on before."""


def is_collecting() -> bool:
    """Whether garbage is looked for, as cells have it."""
    return _held_off[0] if _held_off else gc.isenabled()


@contextmanager
def without_collections() -> Iterator[None]:
    """For the time of the block nothing is looked through for garbage, if it is at all."""
    _held_off.append(gc.isenabled())
    gc.disable()
    try:
        yield
    finally:
        if _held_off.pop():
            gc.enable()
