"""What cells have changed in libraries by calling functions of theirs: told by what is written in these functions.

`jwt.register_algorithm("ROT", mine)` puts an object of a cell where only the library finds it. There are too many such
functions to know them, so what one changes is read from its code: attributes and containers of its module, of the class
or the object that it is a method of, and those that functions of its library change that it calls. What cells gave is
kept of these. An object of the library's own is not: a copy of it would not be what the library has elsewhere.
"""

import ast
import contextlib
import functools
import inspect
import re
import sys
import textwrap
import tokenize
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from .cell_sources import CellSources
from .library_patches import (
    ADDED,
    ANY,
    DELETING,
    ITEMS,
    KEPT_OTHERWISE,
    PREFIX,
    REGISTER,
    Gone,
    imported_names,
    is_found,
    path_of,
    targets_of,
)
from .registers import KEPT
from .singletons import CurrentSession, is_of_session

CHANGING = r"(?:un)?(?:set|use|register|install|add|update|push|configure|setup|enable|disable|remove)(?:_\w*)?"
CALLED = re.compile(CHANGING)
"""The last names of functions that are looked at, besides those that are decorators."""
WRITTEN = re.compile(rf"@|\b{CHANGING}\b")
TAKING = re.compile(r"un|remove|disable")
"""How those begin that take something away."""
FLAG = re.compile(
    r"init|done|once|install|active|loaded|start|configured|state|ready|running|setup|registered|patched|connected"
    r"|fd|pid|port|sock|handle|thread|lock"
)
"""What is in names that say that something has happened, which has not where it is restored, or what a process has."""
DEPTH = 3
"""How many functions are followed, each of which calls the next."""
MOST = 5_000
"""Entries of a container that are looked through."""
FINDERS = "sys", "meta_path"
PLAIN = frozenset({str, int, float, complex, bool, bytes, type(None)})
CONTAINERS = frozenset({list, tuple, set, frozenset})
LARGE = frozenset({"sys", "copyreg", "codecs", "matplotlib", "polars", "pyarrow", "hypothesis", "joblib.parallel"})
"""Modules of which only something is known."""
KNOWN = KEPT_OTHERWISE | {module for module, _, _ in KEPT.values()} - LARGE
"""Modules, and places in them, of which it is known otherwise what cells change there."""

Change = tuple[str, str, str | None]
"""A module (empty: what the method is of), the path to an object in it, and its attribute (None: it is a container)."""


class Given:
    """What all calls of a path were given."""

    def __init__(self) -> None:
        self.texts: set[str] = set()
        """Texts that came first: names of what is registered."""
        self.names: set[str] = set()
        """Names of variables."""
        self.made: set[str] = set()
        """Paths of what was called to make something for the call."""


Calls = dict[str, Given]


def add_calls(found: Calls, source: str) -> None:
    """Add the calls in a cell of what may change a library, by their paths."""
    if WRITTEN.search(source) is None:
        return
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a cell that never ran
        return
    imported = imported_names(nodes)
    decorators = {one for node in nodes for one in getattr(node, "decorator_list", ())}
    for node in nodes:
        is_decorator = node in decorators
        call = ast.Call(node, [], []) if is_decorator and not isinstance(node, ast.Call) else node  # type: ignore[arg-type]
        path = path_of(call.func) if isinstance(call, ast.Call) else ""
        if not isinstance(call, ast.Call) or not path:
            continue
        first, dot, rest = path.partition(".")
        for one in {path, imported.get(first, first) + dot + rest}:
            if is_decorator or CALLED.fullmatch(one.rpartition(".")[2]):
                _note(found.setdefault(one, Given()), call)


def _note(given: Given, call: ast.Call) -> None:
    arguments = [*call.args, *(one.value for one in call.keywords)]
    if arguments and isinstance(arguments[0], ast.Constant) and type(arguments[0].value) is str:
        given.texts.add(arguments[0].value)
    given.names |= {one.id for value in arguments for one in ast.walk(value) if isinstance(one, ast.Name)}
    given.made |= {path_of(one.func) for one in arguments if isinstance(one, ast.Call)}


def capture(cells: CellSources, found: dict[str, Any]) -> None:
    """Find what cells have changed so.

    Args:
        cells: Their code.
        found: What was found otherwise, by the names that `library_patches.restore` knows; it is added to that.
    """
    variables = CurrentSession.main.__dict__
    for path, given in cells.collect(add_calls, dict).items():
        called = None
        with contextlib.suppress(Exception):  # libraries' objects may answer anything
            called = _called(path)
        if called is None:
            continue
        values = [variables[name] for name in given.names if name in variables]
        made = [kind for kind in map(_value_of, given.made) if issubclass(type(kind), type)]
        kinds = [kind for kind in made if _is_library(_space(kind).get("__module__"))]
        told = _Told(given.texts, values, kinds, takes=TAKING.match(path.rpartition(".")[2]) is not None)
        _Keeper(*called, told, found).keep()


class _Told(NamedTuple):
    """What calls tell of what is a cell's."""

    texts: set[str]
    values: list[Any]
    kinds: list[Any]
    """The classes of what was made for a call."""
    takes: bool
    """Whether the calls take something away."""

    def has(self, value: Any) -> bool:
        """Whether it is one of the objects, or a cell's."""
        if is_cells(value) or any(one is value for one in self.values if type(one) not in PLAIN):
            return True
        return any(type(value) is kind for kind in self.kinds)


def is_cells(value: Any) -> bool:
    """Whether a value is a class, a function or an object of a cell, or has some; nothing is asked of it."""
    kind = type(value)
    if kind in CONTAINERS:
        return len(value) <= 10 and any(map(is_cells, value))
    if kind is FunctionType:
        return value.__globals__ is CurrentSession.main.__dict__ or _is_users(value.__module__)
    if kind is MethodType:
        return is_cells(value.__func__) or is_cells(value.__self__)
    if kind is functools.partial:
        return is_cells(value.func)
    return _is_users(_space(value if issubclass(kind, type) else kind).get("__module__"))


def _is_users(module: Any) -> bool:
    if type(module) is not str:
        return False
    return module == "__main__" or is_of_session(getattr(sys.modules.get(module), "__file__", None))


def _space(kind: type) -> Any:
    return type.__getattribute__(kind, "__dict__")


def _bases(kind: type) -> tuple[type, ...]:
    found: tuple[type, ...] = type.__getattribute__(kind, "__mro__")
    return found


def _is_module(value: Any) -> bool:
    return issubclass(type(value), ModuleType)


def _member(owner: Any, name: str) -> Any:
    """What a module, a class or an object of a library has under a name; what would be computed is not asked for."""
    if _is_module(owner):
        return vars(owner).get(name)
    is_class = issubclass(type(owner), type)
    if not is_class and not _is_users(_space(type(owner)).get("__module__")) and name in getattr(owner, "__dict__", {}):
        return vars(owner)[name]
    kinds = _bases(owner if is_class else type(owner))
    value: Any = next((_space(kind)[name] for kind in kinds if name in _space(kind)), None)
    return value.__func__ if type(value) in (staticmethod, classmethod) else value


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
        owner, value = value, _member(value, name)
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
    if type(value) is not FunctionType or not _is_library(value.__module__):
        return None
    if issubclass(type(owner), type):  # of a class of a cell it is the library's own that is changed
        owner = next((kind for kind in _bases(owner) if not _is_users(_space(kind).get("__module__"))), None)
    return value, None if _is_module(owner) else owner


def _is_library(module: str | None) -> bool:
    """Whether functions of a module are those of a library that is not Python's own."""
    known = sys.modules.get(module or "")
    if known is None or module is None or module.partition(".")[0] in sys.stdlib_module_names:
        return False
    return known is not CurrentSession.main and not is_of_session(getattr(known, "__file__", None))


@functools.lru_cache(maxsize=500)
def _changes(function: FunctionType, kind: type, depth: int) -> frozenset[Change]:
    """What a function changes, and those that it calls.

    Args:
        function: The function.
        kind: The class of what it is a method of, which is a library's.
        depth: How many are followed.
    """
    found: set[Change] = set()
    code, space, module = function.__code__, function.__globals__, function.__module__
    own = code.co_varnames[0] if code.co_argcount else ""
    for node in _nodes(function):
        if isinstance(node, ast.Global):
            found |= {(module, "", name) for name in node.names}
        for path, what in targets_of(node):
            first, _, rest = path.partition(".")
            place = ("", rest) if first == own else (module, path)
            if isinstance(what, str) and (what in (ANY, REGISTER) or what.startswith(DELETING)):
                continue
            if (first == own and rest + str(what)) or (first in space and first not in code.co_varnames):
                found.add((*place, what if isinstance(what, str) else None))
        if depth > 1 and isinstance(node, ast.Call) and (next_one := _next(node, function, kind, own)) is not None:
            found |= {one for one in _changes(next_one[0], next_one[1], depth - 1) if one[0] or next_one[1] is kind}
    return frozenset(one for one in found if one[1] or one[2])


@functools.lru_cache(maxsize=500)
def _in_order(function: FunctionType, kind: type) -> tuple[Change, ...]:
    return tuple(sorted(_changes(function, kind, DEPTH), key=repr))


@functools.lru_cache(maxsize=500)
def _made_inside(function: FunctionType) -> dict[str, list[str]]:
    """The names to which a function gives something, and what is called to make it; empty: something else."""
    found: dict[str, list[str]] = {}
    for node in _nodes(function):
        if isinstance(node, ast.Assign):
            made = path_of(node.value.func) if isinstance(node.value, ast.Call) else ""
            for one in node.targets:
                found.setdefault(getattr(one, "id", ""), []).append(made)
    return found


def _next(node: ast.Call, function: FunctionType, kind: type, own: str) -> tuple[FunctionType, type] | None:
    """The function of the same library that one calls, and the class of what it is a method of."""
    first, *rest = path_of(node.func).split(".")
    if first == own and len(rest) == 1:
        value = _member(kind, rest[0])
    else:
        value = function.__globals__.get(first)
        for name in rest:
            value = _member(value, name) if issubclass(type(value), ModuleType | type) else None
        kind = type(None)
    top = function.__module__.partition(".")[0]
    if type(value) is not FunctionType or value is function or (value.__module__ or "").partition(".")[0] != top:
        return None
    return value, kind


def _nodes(function: FunctionType) -> list[ast.AST]:
    """The syntax of a function; none where there is no source."""
    try:
        with tokenize.open(function.__code__.co_filename) as file:
            block = inspect.getblock(file.readlines()[function.__code__.co_firstlineno - 1 :])
        return list(ast.walk(ast.parse(textwrap.dedent("".join(block)))))
    except (OSError, SyntaxError, ValueError, RecursionError, UnicodeError, tokenize.TokenError):
        return []


class _Spot(NamedTuple):
    """Something of a library: the module, the path to it in that, and itself."""

    module: str
    path: str
    value: Any

    def enter(self, name: str) -> "tuple[_Spot, _Spot] | None":
        """What has a name in it, which may be its class, and what is there; None: nothing."""
        holder: _Spot | None = self
        if name not in getattr(self.value, "__dict__", {}):
            kinds = _bases(self.value if issubclass(type(self.value), type) else type(self.value))
            holder = next((_spot_of(one, "") for one in kinds if name in _space(one)), None)
        if holder is None:
            return None
        value = vars(holder.value)[name]
        if _is_module(value):
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
        for change in _in_order(self._function, kind):
            with contextlib.suppress(Exception):  # libraries' objects may answer anything
                self._keep(change)
        if not self._strange:
            self._found.update(self._constants)

    def _keep(self, change: Change) -> None:
        module, path, attribute = change
        spot = _Spot(module, "", sys.modules[module]) if module else _spot_of(self._owner, self._function.__module__)
        holder = None
        for name in [one for one in (*path.split("."), attribute) if one]:
            entered = spot.enter(name) if spot is not None else None
            if entered is None:
                return
            holder, spot = entered
        if holder is None or spot is None:
            return
        is_finders = (holder.module, name) == FINDERS
        inner = ".".join(one for one in (holder.module, holder.path, name) if one)
        if not is_finders and (not KNOWN.isdisjoint({holder.module, inner}) or not _is_library(holder.module)):
            return
        value, place = spot.value, f"{holder.module}:{holder.path}:{name}"
        if issubclass(type(value), dict) and not is_cells(value):
            self._keep_entries(f"{ITEMS}{place}", value)
        elif type(value) in (list, set):
            self._keep_items(f"{ITEMS}{place}", value, is_finders=is_finders)
        elif attribute is not None:
            self._keep_value(f"{PREFIX}{place}", name, value)

    def _keep_value(self, place: str, name: str, value: Any) -> None:
        if type(value) in PLAIN:
            if FLAG.search(name.lower()) is None:
                self._constants[place] = value
        elif self._told.has(value) or self._is_made_inside(name, value):
            self._found[place] = value
        elif not issubclass(type(value), ModuleType | type | FunctionType):
            self._strange = True

    def _is_made_inside(self, name: str, value: Any) -> bool:
        """Whether all that the function gives a variable is made by calling the class that its value has."""
        kinds = [self._function.__globals__.get(path) for path in _made_inside(self._function).get(name, ())]
        return bool(kinds) and all(kind is type(value) for kind in kinds)

    def _keep_entries(self, place: str, value: dict[Any, Any]) -> None:
        before = self._found.get(place, {})
        if len(value) > MOST or not issubclass(type(before), dict):
            return
        entries = list(dict.items(value))
        kept = {
            key: one
            for key, one in entries
            if is_cells(key) or self._told.has(one) or self._is_named(key, one, entries)
        }
        if self._told.takes:
            kept |= {text: Gone for text in self._told.texts if not dict.__contains__(value, text)}
        if kept:
            self._found[place] = before | kept

    def _is_named(self, key: Any, value: Any, entries: list[tuple[Any, Any]]) -> bool:
        """Whether a call has named an entry, whose value is nowhere else that can be seen."""
        if type(key) is not str or key not in self._told.texts:
            return False
        shared = [one for other, one in entries if one is value and other is not key]
        return type(value) in PLAIN or not (shared or any(one is value for one in self._function.__globals__.values()))

    def _keep_items(self, place: str, value: Any, *, is_finders: bool) -> None:
        before = self._found.get(place, (ADDED, {}, []))
        if len(value) > MOST or before[0] != ADDED:
            return
        top = self._function.__module__.partition(".")[0]
        items = dict(enumerate(list(value)))
        texts = self._told.texts
        mine = {
            at: one
            for at, one in items.items()
            if (is_finders and type(one).__module__.partition(".")[0] == top)
            or (one in texts if type(one) is str else self._told.has(one))
        }
        gone = texts - {one for one in items.values() if type(one) is str} if self._told.takes else ()
        if mine or gone:
            self._found[place] = (ADDED, {**before[1], **mine}, [*before[2], *gone])
