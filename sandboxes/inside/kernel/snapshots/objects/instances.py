"""Instances of cells' classes, taken apart and made again without code of these where that would change them.

Pickle asks a class how to make an object and what to keep of it: a `__new__` runs a second time, a `__getattr__` or
`__setattr__` meets an object that is still empty, a `__hash__` is called by the dictionary of a cycle before there is
anything to hash, and a `__getstate__` or `__reduce__`, or what is registered with `copyreg`, leaves out what a copy
would not need. Here an object has afterwards what it had, whatever its class says of copies. Where that cannot be kept
(a generator in a cache), what its class says is done after all.
"""

import copyreg
import ctypes
import enum
import re
import struct
import sys
import weakref
from collections.abc import Callable, Iterable
from types import MemberDescriptorType, SimpleNamespace
from typing import Any

from ..cell_sources import nodes_of
from ..current_session import CurrentSession, is_of_session
from ..memo_table import MemoTable
from .classes import is_users

NATIVE: tuple[type, ...] = (object, int, float, complex, str, bytes, tuple)
"""Types whose objects are made of nothing but their value."""
OF_PYTHON = frozenset({"abc", "typing", "typing_extensions", "collections.abc", "numbers", "contextlib"})
"""Modules whose classes give an object nothing of their own to keep."""
STATE = ("__getstate__", "__setstate__")
TAKING_APART = ("__reduce__", "__reduce_ex__", "__getnewargs__", "__getnewargs_ex__")
RUNNING = ("__new__", "__hash__", "__setattr__", "__getattr__", "__getattribute__")
"""Methods that run while pickle takes an object apart or makes it."""
DICTIONARIES = re.compile(r"\b(?:vars|__dict__)\b")
ASKED = ("vars", "__dict__")
"""A name, an attribute, or a text that `getattr` is given."""
CACHED_HASH = "_attrs_cached_hash"
"""A slot that attrs fills by itself: a hash may be another one in another process."""
GENERATED = ("__attrs_attrs__", "__dataclass_fields__")
"""What classes have for which a library has generated methods that keep all fields, and no more than these."""
WORD = struct.calcsize("P")
PLAIN = frozenset({str, int, float, complex, bool, bytes, type(None)})

Slots = tuple[tuple[type, str, Any], ...]
Reduce = Callable[[Any, Any], Any]

asked: "weakref.WeakSet[Any]" = weakref.WeakSet()
"""Classes that are asked what to keep of their objects, because not all of it can; and caches that are kept empty."""


def use_dictionaries(source: str) -> bool:
    """Whether a cell may hold the dictionary of attributes of an object."""
    if DICTIONARIES.search(source) is None:  # as in nearly all
        return False
    nodes = nodes_of(source)
    return any(getattr(node, "id", getattr(node, "attr", getattr(node, "value", None))) in ASKED for node in nodes)


def reducer_of(kind: Any) -> Reduce | None:
    """How instances of a class are taken apart; None: pickle does it right, or the class is not a cell's."""
    if not is_users(kind) or issubclass(kind, type | enum.Enum | BaseException):
        return None
    base = _base(kind)
    if base is None or not is_of_python(kind, base):
        return None
    says = _of_cell(kind, (*STATE, *TAKING_APART))
    registered = kind in copyreg.dispatch_table
    generated = not registered and any(not _is_written(kind, name) and _home(kind, name) is kind for name in says)
    if generated and vars(kind).keys().isdisjoint(GENERATED):
        return None  # the library knows what it does
    if generated and _keeps_all(kind) and (kind.__hash__ is None or not _of_cell(kind, ("__hash__",))):
        return _reduce_as_generated  # which takes less time; what is hashed has to be filled before
    if kind.__module__ != "__main__" and (registered or not says.isdisjoint(TAKING_APART)):
        return None  # it may say the name by which its module has it
    runs = _of_cell(kind, RUNNING)
    if "__new__" in runs and "_make" in vars(_home(kind, "__new__")):  # that of a named tuple
        runs.remove("__new__")
    if kind.__hash__ is None:
        runs.discard("__hash__")
    slots = tuple(slots_of(kind))
    is_bound = any("__dict__" in _names(getattr(kind, name)) for name in ("__init__", *runs))
    needed = bool(
        says
        or registered
        or runs - {"__setattr__", "__hash__"}
        or ("__setattr__" in runs and slots)
        or len({name for _, name in slots}) < len(slots)
        or _of_cell(type(kind), ("__setattr__",))  # pickle sets `__slotnames__`
        or _home(kind, "__class__") is not None  # which pickle compares with its type
    )
    needed_for_some = is_bound or CurrentSession.asks_for_attributes
    if not (needed or needed_for_some or "__hash__" in runs):
        return None
    way = _Way(base, slots, "__hash__" in runs, bool(says) or registered, needed)
    return way.reduce if needed or needed_for_some or slots or not kind.__dictoffset__ else way.reduce_hashed


def _keeps_all(kind: type) -> bool:
    """Whether what a library has generated keeps all that an object of a class holds: it has nothing but fields."""
    fields = {*(one.name for one in vars(kind).get(GENERATED[0], ())), *vars(kind).get(GENERATED[1], ()), CACHED_HASH}
    return not kind.__dictoffset__ and all(name in fields for _, name in slots_of(kind))


def _reduce_as_generated(_pickler: Any, _value: Any) -> Any:
    return NotImplemented


def reducer_of_held(kind: Any) -> Reduce | None:
    """How objects of a plain class of a library are taken apart, if a cell may hold their attributes: `vars(args)`."""
    if not CurrentSession.asks_for_attributes or is_users(kind) or issubclass(kind, type | BaseException):
        return None
    says = any(_home(kind, name) is not None for name in (*STATE, *TAKING_APART, "__new__"))
    plain = not says and bool(kind.__dictoffset__) and is_of_python(kind, object) and not slots_of(kind)
    return _reduce_held if plain else None


def _reduce_held(_pickler: Any, value: Any) -> Any:
    attributes = shared_attributes(value)
    if attributes is None:
        return NotImplemented
    return make, (type(value), object, ()), (attributes, (), True), None, None, fill


def reduce_namespace(_pickler: Any, space: Any) -> Any:
    """A `SimpleNamespace`, whose attributes a cell may hold; `sys.implementation` is that of this process."""
    if space is sys.implementation:
        return getattr, (sys, "implementation")
    attributes = shared_attributes(space) if CurrentSession.asks_for_attributes else None
    return NotImplemented if attributes is None else (SimpleNamespace, (), attributes, None, None, set_attributes)


def set_attributes(space: Any, attributes: dict[str, Any]) -> None:
    """Make a dictionary that of a namespace, for which Python has no way."""
    held: Any = ctypes.py_object.from_address(id(space) + SimpleNamespace.__dictoffset__)
    before = held.value
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(attributes))
    held.value = attributes
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(before))


def set_said(value: Any, said: dict[str, Any]) -> None:
    """Give an object of a snapshot of an earlier version its attributes as its class does."""
    value.__setstate__(said)


def fill_with_cached(value: Any, state: Any) -> None:
    """Give it what is in its slots besides; in snapshots of earlier versions."""
    _, cached = state
    set_slots(value, cached)


def _of_cell(kind: type, names: Iterable[str]) -> set[str]:
    """Which methods a class has from a class of a cell."""
    return {name for name in names if (home := _home(kind, name)) is not None and is_users(home)}


def _names(method: Any) -> tuple[str, ...]:
    """The names that the code of a method has."""
    return getattr(getattr(method, "__code__", None), "co_names", ())


def _home(kind: type, name: str) -> Any:
    """The class that has a method; None: none but Python's own types."""
    return next((one for one in kind.__mro__ if name in vars(one) and one not in NATIVE), None)


def _is_written(kind: type, name: str) -> bool:
    """Whether a method is the user's, and not one that a library has generated."""
    method = vars(_home(kind, name))[name]
    space = getattr(getattr(method, "__func__", method), "__globals__", None)
    return isinstance(space, dict) and (space.get("__file__") is None or is_of_session(space["__file__"]))


def _base(kind: type) -> type | None:
    """The type of Python's own of which its objects are made; None: they have more to keep than that knows."""
    others = [one for one in kind.__mro__ if not is_users(one)]
    if any(one not in NATIVE and one.__module__ not in OF_PYTHON for one in others):
        return None
    if any(name in vars(one) for one in others if one not in NATIVE for name in (*STATE, *TAKING_APART)):
        return None
    return next(one for one in others if one in NATIVE)


def is_of_python(kind: Any, base: Any) -> bool:
    """Whether objects of a class have room for nothing but its base's value, slots and attributes.

    Compiled libraries give classes the names of modules that there are not, as if these were a cell's.
    """
    return bool(kind.__basicsize__ <= base.__basicsize__ + WORD * (2 + len(slots_of(kind))))


def slots_of(kind: type) -> list[tuple[type, str]]:
    """The slots of a class and its bases: one may have the name of another."""
    return [
        (one, name)
        for one in kind.__mro__
        if vars(one).get("__slots__")
        for name, value in vars(one).items()
        if type(value) is MemberDescriptorType and value.__objclass__ is one
    ]


class _Way:
    """How instances of a class are taken apart.

    Args:
        base: The type of Python's own of which they are made.
        slots: Their slots.
        hashed: Whether the class hashes them in its own way.
        says: Whether it, or what is registered with `copyreg`, says what is to be kept of them.
        needed: Whether pickle would not do it right; else that depends on the object.
    """

    def __init__(self, base: Any, slots: tuple[tuple[type, str], ...], hashed: bool, says: bool, needed: bool) -> None:
        self._base = base
        self._slots = tuple(slot for slot in slots if slot[1] != CACHED_HASH)
        self._empty: Slots = tuple((*slot, None) for slot in slots if slot[1] == CACHED_HASH)
        self._hashed = hashed
        self._says = says
        self._needed = needed

    def reduce_hashed(self, pickler: Any, value: Any) -> Any:
        """Take one apart whose class has nothing but a `__hash__`, which most have for plain attributes."""
        if PLAIN.issuperset(map(type, object.__getattribute__(value, "__dict__").values())):
            return NotImplemented
        return self.reduce(pickler, value)

    def reduce(self, pickler: Any, value: Any) -> Any:
        """Take one apart."""
        kind: Any = type(value)
        attributes = object.__getattribute__(value, "__dict__") if kind.__dictoffset__ else None
        whole = attributes is not None and (type(attributes) is not dict or _references(attributes) > ALONE)
        hashed = self._hashed and (self._slots or not PLAIN.issuperset(map(type, (attributes or {}).values())))
        if not (self._needed or whole or hashed):
            return NotImplemented
        if self._says:
            if kind in pickler.reducers.asked:
                return NotImplemented
            pickler.reducers.not_asked.add(kind)
        arguments = () if self._base is object else tuple(self._base.__getnewargs__(value))
        content = content_of(value, self._slots) + self._empty
        early: tuple[Any, ...] = ()
        if hashed:
            pickler.reducers.begun.add(id(value))
            plain = {name: one for name, one in (attributes or {}).items() if _is_early(one, pickler)}
            early = plain, tuple(one for one in content if _is_early(one[2], pickler))
        return make, (kind, self._base, arguments, *early), (attributes, content, whole), None, None, fill


def _references(attributes: Any) -> int:
    """How often the attributes of an object are referred to."""
    return sys.getrefcount(attributes)


class _Probe:
    """An object whose attributes nobody else holds."""

    def __init__(self) -> None:
        self.name = 1


def _references_alone(value: Any) -> int:
    attributes = object.__getattribute__(value, "__dict__")
    return _references(attributes)


ALONE = _references_alone(_Probe())
"""How often they are if only the object has them, and who asks."""


def shared_attributes(value: Any) -> Any:
    """The attributes of an object if something else holds them, too, or they are no plain dictionary; else None."""
    attributes = object.__getattribute__(value, "__dict__")
    return attributes if type(attributes) is not dict or _references(attributes) > ALONE else None


def content_of(value: Any, slots: tuple[tuple[type, str], ...]) -> Slots:
    """What is in the slots of an object."""
    found = []
    for owner, name in slots:
        try:
            found.append((owner, name, vars(owner)[name].__get__(value)))
        except AttributeError:  # it is empty
            continue
    return tuple(found)


def set_slots(value: Any, slots: Slots) -> None:
    """Put it there again, below a `__setattr__` of its class."""
    for owner, name, content in slots:
        vars(owner)[name].__set__(value, content)


def _is_early(value: Any, pickler: Any) -> bool:
    """Whether a value can be there before the object that has it, which may be hashed by it.

    Another object of a cell can, unless it is itself waiting for this one.
    """
    kind = type(value)
    if kind in PLAIN:
        return True
    if kind is tuple or kind is frozenset:
        return all(_is_early(one, pickler) for one in value)
    free = pickler.reducers.free.get(kind)
    if free is None:
        base = None if issubclass(kind, type) or not is_users(kind) else _base(kind)
        free = base is not None and is_of_python(kind, base)
        pickler.reducers.free[kind] = free
    if not free:
        return False
    return id(value) not in pickler.reducers.begun or id(value) in MemoTable(pickler)


def make(kind: Any, base: Any, arguments: Any, attributes: Any = None, slots: Slots = ()) -> Any:
    """An object that is still to be filled, but for what it may be hashed by."""
    value = base.__new__(kind, *arguments)
    if attributes:
        object.__getattribute__(value, "__dict__").update(attributes)
    set_slots(value, slots)
    return value


def fill(value: Any, state: Any) -> None:
    """Give it its attributes: in their order, or the very dictionary that several objects have for theirs."""
    attributes, slots, whole = state
    if whole and attributes is not None:
        object.__setattr__(value, "__dict__", attributes)
    elif attributes is not None:
        own = object.__getattribute__(value, "__dict__")
        own.clear()
        own.update(attributes)
    set_slots(value, slots)


def reduce_attributes(_pickler: Any, value: Any) -> Any:
    """An object of a library that is its attributes, whatever it answers: a mock, a logger that writes to a file."""
    return make, (type(value), object, ()), (object.__getattribute__(value, "__dict__"), (), False), None, None, fill


def reduce_call(_pickler: Any, call: Any) -> Any:
    """What a mock remembers of a call, which answers whatever it is asked, too."""
    state = object.__getattribute__(call, "__dict__"), (), False
    return make, (type(call), tuple, (tuple(tuple.__iter__(call)),)), state, None, None, fill
