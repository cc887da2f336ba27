"""What cells have changed in modules of the workspace: variables, attributes of classes, defaults, replaced functions.

A module comes back by its file, which makes its functions and classes anew. Everything else of it is kept: a key is
the path of what has an attribute (empty for the module), and the attribute.
"""

import contextlib
import enum
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any

from ..current_session import CurrentSession, is_of_session
from ..objects.caches import Results, fill_again
from ..objects.classes import OF_ENUM
from . import module_sources
from .module_names import CACHED, may_bind

PRESENT = "<present>"
"""The names that a module, and each of its classes, has: what is not among them was deleted."""
MODULES = "<modules>"
"""The variables of a module that are modules, each with the name of that: a cell may have put them there."""
CELLS = "<cells>"
"""What the variables of a closure hold."""
MEMBERS = "<members>"
"""What the members of an enumeration have for attributes: name of the member → attributes."""
RESULTS = "<results>"
"""What a function under `lru_cache` has cached."""
PLAIN = frozenset({str, int, float, bool, complex, bytes, type(None)})
DATA = PLAIN | {list, dict, set, frozenset, tuple, bytearray}
"""Types of values that no file's import can be recognised by: they are kept without a second look."""
LEFT_OUT = frozenset({"_abc_impl"})

Key = tuple[str, str]


def capture(module: ModuleType) -> dict[Key, Any]:
    """What is to be kept of a module."""
    found: dict[Key, Any] = {}
    present: dict[str, list[str]] = {}
    _capture(module, "", vars(module), module, found, present)
    if module.__dict__.get("__file__"):
        found["", PRESENT] = present
        values = [(name, value) for name, value in vars(module).items() if isinstance(value, ModuleType)]
        found["", MODULES] = {name: one.__name__ for name, one in values if sys.modules.get(one.__name__) is one}
    return found


def _capture(
    module: ModuleType,
    path: str,
    space: Any,
    owner: Any,
    found: dict[Key, Any],
    present: dict[str, list[str]],
) -> None:
    present[path] = [name for name in space if name[:2] != "__"]
    prefix = f"{path}." if path else ""
    for name, value in list(space.items()):
        if name in LEFT_OUT or (name[:2] == "__" and (not path or (name[-2:] == "__" and not _is_code(value)))):
            continue
        kind, below = type(value), prefix + name
        if kind in DATA:
            found[path, name] = value
        elif _is_own(value, module, below):
            if kind is FunctionType:
                _capture_function(below, value, found)
            elif not issubclass(value, enum.Enum):
                _capture(module, below, vars(value), value, found, present)
            elif attributes := _attributes_of_members(value):
                found[below, MEMBERS] = attributes
        else:
            made = _is_importable(value) or (_is_made_by_file(value, module, owner) and may_bind(module, name))
            if not made:
                found[path, name] = value
            inner: Any = value.__func__ if isinstance(value, staticmethod | classmethod) else value
            is_cached: bool = type(inner) is CACHED
            if is_cached and getattr(inner.__wrapped__, "__globals__", None) is vars(module):
                _capture_cached(below, inner, found, is_bare=inner is value)
            for function in _functions_in(value) if path else ():
                _capture_function(below, function, found)
            if kind is FunctionType and value.__closure__ and value.__globals__ is vars(module):
                _capture_function(below, value, found)


def _attributes_of_members(kind: Any) -> dict[str, dict[str, Any]]:
    known = {
        name: {key: one for key, one in getattr(member, "__dict__", {}).items() if key not in OF_ENUM}
        for name, member in kind.__members__.items()
    }
    return {name: attributes for name, attributes in known.items() if attributes}


def _capture_function(path: str, function: FunctionType, found: dict[Key, Any]) -> None:
    """The defaults of a function that may have changed, and its attributes."""
    if (defaults := function.__defaults__) and not PLAIN.issuperset(map(type, defaults)):
        found[path, "__defaults__"] = defaults
    if (named := function.__kwdefaults__) and not PLAIN.issuperset(map(type, named.values())):
        found[path, "__kwdefaults__"] = named
    if own := _attributes(function):
        found[path, "__dict__"] = own
    if function.__closure__ and (held := _held(function)):
        found[path, CELLS] = held


def _capture_cached(path: str, cached: Any, found: dict[Key, Any], *, is_bare: bool) -> None:
    """The attributes of a function under `lru_cache`, and its results."""
    if is_bare and (own := _attributes(cached)):
        found[path, "__dict__"] = own
    if (results := Results.of(cached)) is not None:
        found[path, RESULTS] = results


def _attributes(function: Any) -> dict[str, Any]:
    """What a function was given, but for what decorators note."""
    return {name: value for name, value in vars(function).items() if name[:2] != "__"}


def _held(function: FunctionType) -> dict[str, Any]:
    """What the variables of a closure hold, but for what the file makes."""
    held: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # it is empty
            if not isinstance(cell.cell_contents, FunctionType | type | ModuleType):
                held[name] = cell.cell_contents
    return held


def _fill(function: FunctionType, held: dict[str, Any]) -> None:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        if name in held:
            cell.cell_contents = held[name]


def _is_code(value: Any) -> bool:
    return isinstance(value, FunctionType) or any(True for _ in _functions_in(value))


def _is_own(value: Any, module: ModuleType, path: str) -> bool:
    """Whether importing the module makes a function or a class under that very name."""
    if type(value) is FunctionType:
        return value.__globals__ is vars(module) and value.__module__ == module.__name__ and value.__qualname__ == path
    return isinstance(value, type) and value.__module__ == module.__name__ and value.__qualname__ == path


def _is_importable(value: Any) -> bool:
    return isinstance(value, ModuleType) and sys.modules.get(value.__name__) is value


def _is_made_by_file(value: Any, module: ModuleType, owner: Any) -> bool:
    """Whether something that is found under another name than its own is nevertheless made by importing the module."""
    if isinstance(value, MemberDescriptorType):
        return True
    if isinstance(value, FunctionType | type) and _is_replaced(value, module):
        return False
    home = getattr(value, "__globals__", None) if isinstance(value, FunctionType) else None
    if home is not None:
        return home is not CurrentSession.main.__dict__ and not _is_named(value)
    functions = list(_functions_in(value))
    if functions:
        return all(one.__globals__ is not CurrentSession.main.__dict__ for one in functions)
    if isinstance(value, type):
        return value.__module__ != "__main__" and not _is_named(value)
    if owner is not module and hasattr(type(value), "__get__"):
        return True
    return hasattr(value, "__qualname__") and getattr(value, "__module__", None) is not None and not _is_named(value)


def _is_named(value: Any) -> bool:
    """Whether a function or a class is the variable of a module of that name, so that it costs nothing to keep."""
    return _named_as(value) is value


def _named_as(value: Any) -> Any:
    """What has the name of a function or a class now."""
    found: Any = sys.modules.get(value.__module__)
    for name in value.__qualname__.split("."):
        found = getattr(found, name, None)
    return found


def _is_replaced(value: Any, module: ModuleType) -> bool:
    """Whether something is of another module of the workspace, which has another one by now: it was reloaded."""
    home = sys.modules.get(value.__module__)
    if home is module or not is_of_session(getattr(home, "__file__", None)):
        return False
    return _named_as(value) not in (None, value)


def _functions_in(value: Any) -> Iterator[FunctionType]:
    """The functions that a descriptor of a class is made of."""
    found: list[Any]
    if isinstance(value, staticmethod | classmethod):
        found = [value.__func__]
    elif isinstance(value, property):
        found = [value.fget, value.fset, value.fdel]
    else:
        return
    yield from (one for one in found if isinstance(one, FunctionType))


def restore(module: ModuleType, kept: dict[Key, Any]) -> None:
    """Put it back into a module that was imported anew."""
    for (path, name), value in kept.items():
        if name == RESULTS:  # calls need all that the module has: see `restore_results`
            continue
        if name == PRESENT:
            _delete_others(module, value)
            continue
        if name == MODULES:
            _bind_modules(module, value)
            continue
        owner, function = _find(module, path)
        if name == MEMBERS:
            _give_to_members(owner, value)
        elif name == "__dict__" and path and isinstance(function, FunctionType | CACHED):
            for extra in [one for one in vars(function) if not one.startswith("__") and one not in value]:
                del function.__dict__[extra]
            function.__dict__.update(value)
        elif name == CELLS and isinstance(function, FunctionType):
            _fill(function, value)
        elif name in ("__defaults__", "__kwdefaults__") and isinstance(function, FunctionType):
            setattr(function, name, value)
        elif isinstance(owner, type):
            type.__setattr__(owner, name, value)
        elif owner is not None:
            setattr(owner, name, value)


def restore_results(module: ModuleType, kept: dict[Key, Any]) -> None:
    """Give functions under `lru_cache` what they have cached, once all modules are as they were."""
    for (path, name), value in kept.items():
        if name == RESULTS:
            _, function = _find(module, path)
            cached = getattr(function, "__func__", function)
            if isinstance(cached, CACHED):
                fill_again(cached, value)


def _give_to_members(kind: Any, given: dict[str, dict[str, Any]]) -> None:
    for member, attributes in given.items():
        if isinstance(kind, enum.EnumType) and member in kind.__members__:
            kind.__members__[member].__dict__.update(attributes)


def _delete_others(module: ModuleType, present: dict[str, list[str]]) -> None:
    for path, names in present.items():
        owner, _ = _find(module, path)
        if owner is None:
            continue
        for name in [one for one in vars(owner) if not one.startswith("__") and one not in names]:
            if not isinstance(vars(owner)[name], ModuleType):
                (type.__delattr__ if isinstance(owner, type) else delattr)(owner, name)


def _bind_modules(module: ModuleType, names: dict[str, str]) -> None:
    for name, other in names.items():
        if vars(module).get(name) is not sys.modules.get(other, module):
            with contextlib.suppress(Exception):  # one that cannot be imported is named already
                setattr(module, name, importlib.import_module(other))


def _find(module: ModuleType, path: str) -> tuple[Any, Any]:
    """The object at a path, and the function that it is or is made of."""
    found: Any = module
    for name in path.split(".") if path else ():
        found = vars(found).get(name) if isinstance(found, type | ModuleType) else None
    function = next(_functions_in(found), found)
    return found, function


def values_at(module: ModuleType | None, path: str) -> dict[str, Any]:
    """What is there now at a path: the attributes of a module, of a class or of a function."""
    owner, function = _find(module, path) if module is not None else (None, None)
    if isinstance(function, FunctionType):
        names = ("__defaults__", "__kwdefaults__", "__dict__")
        return {name: getattr(function, name) for name in names if getattr(function, name)}
    return {} if owner is None else dict(vars(owner))


_compared: dict[str, tuple[Any, tuple[int, int], bool]] = {}
"""Name of a module → how it was made, its file, and what comparing them has given."""


def is_stale(module: ModuleType) -> bool:
    """Whether the functions of a module are not those of its file any more: the file was changed and not reloaded."""
    path, spec = str(module.__file__), module.__spec__
    if not path.endswith(".py"):
        return False
    try:
        status = os.stat(path)
    except OSError:  # without it the module cannot be imported again, which is said then
        return False
    known = _compared.get(module.__name__)
    if known is None or known[0] is not spec or known[1] != (status.st_mtime_ns, status.st_size):
        known = spec, (status.st_mtime_ns, status.st_size), _differs(module, path)
        _compared[module.__name__] = known
    return known[2]


def _differs(module: ModuleType, path: str) -> bool:
    try:
        with open(path, "rb") as file:
            source = importlib.util.decode_source(file.read())
        written = set(_shapes(compile(source, path, "exec", dont_inherit=True)))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return True
    own = [_shape(one.__code__) for one in _own_functions(module, vars(module), "", path)]
    if written.issuperset(own):
        module_sources.learn(module, source)
        return False
    code = module_sources.bytecode_of(module) if module_sources.source_of(module) is None else None
    if code is not None and set(_shapes(code)).issuperset(own):
        module_sources.learn(module, code)
    return True


def _own_functions(module: ModuleType, space: Any, path: str, file: str) -> Iterator[FunctionType]:
    for name, value in list(space.items()):
        below = f"{path}.{name}" if path else name
        if not _is_own(value, module, below):
            continue
        if isinstance(value, type):
            yield from _own_functions(module, vars(value), below, file)
        elif value.__code__.co_filename == file:
            yield value


def _shapes(code: CodeType) -> Iterator[Any]:
    """What is compared of a code, and of all that are in it."""
    yield _shape(code)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _shapes(constant)


def _shape(code: CodeType) -> Any:
    constants = tuple(_shape(one) if isinstance(one, CodeType) else (type(one), one) for one in code.co_consts)
    return code.co_qualname, code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars
