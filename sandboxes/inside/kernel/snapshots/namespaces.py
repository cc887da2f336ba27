"""Modules that no file made, and namespaces of `exec`: what is defined in them keeps them for its globals."""

import builtins
import sys
from types import FunctionType, ModuleType
from typing import Any

from .functions import state_of
from .singletons import CurrentSession

MADE_BY_FILE = ("__file__", "__path__", "__loader__")


def is_made(module: Any) -> bool:
    """Whether a module was made by a cell, and not by importing it."""
    if type(module) is not ModuleType or module is CurrentSession.main:
        return False
    if getattr(module, "__spec__", None) is not None:  # most have one, and this is asked of all
        return False
    return all(getattr(module, name, None) is None for name in MADE_BY_FILE) and module.__name__ != "__main__"


def registered(made: dict[str, ModuleType], sources: list[str]) -> dict[str, ModuleType]:
    """Of the modules that were made where `import` finds them, those of cells; libraries make some of their own.

    Args:
        made: All of them.
        sources: What the cells are written in, one of which names the module.
    """
    return {name: one for name, one in made.items() if is_made(one) and any(name in source for source in sources)}


def made_modules() -> dict[int, ModuleType]:
    """Those that are known: identity of their variables → module."""
    values = [*sys.modules.values(), *CurrentSession.main.__dict__.values()]
    return {id(vars(module)): module for module in values if is_made(module)}


def reduce_module(pickler: Any, module: Any) -> Any:
    """A module that a cell made; any other goes by its name."""
    if not is_made(module):
        return NotImplemented
    content = {name: value for name, value in vars(module).items() if name != "__builtins__"}
    return make_module, (module.__name__, sys.modules.get(module.__name__) is module), content, None, None, fill_module


def make_module(name: str, is_registered: bool) -> ModuleType:
    """A module that is still empty."""
    module = ModuleType(name)
    if is_registered:
        sys.modules[name] = module
    return module


def fill_module(module: ModuleType, content: dict[str, Any]) -> None:
    """Give it its variables."""
    module.__dict__.update(content)


def reduce_function(function: Any, space: ModuleType | dict[str, Any]) -> Any:
    """A function by value, with a module that a cell made, or a namespace of `exec`, for its globals."""
    return make_function, (function.__code__, space, function.__name__, function.__closure__), *state_of(function)


def make_function(code: Any, space: Any, name: str, closure: Any) -> Any:
    """A function in that namespace."""
    variables = vars(space) if isinstance(space, ModuleType) else space
    if "__builtins__" in variables:
        return FunctionType(code, variables, name, None, closure)
    variables["__builtins__"] = vars(builtins)  # without it a function would get those of this module
    try:
        return FunctionType(code, variables, name, None, closure)
    finally:
        del variables["__builtins__"]  # it comes with the others, in its place
