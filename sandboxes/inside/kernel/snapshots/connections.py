"""Database connections: one in memory with its tables, one to a file by its path."""

import contextlib
import functools
import os
import secrets
import sys
import weakref
from pickle import PickleBuffer, PicklingError
from typing import Any, ClassVar

from .singletons import found, portable_path

AS_TEXT = frozenset({"BIT", "TIME WITH TIME ZONE", "UHUGEINT", "BIGNUM", "VARINT"})


PRAGMAS = (
    "foreign_keys", "recursive_triggers", "busy_timeout", "cache_size", "temp_store", "synchronous", "read_uncommitted",
    "query_only", "ignore_check_constraints", "legacy_alter_table", "reverse_unordered_selects", "automatic_index",
    "cell_size_check", "secure_delete", "trusted_schema", "writable_schema", "full_column_names", "mmap_size",
)  # fmt: skip
"""Settings of a connection; those of a database are in its pages."""


@functools.cache
def _usual_pragmas() -> dict[str, Any]:
    """Those of a connection that nobody has changed."""
    with contextlib.closing(sys.modules["sqlite3"].connect(":memory:")) as connection:
        return _pragmas(connection)


def _pragmas(connection: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in PRAGMAS:
        row = _rows(connection, f"pragma {name}")
        found[name] = row[0][0] if row else None
    # This one can be set and not be asked for.
    found["case_sensitive_like"] = int(not _rows(connection, "select 'a' like 'A'")[0][0])
    return found


def _rows(connection: Any, ask: str) -> list[tuple[Any, ...]]:
    """What is answered, whatever the connection makes of rows and text."""
    cursor = connection.cursor(sys.modules["sqlite3"].Cursor)
    cursor.row_factory = None
    texts, connection.text_factory = connection.text_factory, str
    try:
        return [tuple(row) for row in cursor.execute(ask)]
    finally:
        connection.text_factory = texts


def _name_what_was_added(pickler: Any, connection: Any) -> None:
    """Say which functions and collations were added to a connection: it does not give them away."""
    with contextlib.closing(sys.modules["sqlite3"].connect(":memory:")) as usual:
        for kind, ask in (
            ("function", "select name from pragma_function_list where builtin = 0"),
            ("collation", "select name from pragma_collation_list"),
        ):
            names = {as_text(name) for (name,) in _rows(connection, ask)} - {name for (name,) in _rows(usual, ask)}
            for name in sorted(names - OF_A_PRAGMA):
                why = f"it was added to a sqlite connection; call create_{kind} again"
                pickler.reducers.name(f"sqlite's {name}", kind, why)


OF_A_PRAGMA = frozenset({"like"})
"""Functions that a setting puts there."""


def as_text(value: Any) -> str:
    """A name, which a connection may give as bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def reduce_sqlite(pickler: Any, connection: Any) -> Any:
    """A sqlite connection. Functions and collations that were added to it are named, and not known to it any more."""
    sqlite3 = sys.modules["sqlite3"]
    try:
        databases = [(as_text(name), as_text(path)) for _, name, path in _rows(connection, "pragma database_list")]
    except sqlite3.ProgrammingError as error:
        if "closed" in str(error):
            return make_closed_sqlite, ()
        raise
    if connection.in_transaction:
        raise PicklingError("a database connection in the middle of a transaction; commit or roll back first")
    if any(name not in ("main", "temp") for name, _ in databases):
        raise PicklingError("a database connection with other databases attached")
    if _rows(connection, "select 1 from temp.sqlite_master limit 1"):
        raise PicklingError("a database connection with temporary tables")
    _name_what_was_added(pickler, connection)
    usual = _usual_pragmas()
    settings = {name: value for name, value in _pragmas(connection).items() if value != usual[name]}
    state = (connection.row_factory, connection.text_factory, getattr(connection, "autocommit", None), settings)
    path = next(path for name, path in databases if name == "main")
    level = connection.isolation_level
    if path and os.path.exists(path):  # one that was deserialized has the path of a file that never was
        arguments = portable_path(path), None, level, type(connection), _detected(connection)
        return make_sqlite, arguments, state, None, None, set_sqlite
    pages = _rows(connection, "pragma page_count")[0][0]
    content = PickleBuffer(bytearray(connection.serialize() if pages else b""))
    return make_sqlite, ("", content, level, type(connection), _detected(connection)), state, None, None, set_sqlite


def _detected(connection: Any) -> int:
    """Its `detect_types`, of which nothing but the answers of a connection tells."""
    known, met, by_name, by_column = sys.modules["sqlite3"].converters, list[bytes](), False, False
    before, patience = known.get("TEXT"), _rows(connection, "pragma busy_timeout")[0][0]
    known["TEXT"] = known[OF_A_NAME] = met.append
    _rows(connection, "pragma busy_timeout = 0")
    try:
        by_name = bool(_rows(connection, f"select 'a' as \"a [{OF_A_NAME}]\"") and met)
        met.clear()
        # Where there is no table, no column has a type.
        by_column = bool(_rows(connection, "select type from sqlite_master limit 1") and met)
    except sys.modules["sqlite3"].Error:  # another connection has the file for itself
        pass
    finally:
        _rows(connection, f"pragma busy_timeout = {patience}")
        del known[OF_A_NAME], known["TEXT"]
        if before is not None:
            known["TEXT"] = before
    types: int = by_column * sys.modules["sqlite3"].PARSE_DECLTYPES | by_name * sys.modules["sqlite3"].PARSE_COLNAMES
    return types


OF_A_NAME = "STEPWELL_TYPE"


def _existing(path: str) -> str:
    path = found(path)
    if path and not os.path.exists(path):
        raise FileNotFoundError(f"the database {path} is not there")
    return path


def make_sqlite(path: str, content: Any, level: Any, kind: Any, detect: int = 0) -> Any:
    """A connection to a file, or to a database in memory with that content."""
    import sqlite3

    path = _existing(path)
    # Whether other threads may use it cannot be asked of a connection; so they may.
    connection = sqlite3.connect(
        path or ":memory:", isolation_level=level, check_same_thread=False, factory=kind, detect_types=detect
    )
    if content is not None:
        data = bytes(content)
        if data:
            with contextlib.closing(sqlite3.connect(":memory:")) as source:
                source.deserialize(data)
                source.backup(connection)
    return connection


def set_sqlite(connection: Any, state: Any) -> None:
    """How rows and text come out of it, and its settings."""
    connection.row_factory, connection.text_factory, autocommit, *more = state  # earlier snapshots have no settings
    for name, value in (more[0] if more else {}).items():
        connection.execute(f"pragma {name} = {value}")
    if autocommit is not None:
        connection.autocommit = autocommit


def make_closed_sqlite() -> Any:
    """A connection that is closed."""
    import sqlite3

    connection = sqlite3.connect(":memory:")
    connection.close()
    return connection


def reduce_duckdb(pickler: Any, connection: Any) -> Any:
    """A duckdb connection: one to a file by its path, one to memory as one of those that its database has."""
    if _in_transaction(connection):
        raise PicklingError("a duckdb connection in the middle of a transaction; commit or roll back first")
    cursor = connection.cursor()
    ask = "select path, readonly from duckdb_databases() where database_name = current_database()"
    path, readonly = cursor.execute(ask).fetchone()
    settings = _settings(connection)
    others = "select count(*) from duckdb_databases() where not internal and database_name != current_database()"
    if cursor.execute(others).fetchone()[0]:
        raise PicklingError("a duckdb connection with other databases attached")
    if connection.sql("select 1 from duckdb_tables() where temporary limit 1").fetchall():
        raise PicklingError("a duckdb connection with temporary tables")
    for (name,) in connection.sql(REGISTERED).fetchall():
        why = "it was registered with a duckdb connection; register it again"
        pickler.reducers.name(f"duckdb's {name}", "frame", why)
    for kind, question in MADE_WITH_IT.items():
        with contextlib.suppress(sys.modules["duckdb"].Error):  # a version that does not tell
            for (name,) in connection.sql(question).fetchall():
                why = f"this {kind} was made with a duckdb connection; make it again"
                pickler.reducers.name(f"duckdb's {name}", kind, why)
    if path:
        if not readonly:
            cursor.execute("checkpoint")
        return open_duckdb, (portable_path(path), bool(readonly), settings)
    return connect_duckdb, (Database.of(connection), settings)


REGISTERED = (
    "select view_name from duckdb_views() where temporary and not internal and sql like '%!_scan()%' escape '!'"
)
"""Frames that were registered with a connection."""
MADE_WITH_IT = {
    "function": "select distinct function_name from duckdb_functions() "
    "where function_type = 'scalar' and internal and description is null and parameters[1] = 'col0'",
    "prepared statement": "select name from duckdb_prepared_statements()",
}
"""What no table of a database holds: functions of Python, whose parameters duckdb gives names, and statements."""
LOCK = "lock_configuration"
"""The setting after which nothing can be set any more."""
SETTINGS = "select name, value from duckdb_settings() where value is not null"


@functools.cache
def _usual_settings() -> dict[str, str]:
    """Those of a database that nobody has changed."""
    with contextlib.closing(sys.modules["duckdb"].connect(":memory:")) as connection:
        return dict(connection.execute(SETTINGS).fetchall())


def _settings(connection: Any) -> dict[str, str]:
    """What was set of a connection and its database; a connection with a pending result answers no question."""
    try:
        now = dict(connection.query(SETTINGS).fetchall())
    except sys.modules["duckdb"].Error:
        now = dict(connection.cursor().execute(SETTINGS).fetchall())
    usual = _usual_settings()
    return {name: value for name, value in now.items() if usual.get(name) != value}


def _set(connection: Any, settings: dict[str, str]) -> Any:
    """Set it again; what only a new database can be told is left as it is."""
    for name, value in sorted(settings.items(), key=lambda one: one[0] == LOCK):
        with contextlib.suppress(sys.modules["duckdb"].Error):
            connection.execute(f"set {name} = {_literal(value)}")
    return connection


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def default_duckdb() -> Any:
    """The connection of `duckdb.sql` and its like; None when nothing is kept in it."""
    connection = sys.modules["duckdb"].default_connection()
    used = "select 1 from duckdb_tables() where not internal union all select 1 from duckdb_views() where not internal"
    return connection if connection.cursor().execute(used).fetchone() or _settings(connection) else None


class Database:
    """A duckdb database in memory, which several connections and their cursors may share."""

    known: ClassVar[list[tuple[Any, "Database"]]] = []
    """Weak references to the connections that were seen, each with its database."""

    def __init__(self, connection: Any) -> None:
        self.connection = weakref.ref(connection)

    @classmethod
    def of(cls, connection: Any) -> "Database":
        """The database of a connection: one that is known, if it is the same."""
        cls.known[:] = [(seen, database) for seen, database in cls.known if seen() is not None]
        for seen, database in cls.known:
            if seen() is connection:
                database.connection = seen
                return database
        same = (database for seen, database in cls.known if _share(seen(), connection))
        database = next(same, None) or cls(connection)
        cls.known.append((weakref.ref(connection), database))
        return database

    def __reduce__(self) -> Any:
        return make_database, _content(self.connection())


def _share(one: Any, other: Any) -> bool:
    """Whether what is made through one connection is seen through the other."""
    name = f"stepwell_{secrets.token_hex(8)}"
    try:
        maker, looker = one.cursor(), other.cursor()
        maker.execute(f"create schema {name}")
    except Exception:  # closed, or to a file that may only be read
        return False
    try:
        return bool(looker.execute("select 1 from duckdb_schemas() where schema_name = ?", [name]).fetchone())
    finally:
        maker.execute(f"drop schema {name}")


def _content(connection: Any) -> Any:
    """What is in a database in memory: its tables as arrow tables, its views as their SQL."""
    cursor = connection.cursor()
    extra = (
        "select (select count(*) from duckdb_sequences()) + "
        "(select count(*) from duckdb_functions() where not internal and function_type like '%macro') + "
        "(select count(*) from duckdb_types() where not internal)"
    )
    if cursor.execute(extra).fetchone()[0]:
        raise PicklingError("a duckdb database in memory with sequences, macros or types of its own")
    schemas = "select schema_name from duckdb_schemas() where not internal and database_name = current_database()"
    wanted = "select schema_name, table_name, sql from duckdb_tables() where not internal order by table_oid asc"
    tables = []
    for schema, name, sql in cursor.execute(wanted).fetchall():
        rows = cursor.execute(f"select {_columns(cursor, schema, name)} from {_quoted(schema)}.{_quoted(name)}")
        tables.append((schema, name, sql, rows.to_arrow_table()))
    indexes = cursor.execute("select sql from duckdb_indexes() where sql is not null").fetchall()
    views = cursor.execute(
        "select sql from duckdb_views() where not internal and sql is not null order by view_oid asc"
    ).fetchall()
    named = [name for (name,) in cursor.execute(schemas).fetchall()]
    return named, tables, [row[0] for row in [*indexes, *views]]


def _columns(cursor: Any, schema: str, table: str) -> str:
    """What to ask of a table: types that arrow has no equal for come as text, from which they are made again."""
    ask = "select column_name, data_type from duckdb_columns() where schema_name = ? and table_name = ? "
    found = cursor.execute(ask + "order by column_index asc", [schema, table]).fetchall()
    return ", ".join(
        f"{_quoted(name)}::text as {_quoted(name)}" if kind in AS_TEXT else _quoted(name) for name, kind in found
    )


def _in_transaction(connection: Any) -> bool:
    """Whether it holds changes that a cursor, which has a transaction of its own, does not see.

    Outside of a transaction each question has a new number. A connection with a result that nobody has fetched to its
    end answers no question; it is taken for one without.
    """
    error_of_duckdb: Any = sys.modules["duckdb"].Error
    try:
        numbers = {connection.query("select txid_current()").fetchall()[0] for _ in range(2)}
    except error_of_duckdb as error:
        return "ransaction" in str(error)
    return len(numbers) == 1


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def open_duckdb(path: str, readonly: bool, settings: dict[str, str] | None = None) -> Any:
    """A connection to a file."""
    import duckdb

    return _set(duckdb.connect(_existing(path), read_only=readonly), settings or {})


class Made:
    """A database in memory that was made anew, and the connection that made it."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.taken = False


def make_database(schemas: list[str], tables: list[Any], statements: list[str]) -> Any:
    """A database in memory with those tables."""
    import duckdb

    connection = duckdb.connect(":memory:")
    for schema in schemas:
        connection.execute(f"create schema if not exists {_quoted(schema)}")
    for schema, name, sql, rows in tables:
        connection.execute(f"use {_quoted(schema)}")
        connection.execute(sql)
        connection.register("stepwell_rows", rows)
        connection.execute(f"insert into {_quoted(schema)}.{_quoted(name)} select * from stepwell_rows")
        connection.unregister("stepwell_rows")
    if tables:
        connection.execute("use main")
    for statement in statements:
        connection.execute(statement)
    return Made(connection)


def connect_duckdb(made: Any, settings: dict[str, str] | None = None) -> Any:
    """A connection to a database in memory: the first is the one that made it."""
    connection = made.connection.cursor() if made.taken else made.connection
    made.taken = True
    return _set(connection, settings or {})
