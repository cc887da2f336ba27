"""NumPy arrays: memory that several arrays share is kept once, and a view is a view again.

An array that owns its memory is its bytes; one that does not is its root (what owns the memory: an array or a
bytearray), an offset and strides. Nothing of a large array goes through the stream.
"""

import array as standard
import ctypes
import gc
import itertools
import os
import sys
from contextlib import nullcontext
from pickle import PickleBuffer, PicklingError
from typing import Any

from ..current_session import CurrentSession, path_here, portable_path
from ..objects import instances
from ..objects.attributes import is_only_forbidden, with_hung
from ..objects.classes import PLAIN, is_users
from ..storing.loaded_memory import Held, Mapped, address
from . import library_parts
from .array_layouts import bounds, dense_order, field_of, sealed, start_of, view_of, without_gaps, writeable_for_a_while
from .object_arrays import has_view, make_field, reduce_objects

LARGE = 16 << 10
"""Bytes from which on an array leaves the stream."""

PLAIN_OWNERS = (bytearray, standard.array)
"""What memory of an array can belong to besides an array, and besides arrays of C."""


def is_owner(value: Any) -> bool:
    """Whether something that is no array of NumPy can own the memory of one."""
    return type(value) in PLAIN_OWNERS or isinstance(value, ctypes.Array)


def reduce_array(pickler: Any, array: Any) -> Any:
    """How an exact `numpy.ndarray` is pickled."""
    root, writeable = root_of(array), bool(array.flags.writeable)
    if (root is not array or array.base is not None) and is_foreign(root):
        owner = pickler.reducers.memory.owner_of(root)
        if root is not array and owner is None and (part := library_parts.part_with(root)) is not None:
            offset = start_of(array) - bounds(root)[0] if array.size else 0
            return make_view, (part, offset, array.shape, array.strides, array.dtype, writeable)
        root = root if owner is None else owner
    if root is not array:
        start = address(root) if is_owner(root) else bounds(root)[0]
        offset = start_of(array) - start if array.size else 0
        if not is_owner(root) and root.dtype.hasobject and root.dtype != array.dtype:
            path = field_of(root.dtype, array.dtype, offset % root.itemsize)
            return make_field, (root, path, offset, array.shape, array.strides, writeable)
        plain = array.ndim == 1 and array.flags.c_contiguous and array.nbytes
        if is_owner(root) and type(array.base) is memoryview and plain:
            return make_export, (root, offset, len(array), array.dtype, writeable)
        return make_view, (root, offset, array.shape, array.strides, array.dtype, writeable)
    order = dense_order(array)
    if order is None:
        array, order = copy_of(array, "C"), tuple(range(array.ndim))
    plain = array.transpose(order)
    if array.dtype.hasobject:
        return reduce_objects(plain, order, writeable)
    if array.nbytes < LARGE:
        return make_small, (plain.tobytes(), array.dtype, plain.shape, order, writeable)
    # Two dimensions, so that the buffer can be cut where a row ends.
    rows = plain.shape[0] if plain.ndim > 1 else 1
    buffer = PickleBuffer(plain.reshape(-1).view("u1").reshape(rows, -1))
    return make_array, (buffer, array.dtype, plain.shape, order, writeable)


def reduce_record(pickler: Any, record: Any) -> Any:
    """An item of a structured array, which is a view of its memory."""
    base = record.base
    if not isinstance(base, sys.modules["numpy"].ndarray) or not record.dtype.names or not record.nbytes:
        return NotImplemented
    offset = record.__array_interface__["data"][0] - bounds(base)[0]
    if dense_order(base) is None or not 0 <= offset <= base.nbytes - record.nbytes:
        return NotImplemented
    if base.dtype.hasobject and not (base.ndim == 1 and base.dtype == record.dtype and offset % base.itemsize == 0):
        return NotImplemented
    return make_record, (base, offset, record.dtype, bool(record.flags.writeable))


def reduce_tree(pickler: Any, tree: Any) -> Any:
    """A tree of scipy over points: these themselves, where it would give a copy."""
    reduced = tree.__reduce_ex__(5)
    state = reduced[2]
    if isinstance(state, tuple) and len(state) == TREE and sys.modules["numpy"].array_equal(state[1], tree.data):
        reduced = *reduced[:2], (state[0], tree.data, *state[2:]), *reduced[3:]
    return with_hung(reduced, dict(getattr(tree, "__dict__", {})))


TREE = 10
"""Parts of the state of a tree; the second is its points."""


def reduce_generator(pickler: Any, generator: Any) -> Any:
    """A generator of random numbers of a class of the user's; NumPy would make one of its own."""
    kind = type(generator)
    base = next(one for one in kind.__mro__ if one.__module__.startswith("numpy."))
    if base is kind:
        return NotImplemented
    return make_generator, (base, kind, generator.bit_generator), vars(generator), None, None, set_attributes


def make_generator(base: Any, kind: Any, bits: Any) -> Any:
    """A generator of random numbers of a class of the user's."""
    made = base.__new__(kind, bits)
    base.__init__(made, bits)
    return made


def make_record(base: Any, offset: int, dtype: Any, writeable: bool = False) -> Any:
    """An item of the memory of a structured array; that of a row keeps the array itself."""
    import numpy

    with writeable_for_a_while(base) if writeable else nullcontext():
        if base.ndim == 1 and base.dtype == dtype and base.strides[0] > 0 and offset % base.strides[0] == 0:
            return numpy.ndarray.__getitem__(base, offset // base.strides[0])
        return make_view(base, offset, (), (), dtype, bool(base.flags.writeable))[()]


def reduce_dtype(_pickler: Any, dtype: Any) -> Any:
    """A type of NumPy's own of which there is one: NumPy would make another one that is equal."""
    if dtype.isbuiltin != 1:
        return NotImplemented
    made = sys.modules["numpy"].dtype
    return next(((made, (name,)) for name in (dtype.str, dtype.char) if made(name) is dtype), NotImplemented)


def reduce_limits(_pickler: Any, limits: Any) -> Any:
    """What numbers of a type can be, of which there is one."""
    kind: Any = type(limits)
    return (kind, (limits.dtype,)) if kind(limits.dtype) is limits else NotImplemented


def reduce_scalar(pickler: Any, value: Any) -> Any:
    """A number of a class of the user's: NumPy itself would make one of its own type of it."""
    kind = type(value)
    base = next(one for one in kind.__mro__ if one.__module__ == "numpy")
    if base is kind:
        return NotImplemented
    plain = value.item()
    if type(plain) not in (int, float, complex, str, bytes, bool):
        raise PicklingError(f"a number of a class that is made of {base.__name__}")
    return make_scalar, (base, kind, plain), dict(getattr(value, "__dict__", {})), None, None, set_attributes


def make_scalar(base: Any, kind: Any, plain: Any) -> Any:
    """A number of a class of the user's."""
    return base.__new__(kind, plain)


def copy_of(array: Any, order: Any = "K") -> Any:
    """A copy that owns its memory, with what lies between fields: NumPy copies these alone, and leaves chance there."""
    import numpy

    if array.dtype.names is None or array.dtype.hasobject or not array.itemsize:
        return numpy.array(array, order=order, copy=True)
    made, raw = numpy.empty_like(array, order=order, subok=False), f"V{array.itemsize}"
    made.view(raw)[...] = array.view(raw)
    return made


def root_of(array: Any) -> Any:
    """What owns the memory of an array: an array, a bytearray, or itself where nothing else can be shared."""
    root, base = array, _base(array)
    while isinstance(base, sys.modules["numpy"].ndarray):
        root, base = base, _base(base)
    if is_owner(base):
        return array if array.dtype.hasobject else base
    if root is array or dense_order(root) is None:
        return array
    if root.dtype.hasobject and root.dtype != array.dtype and not (array.nbytes and has_view(root, array)):
        return array
    if array.dtype.hasobject and not root.dtype.hasobject:
        return array
    if array.size:
        (low, high), (first, last) = bounds(array), bounds(root)
        if low < first or last < high:
            return array
    return root


def is_foreign(root: Any) -> bool:
    """Whether the memory of an array is that of a library: not its own, nor what a snapshot was loaded into."""
    if is_owner(root) or root.base is None:
        return False
    return type(_base(root)) not in (Held, Mapped)


def _base(array: Any) -> Any:
    """Where an array has its memory from, past what stands between without owning it."""
    base = array.base
    if type(base) is memoryview:
        return base.obj
    between = type(base).__name__ == "DummyArray" and type(base).__module__.startswith("numpy.")
    return base.base if between else base  # of `as_strided`, and so of sliding windows


def reduce_memmap(pickler: Any, array: Any) -> Any:
    """A memory map is the file again, where it is one; a private or a derived one keeps its content only."""
    numpy = sys.modules["numpy"]
    root = array
    while isinstance(root.base, numpy.ndarray):
        root = root.base
    path = getattr(root, "filename", None)
    if not isinstance(root, numpy.memmap) or path is None or root.mode == "c" or not os.path.isfile(path):
        reduced = reduce_subclass(pickler, array)
        # One that was restored has no memory of a file behind it, and says what it was.
        is_private = "c" in (array.mode, getattr(root, "mode", None))
        return (*reduced, (array.mode, array.offset), None, None, set_private) if is_private else reduced
    if root is not array:
        shape = array.shape, array.strides, array.dtype, array.flags.writeable
        return make_memmap_part, (root, array.ctypes.data - root.ctypes.data, *shape, array.offset)
    if array.mode != "r":
        array.flush()
    order = "C" if array.flags.c_contiguous else "F"
    mode = "r" if array.mode == "r" else "r+"
    reduced = make_memmap, (portable_path(path), array.dtype, mode, array.offset, array.shape, order)
    # One that was opened as `w+` is not: that would empty the file.
    return reduced if mode == array.mode else (*reduced, array.mode, None, None, set_mode)


def reduce_ufunc(pickler: Any, function: Any) -> Any:
    """A function over arrays that was made of one in Python (`frompyfunc`, `vectorize`); others go by their names."""
    if not function.__name__.endswith(OF_PYTHON):
        return NotImplemented
    inner = next((one for one in gc.get_referents(function) if callable(one)), None)
    known = () if function.identity is None else (function.identity,)
    return NotImplemented if inner is None else (make_ufunc, (inner, function.nin, function.nout, *known))


OF_PYTHON = " (vectorized)"


def make_ufunc(inner: Any, inputs: int, outputs: int, *identity: Any) -> Any:
    """A function over arrays."""
    import numpy

    return numpy.frompyfunc(inner, inputs, outputs, **({"identity": identity[0]} if identity else {}))


def reduce_subclass(pickler: Any, array: Any) -> Any:
    """`numpy.matrix`, `numpy.recarray` and the like: the plain array, seen as one of them, or a part of its base."""
    numpy = sys.modules["numpy"]
    if (part := _part_of_base(pickler, array)) is not None:
        return part
    plain = array.view(numpy.ndarray)
    if root_of(array) is array:  # the view's root would be this very array again
        plain = copy_of(plain)
        plain.flags.writeable = array.flags.writeable
    return make_subclass, (plain, type(array), array.dtype)


def _part_of_base(pickler: Any, array: Any) -> Any:
    """How an array is made of the array that it says is its base, if a variable holds that; None if it cannot be.

    A base that nobody sees would be kept for nothing, and one that cannot be kept would cost the array, too.
    """
    base = array.base
    if id(base) not in pickler.reducers.variables or array.dtype.hasobject or not _is_simple_base(base):
        return None
    root = root_of(array)
    if root is array or base.dtype.hasobject or is_owner(root) or is_foreign(root) or dense_order(base) is None:
        return None
    (low, high), (first, last) = bounds(array), bounds(base)
    writeable = bool(array.flags.writeable)
    if low < first or last < high or not array.size or (writeable and not base.flags.writeable):
        return None
    offset = start_of(array) - first
    return make_part, (base, type(array), offset, array.shape, array.strides, array.dtype, writeable)


def _is_simple_base(base: Any) -> bool:
    """Whether there is nothing to an array but its memory and attributes that surely can be kept."""
    numpy = sys.modules["numpy"]
    if not isinstance(base, numpy.ndarray) or isinstance(base, (numpy.memmap, numpy.ma.MaskedArray)):
        return False
    return not instances.slots_of(type(base)) and all(map(_is_simple, getattr(base, "__dict__", {}).values()))


FEW = 50
"""Items of a list of which each is looked at."""


def _is_simple(value: Any, depth: int = 3) -> bool:
    kind = type(value)
    if kind in PLAIN:
        return True
    if not depth or kind not in (list, tuple, dict) or len(value) > FEW:
        return False
    items = (*value, *value.values()) if kind is dict else value
    return all(_is_simple(one, depth - 1) for one in items)


def make_part(base: Any, kind: Any, offset: int, shape: Any, strides: Any, dtype: Any, writeable: bool) -> Any:
    """A part of the memory of an array, seen as a subclass, which has that array for its base."""
    import numpy

    try:
        return sealed(numpy.ndarray.__new__(kind, shape, dtype, base, offset, strides), writeable)
    except Exception:  # times are in no buffer, and a class may want to know what an array is made of
        return make_subclass(make_view(base, offset, shape, strides, dtype, writeable), kind, dtype)


def reduce_users(pickler: Any, array: Any) -> Any:
    """A subclass of a cell or of a library: as the plain array, with its attributes, which NumPy's own way drops.

    A `__reduce__` of a cell's class, which adds these, would give an array with memory of its own.
    """
    kind = type(array)
    home = next(one for one in kind.__mro__ if "__reduce__" in vars(one))
    says = is_users(home)
    plain = says or home is sys.modules["numpy"].ndarray or is_only_forbidden(kind)
    if not plain or array.dtype.hasobject or (says and kind in pickler.reducers.asked):
        return NotImplemented
    if says:
        pickler.reducers.not_asked.add(kind)
    made, named = reduce_subclass(pickler, array), dict(getattr(array, "__dict__", {}))
    if slots := instances.slots_of(kind):
        return *made, (named, instances.content_of(array, tuple(slots))), None, None, set_with_slots
    return *made, named, None, None, set_attributes


def set_with_slots(array: Any, state: Any) -> None:
    """Give an array the attributes that it had, and what was in its slots."""
    named, slots = state
    set_attributes(array, named)
    instances.set_slots(array, slots)


def set_attributes(array: Any, state: Any) -> None:
    """Give an array the attributes that it had, and no others."""
    if hasattr(array, "__dict__"):
        array.__dict__.clear()
        array.__dict__.update(state)


def reduce_masked(pickler: Any, array: Any) -> Any:
    """A masked array: its data and its mask as arrays, which others may share."""
    state = dict(array.__dict__)
    data = array.view(array.baseclass)
    if root_of(array) is array:  # the view's root would be this very array again
        data = copy_of(data)
    return make_masked, (data, type(array)), state, None, None, set_masked


def reduce_masked_kind(pickler: Any, array: Any) -> Any:
    """A masked array of another class, of which NumPy would keep no attributes, or a record of a masked array."""
    as_numpy = type(array).__reduce__.__qualname__ in ("MaskedArray.__reduce__", "MaskedRecords.__reduce__")
    return reduce_masked(pickler, array) if as_numpy else NotImplemented


def make_array(buffer: Any, dtype: Any, shape: Any, order: Any, writeable: bool) -> Any:
    """An array over loaded memory; `shape` is that of its axes in `order`."""
    import numpy

    sizes, strides = without_gaps(shape, order, dtype.itemsize)
    array: Any = numpy.ndarray(sizes, dtype, buffer, 0, strides)
    return sealed(array, writeable)


def make_small(data: bytes, dtype: Any, shape: Any, order: Any, writeable: bool) -> Any:
    """An array whose content is in the stream, with memory of its own."""
    return sealed(copy_of(make_array(data, dtype, shape, order, False)), writeable)


def set_objects(array: Any, state: Any) -> None:
    """Fill an array of objects, as snapshots of an earlier version have it."""
    content, writeable = state
    array.__setstate__(content)
    sealed(array, writeable)


def make_view(root: Any, offset: int, shape: Any, strides: Any, dtype: Any, writeable: bool) -> Any:
    """A view of the memory of an array or a bytearray."""
    import numpy

    if is_owner(root):
        return sealed(numpy.ndarray(shape, dtype, root, offset, strides), writeable)
    with writeable_for_a_while(root) if writeable else nullcontext():
        view = view_of(root, offset, shape, strides, dtype)
    return sealed(view, writeable)


def make_export(owner: Any, offset: int, count: int, dtype: Any, writeable: bool) -> Any:
    """An array that keeps what owns its memory from being made larger, as `frombuffer` does."""
    import numpy

    return sealed(numpy.frombuffer(owner, dtype, count, offset), writeable)


def bytes_of(array: Any) -> Any:
    """The memory of an array that has no gaps, as bytes."""
    import numpy

    plain = array.view(numpy.ndarray)
    return plain.transpose(dense_order(plain)).reshape(-1).view("u1")


def make_subclass(plain: Any, kind: Any, dtype: Any) -> Any:
    """A plain array seen as a subclass."""
    made = plain.view(kind)
    if made.dtype != dtype or made.dtype.type is not dtype.type:
        made = plain.view(dtype, kind)
    return made


def make_masked(data: Any, kind: Any) -> Any:
    """A masked array over data."""
    return data.view(kind)


def set_masked(array: Any, state: Any) -> None:
    """Give it its mask and its fill value."""
    array.__dict__.update(state)


def make_memmap(path: str, dtype: Any, mode: Any, offset: int, shape: Any, order: Any) -> Any:
    """A file mapped into memory again."""
    import numpy

    # What is written into that of an earlier step stays in memory.
    mode = "c" if CurrentSession.earlier_file is not None and mode != "r" else mode
    return numpy.memmap(path_here(path), dtype, mode, offset, shape, order)


def reduce_archive(_pickler: Any, archive: Any) -> Any:
    """A file of several arrays (`.npz`), each of which is read when it is asked for: its file is opened again."""
    if archive.zip is None:  # it is closed
        return NotImplemented
    own = archive.fid is not None
    file = archive.fid if own else archive.zip.fp
    return make_archive, (type(archive), file, own, archive.allow_pickle, archive.pickle_kwargs)


def make_archive(kind: Any, file: Any, own: bool, allows_objects: bool, how: Any) -> Any:
    """Such a file."""
    return kind(file, own_fid=own, allow_pickle=allows_objects, pickle_kwargs=how)


def reduce_calendar(_pickler: Any, calendar: Any) -> Any:
    """The days on which business is done."""
    return type(calendar), (calendar.weekmask, calendar.holidays)


def set_mode(array: Any, mode: str) -> None:
    """Have a map say how it was opened first."""
    if CurrentSession.earlier_file is None:
        array.mode = mode


def set_private(array: Any, state: Any) -> None:
    """Have what was a private map say that it is one."""
    array.mode, array.offset = state


def make_memmap_part(root: Any, place: int, shape: Any, strides: Any, dtype: Any, writeable: bool, offset: int) -> Any:
    """A part of a mapped file, which is a view of the whole."""
    import numpy

    view: Any = numpy.ndarray.__new__(type(root), shape, dtype, root, place, strides)
    view._mmap, view.filename, view.mode, view.offset = root._mmap, root.filename, root.mode, offset
    return sealed(view, writeable)


def make_memmap_view(root: Any, plain: Any, offset: int) -> Any:
    """A part of a mapped file, as snapshots of an earlier version have it."""
    view = plain.view(type(root))
    view._mmap, view.filename, view.mode, view.offset = root._mmap, root.filename, root.mode, offset
    return view


def reduce_flat(pickler: Any, flat: Any) -> Any:
    """An iterator over all items of an array, where it is."""
    if flat.index > MOST_STEPS:
        raise PicklingError("an iterator over the items of an array that is far in it")
    return make_flat, (flat.base, flat.index)


MOST_STEPS = 10_000_000
"""How far such an iterator may be: it is brought there step by step."""


def make_flat(array: Any, index: int) -> Any:
    """That iterator."""
    flat = array.flat
    for _ in itertools.islice(flat, index):
        pass
    return flat
