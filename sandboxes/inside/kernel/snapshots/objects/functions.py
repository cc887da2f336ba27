"""Functions written in cells, and what hangs on them: they come back with the live globals of their module.

A closure keeps its real cells, so what two functions share stays shared.
"""

import functools
import gc
import sys
from types import CellType, FunctionType
from typing import Any, cast

from ..current_session import CurrentSession

ATTRIBUTES = ("__name__", "__qualname__", "__module__", "__doc__", "__defaults__", "__kwdefaults__")
ALONE = 2
"""How often the attributes of a function are referred to if only it has them, and who asks."""


def home_of(function: Any) -> str | None:
    """The module whose globals a function has; None when they are nobody's."""
    namespace = function.__globals__
    if namespace is CurrentSession.main.__dict__:
        return "__main__"
    name = namespace.get("__name__")
    module = sys.modules.get(name) if isinstance(name, str) else None
    found = getattr(module, "__dict__", None) is namespace and getattr(module, "__spec__", None) is not None
    return name if found and not is_of_own_loader(namespace) else None


def is_of_own_loader(space: dict[str, Any]) -> bool:
    """Whether the variables are of a module that a loader has made which is itself a cell's."""
    loader = space.get("__loader__") or getattr(space.get("__spec__"), "loader", None)
    home: object = (loader if isinstance(loader, type) else type(loader)).__module__
    return home == "__main__"


def reduce_function(function: Any, home: str) -> Any:
    """A function by value, with the globals of a module by name."""
    return make_function, (function.__code__, home, function.__name__, function.__closure__), *state_of(function)


def state_of(function: Any) -> tuple[Any, ...]:
    """The rest of what takes a function apart: what may refer to itself, and what puts it back."""
    state = {name: getattr(function, name) for name in ATTRIBUTES}
    if getattr(function, "__annotate__", None) is not None:
        # From Python 3.14 on they are made when they are first read, of what their names mean then: not by a snapshot.
        state["__annotate__"] = function.__annotate__
    else:
        state["__annotations__"] = function.__annotations__
    if hasattr(function, "__type_params__"):
        state["__type_params__"] = function.__type_params__
    shared = CurrentSession.asks_for_attributes and sys.getrefcount(function.__dict__) > ALONE
    return (state, function.__dict__, *((True,) if shared else ())), None, None, set_function


def make_function(code: Any, home: str, name: str, closure: Any) -> Any:
    """A function in the globals of a module of this process."""
    if home == "__main__":
        return FunctionType(code, CurrentSession.main.__dict__, name, None, closure)
    __import__(home)
    return FunctionType(code, sys.modules[home].__dict__, name, None, closure)


def set_function(function: Any, state: Any) -> None:
    """Give a function what may refer to itself."""
    attributes, extra, *shared = state
    for name, value in attributes.items():
        setattr(function, name, value)
    if shared:
        function.__dict__ = extra
    else:
        function.__dict__.update(extra)


def reduce_cell(pickler: Any, cell: CellType) -> Any:
    """A cell of a closure, empty ones too."""
    try:
        content = cell.cell_contents
    except ValueError:
        return make_cell, ()
    return make_cell, (), (content,), None, None, set_cell


def make_cell() -> CellType:
    """An empty cell."""
    return CellType()


def set_cell(cell: CellType, state: Any) -> None:
    """Fill a cell."""
    cell.cell_contents = state[0]


def make_cached(parameters: Any) -> Any:
    """A cache around a function that is not there yet."""
    slot = Slot()
    made = functools.lru_cache(maxsize=parameters["maxsize"], typed=parameters["typed"])(slot)
    made.__wrapped__ = slot
    return made


def set_cached(cached: Any, state: Any) -> None:
    """Put the function into its cache, and its results. Snapshots of an earlier version have none."""
    from .caches import fill

    function, extra, *content = state
    slot = cached.__wrapped__
    if content:
        fill(cached, slot, *content[0])
    slot.function = function
    cached.__dict__.update(extra)
    cached.__wrapped__ = function


class Slot:
    """What a restored cache calls: the function, once it is known, which may refer to the cache itself."""

    __name__ = "cached"
    __qualname__ = "cached"
    function: Any = None

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function."""
        return self.function(*arguments, **options)


KEY: type = type(functools.cmp_to_key(lambda one, other: 0))


def reduce_key(_pickler: Any, key: Any) -> Any:
    """What `functools.cmp_to_key` gives, or a key that it made; how it compares only the garbage collector knows."""
    compare, *made = (one for one in gc.get_referents(key) if one is not KEY)
    return make_key, (compare, *made)


def make_key(compare: Any, *made: Any) -> Any:
    """The same once more."""
    key = functools.cmp_to_key(compare)
    return key(*made) if made else key


def reduce_new_type(pickler: Any, kind: Any) -> Any:
    """`typing.NewType`, which would look for itself by name."""
    if kind.__module__ != "__main__":
        return kind.__qualname__
    return make_new_type, (kind.__name__, kind.__qualname__, kind.__supertype__)


def make_new_type(name: str, qualname: str, supertype: Any) -> Any:
    """A new type of a cell."""
    import typing

    make: Any = typing.NewType
    made = make(name, supertype)
    made.__module__, made.__qualname__ = "__main__", qualname
    return made


def reduce_parameters(pickler: Any, kind: Any) -> Any:
    """`typing.ParamSpec` and `typing.TypeVarTuple`, which would look for themselves by name."""
    if kind.__module__ != "__main__":
        return NotImplemented
    return make_parameters, (type(kind), kind.__name__)


def make_parameters(kind: Any, name: str) -> Any:
    """One of a cell."""
    made = kind(name)
    made.__module__ = "__main__"
    return made


def reduce_partial(_pickler: Any, value: Any) -> Any:
    """A `partial`; see `intern_keys`."""
    made = functools.partial.__reduce__(value)
    return *made, None, None, set_partial


def set_partial(value: Any, state: Any) -> None:
    """Fill a `partial`."""
    intern_keys(state[2])
    functools.partial.__setstate__(value, state)  # type: ignore[attr-defined]


OF_ORJSON = ("option", "default")
"""Its arguments, which it knows by which object their name is: that of the compiler."""
MOST_KEYS = 100


def intern_keys(space: Any) -> None:
    """Have the names of arguments of orjson among the keys of a dict as the compiler has them."""
    if type(space) is not dict or len(space) > MOST_KEYS or "orjson" not in sys.modules:
        return
    if "__name__" in space or not any(name in space for name in OF_ORJSON):
        return
    items = [(sys.intern(key) if type(key) is str and key in OF_ORJSON else key, value) for key, value in space.items()]
    space.clear()
    space.update(items)


def reduce_partial_method(_pickler: Any, method: Any) -> Any:
    """A `partialmethod`, which from Python 3.14 on is not made without its function, and has more in it.

    A class derived from it that says itself how it is taken apart is left to that.
    """
    kind, plain = type(method), cast("Any", object)
    if (kind.__reduce__, kind.__reduce_ex__) != (plain.__reduce__, plain.__reduce_ex__):
        return NotImplemented
    state = {name: value for name, value in vars(method).items() if name not in ("_phcount", "_merger")}
    return make_partial_method, (kind,), state, None, None, set_partial_method


def make_partial_method(kind: Any) -> Any:
    """A `partialmethod` that is still to be filled."""
    return object.__new__(kind)


def set_partial_method(method: Any, state: dict[str, Any]) -> None:
    """Fill a `partialmethod`."""
    vars(method).update(state)
    again = functools.partialmethod(method.func, *method.args, **method.keywords)
    vars(method).update(vars(again))
