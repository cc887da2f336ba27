"""Objects of libraries that cells have imported, as `from matplotlib import colormaps` or `maps = mpl.colormaps`.

A copy would be one that the library does not know: what is registered with it later is found by nobody. So once all
else is restored, a variable that shares nothing with others is the library's own object again, if that holds what the
copy does. What cells have changed in it stays in a copy, unless the settings that are restored are all of that.
"""

import ast
import gc
import importlib
import sys
from collections.abc import Sequence
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, ClassVar

from ...fingerprints import Walk
from ..cell_sources import nodes_of
from ..current_session import CurrentSession
from ..objects.classes import PLAIN, is_of_users, is_one_of
from .library_patches import imported_names, path_of

BY_NAME = (FunctionType, BuiltinFunctionType, ModuleType, type)
"""What goes by its name in any case."""
UNCHANGING = (*PLAIN, tuple, frozenset, range, slice)
CHANGING = (dict, list, set, bytearray)
ALL = "*"
OF_SETTINGS = ":"
"""How their names begin."""
OF_MODULES = ":module:"
"""How the names of attributes of modules of the workspace begin."""
MOST_REACHED = 10_000
"""Objects that settings lead to."""
MOST_OBJECTS, DEEPEST = 50_000, 200
"""What is compared, and how deep one lies in another."""
MOST_BYTES = 1 << 20
"""Of a stream that is compared."""

Place = tuple[str, str]
"""A module, and the name of an object in it."""


class _Noted:
    """What was restored as copies so far, until all else is there."""

    places: ClassVar[dict[str, Place]] = {}


def _add(found: dict[str, set[str]], source: str) -> None:
    nodes = nodes_of(source)
    for name, path in imported_names(nodes).items():
        found.setdefault(name, set()).add(path)
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute) and (path := path_of(node.value)):
            for one in node.targets:
                if isinstance(one, ast.Name):
                    found.setdefault(one.id, set()).add(path)


def _module_of(path: str) -> ModuleType | None:
    """The library's module that a path of a cell leads to: by its name, or by that of a variable."""
    named, _, rest = path.partition(".")
    value = CurrentSession.main.__dict__.get(named)
    if path not in sys.modules and type(value) is ModuleType:
        path = f"{value.__name__}.{rest}" if rest else value.__name__
    known = sys.modules.get(path)
    return known if type(known) is ModuleType and not is_of_users(known.__name__) else None


def places_of(items: Sequence[tuple[str, Any]]) -> dict[str, Place]:
    """Where cells have the variables of a stream from, if all of them are one object of a library.

    Settings of libraries may be in the stream, too, for what the object holds; but nothing that leads to itself.
    """
    settings = [(name, value) for name, value in items if name.startswith(OF_SETTINGS)]
    items = [item for item in items if not item[0].startswith(OF_SETTINGS)]
    first = items[0][1] if items else None
    kind = type(first)
    if is_one_of(kind, UNCHANGING) or issubclass(kind, BY_NAME) or any(value is not first for _, value in items):
        return {}
    imported = CurrentSession.cells.collect(_add, dict)
    whole = imported.get(ALL, ())
    found: dict[str, Place] = {}
    for name, value in items:
        for path in (*imported.get(name, ()), *(f"{one[:-1]}{name}" for one in whole)):
            place, _, attribute = path.rpartition(".")
            module = _module_of(place)
            if module is not None and vars(module).get(attribute) is value:
                found[name] = module.__name__, attribute
    return found if len(found) == len(items) and not _is_reached(first, settings) else {}


def _is_reached(value: Any, settings: Sequence[tuple[str, Any]]) -> bool:
    """Whether settings may lead to an object; attributes of modules of the workspace are none."""
    if any(name.startswith(OF_MODULES) for name, _ in settings):
        return True
    left, met = [one for _, one in settings], set[int]()
    while left:
        one = left.pop()
        if one is value or len(met) > MOST_REACHED:
            return True
        kind = type(one)
        if id(one) in met:
            continue
        if kind is ModuleType:
            if is_of_users(one.__name__):
                return True
            continue
        if issubclass(kind, type) and not is_of_users(type.__getattribute__(one, "__module__")):
            continue
        met.add(id(one))
        left += (one.__defaults__, one.__closure__) if kind is FunctionType else gc.get_referents(one)
    return False


def note(places: dict[str, Place]) -> None:
    """Note what was restored as a copy; of an earlier step it stays one."""
    if CurrentSession.earlier_file is None:
        _Noted.places.update(places)


def take_own() -> None:
    """Let variables be the libraries' own objects, where these are as the copies are."""
    places, space = dict(_Noted.places), CurrentSession.main.__dict__
    _Noted.places.clear()
    for name, (module, attribute) in places.items():
        try:
            own = vars(importlib.import_module(module))[attribute]
            copy = space[name]
            if own is not copy and type(own) is type(copy) and _Content().of(own) == _Content().of(copy):
                space[name] = own
        except Exception:  # libraries' objects may answer anything
            continue


class _Content(Walk):
    """What an object of a library holds, in its order. What cannot be compared is an error."""

    def __init__(self) -> None:
        super().__init__()
        self._left = MOST_OBJECTS
        self._depth = 0
        self._numbers: dict[int, int] = {}
        self._met: list[int] = []

    def of(self, value: Any) -> tuple[bytes, list[int]]:
        """Its fingerprint, and in which order things that can change were met: one may be there twice."""
        return self.digest(value), self._met

    def digest(self, value: Any) -> bytes:
        kind = type(value)
        if is_of_users(type.__getattribute__(kind, "__module__")):  # it would be asked
            raise TypeError("an object of a class of the session's own")
        if is_one_of(kind, CHANGING) or (kind.__dictoffset__ and not issubclass(kind, BY_NAME)):
            self._met.append(self._numbers.setdefault(id(value), len(self._numbers)))
        self._left -= 1
        self._depth += 1
        size = 0 if issubclass(kind, type) else getattr(value, "nbytes", 0)
        if not self._left or self._depth > DEEPEST or (type(size) is int and size > MOST_BYTES):
            raise OverflowError("an object of a library that is too large to be compared")
        try:
            return super().digest(value)
        finally:
            self._depth -= 1

    def _of(self, value: Any, kind: type) -> bytes:
        if kind is FunctionType:
            cells = [one.cell_contents for one in value.__closure__ or ()]
            given = value.__defaults__, value.__kwdefaults__, cells
            return super()._of((value.__module__, value.__qualname__, value.__code__, given), tuple)
        if issubclass(kind, dict):
            pairs = tuple((key, one) for key, one in dict.items(value))
            inside = () if kind is dict else tuple(getattr(value, "__dict__", {}).items())
            return super()._of((kind.__module__, kind.__qualname__, pairs, inside), tuple)
        if is_one_of(kind, (set, frozenset)):
            return super()._of((kind.__name__, list(value)), tuple)
        if kind.__module__ == "numpy" and kind.__name__ == "ndarray":
            return super()._of((super()._of(value, kind), value.flags.writeable, value.strides), tuple)
        return super()._of(value, kind)
