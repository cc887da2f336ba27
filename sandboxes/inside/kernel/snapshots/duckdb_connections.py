"""Connections of duckdb: one to a file by its path, one to memory as one of those that its database has.

What a connection and its database hold is asked when something ran on the database since it was last asked (see
`duckdb_databases`), and remembered: asking takes 5 to 15 ms of processor time, most of it in duckdb.
"""

import contextlib
import sys
from dataclasses import dataclass, field
from pickle import PicklingError
from typing import Any

from .connections import connect_duckdb, make_database, open_duckdb, quoted
from .default_duckdb import may_exist
from .duckdb_databases import SETTINGS, Database, Seen, has_profile, usual_settings
from .singletons import portable_path

AS_TEXT = frozenset({"BIT", "TIME WITH TIME ZONE", "UHUGEINT", "BIGNUM", "VARINT"})
KEPT = 16 << 20
"""Bytes of a database in memory that are kept beside it, as tables of arrow, as long as it does not change. The tables
of a larger one are read for each snapshot."""
CATALOG = """
select 'other database', path, null, null, 0 from duckdb_databases()
where not internal and database_name != current_database()
union all select 'path', path, null, null, readonly::bigint from duckdb_databases()
where database_name = current_database()
union all select 'schema', schema_name, null, null, 0 from duckdb_schemas()
where not internal and database_name = current_database()
union all select 'table', schema_name, table_name, sql, table_oid from duckdb_tables() where not internal
union all select 'index', null, null, sql, index_oid from duckdb_indexes() where sql is not null
union all select 'view', null, null, sql, view_oid from duckdb_views() where not internal and sql is not null
union all select 'more', null, null, null, 0 from duckdb_sequences()
union all select 'more', null, null, null, 0 from duckdb_types() where not internal
"""
"""What a cursor sees."""
OWN = """
select 'temporary table', table_name from duckdb_tables() where temporary
union all select 'frame', view_name from duckdb_views()
where temporary and not internal and sql like '%!_scan()%' escape '!'
union all select 'prepared statement', name from duckdb_prepared_statements()
"""
"""What only the connection itself sees."""
REASONS = {
    "frame": "it was registered with a duckdb connection; register it again",
    "function": "this function was made with a duckdb connection; make it again",
    "prepared statement": "this prepared statement was made with a duckdb connection; make it again",
}
"""Why parts of a connection do not come back."""
COLUMNS = (
    "select schema_name, table_name, column_name, data_type from duckdb_columns() where not internal "
    "order by column_index asc"
)


@dataclass(slots=True)
class Answer:
    """What a connection holds."""

    refused: str = ""
    """Why it cannot be kept."""
    path: str = ""
    """That of its database; empty: it is in memory."""
    readonly: bool = False
    settings: dict[str, str] = field(default_factory=dict)
    """What was set of it and its database."""
    named: list[tuple[str, str]] = field(default_factory=list)
    """What does not come back, although the connection does: kind and name."""
    catalog: dict[str, list[Any]] = field(default_factory=dict)
    """What there is in its database, by kind: rows of `CATALOG`."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing would be missed if it were not kept."""
        held = self.catalog.keys() & {"table", "view", "more"}
        return not (self.refused or self.settings or self.named or held)


def reduce_duckdb(pickler: Any, connection: Any) -> Any:
    """A duckdb connection."""
    database, answer = _ask(connection)
    if answer.refused:
        raise PicklingError(answer.refused)
    for kind, name in answer.named:
        pickler.reducers.name(f"duckdb's {name}", kind, REASONS[kind])
    if answer.path:
        return open_duckdb, (portable_path(answer.path), answer.readonly, dict(answer.settings))
    return connect_duckdb, (database, dict(answer.settings))


def default_duckdb() -> Any:
    """The connection of `duckdb.sql` and its like; None when there is none, or nothing is kept in it."""
    if not may_exist():
        return None
    connection = sys.modules["duckdb"].default_connection()
    _, answer = _ask(connection)
    return None if answer.is_empty else connection


def _ask(connection: Any) -> tuple[Database, Answer]:
    """The database of a connection, and what the connection holds."""
    seen = Seen.of(connection)
    database = seen.database
    version, profile = database.look(connection), has_profile(connection)
    if seen.answer[0] == version and not profile:
        return database, seen.answer[1]
    with database.asked(connection):
        answer = _answer(database, connection)
    seen.answer = version, answer
    return database, answer


def _answer(database: Database, connection: Any) -> Answer:
    if _in_transaction(connection):
        return Answer("a duckdb connection in the middle of a transaction; commit or roll back first")
    answer = Answer(settings=_settings(connection))
    # One with a result that is still being fetched answers no question, so it cannot be kept.
    own = connection.sql(OWN).fetchall()
    functions = database.functions(connection)
    own += [("function", name) for name, is_macro in functions if not is_macro]
    answer.named = sorted((kind, name) for kind, name in own if kind in REASONS)
    with contextlib.closing(connection.cursor()) as cursor:
        for kind, *row in cursor.execute(CATALOG).fetchall():
            answer.catalog.setdefault(kind, []).append(row)
        if any(is_macro for _, is_macro in functions):
            answer.catalog["more"] = answer.catalog.get("more", [])
        path, _, _, readonly = answer.catalog["path"][0]
        answer.path, answer.readonly = path or "", bool(readonly)
        if "other database" in answer.catalog:
            answer.refused = "a duckdb connection with other databases attached"
        elif any(kind == "temporary table" for kind, _ in own):
            answer.refused = "a duckdb connection with temporary tables"
        elif answer.path and not readonly:
            cursor.execute("checkpoint")
    return answer


def _settings(connection: Any) -> dict[str, str]:
    """What was set of a connection and its database; a connection with a pending result answers no question."""
    try:
        now = dict(connection.query(SETTINGS).fetchall())
    except sys.modules["duckdb"].Error:
        now = dict(connection.cursor().execute(SETTINGS).fetchall())
    usual = usual_settings()
    return {name: value for name, value in now.items() if usual.get(name) != value}


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


def reduce_database(_: Any, database: Database) -> Any:
    """A database in memory; one of its connections was asked just before."""
    version, found = database.content
    if version != database.version:
        seen = next(one for one in Seen.all if one.database is database and one.answer[0] == database.version)
        with database.asked(seen()):
            found = _content(seen(), seen.answer[1].catalog)
        if isinstance(found, str) or sum(rows.nbytes for *_, rows in found[1]) <= KEPT:
            database.content = database.version, found
    if isinstance(found, str):
        raise PicklingError(found)
    return make_database, found


def _content(connection: Any, catalog: dict[str, list[Any]]) -> tuple[list[str], list[Any], list[str]] | str:
    """What `make_database` makes a database of: its tables as arrow tables, its views as their SQL; or why not."""
    if "more" in catalog:
        return "a duckdb database in memory with sequences, macros or types of its own"
    tables = []
    with contextlib.closing(connection.cursor()) as cursor:
        columns: dict[tuple[str, str], list[str]] = {}
        if "table" in catalog:
            for schema, table, name, kind in cursor.execute(COLUMNS).fetchall():
                columns.setdefault((schema, table), []).append(_column(name, kind))
        for schema, name, sql, _ in _in_order(catalog, "table"):
            wanted = ", ".join(columns[schema, name])
            rows = cursor.sql(f"select {wanted} from {quoted(schema)}.{quoted(name)}")
            tables.append((schema, name, sql, rows.to_arrow_table()))
    statements = [row[2] for kind in ("index", "view") for row in _in_order(catalog, kind)]
    return [row[0] for row in catalog.get("schema", ())], tables, statements


def _in_order(catalog: dict[str, list[Any]], kind: str) -> list[Any]:
    """Entries in the order in which they were made."""
    return sorted(catalog.get(kind, ()), key=lambda row: row[3])


def _column(name: str, kind: str) -> str:
    """What to ask of a column: types that arrow has no equal for come as text, from which they are made again."""
    return f"{quoted(name)}::text as {quoted(name)}" if kind in AS_TEXT else quoted(name)
