"""Units: groups of variables that share objects, each pickled as one stream, so that what is shared stays shared.

Nothing is taken for unchanged because of what a cell looks like: all is pickled at each snapshot, but what
`unchanged_objects` has compared word by word. Which variables belong together follows from their streams: two that
share an object are pickled again as one. A group stays a group while its names stay bound to the same objects.
"""

import sys
import threading
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, TypeVar

from ..dict_contents import is_alone
from .current_session import CurrentSession
from .data.object_arrays import whole_of
from .objects.classes import is_users
from .objects.id_numbers import may_be_one
from .other_threads import depth, waited_for
from .pickling import Stream
from .reducers import Reducers
from .storing.manifest import Place
from .storing.unchanged_objects import UnchangedObjects, UnchangedStream

ROOM = 512 << 20
"""Bytes of stack; only what is used takes memory."""
LEVELS = 200_000
"""As many as it bears."""
SAFE = 3_000
"""Levels that the stack of a thread bears which is as large as usual."""

Result = TypeVar("Result")


def is_recursion_error(error: BaseException) -> bool:
    """Whether it failed because of its depth only; cloudpickle says that in its own words."""
    return isinstance(error, RecursionError) or isinstance(error.__cause__, RecursionError)


def with_large_stack(call: Callable[[], Result]) -> Result:
    """Call something in a thread with a large stack.

    Raises:
        BaseException: what it raised.
    """
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:  # carried over to the thread that waits
            errors.append(error)

    levels, size = sys.getrecursionlimit(), threading.stack_size(ROOM)
    try:
        thread = threading.Thread(target=run, daemon=True)
        sys.setrecursionlimit(LEVELS if levels < LEVELS or is_alone() else levels)
        with waited_for():
            thread.start()
            thread.join()
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(levels)
    if errors:
        raise errors[0]
    return results[0]


PLAIN = (str, int, float, bool, complex, bytes, type(None))
"""Types of single values that share nothing worth keeping."""
SMALL = 1_000
"""Characters of a plain value that goes into the common unit of such values."""
VALUES: frozenset[type] = frozenset(
    {*PLAIN, range, slice, BuiltinFunctionType, ModuleType, type(...), type(NotImplemented)}
)

ASKED = 4
"""For how many objects of a unit its memo is copied in the time of asking it for one."""

Names = tuple[str, ...]


DESCRIPTIONS = (
    ("numpy", "dtype"),
    ("pandas.core.dtypes.base", "ExtensionDtype"),
    ("pandas._libs.tslibs.offsets", "BaseOffset"),
    ("pandas._libs.missing", "NAType"),
    ("pandas._libs.tslibs.nattype", "NaTType"),
    ("pyarrow", "DataType"),
    ("pyarrow", "Schema"),
    ("datetime", "tzinfo"),
)
"""Types of libraries that describe values and cannot be changed: what frames have in common of them is no link."""
OF_CYTHON = "cython_function_or_method"


class NamedKinds:
    """Knows what a stream would hold the same, whoever else has it: plain values, and what goes by its name."""

    def __init__(self) -> None:
        known = [getattr(sys.modules.get(module), name, None) for module, name in DESCRIPTIONS]
        self._descriptions = tuple(kind for kind in known if isinstance(kind, type))
        self._kinds: dict[type, bool] = {}
        pandas = sys.modules.get("pandas")
        kinds = [getattr(pandas, name, None) for name in ("Series", "DataFrame")]
        self._of_libraries = {id(getattr(kind, "_metadata", None)) for kind in kinds if isinstance(kind, type)}

    def has(self, value: Any) -> bool:
        """Whether it is such a value."""
        kind = type(value)
        known = self._kinds.get(kind)
        if known is not None:
            return known
        if kind is float:  # of floats, only a NaN has a place among them
            return False
        if kind is complex:
            return bool(value == value)
        if kind is tuple:  # a constant of some code, mostly
            return all(type(item) in VALUES for item in value)
        if kind is list:
            return id(value) in self._of_libraries
        of_library = issubclass(kind, self._descriptions) and not is_users(kind)
        known = kind in VALUES or kind is FunctionType or issubclass(kind, type) or of_library
        self._kinds[kind] = known = known or kind.__name__ == OF_CYTHON
        return known


class Unit:
    """Some variables that were pickled together."""

    def __init__(self, names: Names, stream: Stream | UnchangedStream, roots: dict[str, Any]) -> None:
        self.names = names
        self.plain = not roots
        """Whether it holds single small values only, which share nothing."""
        self.stream = stream
        self._table = stream.table() if roots else None
        self._memo: dict[int, tuple[int, Any]] | None = None
        self.roots = {id(value) for value in roots.values() if type(value) not in VALUES and self.holds(id(value))}

    @property
    def is_unchanged(self) -> bool:
        """Whether it is as the last snapshot had it, and was not pickled again.

        It can only be asked, not walked through; and it shares nothing with others that are unchanged, or it would have
        been pickled with them.
        """
        return isinstance(self.stream, UnchangedStream)

    @property
    def size(self) -> int:
        """How many objects it holds."""
        return 0 if self._table is None else len(self._table)

    def holds(self, identity: int) -> bool:
        """Whether an object is in it."""
        if self._memo is not None:
            return identity in self._memo
        if self._table is None:
            return False
        nans = self.stream.nans
        if nans is not None and identity in nans.own:
            return True
        return identity in self._table and self.stream.is_own(identity)

    def forget(self) -> None:
        """Do not be asked again."""
        self._table, self._memo, self.roots = None, None, set()

    @property
    def memo(self) -> dict[int, tuple[int, Any]]:
        """All objects in it, by identity; it cannot be asked of one that is unchanged."""
        if self._memo is None:
            self._memo = self.stream.memo() if self._table is not None and isinstance(self.stream, Stream) else {}
        return self._memo

    @property
    def identities(self) -> set[int]:
        """Numbers in it that may be the identities of objects of other units."""
        return self.stream.identities if isinstance(self.stream, Stream) else set()

    def is_worth_copying(self, others: int) -> bool:
        """Whether its memo is copied in less time than it takes to ask it for so many objects."""
        return isinstance(self.stream, Stream) and (self.stream.is_copied or self.size <= ASKED * others)


class Partition:
    """Remembers from snapshot to snapshot which variables belong together.

    Args:
        unchanged: Recognises groups that need not be pickled.
    """

    def __init__(self, unchanged: UnchangedObjects) -> None:
        self._unchanged = unchanged
        self._groups: list[Names] = []
        self._bound: dict[str, int] = {}
        self.with_nans: frozenset[str] = frozenset()
        self.read_anew: tuple[str, ...] = ()
        """Names of settings whose containers were made when they were read, so that nobody else has them."""
        self.read_alone: frozenset[str] = frozenset()
        """Those of them that stay units of their own all the same."""
        self.named: dict[str, tuple[str, str]] = {}
        """What of the variables will not come back although they do: name → type, reason."""

    def take(self, values: dict[str, Any], reasons: dict[str, str]) -> list[Unit]:
        """Pickle variables.

        Args:
            values: The variables, in the order in which they are to come back.
            reasons: Filled with what cannot be pickled, and why.

        Returns:
            The units, with all variables that can be pickled.
        """
        self.named = {}
        self._unchanged.begin()
        units = self._merge(self._begin(values, reasons), values, reasons)
        order = {name: place for place, name in enumerate(values)}
        units.sort(key=lambda unit: min(order[name] for name in unit.names))
        self.with_nans = frozenset(name for unit in units if unit.stream.nans for name in unit.names)
        for unit in units:
            unit.forget()
        self._groups = [unit.names for unit in units if len(unit.names) > 1]
        self._bound = {name: id(value) for name, value in values.items()}
        return units

    def _begin(self, values: dict[str, Any], reasons: dict[str, str]) -> list[Unit]:
        plain = tuple(name for name, value in values.items() if _is_small(value))
        settings = tuple(name for name in self.read_anew if name in values and _is_plain_setting(values[name]))
        among = frozenset((*plain, *settings))
        left = {name: value for name, value in values.items() if name not in among}
        seeds: list[Names] = []
        for group in self._groups:
            kept = tuple(name for name in group if name in left and self._bound.get(name) == id(left[name]))
            seeds += [kept] if kept else []
            for name in kept:
                del left[name]
        same: dict[int, list[str]] = {}
        for name, value in left.items():
            same.setdefault(id(whole_of(value)), []).append(name)
        seeds += [tuple(names) for names in same.values()]
        reducers = Reducers(self.with_nans)
        reducers.named = self.named
        units = [unit for names in seeds for unit in self._find_or_pickle(names, values, reducers, reasons)]
        together = tuple(name for name in settings if name not in plain and name not in self.read_alone)
        alone = [(name,) for name in settings if name in self.read_alone]
        for names in (plain, together, *alone):
            if names:
                units.append(Unit(names, Stream({name: values[name] for name in names}, reducers), {}))
        return units

    def _find_or_pickle(
        self, names: Names, values: dict[str, Any], reducers: Reducers, reasons: dict[str, str]
    ) -> list[Unit]:
        if (stream := self._unchanged.find(names, values, reducers.special)) is not None:
            return [Unit(names, stream, {name: values[name] for name in names})]
        units = _pickle(names, values, reducers, reasons)
        if len(units) == 1 and units[0].names == names:
            self._unchanged.look(names, values, units[0].stream, reducers.special)
        return units

    def settle(self, places: dict[Names, Place]) -> None:
        """The snapshot was written; see `UnchangedObjects.settle`."""
        self._unchanged.settle(places)

    def _merge(self, units: list[Unit], values: dict[str, Any], reasons: dict[str, str]) -> list[Unit]:
        """Pickle together what shares objects, until nothing does."""
        while True:
            groups = _connected(units)
            if all(len(group) == 1 for group in groups):
                return units
            merged: list[Unit] = []
            for group in groups:
                if len(group) == 1:
                    merged += group
                    continue
                held = {name for unit in group for name in unit.names}
                names = tuple(name for name in values if name in held)
                reducers = Reducers(self.with_nans)
                reducers.named = self.named
                merged += _pickle(names, values, reducers, reasons)
            if len(merged) >= len(units):  # pickling that gives other objects each time would never settle
                return merged
            units = merged


MANY = 64
"""Items of a container of settings at most; random states are not put together with what hardly ever changes."""


def _is_plain_setting(value: Any) -> bool:
    """Whether a setting is small values and nothing else, in a container or in a tuple of them.

    What a user gave a library is within another container, if it is kept as it was given.
    """
    if type(value) is tuple and len(value) <= MANY:
        return all(_is_small(item) or _holds_values(item) for item in value)
    return _holds_values(value)


def _holds_values(value: Any) -> bool:
    if type(value) not in (dict, list) or len(value) > MANY:
        return False
    return all(map(_is_small, value)) and (type(value) is list or all(map(_is_small, value.values())))


def _is_small(value: Any) -> bool:
    kind = type(value)
    if kind is int and CurrentSession.asks_for_identities and may_be_one(value):
        return False
    if kind not in PLAIN or (kind in (float, complex) and value != value):
        return False
    return kind not in (str, bytes, int) or sys.getsizeof(value) <= SMALL


def _connected(units: list[Unit]) -> list[list[Unit]]:
    """Units by what they share. The largest memo is only asked, not walked through, or that of the unchanged."""
    parent = list(range(len(units)))

    def find(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    order = sorted(range(len(units)), key=lambda index: (units[index].is_unchanged, units[index].size))
    asked = set(order[len(units) - max(1, sum(unit.is_unchanged for unit in units)) :])
    by_value = set[int]().union(*(unit.stream.by_value for unit in units))
    roots = {identity for unit in units for identity in unit.roots}
    is_named = NamedKinds().has
    holders: dict[int, int] = {}
    """By identity, the last unit that has an object, of those that are walked through."""
    memos: dict[int, dict[int, tuple[int, Any]]] = {}

    def links(identity: int) -> bool:
        return not is_named(memos[holders[identity]][identity][1]) or identity in roots or identity in by_value

    for index in order:
        unit = units[index]
        if index not in asked or unit.is_worth_copying(len(holders)):
            left = unit.memo.keys() & holders.keys()
        else:
            left = set(filter(unit.holds, filter(links, holders)))
        while (shared := next(filter(links, left), None)) is not None:
            other = holders[shared]
            parent[find(index)] = find(other)
            left = left - units[other].memo.keys()
        if index not in asked:
            memos[index] = unit.memo
            holders |= dict.fromkeys(memos[index], index)
    for index, number in [(index, number) for index, unit in enumerate(units) for number in unit.identities]:
        having = {other for other in asked if units[other].holds(number)}
        for other in having | ({holders[number]} if number in holders and links(number) else set()):
            parent[find(index)] = find(other)
    groups: dict[int, list[Unit]] = {}
    for index, unit in enumerate(units):
        groups.setdefault(find(index), []).append(unit)
    return list(groups.values())


def _pickle(names: Iterable[str], values: dict[str, Any], reducers: Reducers, reasons: dict[str, str]) -> list[Unit]:
    """One unit; when that fails, those of its variables that can be pickled, each by itself."""
    wanted = {name: values[name] for name in names}
    reducers.not_asked.clear()
    try:
        return [Unit(tuple(wanted), _stream(wanted, reducers), wanted)]
    except (Exception, SystemExit) as error:  # pickling runs the code of whatever it meets
        if (unit := _as_classes_say(wanted, reducers)) is not None:
            return [unit]
        if len(wanted) == 1:
            reasons[next(iter(wanted))] = reason_of(error)
            return []
    return [unit for name in wanted for unit in _pickle((name,), values, reducers, reasons)]


def _as_classes_say(wanted: dict[str, Any], reducers: Reducers) -> Unit | None:
    """One unit, for which classes of cells in it are asked what to keep of their objects; None: that fails, too."""
    kinds = reducers.not_asked - set(reducers.asked)
    if not kinds:
        return None
    reducers.asked.update(kinds)
    try:
        unit = Unit(tuple(wanted), _stream(wanted, reducers), wanted)
    except (Exception, SystemExit):
        reducers.asked.difference_update(kinds)
        return None
    is_small = 1 < len(kinds) <= MOST_KINDS and unit.stream.size <= MOST_BYTES
    return _asking_few(unit, kinds, wanted, reducers) if is_small else unit


MOST_KINDS, MOST_BYTES = 10, 1 << 20
"""Classes, and size of a stream, up to which it is tried out which of them have to be asked."""


def _asking_few(unit: Unit, kinds: set[Any], wanted: dict[str, Any], reducers: Reducers) -> Unit:
    """The unit again, for which no class is asked whose objects can be kept whole. It is found out once."""
    for kind in kinds:
        reducers.asked.discard(kind)
        try:
            unit = Unit(tuple(wanted), _stream(wanted, reducers), wanted)
        except (Exception, SystemExit):
            reducers.asked.add(kind)
    return unit


def _stream(wanted: dict[str, Any], reducers: Reducers) -> Stream:
    """The stream of variables; deep ones by a thread whose stack bears it, whatever limit cells have set."""
    levels = sys.getrecursionlimit()
    # The limit is that of all threads: where there are others, calls of this one use up what is too much for its stack.
    lowered = SAFE if is_alone() else MOST_CALLS
    if levels > SAFE and depth() > lowered // 2:
        return with_large_stack(lambda: Stream(wanted, reducers))
    try:
        sys.setrecursionlimit(min(levels, lowered))
        return _deeper(min(levels, lowered) - SAFE, lambda: Stream(wanted, reducers))
    except Exception as error:
        if not is_recursion_error(error):
            raise
    finally:
        sys.setrecursionlimit(levels)
    return with_large_stack(lambda: Stream(wanted, reducers))


MOST_CALLS = 100_000
"""Calls that other threads may always make; Python's own take nothing of the stack, only memory."""


def _deeper(calls: int, make: Callable[[], Stream]) -> Stream:
    return make() if calls <= 0 else _deeper(calls - 1, make)


def stream_of(wanted: dict[str, Any], with_nans: frozenset[str]) -> Stream:
    """The variables of a unit as `Partition` pickled them."""
    return _stream(wanted, Reducers(with_nans))


def reason_of(error: BaseException) -> str:
    """An exception as a reason."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # the user's __str__ may raise anything
        text = ""
    text = text[:300]
    return text if type(error).__name__ == "PicklingError" and text else f"{type(error).__name__}: {text}".strip(": ")
