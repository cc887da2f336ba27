"""Cursors of sqlite: what the last statement said of itself, and the rows that nobody has fetched yet.

What a statement said (`description`, `rowcount`, `lastrowid`) can be read and not be set, so it is written where
CPython keeps it. The places are tried out before they are relied on; where they are others, cursors are named as lost.
"""

import contextlib
import ctypes
import functools
import gc
import json
import sys
from collections.abc import Iterator
from pickle import PicklingError
from typing import Any

from ..child_answers import TOO_LATE, answer_of_child
from ..objects.instances import slots_of
from ..objects.iterators import WORD
from .functions import KEPT, known_to, silenced, usually_known
from .internals import OF_OTHERS, is_of_others, only_reads

MOST_VALUES = 10_000
"""Values of rows that are still to be fetched."""
SECONDS = 0.5
"""In which these are to be there."""
SAID = ("description", "rowcount", "lastrowid")
KINDS = (int, float, str, type(None))
"""Of values, as JSON has them; bytes are written as numbers."""


def reduce_cursor(_pickler: Any, cursor: Any) -> Any:
    """A cursor, in the middle of a query or not."""
    places, kind = _places(), sys.modules["sqlite3"].Cursor
    if places is None:
        raise PicklingError("a cursor of sqlite, which this Python keeps in a way that is not known")
    connection = _member(cursor, "connection")
    if is_of_others(connection):
        raise PicklingError(OF_OTHERS)
    if slots_of(type(cursor)):
        raise PicklingError("a cursor of a class with slots")
    rows, is_closed = None, False
    if _is_in_query(cursor) and _is_open(connection):
        rows = _rows_to_come(cursor, connection)
    elif _statement_of(cursor) is None:
        try:
            kind.fetchone(cursor)  # there is no row
        except sys.modules["sqlite3"].ProgrammingError as error:
            is_closed = "closed cursor" in str(error)
            if not is_closed and "closed" not in str(error):  # it is of another thread, or was not initialized
                raise
    said = tuple(_member(cursor, name) for name in SAID)
    state = (
        _member(cursor, "arraysize"), _member(cursor, "row_factory"), said, rows, is_closed,
        getattr(cursor, "__dict__", None) or {},
    )  # fmt: skip
    return make_cursor, (type(cursor), connection), state, None, None, set_cursor


def _member(cursor: Any, name: str) -> Any:
    """What a cursor has, whatever its class makes of that name."""
    return vars(sys.modules["sqlite3"].Cursor)[name].__get__(cursor)


def _statement_of(cursor: Any) -> Any:
    """The statement that it holds: one that has rows to come, or, up to 3.11, the last one of `executemany`."""
    held = ((type(one), one) for one in gc.get_referents(cursor))
    return next((one for kind, one in held if (kind.__module__, kind.__name__) == ("sqlite3", "Statement")), None)


def _is_in_query(cursor: Any) -> bool:
    return _statement_of(cursor) is not None and _member(cursor, "description") is not None


def _is_open(connection: Any) -> bool:
    try:
        return bool(vars(sys.modules["sqlite3"].Connection)["total_changes"].__get__(connection) >= 0)
    except sys.modules["sqlite3"].ProgrammingError as error:
        return "closed" not in str(error)


def _rows_to_come(cursor: Any, connection: Any) -> list[list[Any]]:
    if not only_reads(_statement_of(cursor), connection):
        raise PicklingError("a cursor of sqlite whose statement changes rows and gives them; fetch them first")

    place = id(cursor), id(_statement_of(cursor))
    if left := _waiting.pop(place, 0):
        if left > 1:
            _waiting[place] = left - 1
        raise PicklingError(TOO_LATE)
    lists = [one for one in gc.get_referents(cursor) if type(one) is list]
    converts = any(converter is not None for one in lists for converter in one)

    def fetched() -> bytes:
        sqlite3 = sys.modules["sqlite3"]
        vars(sqlite3.Connection)["text_factory"].__set__(connection, str)
        vars(sqlite3.Cursor)["row_factory"].__set__(cursor, None)
        width = max(len(_member(cursor, "description")), 1)
        rows = sqlite3.Cursor.fetchmany(cursor, MOST_VALUES // width + 1)
        if len(rows) * width > MOST_VALUES:
            raise ValueError("a cursor of sqlite with many rows that were not fetched")
        return json.dumps([[_packed(value) for value in row] for row in rows]).encode()

    with silenced(connection) as heard:
        if KEPT in heard:
            raise PicklingError("a cursor of sqlite with rows that were not fetched, which somebody hears")
        if converts or known_to(connection) != usually_known():
            raise PicklingError("a cursor of sqlite with rows that were not fetched, for which functions may be called")
        try:
            answer = answer_of_child(fetched, SECONDS)
        except PicklingError as error:
            if str(error) == TOO_LATE:
                if len(_waiting) >= MOST_REMEMBERED:
                    _waiting.clear()
                _waiting[place] = TURNS
            raise
        return [[_unpacked(value) for value in row] for row in json.loads(answer)]


_waiting: dict[tuple[int, int], int] = {}
"""For cursors whose rows took too long, by the identities of them and of their statements: for how many snapshots they
are not tried again."""
MOST_REMEMBERED, TURNS = 1_000, 10


def _packed(value: Any) -> Any:
    if type(value) is bytes:
        return list(value)
    if type(value) not in KINDS:
        raise TypeError("a cursor of sqlite with rows that were not fetched, whose values a converter makes")
    return value


def _unpacked(value: Any) -> Any:
    return bytes(value) if type(value) is list else value


def make_cursor(kind: Any, connection: Any) -> Any:
    """A cursor of a connection, also of a closed one."""
    made: Any = sys.modules["sqlite3"].Cursor
    cursor = made.__new__(kind)
    made.__init__(cursor, connection)
    return cursor


@contextlib.contextmanager
def _without_limits(connection: Any) -> Iterator[None]:
    """Let a statement have as many values, and be as long, as sqlite itself allows."""
    sqlite3 = sys.modules["sqlite3"]
    kind, which = sqlite3.Connection, (sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, sqlite3.SQLITE_LIMIT_SQL_LENGTH)
    before = [kind.setlimit(connection, one, MOST_ALLOWED) for one in which]
    try:
        yield
    finally:
        for one, limit in zip(which, before, strict=True):
            kind.setlimit(connection, one, limit)


MOST_ALLOWED = 1 << 30
"""Sqlite takes its own limit where that is lower."""


def set_cursor(cursor: Any, state: Any) -> None:
    """What its last statement said, and the rows that are still to come."""
    size, factory, said, rows, is_closed, attributes = state
    kind, places = sys.modules["sqlite3"].Cursor, _places()
    if rows:
        names = ", ".join(
            f'column{number} as "{one[0].replace(QUOTE, QUOTE * 2)}"' for number, one in enumerate(said[0], 1)
        )
        values = ", ".join("(" + ", ".join("?" * len(row)) + ")" for row in rows)
        connection = _member(cursor, "connection")
        with silenced(connection), _without_limits(connection):
            kind.execute(cursor, f"select {names} from (values {values})", [value for row in rows for value in row])
    vars(kind)["arraysize"].__set__(cursor, size)
    vars(kind)["row_factory"].__set__(cursor, factory)
    if places is None:
        raise RuntimeError("this Python keeps cursors of sqlite in a way that is not known")
    description, count, row = said
    _put(cursor, places["description"], description)
    _put(cursor, places["lastrowid"], row)
    ctypes.c_long.from_address(id(cursor) + places["rowcount"]).value = count
    if is_closed:
        kind.close(cursor)
    if attributes:
        vars(cursor).update(attributes)


QUOTE = '"'


def _put(cursor: Any, place: int, value: Any) -> None:
    """Let an object be at this place of a cursor."""
    slot = ctypes.py_object.from_address(id(cursor) + place)
    before = slot.value
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))
    slot.value = value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(before))


@functools.cache
def _places() -> dict[str, int] | None:
    """Where a cursor has what its last statement said, in bytes from its beginning; None: that is not known."""
    sqlite3 = sys.modules["sqlite3"]
    if sys.implementation.name != "cpython" or "t" in sys.abiflags:
        return None
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create table t (a)")
        inserted = connection.execute("insert into t (rowid) values (?)", (FAR,))
        three, five = (connection.cursor().executemany("insert into t values (?)", [(1,)] * count) for count in (3, 5))
        asked = connection.execute("select a from t limit 0")
        found = {
            "description": _words(asked, id(asked.description)),
            "lastrowid": _words(inserted, id(inserted.lastrowid)),
            "rowcount": _words(three, 3) & _words(five, 5),
        }
        if any(len(places) != 1 for places in found.values()):
            return None
        return {name: places.pop() for name, places in found.items()}


FAR = 987_654_321
"""A number of a row that no other object is."""


def _words(cursor: Any, value: int) -> set[int]:
    """Where a cursor has a word of this value."""
    size = sys.modules["sqlite3"].Cursor.__basicsize__ // WORD
    words = (ctypes.c_size_t * size).from_address(id(cursor))
    return {number * WORD for number, word in enumerate(words) if word == value}
