"""Containers with methods of their own: dicts, lists, sets and deques whose class overrides how they are filled.

Pickle fills such an object through its own methods, which would do to each item a second time what they did to it.
"""

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

FAMILIES: tuple[type, ...] = (OrderedDict, defaultdict, Counter, dict, list, set, deque)
FILLING = ("__init__", "__new__", "__setitem__", "append", "extend", "add", "update", "__ior__", "__iadd__")
TAKEN_APART = ("__reduce__", "__reduce_ex__", "__getnewargs__", "__getnewargs_ex__")


def family_of(kind: type) -> type | None:
    """The type of Python's own that a class fills in its own way; None: pickle does it right."""
    family = next((one for one in FAMILIES if issubclass(kind, one)), None)
    if family is None or kind in FAMILIES:
        return None
    base: Any = family
    if any(getattr(kind, name, None) is not getattr(base, name, None) for name in TAKEN_APART):
        return None
    overridden = any(getattr(kind, name, None) is not getattr(base, name, None) for name in FILLING)
    return family if overridden else None


def reducer(family: type) -> Callable[[Any, Any], Any]:
    """Takes objects of a family apart, without a method of theirs but those for their attributes."""

    def reduce(pickler: Any, value: Any) -> Any:
        base: Any = family
        items = list(base.items(value)) if issubclass(family, dict) else list(base.__iter__(value))
        extra = None
        if family is deque:
            extra = value.maxlen
        elif family is defaultdict:
            extra = value.default_factory
        return make, (type(value), family), (value.__getstate__(), items, extra), None, None, fill

    return reduce


def make(kind: Any, family: Any) -> Any:
    """An empty one."""
    return family.__new__(kind)


def fill(value: Any, state: Any) -> None:
    """Give it its items and its attributes."""
    attributes, items, extra = state
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
    if hasattr(type(value), "__setstate__"):
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
