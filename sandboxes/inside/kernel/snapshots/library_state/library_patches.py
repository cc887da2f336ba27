"""What cells have put into modules, classes and objects of libraries: replaced functions, methods, entries, settings.

Which attributes and containers these are is read from the source of the cells: everything there is in all libraries
cannot be compared with what it was. Names decide nothing but where to look; what is there is kept.
"""

import ast
import codecs
import contextlib
import functools
import importlib
import sys
from collections.abc import Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, ClassVar, TypeGuard

from ...own_library import DELETED, KERNEL, own_library
from ..cell_sources import CELL, CellSources, nodes_of
from ..current_session import CurrentSession, is_of_session
from ..objects.classes import is_users, without_questions
from ..objects.functions import is_of_own_loader
from ..objects.nans_and_sentinels import find_sentinel
from ..singletons import OF_LIBRARIES
from . import data_registers

SETTERS = frozenset({"setattr", "object"})
"""What is given an object and the name of an attribute: the function, and that of `unittest.mock.patch`."""
ACCESSORS = {
    "pandas": ("DataFrame", "Series", "Index"),
    "polars": ("DataFrame", "Series", "LazyFrame", "Expr"),
}
LINES = "linecache.cache"
"""What a cell names that puts lines of code there."""
KEPT_OTHERWISE = frozenset(
    {"builtins", "tempfile.tempdir", "warnings.filters", "gc.callbacks", LINES}
    | {"matplotlib.rcParams", "matplotlib.pyplot.rcParams"}
    | {f"sys.{name}" for name in ("path", "argv", "meta_path", "path_hooks", "path_importer_cache", "stdin", "stdout")}
    | {f"sys.{name}" for name in ("stderr", "modules", "dont_write_bytecode")}
    | {f"sys.last_{name}" for name in ("value", "type", "traceback", "exc")}
)
PREFIX = "attribute "
"""How the names of these settings begin."""
ITEMS = "items of "
"""How the names of those begin that are entries of containers."""
CHANGING = frozenset(
    {"append", "extend", "insert", "remove", "pop", "clear", "add", "discard", "update", "setdefault", "sort"}
)
"""Methods by which cells change a container."""
MAX_ITEMS = 1_000
"""Entries of a container of a library that is kept whole, because no names of entries stand in the cells."""
MODULES = "sys.modules"
ANY = "*"
"""In the place of the name of an attribute that is not known before the cell runs."""
DELETING = "del "
"""Before the name of an attribute that a cell deletes."""
ERROR_HANDLER = "error handler "
"""How the names of those begin that `codecs` knows."""
SUBCLASSES = "virtual subclasses of "
"""How the names of those begin that are classes registered with an abstract one of a library."""
REGISTER = "<register>"
"""In the place of an attribute: a cell has called this method."""
OF_THESE = (PREFIX, ITEMS, ERROR_HANDLER, SUBCLASSES)


class CellAttributes:
    """The names of attributes that cells assign, whatever they are of."""

    assigned: ClassVar[frozenset[str]] = frozenset()


class Gone:
    """In the place of what a cell has deleted."""


Target = tuple[str, str | tuple[Any, ...]]
"""A path of names, and an attribute, or the keys of entries; no keys: any of them."""


def _assigned(source: str) -> frozenset[Target]:
    """What a cell assigns to."""
    nodes = nodes_of(source)
    imported = imported_names(nodes)
    found: set[Target] = set()
    for path, what in (pair for node in nodes for pair in targets_of(node)):
        first, dot, rest = path.partition(".")
        both = {path, imported.get(first, first) + dot + rest}
        found |= {(one, what) for one in both if isinstance(what, str) or "." in one}
    return frozenset(found)


def imported_names(nodes: list[ast.AST]) -> dict[str, str]:
    """The names that a cell gives to what it imports, and what that is called where it comes from."""
    imported: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            imported |= {one.asname: one.name for one in node.names if one.asname}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imported |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    return imported


def targets_of(node: ast.AST) -> Iterator[Target]:
    """What one expression of a cell sets: the names that lead to an object, and the attribute or entries."""
    if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        yield path_of(node.value), node.attr if isinstance(node.ctx, ast.Store) else DELETING + node.attr
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        is_key = isinstance(node.ctx, ast.Store) and isinstance(node.slice, ast.Constant)
        keys = (node.slice.value,) if is_key and isinstance(node.slice, ast.Constant) else ()
        if (space := _space_of(node.value)) is not None:
            yield path_of(space), keys[0] if keys and isinstance(keys[0], str) else ANY
        else:
            yield path_of(node.value), keys
    if not isinstance(node, ast.Call):
        return
    if isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING:
        yield path_of(node.func.value), ()
    owner, _, function = path_of(node.func).rpartition(".")
    given = [one.value if isinstance(one, ast.Constant) else None for one in node.args[:2]]
    if function in SETTERS and len(given) == 2:
        yield path_of(node.args[0]), given[1] if isinstance(given[1], str) else ANY
    if function == "register":
        yield owner, REGISTER
    if function == "register_error" and given and isinstance(given[0], str):
        yield ERROR_HANDLER, given[0]
    if function == "patch" and given and isinstance(given[0], str):  # of `unittest.mock`
        path, _, attribute = given[0].rpartition(".")
        yield path, attribute


def _space_of(node: ast.expr) -> ast.expr | None:
    """What `vars(x)` and `x.__dict__` are the variables of; None: it is neither."""
    if isinstance(node, ast.Attribute) and node.attr == "__dict__":
        return node.value
    is_call = isinstance(node, ast.Call) and path_of(node.func) == "vars" and len(node.args) == 1
    return node.args[0] if is_call and isinstance(node, ast.Call) else None


def path_of(node: ast.expr) -> str:
    """Names with dots between them; empty: something else."""
    if isinstance(node, ast.Attribute):
        before = path_of(node.value)
        return f"{before}.{node.attr}" if before else ""
    return node.id if isinstance(node, ast.Name) else ""


def capture(cells: CellSources, of_cells: dict[tuple[str, str], Any]) -> dict[str, Any]:
    """The attributes of libraries that cells have assigned to: `module:path:attribute` → value.

    Args:
        cells: Their code.
        of_cells: What they have put where the library's own is just now; see `OwnLibrary.as_it_was`.
    """
    found: dict[str, Any] = {}
    targets = cells.union(_assigned)
    CellAttributes.assigned = frozenset(what for _, what in targets if isinstance(what, str))
    for path, what in targets:
        if not isinstance(what, str):
            _capture_items(path, what, found)
        elif path == ERROR_HANDLER:
            with contextlib.suppress(LookupError):  # of a cell that did not come so far
                found[ERROR_HANDLER + what] = codecs.lookup_error(what)
        elif what in UNNAMED:
            UNNAMED[what](path, found)
        elif what.startswith(DELETING):
            _capture_deleted(path, what.removeprefix(DELETING), found)
        elif (place := _place(path)) is not None:
            module, inner, owner = place
            elsewhere = not {module, f"{module}.{what}"}.isdisjoint(KEPT_OTHERWISE)
            value = vars(owner).get(what, DELETED)
            if not inner:
                value = of_cells.get((module, what), value)
            if value is not DELETED and not elsewhere:
                found[f"{PREFIX}{module}:{inner}:{what}"] = value
        elif "." in path:
            _capture_of_object(path, what, found)
    for told, name in TOLD_BY_CODE.items():
        if cells.name(told):
            found |= name()
    return _of_active_patches() | found | _accessors() | _of_builtins()


def _lines_of_code() -> dict[str, Any]:
    """Lines that cells put where tracebacks and `inspect` look for those of a file, for code that has none."""
    cache = sys.modules["linecache"].cache
    kept = {name: entry for name, entry in list(cache.items()) if len(entry) == 4 and entry[1] is None}
    kept = {name: entry for name, entry in kept.items() if not name.startswith(CELL)}
    return {f"{ITEMS}linecache::cache": kept} if 0 < len(kept) <= MAX_ITEMS else {}


TOLD_BY_CODE = {**data_registers.NAMED_BY_CODE, LINES: _lines_of_code}
"""What stands in a cell that changes what cannot be found otherwise, and what finds it then."""


def _capture_deleted(path: str, attribute: str, found: dict[str, Any]) -> None:
    """That a cell has deleted an attribute of a library, which is still not there."""
    place = _place(path)
    if place is None and (held := _in_library(path)) is not None and hasattr(held[3], "__dict__"):
        module, inner, name, value = held
        place = module, f"{inner}.{name}" if inner else name, value
    if place is not None and attribute not in vars(place[2]) and place[0] not in KEPT_OTHERWISE:
        found[f"{PREFIX}{place[0]}:{place[1]}:{attribute}"] = Gone


def _capture_any(path: str, found: dict[str, Any]) -> None:
    """Functions and classes of cells that a class or a module of a library has, under whatever name."""
    place = _place(path)
    if place is None or place[0] in KEPT_OTHERWISE:
        return
    module, inner, owner = place
    for name, value in list(vars(owner).items()):
        if ":" not in name and f"{module}.{name}" not in KEPT_OTHERWISE and _is_made_by_cell(value):
            found[f"{PREFIX}{module}:{inner}:{name}"] = value


def _capture_subclasses(path: str, found: dict[str, Any]) -> None:
    """Classes that are registered with an abstract one of a library: which of them by a cell is not known.

    Those that have no name by which to find them are a library's own.
    """
    place = _place(path)
    if place is None or "_abc_impl" not in vars(place[2]):
        return
    module, inner, owner = place
    known: Any = sys.modules["_abc"]
    with contextlib.suppress(Exception):  # classes may have anything for a name
        kinds: list[Any] = [kind for kind in (one() for one in known._get_dump(owner)[0]) if kind is not None]
        kinds = [kind for kind in kinds if is_users(kind) or is_found(kind)]
        kinds.sort(key=lambda kind: (str(kind.__module__), str(kind.__qualname__)))
        found[f"{SUBCLASSES}{module}:{inner}:register"] = kinds


UNNAMED = {ANY: _capture_any, REGISTER: _capture_subclasses}
"""What is done with paths for which no attribute is known."""


def _is_made_by_cell(value: Any) -> bool:
    """Whether a value is a function or a class that a cell has defined, or a method made of one."""
    inner = getattr(value, "__func__", getattr(value, "fget", value)) if isinstance(value, METHODS) else value
    if isinstance(inner, FunctionType):
        return inner.__globals__ is CurrentSession.main.__dict__
    return isinstance(inner, type) and inner.__module__ == "__main__"


METHODS = (staticmethod, classmethod, property)


def _in_library(path: str) -> tuple[str, str, str, Any] | None:
    """What a library has at a path: module, path in it, name there, value; None: it is nothing of a library."""
    owner_path, _, name = path.rpartition(".")
    place = _place(owner_path)
    if place is None or f"{place[0]}.{name}" in KEPT_OTHERWISE - {MODULES} or place[0] in KEPT_OTHERWISE:
        return None
    module, inner, owner = place
    value = vars(owner).get(name, DELETED)
    return None if value is DELETED or is_users(type(value)) else (module, inner, name, value)


def _capture_of_object(path: str, attribute: str, found: dict[str, Any]) -> None:
    """An attribute that cells have given to an object, or a function, that a library holds."""
    known = _in_library(path)
    if known is None or _is_place(known[3]):
        return
    module, inner, name, value = known
    with contextlib.suppress(Exception):  # a property may raise anything
        found[f"{PREFIX}{module}:{inner}:{name}.{attribute}"] = getattr(value, attribute)


def _capture_items(path: str, keys: tuple[Any, ...], found: dict[str, Any]) -> None:
    """Entries that cells have put into a container of a library: those of which the keys are known, or all."""
    if path.endswith(".__kwdefaults__"):
        _capture_of_object(path.removesuffix(".__kwdefaults__"), "__kwdefaults__", found)
        return
    known = _in_library(path)
    if known is None or not isinstance(known[3], dict | list | set):
        return
    module, inner, name, value = known
    key = f"{ITEMS}{module}:{inner}:{name}"
    if isinstance(value, dict) and keys:
        kept = {one: value[one] for one in keys if one in value}
        if isinstance(before := found.get(key, {}), dict):
            found[key] = before | kept
    elif len(value) <= MAX_ITEMS and f"{module}.{name}" != MODULES:
        found[key] = (type(value).__name__, list(value.items() if isinstance(value, dict) else value))


def _of_active_patches() -> dict[str, Any]:
    """What patches of `unittest.mock` have put into libraries, whoever has started them, as `responses` does."""
    found: dict[str, Any] = {}
    for patch in getattr(getattr(sys.modules.get("unittest.mock"), "_patch", None), "_active_patches", ()):
        place = _place_of(getattr(patch, "target", None))
        if place is not None and not {place[0], f"{place[0]}.{patch.attribute}"} & KEPT_OTHERWISE:
            module, inner, owner = place
            if (value := vars(owner).get(patch.attribute, DELETED)) is not DELETED:
                found[f"{PREFIX}{module}:{inner}:{patch.attribute}"] = value
    return found


def _of_builtins() -> dict[str, Any]:
    """What cells have put into `builtins`, in whatever way."""
    changed = own_library().builtins.changed()
    names = sorted(name for name in changed if type(name) is str and ":" not in name)  # a cell may put in anything
    return {f"{PREFIX}builtins::{name}": changed[name] for name in names if changed[name] is not DELETED}


def _accessors() -> dict[str, Any]:
    """The accessors of pandas, and namespaces of polars, that cells have registered."""
    found: dict[str, Any] = {}
    kinds: list[Any] = [
        getattr(sys.modules.get(library), name, None) for library, names in ACCESSORS.items() for name in names
    ]
    for kind in kinds:
        for name in getattr(kind, "_accessors", ()):
            known = vars(kind).get(name)
            accessor = getattr(known, "_ns", getattr(known, "_accessor", None))
            if isinstance(accessor, type) and is_users(accessor):
                found[f"{PREFIX}{kind.__module__}:{kind.__qualname__}:{name}"] = vars(kind)[name]
    return found


def _place(path: str) -> tuple[str, str, Any] | None:
    """The module of a library, and in it the path of a class, that names of a cell lead to; None: something else."""
    first, *rest = path.split(".")
    owner = CurrentSession.main.__dict__.get(first)
    if owner is None:  # a name in a function, which stands for what it imports
        names = [".".join(path.split(".")[:count]) for count in range(len(rest) + 1, 0, -1)]
        name = next((name for name in names if name in sys.modules), "")
        owner, rest = sys.modules.get(name), path[len(name) + 1 :].split(".") if name != path else []
    for name in rest:
        owner = vars(owner).get(name) if _is_place(owner) else None
    return _place_of(owner)


def _place_of(owner: Any) -> tuple[str, str, Any] | None:
    """Where a library has a module or a class; None: it is something else."""
    if not _is_place(owner):  # and nothing is asked of it: it is the user's, and may answer anything
        return None
    if str(getattr(owner, "__module__" if isinstance(owner, type) else "__name__", "")).split(".")[0] == KERNEL:
        return None  # what a cell does to the kernel is of its process alone
    if isinstance(owner, ModuleType):
        known = sys.modules.get(owner.__name__) is owner and getattr(owner, "__spec__", None) is not None
        is_kept = known and not _is_of_workspace(owner) and not is_of_own_loader(vars(owner))
        return (owner.__name__, "", owner) if is_kept else None
    if not is_users(owner) and owner.__flags__ & CHANGEABLE and is_found(owner):
        return owner.__module__, owner.__qualname__, owner
    return None


def is_found(kind: type) -> bool:
    """Whether a class is where it says; one that `types.new_class` made for a cell says `types`."""
    found: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is kind


def _is_place(owner: Any) -> TypeGuard[ModuleType | type]:
    """Whether something is a module or a class; asked of its type, since an object can say that it is another one."""
    return issubclass(type(owner), ModuleType | type)


CHANGEABLE = 1 << 9
"""`Py_TPFLAGS_HEAPTYPE`: types of C cannot be changed."""


def _is_of_workspace(module: ModuleType) -> bool:
    return is_of_session(vars(module).get("__file__"))


def restore(name: str, value: Any) -> None:
    """Put one back.

    Raises:
        AttributeError: this version of the library does not have the class.
        ImportError: the library is not there.
    """
    if name.startswith(ERROR_HANDLER):
        codecs.register_error(name.removeprefix(ERROR_HANDLER), value)
        return
    module, path, attribute = name.removeprefix(PREFIX).removeprefix(ITEMS).removeprefix(SUBCLASSES).split(":")
    if module == "builtins":
        own_library().builtins.set(attribute, value)
        return
    owner: Any = importlib.import_module(module)
    *inner, attribute = [*(path.split(".") if path else []), *attribute.split(".")]
    for part in inner:
        owner = getattr(owner, part)
    if name.startswith(ITEMS):
        _fill(getattr(owner, attribute), value)
        return
    if name.startswith(SUBCLASSES):
        with without_questions(owner, *value):
            for kind in value:
                owner.register(kind)
        return
    if value is Gone:
        if attribute in vars(owner):
            delattr(owner, attribute)
        return
    setattr(owner, attribute, value)
    if type(value).__name__ in ("Accessor", "CachedAccessor", "NameSpace"):
        owner._accessors.add(attribute)


def _fill(container: Any, value: Any) -> None:
    """Put entries into a container, or all that it had in the place of what it has."""
    if isinstance(value, dict):
        for key, one in value.items():  # `update` would pass over what its class does with them
            container[key] = one
    elif isinstance(container, list):
        container[:] = value[1]
    else:
        container.clear()
        container.update(value[1])


def reduce_patch(_pickler: Any, patch: Any) -> Any:
    """A `patch.dict` of `sys.modules`, which holds what was there; of other dictionaries pickle keeps it itself."""
    state = dict(vars(patch))
    if state.get("in_dict") is not sys.modules:
        return NotImplemented
    del state["in_dict"]
    if (before := state.get("_original")) is not None:
        state["_original"] = {name: before[name] for name in state["values"] if name in before}
    return make_patch, (type(patch),), state, None, None, fill_patch


def make_patch(kind: Any) -> Any:
    """One that is still empty."""
    return kind.__new__(kind)


def fill_patch(patch: Any, state: dict[str, Any]) -> None:
    """Fill it; what it does not replace is in this process what is there now."""
    vars(patch).update(state, in_dict=sys.modules)
    if (before := state.get("_original")) is not None:
        others = {name: one for name, one in sys.modules.items() if name not in state["values"]}
        patch._original = {**others, **before}


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
    is_mock = any(kind.__module__ == "unittest.mock" for kind in type(now).__mro__)
    if not is_own or not (_is_of_cell(now) or is_mock):
        return None
    return find_sentinel, (value.__module__, name)


def reduce_replaced_class(kind: type) -> Any:
    """A class of a library by its name, although a class of a cell has its place now; None for all others."""
    module = sys.modules.get(kind.__module__)
    if type(module) is not ModuleType or module is CurrentSession.main or kind.__qualname__ != kind.__name__:
        return None
    now = vars(module).get(kind.__name__, kind)
    if now is kind or not issubclass(type(now), type) or is_users(kind) or not is_users(now):
        return None
    return find_sentinel, (kind.__module__, kind.__name__)


def reduce_builtin(pickler: Any, function: Any) -> Any:
    """A function of C; see `reduce_replaced` and `reduce_method`."""
    if issubclass(type(function.__self__), ModuleType | None):
        return reduce_replaced(function) or NotImplemented
    return reduce_method(pickler, function)


def reduce_method(_pickler: Any, method: Any) -> Any:
    """A method that a library hands out as a function of its module, as `random.shuffle`: by its name there."""
    owner = method.__self__
    for module, variable in OF_LIBRARIES.values():
        space: dict[str, Any] = vars(sys.modules[module]) if module in sys.modules else {}
        if owner is not None and space.get(variable) is owner:
            name: str = method.__name__
            return (find_sentinel, (module, name)) if space.get(name) is method else NotImplemented
    return NotImplemented


def reduce_object(_pickler: Any, value: Any) -> Any:
    """An `object()`: by its name if a library has it as a variable, and compares with it."""
    place = _bare_of_libraries(len(sys.modules)).get(id(value))
    if place is None or place[1] in CellAttributes.assigned or vars(sys.modules[place[0]]).get(place[1]) is not value:
        return NotImplemented
    return find_sentinel, place


@functools.lru_cache(maxsize=1)
def _bare_of_libraries(_count: int) -> dict[int, tuple[str, str]]:
    """Where libraries have such objects, by identity; looked for again when other modules are there."""
    known = [(name, one) for name, one in list(sys.modules.items()) if type(one) is ModuleType]
    return {
        id(value): (name, variable)
        for name, one in known
        if vars(one).get("__spec__") is not None and not _is_of_workspace(one)
        for variable, value in list(vars(one).items())
        if type(value) is object
    }


def _is_of_cell(value: Any) -> bool:
    return value is None or getattr(value, "__globals__", None) is CurrentSession.main.__dict__
