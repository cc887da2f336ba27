"""What cells have changed in libraries by calling functions of theirs: told by what is written in these functions.

`jwt.register_algorithm("ROT", mine)` puts an object of a cell where only the library finds it. There are too many such
functions to know them, so what one changes is read from its code: attributes and containers of its module, of the class
or the object that it is a method of, and those that functions of its library change that it calls. What cells gave is
kept of these.
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
    ITEMS,
    KEPT_OTHERWISE,
    MAX_ITEMS,
    PREFIX,
    imported_names,
    is_found,
    path_of,
    targets_of,
)
from .registers import KEPT, REGISTERS, is_entry_of_cell
from .singletons import CurrentSession, is_of_session

CALLED = re.compile(r"(?:set|use|register|install|add|update|push|configure|setup|enable|disable)(?:_\w*)?")
"""The last names of functions that are looked at, besides those that are decorators."""
WRITTEN = re.compile(rf"@|\b{CALLED.pattern}\s*\(")
FLAG = re.compile(r"init|done|once|install|active|loaded|start|configured")
"""What is in names that say that something has happened, which has not where it is restored."""
DEPTH = 3
"""How many functions are followed, each of which calls the next."""
CONTAINERS = frozenset({list, tuple, set, frozenset, dict})
PLAIN = frozenset({str, int, float, complex, bool, bytes, type(None)})
FOUND_OTHERWISE = frozenset({module for module, _, _ in KEPT.values()} | {module for module, _ in REGISTERS})
"""Modules of which it is known what cells can change in them."""

Call = tuple[str, frozenset[str], frozenset[str], bool]
"""A path of names; texts that it was given, and names; and whether what it was given was made in the call."""
FINDERS = "sys", "meta_path"
_KNOWN = FOUND_OTHERWISE | KEPT_OTHERWISE
Change = tuple[str, str, str | None, bool]
"""A module (empty: what the method is of), the path to an object in it, and its attribute (None: it is a container);
whether the very function does it that the cell calls."""


def calls_of(source: str) -> frozenset[Call]:
    """The calls in a cell of what may change a library."""
    if WRITTEN.search(source) is None:
        return frozenset()
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a cell that never ran
        return frozenset()
    imported = imported_names(nodes)
    decorators = {one for node in nodes for one in getattr(node, "decorator_list", ())}
    found: set[Call] = set()
    for node in nodes:
        is_decorator = node in decorators
        call = ast.Call(node, [], []) if is_decorator and not isinstance(node, ast.Call) else node  # type: ignore[arg-type]
        path = path_of(call.func) if isinstance(call, ast.Call) else ""
        if not isinstance(call, ast.Call) or not (is_decorator or CALLED.fullmatch(path.rpartition(".")[2])):
            continue
        given = [*call.args, *(one.value for one in call.keywords)]
        within = [one for value in given for one in ast.walk(value)]
        texts = {one.value for one in within if isinstance(one, ast.Constant) and isinstance(one.value, str)}
        texts |= {one.arg for one in call.keywords if one.arg}
        names = frozenset(one.id for one in within if isinstance(one, ast.Name))
        first, dot, rest = path.partition(".")
        for one in {path, imported.get(first, first) + dot + rest}:
            found.add((one, frozenset(texts), names, any(isinstance(one, ast.Call) for one in given)))
    return frozenset(found)


def capture(cells: CellSources, found: dict[str, Any]) -> None:
    """Find what cells have changed so.

    Args:
        cells: Their code.
        found: What was found otherwise, by the names that `library_patches.restore` knows; it is added to that.
    """
    variables = CurrentSession.main.__dict__
    for path, (texts, names, made) in _by_path(cells.union(calls_of)).items():
        with contextlib.suppress(Exception):  # libraries' objects may answer anything
            if (called := _called(path)) is not None:
                given = _Given(texts, [variables[name] for name in names if name in variables], made)
                for change in _changes_of(*called):
                    _keep(change, *called, given, found)


@functools.lru_cache(maxsize=1)
def _by_path(calls: frozenset[Call]) -> dict[str, tuple[set[str], set[str], bool]]:
    """What all calls of a path were given."""
    found: dict[str, tuple[set[str], set[str], bool]] = {}
    for path, texts, names, made in calls:
        before = found.get(path, (set[str](), set[str](), False))
        found[path] = before[0] | texts, before[1] | names, before[2] or made
    return found


class _Given:
    """What a call was given, which tells what of a library is a cell's."""

    def __init__(self, texts: set[str], values: list[Any], made: bool) -> None:
        self._texts = texts
        self._values = [one for one in values if type(one) not in PLAIN and not isinstance(one, ModuleType)]
        self._made = made

    def has(self, value: Any) -> bool:
        """Whether it is one of the objects, or a text."""
        return any(one is value for one in self._values) or (type(value) is str and value in self._texts)

    def is_entry(self, key: Any, value: Any) -> bool:
        """Whether it is an entry of a dictionary that was put there."""
        return self.has(key) or self.has(value) or _is_of_cell(key) or _is_of_cell(value)

    def is_attribute(self, name: str, value: Any, *, directly: bool) -> bool:
        """Whether it is the value of an attribute that was set."""
        if _is_plain(value):
            return FLAG.search(name.lower()) is None
        return self.has(value) or _is_of_cell(value) or ((self._made or directly) and _is_object(value))


def _is_of_cell(value: Any) -> bool:
    within = list(value)[:10] if type(value) in (list, set, tuple) else [value]
    return any(is_entry_of_cell(None, one) for one in within)


def _is_plain(value: Any) -> bool:
    items = [*value, *(value.values() if type(value) is dict else ())] if type(value) in CONTAINERS else [value]
    return len(items) <= MAX_ITEMS and all(type(one) in PLAIN for one in items)


def _is_object(value: Any) -> bool:
    """Whether a value is an object of a library, and none of what only a process has."""
    kind = type(value)
    return kind.__module__.partition(".")[0] not in sys.stdlib_module_names and not issubclass(kind, ModuleType | type)


def _called(path: str) -> tuple[FunctionType, Any] | None:
    """A library's function, and what it is a method of; None: there is none of a name."""
    first, *rest = path.split(".")
    value: Any = CurrentSession.main.__dict__.get(first)
    if rest and value is not None and not issubclass(type(value), ModuleType | type):
        return None  # a method of a variable changes that
    if value is None:
        names = [".".join([first, *rest][:count]) for count in range(len(rest), 0, -1)]
        name = next((name for name in names if name in sys.modules), "")
        value, rest = sys.modules.get(name), path[len(name) + 1 :].split(".")
    owner: Any = None
    for name in rest:
        owner, value = value, _member(value, name)
    owner = getattr(value, "__self__", None) if isinstance(value, MethodType) else owner
    value = getattr(value, "__func__", value)
    for _ in range(DEPTH):
        value = getattr(value, "__wrapped__", value)
    if not isinstance(value, FunctionType) or not _is_library(value.__module__):
        return None
    return value, None if isinstance(owner, ModuleType) else owner


def _member(owner: Any, name: str) -> Any:
    """What a module, a class or an object of a library has under a name; what would be computed is not asked for."""
    if isinstance(owner, ModuleType):
        return vars(owner).get(name)
    kinds: Any = owner.__mro__ if isinstance(owner, type) else (type(owner), *type(owner).__mro__)
    if not isinstance(owner, type) and name in getattr(owner, "__dict__", {}):
        return vars(owner)[name]
    value = next((vars(kind)[name] for kind in kinds if name in vars(kind)), None)
    return value.__func__ if isinstance(value, staticmethod | classmethod) else value


def _is_library(module: str | None) -> bool:
    """Whether functions of a module are those of a library that is not Python's own."""
    known = sys.modules.get(module or "")
    if known is None or module is None or module.partition(".")[0] in sys.stdlib_module_names:
        return False
    return known is not CurrentSession.main and not is_of_session(getattr(known, "__file__", None))


def _changes_of(function: FunctionType, owner: Any) -> frozenset[Change]:
    return _changes(function, owner if isinstance(owner, type) else type(owner), DEPTH)


@functools.lru_cache(maxsize=500)
def _changes(function: FunctionType, kind: type, depth: int) -> frozenset[Change]:
    """What a function changes, and those that it calls.

    Args:
        function: The function.
        kind: The class of what it is a method of.
        depth: How many are followed.
    """
    found: set[Change] = set()
    code, space, module = function.__code__, function.__globals__, function.__module__
    own = code.co_varnames[0] if code.co_argcount else ""
    directly = depth == DEPTH
    for node in _nodes(function):
        if isinstance(node, ast.Global):
            found |= {(module, "", name, directly) for name in node.names}
        for path, what in targets_of(node):
            first, _, rest = path.partition(".")
            place = ("", rest) if first == own else (module, path)
            if first == own or (first in space and first not in code.co_varnames):
                found.add((*place, what if isinstance(what, str) else None, directly))
        if depth > 1 and isinstance(node, ast.Call) and (next_one := _next(node, function, kind, own)) is not None:
            found |= {one for one in _changes(next_one[0], next_one[1], depth - 1) if one[0] or next_one[1] is kind}
    return frozenset(found)


def _next(node: ast.Call, function: FunctionType, kind: type, own: str) -> tuple[FunctionType, type] | None:
    """The function of the same library that one calls, and the class of what it is a method of."""
    first, *rest = path_of(node.func).split(".")
    if first == own and len(rest) == 1:
        value = _member(kind, rest[0])
    else:
        value = function.__globals__.get(first)
        for name in rest:
            value = _member(value, name) if isinstance(value, ModuleType | type) else None
        kind = type(None)
    top = function.__module__.partition(".")[0]
    is_one = isinstance(value, FunctionType) and (value.__module__ or "").partition(".")[0] == top
    return (value, kind) if is_one and isinstance(value, FunctionType) and value is not function else None


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

    def enter(self, name: str) -> "tuple[_Spot, _Spot]":
        """What has a name in it, which may be its class, and what is there."""
        holder = self
        if name not in getattr(self.value, "__dict__", {}):
            kind = self.value if isinstance(self.value, type) else type(self.value)
            holder = next((_spot_of(one, "") for one in kind.__mro__ if name in vars(one)), None) or self
        value = vars(holder.value)[name]
        if isinstance(value, ModuleType):
            return holder, _Spot(value.__name__, "", value)
        if isinstance(value, type) and (known := _spot_of(value, "")) is not None:
            return holder, known
        return holder, _Spot(holder.module, f"{holder.path}.{name}".lstrip("."), value)


def _spot_of(owner: Any, module: str) -> _Spot | None:
    """Where a class is, or an object that a module has as a variable."""
    if isinstance(owner, type):
        return _Spot(owner.__module__, owner.__qualname__, owner) if is_found(owner) else None
    for one in (module, type(owner).__module__):
        for name, value in list(vars(sys.modules[one]).items()) if one in sys.modules else ():
            if value is owner:
                return _Spot(one, name, owner)
    return None


def _keep(change: Change, function: FunctionType, owner: Any, given: _Given, found: dict[str, Any]) -> None:
    """Keep what a cell has given of a place that a function changes."""
    module, path, attribute, directly = change
    spot = _Spot(module, "", sys.modules[module]) if module else _spot_of(owner, function.__module__)
    *inner, name = [one for one in (*path.split("."), attribute) if one]
    for one in inner:
        if spot is None:
            return
        spot = spot.enter(one)[1]
    if spot is None:
        return
    holder, at = spot.enter(name)
    is_finders = (holder.module, name) == FINDERS
    is_known = not _KNOWN.isdisjoint({holder.module, f"{holder.module}.{name}"})
    if not is_finders and (is_known or not _is_library(holder.module)):
        return
    place = f"{holder.module}:{holder.path}:{name}"
    if attribute is not None:
        if given.is_attribute(name, at.value, directly=directly):
            found[f"{PREFIX}{place}"] = at.value
    elif isinstance(at.value, dict) and len(at.value) <= MAX_ITEMS:
        kept = {key: one for key, one in list(at.value.items()) if given.is_entry(key, one)}
        before = found.get(f"{ITEMS}{place}", {})
        if kept and isinstance(before, dict):
            found[f"{ITEMS}{place}"] = before | kept
    elif isinstance(at.value, list | set) and len(at.value) <= MAX_ITEMS:
        top = function.__module__.partition(".")[0]
        mine = [one for one in at.value if given.has(one) or _is_of_cell(one) or (is_finders and _is_from(one, top))]
        kind, known = found.get(f"{ITEMS}{place}", (ADDED, []))
        more = [one for one in mine if not any(one is other for other in known)]
        if more and kind == ADDED:
            found[f"{ITEMS}{place}"] = (ADDED, [*known, *more])


def _is_from(value: Any, library: str) -> bool:
    return type(value).__module__.partition(".")[0] == library
