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
    attributes = plain.__getstate__(value)
    if attributes is None:
        return NotImplemented
    reduced = value.__reduce_ex__(5)
    if not isinstance(reduced, tuple):
        return NotImplemented
    make, arguments, state, items, pairs = (*reduced[:5], None, None, None)[:5]
    if len(reduced) > 5 or _has(state, attributes):
        return NotImplemented
    return make, arguments, (state, attributes), items, pairs, set_whole


def _has(state: Any, attributes: Any) -> bool:
    """Whether the attributes, or those that are not in slots, are in a state."""
    named = attributes[0] if isinstance(attributes, tuple) else attributes
    parts = state if isinstance(state, tuple) else (state,)
    return any(isinstance(one, dict) and one.keys() == (named or {}).keys() for one in parts)


def set_whole(value: Any, states: Any) -> None:
    """Give an object the state that its base has kept, and its attributes, these without a method of its class."""
    state, attributes = states
    if state is not None:
        value.__setstate__(state)
    named, slots = attributes if isinstance(attributes, tuple) else (attributes, None)
    if named:
        value.__dict__.update(named)
    for name, content in (slots or {}).items():
        object.__setattr__(value, name, content)
