"""Which type is pickled by what: found by the libraries that are loaded, which the kernel itself never imports."""

import functools
import io
import os
import re
import struct
import sys
import threading
import typing
import weakref
from collections import OrderedDict
from collections.abc import Callable
from types import CellType, MappingProxyType
from typing import Any

from . import arrays, connections, errors, functions, opened, refusing, specials, tables, views

Reduce = Callable[[Any, Any], Any]
VIEWS = ("keys", "values", "items")

BUILT_IN: dict[type, Reduce] = {
    CellType: functions.reduce_cell,
    type(functools.lru_cache(lambda: None)): functions.reduce_cached,
    typing.NewType: functions.reduce_new_type,
    type(threading.Lock()): refusing.reduce_lock,
    type(threading.RLock()): refusing.reduce_rlock,
    re.Match: refusing.reduce_match,
    memoryview: refusing.reduce_memoryview,
    struct.Struct: refusing.reduce_struct,
    **{type(getattr(kind(), which)()): views.reduce_view for kind in (dict, OrderedDict) for which in VIEWS},
    MappingProxyType: views.reduce_proxy,
    weakref.ReferenceType: views.reduce_reference,
    weakref.WeakKeyDictionary: views.reduce_weak,
    weakref.WeakValueDictionary: views.reduce_weak,
    type(os.environ): refusing.reduce_environment,
    io.TextIOWrapper: opened.reduce_file,
    io.BufferedReader: opened.reduce_file,
    io.BufferedWriter: opened.reduce_file,
    io.BufferedRandom: opened.reduce_file,
    io.FileIO: opened.reduce_file,
}

EXACT: tuple[tuple[str, str, Reduce], ...] = (
    ("numpy", "ndarray", arrays.reduce_array),
    ("numpy", "memmap", arrays.reduce_memmap),
    ("numpy.ma", "MaskedArray", arrays.reduce_masked),
    ("numpy", "matrix", arrays.reduce_subclass),
    ("numpy", "recarray", arrays.reduce_subclass),
    ("pandas._libs.internals", "BlockValuesRefs", tables.reduce_refs),
    ("pandas.core.internals.managers", "SingleBlockManager", tables.reduce_series_manager),
    ("pandas.arrays", "ArrowStringArray", tables.reduce_arrow_backed),
    ("pandas.arrays", "ArrowExtensionArray", tables.reduce_arrow_backed),
    ("polars", "DataFrame", tables.reduce_polars_frame),
    ("polars", "Series", tables.reduce_polars_series),
    ("matplotlib.cbook", "CallbackRegistry", tables.reduce_callbacks),
    ("duckdb", "DuckDBPyConnection", connections.reduce_duckdb),
)

BASES: tuple[tuple[str, str, Reduce], ...] = (
    ("pandas._libs.internals", "Block", tables.reduce_block),
    ("pandas", "Index", tables.reduce_index),
    ("sqlite3", "Connection", connections.reduce_sqlite),
    ("builtins", "BaseException", errors.reduce_error),
    ("threading", "Thread", refusing.refuse("a thread")),
    ("subprocess", "Popen", refusing.refuse("a child process")),
    ("multiprocessing.process", "BaseProcess", refusing.refuse("a child process")),
    ("concurrent.futures", "Executor", refusing.refuse("an executor, with its threads or processes")),
    ("concurrent.futures", "Future", refusing.refuse("a future of an executor")),
    ("asyncio", "AbstractEventLoop", refusing.refuse("an event loop")),
    ("tempfile", "_TemporaryFileWrapper", refusing.refuse("a temporary file, which is removed with its session")),
    ("tempfile", "_TemporaryFileCloser", refusing.refuse("a temporary file, which is removed with its session")),
    ("tempfile", "TemporaryDirectory", refusing.refuse("a temporary folder, which is removed with its session")),
)


class Reducers:
    """Finds the reducer of a type; made anew for each snapshot, because libraries are loaded in between."""

    def __init__(self) -> None:
        self.special = specials.memo()
        """What every stream names; looked up once for many streams."""
        self._found: dict[type, Reduce | None] = dict(BUILT_IN)
        for module, name, reduce in EXACT:
            known = getattr(sys.modules.get(module), name, None)
            if isinstance(known, type):
                self._found[known] = reduce
        self._bases = [
            (known, reduce)
            for module, name, reduce in BASES
            if isinstance(known := getattr(sys.modules.get(module), name, None), type)
        ]

    def of(self, kind: type) -> Reduce | None:
        """The reducer of a type; None: pickle knows what to do."""
        try:
            return self._found[kind]
        except KeyError:
            pass
        found = next((reduce for base, reduce in self._bases if issubclass(kind, base)), None)
        self._found[kind] = found
        return found
