"""Objects of libraries that cells have imported, as `from matplotlib import colormaps` or `maps = mpl.colormaps`.

A copy would be one that the library does not know: what is registered with it later is found by nobody. A stream has
their content like that of any variable, and where the library's own object is as that was, it is taken instead. A dict
that only has more, or an object with such dicts, is the library's with what it has more.
"""

import ast
import importlib
import sys
from types import BuiltinFunctionType, FunctionType, GetSetDescriptorType, ModuleType
from typing import Any

from ..fingerprints import Walk
from .cell_sources import nodes_of
from .classes import PLAIN, is_of_users, is_one_of
from .library_patches import imported_names, path_of
from .singletons import CurrentSession

BY_NAME = (FunctionType, BuiltinFunctionType, ModuleType, type)
"""What goes by its name in any case."""
UNCHANGING = (*PLAIN, tuple, frozenset, range, slice)
CONTAINERS = (dict, list, set)
ALL = "*"


class ImportedObject:
    """Stands in a stream for an object that a cell has imported.

    Args:
        module: The module from which it was.
        name: Its name there.
        value: The object.
        held: Identities of what other variables hold, which may be in it.
    """

    def __init__(self, module: str, name: str, value: Any, held: frozenset[int]) -> None:
        self.chosen = Chosen(module, name, value)
        self.parts = [
            Part(self.chosen, key, one)
            for key, one in list(_entries_of(value).items())
            if id(one) in held and type(key) is str and not is_one_of(type(one), UNCHANGING)
        ]

    def __reduce__(self) -> Any:
        return first, (self.chosen, self.parts)


def _entries_of(value: Any) -> dict[Any, Any]:
    """What is in a dict, or the attributes of an object that answers for itself alone."""
    kind = type(value)
    if kind is dict:
        found: dict[Any, Any] = value
        return found
    ways = [vars(one)["__dict__"] for one in kind.__mro__ if "__dict__" in vars(one)]
    if len(ways) != 1 or type(ways[0]) is not GetSetDescriptorType:  # a proxy has another
        return {}
    return object.__getattribute__(value, "__dict__") or {}


class Chosen:
    """Stands for the object itself."""

    def __init__(self, module: str, name: str, value: Any) -> None:
        self._made_of = module, name, value
        self.value = value

    def __reduce__(self) -> Any:
        return choose, self._made_of


class Part:
    """Stands for an entry of it, or an attribute, which is a variable, too."""

    def __init__(self, whole: Chosen, key: str, value: Any) -> None:
        self._made_of = whole, key
        self.value = value

    def __reduce__(self) -> Any:
        return part_of, self._made_of


def first(chosen: Any, _parts: Any) -> Any:
    """The object."""
    return chosen


def part_of(whole: Any, key: str) -> Any:
    """An entry, or an attribute."""
    return whole[key] if type(whole) is dict else vars(whole)[key]


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


def among(values: dict[str, Any]) -> dict[str, ImportedObject]:
    """What stands for variables that are objects which cells have imported, by their names; containers come last."""
    imported = CurrentSession.cells.collect(_add, dict)
    whole = imported.get(ALL, ())
    found, held = {}, frozenset[int]()
    for name, value in values.items():
        if name not in imported and not whole:
            continue
        kind = type(value)
        if is_one_of(kind, UNCHANGING) or issubclass(kind, BY_NAME):
            continue
        for path in (*imported.get(name, ()), *(f"{one[:-1]}{name}" for one in whole)):
            place, _, attribute = path.rpartition(".")
            module = _module_of(place)
            if module is not None and vars(module).get(attribute) is value:
                held = held or frozenset(map(id, values.values()))
                found[name] = ImportedObject(module.__name__, attribute, value, held)
    return dict(sorted(found.items(), key=lambda item: is_one_of(type(values[item[0]]), CONTAINERS)))


class _Content(Walk):
    """What an object of a library holds; functions are what their names and their code say."""

    def _of(self, value: Any, kind: type) -> bytes:
        if kind is FunctionType:
            code = value.__code__.co_code.hex()
            return super()._of((value.__module__, value.__qualname__, code), tuple)
        try:
            return super()._of(value, kind)
        except (RecursionError, MemoryError):
            raise
        except Exception:  # it cannot be pickled
            return super()._of((kind.__module__, kind.__qualname__), tuple)


def choose(module: str, name: str, copy: Any) -> Any:
    """The library's own object, if it is as the copy is or lacks entries alone; else the copy."""
    if CurrentSession.earlier_file is not None:  # what an earlier step had is nobody's
        return copy
    try:
        own = vars(importlib.import_module(module))[name]
        if own is copy:
            return own
        more = _lacking(own, copy)
    except Exception:  # libraries' objects may answer anything
        return copy
    if more is None:
        return copy
    for lacking, entries in more:
        whole = {**entries, **lacking}
        if list(lacking) != list(entries):
            lacking.clear()
            lacking.update({key: whole[key] for key in entries})
    return own


def _lacking(own: Any, copy: Any) -> list[tuple[dict[Any, Any], dict[Any, Any]]] | None:
    """Dictionaries of the library's object that may lack entries, and the copies; None: it differs otherwise."""
    if type(own) is not type(copy):
        return None
    if type(own) is dict:
        same = all(key in copy and _is_same(value, copy[key]) for key, value in own.items())
        return [(own, copy)] if same else None
    if _is_same(own, copy):
        return []
    mine, other = _entries_of(own), _entries_of(copy)
    if not mine or mine.keys() != other.keys():
        return None
    different = [name for name, value in mine.items() if not _is_same(value, other[name])]
    if not all(type(mine[name]) is type(other[name]) is dict for name in different):
        return None
    found = [_lacking(mine[name], other[name]) for name in different]
    return None if None in found else [pair for pairs in found if pairs is not None for pair in pairs]


def _is_same(own: Any, copy: Any) -> bool:
    return _Content().digest(own) == _Content().digest(copy)
