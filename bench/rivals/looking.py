"""Describes a namespace in words that are equal exactly when two sessions hold and share the same.

Runs inside every session that is measured, Stepwell's and the rivals', on the standard library alone; other packages
are used when the session has imported them.
"""

import collections
import contextlib
import functools
import hashlib
import io
import random
import re
import sqlite3
import sys
import types
from typing import Any

LEFT_OUT = frozenset({"In", "Out", "get_ipython", "exit", "quit", "open", "display", "kishu", "init_kishu"})
"""What a shell puts into a namespace for itself; names that begin with `_` are left out too."""
PLAIN = (int, float, complex, bool, type(None), type(...), range, slice)
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def describe(namespace: dict[str, Any]) -> dict[str, str]:
    """One hash per variable: of its value, of what in it is the same object as elsewhere, of which arrays share memory.

    Args:
        namespace: The variables of the session.
    """
    looking = Looking(namespace)
    names = sorted(
        name
        for name, value in dict.items(namespace)
        if not name.startswith("_") and name not in LEFT_OUT and not isinstance(value, types.ModuleType)
    )
    said = {}
    for name in names:
        words = looking.look(dict.__getitem__(namespace, name), name)
        said[name] = hashlib.sha256(repr(words).encode("utf-8", "backslashreplace")).hexdigest()[:16]
    return said


def answer(namespace: dict[str, Any], probes: list[str]) -> list[str]:
    """What each probe gives; an exception is an answer too."""
    answers = []
    for probe in probes:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                try:
                    code = compile(probe, "<probe>", "eval")
                except SyntaxError:
                    exec(compile(probe, "<probe>", "exec"), namespace)
                    answers.append("")
                else:
                    answers.append(ADDRESS.sub("", repr(eval(code, namespace)))[:200])
        except BaseException as error:
            answers.append(f"{type(error).__name__}: {error}"[:200])
    return answers


class Looking:
    """Walks through objects, each once; one that was met before is the path at which it was."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self._namespace = namespace
        self._met: dict[int, str] = {}
        self._kept: list[Any] = []
        self._arrays: list[tuple[int, int, str]] = []

    def look(self, value: Any, path: str) -> Any:
        """Say what a value is."""
        kind = type(value)
        if kind in PLAIN:
            return repr(value)
        if kind in (str, bytes):
            return _short(value)
        if id(value) in self._met:
            return "=" + self._met[id(value)]
        self._met[id(value)] = path
        self._kept.append(value)
        for found, say in KINDS:
            if isinstance(value, found):
                return [_name(kind), say(self, value, path)]
        return [_name(kind), self._library(value, path)]

    def _items(self, values: Any, path: str) -> list[Any]:
        return [self.look(value, f"{path}[{place}]") for place, value in enumerate(values)]

    def _dict(self, value: dict[Any, Any], path: str) -> Any:
        return [(repr(key)[:80], self.look(item, f"{path}[{key!r:.80}]")) for key, item in dict.items(value)]

    def _set(self, value: Any, path: str) -> Any:
        return sorted(ADDRESS.sub("", repr(item)) for item in value)

    def _bytes(self, value: Any, path: str) -> Any:
        return _short(bytes(value))

    def _function(self, value: types.FunctionType, path: str) -> Any:
        code = value.__code__
        cells = []
        for name, cell in zip(code.co_freevars, value.__closure__ or (), strict=True):
            with contextlib.suppress(ValueError):
                known = self._met.setdefault(id(cell), f"{path}.{name}")
                self._kept.append(cell)
                cells.append((known, self.look(cell.cell_contents, f"{path}.{name}")))
        words = [value.__qualname__, _short(code.co_code), cells, self.look(value.__defaults__, f"{path}.defaults")]
        if value.__module__ == "__main__":
            words.append("here" if self._sees(value) else "elsewhere")
        return words

    def _sees(self, function: types.FunctionType) -> bool:
        """Whether a global that a function reads is the session's."""
        names = [name for name in function.__code__.co_names if name in self._namespace]
        missing = object()
        return all(dict.get(function.__globals__, name, missing) is self._namespace[name] for name in names)

    def _class(self, value: type, path: str) -> Any:
        if value.__module__ != "__main__":
            return f"{value.__module__}.{value.__qualname__}"
        parts = {name: value.__dict__[name] for name in sorted(value.__dict__) if not name.startswith("__")}
        return [[base.__qualname__ for base in value.__bases__], self._dict(parts, path)]

    def _method(self, value: types.MethodType, path: str) -> Any:
        return [value.__name__, self.look(value.__self__, f"{path}.__self__")]

    def _partial(self, value: functools.partial[Any], path: str) -> Any:
        return [self.look(value.func, f"{path}.func"), self.look(value.args, f"{path}.args"), sorted(value.keywords)]

    def _match(self, value: re.Match[str], path: str) -> Any:
        return [value.string, value.span(), value.re.pattern]

    def _random(self, value: random.Random, path: str) -> Any:
        return _short(repr(value.getstate()))

    def _file(self, value: io.IOBase, path: str) -> Any:
        if value.closed:
            return "closed"
        position = value.tell() if value.seekable() else None
        name = getattr(value, "name", "")
        return [name.rpartition("/")[2] if isinstance(name, str) else "", getattr(value, "mode", ""), position]

    def _database(self, value: sqlite3.Connection, path: str) -> Any:
        return _short("\n".join(value.iterdump()))

    def _array(self, value: Any, path: str) -> Any:
        import numpy as np

        if value.dtype.hasobject:
            return [str(value.dtype), value.shape, self._items(value.ravel().tolist()[:1000], path)]
        steps = [step for step, size in zip(value.strides, value.shape, strict=True) if size > 1]
        words = [str(value.dtype), value.shape, steps, bool(value.flags.writeable), _hash(value)]
        if value.size and type(value) is np.ndarray:
            low, high = np.lib.array_utils.byte_bounds(value)
            words.append(next((other for start, end, other in self._arrays if start < high and low < end), ""))
            self._arrays.append((low, high, path))
        return words

    def _frame(self, value: Any, path: str) -> Any:
        columns = [value.iloc[:, place] for place in range(value.shape[1])]
        return [
            [repr(name) for name in value.columns],
            [self._column(column) for column in columns],
            self._column(value.index),
            repr(value.attrs),
        ]

    def _series(self, value: Any, path: str) -> Any:
        return [repr(value.name), self._column(value), self._column(value.index)]

    def _index(self, value: Any, path: str) -> Any:
        return [repr(value.names), self._column(value)]

    def _column(self, value: Any) -> Any:
        import pandas

        dtype = repr(value.dtype)
        if isinstance(value, pandas.MultiIndex) or dtype == "dtype('O')":
            return [dtype, ADDRESS.sub("", repr(value.tolist()))[:10_000]]
        hashed = pandas.util.hash_pandas_object(value, index=False, categorize=False)
        return [dtype, len(value), _hash(hashed.to_numpy())]

    def _figure(self, value: Any, path: str) -> Any:
        out = io.BytesIO()
        value.savefig(out, format="raw", dpi=20)
        return [_short(out.getvalue()), self._items(value.axes, f"{path}.axes")]

    def _library(self, value: Any, path: str) -> Any:
        module = type(value).__module__.partition(".")[0]
        if module in ("numpy", "pandas", "matplotlib"):
            for name, say in LIBRARIES:
                package, _, kind = name.rpartition(".")
                if package in sys.modules and isinstance(value, getattr(sys.modules[package], kind)):
                    return say(self, value, path)
        if module in ("__main__", "sklearn"):
            said = [self._dict(getattr(value, "__dict__", {}), path)]
            return [*said, "" if module == "sklearn" else self._dict_of(type(value))]
        return ""

    def _dict_of(self, kind: type) -> str:
        """Whether an object's class is the one that the session knows by its name."""
        known = self._namespace.get(kind.__name__)
        return "its class" if known is kind else "another class" if isinstance(known, type) else ""


KINDS: list[tuple[Any, Any]] = [
    (dict, Looking._dict),
    ((list, tuple, collections.deque), Looking._items),
    ((set, frozenset), Looking._set),
    ((bytearray, memoryview), Looking._bytes),
    (types.FunctionType, Looking._function),
    (type, Looking._class),
    (types.MethodType, Looking._method),
    (functools.partial, Looking._partial),
    (re.Match, Looking._match),
    (random.Random, Looking._random),
    (io.IOBase, Looking._file),
    (sqlite3.Connection, Looking._database),
]
LIBRARIES: list[tuple[str, Any]] = [
    ("numpy.ndarray", Looking._array),
    ("numpy.generic", lambda looking, value, path: repr(value)),
    ("numpy.random.Generator", lambda looking, value, path: _short(repr(value.bit_generator.state))),
    ("pandas.DataFrame", Looking._frame),
    ("pandas.Series", Looking._series),
    ("pandas.Index", Looking._index),
    ("matplotlib.figure.Figure", Looking._figure),
]


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _short(value: str | bytes) -> str:
    data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
    return f"{len(data)}:{hashlib.sha256(data).hexdigest()[:16]}"


def _hash(array: Any) -> str:
    import numpy as np

    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]
