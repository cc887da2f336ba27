"""Which names the file of a module of the workspace gives, and where in modules functions and classes are found."""

import functools
import importlib
import importlib.util
import operator
import os
import re
import sys
from types import FunctionType, ModuleType
from typing import Any

from ..current_session import is_of_session
from ..stored_names import find_stored

COMPUTED = re.compile(r"\bimport\s*\(?\s*\*|\b(?:globals|locals|vars|setattr|exec|eval|__dict__|update_wrapper)\b")
"""What a file may bind names with that do not stand in it."""
CACHED: type = type(functools.lru_cache(lambda: None))

_known: dict[str, tuple[Any, tuple[int, int], frozenset[str] | None]] = {}
"""Name of a module → how it was made, its file, and the words in that; None: it may bind any name."""


def may_bind(module: ModuleType, name: str) -> bool:
    """Whether the file of a module may give a variable, or something in a class, that name; else a cell has."""
    words = _words(module)
    return words is None or name in words


def _words(module: ModuleType) -> frozenset[str] | None:
    path, spec = str(module.__file__), module.__spec__
    try:
        status = os.stat(path)
    except OSError:
        return None
    file = status.st_mtime_ns, status.st_size
    known = _known.get(module.__name__)
    if known is None or known[0] is not spec or known[1] != file:
        known = _known[module.__name__] = spec, file, _read(path)
    return known[2]


def _read(path: str) -> frozenset[str] | None:
    if not path.endswith(".py"):
        return None
    try:
        with open(path, "rb") as content:
            source = importlib.util.decode_source(content.read())
    except (OSError, SyntaxError, ValueError):
        return None
    return None if COMPUTED.search(source) else frozenset(re.findall(r"\w+", source))


def path_in(module: ModuleType, function: FunctionType) -> str | None:
    """The variable of a module that is a function of another name, or that wraps it: `price.__wrapped__`."""
    variables = list(vars(module).items())
    is_users = is_of_session(getattr(module, "__file__", None))
    for name, value in variables:
        if value is function and (not is_users or may_bind(module, name)):
            return name
    for name, value in variables:
        path = name
        while (value := _wrapped(value)) is not None:
            path += ".__wrapped__"
            if value is function:
                return path
    return None


def _wrapped(value: Any) -> Any:
    """What a decorator has put its function around."""
    return vars(value).get("__wrapped__") if type(value) in (FunctionType, CACHED) else None


def find(module: str, path: str) -> Any:
    """What is there."""
    return operator.attrgetter(path)(importlib.import_module(module))


def find_moved(module: str, name: str) -> Any:
    """What another version of its library, or of ours, has in another of its modules; a class if only one is called so.

    pandas 3 calls the list of an index's levels `pandas.api.typing.FrozenList`, and earlier ones do not. That module
    only has what is defined elsewhere; of others nothing tells whether a class of the same name is the same class.
    """
    if (stored := find_stored(module, name)) is not None:
        return stored
    if module != "pandas.api.typing":
        return None
    found = {
        id(value): value
        for at, part in list(sys.modules.items())
        if at.startswith("pandas.") and type(part) is ModuleType
        if issubclass(type(value := vars(part).get(name)), type) and value.__module__.startswith("pandas.")
    }
    return next(iter(found.values())) if len(found) == 1 else None
