"""Dictionary views and weak references: they refer to the same object again after a restore."""

import gc
import weakref
from pickle import PicklingError
from typing import Any


def reduce_view(pickler: Any, view: Any) -> Any:
    """The keys, values or items of a dictionary, which may be changed later."""
    owner = _owner(view)
    if owner is None:
        return NotImplemented
    return make_view, (owner, type(view).__name__.rpartition("_")[2])


def make_view(owner: Any, which: str) -> Any:
    """A view of a dictionary."""
    return getattr(type(owner), which)(owner)


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
