"""What cells have changed in libraries by calling functions of theirs: told by what is written in these functions.

`jwt.register_algorithm("ROT", mine)` puts an object of a cell where only the library finds it. There are too many such
functions to know them, so what one changes is read from its code: attributes and containers of its module, of the class
or the object that it is a method of, and those that functions of its library change that it calls. What cells gave is
kept of these. An object of the library's own is not: a copy of it would not be what the library has elsewhere.
"""

import ast
import contextlib
import functools
import importlib
import re
import sys
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from ..cell_sources import CellSources, nodes_of
from ..current_session import CurrentSession
from ..objects.classes import PLAIN, is_one_of
from .library_functions import (
    DEPTH,
    Change,
    bases_of,
    changes_of,
    is_library,
    is_module,
    is_users_module,
    made_inside,
    member_of,
    space_of,
)
from .library_patches import KEPT_OTHERWISE, imported_names, is_found, path_of
from .registers import KEPT

GIVEN = "given to "
"""How the names of these settings begin."""
NAMED = r"(?:un)?(?:set|use|register|install|add|update|push|configure|setup|enable|disable|remove)(?:_\w*)?"
CALLED = re.compile(NAMED)
"""The last names of functions that are looked at, besides those that are decorators."""
WRITTEN = re.compile(rf"@|\b{NAMED}\b")
TAKING = re.compile(r"un|remove|disable")
"""How those begin that take something away."""
FLAG = re.compile(
    r"init|done|once|install|active|loaded|start|configured|state|ready|running|setup|registered|patched|connected"
    r"|enabled|hooked|fd|pid|port|sock|handle|thread|lock"
)
"""What is in names that say that something has happened, which has not where it is restored, or what a process has."""
MOST = 2_000
"""Entries of a container that are looked through."""
FINDERS = "sys", "meta_path"
CONTAINERS = (list, tuple, set, frozenset)
LARGE = frozenset({"sys", "copyreg", "codecs", "matplotlib", "polars", "pyarrow", "hypothesis", "joblib.parallel"})
"""Modules of which only something is known."""
KNOWN = KEPT_OTHERWISE | {module for module, _, _ in KEPT.values()} - LARGE
"""Modules, and places in them, of which it is known otherwise what cells change there."""


class Given:
    """What all calls of a path were given."""

    def __init__(self) -> None:
        self.first: set[str] = set()
        """Texts that came first: names of what is registered."""
        self.constants: set[tuple[type, Any]] = set()
        """With their types: 1 is not `True`."""
        self.names: set[str] = set()
        """Names of variables."""
        self.made: set[str] = set()
        """Paths of what was called to make something for the call."""


class Calls:
    """The calls of cells that may change a library."""

    def __init__(self) -> None:
        self.given: dict[str, Given] = {}
        """What they were given, by their paths."""
        self.made: dict[str, set[str]] = {}
        """By the names of variables, the paths of what cells have called to make what they hold."""

    def add(self, source: str) -> None:
        """Add those in the code of a cell."""
        nodes = nodes_of(source)
        self._add_made(nodes)
        if WRITTEN.search(source) is None:
            return
        imported = imported_names(nodes)
        decorators = {one for node in nodes for one in getattr(node, "decorator_list", ())}
        for node in nodes:
            is_decorator = node in decorators
            call: Any = ast.Call(node, [], []) if is_decorator and not isinstance(node, ast.Call) else node  # type: ignore[arg-type]
            path = path_of(call.func) if isinstance(call, ast.Call) else ""
            first, dot, rest = path.partition(".")
            for one in {path, imported.get(first, first) + dot + rest} if path else ():
                if is_decorator or CALLED.fullmatch(one.rpartition(".")[2]):
                    _note(self.given.setdefault(one, Given()), call)

    def _add_made(self, nodes: list[ast.AST]) -> None:
        for node in nodes:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                for one in node.targets:
                    if isinstance(one, ast.Name):
                        self.made.setdefault(one.id, set()).add(path_of(node.value.func))


def _note(given: Given, call: ast.Call) -> None:
    arguments = [*call.args, *(one.value for one in call.keywords)]
    constants = [one.value for one in arguments if isinstance(one, ast.Constant)]
    if arguments and isinstance(arguments[0], ast.Constant) and type(arguments[0].value) is str:
        given.first.add(arguments[0].value)
    given.constants |= {(type(one), one) for one in constants if is_one_of(type(one), PLAIN)}
    given.names |= {one.id for value in arguments for one in ast.walk(value) if isinstance(one, ast.Name)}
    given.made |= {path_of(one.func) for one in arguments if isinstance(one, ast.Call)}


def capture(cells: CellSources, found: dict[str, Any]) -> None:
    """Find what cells have changed so.

    Args:
        cells: Their code.
        found: What was found otherwise, by name; it is added to that.
    """
    calls = cells.collect(Calls.add, Calls)
    for path, given in calls.given.items():
        with contextlib.suppress(Exception):  # libraries' objects may answer anything
            if (called := _called(path)) is not None:
                _Keeper(*called, _told(path, given, calls.made), found).keep()


def _told(path: str, given: Given, made: dict[str, set[str]]) -> "_Told":
    variables = CurrentSession.main.__dict__
    values = {name: variables[name] for name in given.names if name in variables}
    plain = {(type(one), one) for one in values.values() if is_one_of(type(one), PLAIN)}
    ids = {
        id(one)
        for name, one in values.items()
        if any(type(one) is kind for kind in _library_classes(made.get(name, set())))
    }
    takes = TAKING.match(path.rpartition(".")[2]) is not None
    return _Told(given.first, given.constants | plain, ids, _library_classes(given.made), takes)


def _library_classes(paths: set[str]) -> list[type]:
    """The classes of libraries among what paths lead to."""
    found = [_value_of(path) for path in paths if path]
    return [one for one in found if issubclass(type(one), type) and is_library(space_of(one).get("__module__"))]


class _Told(NamedTuple):
    """What calls tell of what is a cell's."""

    first: set[str]
    constants: set[tuple[type, Any]]
    ids: set[int]
    """Identities of objects of libraries that cells have made, and given by the names of variables."""
    kinds: list[type]
    """The classes of what was made for a call."""
    takes: bool
    """Whether the calls take something away."""

    def has(self, value: Any) -> bool:
        """Whether it is an object that was given."""
        return id(value) in self.ids or is_cells(value)

    def made(self, value: Any) -> bool:
        """Whether it may be what was made for a call."""
        return any(type(value) is kind for kind in self.kinds)


def is_cells(value: Any) -> bool:
    """Whether a value is a class, a function or an object of a cell, or has such and nothing whose copy differs."""
    kind = type(value)
    if is_one_of(kind, CONTAINERS):
        items = list(value) if len(value) <= 10 else []
        return any(map(is_cells, items)) and all(_is_as_good_as_its_copy(one) or is_cells(one) for one in items)
    if kind is FunctionType:
        return value.__globals__ is CurrentSession.main.__dict__ or is_users_module(value.__module__)
    if kind is MethodType:
        return is_cells(value.__func__) or is_cells(value.__self__)
    if kind is functools.partial:
        return is_cells(value.func)
    return is_users_module(space_of(value if issubclass(kind, type) else kind).get("__module__"))


def _is_as_good_as_its_copy(value: Any) -> bool:
    if is_one_of(type(value), CONTAINERS):
        return len(value) <= 10 and all(map(_is_as_good_as_its_copy, value))
    return is_one_of(type(value), (*PLAIN, FunctionType, type))


def _walk(path: str) -> tuple[Any, Any]:
    """What a path of names leads to, and what has it; None: nothing, or a method of a variable, which changes that."""
    first, *rest = path.split(".")
    value: Any = CurrentSession.main.__dict__.get(first)
    if value is None:
        names = [".".join([first, *rest][:count]) for count in range(len(rest), 0, -1)]
        name = next((name for name in names if name in sys.modules), "")
        value, rest = sys.modules.get(name), path[len(name) + 1 :].split(".")
    elif rest and not issubclass(type(value), ModuleType | type):
        return None, None
    owner: Any = None
    for name in rest:
        owner, value = value, member_of(value, name)
    return value, owner


def _value_of(path: str) -> Any:
    with contextlib.suppress(Exception):
        return _walk(path)[0]
    return None


def _called(path: str) -> tuple[FunctionType, Any] | None:
    """A library's function, and what it is a method of; None: there is none of a name."""
    value, owner = _walk(path)
    if type(value) is MethodType:
        bound: Any = value
        value, owner = bound.__func__, bound.__self__
    for _ in range(DEPTH):
        value = getattr(value, "__wrapped__", value) if type(value) is FunctionType else value
    if type(value) is not FunctionType or not is_library(value.__module__):
        return None
    if issubclass(type(owner), type):  # of a class of a cell it is the library's own that is changed
        owner = next((kind for kind in bases_of(owner) if not is_users_module(space_of(kind).get("__module__"))), None)
    return value, None if is_module(owner) else owner


class _Spot(NamedTuple):
    """Something of a library: the module, the path to it in that, and itself."""

    module: str
    path: str
    value: Any

    def enter(self, name: str) -> "tuple[_Spot, _Spot] | None":
        """What has a name in it, which may be its class, and what is there; None: nothing."""
        holder: _Spot | None = self
        if name not in getattr(self.value, "__dict__", {}):
            kinds = bases_of(self.value if issubclass(type(self.value), type) else type(self.value))
            holder = next((_spot_of(one, "") for one in kinds if name in space_of(one)), None)
        if holder is None:
            return None
        value = vars(holder.value)[name]
        if is_module(value):
            return holder, _Spot(value.__name__, "", value)
        if issubclass(type(value), type) and (known := _spot_of(value, "")) is not None:
            return holder, known
        return holder, _Spot(holder.module, f"{holder.path}.{name}".lstrip("."), value)


def _spot_of(owner: Any, module: str) -> _Spot | None:
    """Where a class is, or an object that a module has as a variable."""
    if issubclass(type(owner), type):
        return _Spot(owner.__module__, owner.__qualname__, owner) if is_found(owner) else None
    for one in (module, type(owner).__module__):
        for name, value in list(vars(sys.modules[one]).items()) if one in sys.modules else ():
            if value is owner:
                return _Spot(one, name, owner)
    return None


class _Keeper:
    """Keeps what calls of one function have changed.

    Args:
        function: The function.
        owner: What it is a method of.
        told: What its calls tell.
        found: Where it is put.
    """

    def __init__(self, function: FunctionType, owner: Any, told: _Told, found: dict[str, Any]) -> None:
        self._function = function
        self._owner = owner
        self._told = told
        self._found = found
        self._constants: dict[str, Any] = {}
        self._strange = False
        """Whether an attribute has what only a process has: then constants beside it mean nothing without it."""

    def keep(self) -> None:
        """Keep it."""
        kind: type = self._owner if issubclass(type(self._owner), type) else type(self._owner)
        for change in changes_of(self._function, kind, DEPTH):
            with contextlib.suppress(Exception):  # libraries' objects may answer anything
                self._keep(change)
        if not self._strange:
            self._found.update(self._constants)

    def _keep(self, change: Change) -> None:
        module, path, attribute = change
        spot = _Spot(module, "", sys.modules[module]) if module else _spot_of(self._owner, self._function.__module__)
        holder, name = None, ""
        for name in [one for one in (*path.split("."), attribute) if one]:
            entered = spot.enter(name) if spot is not None else None
            if entered is None:
                return
            holder, spot = entered
        if holder is None or spot is None:
            return
        is_finders = (holder.module, name) == FINDERS
        inner = ".".join(one for one in (holder.module, holder.path, name) if one)
        if not is_finders and (not KNOWN.isdisjoint({holder.module, inner}) or not is_library(holder.module)):
            return
        value, place = spot.value, f"{GIVEN}{holder.module}:{holder.path}:{name}"
        if issubclass(type(value), dict) and not is_cells(value):
            self._keep_entries(place, value)
        elif is_one_of(type(value), (list, set)):
            self._keep_items(place, value, is_finders=is_finders)
        elif attribute is not None:
            self._keep_value(place, name, value)

    def _keep_value(self, place: str, name: str, value: Any) -> None:
        if is_one_of(type(value), PLAIN):
            if (type(value), value) in self._told.constants and FLAG.search(name.lower()) is None:
                self._constants[place] = (VALUE, value)
        elif self._told.has(value) or self._told.made(value) or self._is_made_inside(name, value):
            self._found[place] = (VALUE, value)
        elif not issubclass(type(value), ModuleType | type | FunctionType):
            self._strange = True

    def _is_made_inside(self, name: str, value: Any) -> bool:
        """Whether all that the function gives a variable is made by calling the class that its value has."""
        kinds = [self._function.__globals__.get(path) for path in made_inside(self._function).get(name, ())]
        return bool(kinds) and all(kind is type(value) for kind in kinds)

    def _keep_entries(self, place: str, value: dict[Any, Any]) -> None:
        """Keep entries as pairs: a dict of them would ask their keys for hashes."""
        _, before, taken = self._found.get(place, (ENTRIES, [], set[str]()))
        if len(value) > MOST:
            return
        told, entries = self._told, list(dict.items(value))
        kept = [(key, one) for key, one in entries if is_cells(key) or told.has(one)]
        named = [(key, one) for key, one in entries if type(key) is str and key in told.first]
        kept += [(key, one) for key, one in named if is_one_of(type(one), PLAIN) or told.made(one)]
        gone = told.first - {key for key, _ in entries if type(key) is str} if told.takes else set()
        if kept or gone:
            self._found[place] = (ENTRIES, [*before, *kept], taken | gone)

    def _keep_items(self, place: str, value: Any, *, is_finders: bool) -> None:
        _, before, taken = self._found.get(place, (ITEMS, {}, set[str]()))
        if len(value) > MOST:
            return
        told, items = self._told, list(value)
        top = self._function.__module__.partition(".")[0]
        mine = {
            at: one
            for at, one in enumerate(items)
            if (one in told.first if type(one) is str else told.has(one))
            or (is_finders and str(space_of(type(one)).get("__module__")).partition(".")[0] == top)
        }
        gone = told.first - {one for one in items if type(one) is str} if told.takes else set()
        if mine or gone:
            self._found[place] = (ITEMS, {**before, **mine}, taken | gone)


VALUE, ENTRIES, ITEMS = "value", "entries", "items"
"""What is kept of a place."""


def restore(name: str, kept: tuple[Any, ...]) -> None:
    """Put back what was kept of a place.

    Raises:
        AttributeError: this version of the library does not have it.
        ImportError: the library is not there.
    """
    module, path, attribute = name.removeprefix(GIVEN).split(":")
    owner: Any = importlib.import_module(module)
    for part in path.split(".") if path else ():
        owner = getattr(owner, part)
    if kept[0] == VALUE:
        if attribute in getattr(owner, "__dict__", {}) and not issubclass(type(owner), ModuleType | type):
            vars(owner)[attribute] = kept[1]  # whatever a library does when it is set was done then
        else:
            setattr(owner, attribute, kept[1])
        return
    container = getattr(owner, attribute)
    if kept[0] == ENTRIES:
        for key, one in kept[1]:
            dict.__setitem__(container, key, one)
        for text in kept[2]:
            dict.pop(container, text, None)
    else:
        _put_in(container, kept[1], kept[2])


def _put_in(container: Any, items: dict[int, Any], gone: set[str]) -> None:
    """Put items where they were, but for those that are there, and take texts away."""
    there = list(container)
    texts = {one for one in there if type(one) is str}  # nothing else is compared, which may run anybody's code
    for place, one in sorted(items.items(), key=lambda item: item[0]):
        is_there = one in texts if type(one) is str else any(one is other for other in there)
        if container is sys.meta_path:  # the library may have put its own there when it was imported
            is_there = any(type(one) is type(other) for other in there)
        if isinstance(container, set):
            container.add(one)
        elif not is_there:
            container.insert(place, one)
    for text in texts & gone:
        if isinstance(container, set):
            container.discard(text)
        else:
            container[:] = [one for one in container if type(one) is not str or one != text]
