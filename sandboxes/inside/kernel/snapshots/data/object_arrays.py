"""Arrays that hold objects: they are whole before they are filled, and their parts are parts again.

What is in such an array may be a record of it, or hold a view of it. NumPy gives fields of its records by names only.
"""

import sys
from contextlib import nullcontext
from typing import Any

from .array_layouts import bounds, field_of, indexed, sealed, start_of, without_gaps, writeable_for_a_while


def reduce_objects(array: Any, order: tuple[int, ...], writeable: bool) -> Any:
    """An array of objects, which is whole before it is filled: what is in it may be a view of it.

    Args:
        array: The array, its axes in their order in memory.
        order: That order.
        writeable: Whether it can be written to.
    """
    content = array.__reduce__()[2]
    if _has_parts(array.dtype):
        content = *content[:-1], [_own(array.dtype, item) for item in content[-1]]
    state = content, writeable, order
    return make_objects, (array.shape, array.dtype, order), state, None, None, fill_objects


def _has_parts(dtype: Any) -> bool:
    """Whether fields of records are arrays."""
    return any(kind.subdtype is not None or _has_parts(kind) for kind, *_ in (dtype.fields or {}).values())


def _own(dtype: Any, item: Any) -> Any:
    """An item of an array of records, in which arrays are no views of the array: that would be kept in itself."""
    if dtype.subdtype is not None:
        return item.copy()
    return item if dtype.names is None else tuple(_own(dtype[name], item[at]) for at, name in enumerate(dtype.names))


def make_objects(shape: Any, dtype: Any, order: Any) -> Any:
    """An array of objects that is still to be filled; views of it may be made before that."""
    import numpy

    sizes, strides = without_gaps(shape, order, dtype.itemsize)
    return numpy.ndarray(sizes, dtype, None, 0, strides)


def fill_objects(array: Any, state: Any) -> None:
    """Fill it."""
    import numpy

    content, writeable, order = state
    plain = numpy.empty(0)
    plain.__setstate__(content)
    array.transpose(order)[...] = plain
    sealed(array, writeable)


def make_field(root: Any, path: tuple[Any, ...], offset: int, shape: Any, strides: Any, writeable: bool) -> Any:
    """A view of a field of an array of records that hold objects, which NumPy gives by names only."""
    import numpy

    with writeable_for_a_while(root) if writeable else nullcontext():
        part = root.view(numpy.ndarray)
        for name in path:
            part = part.view(name) if isinstance(name, numpy.dtype) else part[name]
        offset -= bounds(part)[0] - bounds(root)[0]
        view = indexed(part, offset, shape, strides)
        if view is None:
            view = numpy.lib.stride_tricks.as_strided(indexed(part, offset, (), ()), shape, strides)
    return sealed(view, writeable)


def has_view(root: Any, array: Any) -> bool:
    """Whether a view of an array of records that hold objects can be made again: NumPy may refuse to."""
    offset = start_of(array) - bounds(root)[0]
    path = field_of(root.dtype, array.dtype, offset % root.itemsize)
    if path is None:
        return False
    try:
        view = make_field(root, path, offset, array.shape, array.strides, False)
    except (TypeError, ValueError, IndexError, AttributeError):
        return False
    return bool(view.dtype == array.dtype) and view.shape == array.shape


def whole_of(value: Any) -> Any:
    """What a value is kept with: the array of objects that it is a view or a record of, else itself.

    The views of one array are pickled together from the beginning: each alone would have the whole array in it.
    """
    numpy: Any = sys.modules.get("numpy")  # a value may say that its class is another
    if numpy is None or not issubclass(type(value), (numpy.ndarray, numpy.void)) or not value.dtype.hasobject:
        return value
    while isinstance(value.base, numpy.ndarray):
        value = value.base
    return value
