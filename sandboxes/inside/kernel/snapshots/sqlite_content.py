"""The content of sqlite databases in memory, read only if it may have changed.

Reading takes about a millisecond a megabyte. Sqlite counts the transactions that have written to a database, of
whatever kind (`SQLITE_FCNTL_DATA_VERSION`), which Python's module does not give away; so sqlite itself is asked, by the
pointer to its connection that the object of Python begins with. Where that is not there, all is read each time.
"""

import ctypes
import functools
import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

OLDEST, NEWEST = (3, 11), (3, 14)
"""The versions of CPython whose objects begin in this way."""
PLACE = object.__basicsize__
DATA_VERSION = 35
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
    version, cache = data_version(connection), cache_of(connection)
    if version is None or cache is None:
        return read()
    known = _known.get(cache)
    if known is None or known[0] != version:
        known = version, read()
        if len(known[1]) <= KEPT:
            _known[cache] = known
    return known[1]


def cache_of(connection: Any) -> Any:
    """The cache of its statements, which is made and goes with it; a connection itself has no weak references."""
    kind = type(functools.lru_cache(abs))
    return next((one for one in gc.get_referents(connection) if type(one) is kind), None)


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
def _calls() -> tuple[Any, Any] | None:
    """The calls of sqlite that it takes; None: they cannot be relied on."""
    sqlite3 = sys.modules["sqlite3"]
    if sys.implementation.name != "cpython" or not OLDEST <= sys.version_info[:2] <= NEWEST:
        return None
    try:
        library = ctypes.CDLL(sys.modules["_sqlite3"].__file__)
        library.sqlite3_libversion.restype = ctypes.c_char_p
        if library.sqlite3_libversion().decode() != sqlite3.sqlite_version:
            return None
        control, state = library.sqlite3_file_control, library.sqlite3_txn_state
    except (OSError, AttributeError):  # an older one, or one that is built in
        return None
    control.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p)
    state.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
    # Objects of connections that are open begin with pointers that differ, those of closed ones with none.
    one, other = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
    opened = {_pointer(one), _pointer(other)}
    one.close()
    other.close()
    is_there = len(opened) == 2 and 0 not in opened and not _pointer(one) and not _pointer(other)
    return (control, state) if is_there else None
