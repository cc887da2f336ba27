"""What library objects hold, where pickle does not say it: files, databases of sqlite, figures, loggers, signals."""

import hashlib
import io
import os
import re
import sys
import weakref
from collections.abc import Callable, Iterator
from pickle import PicklingError
from typing import Any

from ..snapshots.current_session import portable_path
from ..snapshots.data.library_parts import COMPILED
from ..snapshots.files.open_files import newline_of, path_of, position_of

Digest = Callable[[Any], bytes]
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
OF_STATE_SPACE = (
    ("statsmodels.tsa.statespace.representation", "Representation"),
    ("statsmodels.tsa.statespace.initialization", "Initialization"),
)
"""Classes whose objects `library_parts.reduce_state_space` takes apart."""
MAX_ROWS = 100_000
"""Lines of a dump of a database that are looked at."""


def content(value: Any, digest: Digest) -> bytes | None:
    """A fingerprint of what an object holds; None when it is none of these.

    Args:
        value: The object.
        digest: Gives the fingerprint of a part.
    """
    if _is(value, "sqlite3", "Connection"):
        return _sqlite(value, digest)
    for module, name, held in HELD:
        if _is(value, module, name):
            return digest(held(value))
    return None


def _is(value: Any, module: str, name: str) -> bool:
    known = getattr(sys.modules.get(module), name, None)
    return isinstance(known, type) and isinstance(value, known)


BUFFERS = (io.BufferedReader, io.BufferedWriter, io.BufferedRandom)


def _file(value: Any) -> list[Any]:
    if value.closed:
        return ["closed"]
    try:
        path = path_of(value)
        where = portable_path(os.path.abspath(path)) if isinstance(path, str) else str(type(path))
    except Exception:  # it is no file of the system's, but in memory or in an archive
        where = str(getattr(value, "name", ""))
    layered = isinstance(value, io.TextIOWrapper) and not isinstance(value.buffer, BUFFERS)
    try:  # how far text is read through something else is a number that says more than that
        at: Any = None if layered else _place(value)
    except (OSError, ValueError, PicklingError):
        at = None
    whole = value.getvalue() if isinstance(value, io.BytesIO | io.StringIO) else None
    return [where, value.writable() and "writable", at, getattr(value, "encoding", ""), whole]


def _place(file: Any) -> int:
    if not isinstance(file, io.TextIOWrapper):
        return int(file.tell())
    return position_of(file, (file.encoding, file.errors, newline_of(file)))


def _not_compiled(value: Any) -> list[Any]:
    """The attributes of a model, but for what is compiled: it is made again."""
    return [one for one in vars(value).items() if one[0] not in COMPILED]


def _arrow(array: tuple[Any, ...]) -> list[Any]:
    """What an array of arrow is made of; that no value is missing may be said by bits, by a number, or not at all."""
    kind, length, _, offset, buffers, children, dictionary = array
    valid = buffers[0] if buffers else None
    if valid is not None and _all_are_set(bytes(valid), offset, length):
        valid = None
    parts = [_arrow(one) for one in (*children, dictionary) if one is not None]
    return [kind, length, offset, [_hashed(one) for one in (valid, *buffers[1:])], parts]


def _hashed(buffer: Any) -> str:
    return "" if buffer is None else hashlib.sha256(memoryview(buffer)).hexdigest()


def _all_are_set(bits: bytes, start: int, count: int) -> bool:
    return (int.from_bytes(bits, "little") >> start) & ((1 << count) - 1) == (1 << count) - 1


def _sqlite(value: Any, digest: Digest) -> bytes:
    found = hashlib.sha256()
    try:
        for number, line in enumerate(value.iterdump()):
            if number > MAX_ROWS:
                break
            found.update(line.encode("utf-8", "surrogatepass"))
        settings = [value.execute(f"pragma {name}").fetchone() for name in ("foreign_keys", "recursive_triggers")]
    except Exception as error:  # it is closed, or busy
        return digest([type(error).__name__])
    factories = [value.isolation_level, value.row_factory, value.text_factory, value.total_changes >= 0, settings]
    return digest([found.hexdigest(), factories, value.in_transaction])


def _cursor(value: Any) -> list[Any]:
    """What a cursor is set to, and what its last statement said; the rows to come cannot be looked at."""
    said = [value.description, value.rowcount, value.lastrowid]
    return [value.connection, value.arraysize, value.row_factory, said, getattr(value, "__dict__", None)]


def _artist(value: Any) -> Iterator[Any]:
    """What a figure, or a part of one, shows; not how it has been laid out so far."""
    yield type(value).__qualname__
    for name in ("get_label", "get_visible", "get_zorder", "get_alpha", "get_text", "get_clim", "get_xlim", "get_ylim",
                 "get_xscale", "get_yscale", "get_title", "get_xlabel", "get_ylabel", "get_linestyle", "get_linewidth",
                 "get_cmap", "get_facecolor", "get_picker"):  # fmt: skip
        read = getattr(value, name, None)
        if read is not None and callable(read):
            try:
                found = read()
            except Exception:  # parts of libraries may need to be drawn first
                continue
            yield name
            yield getattr(found, "name", found)
    for name in ("get_xydata", "get_array", "get_offsets"):
        read = getattr(value, name, None)
        if read is not None and _is(value, "matplotlib.artist", "Artist") and name != "get_offsets":
            array = read()
            yield None if array is None else (array.shape, array.tobytes())
    for name in ("axes", "lines", "patches", "texts", "images", "collections"):
        parts = getattr(value, name, None)
        if name == "axes" and not _is(value, "matplotlib.figure", "FigureBase"):
            continue
        if isinstance(parts, list) or hasattr(parts, "__iter__"):
            for part in list(parts or ()):
                yield list(_artist(part))
    if hasattr(value, "get_legend"):
        yield value.get_legend() is not None


def logger(value: Any) -> list[Any]:
    """A logger or a handler: levels, filters, where it writes, whom it hands on to."""
    found: list[Any] = [type(value).__qualname__, getattr(value, "name", ""), value.level]
    found += [value_name(one) for one in value.filters]
    if hasattr(value, "handlers"):
        found += [value.propagate, value.disabled, [logger(one) for one in value.handlers]]
    formatter = getattr(value, "formatter", None)
    if formatter is not None:
        found += [value_name(formatter), getattr(formatter, "_fmt", ""), formatter.datefmt]
    return found


def _signal(value: Any) -> list[Any]:
    """A signal of blinker: who hears it. It knows them by numbers that `id` gave."""
    held = [one() if isinstance(one, weakref.ReferenceType) else one for one in value.receivers.values()]
    known = sorted(value_name(one) for one in held if one is not None)
    return [getattr(value, "name", ""), value.__doc__, value.is_muted, known, sum(map(bool, value._by_sender.values()))]


def value_name(value: Any) -> str:
    """What a function, a class, or an object's class is called."""
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{named.__module__}.{named.__qualname__}"


OF_RELATION = ("_step", "_con", "_inputs", "_params", "_alias", "_schema")
HELD: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    ("io", "IOBase", _file),
    ("sqlite3", "Cursor", _cursor),
    ("matplotlib.artist", "Artist", lambda artist: list(_artist(artist))),
    ("matplotlib.transforms", "TransformNode", lambda node: ADDRESS.sub("", repr(node))),
    ("matplotlib.cbook", "CallbackRegistry", lambda _: ""),  # which of the user's functions it holds is counted
    ("PIL.ImagePalette", "ImagePalette", lambda one: [one.mode, one.rawmode, list(one.palette or b"")]),
    ("sklearn.utils", "Bunch", dict),  # of attributes it has none that pickle does not leave out
    ("scipy.spatial", "cKDTree", lambda tree: [tree.data, tree.leafsize, tree.boxsize]),  # the rest is made of that
    *((module, name, _not_compiled) for module, name in OF_STATE_SPACE),
    ("pyarrow", "Array", lambda array: _arrow(array.__reduce__()[1][0])),
    ("_duckdb._sqltypes", "DuckDBPyType", str),
    ("duckdb._relation", "DuckDBPyRelation", lambda one: [getattr(one, name, None) for name in OF_RELATION]),
    ("pydantic", "TypeAdapter", lambda one: [one._type, one._config]),  # the rest is made of that
    ("blinker.base", "Signal", _signal),
    ("logging", "Logger", logger),
    ("logging", "Handler", logger),
)
"""Classes of libraries, and what of their objects is compared."""
