"""Fingerprints of variables, by which two sessions can be compared without moving the values between them.

Equal values have equal fingerprints in two sessions of the same Python and the same packages; what is equal is decided
by content: types, numbers, texts, the order of lists but not that of sets and of the keys of dicts.
"""

import hashlib
import json
import sys
from collections.abc import Callable, Iterable
from types import CodeType, FunctionType, ModuleType
from typing import Any

WALKED = 200_000
"""Objects in a column up to which each is looked at; beyond, pandas' own hash of them must do."""
SHAPE = 60
COLUMNS = 10_000


def write(path: str, names: Iterable[str] | None) -> None:
    """Write the fingerprints of variables of `__main__` as JSON.

    Args:
        path: The file: name → `{"digest", "shape", "columns"}`, the digest empty for what cannot be compared.
        names: Which; None: all.
    """
    namespace = dict(sys.modules["__main__"].__dict__)
    wanted = set(namespace) if names is None else set(names) & set(namespace)
    wanted = {name for name in wanted if type(name) is str and name != "_" and not name.startswith("__")}
    found = {name: of(namespace[name]) for name in sorted(wanted)}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(found, file)


def of(value: Any) -> dict[str, Any]:
    """The fingerprint of one value."""
    walk = Walk()
    try:
        columns, shape = walk.table(value)
        return {"digest": walk.digest(value).hex(), "shape": shape[:SHAPE], "columns": columns}
    except Exception:  # values may raise anything, and the others are to be compared
        return {"digest": "", "shape": "", "columns": {}}


class Walk:
    """Goes through one value."""

    def __init__(self) -> None:
        self._done: dict[int, bytes] = {}
        self._alive: list[Any] = []
        self._open: list[int] = []

    def table(self, value: Any) -> tuple[dict[str, str], str]:
        """The columns of a frame, each with its fingerprint, and its shape; nothing for anything else."""
        if _is(value, "pandas", "DataFrame"):
            labels = _labels(value.columns)
            columns = [self._series(value.iloc[:, place]) for place in range(len(labels))]
        elif _is(value, "polars", "DataFrame"):
            labels, columns = _labels(value.columns), [self._polars(value[name]) for name in value.columns]
        elif _is(value, "pyarrow", "Table"):
            labels = _labels(value.column_names)
            columns = [self.digest(column.to_pylist()) for column in value.columns]
            return _named(labels, columns), f"{value.num_rows:,} x {value.num_columns:,}"
        else:
            return {}, ""
        return _named(labels, columns), f"{value.shape[0]:,} x {value.shape[1]:,}"

    def digest(self, value: Any) -> bytes:
        """The fingerprint of a value."""
        kind = type(value)
        if kind in (int, float, bool, complex, str, bytes, type(None), type(...), range, slice):
            return _hash(kind.__name__, repr(value).encode("utf-8", "surrogatepass"))
        identity = id(value)
        if identity in self._done:
            return self._done[identity]
        if identity in self._open:
            return _hash("cycle", str(len(self._open) - self._open.index(identity)).encode())
        self._open.append(identity)
        try:
            found = self._of(value, kind)
        finally:
            self._open.pop()
        self._done[identity] = found
        self._alive.append(value)
        return found

    def _of(self, value: Any, kind: type) -> bytes:
        if kind in (list, tuple):
            return _hash(kind.__name__, *map(self.digest, value))
        if kind in (set, frozenset):
            return _hash(kind.__name__, *sorted(map(self.digest, value)))
        if kind is dict:
            return _hash("dict", *sorted(self.digest(key) + self.digest(item) for key, item in value.items()))
        if kind is bytearray:
            return _hash("bytearray", bytes(value))
        for known in (self._library, self._code):
            found: bytes | None = known(value, kind)
            if found is not None:
                return found
        return self._reduced(value, kind)

    def _library(self, value: Any, kind: type) -> bytes | None:
        name = _name(kind)
        if _is(value, "pandas", "DataFrame"):
            columns = [self._series(value.iloc[:, place]) for place in range(value.shape[1])]
            return _hash(name, self._index(value.columns), self._index(value.index), *columns, self.digest(value.attrs))
        if _is(value, "pandas", "Series"):
            return _hash(name, self._series(value), self._index(value.index), self.digest(value.name))
        if _is(value, "pandas", "Index"):
            return _hash(name, self._index(value))
        if _is(value, "numpy", "ndarray"):
            return _hash(name, self._array(value))
        if _is(value, "numpy", "generic"):
            record = value.dtype.names is not None  # its objects, not where they are
            return _hash(name, self._array(sys.modules["numpy"].asarray(value)) if record else value.tobytes())
        if _is(value, "polars", "DataFrame"):
            return _hash(name, self.digest(value.columns), *(self._polars(value[one]) for one in value.columns))
        if _is(value, "polars", "Series"):
            return _hash(name, self.digest(value.name), self._polars(value))
        if _is(value, "pyarrow", "Table"):
            columns = [self.digest(column.to_pylist()) for column in value.columns]
            return _hash(name, str(value.schema).encode(), *columns)
        return None

    def _series(self, series: Any) -> bytes:
        pandas = sys.modules["pandas"]
        dtype = series.dtype
        parts = [str(dtype).encode()]
        if hasattr(dtype, "categories"):
            parts.append(self.digest([str(dtype.ordered), *dtype.categories.tolist()]))
        if str(dtype) == "object" and len(series) <= WALKED:
            return _hash("column", *parts, self.digest(series.tolist()))
        return _hash("column", *parts, pandas.util.hash_pandas_object(series, index=False).to_numpy().tobytes())

    def _index(self, index: Any) -> bytes:
        pandas = sys.modules["pandas"]
        hashed = pandas.util.hash_pandas_object(index, index=False).to_numpy().tobytes()
        dtypes = index.dtypes.astype(str).tolist() if hasattr(index, "dtypes") else [str(index.dtype)]
        return _hash("index", hashed, self.digest(list(index.names)), self.digest(dtypes))

    def _array(self, array: Any) -> bytes:
        shape = f"{array.dtype} {array.shape}".encode()  # `repr` has two names for one type
        mask = getattr(array, "mask", None) if _is(array, "numpy.ma", "MaskedArray") else None
        extra = [] if mask is None else [self.digest(mask)]
        if array.dtype.hasobject:
            return _hash("array", shape, self.digest(array.tolist()), *extra)
        return _hash("array", shape, array.tobytes(), *extra)

    def _polars(self, series: Any) -> bytes:
        return _hash("column", str(series.dtype).encode(), self.digest(series.to_list()))

    def _code(self, value: Any, kind: type) -> bytes | None:
        if kind is ModuleType:
            return _hash("module", value.__name__.encode())
        if kind is CodeType:
            parts = (value.co_consts, value.co_names, value.co_varnames, value.co_freevars, value.co_cellvars)
            return _hash("code", value.co_code, *map(self.digest, parts))
        if kind is FunctionType and value.__module__ == "__main__":
            cells = [_content(cell) for cell in value.__closure__ or ()]
            parts = (value.__code__, value.__defaults__, value.__kwdefaults__, cells, value.__dict__)
            return _hash("function", value.__qualname__.encode(), *map(self.digest, parts))
        if isinstance(value, type):
            if value.__module__ != "__main__":
                return _hash("class", _name(value).encode())
            own = {name: item for name, item in vars(value).items() if not _made_by_python(name)}
            return _hash("class", _name(value).encode(), self.digest(list(value.__bases__)), self.digest(own))
        return None

    def _reduced(self, value: Any, kind: type) -> bytes:
        """Any other object, as pickle takes it apart."""
        import copyreg

        reduce: Callable[[Any], Any] | None = copyreg.dispatch_table.get(kind)
        if reduce is None and kind.__module__ == "itertools":
            reduced = _iterator(value, kind)
        else:
            reduced = reduce(value) if reduce is not None else value.__reduce_ex__(4)
        if isinstance(reduced, str):
            return _hash(_name(kind), reduced.encode())
        make, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        if type(state) is dict and all(type(name) is str for name in state):
            state = dict(sorted(state.items()))  # attributes, which have no order that matters
        parts = [self.digest(arguments), self.digest(state)]
        parts.append(self.digest(list(items) if items is not None else None))
        parts.append(self.digest(dict(pairs) if pairs is not None else None))
        return _hash(_name(kind), getattr(make, "__qualname__", "").encode(), *parts)


def _hash(kind: str, *parts: bytes) -> bytes:
    digest = hashlib.sha256(kind.encode())
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()


def _iterator(value: Any, kind: type) -> Any:
    """An iterator of `itertools`, taken apart: by pickle until Python 3.14, and then as for snapshots."""
    from .snapshots.objects import iterators

    if not iterators.needed() or kind not in iterators.LAYOUTS:
        return value.__reduce_ex__(4)
    reduced = iterators.reduce_iterator(None, value)
    if reduced[0] is not kind:
        raise TypeError("what gives the same may hold it in another way")
    return reduced


def _is(value: Any, module: str, name: str) -> bool:
    known = getattr(sys.modules.get(module), name, None)
    return isinstance(known, type) and isinstance(value, known)


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _made_by_python(name: str) -> bool:
    return name in (
        "__dict__", "__weakref__", "__module__", "__firstlineno__", "__static_attributes__", "__annotate_func__",
        "__annotations_cache__",
    )  # fmt: skip


def _labels(columns: Iterable[Any]) -> list[str]:
    return [str(name)[:100] for name in columns]


def _named(labels: list[str], columns: list[bytes]) -> dict[str, str]:
    found: dict[str, str] = {}
    for label, column in list(zip(labels, columns, strict=True))[:COLUMNS]:
        name, again = label, 1
        while name in found:
            again += 1
            name = f"{label} ({again})"
        found[name] = column.hex()
    return found
