"""The pickler and the unpickler of snapshots: cloudpickle's, with what it copies or cannot do put right."""

import contextlib
import contextvars
import copyreg
import datetime
import functools
import io
import itertools
import json.scanner
import operator
import os
import pickle
import random
import re
import struct
import sys
import threading
import typing
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    CoroutineType,
    FunctionType,
    GeneratorType,
    GetSetDescriptorType,
    MappingProxyType,
    MethodType,
    ModuleType,
    SimpleNamespace,
    TracebackType,
)
from typing import Any, ClassVar

from ..calls import reduce_stub
from . import (
    arrays,
    attributes,
    caches,
    connections,
    containers,
    contexts,
    descriptors,
    drawing,
    duckdb_connections,
    duckdb_databases,
    errors,
    foreign,
    functions,
    generators,
    identities,
    instances,
    iterators,
    library_patches,
    library_registers,
    module_names,
    namespaces,
    opened,
    parts,
    pictures,
    references,
    refusing,
    set_order,
    shared_memory,
    singletons,
    tables,
    views,
)
from .classes import is_users, member_reducer
from .functions import home_of, reduce_function
from .identity import WRITTEN, LoadedNans, WrittenNans, can_be_bare, known_nans, sentinel_reducer
from .manifest import Place
from .memo_table import MemoTable
from .singletons import CurrentSession
from .vendored import cloudpickle

Reduce = Callable[[Any, Any], Any]
OF_SINGLETONS = (type(None), type(...), type(NotImplemented))
VIEWS = ("keys", "values", "items")

BUILT_IN: dict[type, Reduce] = {
    object: library_patches.reduce_object,
    ModuleType: namespaces.reduce_module,
    duckdb_databases.Database: duckdb_connections.reduce_database,
    BuiltinFunctionType: library_patches.reduce_builtin,
    MethodType: library_patches.reduce_method,
    library_registers.Unkept: library_registers.reduce_unkept,
    CellType: functions.reduce_cell,
    type(functools.lru_cache(lambda: None)): caches.reduce_cached,
    functions.KEY: functions.reduce_key,
    typing.NewType: functions.reduce_new_type,
    typing.ParamSpec: functions.reduce_parameters,
    typing.TypeVarTuple: functions.reduce_parameters,
    random.SystemRandom: refusing.reduce_system_random,
    type(datetime.date(1, 1, 1).isocalendar()): refusing.reduce_iso,
    type(threading.Lock()): refusing.reduce_lock,
    type(threading.RLock()): refusing.reduce_rlock,
    re.Match: refusing.reduce_match,
    memoryview: refusing.reduce_memoryview,
    struct.Struct: refusing.reduce_struct,
    refusing.CSV_WRITER: refusing.reduce_csv_writer,
    refusing.CSV_READER: refusing.reduce_csv_reader,
    **dict.fromkeys(map(type, (sys.version_info, sys.flags, sys.float_info)), refusing.reduce_of_sys),
    **{type(getattr(kind(), which)()): views.reduce_view for kind in (dict, OrderedDict) for which in VIEWS},
    **dict.fromkeys(views.ITERATORS, views.reduce_iterator),
    MappingProxyType: views.reduce_proxy,
    SimpleNamespace: refusing.reduce_namespace,
    GetSetDescriptorType: attributes.reduce_descriptor,
    weakref.ReferenceType: references.reduce_reference,
    weakref.ProxyType: views.reduce_weak_proxy,
    weakref.CallableProxyType: views.reduce_weak_proxy,
    weakref.WeakKeyDictionary: views.reduce_weak,
    weakref.WeakValueDictionary: views.reduce_weak,
    TracebackType: errors.reduce_traceback,
    super: descriptors.reduce_super,
    json.scanner.make_scanner: descriptors.reduce_scanner,
    itertools.pairwise: iterators.reduce_pairwise,
    GeneratorType: generators.reduce_generator,
    CoroutineType: generators.reduce_coroutine,
    contextvars.ContextVar: contexts.reduce_variable,
    contextvars.Context: contexts.reduce_context,
    contextvars.Token: contexts.refuse_token,
    type(os.environ): refusing.reduce_environment,
    io.TextIOWrapper: opened.reduce_file,
    io.BufferedReader: opened.reduce_file,
    io.BufferedWriter: opened.reduce_file,
    io.BufferedRandom: opened.reduce_file,
    io.FileIO: opened.reduce_file,
    **(dict.fromkeys(iterators.LAYOUTS, iterators.reduce_iterator) if iterators.needed() else {}),
}

EXACT: tuple[tuple[str, str, Reduce], ...] = (
    ("typing", "_GenericAlias", descriptors.reduce_alias),
    ("unittest.mock", "_Call", instances.reduce_call),
    ("numpy", "ndarray", arrays.reduce_array),
    ("numpy", "memmap", arrays.reduce_memmap),
    ("numpy", "ufunc", arrays.reduce_ufunc),
    ("numpy.ma", "MaskedArray", arrays.reduce_masked),
    ("numpy", "matrix", arrays.reduce_subclass),
    ("numpy", "recarray", arrays.reduce_subclass),
    ("numpy", "busdaycalendar", arrays.reduce_calendar),
    ("numpy.lib.npyio", "NpzFile", arrays.reduce_archive),
    ("PIL.ImageDraw", "ImageDraw", pictures.reduce_drawing),
    ("numpy", "void", arrays.reduce_record),
    ("numpy", "record", arrays.reduce_record),
    ("pandas._libs.internals", "BlockValuesRefs", tables.reduce_refs),
    ("pandas.core.internals.managers", "SingleBlockManager", tables.reduce_series_manager),
    ("pandas.arrays", "ArrowStringArray", tables.reduce_arrow_backed),
    ("pandas.arrays", "ArrowExtensionArray", tables.reduce_arrow_backed),
    ("pandas", "ArrowDtype", tables.reduce_arrow_dtype),
    ("pandas", "StringDtype", tables.reduce_string_dtype),
    ("pyarrow", "Buffer", shared_memory.reduce_buffer),
    ("polars", "DataFrame", tables.reduce_polars_frame),
    ("polars", "Series", tables.reduce_polars_series),
    ("polars", "LazyFrame", tables.reduce_polars_query),
    ("polars", "Expr", tables.reduce_polars_query),
    ("matplotlib.cbook", "CallbackRegistry", drawing.reduce_callbacks),
    ("matplotlib.backends._backend_agg", "BufferRegion", drawing.reduce_region),
    ("duckdb", "DuckDBPyConnection", duckdb_connections.reduce_duckdb),
)

BASES: tuple[tuple[str, str, Reduce], ...] = (
    ("pandas._libs.internals", "Block", tables.reduce_block),
    ("pandas._libs.arrays", "NDArrayBacked", tables.reduce_backed),
    ("pandas", "Index", tables.reduce_index),
    ("pandas.core.generic", "NDFrame", tables.reduce_frame),
    ("numpy.ma", "MaskedArray", arrays.reduce_masked_kind),
    ("numpy", "ndarray", arrays.reduce_users),
    ("numpy", "generic", arrays.reduce_scalar),
    ("numpy.random", "Generator", arrays.reduce_generator),
    ("numpy.polynomial._polybase", "ABCPolyBase", attributes.reduce_forbidden),
    ("pytz", "BaseTzInfo", tables.reduce_timezone),
    ("dateutil.tz", "tzfile", tables.reduce_shared_zone),
    ("dateutil.tz", "tzstr", tables.reduce_shared_zone),
    ("PIL.Image", "Image", pictures.reduce_picture),
    ("PIL.ImageDraw", "ImageDraw", pictures.reduce_drawing),
    ("PIL.ImageFont", "FreeTypeFont", pictures.reduce_font),
    ("pyarrow", "ResizableBuffer", refusing.refuse("a buffer of arrow that can be resized")),
    ("pyarrow", "MemoryPool", library_registers.reduce_pool),
    ("scipy.spatial", "cKDTree", arrays.reduce_tree),
    ("scipy.stats._unuran.unuran_wrapper", "Method", refusing.reduce_sampler),
    ("sqlite3", "Connection", connections.reduce_sqlite),
    ("sqlite3", "Row", connections.reduce_row),
    ("statsmodels.tsa.statespace.representation", "Representation", parts.reduce_state_space),
    ("statsmodels.tsa.statespace.initialization", "Initialization", parts.reduce_state_space),
    ("lxml.objectify", "ObjectifiedElement", parts.reduce_objectified),
    ("lxml.etree", "_ElementUnicodeResult", parts.reduce_text),
    ("traitlets", "HasTraits", parts.reduce_traits),
    ("bidict", "BidictBase", parts.reduce_two_ways),
    ("requests", "Response", refusing.reduce_response),
    ("httpx", "Response", refusing.reduce_response),
    ("builtins", "BaseException", errors.reduce_error),
    ("builtins", "property", descriptors.reduce_property),
    ("builtins", "classmethod", descriptors.reduce_method),
    ("builtins", "staticmethod", descriptors.reduce_method),
    ("contextlib", "_GeneratorContextManagerBase", generators.reduce_manager),
    ("types", "ModuleType", namespaces.reduce_module),
    *(("ctypes", kind, foreign.reduce_c_data) for kind in ("_SimpleCData", "Structure", "Union", "Array")),
    ("joblib", "parallel_config", refusing.refuse("a context manager that is in use, or was")),
    ("argparse", "_AttributeHolder", attributes.reduce_with_constants),
    ("optparse", "Option", attributes.reduce_with_constants),
    ("optparse", "OptionContainer", attributes.reduce_with_constants),
    ("logging", "Logger", refusing.reduce_logger),
    ("unittest.mock", "NonCallableMock", instances.reduce_mock),
    ("weakref", "ReferenceType", references.reduce_reference),
    ("io", "TextIOWrapper", opened.reduce_text),
    ("functools", "partialmethod", functions.reduce_partial_method),
    ("weakref", "finalize", views.reduce_finalizer),
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


class _OfLibraries:
    """The reducers of classes of libraries, which are the same from snapshot to snapshot."""

    found: ClassVar[dict[type, Reduce | None]] = {}
    seen: ClassVar[tuple[Any, ...]] = ()
    """The classes in `BASES` that were there, the attributes that cells had assigned to anything, and the classes that
    had reducers of `copyreg`."""


class _KnownKinds(dict[type, Reduce | None]):
    """Reducers by type, each looked for when it is first asked for."""

    def __init__(self) -> None:
        super().__init__(BUILT_IN)
        for module, name, reduce in EXACT:
            known = getattr(sys.modules.get(module), name, None)
            if isinstance(known, type):
                self[known] = reduce
        self._bases = [
            (known, reduce)
            for module, name, reduce in BASES
            if isinstance(known := getattr(sys.modules.get(module), name, None), type)
        ]
        assigned, registered = library_patches.CellAttributes.assigned, tuple(copyreg.dispatch_table)
        seen = (tuple(base for base, _ in self._bases), assigned, registered)
        if seen != _OfLibraries.seen:
            _OfLibraries.seen, _OfLibraries.found = seen, {}

    def __missing__(self, kind: type) -> Reduce | None:
        settled = _OfLibraries.found
        if kind in settled:
            found = settled[kind]
        else:
            found = self._look(kind)
            if not is_users(kind) and not can_be_bare(kind):
                settled[kind] = found
        self[kind] = found
        return found

    def _look(self, kind: type) -> Reduce | None:
        found = next((reduce for base, reduce in self._bases if issubclass(kind, base)), None)
        if found is None and (family := containers.family_of(kind)) is not None:
            found = containers.reducer(family)
        if found is None and attributes.drops_them(kind):
            found = attributes.reduce_whole
        if found is None and attributes.names_them(kind) and not attributes.is_only_forbidden(kind):
            says = attributes.says_what_is_kept(kind)
            found = attributes.reduce_unasked if says else attributes.reducer_with_own(kind)
        found = found or member_reducer(kind) or sentinel_reducer(kind) or instances.reducer_of(kind)
        return found or attributes.reducer_for(kind)


class Reducers:
    """Finds the reducer of a type; made anew for each snapshot, because libraries are loaded in between.

    Args:
        with_nans: Variables of which it is known that a NaN is in them.
    """

    def __init__(self, with_nans: frozenset[str] = frozenset()) -> None:
        self.special = singletons.memo()
        """What every stream names; looked up once for many streams."""
        self.nans = known_nans()
        """The NaN of libraries."""
        self.with_nans = with_nans
        self.asked = instances.asked
        """Classes of cells that are asked what to keep of their objects."""
        self.begun: set[int] = set()
        """Identities of objects that `instances` has begun to take apart for the present stream."""
        self.free: dict[type, bool] = {}
        """Classes, and whether their objects are all that `instances` knows."""
        self.not_asked: set[Any] = set()
        """Those that say it and were not asked, and caches that were not kept empty."""
        self.named: dict[str, tuple[str, str]] = {}
        """Parts of objects that will not come back, although the objects do: name → type, reason."""
        self.known = _KnownKinds()
        """The reducer of each type; None: pickle knows what to do."""
        first, second = cloudpickle().Pickler.dispatch_table.maps
        self.dispatch_table = {**second, **first}
        """What cloudpickle and `copyreg` have for types; in one dict, which is asked in a tenth of the time."""
        self.by_name: dict[int, Any] = {}
        """Classes and functions of which it is known that they go by their names, by identity."""

    def name(self, part: str, kind: str, reason: str) -> None:
        """Name a part of an object that will not come back."""
        self.named[part] = (kind, reason)

    @functools.cached_property
    def made_modules(self) -> dict[int, ModuleType]:
        """The modules that cells have made, by the identity of their variables."""
        return namespaces.made_modules()

    @functools.cached_property
    def memory(self) -> shared_memory.OwnedMemory:
        """Whose memory is where."""
        return shared_memory.OwnedMemory()


LARGE = 16 << 10
"""Bytes from which on a buffer leaves the stream."""
COPIED = 1 << 16
"""Objects up to which a copy of a memo is held until it is asked for."""


class Stream:
    """Some variables as bytes, and the buffers that go beside them.

    They stand one after the other, each with its name, and share one memo: one that is loaded later finds what came
    before it.
    """

    place: Place | None = None
    """Where it is kept already."""
    identities: set[int]
    """Numbers in it that may be the identities of objects of other streams."""

    def __init__(self, values: dict[str, Any], reducers: Reducers) -> None:
        self._special = reducers.special
        self.nans: WrittenNans | None = None
        """The NaN in it; None: there are none."""
        # Functions and classes first: loading an instance may run them, by their names. (`isinstance` asks a proxy.)
        items = sorted(values.items(), key=lambda item: not issubclass(type(item[1]), (FunctionType, type)))
        if reducers.with_nans.isdisjoint(values):
            self._write(items, reducers)
            if WRITTEN.search(self.data) is None:
                return
        self.nans = WrittenNans(reducers.nans)
        self._write(items, reducers)

    def _write(self, items: list[tuple[str, Any]], reducers: Reducers) -> None:
        self.file = io.BytesIO()
        self.buffers: list[pickle.PickleBuffer] = []
        self._pickler = _pickler_class(self.nans is not None)(self.file, self.buffers, reducers)
        self._pickler.nans = self.nans
        reducers.begun.clear()
        self._pickler.memo = self._special
        self._met: int | None = None
        self._copied: dict[int, tuple[int, Any]] | None = None
        asks = CurrentSession.asks_for_identities
        numbers = {name: value for name, value in items if asks and identities.may_be_one(value)}
        if CurrentSession.asks_for_attributes:
            items = [(name, namespaces.as_variables(value, lambda: reducers.made_modules)) for name, value in items]
        for item in items:
            if item[0] not in numbers:
                self._pickler.dump(item)
        self.identities: set[int] = set()
        known = self._pickler.memo.copy() if numbers else {}
        for name, number in numbers.items():
            self._pickler.dump((name, identities.Identity(known[number][1]) if number in known else number))
            self.identities |= {number} - known.keys()
        if set_order.may_have_sets(self.file.getvalue()) and (wanted := set_order.recipes(self._sets())):
            self._met = len(self.table())
            self._pickler.dump(_Arrangement(set_order.arrange, wanted))
        if asks:
            numbered, others = identities.recipes(self._all_met())
            self.identities |= others
            if numbered:
                self._met = len(self.table()) if self._met is None else self._met
                self._pickler.dump(_Arrangement(identities.renumber, numbered))

    def _sets(self) -> list[Any]:
        """All sets in the memo so far, in the order of the stream: that of the memo is another each time."""
        copied = self._pickler.memo.copy()
        if len(copied) <= COPIED:
            self._copied = copied
        sets = [entry for entry in copied.values() if type(entry[1]) in (set, frozenset)]
        return [value for _, value in sorted(sets, key=operator.itemgetter(0))]

    @property
    def data(self) -> memoryview:
        """The bytes of the stream."""
        return self.file.getbuffer()

    @property
    def size(self) -> int:
        """How many they are."""
        return len(self.data)

    @property
    def has_code(self) -> bool:
        """Whether it holds code, which another version of Python must not even load."""
        return bool(self._pickler.has_code)

    @property
    def by_value(self) -> set[int]:
        """Identities of the classes and functions that it holds instead of naming them."""
        found: set[int] = self._pickler.by_value
        return found

    @property
    def met(self) -> int:
        """How many objects were met, names and their pairs with values included, but not what every stream names."""
        return (len(self.table()) if self._met is None else self._met) - len(self._special)

    def table(self) -> MemoTable:
        """The memo of its pickler, to be asked."""
        return MemoTable(self._pickler)

    def is_own(self, identity: int) -> bool:
        """Whether an object, if it is in the memo, is not one that every stream names."""
        return identity not in self._special

    @property
    def is_copied(self) -> bool:
        """Whether its memo was copied, so that `memo` takes no time."""
        return self._copied is not None

    def _all_met(self) -> dict[int, tuple[int, Any]]:
        return self._copied or self._pickler.memo.copy()

    def memo(self) -> dict[int, tuple[int, Any]]:
        """All objects in it, by identity, without those that every stream names."""
        copied, self._copied = self._all_met(), None
        for identity in self._special:
            copied.pop(identity, None)
        if self.nans is not None:
            copied.update({identity: (0, value) for identity, value in self.nans.own.items()})
        return copied


def _function(pickler: Any, value: Any) -> Any:
    """A function by its name where it is found by it, else with its code and its globals.

    One of a cell that `functools.wraps` gave the name of what it replaces is found by that name in this process only.
    """
    of_cell = value.__globals__ is CurrentSession.main.__dict__
    if not of_cell and cloudpickle()._should_pickle_by_reference(value):
        return NotImplemented
    pickler.by_value.add(id(value))
    pickler.has_code = True
    home = home_of(value)
    if home not in (None, "__main__"):
        if namespaces.is_made(sys.modules[home]):
            home = None  # it comes with its module, which no import would find
        elif path := module_names.path_in(sys.modules[home], value):
            return module_names.find, (home, path)  # a closure, of which its module keeps what it holds
    if home is not None:
        return reduce_function(value, home)
    space = value.__globals__
    module = pickler.reducers.made_modules.get(id(space))
    module = namespaces.holder_of(space) if module is None else module
    return namespaces.reduce_function(value, space if module is None else module)


class _ByName:
    """Classes of libraries that went by their names in an earlier snapshot, and where they were found."""

    known: ClassVar[dict[int, tuple[type, str, ModuleType]]] = {}

    @classmethod
    def has(cls, kind: type) -> bool:
        """Whether a class is one of them, and nothing has changed in that. The order of the questions saves time."""
        value, name, module = cls.known.get(id(kind), (None, "", None))
        return (
            value is kind
            and module is not None
            and kind.__module__ is name
            and sys.modules.get(name) is module
            and vars(module).get(kind.__qualname__) is kind
            and not cloudpickle()._PICKLE_BY_VALUE_MODULES
        )

    @classmethod
    def add(cls, kind: type) -> None:
        """Note a class that goes by its name; it is held if it is a library's and stands in its module."""
        name: Any = kind.__module__
        module = sys.modules.get(name) if isinstance(name, str) else None
        if module is not None and vars(module).get(kind.__qualname__) is kind and not is_users(kind):
            cls.known[id(kind)] = kind, name, module


def _reduce_named(pickler: Any, value: Any) -> Any:
    """A class or a function: by its name, or by value."""
    if type(value) is FunctionType:
        reduced = reduce_stub(value) or library_patches.reduce_replaced(value) or _function(pickler, value)
    elif _ByName.has(value):
        reduced = NotImplemented
    else:
        made = library_patches.reduce_replaced_class(value) or foreign.reduce_type(value)
        if made is not None:
            return made
        reduced = cloudpickle().Pickler.reducer_override(pickler, value)
        if reduced is NotImplemented:
            _ByName.add(value)
        elif value not in OF_SINGLETONS:
            pickler.by_value.add(id(value))
            pickler.has_code = True
    if reduced is NotImplemented:
        pickler.by_name[id(value)] = value
    return reduced


@functools.cache
def _pickler_class(with_nans: bool) -> Any:
    borrowed = cloudpickle()

    class Pickler(borrowed.Pickler):  # type: ignore[name-defined, misc]
        def __init__(self, file: io.BytesIO, buffers: list[pickle.PickleBuffer], reducers: Reducers) -> None:
            def leave(buffer: pickle.PickleBuffer) -> bool:
                if memoryview(buffer).nbytes < LARGE:
                    return True
                buffers.append(buffer)
                return False

            self.dispatch_table = reducers.dispatch_table  # before it is looked up
            super().__init__(file, protocol=5, buffer_callback=leave)
            self.reducers = reducers
            self.known, self.by_name = reducers.known, reducers.by_name
            self.by_value: set[int] = set()
            self.has_code = False

        def reducer_override(self, value: Any) -> Any:
            kind = type(value)
            reduce = self.known[kind]
            if reduce is not None:
                return reduce(self, value)
            if kind is FunctionType or issubclass(kind, type):  # of nothing else cloudpickle has something to say
                return NotImplemented if id(value) in self.by_name else _reduce_named(self, value)
            if kind is CodeType:
                self.has_code = True
            return NotImplemented

    if not with_nans:
        return Pickler

    class NanPickler(Pickler):
        nans: WrittenNans

        # It is called for each object, so only where it is needed, and it asks no more than it has to.
        def persistent_id(self, value: Any) -> Any:
            if type(value) is not float or value == value:
                return None
            return self.nans.number(value)

    return NanPickler


class _Arrangement:
    """Stands behind the variables of a stream: loading it puts something of them in order, as their sets."""

    def __init__(self, arrange: Callable[[Any], None], wanted: Any) -> None:
        self._arrange = arrange
        self._wanted = wanted

    def __reduce__(self) -> Any:
        return self._arrange, (self._wanted,)


def load(data: bytes | bytearray | memoryview, buffers: list[Any], count: int) -> Iterator[tuple[str, Any]]:
    """The variables of a stream, one by one.

    Runs whatever the stream says, so only ever inside a sandbox.
    """
    cloudpickle()
    unpickler = _Unpickler(io.BytesIO(b"".join((singletons.prelude(), data))), buffers=buffers)
    unpickler.load()
    # Called with the variables as globals, as a cell would call it: formulas of statsmodels are evaluated where the
    # unpickler is called from.
    step = FunctionType(_load_next.__code__, CurrentSession.main.__dict__)
    for _ in range(count):
        yield step(unpickler)
    with contextlib.suppress(EOFError):  # there is nothing behind them, as a rule
        while True:
            unpickler.load()


def _load_next(unpickler: Any) -> Any:
    return unpickler.load()


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, buffers: list[Any]) -> None:
        super().__init__(file, buffers=buffers)
        self._nans = LoadedNans()

    def persistent_load(self, number: Any) -> Any:
        return self._nans.find(number)

    def find_class(self, module: str, name: str) -> Any:
        if module == "__main__":
            raise pickle.UnpicklingError(f"__main__.{name} is named but not kept")
        return super().find_class(module, name)
