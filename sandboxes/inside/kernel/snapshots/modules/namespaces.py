"""Modules that no file made, and namespaces of `exec`: what is defined in them keeps them for its globals."""

import builtins
import functools
import gc
import os
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping
from pickle import PicklingError
from types import FunctionType, ModuleType
from typing import Any, ClassVar

from ...dict_contents import KnownEntries
from ..cell_sources import CellSources
from ..current_session import CurrentSession, is_of_session
from ..objects.functions import is_of_own_loader, state_of
from ..objects.generated_functions import Copy


class Detached:
    """Modules of the session that no import would make again.

    Their file is gone, or has another name (`spec_from_file_location`), or another module has theirs.
    """

    known: ClassVar[weakref.WeakValueDictionary[int, ModuleType]] = weakref.WeakValueDictionary()
    """By identity; a cell may let go of them."""

    @classmethod
    def look(cls, imported: dict[str, ModuleType], values: dict[str, Any]) -> None:
        """Find them.

        Args:
            imported: Those that were imported from files of the session.
            values: Its variables.
        """
        gone = [one for one in imported.values() if not _is_found(one) and not _is_archived(one)]
        held = [one for one in values.values() if type(one) is ModuleType]
        gone += [one for one in held if sys.modules.get(one.__name__) is not one and is_of_session(_file_of(one))]
        cls.known = weakref.WeakValueDictionary({id(one): one for one in gone})

    @classmethod
    def names(cls) -> list[str]:
        """The names under which an import would find them, if it found them."""
        return [one.__name__ for one in cls.known.values() if sys.modules.get(one.__name__) is one]


def _is_found(module: ModuleType) -> bool:
    """Whether the file of a module is there, and has the name by which an import would look for it."""
    path = str(module.__file__)
    folder, file = os.path.split(path)
    stem = file.partition(".")[0]
    name = os.path.basename(folder) if stem == "__init__" else stem
    return name == module.__name__.rpartition(".")[2] and os.path.exists(path)


def _is_archived(module: ModuleType) -> bool:
    return os.path.exists(str(getattr(module.__loader__, "archive", "")))


def _file_of(module: ModuleType) -> Any:
    return vars(module).get("__file__")


def is_made(module: Any) -> bool:
    """Whether a module was made by a cell or by a loader of one, and not by importing a file, or cannot be imported."""
    return (bool(Detached.known) and id(module) in Detached.known) or is_made_by_cell(module)


def is_made_by_cell(module: Any) -> bool:
    """Whether a module was made by a cell, or by a loader that a cell has written, and not by importing a file."""
    kind: Any = type(module)
    if kind is not ModuleType and not (issubclass(kind, ModuleType) and kind.__module__ == "__main__"):
        return False
    space = ModuleType.__getattribute__(module, "__dict__")
    if space.get("__file__") is not None:  # most have one, and this is asked of all
        return False
    if space.get("__spec__") is None and space.get("__loader__") is None:
        name: object = space.get("__name__")
        return name != "__main__" and module is not CurrentSession.main
    return is_of_own_loader(space)


def registered(made: dict[str, ModuleType], cells: CellSources) -> dict[str, ModuleType]:
    """Of the modules that were made where `import` finds them, those of cells; libraries make some of their own.

    Args:
        made: All of them.
        cells: Their code, which names the module somewhere.
    """
    return {name: one for name, one in made.items() if is_made(one) and cells.name(name)}


class FoundModules:
    """The modules that `import` finds; those that cells have made are looked for again once there are others.

    Asking each of them at every snapshot writes to hundreds of pages, which a frozen copy then has for itself.
    """

    made: ClassVar[list[ModuleType]] = []
    _known = KnownEntries()

    @classmethod
    def are_same(cls) -> bool:
        """Whether they are those that were there when this was last asked."""
        if cls._known.are_same(sys.modules):
            return True
        cls.made = [one for one in list(sys.modules.values()) if is_made_by_cell(one)]
        return False


def made_modules() -> dict[int, ModuleType]:
    """Those that are known: identity of their variables → module."""
    values = [*FoundModules.made, *CurrentSession.main.__dict__.values(), *Detached.known.values()]
    return {id(vars(module)): module for module in values if is_made(module)}


_held: dict[int, weakref.ref[ModuleType]] = {}
"""Modules that only an object of a cell holds, by the identity of their variables."""


def holder_of(space: dict[str, Any]) -> ModuleType | None:
    """The module that has a namespace for its variables, though neither a variable nor `import` leads to it.

    A module has its specification among its variables; which one it is only the garbage collector knows.
    """
    if "__spec__" not in space or space.get("__name__") == "__main__":
        return None
    known = _held.get(id(space), _nothing)()
    if known is None or variables_of(known) is not space:
        modules = [one for one in gc.get_referrers(space) if issubclass(type(one), ModuleType)]
        known = next((one for one in modules if variables_of(one) is space), None)
        if known is None:
            return None
        _held[id(space)] = weakref.ref(known, functools.partial(_forget, id(space)))
    return known if is_made(known) else None


class Variables:
    """Stands in a stream for a variable that is the very variables of a module which a cell made.

    Args:
        module: The module.
    """

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __reduce__(self) -> Any:
        return variables_of, (self._module,)


def as_variables(value: Any, made: Callable[[], Mapping[int, ModuleType]]) -> Any:
    """What stands for a variable, if it is the variables of a module; else the value itself."""
    if type(value) is not dict or "__spec__" not in value:
        return value
    known = made().get(id(value))
    module = holder_of(value) if known is None else known
    return value if module is None else Variables(module)


def _nothing() -> ModuleType | None:
    """Stands for a reference to nothing."""
    return None


def _forget(identity: int, _reference: Any) -> None:
    _held.pop(identity, None)


def variables_of(module: ModuleType) -> dict[str, Any]:
    """The variables of a module, whatever its class says of them."""
    found: dict[str, Any] = ModuleType.__getattribute__(module, "__dict__")
    return found


def reduce_module(pickler: Any, module: Any) -> Any:
    """A module that a cell made; any other goes by its name."""
    if not is_made(module):
        now = sys.modules.get(module.__name__)
        if type(now) is ModuleType and now is not module and _file_of(now) == _file_of(module) is not None:
            raise PicklingError("a module of a library that was imported once more since: import it again")
        return NotImplemented
    space = ModuleType.__getattribute__(module, "__dict__")
    content = {name: value for name, value in space.items() if name != "__builtins__"}
    name, kind = space["__name__"], type(module)
    others = [key for key, one in list(sys.modules.items()) if one is module and key != name]
    more = (kind, others) if others else () if kind is ModuleType else (kind,)
    return make_module, (name, sys.modules.get(name) is module, *more), content, None, None, fill_module


def make_module(name: str, is_registered: bool, kind: Any = ModuleType, others: Iterable[str] = ()) -> ModuleType:
    """A module that is still empty.

    Args:
        name: Its name.
        is_registered: Whether `import` finds it under that.
        kind: Its class.
        others: Other names under which it is found.
    """
    module: ModuleType = ModuleType.__new__(kind)
    ModuleType.__init__(module, name)
    for other in others:
        sys.modules[other] = module
    if is_registered:
        sys.modules[name] = module
    return module


def fill_module(module: ModuleType, content: dict[str, Any]) -> None:
    """Give it its variables."""
    ModuleType.__getattribute__(module, "__dict__").update(content)


def reduce_function(function: Any, space: ModuleType | dict[str, Any] | Copy) -> Any:
    """A function by value, with a module that a cell made, or a namespace of `exec`, for its globals."""
    # A function takes them from its namespace when it is made, and that may still be empty then.
    own = () if function.__builtins__ is vars(builtins) else (function.__builtins__,)
    return make_function, (function.__code__, space, function.__name__, function.__closure__, *own), *state_of(function)


def make_function(code: Any, space: Any, name: str, closure: Any, own: Any = None) -> Any:
    """A function in that namespace, with builtins of its own if it had such."""
    variables = vars(space) if isinstance(space, ModuleType) else space
    if "__builtins__" in variables:
        return FunctionType(code, variables, name, None, closure)
    variables["__builtins__"] = vars(builtins) if own is None else own  # else it would get those of this module
    try:
        return FunctionType(code, variables, name, None, closure)
    finally:
        del variables["__builtins__"]  # it comes with the others, in its place
