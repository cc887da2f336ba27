"""Arguments and results of host functions as bytes: JSON, and Parquet for tables. Used by both sides; never a pickle.

A packed value is a length, a JSON text and the tables one after the other. A table stands as null in the JSON, and its
place is named beside it, so that no dictionary of the user's can be taken for one.
"""

import datetime
import inspect
import io
import json
import math
import os
import struct
import sys
import uuid
from typing import Any

PLAIN = {kind.__name__: kind for kind in (bool, int, float, str, list, dict, tuple, object)} | {"None": None}
"""Annotations that are more than texts."""


class Text(str):
    """An annotation that is only a text, and is shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str.__str__(self)


class Unknown:
    """A default that is none of JSON's values: there is one, and the host knows it."""

    def __repr__(self) -> str:
        return "..."


def signature(described: dict[str, Any]) -> inspect.Signature:
    """The signature of a described function; a default that is not known shows as `...`."""
    parameters = [
        inspect.Parameter(
            parameter["name"],
            inspect._ParameterKind[parameter["kind"]],
            default=_default(parameter),
            annotation=_annotation(parameter["annotation"]),
        )
        for parameter in described["parameters"]
    ]
    return inspect.Signature(parameters, return_annotation=_annotation(described["returns"]))


def _default(parameter: dict[str, Any]) -> Any:
    if not parameter["optional"]:
        return inspect.Parameter.empty
    return parameter.get("default", Unknown())


def _annotation(text: str) -> Any:
    return PLAIN.get(text, Text(text)) if text else inspect.Parameter.empty


LENGTH = struct.Struct("!I")
MAX_DEPTH = 100
MAX_TABLES = 100
MAX_SHOWN = 16_384
"""Bytes of JSON that are read to show arguments."""

KINDS = {
    ("pandas", "DataFrame"): "pandas",
    ("polars", "DataFrame"): "polars",
    ("pyarrow", "Table"): "pyarrow",
}
"""What travels as Parquet."""

HINTS = {
    "set": "the order of a set is not fixed; pass sorted(…)",
    "frozenset": "the order of a set is not fixed; pass sorted(…)",
    "bytes": "write it to a file, or pass text",
    "bytearray": "write it to a file, or pass text",
    "timedelta": "pass its total_seconds()",
    "timedelta64": "pass its total_seconds()",
    "Timedelta": "pass its total_seconds()",
    "Decimal": "pass float(…) or str(…)",
    "complex": "pass its parts",
    "Series": "pass .tolist() or .to_frame()",
    "Index": "pass .tolist()",
    "LazyFrame": "pass .collect()",
}
"""What to do instead, by the name of the type."""


class UnserializableError(TypeError):
    """A value cannot be sent; the message names it and says what to do.

    Args:
        path: Where it is in what was to be sent.
        why: What is wrong with it, and what to do.
    """

    def __init__(self, path: list[str | int], why: str) -> None:
        super().__init__(f"{place(path)} {why}".strip())
        self.path = path
        self.why = why


class UndecodableError(ValueError):
    """Bytes that came are no packed value."""


def pack(values: dict[str, Any]) -> bytes:
    """Named values as bytes.

    Raises:
        UnserializableError: one of them, or something in it, is neither JSON nor a table.
    """
    packing = _Packing()
    plain = {name: packing.plain(value, [name]) for name, value in values.items()}
    return packing.finish(plain)


class _Packing:
    def __init__(self) -> None:
        self.tables: list[dict[str, Any]] = []
        self.parts: list[bytes] = []

    def plain(self, value: Any, path: list[str | int]) -> Any:
        """A value in JSON shapes; tables are put aside."""
        kind = type(value)
        if value is None or kind in (bool, str, int, float):
            return value
        if len(path) > MAX_DEPTH:
            raise UnserializableError(path[:3], f"is nested more than {MAX_DEPTH} deep")
        if isinstance(value, dict):
            return self._object(value, path)
        if isinstance(value, list | tuple):
            return [self.plain(item, [*path, index]) for index, item in enumerate(value)]
        table = next((name for base in kind.__mro__ if (name := KINDS.get((_package(base), base.__name__)))), "")
        if table:
            self._put_aside(value, table, path)
            return None
        found, known = _scalar(value)
        if not known:
            said = HINTS.get(kind.__name__, "pass numbers, texts, lists, dictionaries with texts as keys, or a table")
            raise UnserializableError(path, f"is a {kind.__name__}, which cannot be sent: {said}")
        return self.plain(found, [*path, "…"]) if isinstance(found, list) else found

    def _object(self, value: dict[Any, Any], path: list[str | int]) -> dict[str, Any]:
        for key in value:
            if not isinstance(key, str):
                raise UnserializableError(path, f"has the key {key!r:.50}, and only texts can be keys: pass str(…)")
        return {str(key): self.plain(item, [*path, str(key)]) for key, item in value.items()}

    def _put_aside(self, value: Any, kind: str, path: list[str | int]) -> None:
        if len(self.tables) >= MAX_TABLES:
            raise UnserializableError(path, f"is one table too many: at most {MAX_TABLES} go into one call")
        try:
            data = to_parquet(value, kind)
        except ImportError as error:
            raise UnserializableError(
                path, f"is a table, and sending one needs pyarrow, which is not here ({error})"
            ) from None
        except Exception as error:  # whatever the library says of columns that Parquet has no type for
            raise UnserializableError(path, f"cannot be written as Parquet: {str(error)[:300]}") from None
        self.tables.append({"path": path, "kind": kind, "size": len(data)})
        self.parts.append(data)

    def finish(self, plain: dict[str, Any]) -> bytes:
        """All of it as bytes."""
        try:
            text = json.dumps({"values": plain, "tables": self.tables}).encode()
        except ValueError as error:  # a number with thousands of digits
            raise UnserializableError([], f"a number cannot be sent: {error}") from None
        return b"".join((LENGTH.pack(len(text)), text, *self.parts))


def place(path: list[str | int]) -> str:
    """Where in the values something is: `rows[3]['price']`."""
    if not path:
        return ""
    first, *rest = path
    return f"{first}{''.join(f'[{part!r}]' for part in rest if part != '…')}"


def _package(kind: type) -> str:
    return str(kind.__module__).partition(".")[0]


def _scalar(value: Any) -> tuple[Any, bool]:
    """A single value of another type in a JSON shape, and whether there is one."""
    kind = type(value)
    if kind.__name__ in ("NaTType", "NAType") and _package(kind) == "pandas":
        return None, True
    # subclasses: enumerations, texts and numbers of libraries
    if isinstance(value, str):
        return str.__str__(value), True
    for plain in (int, float):
        if isinstance(value, plain):
            return plain(value), True
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat(), True
    if isinstance(value, uuid.UUID | os.PathLike):
        return str(value), True
    if _package(kind) == "numpy":
        return _of_numpy(value)
    return None, False


def _of_numpy(value: Any) -> tuple[Any, bool]:
    dtype = getattr(value, "dtype", None)
    letter = getattr(dtype, "kind", "")
    if letter == "M":
        texts = value.astype(str).tolist()
        return _without_nat(texts), True
    if letter in "biufU" and letter:
        return value.tolist(), True
    return None, False


def _without_nat(texts: Any) -> Any:
    if isinstance(texts, list):
        return [_without_nat(text) for text in texts]
    return None if texts == "NaT" else texts


def to_parquet(value: Any, kind: str) -> bytes:
    """A table as Parquet.

    Raises:
        ImportError: pyarrow is not installed.
    """
    file = io.BytesIO()
    if kind == "polars":
        value.write_parquet(file)
        return file.getvalue()
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.Table.from_pandas(value) if kind == "pandas" else value
    pyarrow.parquet.write_table(table, file)
    return file.getvalue()


def unpack(data: bytes, load: Any = None) -> dict[str, Any]:
    """The values in such bytes.

    Args:
        data: The bytes.
        load: Makes a table of Parquet bytes and the kind that was sent; default: the same kind, if it is installed.

    Raises:
        UndecodableError: they are not what `pack` gives.
        ImportError: no library here holds tables.
    """
    content, parts = split(data)
    values: dict[str, Any] = content["values"]
    for (path, kind), part in zip(content["tables"], parts, strict=True):
        put_in(values, path, (load or from_parquet)(part, kind))
    return values


def split(data: bytes) -> tuple[dict[str, Any], list[memoryview]]:
    """The JSON of a packed value, and its tables as Parquet. Nothing of the tables is read.

    Returns:
        `values`, and `tables`: for each its path and its kind; and the tables.

    Raises:
        UndecodableError: it is no packed value.
    """
    try:
        said = json.loads(text_of(data))
    except (ValueError, RecursionError):
        raise UndecodableError("it is not JSON") from None
    return parts_of(said, data)


def text_of(data: bytes) -> bytes:
    """The JSON text of a packed value; nothing of it is read.

    Raises:
        UndecodableError: it is cut off.
    """
    if len(data) < LENGTH.size:
        raise UndecodableError("it is cut off")
    return data[LENGTH.size : LENGTH.size + LENGTH.unpack_from(data)[0]]


def parts_of(said: Any, data: bytes) -> tuple[dict[str, Any], list[memoryview]]:
    """The same as `split`, for a packed value whose JSON text has been read."""
    end = LENGTH.size + LENGTH.unpack_from(data)[0]
    if not isinstance(said, dict) or not isinstance(said.get("values"), dict):
        raise UndecodableError("it has no values")
    tables, parts = [], []
    named = said.get("tables")
    for table in named[: MAX_TABLES + 1] if isinstance(named, list) else []:
        path, kind, size = (
            (table.get(name) for name in ("path", "kind", "size")) if isinstance(table, dict) else [0] * 3
        )
        if not isinstance(path, list) or kind not in KINDS.values() or type(size) is not int or size < 0:
            raise UndecodableError("a table is not described")
        tables.append((path, kind))
        parts.append(memoryview(data)[end : end + size])
        end += size
    if len(tables) > MAX_TABLES or end != len(data):
        raise UndecodableError("its length is another than it says")
    return {"values": said["values"], "tables": tables}, parts


def put_in(values: Any, path: list[Any], table: Any) -> None:
    """Put a table where it belongs.

    Raises:
        UndecodableError: there is no place for it.
    """
    try:
        for part in path[:-1]:
            values = values[part]
        if values[path[-1]] is not None:
            raise UndecodableError("a table has the place of something else")
        values[path[-1]] = table
    except (LookupError, TypeError):
        raise UndecodableError("a table has no place") from None


def from_parquet(data: bytes | memoryview, kind: str) -> Any:
    """A table of the kind that was sent; a pyarrow table where that library is missing.

    Raises:
        ImportError: nothing that reads Parquet is installed.
    """
    if kind == "polars" and (polars := _optional("polars")) is not None:
        return polars.read_parquet(io.BytesIO(data))
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(pyarrow.BufferReader(data))
    return table.to_pandas() if kind == "pandas" and _optional("pandas") is not None else table


def _optional(name: str) -> Any:
    if name not in sys.modules:
        try:
            __import__(name)
        except ImportError:
            return None
    return sys.modules[name]


def shown(data: bytes, limit: int = 200) -> str:
    """Arguments as a person reads them: `'north', year=2024`; tables by their kind, and large ones as they came."""
    try:
        text = text_of(data)
        if len(text) > MAX_SHOWN:
            return _begun(text, limit)
        content, _ = split(data)
    except UndecodableError:
        return "…"
    values = content["values"]
    for path, kind in content["tables"]:
        try:
            put_in(values, path, _Named(kind))
        except UndecodableError:
            return "…"
    positional, named = values.get("args"), values.get("kwargs")
    parts = [repr(value) for value in positional] if isinstance(positional, list) else []
    items = named.items() if isinstance(named, dict) else ()
    parts += [f"{name if name.isidentifier() else repr(name)}={value!r}" for name, value in items]
    return _cut(", ".join(parts), limit)


def _begun(text: bytes, limit: int) -> str:
    """The beginning of a JSON text of arguments that is too long to be read for that."""
    begun = text[: 4 * limit].decode("utf-8", "replace").removeprefix('{"values": {"args": [')
    return f"{begun[: limit - 30]}… ({len(text):,} bytes)"


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


class _Named:
    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __repr__(self) -> str:
        return f"<{self.kind} table>"


def is_finite(value: Any) -> bool:
    """Whether JSON as others read it can hold this: no NaN and no infinity anywhere."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(is_finite(item) for item in value.values())
    return all(is_finite(item) for item in value) if isinstance(value, list) else True
