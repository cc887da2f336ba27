"""The content of sqlite databases in memory, read only if it may have changed.

Reading takes about a millisecond a megabyte. Sqlite counts the transactions that have written to a database, of
whatever kind (`SQLITE_FCNTL_DATA_VERSION`), which Python's module does not give away; so sqlite itself is asked, by the
pointer to its connection that the object of Python begins with. Where that is not there, all is read each time.
"""

import contextlib
import ctypes
import functools
import gc
import sys
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..other_threads import may_reach

OLDEST, NEWEST = (3, 11), (3, 14)
"""The versions of CPython whose objects begin in this way."""
PLACE = object.__basicsize__
WORD = ctypes.sizeof(ctypes.c_void_p)
DATA_VERSION, ENABLE_TRIGGER = 35, 1003
STATES = {
    "select 1": (0, 0), "begin": (0, 0), "begin; savepoint a": (1, 0), "begin; savepoint a; savepoint b": (2, 0),
    "begin; savepoint a; savepoint b; savepoint c": (3, 0), "savepoint a": (0, 1), "savepoint a; savepoint b": (1, 1),
}  # fmt: skip
"""Statements, how many savepoints there are then but for one that began the transaction, and whether one did."""
KEPT = 16 << 20
"""Bytes of a database that are kept beside it as long as it does not change; larger ones are read for each snapshot."""


_known: "weakref.WeakKeyDictionary[Any, tuple[int, bytearray]]" = weakref.WeakKeyDictionary()
"""The version that a database in memory had, and what it held, by the connection's cache of statements."""


def content_of(connection: Any, read: Callable[[], bytearray]) -> bytearray:
    """The content of a database in memory, which no other thread uses.

    Args:
        connection: One to it, which sees nothing that others have not committed, and was not made by `deserialize`.
        read: Reads it.
    """
    version, cache = data_version(connection), _cache_of(connection)
    if version is None or cache is None:
        return read()
    known = _known.get(cache)
    if known is None or known[0] != version:
        known = version, read()
        if len(known[1]) <= KEPT:
            _known[cache] = known
    return known[1]


def _cache_of(connection: Any) -> Any:
    """The cache of its statements, which is made and goes with it; a connection itself has no weak references."""
    kind = type(functools.lru_cache(abs))
    return next((one for one in gc.get_referents(connection) if type(one) is kind), None)


def transaction_state(connection: Any, database: bytes | None = b"main") -> int | None:
    """Whether its transaction has read (1) or written, or may write (2), or neither (0); None: that is not known.

    Args:
        connection: The connection.
        database: Of which of its databases; None: the highest of all.
    """
    calls = _calls()
    pointer = _pointer(connection) if calls is not None else 0
    return int(calls[1](pointer, database)) if calls is not None and pointer else None


def savepoints(connection: Any) -> int | None:
    """How many a transaction has, counting one that it was begun with; None: that is not known."""
    places, pointer = _places_of_savepoints(), _pointer(connection)
    if places is None or not pointer:
        return None
    number = ctypes.c_int.from_address(pointer + places[0]).value
    return number + ctypes.c_ubyte.from_address(pointer + places[1]).value


@functools.cache
def _places_of_savepoints() -> tuple[int, int] | None:
    """Where sqlite's object of a connection has the number of its savepoints, and whether it was begun with one.

    No call tells it; so it is looked for in what changes with savepoints, and with nothing else.
    """
    calls = _calls()
    if calls is None:
        return None
    size: Any = calls[3]
    found = [set[int](), set[int]()]
    for turn in range(2):
        with contextlib.closing(sys.modules["sqlite3"].connect(":memory:", isolation_level=None)) as connection:
            pointer = _pointer(connection)
            length = int(size(pointer))
            seen = []
            for statement in list(STATES)[:: 1 if turn else -1]:
                for one in statement.split(";"):
                    connection.execute(one)
                seen.append((statement, ctypes.string_at(pointer, length)))
                if connection.in_transaction:
                    connection.execute("rollback")
            numbers = {
                place
                for place in range(0, length - 3, 4)
                if all(int.from_bytes(image[place : place + 4], sys.byteorder) == STATES[one][0] for one, image in seen)
            }
            begun = {place for place in range(length) if all(image[place] == STATES[one][1] for one, image in seen)}
        found = [numbers & found[0], begun & found[1]] if turn else [numbers, begun]
    return (found[0].pop(), found[1].pop()) if all(len(places) == 1 for places in found) else None


class Opened(NamedTuple):
    """How a connection was opened."""

    detect_types: int
    is_of_one_thread: bool
    """Whether only the thread that opened it may use it."""


def opened(connection: Any) -> Opened | None:
    """How a connection was opened; None: that is not known."""
    places = _places_of_options()
    if places is None:
        return None
    types, checks = (ctypes.c_int.from_address(id(connection) + place).value for place in places)
    return Opened(types, bool(checks))


@functools.cache
def _places_of_options() -> tuple[int, int] | None:
    """Where Python's object of a connection has `detect_types` and `check_same_thread`."""
    sqlite3 = sys.modules["sqlite3"]
    if sys.implementation.name != "cpython" or not OLDEST <= sys.version_info[:2] <= NEWEST:
        return None
    options = [(types, checks) for types in range(4) for checks in (False, True)]
    images = []
    for types, checks in options:
        connection = sqlite3.connect(":memory:", detect_types=types, check_same_thread=checks)
        images.append(ctypes.string_at(id(connection), sqlite3.Connection.__basicsize__))
        connection.close()

    def found(which: int) -> list[int]:
        wanted, size = [int(one[which]) for one in options], ctypes.sizeof(ctypes.c_int)
        return [
            place
            for place in range(PLACE, sqlite3.Connection.__basicsize__ - size + 1, size)
            if [int.from_bytes(image[place : place + size], sys.byteorder) for image in images] == wanted
        ]

    places = found(0), found(1)
    return (places[0][0], places[1][0]) if all(len(one) == 1 for one in places) else None


def is_of_others(connection: Any) -> bool:
    """Whether another thread may be about to use a connection, which both would have to wait for.

    One of the two may do so with Python's lock, while the other one has sqlite's and waits for Python's.
    """
    known = opened(connection)
    return (known is None or not known.is_of_one_thread) and may_reach(connection)


OF_OTHERS = "a database connection that other threads, which are running, may use"


@contextlib.contextmanager
def without_progress(connection: Any) -> Iterator[int]:
    """Let no handler of progress be called meanwhile.

    Yields:
        After how many instructions it is called; 0: that is not known, and it is called.
    """
    places, pointer = _places_of_progress(), _pointer(connection)
    if places is None or not pointer:
        yield 0
        return
    called = ctypes.c_size_t.from_address(pointer + places[0])
    before, called.value = called.value, 0
    try:
        yield ctypes.c_uint.from_address(pointer + places[1]).value
    finally:
        called.value = before


@functools.cache
def _places_of_progress() -> tuple[int, int] | None:
    """Where sqlite's object of a connection has what it calls for progress, and after how many instructions."""
    calls = _calls()
    if calls is None:
        return None
    size: Any = calls[3]
    numbers = (0, 1_000_003, 777, 0)
    with contextlib.closing(sys.modules["sqlite3"].connect(":memory:")) as connection:
        pointer, images = _pointer(connection), list[bytes]()
        for number in numbers:
            connection.set_progress_handler((lambda: 0) if number else None, number)
            images.append(ctypes.string_at(pointer, int(size(pointer))))

    def at(place: int, width: int) -> list[int]:
        return [int.from_bytes(image[place : place + width], sys.byteorder) for image in images]

    length = len(images[0])
    counts = [place for place in range(0, length - 3, 4) if at(place, 4) == list(numbers)]
    callbacks = [
        place
        for place in range(0, length - WORD + 1, WORD)
        if (found := at(place, WORD))[1] and found[1:3] == found[1:2] * 2 and found[0] == found[3] == 0
    ]
    return (callbacks[0], counts[0]) if len(callbacks) == len(counts) == 1 else None


@contextlib.contextmanager
def without_triggers(connection: Any) -> Iterator[None]:
    """Let nothing that is done to rows call a trigger meanwhile."""
    calls = _calls()
    if calls is None:
        raise ValueError("its triggers cannot be switched off")
    pointer, was, now = _pointer(connection), ctypes.c_int(1), ctypes.c_int(1)
    calls[2](pointer, ENABLE_TRIGGER, -1, ctypes.byref(was))
    calls[2](pointer, ENABLE_TRIGGER, 0, ctypes.byref(now))
    try:
        if now.value:
            raise ValueError("its triggers cannot be switched off")
        yield
    finally:
        calls[2](pointer, ENABLE_TRIGGER, was.value, ctypes.byref(now))


def is_read_only(connection: Any, database: str) -> bool | None:
    """Whether one of its databases was opened for reading; None: that is not known."""
    calls = _calls()
    answer = calls[6](_pointer(connection), database.encode()) if calls is not None else -1
    return bool(answer) if answer in (0, 1) else None


def only_reads(statement: Any, connection: Any) -> bool:
    """Whether a statement that is running writes nothing; False, too, if that is not known."""
    calls = _calls()
    if calls is None:
        return False
    pointer = int(ctypes.c_size_t.from_address(id(statement) + PLACE).value)
    return bool(pointer and calls[4](pointer) == _pointer(connection) and calls[5](pointer))


def data_version(connection: Any) -> int | None:
    """How many transactions have written to its database; None: it is not known, or one may be about to."""
    calls = _calls()
    if calls is None:
        return None
    pointer = _pointer(connection)
    found = ctypes.c_uint(0)
    if not pointer or calls[1](pointer, None) or calls[0](pointer, b"main", DATA_VERSION, ctypes.byref(found)):
        return None
    return found.value


def _pointer(connection: Any) -> int:
    return int(ctypes.c_size_t.from_address(id(connection) + PLACE).value)


@functools.cache
def _calls() -> tuple[Any, ...] | None:
    """The calls of sqlite that it takes; None: they cannot be relied on."""
    sqlite3 = sys.modules["sqlite3"]
    if sys.implementation.name != "cpython" or not OLDEST <= sys.version_info[:2] <= NEWEST:
        return None
    try:
        library = ctypes.CDLL(sys.modules["_sqlite3"].__file__)
        library.sqlite3_libversion.restype = ctypes.c_char_p
        if library.sqlite3_libversion().decode() != sqlite3.sqlite_version:
            return None
        control, state, config = library.sqlite3_file_control, library.sqlite3_txn_state, library.sqlite3_db_config
        size, owner, reads = library.sqlite3_msize, library.sqlite3_db_handle, library.sqlite3_stmt_readonly
        read_only = library.sqlite3_db_readonly
    except (OSError, AttributeError):  # an older one, or one that is built in
        return None
    control.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p)
    state.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
    size.argtypes, size.restype = (ctypes.c_void_p,), ctypes.c_uint64
    owner.argtypes, owner.restype = (ctypes.c_void_p,), ctypes.c_size_t
    reads.argtypes = (ctypes.c_void_p,)
    read_only.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
    config.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.POINTER(ctypes.c_int))
    # Objects of connections that are open begin with pointers that differ, those of closed ones with none.
    one, other = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
    opened = {_pointer(one), _pointer(other)}
    one.close()
    other.close()
    is_there = len(opened) == 2 and 0 not in opened and not _pointer(one) and not _pointer(other)
    return (control, state, config, size, owner, reads, read_only) if is_there else None
