"""Views of dictionaries, iterators over them, weak references: they refer to the same object again after a restore."""

import gc
import weakref
from collections import OrderedDict
from itertools import islice
from operator import is_
from pickle import PicklingError
from typing import Any

from . import weak_references

VIEWS = ("keys", "values", "items")
WAYS = [(which, backwards) for which in VIEWS for backwards in (False, True)]


def begin(owner: Any, base: Any, which: str, backwards: bool) -> Any:
    """What goes through a dictionary, without a method of its class."""
    view = getattr(base, which)(owner)
    return reversed(view) if backwards else iter(view)


OF_ORDERED = type(begin(OrderedDict(), OrderedDict, "keys", False))
"""The one type of iterators over ordered dictionaries."""
ITERATORS = {type(begin({}, dict, which, backwards)): [(which, backwards)] for which, backwards in WAYS}
ITERATORS[OF_ORDERED] = WAYS


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
    ordered, given = type(iterator) is OF_ORDERED, len(owner) - len(rest)
    for which, backwards in ITERATORS[type(iterator)]:
        same = list(islice(begin(owner, OrderedDict if ordered else dict, which, backwards), given, None))
        if len(same) == len(rest) and all(
            all(map(is_, *both)) if which == "items" else is_(*both) for both in zip(same, rest, strict=True)
        ):
            return make_iterator, (owner, ordered, which, backwards, given, rest)
    return NotImplemented


def make_iterator(owner: Any, ordered: bool, which: str, backwards: bool, given: int, rest: list[Any]) -> Any:
    """What goes through a dictionary, and has given so many items already.

    One that the dictionary itself holds is made before there is anything in it, and goes over the rest alone.
    """
    made = begin(owner, OrderedDict if ordered else dict, which, backwards)
    return made if sum(1 for _ in islice(made, given)) == given and owner else iter(rest)


def reduce_proxy(pickler: Any, proxy: Any) -> Any:
    """A read-only view of a dictionary, of another mapping, or of the variables of a class."""
    (owner,) = gc.get_referents(proxy)
    if not (issubclass(type(owner), dict) and dict.__contains__(owner, "__module__")):
        return type(proxy), (owner,)
    # Only the class itself knows whose variables they are; few cells hold such a view.
    kinds = [one for one in gc.get_referrers(owner) if issubclass(type(one), type) and _owner(vars(one)) is owner]
    return (vars, (kinds[0],)) if len(kinds) == 1 else NotImplemented


def _owner(view: Any) -> Any:
    found = [one for one in gc.get_referents(view) if isinstance(one, dict)]
    return found[0] if len(found) == 1 else None


def reduce_weak_proxy(pickler: Any, proxy: Any) -> Any:
    """A weak proxy of what is still there; pickle would take it for the object itself."""
    value = weak_references.referent_of(proxy)
    if not any(one is proxy for one in weakref.getweakrefs(value)):
        raise PicklingError("a weak proxy of an object that does not say which one it is")
    called = gc.get_referents(proxy)  # it does not say itself what it calls when the object goes
    if not called:
        return weakref.proxy, (value,)
    return (
        weak_references.make_proxy,
        (value,),
        weak_references.called_of(called[0]),
        None,
        None,
        weak_references.fill_proxy,
    )


def reduce_weak(pickler: Any, mapping: Any) -> Any:
    """A dictionary that does not keep its keys, or its values, alive; who does keeps them after a restore, too."""
    return type(mapping), (), (list(mapping.items()),), None, None, set_weak


def set_weak(mapping: Any, state: Any) -> None:
    """Fill it."""
    for key, value in state[0]:
        mapping[key] = value


def reduce_finalizer(pickler: Any, one: Any) -> Any:
    """A finalizer of an object: what it calls when that goes, as long as it has not."""
    known = one.peek()
    if known is None:
        return make_finalizer, ()
    return make_finalizer, (), (*known, one.atexit), None, None, set_finalizer


def make_finalizer() -> Any:
    """One that has nothing left to do."""
    return object.__new__(weakref.finalize)


def set_finalizer(one: Any, state: Any) -> None:
    """Let it wait for its object."""
    value, function, arguments, named, at_exit = state
    one.__init__(value, function, *arguments, **named)
    one.atexit = at_exit
