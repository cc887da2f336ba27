"""What a function of a library changes, as its source says: attributes and containers of its module or its object."""

import ast
import inspect
import sys
import textwrap
import tokenize
from types import CodeType, FunctionType, ModuleType
from typing import Any, ClassVar

from ..current_session import is_of_session
from .library_patches import ANY, DELETING, REGISTER, path_of, targets_of

DEPTH = 3
"""How many functions are followed, each of which calls the next."""
Change = tuple[str, str, str | None]
"""A module (empty: what the method is of), the path to an object in it, and its attribute (None: it is a container)."""


def changes_of(function: FunctionType, kind: type, depth: int) -> tuple[Change, ...]:
    """What a function changes, and those that it calls, in an order that is always the same.

    Args:
        function: The function.
        kind: The class of what it is a method of, which is a library's.
        depth: How many are followed.
    """
    name = f"{space_of(kind).get('__module__')}.{type.__dict__['__qualname__'].__get__(kind)}"
    key = function.__code__, name, depth
    if key not in _Known.changes:
        _Known.changes[key] = tuple(sorted(_read_changes(function, kind, depth), key=repr))
    return _Known.changes[key]


class _Known:
    """What is known of functions of libraries, by their code: a function may be a closure that holds anything."""

    changes: ClassVar[dict[tuple[CodeType, str, int], tuple[Change, ...]]] = {}
    made: ClassVar[dict[CodeType, dict[str, list[str]]]] = {}


def _read_changes(function: FunctionType, kind: type, depth: int) -> set[Change]:
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
            found |= {one for one in changes_of(next_one[0], next_one[1], depth - 1) if one[0] or next_one[1] is kind}
    return {one for one in found if one[1] or one[2]}


def made_inside(function: FunctionType) -> dict[str, list[str]]:
    """The names to which a function gives something, and what is called to make it; empty: something else."""
    if (known := _Known.made.get(function.__code__)) is not None:
        return known
    found: dict[str, list[str]] = {}
    for node in _nodes(function):
        if isinstance(node, ast.Assign):
            made = path_of(node.value.func) if isinstance(node.value, ast.Call) else ""
            for one in node.targets:
                found.setdefault(getattr(one, "id", ""), []).append(made)
    _Known.made[function.__code__] = found
    return found


def _next(node: ast.Call, function: FunctionType, kind: type, own: str) -> tuple[FunctionType, type] | None:
    """The function of the same library that one calls, and the class of what it is a method of."""
    first, *rest = path_of(node.func).split(".")
    if first == own and len(rest) == 1:
        value = member_of(kind, rest[0])
    else:
        value = function.__globals__.get(first)
        for name in rest:
            value = member_of(value, name) if issubclass(type(value), ModuleType | type) else None
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


def member_of(owner: Any, name: str) -> Any:
    """What a module, a class or an object of a library has under a name; what would be computed is not asked for."""
    if is_module(owner):
        return vars(owner).get(name)
    is_class = issubclass(type(owner), type)
    is_object = not is_class and not is_users_module(space_of(type(owner)).get("__module__"))
    if is_object and name in getattr(owner, "__dict__", {}):
        return vars(owner)[name]
    kinds = bases_of(owner if is_class else type(owner))
    value: Any = next((space_of(kind)[name] for kind in kinds if name in space_of(kind)), None)
    return value.__func__ if type(value) in (staticmethod, classmethod) else value


def is_library(module: Any) -> bool:
    """Whether functions of a module are those of a library that is not Python's own."""
    if type(module) is not str or module.partition(".")[0] in sys.stdlib_module_names or module == "__main__":
        return False
    return is_module(sys.modules.get(module)) and not is_of_session(_file_of(module))


def is_users_module(module: Any) -> bool:
    """Whether a name is that of a module of the user's; it may be anything, and is asked nothing."""
    return type(module) is str and (module == "__main__" or is_of_session(_file_of(module)))


def _file_of(module: Any) -> Any:
    known = sys.modules.get(module) if type(module) is str else None
    return vars(known).get("__file__") if is_module(known) else None


def is_module(value: Any) -> bool:
    """Whether a value is a module, whatever it says of itself."""
    return issubclass(type(value), ModuleType)


def space_of(kind: type) -> Any:
    """The attributes of a class, past its metaclass."""
    return type.__getattribute__(kind, "__dict__")


def bases_of(kind: type) -> tuple[type, ...]:
    """A class and its bases, past its metaclass."""
    found: tuple[type, ...] = type.__getattribute__(kind, "__mro__")
    return found
