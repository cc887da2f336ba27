"""What cells have put into modules and classes of libraries: replaced functions, methods that were added.

Which attributes these are is read from the source of the cells: everything there is in all libraries cannot be
compared with what it was. Names decide nothing but where to look; what is there is kept.
"""

import ast
import functools
import importlib
import sys
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, TypeGuard

from ..own_library import DELETED, KERNEL, own_library
from . import library_registers
from .classes import is_users
from .identity import find_sentinel
from .singletons import CurrentSession, is_of_session

SETTERS = frozenset({"setattr", "object"})
"""What is given an object and the name of an attribute: the function, and that of `unittest.mock.patch`."""
ACCESSORS = (
    *(("pandas", name) for name in ("DataFrame", "Series", "Index")),
    *(("polars", name) for name in ("DataFrame", "LazyFrame", "Series", "Expr")),
)
KEPT_OTHERWISE = frozenset({"sys", "builtins", "tempfile.tempdir", "warnings.filters", "matplotlib.rcParams"})
OF_SYS = frozenset({"excepthook", "unraisablehook", "displayhook", "tracebacklimit", "ps1", "ps2"})
"""Of `sys`, what is kept here all the same."""
PREFIX = "attribute "
"""How the names of these settings begin."""


@functools.lru_cache(maxsize=1_000)
def _assigned(source: str) -> frozenset[tuple[str, str]]:
    """What a cell assigns to: a path of names and an attribute."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a cell that never ran
        return frozenset()
    imported: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            imported |= {one.asname: one.name for one in node.names if one.asname}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imported |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    found: set[tuple[str, str]] = set()
    for path, attribute in (pair for node in nodes for pair in _targets(node)):
        first, dot, rest = path.partition(".")
        found |= {(path, attribute), (imported.get(first, first) + dot + rest, attribute)}
    return frozenset(found)


def _targets(node: ast.AST) -> Iterator[tuple[str, str]]:
    """What one expression of a cell sets: the names that lead to an object, and the attribute."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield _path(node.value), node.attr
    if not isinstance(node, ast.Call):
        return
    function = _path(node.func).rpartition(".")[2]
    given = [one.value if isinstance(one, ast.Constant) else None for one in node.args[:2]]
    if function in SETTERS and len(given) == 2 and isinstance(given[1], str):
        yield _path(node.args[0]), given[1]
    if function == "patch" and given and isinstance(given[0], str):  # of `unittest.mock`
        path, _, attribute = given[0].rpartition(".")
        yield path, attribute


def _path(node: ast.expr) -> str:
    """Names with dots between them; empty: something else."""
    if isinstance(node, ast.Attribute):
        before = _path(node.value)
        return f"{before}.{node.attr}" if before else ""
    return node.id if isinstance(node, ast.Name) else ""


def capture(sources: list[str], of_cells: dict[tuple[str, str], Any]) -> dict[str, Any]:
    """The attributes of libraries that cells have assigned to: `module:path:attribute` → value.

    Args:
        sources: The code of the cells.
        of_cells: What they have put where the library's own is just now; see `OwnLibrary.as_it_was`.
    """
    found: dict[str, Any] = {}
    for source in sources:
        for path, attribute in _assigned(source):
            place = _place(path)
            if place is None:
                continue
            module, inner, owner = place
            elsewhere = not {module, f"{module}.{attribute}"}.isdisjoint(KEPT_OTHERWISE)
            value = vars(owner).get(attribute, DELETED)
            if value is DELETED and isinstance(getattr(type(owner), attribute, None), property):
                value = getattr(owner, attribute)
            if not inner:
                value = of_cells.get((module, attribute), value)
            if value is not DELETED and (not elsewhere or (module == "sys" and attribute in OF_SYS)):
                found[f"{PREFIX}{module}:{inner}:{attribute}"] = value
    if any(library_registers.REGISTERING in source for source in sources):
        found |= library_registers.functions_of_arrow()
    return found | _accessors() | _of_builtins()


def _of_builtins() -> dict[str, Any]:
    """What cells have put into `builtins`, in whatever way."""
    changed = own_library().builtins.changed()
    names = sorted(name for name in changed if type(name) is str and ":" not in name)  # a cell may put in anything
    return {f"{PREFIX}builtins::{name}": changed[name] for name in names if changed[name] is not DELETED}


def _accessors() -> dict[str, Any]:
    """The accessors of pandas and the namespaces of polars that cells have registered."""
    found: dict[str, Any] = {}
    kinds: list[Any] = [getattr(sys.modules.get(module), name, None) for module, name in ACCESSORS]
    for kind in kinds:
        space: Any = vars(kind) if kind is not None else {}
        for name in getattr(kind, "_accessors", ()):
            if type(value := space.get(name)) is property:  # one of polars itself
                continue
            accessor = _class_of_accessor(value)
            if accessor is not None and is_users(accessor):
                found[f"{PREFIX}{kind.__module__}:{kind.__qualname__}:{name}"] = vars(kind)[name]
    return found


def _class_of_accessor(value: Any) -> type | None:
    """The class that an attribute of frames makes an object of, in pandas and in polars; None: it does not."""
    kinds = (vars(value).get(name) for name in ("_accessor", "_ns")) if type(value).__name__ in OF_ACCESSORS else ()
    return next((one for one in kinds if isinstance(one, type)), None)


OF_ACCESSORS = ("Accessor", "CachedAccessor", "NameSpace")


def _place(path: str) -> tuple[str, str, Any] | None:
    """The module of a library, and in it the path of a class, that names of a cell lead to; None: something else."""
    first, *rest = path.split(".")
    owner = CurrentSession.main.__dict__.get(first)
    if owner is None:  # a name in a function, which stands for what it imports
        names = [".".join(path.split(".")[:count]) for count in range(len(rest) + 1, 0, -1)]
        name = next((name for name in names if name in sys.modules), "")
        owner, rest = sys.modules.get(name), path[len(name) + 1 :].split(".") if name != path else []
    home, inner = owner, list[str]()
    for name in rest:
        if isinstance(owner, ModuleType):
            home, inner = owner, []
        owner = vars(owner).get(name) if _is_place(owner) else None
        inner.append(name)
    if not _is_place(owner):  # and nothing is asked of it: it may be the user's, and answer anything
        return _object_of_library(home, inner, owner)
    if str(getattr(owner, "__module__" if isinstance(owner, type) else "__name__", "")).split(".")[0] == KERNEL:
        return None  # what a cell does to the kernel is of its process alone
    if isinstance(owner, ModuleType):
        known = sys.modules.get(owner.__name__) is owner and getattr(owner, "__spec__", None) is not None
        return (owner.__name__, "", owner) if known and not _is_of_workspace(owner) else None
    if not is_users(owner) and owner.__flags__ & CHANGEABLE:
        return owner.__module__, owner.__qualname__, owner
    return None


def _object_of_library(home: Any, inner: list[str], owner: Any) -> tuple[str, str, Any] | None:
    """The place of an object that a library has in a module or in a class, as the distributions of scipy."""
    kind = type(owner)
    has_attributes = kind.__dictoffset__ and not is_users(kind) and not kind.__module__.startswith(KERNEL)
    if not (inner and _is_place(home) and has_attributes):
        return None
    if isinstance(home, type):
        return None if is_users(home) else (home.__module__, ".".join((home.__qualname__, *inner)), owner)
    known = sys.modules.get(home.__name__) is home and not _is_of_workspace(home)
    return (home.__name__, ".".join(inner), owner) if known and home is not CurrentSession.main else None


def _is_place(owner: Any) -> TypeGuard[ModuleType | type]:
    """Whether something is a module or a class; asked of its type, since an object can say that it is another one."""
    return issubclass(type(owner), ModuleType | type)


CHANGEABLE = 1 << 9
"""`Py_TPFLAGS_HEAPTYPE`: types of C cannot be changed."""


def _is_of_workspace(module: ModuleType) -> bool:
    return is_of_session(getattr(module, "__file__", None))


def restore(name: str, value: Any) -> None:
    """Put one back.

    Raises:
        AttributeError: this version of the library does not have the class.
        ImportError: the library is not there.
    """
    module, path, attribute = name.removeprefix(PREFIX).split(":")
    if module == "builtins":
        own_library().builtins.set(attribute, value)
        return
    owner: Any = importlib.import_module(module)
    for part in path.split(".") if path else ():
        owner = getattr(owner, part)
    setattr(owner, attribute, value)
    if _class_of_accessor(value) is not None and isinstance(getattr(owner, "_accessors", None), set):
        owner._accessors.add(attribute)


def reduce_replaced(value: Any) -> Any:
    """A function of a library by its name, although something of a cell has its place now; None for all others.

    What a cell put there is put back after everything else, so that the name still leads to the library's own.
    """
    module = sys.modules.get(value.__module__ or "")
    name = value.__name__
    if module is None or module is CurrentSession.main or value.__qualname__ != name:
        return None
    now = vars(module).get(name, value)
    if now is value or _is_of_workspace(module):
        return None
    is_own = isinstance(value, BuiltinFunctionType) or (
        isinstance(value, FunctionType) and value.__globals__ is vars(module)
    )
    if not is_own or not _is_of_cell(now):
        return None
    return find_sentinel, (value.__module__, name)


def reduce_builtin(pickler: Any, function: Any) -> Any:
    """A function of C; see `reduce_replaced`."""
    return reduce_replaced(function) or NotImplemented


def _is_of_cell(value: Any) -> bool:
    return value is None or getattr(value, "__globals__", None) is CurrentSession.main.__dict__
