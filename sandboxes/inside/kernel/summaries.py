"""Values and the namespace in a few characters, without running their code and without walking through large ones."""

import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Sized
from itertools import islice
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, cast

PLAIN = (bool, int, float, complex, type(None), type(Ellipsis), range, slice)
CONTAINERS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    dict: ("{", "}"),
}
MAX_DEPTH = 40
FEW, SMALL = 4, 40
"""Values and characters of a list that is shown as it is within something else."""


class _FullError(Exception):
    """The text is long enough."""


def cut(text: str, limit: int) -> str:
    """The text, with its end left out when it is longer than the limit."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def clean(text: str) -> str:
    """The text without lone surrogates, which no encoder takes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def type_name(value: object) -> str:
    """The name of a value's type, not what the value says of itself."""
    return str(type.__dict__["__name__"].__get__(type(value)))


def long_repr(value: object, limit: int) -> str:
    """`repr(value)`, stopped soon after `limit` characters when the value is a built-in container or a string.

    Raises:
        Exception: whatever the value's `__repr__` raises.
    """
    pieces: list[str] = []
    room = limit
    try:
        for piece in _pieces(value, limit, ()):
            pieces.append(piece)
            room -= len(piece)
            if room < 0:
                raise _FullError
    except _FullError:
        return cut("".join(pieces), limit)
    return "".join(pieces)


def _pieces(value: object, limit: int, outer: tuple[int, ...]) -> Iterator[str]:
    kind = type(value)
    if kind in CONTAINERS and len(outer) < MAX_DEPTH:
        yield from _container(value, limit, outer)
    elif kind in (str, bytes) and isinstance(value, str | bytes) and len(value) > limit:
        yield repr(value[:limit]) + f"… ({len(value):,} in all)"
    elif kind is int and isinstance(value, int) and value.bit_length() > 10_000:
        yield f"<integer of {value.bit_length():,} bits>"
    else:
        yield repr(value)


def _container(value: Any, limit: int, outer: tuple[int, ...]) -> Iterator[str]:
    kind = type(value)
    if id(value) in outer:
        yield "..."
        return
    if not value:
        yield repr(value)
        return
    inner = (*outer, id(value))
    start, end = CONTAINERS[kind]
    yield start
    between = ""
    for item in list(islice(value, limit)):
        yield between
        between = ", "
        yield from _pieces(item, limit, inner)
        if kind is dict:
            yield ": "
            yield from _pieces(value[item], limit, inner)
    yield ",)" if kind is tuple and len(value) == 1 else end


def short(value: object, limit: int = 60) -> str:
    """A value as one item of a summary: itself when it is simple, else its type and size."""
    kind = type(value)
    if kind is int and isinstance(value, int) and value.bit_length() > 200:
        return f"integer of {value.bit_length():,} bits"
    if kind in PLAIN:
        return cut(repr(value), limit)
    if kind in (str, bytes) and isinstance(value, str | bytes):
        return cut(repr(value[:limit]), limit) if len(value) <= limit else repr(value[: limit - 10]) + "…"
    if kind in CONTAINERS:
        return f"{kind.__name__} of {cast(Sized, value).__len__():,}"
    if kind in _scalars():
        return cut(str(value), limit)
    return f"<{cut(type_name(value), 40)}>"


def _small(value: Any) -> str:
    """A list, tuple or set of a few simple values, as it is; empty when it is none: definitions are kept in such."""
    if type(value) not in (list, tuple, set, frozenset) or len(value) > FEW:
        return ""
    text = long_repr(value, SMALL) if all(type(one) in (*PLAIN, str) for one in value) else ""
    return text if len(text) < SMALL else ""


def _scalars() -> frozenset[type]:
    """NumPy's types of one number, truth value or time, where it is imported; they come from columns and sums."""
    numpy = sys.modules.get("numpy")
    kinds = getattr(numpy, "sctypeDict", None)
    return _scalars_of(numpy, len(kinds)) if type(kinds) is dict else frozenset()


@functools.lru_cache(maxsize=1)
def _scalars_of(numpy: Any, _size: int) -> frozenset[type]:
    bases = tuple(getattr(numpy, name, int) for name in ("number", "bool_", "datetime64", "timedelta64"))
    return frozenset(one for one in numpy.sctypeDict.values() if issubclass(one, bases))


def listing(items: Iterable[str], limit: int) -> str:
    """Items with commas between them, as many as there is room for."""
    text = ""
    for item in items:
        longer = f"{text}, {item}" if text else item
        if len(longer) > limit - 3:
            return f"{text}, …" if text else cut(item, limit)
        text = longer
    return text


MAX_ROWS = 200
MAX_SUMMARY = 200
"""Characters."""
MAX_NAME = 100
COLUMNS = 12
"""Columns and items that are looked at for one summary."""
NAMED = 40
"""Columns that are looked at where their names alone are to stand."""
NEWEST, COLUMNS_CHARS = 2, 165
"""Columns at the end of a table that are named in any case, and characters for the names of all."""

Row = dict[str, str]
Describe = Callable[[Any], str]


def rows(namespace: dict[str, Any], own: dict[str, Any]) -> list[Row]:
    """The table, in the order in which the names were first bound.

    Args:
        namespace: The globals of `__main__`.
        own: Names that the kernel put there; left out while they hold what the kernel put.
    """
    names = [
        name
        for name, value in list(namespace.items())
        if type(name) is str and not _hidden(name) and not (name in own and own[name] is value)
    ]
    return [_row(name, namespace.get(name)) for name in names[-MAX_ROWS:]]


def _hidden(name: str) -> bool:
    return name == "_" or name.startswith("__")


def _row(name: str, value: object) -> Row:
    try:
        summary = clean(summarise(value)).replace("\n", " ")
    except Exception:  # values can raise anything, and a table must come out
        summary = ""
    return {
        "name": cut(clean(name), MAX_NAME),
        "type": cut(clean(type_name(value)), MAX_NAME),
        "summary": cut(summary, MAX_SUMMARY),
    }


def summarise(value: object) -> str:
    """What a value holds, in a few words; empty when there is nothing to say."""
    kind = type(value)
    describe = BUILT_IN.get(kind)
    if describe is not None:
        return describe(value)
    for module, name, describe in LIBRARIES:
        known = getattr(sys.modules.get(module), name, None)
        if isinstance(known, type) and issubclass(kind, known):
            return describe(value)
    for base, describe in ((dict, _mapping), (list, _items), (tuple, _items), (set, _items), (str, _text)):
        if issubclass(kind, base):
            return describe(value)
    if issubclass(kind, type):
        return _class(value)
    if issubclass(kind, BaseException):
        return cut(listing((short(item) for item in BaseException.__dict__["args"].__get__(value)), MAX_SUMMARY), 200)
    return _instance(value)


def _text(value: Any) -> str:
    size = str.__len__(value)
    text = str.__getitem__(value, slice(0, 120))
    return repr(text) if size <= 120 else f"{size:,} characters: {text!r}…"


def _bytes(value: Any) -> str:
    return repr(bytes(value)) if len(value) <= 40 else f"{len(value):,} bytes: {bytes(value[:30])!r}…"


def _items(value: Any) -> str:
    base: Any = next(base for base in (list, tuple, set, frozenset) if issubclass(type(value), base))
    size = base.__len__(value)
    items = [short(item) for item in islice(base.__iter__(value), COLUMNS)]
    if len(items) == COLUMNS and len(set(items)) == 1:
        return f"{_count(size, 'item')}, the first {COLUMNS} each {items[0]}"
    first = listing(items, 150)
    return f"{_count(size, 'item')}{': ' + first if first else ''}{', …' if size > COLUMNS else ''}"


def _mapping(value: Any) -> str:
    size = dict.__len__(value)
    pairs = list(islice(dict.items(value), COLUMNS))
    first = listing((f"{short(key)}: {_small(item) or short(item)}" for key, item in pairs), 150)
    return f"{_count(size, 'key')}{': ' + first if first else ''}{', …' if size > COLUMNS else ''}"


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _function(value: Any) -> str:
    code = value.__code__
    names = code.co_varnames
    positional, keyword = code.co_argcount, code.co_kwonlyargcount
    defaults = len(value.__defaults__ or ())
    parts = [name + ("=…" if index >= positional - defaults else "") for index, name in enumerate(names[:positional])]
    rest = list(names[positional + keyword :])
    if code.co_flags & 0x04:
        parts.append("*" + rest.pop(0))
    elif keyword:
        parts.append("*")
    required = value.__kwdefaults__ or {}
    parts += [name + ("=…" if name in required else "") for name in names[positional : positional + keyword]]
    if code.co_flags & 0x08:
        parts.append("**" + rest.pop(0))
    return f"({', '.join(parts)})"


def _class(value: Any) -> str:
    bases = [str(type.__dict__["__name__"].__get__(base)) for base in type.__dict__["__bases__"].__get__(value)]
    methods = [name for name, item in type.__dict__["__dict__"].__get__(value).items() if type(item) is FunctionType]
    shown = listing((name for name in methods if not name.startswith("_")), 100)
    base = listing((name for name in bases if name != "object"), 60)
    return " ".join(part for part in (f"({base})" if base else "", f"methods: {shown}" if shown else "") if part)


def _module(value: Any) -> str:
    names = ModuleType.__getattribute__(value, "__dict__")
    version = names.get("__version__")
    return f"{names.get('__name__', '')} {version if type(version) is str else ''}".strip()


def _instance(value: object) -> str:
    """An object of an unknown type: the names and plain values in it, if its class was written in a cell."""
    kind = type(value)
    if type.__dict__["__module__"].__get__(kind) != "__main__":
        return ""
    attributes = object.__getattribute__(value, "__dict__")
    return listing((f"{name}={short(item)}" for name, item in islice(dict.items(attributes), COLUMNS)), MAX_SUMMARY)


def _label(name: object) -> str:
    return cut(name, 40) if type(name) is str else short(name, 40)


def _frame(value: Any) -> str:
    names, types = value.columns, value.dtypes.to_numpy()
    width = len(types)
    labels = names.tolist() if width <= NAMED else names  # one item after the other takes three times as long
    return _table(len(value.index), width, lambda place: _label(labels[place]), lambda place: _kind(types[place]))


def _kind(dtype: Any) -> str:
    return _name_of_kind(dtype) if type(dtype).__module__ in OF_NUMPY else str(dtype)


@functools.lru_cache(maxsize=256)
def _name_of_kind(dtype: Any) -> str:
    """The name of one of NumPy's: it is put together anew each time."""
    return str(dtype)


OF_NUMPY = ("numpy", "numpy.dtypes")


def _table(height: int, width: int, name: Callable[[int], str], kind: Callable[[int], object]) -> str:
    """Rows, columns, their names and types; without the types where all names have room only so.

    Where not even the names have room the last ones stay, which are the newest.
    """

    def column(place: int) -> str:
        return f"{name(place)} {kind(place)}"

    named = listing((column(place) for place in range(min(width, COLUMNS))), COLUMNS_CHARS)
    whole = width <= COLUMNS and not named.endswith("…")
    if not whole and width <= NAMED:
        named = listing((name(place) for place in range(width)), COLUMNS_CHARS)
        whole = not named.endswith("…")
    if not whole:
        last = ", ".join(column(place) for place in range(max(width - NEWEST, 0), width))
        room = COLUMNS_CHARS - min(len(last), 80) - len(", …")
        first = listing((column(place) for place in range(min(width - NEWEST, COLUMNS))), room)
        named = f"{first.removesuffix(', …')}, …, {last}" if width > NEWEST and len(last) <= 80 else named
        named += "" if "…, " in named or named.endswith("…") else ", …"
    return f"{height:,} x {width:,}{': ' + named if named else ''}"


def _series(value: Any) -> str:
    name = f" {_label(value.name)!s}" if value.name is not None else ""
    return f"{len(value):,} x {value.dtype}{name}"


def _array(value: Any) -> str:
    if value.ndim == 0:
        return f"{value.dtype}"
    return f"{' x '.join(f'{size:,}' for size in value.shape)} {value.dtype}"


def _polars(value: Any) -> str:
    names, types = value.columns, value.dtypes
    return _table(value.height, value.width, lambda place: _label(names[place]), types.__getitem__)


def _arrow(value: Any) -> str:
    schema = value.schema
    return _table(
        value.num_rows,
        value.num_columns,
        lambda place: _label(schema.field(place).name),
        lambda place: schema.field(place).type,
    )


def _printed(value: Any) -> str:
    return str(value)


def _estimator(value: Any) -> str:
    fitted = any(name.endswith("_") and not name.startswith("_") for name in vars(value))
    return f"{'fitted' if fitted else 'not fitted'}: {value!r}"


def _lazy(value: Any) -> str:
    return "lazy, not collected"


BUILT_IN: dict[type, Describe] = {
    str: _text,
    bytes: _bytes,
    bytearray: _bytes,
    list: _items,
    tuple: _items,
    set: _items,
    frozenset: _items,
    dict: _mapping,
    FunctionType: _function,
    ModuleType: _module,
    BuiltinFunctionType: lambda value: "built-in",
    **dict.fromkeys((bool, int, float, complex, type(None), range, slice), lambda value: short(value, 150)),
}

LIBRARIES: tuple[tuple[str, str, Describe], ...] = (
    ("pandas", "DataFrame", _frame),
    ("pandas", "Series", _series),
    ("pandas", "Index", _series),
    ("pandas", "Timestamp", _printed),
    ("pandas", "Timedelta", _printed),
    ("numpy", "ndarray", _array),
    ("numpy", "generic", _printed),
    ("polars", "DataFrame", _polars),
    ("polars", "LazyFrame", _lazy),
    ("polars", "Series", _series),
    ("pyarrow", "Table", _arrow),
    ("duckdb", "DuckDBPyRelation", _lazy),
    ("sklearn.base", "BaseEstimator", _estimator),
    ("datetime", "datetime", _printed),
    ("datetime", "date", _printed),
    ("datetime", "timedelta", _printed),
    ("decimal", "Decimal", _printed),
    ("fractions", "Fraction", _printed),
    ("pathlib", "PurePath", _printed),
)
