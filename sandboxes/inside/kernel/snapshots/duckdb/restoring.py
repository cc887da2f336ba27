"""Makes databases of duckdb in memory, and connections, again. What cannot be made any more is named by the restore."""

import contextlib
import sys
from typing import Any

from ..current_session import CurrentSession, existing
from ..sql_text import literal, quoted
from .definitions import defined_by, make_table, run_in_rounds

LOCK = "lock_configuration"
"""The setting after which nothing can be set any more."""

OF_VARIABLE = "variable "
"""Before the name of a variable of a connection, whose value is an expression."""

OF_VIEW = "temporary view "
"""Before the number of a temporary view of a connection, whose value is its SQL."""

OF_SESSION = "session "
"""Before the name of a setting that other connections to the same database do not have."""


def _set(connection: Any, settings: dict[str, str]) -> Any:
    """Set it again; what only a new database can be told is left as it is."""
    error_of_duckdb: Any = sys.modules["duckdb"].Error
    views = [value for name, value in settings.items() if name.startswith(OF_VIEW)]
    settings = {name: value for name, value in settings.items() if not name.startswith(OF_VIEW)}
    for statement, error in run_in_rounds(connection, views):
        _name_as_not_made(statement, error)
    for name, value in sorted(settings.items(), key=lambda one: one[0].removeprefix(OF_SESSION) == LOCK):
        if name.startswith(OF_VARIABLE):
            connection.execute(f"set variable {quoted(name.removeprefix(OF_VARIABLE))} = {value}")
            continue
        try:
            connection.execute(f"set {name} = {literal(value)}")
        except error_of_duckdb:
            with contextlib.suppress(error_of_duckdb):
                connection.execute(f"set {name.removeprefix(OF_SESSION)} = {literal(value)}")
    return connection


def open_duckdb(path: str, readonly: bool, settings: dict[str, str] | None = None) -> Any:
    """A connection to a file."""
    import duckdb

    readonly = readonly or CurrentSession.earlier_file is not None
    return _set(duckdb.connect(existing(path), read_only=readonly), settings or {})


class Made:
    """A database in memory that was made anew, and the connection that made it."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.taken = False


def make_database(schemas: list[str], tables: list[Any], statements: list[str], first: list[str] | None = None) -> Any:
    """A database in memory with those tables; `first` is what these may need, which earlier snapshots do not have."""
    import duckdb

    connection = duckdb.connect(":memory:")
    for schema in schemas:
        connection.execute(f"create schema if not exists {quoted(schema)}")
    for statement in first or ():
        connection.execute(statement).fetchall()  # a result that is there makes it a busy one
    for schema, name, sql, rows in tables:
        try:
            statements = make_table(connection, schema, sql, statements)
        except duckdb.Error as error:
            _name_as_not_made(sql, error)
            continue
        connection.register("stepwell_rows", rows)
        connection.execute(f"insert into {quoted(schema)}.{quoted(name)} select * from stepwell_rows")
        connection.unregister("stepwell_rows")
    if tables:
        connection.execute("use main")
    for statement, why_not in run_in_rounds(connection, statements):  # what it reads may be gone
        _name_as_not_made(statement, why_not)
    return Made(connection)


def _name_as_not_made(statement: str, error: Exception) -> None:
    """Have a restore say that a part of a database is not there."""
    if (defined := defined_by(statement)) is None:
        raise error
    kind, name = defined
    why = f"this {kind} of a duckdb database cannot be made: {' '.join(str(error).split())[:300]}"
    CurrentSession.not_made.setdefault(f"duckdb's {name}", (kind, why))


def connect_duckdb(made: Any, settings: dict[str, str] | None = None) -> Any:
    """A connection to a database in memory: the first is the one that made it."""
    connection = made.connection.cursor() if made.taken else made.connection
    made.taken = True
    return _set(connection, settings or {})
