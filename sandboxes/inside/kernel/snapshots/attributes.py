"""Objects of cells' classes whose base says how they are taken apart, as that of `Decimal`, `date` and `Random` does.

The base leaves out the attributes that the class has given them, and calls the class to make them again, whose own
`__new__` or `__init__` may want something else than the base gives it, or count a second object.
"""

import copyreg
import enum
from types import FunctionType
from typing import Any

from .classes import is_users

TAKING_APART = ("__reduce_ex__", "__reduce__")
MAKING = ("__new__", "__init__")


def drops_them(kind: type) -> bool:
    """Whether a class is a cell's, and how it is taken apart is inherited from one that is not."""
    if not is_users(kind) or issubclass(kind, type | enum.Enum) or kind in copyreg.dispatch_table:
        return False
    return base_of(kind) is not None and (not _says_how(kind) or kind.__module__ == "__main__")


def _homes(kind: type) -> list[type]:
    """The classes that say how an object is taken apart."""
    return [one for one in kind.__mro__[:-1] if any(name in vars(one) for name in TAKING_APART)]


def _says_how(kind: type) -> bool:
    """Whether a class of a cell is the first of them."""
    return is_users(_homes(kind)[0])


def base_of(kind: type) -> Any:
    """The class of a library that says how an object is taken apart; None: none does."""
    return next((one for one in _homes(kind) if not is_users(one)), None)


def reduce_whole(pickler: Any, value: Any) -> Any:
    """As its base takes it apart, and with its attributes where that leaves them out."""
    plain: Any = object
    kind: Any = type(value)
    says = _says_how(kind)
    if says:
        if kind in pickler.reducers.asked:
            return NotImplemented
        pickler.reducers.not_asked.add(kind)
    state = plain.__getstate__(value)
    named, slots = state if isinstance(state, tuple) else (state, None)
    of_users = [one for one in kind.__mro__ if is_users(one)]
    # Slots of the base are its own affair, and others in another Python.
    slots = {name: one for name, one in (slots or {}).items() if any(name in vars(one) for one in of_users)}
    own = any(_is_written(vars(one).get(name)) for one in of_users for name in MAKING)
    if not (named or slots or own or says):
        return NotImplemented
    base = base_of(kind)
    reduced = base.__reduce_ex__(value, 5) if "__reduce_ex__" in vars(base) or not says else base.__reduce__(value)
    if not isinstance(reduced, tuple) or len(reduced) > 5:
        return NotImplemented
    make, arguments, state, items, pairs = (*reduced[:5], None, None, None)[:5]
    calls = make is kind or (getattr(make, "__name__", "") == "__newobj__" and arguments[0] is kind)
    if own and calls:
        make, arguments = make_by_base, (kind, *(arguments if make is kind else arguments[1:]))
    elif not (named or slots or says):
        return NotImplemented
    parts = state if isinstance(state, tuple) else (state,)
    if any(isinstance(one, dict) and one.keys() == (named or {}).keys() for one in parts):
        named = {}
        if make is not make_by_base and not says:
            return NotImplemented
    return make, arguments, (state, named, slots), items, pairs, set_whole


def _is_written(method: Any) -> bool:
    """Whether a method was written in Python; compiled classes may pass for a cell's."""
    return isinstance(getattr(method, "__func__", method), FunctionType)


def make_by_base(kind: Any, *arguments: Any) -> Any:
    """An object as its base makes it, without what its class does then."""
    base = next(one for one in kind.__mro__ if not is_users(one))
    value = base.__new__(kind, *arguments)
    if arguments and base.__init__ is not object.__init__:
        base.__init__(value, *arguments)
    return value


def set_whole(value: Any, states: Any) -> None:
    """Give an object the state that its base has kept, and its attributes, these without a method of its class."""
    state, named, slots = states
    if hasattr(value, "__setstate__"):
        if state is not None:
            value.__setstate__(state)
    elif state:
        value.__dict__.update(state)
    if named:
        value.__dict__.update(named)
    for name, content in slots.items():
        object.__setattr__(value, name, content)
