"""Objects of cells' classes whose base takes objects apart without their attributes, as `Decimal` and `date` do."""

import enum
from types import FunctionType
from typing import Any

from .classes import is_users

TAKING_APART = ("__reduce_ex__", "__reduce__")


def drops_them(kind: type) -> bool:
    """Whether a class is a cell's, and how it is taken apart is inherited from one that is not."""
    if not is_users(kind) or issubclass(kind, type | enum.Enum):
        return False
    homes = [one for one in kind.__mro__[:-1] if any(name in vars(one) for name in TAKING_APART)]
    return bool(homes) and not is_users(homes[0])


def names_them(kind: type) -> bool:
    """Whether a class is a cell's, and its base says which attributes are an object's state, as in requests."""
    if not is_users(kind) or issubclass(kind, type | enum.Enum):
        return False
    home = next(one for one in kind.__mro__ if "__getstate__" in vars(one) or one is object)
    return home is not object and not is_users(home)


def reduce_with_own(_pickler: Any, value: Any) -> Any:
    """As its base takes it apart, and with those attributes of which no code of its base knows."""
    reduced = value.__reduce_ex__(5)
    named = getattr(value, "__dict__", None)
    if not (isinstance(reduced, tuple) and named and len(reduced) > 2 and isinstance(reduced[2], dict)):
        return NotImplemented
    make, arguments, state, items, pairs = (*reduced[:5], None, None)[:5]
    missing = named.keys() - state.keys()
    known = _names_in_library(type(value)) if missing and len(reduced) <= 5 else missing
    own = {name: named[name] for name in named if name in missing and name not in known}
    return (make, arguments, (state, own, {}), items, pairs, set_whole) if own else NotImplemented


def _names_in_library(kind: type) -> set[str]:
    """The names that stand in the code of the classes of a library that a class has for its bases."""
    of_library = [one for one in kind.__mro__ if one is not object and not is_users(one)]
    functions = [one for base in of_library for one in vars(base).values() if isinstance(one, FunctionType)]
    return {name for function in functions for name in function.__code__.co_names}


def reduce_whole(_pickler: Any, value: Any) -> Any:
    """As its base takes it apart, and with its attributes where that leaves them out."""
    plain: Any = object
    state = plain.__getstate__(value)
    named, slots = state if isinstance(state, tuple) else (state, None)
    of_users = [one for one in type(value).__mro__ if is_users(one)]
    # Slots of the base are its own affair, and others in another Python.
    slots = {name: one for name, one in (slots or {}).items() if any(name in vars(kind) for kind in of_users)}
    kind = type(value)
    runs_again = is_users(_home(kind, "__init__"))
    if not (named or slots or runs_again):
        return NotImplemented
    reduced = value.__reduce_ex__(5)
    if not isinstance(reduced, tuple):
        return NotImplemented
    make, arguments, state, items, pairs = (*reduced[:5], None, None, None)[:5]
    parts = state if isinstance(state, tuple) else (state,)
    if make is kind and runs_again:
        make, arguments = make_plain, (kind, next(one for one in kind.__mro__ if not is_users(one)), arguments)
    elif len(reduced) > 5 or any(isinstance(one, dict) and one.keys() == (named or {}).keys() for one in parts):
        return NotImplemented
    return make, arguments, (state, named, slots), items, pairs, set_whole


def _home(kind: type, name: str) -> type:
    return next(one for one in kind.__mro__ if name in vars(one))


def make_plain(kind: Any, base: Any, arguments: Any) -> Any:
    """An object of a cell's class as its base makes it: what the class does beside that it has done."""
    made = base.__new__(kind, *arguments)
    if base.__init__ is not object.__init__:
        base.__init__(made, *arguments)
    return made


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
