"""What cells make with `ctypes`: structures and other types of C, and data of these that shares memory."""

import ctypes
import sys
from pickle import PicklingError
from typing import Any

from ..storing.loaded_memory import address

DATA: Any = ctypes.Structure.__mro__[1]
"""The base of all that has memory of C."""


class _Probe(ctypes.Structure):
    """A structure."""

    _fields_ = (("field", ctypes.c_int),)


FIELD = type(vars(_Probe)["field"])
FIELDS = "_fields_"
USE_ERRNO, USE_LAST_ERROR = 8, 16
"""Flags of types of functions."""


def is_data(value: Any) -> bool:
    """Whether something is data of C."""
    return issubclass(type(value), DATA)


def is_data_type(kind: type) -> bool:
    """Whether a class is of data of C."""
    return DATA in kind.__mro__


def fields_last(state: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a class so that its fields are made of what it says of them, once all of that is there."""
    if FIELDS not in state:
        return state
    others = {name: value for name, value in state.items() if type(value) is not FIELD and name != FIELDS}
    return {**others, FIELDS: state[FIELDS]}


def reduce_c_data(pickler: Any, value: Any) -> Any:
    """A number, structure or array of C: over the memory of something again, as a part of another one, or by itself."""
    whole = value._b_base_
    if whole is not None:
        return make_part, (whole, _place_in(whole, value))
    base = _base_of(value)
    if base is None:
        return NotImplemented
    if type(base) is not bytearray and not is_data(base):
        raise PicklingError(f"an object of ctypes over the memory of a {type(base).__name__}")
    start = ctypes.addressof(base) if is_data(base) else address(base)
    return make_c_data, (type(value), base, ctypes.addressof(value) - start)


def _base_of(value: Any) -> Any:
    """Whose memory data is over; None: it has its own."""
    held = value._objects
    parts = held.values() if isinstance(held, dict) else (held,)
    view = next((one for one in parts if type(one) is memoryview), None)
    return None if view is None else view.obj


def _place_in(whole: Any, part: Any) -> tuple[type, str] | int:
    """The field of a structure, or the number in an array, that a part of it is.

    Raises:
        PicklingError: it is none: a pointer leads there.
    """
    offset, kind = ctypes.addressof(part) - ctypes.addressof(whole), type(part)
    if isinstance(whole, ctypes.Array):
        number = offset // max(ctypes.sizeof(kind), 1)
        if whole._type_ is kind and 0 <= number < len(whole):
            return number
    for owner in type(whole).__mro__:
        for name, field in vars(owner).items():
            if type(field) is FIELD and field.offset == offset and type(field.__get__(whole)) is kind:
                return owner, name
    raise PicklingError("an object of ctypes in memory that a pointer leads to")


def make_part(whole: Any, place: tuple[type, str] | int) -> Any:
    """A part of a structure or of an array, which has the memory of that."""
    if isinstance(place, int):
        return ctypes.Array.__getitem__(whole, place)
    owner, name = place
    return vars(owner)[name].__get__(whole)


def make_c_data(kind: Any, base: Any, offset: int) -> Any:
    """One over a part of some memory."""
    return kind.from_buffer(base, offset)


OTHER_NAMES = {"_wrappers": "wrapt._wrappers"}
"""Names that compiled classes give for their module, which is none, and that of their module."""


def reduce_type(kind: type) -> Any:
    """A type that is made by asking for it, and is there once; None: it is another one."""
    if id(kind) in METACLASSES:
        return type, (METACLASSES[id(kind)],)
    module = sys.modules.get(OTHER_NAMES.get(kind.__module__, "")) if type(kind.__module__) is str else None
    if module is not None and vars(module).get(kind.__name__) is kind:
        return getattr, (module, kind.__name__)
    way = WAYS.get(id(type(kind)))
    return None if way is None else way(kind)


def _reduce_array_type(kind: Any) -> Any:
    """It was made by multiplying another one."""
    of = getattr(kind, "_type_", None)
    if of is None or of * kind._length_ is not kind:
        return None
    return make_array_type, (of, kind._length_, getattr(kind, "__module__", None))


def make_array_type(of: Any, length: int, module: str | None) -> Any:
    """The type of arrays of so many, which is that of the module in which it was first made."""
    kind = of * length
    if module is not None:
        kind.__module__ = module
    return kind


def _reduce_pointer_type(kind: Any) -> Any:
    of = getattr(kind, "_type_", None)
    return (ctypes.POINTER, (of,)) if isinstance(of, type) and ctypes.POINTER(of) is kind else None


def _reduce_function_type(kind: Any) -> Any:
    if not kind.__qualname__.startswith("CFUNCTYPE."):
        return None
    arguments = kind._restype_, kind._argtypes_, kind._flags_
    return (make_function_type, arguments) if make_function_type(*arguments) is kind else None


def _reduce_number_type(kind: Any) -> Any:
    """A number of the other order of bytes is an attribute of the usual one."""
    name, _, order = kind.__name__.rpartition("_")
    usual, attribute = getattr(ctypes, name, None), f"__ctype_{order}__"
    return (getattr, (usual, attribute)) if getattr(usual, attribute, None) is kind else None


METACLASSES: dict[int, Any] = {
    id(type(kind)): kind
    for kind in (ctypes.Structure, ctypes.Union, ctypes.Array, ctypes.c_int, ctypes.POINTER(ctypes.c_int))
}
"""A type that has each of these for its own, since no module has all of them."""
WAYS: dict[int, Any] = {
    id(type(ctypes.Array)): _reduce_array_type,
    id(type(ctypes.POINTER(ctypes.c_int))): _reduce_pointer_type,
    id(type(ctypes.CFUNCTYPE(None))): _reduce_function_type,
    id(type(ctypes.c_int)): _reduce_number_type,
}
"""How a type is asked for, by what it is made of."""


def make_function_type(result: Any, arguments: tuple[Any, ...], flags: int) -> Any:
    """The type of such functions."""
    errors = {"use_errno": bool(flags & USE_ERRNO), "use_last_error": bool(flags & USE_LAST_ERROR)}
    return ctypes.CFUNCTYPE(result, *arguments, **errors)
