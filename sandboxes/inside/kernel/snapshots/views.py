"""Views of dictionaries, iterators over them, weak references: they refer to the same object again after a restore."""

import gc
import weakref
from collections import OrderedDict
from itertools import islice
from operator import is_
from pickle import PicklingError
from typing import Any

VIEWS = ("keys", "values", "items")
WAYS = [(which, way) for which in VIEWS for way in (iter, reversed)]
ITERATORS = {type(way(getattr(kind(), which)())): (which, way) for kind in (OrderedDict, dict) for which, way in WAYS}
"""The types of iterators over dictionaries; those of an ordered one have one type for all ways."""


def reduce_view(pickler: Any, view: Any) -> Any:
    """The keys, values or items of a dictionary, which may be changed later."""
    owner = _owner(view)
    if owner is None:
        return NotImplemented
    return make_view, (owner, type(view).__name__.rpartition("_")[2])


def make_view(owner: Any, which: str) -> Any:
    """A view of a dictionary."""
    return getattr(type(owner), which)(owner)


def reduce_iterator(pickler: Any, iterator: Any) -> Any:
    """What goes through a dictionary, and sees that it was changed; pickle would keep the rest of it alone."""
    owner, rest = _owner(iterator), list(iterator.__reduce__()[1][0])
    if owner is None or not rest:
        return NotImplemented
    ways = WAYS if type(owner) is OrderedDict else [ITERATORS[type(iterator)]]
    for which, way in ways:
        made = list(make_iterator(owner, which, way, len(owner) - len(rest)))
        pairs = zip(made, rest, strict=True) if len(made) == len(rest) else [(made, rest)]
        if all(all(map(is_, *both)) if which == "items" else is_(*both) for both in pairs):
            return make_iterator, (owner, which, way, len(owner) - len(rest))
    return NotImplemented


def make_iterator(owner: Any, which: str, way: Any, given: int) -> Any:
    """What goes through a dictionary, and has given so many items already."""
    made = way(getattr(type(owner), which)(owner))
    if sum(1 for _ in islice(made, given)) != given:
        raise PicklingError("an iterator over a dictionary that holds it")
    return made


def reduce_proxy(pickler: Any, proxy: Any) -> Any:
    """A read-only view of a dictionary; that of a class is left to whoever pickles classes."""
    owner = _owner(proxy)
    if owner is None or dict.__contains__(owner, "__module__"):
        return NotImplemented
    return type(proxy), (owner,)


def _owner(view: Any) -> Any:
    found = [one for one in gc.get_referents(view) if isinstance(one, dict)]
    return found[0] if len(found) == 1 else None


def reduce_reference(pickler: Any, reference: Any) -> Any:
    """A weak reference to what is still there."""
    value = reference()
    if value is None:
        raise PicklingError("a weakref whose object is gone")
    if reference.__callback__ is not None:
        raise PicklingError("a weakref that calls something when its object goes")
    return weakref.ref, (value,)


def reduce_weak(pickler: Any, mapping: Any) -> Any:
    """A dictionary that does not keep its keys, or its values, alive; who does keeps them after a restore, too."""
    return type(mapping), (), (list(mapping.items()),), None, None, set_weak


def set_weak(mapping: Any, state: Any) -> None:
    """Fill it."""
    for key, value in state[0]:
        mapping[key] = value
