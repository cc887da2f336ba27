"""pandas, polars and pyarrow: what their own pickling copies, forgets or keeps in the stream."""

import importlib
import sys
from pickle import PicklingError
from typing import Any

from ..objects import instances

# Snapshots of earlier versions have these two names at this place.
from ..objects.attributes import reducer_for, with_hung
from ..objects.nans_and_sentinels import find_sentinel
from ..sql_text import quoted
from .figures import make_callbacks as make_callbacks
from .figures import set_callbacks as set_callbacks


def reduce_block(pickler: Any, block: Any) -> Any:
    """A block of a frame, with what it shares its memory with: pandas copies such memory before it writes."""
    return make_block, (block.values, block.mgr_locs.indexer, block.ndim, shared(block.refs))


def shared(refs: Any) -> Any:
    """The record of who shares memory; None when nobody does."""
    return refs if refs is not None and refs.has_reference() else None


def make_block(values: Any, places: Any, dimensions: int, refs: Any) -> Any:
    """A block as it was."""
    placement = importlib.import_module("pandas._libs.internals").BlockPlacement
    new_block = importlib.import_module("pandas.core.internals.blocks").new_block
    return new_block(values, placement(places), ndim=dimensions, refs=refs)


def reduce_refs(pickler: Any, refs: Any) -> Any:
    """An empty record; whoever shares enters itself again."""
    return type(refs), ()


def reduce_series_manager(pickler: Any, manager: Any) -> Any:
    """What a series holds: its block and its index."""
    return make_series_manager, (manager.blocks[0], manager.axes[0])


def make_series_manager(block: Any, axis: Any) -> Any:
    """What a series holds."""
    return importlib.import_module("pandas.core.internals.managers").SingleBlockManager(block, axis)


OF_FRAMES = frozenset({"_mgr", "_attrs", "_flags", "_name", "_metadata", "_cacher", "_item_cache", "_is_copy"})
OF_INDEXES = frozenset({"_data", "_name", "_cache", "_id", "_references", "_freq", "_range", "_levels", "_codes",
                        "_names", "sortorder"})  # fmt: skip
"""What pandas itself puts into frames and into indexes; what else is there was hung on them."""


def reduce_frame(pickler: Any, frame: Any) -> Any:
    """A frame or a series, with what was hung on it; and what its class names but nobody set stays so.

    The list of a class of one's own takes the place of that of pandas, which then forgets the name of a series.
    """
    reduced = frame.__reduce_ex__(5)
    state = reduced[2] if isinstance(reduced, tuple) and len(reduced) > 2 else None
    if not isinstance(state, dict):
        return reduced
    space = vars(frame)
    unset = [name for name in frame._metadata if name not in space and name in state and not hasattr(type(frame), name)]
    for name in unset:
        del state[name]
    hung = _hung(frame, OF_FRAMES)
    hung |= {name: space[name] for name in _base(frame)._metadata if name in space and name not in state}
    if noted := space.get("_attrs"):  # pandas would give it a copy, and whoever has `frame.attrs` another one
        hung["_attrs"] = noted
    return with_hung(reduced, hung)


def reduce_flags(pickler: Any, flags: Any) -> Any:
    """The flags of a frame or a series, which has them, and what hangs on them."""
    frame = flags._obj()
    if frame is None or vars(frame).get("_flags") is not flags:
        usual = reducer_for(type(flags)) or instances.reducer_of_held(type(flags))
        return NotImplemented if usual is None else usual(pickler, flags)
    more = {name: one for name, one in vars(flags).items() if name not in OF_FLAGS}
    return flags_of, (frame, flags.allows_duplicate_labels), more or None


OF_FLAGS = frozenset({"_obj", "_allows_duplicate_labels"})


def flags_of(frame: Any, allowed: bool) -> Any:
    """Those of a frame or a series; it has none yet where they are also among what hangs on it."""
    found = vars(frame).get("_flags")
    return sys.modules["pandas"].Flags(frame, allows_duplicate_labels=allowed) if found is None else found


def _hung(value: Any, own: frozenset[str]) -> dict[str, Any]:
    """What was hung on an object of pandas; earlier versions keep accessors beside it, under the names they go by."""
    space = vars(value)
    if space.keys() <= own:
        return {}
    kind, base = type(value), _base(value)
    names = [name for name in space if name not in own and not hasattr(base, name)]
    return {name: space[name] for name in names if base is not kind or name[0] != "_"}


def _base(value: Any) -> Any:
    """The class of pandas of which an object is."""
    return next(one for one in type(value).__mro__ if one.__module__.split(".")[0] == "pandas")


def reduce_index(pickler: Any, index: Any) -> Any:
    """An index that shares its memory with a series or another index, and what was hung on it."""
    reduced = index.__reduce__()
    if type(index).__name__ in OF_TIMES and type(index).__module__.split(".")[0] == "pandas":
        reduced = make_time_index, (type(index), index._data, index.freq, index.name)
    hung = _hung(index, OF_INDEXES)
    if parts := _held_parts(index):
        hung = {**hung, "_cache": parts}
        if type(index).__name__ == "IntervalIndex" and type(index).__module__.split(".")[0] == "pandas":
            reduced = make_interval_index, (type(index), index._data, index.name)
    refs = shared(vars(index).get("_references"))
    if refs is None or "_references" in vars(type(index)) or (len(reduced) > 2 and reduced[2] is not None):
        return with_hung(reduced, hung)
    return reduced[0], reduced[1], (refs, hung) if hung else (refs,), None, None, set_index_refs


PARTS = ("array", "left", "right", "levels")
"""What an index makes when it is first asked for, and gives each time then."""


def _held_parts(index: Any) -> dict[str, Any]:
    """Those of them that something else holds, too, or a part of which."""
    cache = vars(index).get("_cache") or {}
    found = {}
    for name in PARTS:
        if name in cache:
            items = cache[name] if isinstance(cache[name], list) else ()
            if _references(cache, name) > ALONE or any(_references(items, at) > ALONE for at in range(len(items))):
                found[name] = cache[name]
    return found


def _references(container: Any, key: Any) -> int:
    return sys.getrefcount(container[key])


ALONE = _references([object()], 0)
"""How often something is referred to that only its container has."""


def make_interval_index(kind: Any, values: Any, name: Any) -> Any:
    """An index of intervals over the array that has them."""
    return kind._simple_new(values, name)


OF_TIMES = ("DatetimeIndex", "TimedeltaIndex")


def make_time_index(kind: Any, values: Any, frequency: Any, name: Any) -> Any:
    """An index of times; where its frequency is kept differs from version to version."""
    return kind(values, freq=frequency, name=name, copy=False)


def set_index_refs(index: Any, state: Any) -> None:
    """Enter an index into the record of who shares its memory."""
    index._references = state[0]
    index._references.add_index_reference(index)
    index.__dict__.update(*state[1:])


def reduce_backed(pickler: Any, array: Any) -> Any:
    """An array of pandas over one of NumPy (dates, categories, periods): its own form is of one version only."""
    kind = type(array)
    if kind.__module__.split(".")[0] != "pandas":
        return NotImplemented
    attributes = {name: value for name, value in vars(array).items() if name != "_cache"}
    return make_backed, (kind, array._ndarray, array.dtype), attributes, None, None, set_backed


def make_backed(kind: Any, values: Any, dtype: Any) -> Any:
    """An array over another."""
    array = kind.__new__(kind)
    importlib.import_module("pandas._libs.arrays").NDArrayBacked.__init__(array, values, dtype)
    return array


def set_backed(array: Any, state: Any) -> None:
    """Give it its attributes; those that this version has always are there already."""
    if hasattr(type(array), "_freq"):
        array._freq = state.get("_freq")
    array.__dict__.update({name: value for name, value in state.items() if name != "_freq"})


def reduce_arrow_dtype(pickler: Any, dtype: Any) -> Any:
    """An arrow dtype of pandas by what it is made of."""
    return make_arrow_dtype, (dtype.pyarrow_dtype,)


def make_arrow_dtype(kind: Any) -> Any:
    """The dtype of this version."""
    return importlib.import_module("pandas").ArrowDtype(kind)


class _Nan:
    """Stands for the NaN of NumPy: a stream with a NaN in it is written twice, and slowly."""

    def __reduce__(self) -> Any:
        return find_sentinel, ("numpy", "nan")


def reduce_string_dtype(pickler: Any, dtype: Any) -> Any:
    """A dtype of strings by what it is made of."""
    missing = _Nan() if dtype.na_value is sys.modules["numpy"].nan else dtype.na_value
    return make_string_dtype, (dtype.storage, missing)


def make_string_dtype(storage: str, missing: Any) -> Any:
    """The dtype of this version; before pandas 2.3 there was one missing value only."""
    make = importlib.import_module("pandas").StringDtype
    try:
        return make(storage, na_value=missing)
    except TypeError:
        return make(storage)


def reduce_timezone(pickler: Any, zone: Any) -> Any:
    """A time zone of pytz, which another environment may not have."""
    if zone.zone is None or sys.modules["pytz"].timezone(zone.zone) is not zone:
        return NotImplemented
    return make_timezone, (zone.zone,)


def make_timezone(name: str) -> Any:
    """That time zone, of pytz where it is installed."""
    try:
        return importlib.import_module("pytz").timezone(name)
    except ImportError:
        return importlib.import_module("zoneinfo").ZoneInfo(name)


def reduce_shared_zone(pickler: Any, zone: Any) -> Any:
    """A time zone that dateutil gives to all who ask: of times with two of one another difference would be taken."""
    library = sys.modules["dateutil.tz"]
    known: dict[Any, Any] = vars(library.gettz).get("_GettzFunc__instances", {})
    name = next((name for name, one in list(known.items()) if one is zone), None)
    return (find_zone, (name,)) if name is not None and library.gettz(name) is zone else NotImplemented


def reduce_shared_offset(pickler: Any, zone: Any) -> Any:
    """A time zone of one offset, which dateutil gives to all who ask for that offset under that name."""
    kind = type(zone)
    if not kind.__module__.startswith("dateutil.") or vars(zone).keys() != {"_name", "_offset"}:
        return NotImplemented
    arguments = zone._name, zone._offset
    return (kind, arguments) if kind(*arguments) is zone else NotImplemented


def find_zone(name: Any) -> Any:
    """The time zone that dateutil gives for a name.

    Raises:
        LookupError: it is not known here.
    """
    zone = importlib.import_module("dateutil.tz").gettz(name)
    if zone is None:
        raise LookupError(f"the time zone {name} is not known here")
    return zone


def reduce_arrow_backed(pickler: Any, array: Any) -> Any:
    """A column in arrow's form. Its own pickling would copy all of it into one piece."""
    state = dict(array.__dict__)
    if "_cache" in state:
        state["_cache"] = {}
    return make_arrow_backed, (type(array),), state, None, None, set_arrow_backed


def make_arrow_backed(kind: Any) -> Any:
    """An empty column."""
    return kind.__new__(kind)


def set_arrow_backed(array: Any, state: Any) -> None:
    """Fill a column."""
    array.__dict__.update(state)


def reduce_polars_frame(pickler: Any, frame: Any) -> Any:
    """A polars frame through arrow, whose memory need not go through the stream; else as polars would."""
    polars = sys.modules["polars"]
    table = _arrow(frame)
    if table is None or polars.from_arrow(table).schema != frame.schema:
        return NotImplemented
    reduced = make_polars_frame, (type(frame), table, _sorted(frame.get_columns()))
    return with_hung(reduced, {name: value for name, value in vars(frame).items() if name != "_df"})


def reduce_polars_series(pickler: Any, series: Any) -> Any:
    """A polars series; see `reduce_polars_frame`."""
    polars = sys.modules["polars"]
    array = _arrow(series)
    if array is None or polars.from_arrow(array).dtype != series.dtype:
        return NotImplemented
    reduced = make_polars_series, (series.name, array, _sorted([series]))
    return with_hung(reduced, {name: value for name, value in vars(series).items() if name != "_s"})


OF_PYTHON = b"cloudpickle.cloudpickle"
"""What polars has a function of Python written by when it writes a query."""


def reduce_polars_query(pickler: Any, query: Any) -> Any:
    """A lazy frame or an expression; polars would freeze the variables that a function in it uses."""
    if OF_PYTHON in query.__getstate__():
        raise PicklingError("a query of polars with a function of Python in it")
    return NotImplemented


def _arrow(value: Any) -> Any:
    polars = sys.modules["polars"]
    try:
        return value.to_arrow(compat_level=polars.CompatLevel.newest())
    except Exception:  # without pyarrow, or a column of Python objects: polars has its own way
        return None


def _sorted(columns: list[Any]) -> dict[str, bool]:
    """Columns of which polars knows that they are sorted, and whether that is downwards; arrow does not say it."""
    flags = {one.name: one.flags for one in columns}
    return {name: one["SORTED_DESC"] for name, one in flags.items() if one["SORTED_ASC"] or one["SORTED_DESC"]}


def make_polars_frame(kind: Any, table: Any, in_order: dict[str, bool] | None = None) -> Any:
    """A polars frame from an arrow table; earlier snapshots do not say which columns are sorted."""
    import polars

    frame: Any = polars.from_arrow(table)
    frame = frame.with_columns(frame[name].set_sorted(descending=down) for name, down in (in_order or {}).items())
    return frame if type(frame) is kind else kind._from_pydf(frame._df)


def make_polars_series(name: str, array: Any, in_order: dict[str, bool] | None = None) -> Any:
    """A polars series from an arrow array."""
    import polars

    made: Any = polars.from_arrow(array)
    for down in (in_order or {}).values():
        made = made.set_sorted(descending=down)
    return made.alias(name)


def reduce_polars_context(_pickler: Any, context: Any) -> Any:
    """The tables of a context for SQL, as queries."""
    wrap = sys.modules["polars"].LazyFrame._from_pyldf
    tables = {name: wrap(context.execute(f"select * from {quoted(name)}")) for name in context.get_tables()}
    return make_polars_context, (tables,)


def make_polars_context(tables: dict[str, Any]) -> Any:
    """A context with these tables."""
    context = importlib.import_module("polars._plr").PySQLContext.new()
    for name, query in tables.items():
        context.register(name, query._ldf)
    return context
