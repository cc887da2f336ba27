"""Small objects of Python's own that pickle does not know, each made again of what it gives away.

Properties and class methods of a class of one's own, `super()`, the scanner of a JSON decoder, generic aliases.
"""

import typing
from types import SimpleNamespace
from typing import Any

from .classes import is_users


def reduce_property(_pickler: Any, value: Any) -> Any:
    """A property of a cell's own kind; cloudpickle knows the others."""
    kind = type(value)
    if kind is property:
        return NotImplemented
    parts, own = (value.fget, value.fset, value.fdel, value.__doc__), getattr(value, "__dict__", None)
    return make, (kind, property), (property, parts, own), None, None, fill


def reduce_method(_pickler: Any, value: Any) -> Any:
    """A class method or a static method of a cell's own kind."""
    kind = type(value)
    base = classmethod if isinstance(value, classmethod) else staticmethod
    if kind is base:
        return NotImplemented
    return make, (kind, base), (base, (value.__func__,), value.__dict__), None, None, fill


def make(kind: Any, base: Any) -> Any:
    """One that is still empty."""
    return base.__new__(kind, None) if base is not property else base.__new__(kind)


def fill(value: Any, state: Any) -> None:
    """Fill it, without code of its class."""
    base, arguments, attributes = state
    base.__init__(value, *arguments)
    if attributes:
        value.__dict__.update(attributes)


def reduce_super(_pickler: Any, value: Any) -> Any:
    """What `super()` gave."""
    owner = value.__self__
    return super, (value.__thisclass__,) if owner is None else (value.__thisclass__, owner)


SCANNER = ("strict", "object_hook", "object_pairs_hook", "parse_float", "parse_int", "parse_constant")
"""What the scanner of a JSON decoder takes from it."""


def reduce_scanner(_pickler: Any, scanner: Any) -> Any:
    """The scanner of a JSON decoder."""
    return make_scanner, tuple(getattr(scanner, name) for name in SCANNER)


def make_scanner(*settings: Any) -> Any:
    """One with the same settings."""
    import json.scanner

    make: Any = json.scanner.make_scanner
    return make(SimpleNamespace(**dict(zip(SCANNER, settings, strict=True)), memo={}))


def reduce_alias(_pickler: Any, alias: Any) -> Any:
    """`Stack[int]`, without asking a cell's class once more what that is."""
    origin = alias.__origin__
    if not isinstance(origin, type) or not is_users(origin) or not hasattr(origin, "__class_getitem__"):
        return NotImplemented
    home = next(one for one in origin.__mro__ if "__class_getitem__" in vars(one))
    if not is_users(home):
        return NotImplemented
    remembered = (True,) if _subscribed(origin, alias.__args__) is alias else ()
    return make_alias, (type(alias), origin, alias.__args__, *remembered), alias.__dict__, None, None, fill_alias


def make_alias(kind: Any, origin: Any, arguments: Any, is_remembered: bool = False) -> Any:
    """The same alias; the one that subscribing the class gives, if that is what it was."""
    known = _subscribed(origin, arguments) if is_remembered else None
    return kind(origin, arguments) if known is None else known


def _subscribed(origin: Any, arguments: Any) -> Any:
    """What `typing` remembers of a subscription, without asking the class; None: it is none of `typing.Generic`."""
    subscribe = vars(typing.Generic)["__class_getitem__"].__get__(None, origin)
    try:
        return subscribe(arguments[0] if len(arguments) == 1 else arguments)
    except Exception:  # a class that is not there whole
        return None


def fill_alias(alias: Any, attributes: Any) -> None:
    """Give it its attributes."""
    alias.__dict__.update(attributes)
