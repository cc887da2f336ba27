"""Memory of an array or a bytearray that something else has, too: buffers of arrow, columns of polars.

Neither says whose memory it is. So it is looked for by its address, in what the variables of the session hold.
"""

import bisect
import importlib
import sys
from collections.abc import Iterator
from typing import Any

from ..current_session import CurrentSession
from ..storing.loaded_memory import address
from . import array_layouts, arrays

HELD = ("DataFrame", "Series")


class OwnedMemory:
    """Whose memory is where, as long as no cell runs."""

    def __init__(self) -> None:
        known = {id(one): one for value in CurrentSession.main.__dict__.values() for one in _owners(value)}
        places = [(_start(one), _size(one), number) for number, one in enumerate(known.values())]
        self._owners = list(known.values())
        self._places = sorted(place for place in places if place[1])

    def find(self, start: int, size: int) -> tuple[Any, int] | None:
        """Who owns some memory, and where in that it begins."""
        at = bisect.bisect_right(self._places, (start, sys.maxsize, 0)) - 1
        if at < 0 or not size:
            return None
        first, length, number = self._places[at]
        return (self._owners[number], start - first) if start + size <= first + length else None

    def owner_of(self, array: Any) -> Any:
        """Who owns the memory of an array, if it is an array or a bytearray; None: somebody else."""
        place = self.find(_start(array), array.nbytes) if array_layouts.dense_order(array) is not None else None
        return place and place[0]


def _owners(value: Any) -> Iterator[Any]:
    """What owns the memory of a variable."""
    kind = type(value)
    if arrays.is_owner(value):
        yield value
        return
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return
    if issubclass(kind, numpy.ndarray):
        yield from _owner(value)
    elif kind.__name__ in HELD and kind.__module__.split(".")[0] == "pandas":
        for block in value._mgr.blocks:
            if type(block.values) is numpy.ndarray:
                yield from _owner(block.values)


def _owner(array: Any) -> Iterator[Any]:
    root = arrays.root_of(array)
    plain = arrays.is_owner(root) or not (root.dtype.hasobject or arrays.is_foreign(root))
    if plain and (arrays.is_owner(root) or array_layouts.dense_order(root) is not None):
        yield root


def _start(owner: Any) -> int:
    if arrays.is_owner(owner):
        return address(owner)
    return int(owner.__array_interface__["data"][0])


def _size(owner: Any) -> int:
    return len(memoryview(owner).cast("B")) if arrays.is_owner(owner) else int(owner.nbytes)


def reduce_buffer(pickler: Any, buffer: Any) -> Any:
    """A buffer of arrow over memory of an array is that again."""
    if not buffer.is_cpu:
        return NotImplemented
    find, whole = pickler.reducers.memory.find, buffer.parent
    if whole is not None and not buffer.is_mutable and (place := find(whole.address, whole.size)) is not None:
        return make_slice, (*place, whole.size, buffer.address - whole.address, buffer.size)
    place = find(buffer.address, buffer.size)
    return NotImplemented if place is None else (make_buffer, (*place, buffer.size))


def make_buffer(owner: Any, start: int, size: int) -> Any:
    """A buffer of arrow over a part of some memory."""
    return importlib.import_module("pyarrow").py_buffer(part_of(owner, start, size))


def make_slice(owner: Any, start: int, whole: int, offset: int, size: int) -> Any:
    """A slice of such a buffer, which can never be written to."""
    return make_buffer(owner, start, whole).slice(offset, size)


def part_of(owner: Any, start: int, size: int) -> memoryview:
    """A part of some memory."""
    plain = owner if arrays.is_owner(owner) else arrays.bytes_of(owner)
    return memoryview(plain).cast("B")[start : start + size]
