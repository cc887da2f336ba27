"""Generators and coroutines that have ended, and context managers that nobody has entered.

What a generator has reached cannot be kept. Once it has ended it gives nothing any more; and a context manager that
nobody has entered is a function and its arguments.
"""

import contextlib
import inspect
from pickle import PicklingError
from types import GeneratorType
from typing import Any


def reduce_generator(_pickler: Any, value: Any) -> Any:
    """A generator that has ended."""
    if value.gi_frame is not None:
        raise TypeError("cannot pickle 'generator' object")
    return make_ended, (value.__name__, value.__qualname__)


def make_ended(name: str, qualname: str) -> Any:
    """One that has nothing left to give."""
    made: Any = (one for one in "")
    next(made, None)
    made.__name__, made.__qualname__ = name, qualname
    return made


def reduce_coroutine(_pickler: Any, value: Any) -> Any:
    """A coroutine that has ended."""
    if value.cr_frame is not None:
        raise TypeError("cannot pickle 'coroutine' object")
    return make_ended_coroutine, (value.__name__, value.__qualname__)


async def _nothing() -> None:
    """What is closed before it begins."""


def make_ended_coroutine(name: str, qualname: str) -> Any:
    """One that cannot be awaited again."""
    made: Any = _nothing()
    made.close()
    made.__name__, made.__qualname__ = name, qualname
    return made


def reduce_manager(_pickler: Any, value: Any) -> Any:
    """What a function under `contextlib.contextmanager` gave, as long as nobody has entered it."""
    if not hasattr(value, "func") or not _is_new(value.gen):
        raise PicklingError("a context manager that is in use, or was")
    attributes = {name: one for name, one in vars(value).items() if name != "gen"}
    return make_manager, (type(value),), attributes, None, None, fill_manager


def _is_new(generator: Any) -> bool:
    """Whether it has not begun; that of an asynchronous context manager does not say so in all versions of Python."""
    return isinstance(generator, GeneratorType) and inspect.getgeneratorstate(generator) == inspect.GEN_CREATED


def make_manager(kind: Any) -> Any:
    """One that is still to be filled."""
    return object.__new__(kind)


def fill_manager(value: Any, attributes: Any) -> None:
    """Give it its function and its arguments."""
    base: Any = contextlib._GeneratorContextManagerBase
    base.__init__(value, attributes["func"], attributes["args"], attributes["kwds"])
    vars(value).update(attributes)
