"""How objects are taken apart, by their types: what cloudpickle copies or cannot do is put right."""

import contextvars
import datetime
import functools
import io
import itertools
import json.scanner
import os
import random
import re
import struct
import sys
import threading
import typing
import weakref
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping
from types import (
    BuiltinFunctionType,
    CellType,
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
from ..dict_contents import KnownEntries
from . import singletons
from .current_session import CurrentSession
from .data import arrays, figures, library_parts, pictures, shared_memory, tables, wrapt_proxies, xml_trees
from .duckdb import connections as duckdb_connections
from .duckdb import databases as duckdb_databases
from .files import compressed_files, open_files
from .library_state import data_registers, library_patches, service_registers
from .modules import module_names, namespaces
from .objects import (
    attributes,
    caches,
    containers,
    contexts,
    ctypes_data,
    descriptors,
    dict_views,
    exceptions,
    functions,
    generated_functions,
    generators,
    instances,
    iterators,
    unpicklable,
    weak_references,
)
from .objects.classes import is_users, member_reducer
from .objects.functions import home_of, reduce_function
from .objects.nans_and_sentinels import can_be_bare, known_nans, reduce_proxy, sentinel_reducer
from .private_cloudpickle import cloudpickle
from .sqlite import connections
from .sqlite import cursors as sqlite_cursors

Reduce = Callable[[Any, Any], Any]
OF_SINGLETONS = (type(None), type(...), type(NotImplemented))
VIEWS = ("keys", "values", "items")

BUILT_IN: dict[type, Reduce] = {
    object: library_patches.reduce_object,
    ModuleType: namespaces.reduce_module,
    duckdb_databases.Database: duckdb_connections.reduce_database,
    BuiltinFunctionType: library_patches.reduce_builtin,
    MethodType: library_patches.reduce_method,
    data_registers.Unkept: data_registers.reduce_unkept,
    CellType: functions.reduce_cell,
    type(functools.lru_cache(lambda: None)): caches.reduce_cached,
    caches.Results: caches.reduce_results,
    functions.KEY: functions.reduce_key,
    typing.NewType: functions.reduce_new_type,
    typing.ParamSpec: functions.reduce_parameters,
    typing.TypeVarTuple: functions.reduce_parameters,
    random.SystemRandom: unpicklable.reduce_system_random,
    type(datetime.date(1, 1, 1).isocalendar()): unpicklable.reduce_iso,
    type(threading.Lock()): unpicklable.reduce_lock,
    type(threading.RLock()): unpicklable.reduce_rlock,
    re.Match: unpicklable.reduce_match,
    re.Pattern: unpicklable.reduce_pattern,
    memoryview: unpicklable.reduce_memoryview,
    struct.Struct: unpicklable.reduce_struct,
    unpicklable.CSV_WRITER: unpicklable.reduce_csv_writer,
    unpicklable.CSV_READER: unpicklable.reduce_csv_reader,
    **dict.fromkeys(map(type, (sys.version_info, sys.flags, sys.float_info)), unpicklable.reduce_of_sys),
    **{type(getattr(kind(), which)()): dict_views.reduce_view for kind in (dict, OrderedDict) for which in VIEWS},
    **dict.fromkeys(dict_views.ITERATORS, dict_views.reduce_iterator),
    **dict.fromkeys((range, slice), attributes.reduce_plain),
    complex: attributes.reduce_complex,
    defaultdict: containers.reduce_numbering,
    MappingProxyType: dict_views.reduce_proxy,
    SimpleNamespace: instances.reduce_namespace,
    GetSetDescriptorType: attributes.reduce_descriptor,
    weakref.ReferenceType: weak_references.reduce_reference,
    weakref.ProxyType: dict_views.reduce_weak_proxy,
    weakref.CallableProxyType: dict_views.reduce_weak_proxy,
    weakref.WeakKeyDictionary: dict_views.reduce_weak,
    weakref.WeakValueDictionary: dict_views.reduce_weak,
    TracebackType: exceptions.reduce_traceback,
    super: descriptors.reduce_super,
    json.scanner.make_scanner: descriptors.reduce_scanner,
    itertools.pairwise: iterators.reduce_pairwise,
    GeneratorType: generators.reduce_generator,
    CoroutineType: generators.reduce_coroutine,
    contextvars.ContextVar: contexts.reduce_variable,
    contextvars.Context: contexts.reduce_context,
    contextvars.Token: contexts.refuse_token,
    type(os.environ): unpicklable.reduce_environment,
    io.TextIOWrapper: compressed_files.reduce_text,
    io.BufferedReader: open_files.reduce_file,
    io.BufferedWriter: open_files.reduce_file,
    io.BufferedRandom: open_files.reduce_file,
    io.FileIO: open_files.reduce_file,
    **(dict.fromkeys(iterators.LAYOUTS, iterators.reduce_iterator) if iterators.needed() else {}),
}

EXACT: tuple[tuple[str, str, Reduce], ...] = (
    ("typing", "_GenericAlias", descriptors.reduce_alias),
    ("unittest.mock", "_Call", instances.reduce_call),
    ("unittest.mock", "_patch_dict", library_patches.reduce_patch),
    ("_queue", "SimpleQueue", unpicklable.reduce_queue),
    ("functools", "partial", functions.reduce_partial),
    ("numpy", "flatiter", arrays.reduce_flat),
    ("numpy", "ndarray", arrays.reduce_array),
    ("numpy", "memmap", arrays.reduce_memmap),
    ("numpy", "ufunc", arrays.reduce_ufunc),
    ("numpy.ma", "MaskedArray", arrays.reduce_masked),
    ("numpy", "matrix", arrays.reduce_subclass),
    ("numpy", "recarray", arrays.reduce_subclass),
    ("numpy", "finfo", arrays.reduce_limits),
    ("numpy", "busdaycalendar", arrays.reduce_calendar),
    ("numpy.lib.npyio", "NpzFile", arrays.reduce_archive),
    ("PIL.ImageDraw", "ImageDraw", pictures.reduce_drawing),
    ("numpy", "void", arrays.reduce_record),
    ("numpy", "record", arrays.reduce_record),
    ("pandas._libs.internals", "BlockValuesRefs", tables.reduce_refs),
    ("pandas.core.internals.managers", "SingleBlockManager", tables.reduce_series_manager),
    ("pandas", "Flags", tables.reduce_flags),
    ("pandas.arrays", "ArrowStringArray", tables.reduce_arrow_backed),
    ("pandas.arrays", "ArrowExtensionArray", tables.reduce_arrow_backed),
    ("pandas", "ArrowDtype", tables.reduce_arrow_dtype),
    ("pandas", "StringDtype", tables.reduce_string_dtype),
    ("pyarrow", "Buffer", shared_memory.reduce_buffer),
    ("polars", "DataFrame", tables.reduce_polars_frame),
    ("polars", "Series", tables.reduce_polars_series),
    ("polars", "LazyFrame", tables.reduce_polars_query),
    ("polars", "Expr", tables.reduce_polars_query),
    ("polars._plr", "PySQLContext", tables.reduce_polars_context),
    ("matplotlib.cbook", "CallbackRegistry", figures.reduce_callbacks),
    ("matplotlib.cbook", "Grouper", figures.reduce_grouper),
    ("matplotlib.backends._backend_agg", "BufferRegion", figures.reduce_region),
    ("codecs", "CodecInfo", library_parts.reduce_codec),
    ("duckdb", "DuckDBPyConnection", duckdb_connections.reduce_duckdb),
    ("duckdb._relation", "DuckDBPyRelation", duckdb_connections.reduce_relation),
    ("_duckdb._sqltypes", "DuckDBPyType", duckdb_connections.reduce_type),
    ("regex", "Match", unpicklable.reduce_match),
)

BASES: tuple[tuple[str, str, Reduce], ...] = (
    ("pandas._libs.internals", "Block", tables.reduce_block),
    ("pandas._libs.arrays", "NDArrayBacked", tables.reduce_backed),
    ("pandas", "Index", tables.reduce_index),
    ("pandas.core.generic", "NDFrame", tables.reduce_frame),
    ("numpy.ma", "MaskedArray", arrays.reduce_masked_kind),
    ("numpy", "dtype", arrays.reduce_dtype),
    ("numpy", "ndarray", arrays.reduce_users),
    ("numpy", "generic", arrays.reduce_scalar),
    ("numpy.random", "Generator", arrays.reduce_generator),
    ("numpy.polynomial._polybase", "ABCPolyBase", attributes.reduce_forbidden),
    ("pytz", "BaseTzInfo", tables.reduce_timezone),
    ("dateutil.tz", "tzfile", tables.reduce_shared_zone),
    ("dateutil.tz", "tzstr", tables.reduce_shared_zone),
    ("dateutil.tz", "tzoffset", tables.reduce_shared_offset),
    ("PIL.Image", "Image", pictures.reduce_picture),
    ("PIL.ImageDraw", "ImageDraw", pictures.reduce_drawing),
    ("PIL.ImageFont", "FreeTypeFont", pictures.reduce_font),
    ("pyarrow", "ResizableBuffer", unpicklable.refuse("a buffer of arrow that can be resized")),
    ("pyarrow", "MemoryPool", data_registers.reduce_pool),
    ("werkzeug.local", "LocalProxy", reduce_proxy),
    ("pygments.token", "_TokenType", library_parts.reduce_token),
    ("prometheus_client.registry", "CollectorRegistry", service_registers.reduce_registry),
    ("scipy.spatial", "cKDTree", arrays.reduce_tree),
    ("scipy.stats._unuran.unuran_wrapper", "Method", unpicklable.reduce_sampler),
    ("sqlite3", "Connection", connections.reduce_sqlite),
    ("sqlite3", "Cursor", sqlite_cursors.reduce_cursor),
    ("sqlite3", "Row", connections.reduce_row),
    ("statsmodels.tsa.statespace.representation", "Representation", library_parts.reduce_state_space),
    ("statsmodels.tsa.statespace.initialization", "Initialization", library_parts.reduce_state_space),
    ("lxml.objectify", "ObjectifiedElement", library_parts.reduce_objectified),
    ("lxml.etree", "_Element", xml_trees.reduce_element),
    ("lxml.etree", "_ElementTree", xml_trees.reduce_tree),
    ("lxml.etree", "_Attrib", xml_trees.reduce_attributes),
    ("lxml.etree", "_ElementUnicodeResult", xml_trees.reduce_text),
    ("pygments.lexer", "RegexLexer", library_parts.reduce_lexer),
    ("urllib.request", "HTTPSHandler", library_parts.reduce_opening),
    ("email._policybase", "Policy", library_parts.reduce_policy),
    ("zipfile._path", "InitializedState", instances.reduce_attributes),
    ("traitlets", "HasTraits", library_parts.reduce_traits),
    ("bidict", "BidictBase", library_parts.reduce_two_ways),
    ("blinker.base", "Signal", weak_references.reduce_signal),
    ("dateutil.rrule", "rrulebase", library_parts.reduce_rule),
    ("tenacity", "BaseRetrying", contexts.reduce_retrying),
    ("threading", "local", contexts.reduce_local),
    *(("structlog._output", kind, unpicklable.reduce_printer) for kind in ("PrintLogger", "WriteLogger")),
    ("requests", "Response", unpicklable.reduce_response),
    ("httpx", "Response", unpicklable.reduce_response),
    ("builtins", "BaseException", exceptions.reduce_error),
    ("builtins", "property", descriptors.reduce_property),
    ("builtins", "classmethod", descriptors.reduce_method),
    ("builtins", "staticmethod", descriptors.reduce_method),
    ("contextlib", "_GeneratorContextManagerBase", generators.reduce_manager),
    ("types", "ModuleType", namespaces.reduce_module),
    *(("ctypes", kind, ctypes_data.reduce_c_data) for kind in ("_SimpleCData", "Structure", "Union", "Array")),
    ("joblib", "parallel_config", unpicklable.refuse("a context manager that is in use, or was")),
    ("argparse", "_AttributeHolder", attributes.reduce_with_constants),
    ("optparse", "Option", attributes.reduce_with_constants),
    ("optparse", "OptionContainer", attributes.reduce_with_constants),
    ("logging", "Logger", unpicklable.reduce_logger),
    ("unittest.mock", "NonCallableMock", instances.reduce_attributes),
    ("weakref", "ReferenceType", weak_references.reduce_reference),
    ("io", "TextIOWrapper", open_files.reduce_text),
    *((module, name, compressed_files.reduce_compressed) for module, name in sorted(compressed_files.KINDS)),
    ("functools", "partialmethod", functions.reduce_partial_method),
    ("weakref", "finalize", dict_views.reduce_finalizer),
    ("re", "Scanner", unpicklable.reduce_scanner),
    ("wrapt", "BaseObjectProxy", wrapt_proxies.reduce_proxy),
    ("threading", "Thread", unpicklable.refuse("a thread")),
    ("subprocess", "Popen", unpicklable.refuse("a child process")),
    ("multiprocessing.process", "BaseProcess", unpicklable.refuse("a child process")),
    ("concurrent.futures", "Executor", unpicklable.refuse("an executor, with its threads or processes")),
    ("concurrent.futures", "Future", unpicklable.reduce_future),
    ("asyncio", "AbstractEventLoop", unpicklable.refuse("an event loop")),
    ("tempfile", "_TemporaryFileWrapper", unpicklable.refuse("a temporary file, which is removed with its session")),
    ("tempfile", "_TemporaryFileCloser", unpicklable.refuse("a temporary file, which is removed with its session")),
    ("tempfile", "TemporaryDirectory", unpicklable.refuse("a temporary folder, which is removed with its session")),
)


OF_LIBRARIES_ONLY = (
    library_parts.reduce_lexer,
    library_parts.reduce_opening,
    library_parts.reduce_rule,
    unpicklable.reduce_printer,
)
"""Those that know nothing of what a class of a cell has besides."""


class _OfLibraries:
    """The reducers of classes of libraries, which are the same from snapshot to snapshot."""

    found: ClassVar[dict[type, Reduce | None]] = {}
    exact: ClassVar[dict[type, Reduce]] = {}
    """Those in `EXACT`, as far as they are there."""
    bases: ClassVar[list[tuple[type, Reduce]]] = []
    """Those in `BASES`, likewise."""
    tables: ClassVar[dict[type, Any]] = {}
    """What cloudpickle and `copyreg` have for types; in one dict, which is asked in a tenth of the time."""
    borrowed, registered = KnownEntries(), KnownEntries()
    """Where these were found."""
    seen: ClassVar[tuple[Any, ...]] = ()
    """The attributes that cells had assigned to anything, whether cells ask for attributes, the classes in `BASES` that
    were there, and those that had reducers of `copyreg`: as long as these are the same, what was found holds."""

    @classmethod
    def look(cls) -> None:
        """Bring them up to date."""
        first, second = cloudpickle().Pickler.dispatch_table.maps
        same = [namespaces.FoundModules.are_same(), cls.borrowed.are_same(first), cls.registered.are_same(second)]
        asked = library_patches.CellAttributes.assigned, CurrentSession.asks_for_attributes
        if asked == cls.seen[:2] and all(same):
            return
        cls.exact = {**dict(_that_are_there(EXACT)), **pictures.reducers_of_pixels()}
        cls.bases = _that_are_there(BASES)
        cls.tables = {**second, **first}
        seen = *asked, [kind for kind, _ in cls.bases], list(second)
        if seen != cls.seen:
            cls.seen, cls.found = seen, {}


def _that_are_there(table: tuple[tuple[str, str, Reduce], ...]) -> list[tuple[type, Reduce]]:
    """The classes of a table, and what it has for each."""
    known = ((getattr(sys.modules.get(module), name, None), reduce) for module, name, reduce in table)
    return [(kind, reduce) for kind, reduce in known if isinstance(kind, type)]


class _KnownKinds(dict[type, Reduce | None]):
    """Reducers by type, each looked for when it is first asked for."""

    def __missing__(self, kind: type) -> Reduce | None:
        exact, settled = _OfLibraries.exact, _OfLibraries.found
        if kind in exact:
            found: Reduce | None = exact[kind]
        elif kind in BUILT_IN:
            found = BUILT_IN[kind]
        elif kind in settled:
            found = settled[kind]
        else:
            found = self._look(kind)
            if not is_users(kind) and not can_be_bare(kind):
                settled[kind] = found
        self[kind] = found
        return found

    def _look(self, kind: type) -> Reduce | None:
        of_cell = is_users(kind)
        ways = (reduce for base, reduce in _OfLibraries.bases if issubclass(kind, base))
        found = next((reduce for reduce in ways if not (of_cell and reduce in OF_LIBRARIES_ONLY)), None)
        if found is None and (family := containers.family_of(kind)) is not None:
            found = containers.reducer(family)
        if found is None and of_cell and containers.is_frozen(kind):
            found = containers.reduce_frozen
        if found is None and attributes.drops_them(kind):
            found = attributes.reduce_whole
        if found is None and attributes.names_them(kind) and not attributes.is_only_forbidden(kind):
            says = attributes.says_what_is_kept(kind)
            found = attributes.reduce_unasked if says else attributes.reducer_with_own(kind)
        found = found or member_reducer(kind) or sentinel_reducer(kind) or instances.reducer_of(kind)
        return found or attributes.reducer_for(kind) or instances.reducer_of_held(kind)


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
        self.trees: dict[int, Any] = {}
        """Nodes of trees of lxml that were written, by their identities, each with what is known of its tree."""
        self.tree_sizes: dict[int, tuple[Any, int]] = {}
        """Roots of such trees, by their identities, and how many nodes were counted."""
        self.refused: dict[int, tuple[Any, str]] = {}
        """Connections of duckdb that cannot be kept, by identity, and why: others that hold them need not ask again."""
        self.copies: dict[int, generated_functions.Copy] = {}
        """What stands for copies of all variables, by their identities; the same in all streams, which so are one."""
        self.pictures: dict[int, Any] = {}
        """Pictures made for pixels that are in no picture any more, by the identity of these."""
        self.matches: dict[tuple[int, ...], unpicklable.Matches] = {}
        """The first matches in texts, by what they are matches of."""
        self.begun: set[int] = set()
        """Identities of objects that `instances` has begun to take apart for the present stream."""
        self.free: dict[type, bool] = {}
        """Classes, and whether their objects are all that `instances` knows."""
        self.not_asked: set[Any] = set()
        """Those that say it and were not asked, and caches that were not kept empty."""
        self.named: dict[str, tuple[str, str]] = {}
        """Parts of objects that will not come back, although the objects do: name → type, reason."""
        _OfLibraries.look()
        self.known = _KnownKinds()
        """The reducer of each type; None: pickle knows what to do."""
        self.dispatch_table = _OfLibraries.tables
        self.by_name: dict[int, Any] = {}
        """Classes and functions of which it is known that they go by their names, by identity."""

    def name(self, part: str, kind: str, reason: str) -> None:
        """Name a part of an object that will not come back."""
        self.named[part] = (kind, reason)

    @functools.cached_property
    def made_modules(self) -> Mapping[int, ModuleType]:
        """The modules that cells have made, by the identity of their variables; none lives longer for it."""
        return weakref.WeakValueDictionary(namespaces.made_modules())

    @functools.cached_property
    def variables(self) -> frozenset[int]:
        """The identities of what variables hold."""
        return frozenset(map(id, list(getattr(CurrentSession.main, "__dict__", {}).values())))

    @functools.cached_property
    def memory(self) -> shared_memory.OwnedMemory:
        """Whose memory is where."""
        return shared_memory.OwnedMemory()


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
    if module is None and (copy := generated_functions.copy_for(pickler, value)) is not None:
        return namespaces.reduce_function(value, copy)
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


def reduce_named(pickler: Any, value: Any) -> Any:
    """A class or a function: by its name, or by value."""
    if type(value) is FunctionType:
        reduced = reduce_stub(value) or library_patches.reduce_replaced(value) or _function(pickler, value)
    elif _ByName.has(value):
        reduced = NotImplemented
    else:
        made = library_patches.reduce_replaced_class(value) or ctypes_data.reduce_type(value)
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
