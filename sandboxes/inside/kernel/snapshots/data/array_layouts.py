"""Where the items of an array lie in its memory, and views that lie so."""

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any


def dense_order(array: Any) -> tuple[int, ...] | None:
    """The order of axes in which an array covers its memory without gaps; None if there is none."""
    if array.flags.c_contiguous:
        return tuple(range(array.ndim))
    order = tuple(sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis])))
    return order if array.transpose(order).flags.c_contiguous else None


def without_gaps(shape: Any, order: Any, step: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shape and strides of an array without gaps.

    Args:
        shape: How many items, by axis, the axes in their order in memory.
        order: That order.
        step: Bytes of an item.
    """
    sizes, strides = [0] * len(order), [0] * len(order)
    for axis, size in zip(reversed(order), reversed(shape), strict=True):
        sizes[axis], strides[axis] = size, step
        step *= size
    return tuple(sizes), tuple(strides)


def start_of(array: Any) -> int:
    """Where the first item of an array is; of records, its interface describes every field, which takes long."""
    return int(array.ctypes.data if array.dtype.names else array.__array_interface__["data"][0])


def bounds(array: Any) -> tuple[int, int]:
    """Where the memory begins and ends that the items of an array are in."""
    low = high = start_of(array)
    if not array.size:
        return low, low
    for size, stride in zip(array.shape, array.strides, strict=True):
        last = stride * (size - 1)
        low, high = (low + last, high) if last < 0 else (low, high + last)
    return low, high + int(array.itemsize)


def field_of(whole: Any, part: Any, within: int) -> tuple[Any, ...] | None:
    """The names by which a part of a record is had, and its type where that is not the field's; None: there are none.

    Args:
        whole: The type of the record.
        part: That of the part.
        within: Where it begins.
    """
    if part.names and within == 0 and set(part.names) < set(whole.names or ()) and whole[[*part.names]] == part:
        return ([*part.names],)
    for name in whole.names or ():
        kind, start = whole.fields[name][:2]
        if not start <= within < start + kind.itemsize:
            continue
        if kind.base == part and (within - start) % part.itemsize == 0:
            return (name,) if _is_same(kind.base, part) else (name, part)
        rest = field_of(kind.base, part, (within - start) % kind.base.itemsize)
        if rest is not None:
            return name, *rest
    return None


def _is_same(one: Any, other: Any) -> bool:
    """Whether two types are equal, and say the same of themselves."""
    return bool(one == other) and one.char == other.char and (one.metadata or {}) == (other.metadata or {})


def view_of(root: Any, offset: int, shape: Any, strides: Any, dtype: Any) -> Any:
    """A view of the memory of an array without gaps.

    Args:
        root: The array.
        offset: Bytes from its beginning to the first item.
        shape: How many items, by axis.
        strides: Bytes between them, by axis.
        dtype: What they are.
    """
    import numpy

    plain = root.view(numpy.ndarray)
    order = dense_order(plain)
    flat = plain.transpose(order).reshape(-1)
    if dtype.hasobject:
        rest = flat[offset // flat.itemsize :]
        for part in (_reshaped(rest, shape, strides), indexed(plain, offset, shape, strides)):
            if part is not None:
                return part
        return numpy.lib.stride_tricks.as_strided(rest, shape, strides)
    return numpy.ndarray(shape, dtype, flat.view("u1"), offset, strides)


def _reshaped(flat: Any, shape: Any, strides: Any) -> Any:
    """The items that a flat array begins with, in axes without gaps between; None if there are gaps."""
    order = sorted(range(len(shape)), key=lambda axis: -strides[axis])
    if math.prod(shape) > flat.size:
        return None
    found = flat[: math.prod(shape)].reshape([shape[axis] for axis in order])
    found = found.transpose([order.index(axis) for axis in range(len(shape))])
    return found if found.strides == tuple(strides) else None


def indexed(root: Any, offset: int, shape: Any, strides: Any) -> Any:
    """A view of an array as indexing it gives one, so that this is its base; None if no indexing gives it."""
    first: dict[int, int] = {}
    for axis in sorted(range(root.ndim), key=lambda one: -root.strides[one]):
        first[axis], offset = divmod(offset, root.strides[axis]) if root.strides[axis] else (0, offset)
    index: list[Any] = [first[axis] for axis in range(root.ndim)]
    of_view: dict[int, int] = {}
    for axis in sorted(range(len(shape)), key=lambda one: shape[one] == 1):
        size, stride = shape[axis], strides[axis]
        free = [one for one in range(root.ndim) if one not in of_view and root.strides[one]]
        fitting = [one for one in free if stride and stride % root.strides[one] == 0]
        if size == 1:
            fitting = [one for one in fitting if root.strides[one] == stride]
        if not fitting:
            if size == 1 or not stride:
                continue
            return None
        taken = max(fitting, key=lambda one: root.strides[one])
        step = stride // root.strides[taken]
        last = first[taken] + (size - 1) * step
        if not 0 <= last < root.shape[taken]:
            return None
        end = last + (1 if step > 0 else -1)
        index[taken], of_view[taken] = slice(first[taken], end if end >= 0 else None, step), axis
    if not all(0 <= first[axis] < root.shape[axis] for axis in first):
        return None
    order = [of_view[axis] for axis in sorted(of_view)]
    found = root[(*index, ...)].transpose([order.index(axis) for axis in sorted(order)])
    found = found[(*(slice(None) if axis in order else None for axis in range(len(shape))), ...)]
    if any(size > 1 and axis not in order for axis, size in enumerate(shape)):
        found = sys.modules["numpy"].broadcast_to(found, shape)
    return found if _has_layout(found, shape, strides) else None


def _has_layout(array: Any, shape: Any, strides: Any) -> bool:
    """Whether an array has this shape and these strides, where they matter."""
    moves = zip(array.strides, strides, shape, strict=True) if array.shape == tuple(shape) else ()
    return array.shape == tuple(shape) and all(one == other for one, other, size in moves if size > 1)


def sealed(array: Any, writeable: bool) -> Any:
    """The array, which may not be written to if it is not writeable."""
    if not writeable:
        array.flags.writeable = False
    return array


@contextmanager
def writeable_for_a_while(root: Any) -> Iterator[None]:
    """Let views of an array be made that can be written to, though it was sealed after they were."""
    chain = [root]
    while isinstance(chain[-1].base, sys.modules["numpy"].ndarray):
        chain.append(chain[-1].base)
    sealed = [] if root.flags.writeable else [one for one in reversed(chain) if not one.flags.writeable]
    with suppress(ValueError):  # their memory is for reading only now
        for one in sealed:
            one.flags.writeable = True
    try:
        yield
    finally:
        for one in reversed(sealed):
            one.flags.writeable = False
