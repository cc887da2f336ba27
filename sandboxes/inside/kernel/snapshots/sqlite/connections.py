"""Connections of sqlite: what is kept of one, and how it is made again."""

import contextlib
import fcntl
import functools
import gc
import os
import re
import sys
import weakref
from collections.abc import Iterator
from pickle import PickleBuffer, PicklingError
from typing import Any

from ...dict_contents import is_alone
from ..current_session import CurrentSession, existing, portable_path
from ..files.locks import descriptors_of
from ..sql_text import quoted
from .attached import JOURNALS, USUAL, Beside, beside, inserted, put_beside, uses
from .changes import rows_of
from .functions import (
    CALLBACKS,
    DETERMINISTIC,
    Call,
    as_text,
    call_again,
    known_to,
    may_be_taught_elsewhere,
    silenced,
    usually_known,
    written_in_cells,
)
from .internals import OF_OTHERS, content_of, is_of_others, is_read_only, opened, transaction_state
from .transactions import (
    NOTHING_YET,
    TITLE,
    WRITES,
    begun_by,
    count_up,
    counts_of,
    may_be_looked_at,
    out_of_transaction,
    resume,
)

PRAGMAS = (
    "foreign_keys", "recursive_triggers", "busy_timeout", "cache_size", "temp_store", "synchronous", "read_uncommitted",
    "query_only", "ignore_check_constraints", "legacy_alter_table", "reverse_unordered_selects", "automatic_index",
    "cell_size_check", "secure_delete", "trusted_schema", "writable_schema", "full_column_names", "mmap_size",
)  # fmt: skip
"""Settings of a connection; those of a database are in its pages."""
PATIENCE, SHORT = "busy_timeout", 200
"""How long a connection waits for others, and how long a snapshot lets it wait, in milliseconds."""
TEMPORARY = "select 1 from temp.sqlite_master limit 1"
COUNTED_OTHERWISE = "a sqlite connection counts the rows that were put in anew, and cannot count on as before"
FOREIGN_KEYS, LAST = LATE = "foreign_keys", "query_only"
"""What would keep rows from being put in; after the last one nothing can be changed any more."""


@functools.cache
def _usual_pragmas() -> dict[str, Any]:
    """Those of a connection that nobody has changed."""
    with contextlib.closing(sys.modules["sqlite3"].connect(":memory:")) as connection:
        return _pragmas(connection)


def _pragmas(connection: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in PRAGMAS:
        row = rows_of(connection, f"pragma {name}")
        found[name] = row[0][0] if row else None
    # This one can be set and not be asked for.
    found["case_sensitive_like"] = int(not rows_of(connection, "select 'a' like 'A'")[0][0])
    return found


def _limits(connection: Any) -> dict[int, int]:
    """The limits of a connection that somebody has changed."""
    usual = _usual_limits()
    return {which: now for which, most in usual.items() if (now := connection.getlimit(which)) != most}


@functools.cache
def _usual_limits() -> dict[int, int]:
    sqlite3 = sys.modules["sqlite3"]
    known = [value for name, value in vars(sqlite3).items() if name.startswith("SQLITE_LIMIT_")]
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        return {which: connection.getlimit(which) for which in known}


def _taught(
    pickler: Any, connection: Any, callbacks: dict[str, tuple[Any, ...]], others: Beside | None
) -> tuple[Call, ...]:
    """How a connection is taught what it was taught; functions and the like are named where the code does not tell."""
    functions, collations = (one - usual for one, usual in zip(known_to(connection), usually_known(), strict=True))
    calls, lost = list[Call](), set[tuple[str, str]]()
    if not (functions or collations or callbacks):
        return ()
    written, kind = written_in_cells(), type(connection)
    is_asked = kind in pickler.reducers.asked  # what it was taught cannot be kept with it
    if not is_asked:
        pickler.reducers.not_asked.add(kind)
    is_unsure = is_asked or may_be_taught_elsewhere(kind)
    for name, arguments, flags in sorted(functions):
        if is_unsure or (found := written.find(name, arguments)) is None:
            lost |= {(name, "function")} if name not in OF_A_PRAGMA else set()
        else:
            options = {"deterministic": True} if flags & DETERMINISTIC and found[0] == "create_function" else {}
            calls.append((found[0], (name, arguments, found[1]), options))
    for name, *_ in sorted(collations):
        if is_unsure or (found := written.find(name, None)) is None:
            lost.add((name, "collation"))
        else:
            calls.append((found[0], (name, found[1]), {}))
    if others is not None and uses(others, lost):
        raise PicklingError("a database connection whose temporary tables use functions or collations of yours")
    for method, given in callbacks.items():
        if is_asked or not given:
            why = "a sqlite connection does not tell which callbacks it has, or one cannot be kept; set them again"
            pickler.reducers.name("sqlite's callbacks", "functions", why)
        else:
            calls.append((method, given, {}))
    for name, what in sorted(lost):
        why = f"it was added to a sqlite connection; call create_{what} again"
        pickler.reducers.name(f"sqlite's {name}", what, why)
    return tuple(calls)


OF_A_PRAGMA = frozenset({"like"})
"""Functions that a setting puts there."""


def reduce_sqlite(pickler: Any, connection: Any) -> Any:
    """A sqlite connection."""
    if is_of_others(connection):
        raise PicklingError(OF_OTHERS)
    try:
        with (
            silenced(connection) as heard,
            out_of_transaction(connection) as is_begun,
            _without_patience(connection) as patience,
        ):
            return _reduce_sqlite(pickler, connection, heard, patience, is_begun)
    except sys.modules["sqlite3"].ProgrammingError as error:
        if "closed" in str(error):
            return make_closed_sqlite, ()
        raise


def _reduce_sqlite(
    pickler: Any, connection: Any, heard: dict[str, tuple[Any, ...]], patience: int, is_begun: bool
) -> Any:
    databases = [(as_text(name), as_text(path)) for _, name, path in rows_of(connection, "pragma database_list")]
    if connection.in_transaction and not may_be_looked_at(connection):
        raise PicklingError(f"{TITLE}; commit or roll back first")
    is_writing = not connection.in_transaction and transaction_state(connection) == WRITES
    if is_writing and not _has_open_blob(connection):
        raise PicklingError("a database connection with a statement that is still writing; fetch all of its rows")
    others = None if connection.in_transaction else beside(connection, databases)
    has_temporary = "temp" in dict(databases) and rows_of(connection, TEMPORARY)  # asked for them, it would make them
    if connection.in_transaction and (has_temporary or not dict(databases).keys() <= set(USUAL)):
        raise PicklingError(f"{TITLE}, with other databases attached or temporary tables")
    taught = _taught(pickler, connection, heard, others)
    usual = _usual_pragmas()
    now = _pragmas(connection) | {PATIENCE: patience}
    settings = {name: value for name, value in now.items() if value != usual[name]}
    path = next(path for name, path in databases if name == "main")
    ((mode,),) = rows_of(connection, "pragma journal_mode") if path else [("",)]
    if mode in JOURNALS:
        settings["journal_mode"] = mode
    # Of a database with a log of what is written, looking alone changes a file.
    limits, changes = _limits(connection), () if os.path.exists(f"{path}-shm") else counts_of(connection)
    begun, committed = _begun(pickler, connection, path) if connection.in_transaction else (None, None)
    if others is not None and (changes or (0,))[0] < inserted(others):
        pickler.reducers.name("sqlite's total_changes", "count", COUNTED_OTHERWISE)
    if begun:
        changes = ()
    elif is_begun:
        begun = NOTHING_YET
    state = (
        connection.row_factory,
        connection.text_factory,
        getattr(connection, "autocommit", None),
        settings,
        getattr(connection, "__dict__", {}),
        *_without_defaults(limits, changes, taught, begun, others),
    )
    level = connection.isolation_level
    if path and os.path.exists(path):  # one that was deserialized has the path of a file that never was
        read_only = not connection.in_transaction and _is_read_only(connection, path)
        arguments = portable_path(path), None, level, type(connection), *_options(connection, read_only)
        return make_sqlite, arguments, state, None, None, set_sqlite
    if committed is not None:
        content = committed
    elif _is_shared_by_any(connection):
        raise PicklingError("a sqlite database in memory that several connections share; keep it in a file")
    # If it was deserialized, its versions began anew; others' transactions, where they are seen, can be rolled back.
    elif path or "read_uncommitted" in settings or not is_alone():
        content = PickleBuffer(_read(connection))
    else:
        content = PickleBuffer(content_of(connection, lambda: _read(connection)))
    return make_sqlite, ("", content, level, type(connection), *_options(connection)), state, None, None, set_sqlite


def _options(connection: Any, read_only: bool = False) -> tuple[Any, ...]:
    """How it was opened: `detect_types`, whether for reading, and whether only for one thread."""
    known = opened(connection)
    return (
        (_detected(connection), read_only) if known is None else (known.detect_types, read_only, known.is_of_one_thread)
    )


@contextlib.contextmanager
def _without_patience(connection: Any) -> Iterator[int]:
    """Let it not wait long for a database that others have locked, says how long it would."""
    ((patience,),) = rows_of(connection, f"pragma {PATIENCE}")
    rows_of(connection, f"pragma {PATIENCE} = {min(patience, SHORT)}")
    try:
        yield patience
    finally:
        rows_of(connection, f"pragma {PATIENCE} = {patience}")


def _without_defaults(*state: Any) -> list[Any]:
    """What there is up to the last that is not empty."""
    left = list(state)
    while left and not left[-1]:
        left.pop()
    return left


def _begun(pickler: Any, connection: Any, path: str) -> tuple[Any, Any]:
    """The transaction it is in, and what is committed of a database in memory."""
    counts, is_deserialized = counts_of(connection), path != "" and not os.path.exists(path)
    # Whether it may write cannot be tried out, since that would end the transaction.
    is_read_only = path != "" and not counts and _is_read_somewhere(path)
    cannot_undo = path != "" and rows_of(connection, "pragma journal_mode") == [("off",)]
    if cannot_undo or is_deserialized or is_read_only or _has_open_blob(connection):
        raise PicklingError(f"{TITLE}; commit or roll back first")
    begun, committed, is_counted = begun_by(connection, path, counts, lambda: _is_shared_by_any(connection, True))
    if not is_counted:
        why = "a sqlite connection was in the middle of a transaction; its counts of changes are others"
        pickler.reducers.name("sqlite's total_changes", "count", why)
    return begun, committed


def _is_shared_by_any(connection: Any, rolls_back: bool = False) -> bool:
    """Whether there is another connection to the same database in memory.

    Args:
        connection: The one.
        rolls_back: Whether transactions of others are ended, which would hide it; in a process that ends with that.
    """
    sqlite3 = sys.modules["sqlite3"]
    may_be_held = rolls_back or CurrentSession.cells.any(_may_share)
    found = gc.get_objects() if may_be_held else list(CurrentSession.main.__dict__.values())
    others = [one for one in found if issubclass(type(one), sqlite3.Connection)]
    for other in others if rolls_back else ():
        if other is not connection:
            with contextlib.suppress(sqlite3.Error):  # it is closed
                if other.in_transaction and not any(path for _, _, path in rows_of(other, "pragma database_list")):
                    rows_of(other, "rollback")
    return any(_is_shared(connection, other) for other in others)


def _may_share(text: str) -> bool:
    """Whether a cell may open a database in memory that others share."""
    return SHARED.search(text) is not None


SHARED = re.compile(r"\bcache\b.{0,20}\bshared\b|memdb|shared_cache", re.IGNORECASE)


def _is_shared(connection: Any, other: Any) -> bool:
    """Whether another connection is to the same database in memory: then only one of them can begin to write."""
    sqlite3 = sys.modules["sqlite3"]
    if other is connection or not issubclass(type(other), sqlite3.Connection) or is_of_others(other):
        return False
    if _has_open_blob(connection) or _has_open_blob(other):  # a transaction that was begun could not be ended
        return False
    try:
        with silenced(other):
            return _keeps_from_writing(connection, other)
    except sqlite3.Error:  # it is closed
        return False


def _keeps_from_writing(connection: Any, other: Any) -> bool:
    """Whether another connection to a database in memory cannot write while this one may."""
    if any(path for _, _, path in rows_of(other, "pragma database_list")):
        return False
    try:
        rows_of(connection, "begin immediate")
        try:
            if not other.in_transaction:  # else it would not have begun if the other one had written to it
                rows_of(other, "begin immediate")
                rows_of(other, "commit")
        finally:  # nothing was written; undoing that would end what is being read
            rows_of(connection, "commit")
    except sys.modules["sqlite3"].OperationalError as error:
        return "locked" in str(error)
    return False


def _has_open_blob(connection: Any) -> bool:
    lists = [one for one in gc.get_referents(connection) if type(one) is list]
    return any(_is_open_blob(ref()) for one in lists for ref in one if type(ref) is weakref.ref)


def _is_open_blob(value: Any) -> bool:
    kind: Any = getattr(sys.modules["sqlite3"], "Blob", None)
    if kind is None or type(value) is not kind:
        return False
    try:
        kind.tell(value)
    except sys.modules["sqlite3"].ProgrammingError:  # it is closed
        return False
    return True


def _is_read_only(connection: Any, path: str) -> bool:
    """Whether it was opened with `mode=ro`: where sqlite is not asked, that is tried out if the file is open so."""
    if (known := is_read_only(connection, "main")) is not None:
        return known
    if not _is_read_somewhere(path) or _has_open_blob(connection):  # undoing a transaction would end that
        return False
    before = {name: rows_of(connection, f"pragma {name}")[0][0] for name in ("busy_timeout", "query_only")}
    try:
        for name in before:
            rows_of(connection, f"pragma {name} = 0")
        rows_of(connection, "begin immediate")
        version = rows_of(connection, "pragma user_version")[0][0]
        rows_of(connection, f"pragma user_version = {version}")
    except sys.modules["sqlite3"].OperationalError as error:  # or another connection writes
        return "readonly" in str(error)
    finally:
        if connection.in_transaction:
            rows_of(connection, "rollback")
        for name, value in before.items():
            rows_of(connection, f"pragma {name} = {value}")
    return False


def _is_read_somewhere(path: str) -> bool:
    """Whether this process has a file open for reading only."""
    return any(_is_for_reading(descriptor) for descriptor in descriptors_of(path))


def _is_for_reading(descriptor: int) -> bool:
    with contextlib.suppress(OSError):
        return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
    return False


def _read(connection: Any) -> bytearray:
    pages = rows_of(connection, "pragma page_count")[0][0]
    return bytearray(sys.modules["sqlite3"].Connection.serialize(connection) if pages else b"")


def _detected(connection: Any) -> int:
    """Its `detect_types`, of which nothing but the answers of a connection tells."""
    known, met, by_name, by_column = sys.modules["sqlite3"].converters, list[bytes](), False, False
    databases = [name for _, name, _ in rows_of(connection, "pragma database_list")]
    before, patience = known.get("TEXT"), rows_of(connection, "pragma busy_timeout")[0][0]
    known["TEXT"] = known[OF_A_NAME] = met.append
    rows_of(connection, "pragma busy_timeout = 0")
    try:
        by_name = bool(rows_of(connection, f"select 'a' as \"a [{OF_A_NAME}]\"") and met)
        met.clear()
        for name in databases:  # where there is no table, no column has a type
            rows_of(connection, f"select type from {quoted(as_text(name))}.sqlite_master limit 1")
        by_column = bool(met)
    except sys.modules["sqlite3"].Error:  # another connection has the file for itself
        pass
    finally:
        rows_of(connection, f"pragma busy_timeout = {patience}")
        del known[OF_A_NAME], known["TEXT"]
        if before is not None:
            known["TEXT"] = before
    types: int = by_column * sys.modules["sqlite3"].PARSE_DECLTYPES | by_name * sys.modules["sqlite3"].PARSE_COLNAMES
    return types


OF_A_NAME = "STEPWELL_TYPE"


def make_sqlite(
    path: str,
    content: Any,
    level: Any,
    kind: Any,
    detect: int = 0,
    read_only: bool = False,
    is_of_one_thread: bool = False,
) -> Any:
    """A connection to a file, or to a database in memory with that content."""
    import sqlite3
    from urllib.parse import quote

    path, read_only = existing(path), read_only or (path != "" and CurrentSession.earlier_file is not None)
    connection = sqlite3.Connection.__new__(kind)  # without what an `__init__` of the user's does
    sqlite3.Connection.__init__(
        connection,
        f"file:{quote(path)}?mode=ro" if read_only else path or ":memory:",
        isolation_level=level,
        check_same_thread=is_of_one_thread,
        detect_types=detect,
        uri=True,  # so may be what it attaches
    )
    if content is not None:
        data = bytes(content)
        if data:
            with contextlib.closing(sqlite3.connect(":memory:")) as source:
                source.deserialize(data)
                source.backup(connection)
    return connection


def set_sqlite(connection: Any, state: Any) -> None:
    """How rows and text come out of it, its settings, and the attributes of one of a class of a cell."""
    usual: tuple[Any, ...] = (None, None, None, {}, {}, {}, (), (), None, None)  # earlier snapshots have less
    connection.row_factory, connection.text_factory, autocommit, *more = state + usual[len(state) :]
    settings, attributes, limits, changes, taught, begun, others = more
    call_again(connection, [call for call in taught if call[0] not in CALLBACKS])  # tables may need them
    for name, value in settings.items():  # before others are attached, to which some would be given, too
        if name not in LATE:
            rows_of(connection, f"pragma {name} = {value}")
    if others:
        put_beside(connection, others)
    if changes and not count_up(connection, changes) and connection.total_changes != changes[0]:
        CurrentSession.not_made["sqlite's total_changes"] = "count", COUNTED_OTHERWISE
    if attributes:
        vars(connection).update(attributes)
    if FOREIGN_KEYS in settings:
        rows_of(connection, f"pragma {FOREIGN_KEYS} = {settings[FOREIGN_KEYS]}")
    if autocommit is not None:
        connection.autocommit = autocommit
    for which, most in limits.items():
        connection.setlimit(which, most)
    if begun:
        resume(connection, begun)
    if LAST in settings:
        rows_of(connection, f"pragma {LAST} = {settings[LAST]}")
    call_again(connection, [call for call in taught if call[0] in CALLBACKS])


def reduce_row(pickler: Any, row: Any) -> Any:
    """A row that knows the names of its columns; no cursor of the session is needed for it."""
    return make_row, (type(row), tuple(row.keys()), tuple(row)), getattr(row, "__dict__", None) or None


def make_row(kind: Any, names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    """A row of those columns."""
    return kind(_cursor_over(names), values)


@functools.lru_cache(maxsize=100)
def _cursor_over(names: tuple[str, ...]) -> Any:
    """A cursor that describes these columns."""
    import sqlite3

    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        return connection.execute("select " + ", ".join(f"1 as {quoted(name)}" for name in names))


def make_closed_sqlite() -> Any:
    """A connection that is closed."""
    import sqlite3

    connection = sqlite3.connect(":memory:")
    connection.close()
    return connection
