"""Objects of cells' classes whose base takes objects apart without their attributes, as `Decimal` and `date` do."""

import enum
import functools
from types import FunctionType
from typing import Any

from .classes import is_users
from .library_patches import CellAttributes

TAKING_APART = ("__reduce_ex__", "__reduce__")


def drops_them(kind: type) -> bool:
    """Whether a class is a cell's, and how it is taken apart is inherited from one that is not."""
    if not is_users(kind) or issubclass(kind, type | enum.Enum):
        return False
    homes = [one for one in kind.__mro__[:-1] if any(name in vars(one) for name in TAKING_APART)]
    return bool(homes) and not is_users(homes[0])


def names_them(kind: type) -> bool:
    """Whether a library says which attributes are the state of its objects, as requests and pandas do."""
    if issubclass(kind, type | enum.Enum | BaseException):
        return False
    home = next(one for one in kind.__mro__ if "__getstate__" in vars(one) or one is object)
    return home is not object and isinstance(vars(home)["__getstate__"], FunctionType) and not is_users(home)


def reduce_with_own(_pickler: Any, value: Any) -> Any:
    """As its library takes it apart, and with the attributes that are not the library's.

    Those are the ones that no code of its class there names, and, unless its class is a cell's, that cells assign.
    """
    kind: Any = type(value)
    named: Any = getattr(value, "__dict__", None)
    if type(named) is not dict:
        return NotImplemented
    own = set(named) if is_users(kind) else named.keys() & CellAttributes.assigned
    if not own or not (own := own - _names_in_library(kind)):
        return NotImplemented
    reduced = value.__reduce_ex__(5)
    if not (isinstance(reduced, tuple) and 2 < len(reduced) <= 5):
        return NotImplemented
    make, arguments, state, items, pairs = (*reduced, None, None)[:5]
    kept = state if isinstance(state, dict) else {}
    missing = {name: one for name, one in named.items() if name in own and name not in kept}
    return (make, arguments, (state, missing, {}), items, pairs, set_whole) if missing else NotImplemented


@functools.lru_cache(maxsize=200)
def _names_in_library(kind: type) -> frozenset[str]:
    """The names that stand in the code of a class of a library, or of the bases that a class has there."""
    of_library = [one for one in kind.__mro__ if one is not object and not is_users(one)]
    values = [value for base in of_library for value in vars(base).values()]
    functions = [getattr(one, "__func__", getattr(one, "fget", one)) for one in values]
    codes = [one.__code__ for one in functions if isinstance(one, FunctionType)]
    return frozenset(name for code in codes for name in code.co_names)


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
