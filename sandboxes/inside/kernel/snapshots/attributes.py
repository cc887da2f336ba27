"""Objects of cells' classes whose base takes objects apart without their attributes, as `Decimal` and `date` do."""

import enum
from typing import Any

from .classes import is_users

TAKING_APART = ("__reduce_ex__", "__reduce__")


def drops_them(kind: type) -> bool:
    """Whether a class is a cell's, and how it is taken apart is inherited from one that is not."""
    if not is_users(kind) or issubclass(kind, type | enum.Enum):
        return False
    homes = [one for one in kind.__mro__[:-1] if any(name in vars(one) for name in TAKING_APART)]
    return bool(homes) and not is_users(homes[0])


def reduce_whole(_pickler: Any, value: Any) -> Any:
    """As its base takes it apart, and with its attributes where that leaves them out."""
    plain: Any = object
    state = plain.__getstate__(value)
    named, slots = state if isinstance(state, tuple) else (state, None)
    of_users = [one for one in type(value).__mro__ if is_users(one)]
    # Slots of the base are its own affair, and others in another Python.
    slots = {name: one for name, one in (slots or {}).items() if any(name in vars(kind) for kind in of_users)}
    if not (named or slots):
        return NotImplemented
    reduced = value.__reduce_ex__(5)
    if not isinstance(reduced, tuple):
        return NotImplemented
    make, arguments, state, items, pairs = (*reduced[:5], None, None, None)[:5]
    parts = state if isinstance(state, tuple) else (state,)
    if len(reduced) > 5 or any(isinstance(one, dict) and one.keys() == (named or {}).keys() for one in parts):
        return NotImplemented
    return make, arguments, (state, named, slots), items, pairs, set_whole


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
