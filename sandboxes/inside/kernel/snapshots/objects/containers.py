"""Containers with methods of their own: dicts, lists, sets and deques whose class overrides how they are used.

Pickle fills such an object through its own methods, which would do to each item a second time what they did to it. And
it asks the class what to keep: a `__getstate__` or `__reduce__` of a cell leaves out what a copy would not need.
"""

import copyreg
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

from ..current_session import CurrentSession
from . import instances
from .classes import is_users

FAMILIES: tuple[type, ...] = (OrderedDict, defaultdict, Counter, dict, list, set, deque)
FILLING = ("__init__", "__new__", "__setitem__", "append", "extend", "add", "update", "__ior__", "__iadd__")
READING = ("__iter__", "__len__", "__reversed__", "__getitem__", "items", "keys", "values")
"""What pickle would call of a class of a cell; it may count, print or never end."""
TAKEN_APART = ("__reduce__", "__reduce_ex__", "__getnewargs__", "__getnewargs_ex__")
STATE = ("__getstate__", "__setstate__")
PLAIN: Any = object


def family_of(kind: type) -> type | None:
    """The type of Python's own that a class fills in its own way; None: pickle does it right."""
    family = next((one for one in FAMILIES if issubclass(kind, one)), None)
    if family is None or kind in FAMILIES:
        return None
    others = [name for name in TAKEN_APART if getattr(kind, name, None) is not getattr(family, name, None)]
    registered = kind in copyreg.dispatch_table
    if (others or registered) and kind.__module__ != "__main__":
        return None
    if not all(_is_of_cell(kind, name) for name in others):
        return None
    if others or registered or (is_users(kind) and CurrentSession.asks_for_attributes and kind.__dictoffset__):
        return family
    overridden = any(getattr(kind, name, None) is not getattr(family, name, None) for name in FILLING)
    return family if overridden or any(_is_of_cell(kind, name) for name in READING) else None


def _is_of_cell(kind: type, name: str) -> bool:
    """Whether a class has a method from a class of a cell."""
    return is_users(next((one for one in kind.__mro__ if name in vars(one)), object))


def reducer(family: type) -> Callable[[Any, Any], Any]:
    """Takes objects of a family apart, without a method of theirs but those for their attributes."""

    def reduce(pickler: Any, value: Any) -> Any:
        kind: Any = type(value)
        base: Any = family
        how = kind in copyreg.dispatch_table or any(_is_of_cell(kind, name) for name in TAKEN_APART)
        says = how or any(_is_of_cell(kind, name) for name in STATE)
        asked = says and kind in pickler.reducers.asked
        if asked and how:
            return NotImplemented
        if says and not asked:
            pickler.reducers.not_asked.add(kind)
        own = instances.shared_attributes(value) if kind.__dictoffset__ and not asked else None
        state = PLAIN.__getstate__(value) if says and not asked else value.__getstate__()
        if own is not None:
            state = (None, state[1]) if isinstance(state, tuple) else None
        items = list(base.items(value)) if issubclass(family, dict) else list(base.__iter__(value))
        extra = None
        if family is deque:
            extra = value.maxlen
        elif family is defaultdict:
            extra = value.default_factory
        return make, (kind, family), (state, items, extra, asked or not says, own), None, None, fill

    return reduce


def is_frozen(kind: type) -> bool:
    """Whether it is a class of frozen sets or tuples whose items a method of a cell gives."""
    if not issubclass(kind, FROZEN) or not any(_is_of_cell(kind, name) for name in READING):
        return False
    apart = {name for name in (*TAKEN_APART, *STATE) if _is_of_cell(kind, name)}
    return apart <= ({"__getnewargs__"} if hasattr(kind, "_fields") else set())  # which a named tuple has of Python's


FROZEN = (frozenset, tuple)


def reduce_frozen(_pickler: Any, items: Any) -> Any:
    """One of such a class, with the items that it has."""
    base: Any = next(one for one in FROZEN if issubclass(type(items), one))
    return make_frozen, (type(items), list(base.__iter__(items)), base), PLAIN.__getstate__(items)


def make_frozen(kind: Any, items: list[Any], base: Any) -> Any:
    """The same; its class makes nothing."""
    return base.__new__(kind, items)


def reduce_numbering(_pickler: Any, numbers: Any) -> Any:
    """A `defaultdict` whose factory is a method of its own: `numbers.default_factory = numbers.__len__`."""
    factory = numbers.default_factory
    if factory is None or getattr(factory, "__self__", factory) is not numbers:
        return NotImplemented
    return defaultdict, (), factory, None, iter(numbers.items()), set_factory


def set_factory(numbers: Any, factory: Any) -> None:
    """Give it its factory."""
    numbers.default_factory = factory


def make(kind: Any, family: Any) -> Any:
    """An empty one."""
    return family.__new__(kind)


def fill(value: Any, state: Any) -> None:
    """Give it its items and its attributes."""
    attributes, items, extra, *more = state  # earlier snapshots have no more
    family: Any = next(one for one in FAMILIES if isinstance(value, one))
    if family is deque:
        deque.__init__(value, items, extra)
    elif family is list:
        list.extend(value, items)
    elif family is set:
        set.update(value, items)
    else:
        if family is defaultdict:
            defaultdict.__init__(value, extra)
        insert = OrderedDict.__setitem__ if family is OrderedDict else dict.__setitem__
        for key, item in items:
            insert(value, key, item)
    asked, own = more or (True, None)
    if own is not None:
        object.__setattr__(value, "__dict__", own)
    if asked and hasattr(type(value), "__setstate__"):
        if attributes is not None:
            value.__setstate__(attributes)
        return
    slots = None
    if isinstance(attributes, tuple):
        attributes, slots = attributes
    if attributes:
        value.__dict__.update(attributes)
    for name, content in (slots or {}).items():
        object.__setattr__(value, name, content)
