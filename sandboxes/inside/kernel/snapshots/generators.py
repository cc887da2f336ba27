"""Generators and coroutines that have not begun, or have ended, and context managers that nobody has entered.

What a generator has reached cannot be kept. Before it begins it is a function and its arguments, so that calling the
function makes it again without running any of it; and once it has ended it gives nothing any more.
"""

import contextlib
import gc
import inspect
import opcode
from pickle import PicklingError
from types import AsyncGeneratorType, CoroutineType, FunctionType, GeneratorType
from typing import Any

KINDS: dict[type, tuple[str, str]] = {
    GeneratorType: ("gi_", "generator"),
    CoroutineType: ("cr_", "coroutine"),
    AsyncGeneratorType: ("ag_", "async_generator"),
}
"""How the names of their attributes begin, and what they are called."""


def reduce_generator(_pickler: Any, value: Any) -> Any:
    """A generator or a coroutine that does not run."""
    prefix, called = KINDS[type(value)]
    code, frame = getattr(value, prefix + "code"), getattr(value, prefix + "frame")
    if frame is None and type(value) is GeneratorType:
        return make_ended, (value.__name__, value.__qualname__)
    if frame is None or not _is_created(value):
        raise TypeError(f"cannot pickle '{called}' object")
    functions = [one for one in gc.get_referents(value) if isinstance(one, FunctionType) and one.__code__ is code]
    if len(functions) != 1:
        raise TypeError(f"cannot pickle '{called}' object")
    arguments, named = _arguments(code, dict(frame.f_locals))
    return make_again, (functions[0], arguments, named, value.__name__, value.__qualname__)


def _is_created(value: Any) -> bool:
    if isinstance(value, GeneratorType):
        return inspect.getgeneratorstate(value) == inspect.GEN_CREATED
    if isinstance(value, CoroutineType):
        return inspect.getcoroutinestate(value) == inspect.CORO_CREATED
    if hasattr(value, "ag_suspended"):
        return not (value.ag_suspended or value.ag_running)
    return bool(value.ag_code.co_code[max(value.ag_frame.f_lasti, 0)] == opcode.opmap["RETURN_GENERATOR"])


def _arguments(code: Any, values: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What a function was called with, out of the variables of its frame."""
    names, count = code.co_varnames, code.co_argcount
    last = count + code.co_kwonlyargcount
    arguments = tuple(values[name] for name in names[:count])
    named = {name: values[name] for name in names[count:last]}
    if code.co_flags & inspect.CO_VARARGS:
        arguments += tuple(values[names[last]])
        last += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        named |= values[names[last]]
    return arguments, named


def make_again(function: Any, arguments: Any, named: Any, name: str, qualname: str) -> Any:
    """One that has not begun."""
    made = function(*arguments, **named)
    made.__name__, made.__qualname__ = name, qualname
    return made


def make_ended(name: str, qualname: str) -> Any:
    """One that has nothing left to give."""
    made: Any = (one for one in "")
    next(made, None)
    made.__name__, made.__qualname__ = name, qualname
    return made


def reduce_manager(_pickler: Any, value: Any) -> Any:
    """What a function under `contextlib.contextmanager` gave, as long as nobody has entered it."""
    if not hasattr(value, "func") or not _is_created(value.gen):
        raise PicklingError("a context manager that is in use, or was")
    attributes = {name: one for name, one in vars(value).items() if name != "gen"}
    return make_manager, (type(value),), attributes, None, None, fill_manager


def make_manager(kind: Any) -> Any:
    """One that is still to be filled."""
    return object.__new__(kind)


def fill_manager(value: Any, attributes: Any) -> None:
    """Give it its function and its arguments."""
    base: Any = contextlib._GeneratorContextManagerBase
    base.__init__(value, attributes["func"], attributes["args"], attributes["kwds"])
    vars(value).update(attributes)
