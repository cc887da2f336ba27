"""Context variables of cells, with their values in the session's context, contexts, and values of one thread.

A variable of a library is named by the module that has it: one that was made anew would be another.
"""

import contextlib
import contextvars
import functools
import gc
import importlib
import sys
import threading
from pickle import PicklingError
from types import ModuleType
from typing import Any, ClassVar

from ..current_session import CurrentSession, is_of_session
from ..modules.namespaces import is_made
from .id_numbers import attributes_of
from .instances import slots_of
from .nans_and_sentinels import find_sentinel


class _Known:
    places: ClassVar[dict[int, tuple[Any, str, str]]] = {}
    """By their identity: context variables that were met, and the module and the name of each, empty for a cell's."""


def _place(variable: Any) -> tuple[str, str]:
    """The module of a library that has a variable, and its name there, or that of an object and its name in that."""
    known = _Known.places.get(id(variable))
    if known is None:
        place = _find(variable, deep=False)
        if place is None and not any(one is variable for one in CurrentSession.main.__dict__.values()):
            place = _find(variable, deep=True)
        known = _Known.places[id(variable)] = (variable, *(place or ("", "")))
    return known[1:]


def _find(variable: Any, *, deep: bool) -> tuple[str, str] | None:
    for name, module in list(sys.modules.items()):
        space = getattr(module, "__dict__", None)
        if type(space) is not dict or module is CurrentSession.main or is_made(module):
            continue
        for key, value in list(space.items()):
            within = _key_in(_within(value), variable) if deep else ""
            if (value is variable or within) and not is_of_session(space.get("__file__")):
                return name, f"{key}.{within}" if within else key
    return None


def _within(value: Any) -> dict[str, Any]:
    return (not issubclass(type(value), type | ModuleType) and attributes_of(value)) or {}


def _key_in(space: dict[str, Any], value: Any) -> str:
    return next((key for key, one in list(space.items()) if one is value and type(key) is str), "")


def find_variable(module: str, path: str) -> Any:
    """The variable that a library has."""
    return functools.reduce(getattr, path.split("."), importlib.import_module(module))


OF_DECIMAL = "decimal_context"
KEPT_OTHERWISE = frozenset({"numpy", "structlog"})
"""Packages whose settings in variables of a context are kept as such."""


def of_libraries() -> Any:
    """Variables of libraries that have a value in the session's context, as the current span of a trace."""
    kept = []
    for variable, value in CurrentSession.context.items():
        if variable.name == OF_DECIMAL:  # in compiled code, and kept as a setting
            continue
        package = _place(variable)[0].partition(".")[0]
        if package and package not in KEPT_OTHERWISE:
            kept.append((variable, value))
    return kept or None


def set_again(before: Any) -> None:
    """Give them their values."""
    for variable, value in before:
        variable.set(value)


def reduce_variable(_pickler: Any, variable: Any) -> Any:
    """A context variable."""
    module, name = _place(variable)
    if module:
        return (find_variable if "." in name else find_sentinel), (module, name)
    if variable is variable_of_decimal():
        return variable_of_decimal, ()
    nothing: Any = object()
    default: tuple[Any, ...] = ()
    with contextlib.suppress(LookupError):  # it has none
        default = (contextvars.Context().run(variable.get),)
    value = CurrentSession.context.get(variable, nothing)
    if value is nothing:
        return make_variable, (variable.name, *default)
    return make_variable, (variable.name, *default), (value,), None, None, set_variable


@functools.cache
def variable_of_decimal() -> Any:
    """The variable that holds the context of decimal numbers; it is in compiled code, without a name in a module."""
    import decimal

    context = contextvars.Context()
    context.run(decimal.getcontext)
    return next((variable for variable in context if variable.name == OF_DECIMAL), None)


def make_variable(name: str, *default: Any) -> Any:
    """A context variable."""
    options: dict[str, Any] = {"default": default[0]} if default else {}
    return contextvars.ContextVar(name, **options)


def set_variable(variable: Any, state: Any) -> None:
    """Give it its value in the session's context."""
    variable.set(state[0])


def reduce_context(_pickler: Any, context: Any) -> Any:
    """A context."""
    return contextvars.Context, (), (list(context.items()),), None, None, fill_context


def fill_context(context: Any, state: Any) -> None:
    """Give the variables their values in it."""
    for variable, value in state[0]:
        context.run(variable.set, value)


def refuse_token(_pickler: Any, _token: Any) -> Any:
    """What undoes a change of a context variable works in one context only."""
    raise PicklingError("a token of a context variable, which only the context that gave it takes back")


def reduce_local(_pickler: Any, local: Any) -> Any:
    """A `threading.local` with the values of the thread that cells run in.

    One of a class of its own remembers what its `__init__` is given in each other thread.
    """
    kind, values = type(local), dict(values_of(local))
    if kind is threading.local:
        return threading.local, (), values or None
    if not values or slots_of(kind):
        raise PicklingError("a threading.local without values of this thread, or with slots")
    held = [one for one in gc.get_referents(local) if type(one) in (tuple, dict)]
    arguments = next((one for one in held if type(one) is tuple), ())
    unused = object.__getattribute__(local, "__dict__")  # classes written in Python have one
    named = [one for one in held if type(one) is dict and one is not unused and not _is_by_thread(one)]
    return make_local, (kind, arguments, dict(named[0]) if named else {}), values, None, None, set_values


def _is_by_thread(space: dict[Any, Any]) -> bool:
    """Whether a dictionary of a `threading.local` is that of the values of threads: by what each thread holds."""
    return any(type(key).__name__ in ("ReferenceType", "_localdummy") for key in space)


def make_local(kind: Any, arguments: Any, named: dict[str, Any]) -> Any:
    """A `threading.local` that has no values yet."""
    return threading.local.__new__(kind, *arguments, **named)


def set_values(local: Any, values: dict[str, Any]) -> None:
    """Give it its values in this thread."""
    local.__dict__.update(values)


def values_of(local: Any) -> dict[str, Any]:
    """What a `threading.local` has in the thread that cells run in.

    Asked in another thread, as by a snapshot, it shows that one's values; what it refers to are those of all.

    Raises:
        PicklingError: several threads have values in it.
    """
    by_thread = [found for found in gc.get_referents(local) if type(found) is dict and _is_by_thread(found)]
    values = [space for found in by_thread for space in found.values() if space]
    if len(values) > 1:
        raise PicklingError("a threading.local with values of several threads")
    return values[0] if values else {}


def reduce_retrying(_pickler: Any, retrying: Any) -> Any:
    """What tries again with tenacity, with what it has counted, which it keeps by thread."""
    reduced = retrying.__reduce_ex__(4)
    counted = None
    with contextlib.suppress(PicklingError):  # several threads have counted: it comes back without
        counted = values_of(retrying._local).get("statistics")
    if counted is None or not isinstance(reduced, tuple) or len(reduced) < 3:
        return reduced
    return *reduced[:2], (reduced[2], counted), None, None, set_retrying


def set_retrying(retrying: Any, state: Any) -> None:
    """Give it its state, and what it has counted."""
    said, counted = state
    retrying.__setstate__(said)
    retrying._local.statistics = counted
