"""Values that are compared by identity: NaN, and the sentinels of libraries.

A pickler writes each float anew, so that a NaN that is the key of a dictionary would not be found after a restore:
`nan != nan`, and it is another object. A stream with a NaN in it is therefore written once more, with each NaN by name
or by number. A sentinel such as `dataclasses.MISSING` is written as the variable of its module.
"""

import importlib
import re
import struct
import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from .classes import is_users
from .instances import fill, slots_of

PLACES = (("numpy", "nan"), ("math", "nan"), ("cmath", "nan"))
"""The NaN that there is once in each process. The order is part of the format."""
WRITTEN = re.compile(rb"G[\x7f\xff]\xf8\0{6}")
"""A NaN in a stream: the operation for a float, and its eight bytes."""


def is_nan(value: Any) -> bool:
    """Whether a value is a NaN that a pickler would write anew."""
    return type(value) is float and value != value


def known_nans() -> dict[int, int]:
    """The NaN of libraries in this process: identity → place."""
    found: dict[int, int] = {}
    for place, (module, name) in enumerate(PLACES):
        value = getattr(sys.modules.get(module), name, None)
        if is_nan(value):
            found.setdefault(id(value), place)
    return found


class WrittenNans:
    """Numbers the NaN of one stream.

    Args:
        known: Those of libraries.
    """

    def __init__(self, known: dict[int, int]) -> None:
        self._known = known
        self.own: dict[int, Any] = {}
        """Those of nobody else, by identity; held, so that no other object gets their identity."""
        self._numbers: dict[int, int] = {}

    def number(self, value: Any) -> int:
        """What stands for a NaN in the stream: a place, or a number of its own with its bits."""
        identity = id(value)
        if identity in self._known:
            return self._known[identity]
        if identity not in self.own:
            self.own[identity] = value
            self._numbers[identity] = len(PLACES) + len(self._numbers)
        (bits,) = struct.unpack("<Q", struct.pack("<d", value))
        return self._numbers[identity] << 64 | int(bits)


class LoadedNans:
    """The NaN of one stream that is loaded."""

    def __init__(self) -> None:
        self._own: dict[int, float] = {}

    def find(self, number: int) -> Any:
        """The NaN that a number stands for.

        Raises:
            ImportError: the library that has it is not there.
        """
        if number < len(PLACES):
            module, name = PLACES[number]
            return getattr(importlib.import_module(module), name)
        if number not in self._own:
            (self._own[number],) = struct.unpack("<d", struct.pack("<Q", number & (1 << 64) - 1))
        return self._own[number]


def sentinel_reducer(kind: type) -> Callable[[Any, Any], Any] | None:
    """Writes instances of a type that are variables of a module by their names.

    They are those that can say nothing but which one they are, in the module of their class or in a class there, and
    those that are their own copies, as traitlets' `All` is, in any module of its library: these with their attributes.

    Returns:
        None: there are none.
    """
    module = sys.modules.get(kind.__module__)
    if not isinstance(module, ModuleType) or kind.__module__ in ("__main__", "builtins"):
        return None
    names = {}
    if can_be_bare(kind) and not kind.__itemsize__ and not issubclass(kind, tuple | int | float):
        names = _places([kind.__module__], lambda value: type(value) is kind and not _says_more(value))
        names = {**_in_classes(kind, vars(module)), **names}
    names = {**_unique(kind), **names}
    if not names:
        return None

    def reduce(pickler: Any, value: Any) -> Any:
        place = names.get(id(value))
        if place is None or _at(*place) is not value:
            return NotImplemented
        found = find_sentinel, (*place, kind.__qualname__)
        return (*found, (dict(vars(value)), (), False), None, None, fill) if _says_more(value) else found

    return reduce


COPIED_BY = ("__copy__", "__deepcopy__")
_known: dict[type, tuple[int, dict[int, tuple[str, str]]]] = {}
"""By class, how many modules there were when they were looked through, and what was found."""


def _in_classes(kind: Any, space: dict[str, Any]) -> dict[int, tuple[str, str]]:
    """The objects of a library's class that classes of its module have, as pyparsing for what did not match."""
    if is_users(kind):
        return {}
    known = _in_known.get(kind)
    if known is None or known[0] != len(space):
        module = kind.__module__
        classes = [(name, one) for name, one in list(space.items()) if issubclass(type(one), type)]
        places = {
            id(value): (module, f"{name}.{attribute}")
            for name, one in classes
            if type.__getattribute__(one, "__dict__").get("__module__") == module
            for attribute, value in list(type.__getattribute__(one, "__dict__").items())
            if type(value) is kind and not _says_more(value)
        }
        known = _in_known[kind] = len(space), places
    return known[1]


_in_known: dict[type, tuple[int, dict[int, tuple[str, str]]]] = {}
"""By class, how many variables its module had when its classes were looked through, and what was found."""


def reduce_proxy(_pickler: Any, proxy: Any) -> Any:
    """What flask has in the place of what there is while it answers (`request`, `g`): the variable of its module."""
    libraries = [name for name in list(sys.modules) if name.partition(".")[0] in ("flask", "quart", "werkzeug")]
    place = _places(libraries, lambda value: value is proxy).get(id(proxy))
    return NotImplemented if place is None else (find_sentinel, place)


def _at(module: str, name: str) -> Any:
    """What a variable of a module, or an attribute of a class there, is just now."""
    first, _, attribute = name.partition(".")
    found = vars(sys.modules.get(module, object)).get(first)
    if not attribute:
        return found
    return type.__getattribute__(found, "__dict__").get(attribute) if issubclass(type(found), type) else None


def _unique(kind: Any) -> dict[int, tuple[str, str]]:
    """The objects of a library's class that are their own copies, and where its modules have them."""
    if not all(isinstance(vars(kind).get(name), FunctionType) for name in COPIED_BY) or is_users(kind):
        return {}
    known = _known.get(kind)
    if known is None or known[0] != len(sys.modules):
        library = kind.__module__.partition(".")[0]
        modules = [name for name in list(sys.modules) if name == library or name.startswith(f"{library}.")]
        modules.sort(key=lambda name: (name == kind.__module__, -len(name)))  # the last one counts
        plain = not slots_of(kind) and kind.__basicsize__ <= PLAIN_SIZE and kind.__dictoffset__
        found = _places(modules, lambda value: type(value) is kind and _is_its_copy(value)) if plain else {}
        known = _known[kind] = len(sys.modules), found
    return known[1]


def _places(modules: list[str], wanted: Callable[[Any], bool]) -> dict[int, tuple[str, str]]:
    """Module and name of the variables that are wanted, by their values' identities."""
    return {
        id(value): (module, name)
        for module in modules
        if isinstance(sys.modules.get(module), ModuleType)
        for name, value in list(vars(sys.modules[module]).items())
        if not name.startswith("__") and wanted(value)
    }


def _says_more(value: Any) -> bool:
    """Whether an object has attributes; pandas tells its own where they are to be looked for."""
    return any(name != "__module__" for name in getattr(value, "__dict__", ()))


def _is_its_copy(value: Any) -> bool:
    try:
        return value.__copy__() is value and value.__deepcopy__({}) is value
    except Exception:  # a library's, which may refuse to be copied
        return False


def can_be_bare(kind: Any) -> bool:
    """Whether objects of a class can say nothing but which one they are; only then is its module looked through."""
    plain: Any = object
    default = all(getattr(kind, name, None) is getattr(plain, name) for name in TAKEN_APART)
    slots = any(getattr(one, "__slots__", ()) for one in kind.__mro__)
    return default and not slots and kind.__basicsize__ <= PLAIN_SIZE


TAKEN_APART = ("__reduce__", "__reduce_ex__", "__getstate__")


class _Plain:
    """An object without state."""


PLAIN_SIZE = _Plain.__basicsize__


def find_sentinel(module: str, name: str, kind: str = "") -> Any:
    """The variable of a module.

    Args:
        module: The module.
        name: The variable, or a class and its attribute.
        kind: The class that its value had. A cell may have put it there in the place of another one, or of none: then
            one is made, since all of them are the same but for that.
    """
    owner: Any = importlib.import_module(module)
    found = _at(module, name) if "." in name else getattr(owner, name, None)
    if not kind or type(found).__qualname__ == kind:
        return found if "." in name else getattr(owner, name)
    for part in kind.split("."):
        owner = getattr(owner, part)
    return object.__new__(owner)
