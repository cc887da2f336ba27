"""The statements that make one sqlite database of another, as a transaction has changed it.

Schemas are compared by their SQL, rows by their numbers, values with their types and without collations. What has no
such statements (virtual tables, statistics of the optimizer) is an error.
"""

import contextlib
import re
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..sql_text import quoted
from .internals import without_triggers

MOST = 10_000
"""Statements, and rows of a table that has no numbers."""
PASSES = 4
"""First columns are added; at the end what numbers rows by itself (`sqlite_sequence`) is compared."""
NUMBERS = ("rowid", "_rowid_", "oid")
INTERNAL = "sqlite_"
SEQUENCE = "sqlite_sequence"
HEADERS = ("user_version", "application_id")
Statement = tuple[str, tuple[Any, ...]]
Schema = dict[tuple[str, str], tuple[str, str]]
"""Tables and SQL, by types and names."""


class UnlikeError(ValueError):
    """There are no statements that make the one of the other."""


def rows_of(connection: Any, sql: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """What is answered, whatever the connection makes of rows and text."""
    sqlite3 = sys.modules["sqlite3"]
    cursor = sqlite3.Connection.cursor(connection, sqlite3.Cursor)
    cursor.row_factory = None
    texts, connection.text_factory = connection.text_factory, str
    try:
        return [tuple(row) for row in cursor.execute(sql, values)]
    finally:
        connection.text_factory = texts


def opened_on(image: bytes) -> Any:
    """A connection to a copy of a database in memory."""
    sqlite3 = sys.modules["sqlite3"]
    connection = sqlite3.connect(":memory:", isolation_level=None)
    if image:
        with contextlib.closing(sqlite3.connect(":memory:")) as source:
            source.deserialize(in_one_file(image))
            source.backup(connection)
    return connection


def image_of(connection: Any) -> bytes:
    """What a connection sees of its database, if that was not deserialized; empty where there is none yet."""
    pages = rows_of(connection, "pragma page_count")[0][0]
    return bytes(sys.modules["sqlite3"].Connection.serialize(connection)) if pages else b""


def in_one_file(image: bytes) -> bytes:
    """The same without a log of what is written, which a database in memory cannot have."""
    return image[:18] + b"\1\1" + image[20:] if image[18:20] == b"\2\2" else image


def change(connection: Any, image: bytes) -> None:
    """Make a database of another, within the transaction of a connection.

    Args:
        connection: The connection.
        image: What it is to see.

    Raises:
        UnlikeError: There is no way.
    """
    for _ in range(PASSES):
        statements = differences(image_of(connection), image)
        if not statements:
            return
        with without_triggers(connection):
            for sql, values in statements:
                rows_of(connection, sql, values)
    if differences(image_of(connection), image):
        raise UnlikeError("what was changed cannot be changed again")


def differences(before: bytes, after: bytes) -> list[Statement]:
    """The statements that make one database of another; none: they hold the same."""
    with contextlib.closing(opened_on(after)) as both:
        rows_of(both, "attach ':memory:' as before")
        if before:
            both.deserialize(in_one_file(before), name="before")
        was, now = _schema(both, "before"), _schema(both, "main")
        changed = {key for key in was.keys() | now.keys() if was.get(key) != now.get(key)}
        both_have = [key for key in changed if key[0] == "table" and key in was.keys() & now.keys()]
        columns = [(name, _added(was[kind, name][1], now[kind, name][1])) for kind, name in both_have]
        if any(column for _, column in columns):
            return [(f"alter table {quoted(name)} add column {column}", ()) for name, column in columns if column]
        remade = {name for kind, name in changed if kind == "table"}
        for name in remade:
            sql = (now.get(("table", name)) or was["table", name])[1]
            if (name.startswith(INTERNAL) and name != SEQUENCE) or sql.lower().startswith("create virtual"):
                raise UnlikeError(f"{name} cannot be made")
        rows = _Rows(both)
        for (kind, name), (_, sql) in now.items():
            if kind == "table" and name != SEQUENCE and not sql.lower().startswith("create virtual"):
                rows.add(name, is_new=name in remade)
        if rows.none and not changed and ("table", SEQUENCE) in now:
            rows.add(SEQUENCE, is_new=False)
        heads = [
            (f"pragma {name} = {is_now}", ())
            for name in HEADERS
            if (is_now := _head(both, "main", name)) != _head(both, "before", name)
        ]
        found = [*_drops(was, changed, remade), *_makes(now, changed, remade, rows), *heads]
    if len(found) > MOST:
        raise UnlikeError("too many rows were changed")
    return found


def whole(connection: Any, database: str) -> list[Statement]:
    """The statements that make all of one of the databases of a connection, in another that has one of that name."""
    rows, now = _Rows(connection, quoted(database)), _schema(connection, quoted(database))
    for (kind, name), (_, sql) in now.items():
        if sql.lower().startswith("create virtual") or (name.startswith(INTERNAL) and name != SEQUENCE):
            raise UnlikeError(f"{name} cannot be made")
        if kind == "table" and name != SEQUENCE:
            rows.add(name, is_new=True)
    made = list(_makes(now, set(now), set(), rows))
    if ("table", SEQUENCE) in now:
        numbers = rows_of(connection, f"select +name, +seq from {quoted(database)}.{SEQUENCE}")
        for name, number in numbers:  # only where rows that are gone have had higher ones, since changes are counted
            made.append((ADVANCE, (number, name, number)))
            made.append((BEGIN.format(database=quoted(database)), (name, number, name)))
    found = [(NAMED.sub(rf"\g<0>{quoted(database)}.", sql, count=1), values) for sql, values in made]
    if len(found) > MOST:
        raise UnlikeError("it has too many rows")
    head = [(f"pragma {quoted(database)}.{name} = {_head(connection, quoted(database), name)}", ()) for name in HEADERS]
    return [*found, *head]


ADVANCE = f"update {SEQUENCE} set seq = ? where name = ? and seq is not ?"
BEGIN = f"insert into {SEQUENCE} (name, seq) select ?, ? where ? not in (select name from {{database}}.{SEQUENCE})"
NAMED = re.compile(r"create (?:table|index|unique index|view|trigger) |insert into |update ", re.IGNORECASE)
"""How statements begin whose next word is the name of what is in a database; sqlite keeps them so."""


def _added(was: str, now: str) -> str:
    """The column that was added to a table, as sqlite writes it into the table's SQL; empty: that is not all."""
    end = was.rfind(")")
    head, tail = was[:end], was[end:]
    is_longer = len(now) > len(was) + 2 and now.startswith(f"{head}, ") and now.endswith(tail)
    return now[len(head) + 2 : len(now) - len(tail)] if is_longer else ""


def _schema(both: Any, database: str) -> Schema:
    asked = rows_of(both, f"select type, name, tbl_name, sql from {database}.sqlite_master where sql is not null")
    return {(kind, name): (table, sql) for kind, name, table, sql in asked}


def _head(both: Any, database: str, name: str) -> int:
    return int(rows_of(both, f"pragma {database}.{name}")[0][0])


def _drops(was: Schema, changed: set[tuple[str, str]], remade: set[str]) -> Iterator[Statement]:
    """What is taken away first."""
    for kind in ("trigger", "view", "index", "table"):
        for key, (table, _) in was.items():
            if key[0] == kind and key in changed and key[1] != SEQUENCE and not (kind == "index" and table in remade):
                yield f"drop {kind} {quoted(key[1])}", ()


def _makes(now: Schema, changed: set[tuple[str, str]], remade: set[str], rows: "_Rows") -> Iterator[Statement]:
    """Tables, rows, and what is on them."""
    for kind in ("table", "", "index", "view", "trigger"):
        if not kind:
            yield from (*rows.deleted, *rows.updated, *rows.inserted)
        for key, (table, sql) in now.items():
            if key[0] == kind and (key in changed or table in remade) and key[1] != SEQUENCE:
                yield sql, ()


class _Rows:
    """The statements for rows, table by table.

    Args:
        both: A connection that has both databases.
        database: The one that is to be made.
    """

    def __init__(self, both: Any, database: str = "main") -> None:
        self._both = both
        self._database = database
        self._kinds = {
            name: (kind, bool(without))
            for _, name, kind, _, without, *_ in rows_of(both, f"pragma {database}.table_list")
        }
        self.deleted: list[Statement] = []
        self.updated: list[Statement] = []
        self.inserted: list[Statement] = []

    @property
    def none(self) -> bool:
        """Whether all rows are as they were."""
        return not (self.deleted or self.updated or self.inserted)

    def add(self, name: str, is_new: bool) -> None:
        """Compare those of a table."""
        kind, without_numbers = self._kinds[name]
        table = _Table(name, self._columns(name))
        before = len(self.deleted) + len(self.updated) + len(self.inserted)
        if without_numbers:
            self._add_all(table, is_new)
        else:
            self._add_numbered(table, is_new)
        if len(self.deleted) + len(self.updated) + len(self.inserted) > MOST:
            raise UnlikeError("too many rows were changed")
        if kind == "shadow" and before != len(self.deleted) + len(self.updated) + len(self.inserted):
            raise UnlikeError(f"{name} belongs to a virtual table")

    def _columns(self, name: str) -> list[str]:
        described = rows_of(self._both, f"pragma {self._database}.table_xinfo({quoted(name)})")
        return [column for _, column, _, _, _, _, hidden in described if not hidden]

    def _add_all(self, table: "_Table", is_new: bool) -> None:
        """Of a table whose rows have no numbers, all or none are written."""
        limit = f"limit {MOST + 1}" if is_new else ""
        asks = f"select {table.listed('m')} from {{}}.{table.quoted} m order by {table.listed()} {limit}"
        now = rows_of(self._both, asks.format(self._database))
        was = [] if is_new else rows_of(self._both, asks.format("before"))
        if _typed(now) != _typed(was):
            if was:
                self.deleted.append((f"delete from {table.quoted}", ()))
            self.inserted += [(table.insert(), row) for row in now]

    def _add_numbered(self, table: "_Table", is_new: bool) -> None:
        number = next((one for one in NUMBERS if one not in {name.lower() for name in table.columns}), None)
        if number is None:
            raise UnlikeError(f"the rows of {table.name} have no number that can be named")
        listed, same, limit = table.listed("m"), table.same("m", "b"), f"limit {MOST + 1}"
        pair = f"main.{table.quoted} m left join before.{table.quoted} b on b.{number} = m.{number}"
        if is_new:
            every = f"select +m.{number}, {listed} from {self._database}.{table.quoted} m order by m.{number} {limit}"
            self.inserted += [(table.insert(number), row) for row in rows_of(self._both, every)]
            return
        gone = (
            f"select b.{number} from before.{table.quoted} b "
            f"left join main.{table.quoted} m on m.{number} = b.{number} "
            f"where m.{number} is null order by b.{number} {limit}"
        )
        self.deleted += [(f"delete from {table.quoted} where {number} = ?", row) for row in rows_of(self._both, gone)]
        other = (
            f"select {listed}, m.{number} from {pair} "
            f"where b.{number} is not null and not ({same}) order by m.{number} {limit}"
        )
        self.updated += [(table.update(number), row) for row in rows_of(self._both, other)]
        new = f"select m.{number}, {listed} from {pair} where b.{number} is null order by m.{number} {limit}"
        self.inserted += [(table.insert(number), row) for row in rows_of(self._both, new)]


def _typed(rows: list[tuple[Any, ...]]) -> list[Any]:
    """Rows, of which a number and the same as text, or as an integer, are two."""
    return [[(type(value), value) for value in row] for row in rows]


class _Table(NamedTuple):
    name: str
    columns: list[str]
    """Those that can be written."""

    @property
    def quoted(self) -> str:
        return quoted(self.name)

    def listed(self, of: str = "") -> str:
        """The columns, of a table that has this name in a statement."""
        # As expressions of another name, which no converter of the connection's knows.
        asked = [f"+{of}.{quoted(name)} as c{number}" for number, name in enumerate(self.columns)]
        return ", ".join(asked if of else map(quoted, self.columns))

    def same(self, one: str, other: str) -> str:
        """Whether two rows hold the same."""
        names = [quoted(column) for column in self.columns]
        return " and ".join(
            f"{one}.{name} is {other}.{name} collate binary and typeof({one}.{name}) is typeof({other}.{name})"
            for name in names
        )

    def insert(self, *numbers: str) -> str:
        marks = ", ".join("?" * (len(self.columns) + len(numbers)))
        return f"insert into {self.quoted} ({', '.join((*numbers, self.listed()))}) values ({marks})"

    def update(self, number: str) -> str:
        return f"update {self.quoted} set {', '.join(f'{quoted(one)} = ?' for one in self.columns)} where {number} = ?"
