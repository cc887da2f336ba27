"""Exceptions of the user's own classes, whose `__init__` need not take what `args` holds."""

from typing import Any

OWN: Any = BaseException


def reduce_error(pickler: Any, error: Any) -> Any:
    """An exception, rebuilt without calling its class. Classes with a `__reduce__` of their own are left to it."""
    kind = type(error)
    plain = kind.__reduce__ is OWN.__reduce__ and kind.__reduce_ex__ is OWN.__reduce_ex__
    if not plain or kind.__init__ is _built_in(kind).__init__:
        return NotImplemented
    state = (error.__dict__, error.__cause__, error.__suppress_context__)
    return make_error, (kind, error.args), state, None, None, set_error


def _built_in(kind: Any) -> Any:
    return next(base for base in kind.__mro__ if base.__module__ == "builtins")


def make_error(kind: Any, arguments: Any) -> Any:
    """An exception with those arguments."""
    base = _built_in(kind)
    error = base.__new__(kind, *arguments)
    base.__init__(error, *arguments)
    return error


def set_error(error: Any, state: Any) -> None:
    """Give it its attributes and its cause."""
    attributes, cause, suppressed = state
    error.__dict__.update(attributes)
    error.__cause__, error.__suppress_context__ = cause, suppressed
