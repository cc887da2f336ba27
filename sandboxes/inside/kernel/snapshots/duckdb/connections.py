"""Connections of duckdb: one to a file by its path, one to memory as one of those that its database has.

What a connection and its database hold is asked when something ran on the database since it was last asked (see
`databases`), and remembered: asking takes 5 to 15 ms of processor time, most of it in duckdb.
"""

import contextlib
import re
import sys
from dataclasses import dataclass, field
from pickle import PicklingError
from typing import Any

from ..current_session import CurrentSession, portable_path
from ..other_threads import may_reach
from ..sql_text import literal, quoted
from . import definitions
from .catalog import Rows
from .databases import SETTINGS, Database, Seen, has_profile, usual_functions, usual_settings
from .default_connection import may_exist
from .restoring import OF_SESSION, OF_VARIABLE, OF_VIEW, connect_duckdb, make_database, open_duckdb

AS_TEXT = frozenset({"BIT", "TIME WITH TIME ZONE", "UHUGEINT", "BIGNUM", "VARINT"})
WITHIN = re.compile(rf"\b(?:{'|'.join(AS_TEXT)})\b")
"""Such a type, or one that is made of it."""
KEPT = 16 << 20
"""Bytes of a database in memory that are kept beside it, as tables of arrow, as long as it does not change. The tables
of a larger one are read for each snapshot."""
OWN = """
select 'transaction', txid_current()::varchar
union all select 'database', database_name from duckdb_databases() where not internal
union all select 'temporary table', table_name from duckdb_tables() where temporary
union all select 'frame', view_name from duckdb_views()
where temporary and not internal and sql like '%!_scan()%' escape '!' and view_name != '__append_df'
union all select 'temporary view', sql from duckdb_views()
where temporary and not internal and sql not like '%!_scan()%' escape '!'
union all select 'prepared statement', name from duckdb_prepared_statements()
"""
"""What only the connection itself sees, and the databases: their coming and going is no entry of a catalog. When duckdb
appends a frame, it leaves a view of its own."""
MACROS = """
select 'temporary macro', function_name from duckdb_functions()
where not internal and database_name = 'temp' and function_type like '%macro'
"""
"""Those of the connection alone; it takes 10 ms to list them."""
REASONS = {
    "frame": "it was registered with a duckdb connection; register it again",
    "function": "this function was made with a duckdb connection; make it again",
    "temporary macro": "this temporary macro was made with a duckdb connection; make it again",
    "table": "this table of a duckdb database needs a function of Python, for a default or a check; make it again",
    "macro": "this macro of a duckdb database needs what only this session has, as a function of Python; make it again",
    "view": "this view of a duckdb database reads a frame, or calls a function of Python; make it again",
    "variable": "this variable of a duckdb connection has a value that cannot be written as text; set it again",
    "prepared statement": "this prepared statement was made with a duckdb connection; make it again",
}
"""Why parts of a connection do not come back."""


OF_ITS_OWN = frozenset({"sequence", "macro", "type"})
"""What is defined in a database besides tables and views."""
IN_TRANSACTION = "a duckdb connection in the middle of a transaction; commit or roll back first"
BUSY = "a duckdb connection whose result is still being fetched; fetch all of it"
NOT_REMEMBERED = -1
"""No version of a database."""


@dataclass(slots=True)
class Answer:
    """What a connection holds."""

    refused: str = ""
    """Why it cannot be kept."""
    is_busy: bool = False
    """Whether it answers no question, as a rule since a result is still being fetched."""
    path: str = ""
    """That of its database; empty: it is in memory."""
    readonly: bool = False
    settings: dict[str, str] = field(default_factory=dict)
    """What was set of it and its database."""
    named: list[tuple[str, str]] = field(default_factory=list)
    """What does not come back, although the connection does: kind and name."""
    catalog: Rows = field(default_factory=dict)
    """What there is in its database."""
    first: list[str] = field(default_factory=list)
    """Statements for what tables may need, of a database in memory."""
    after: list[str] = field(default_factory=list)
    """Statements for macros and views."""
    not_made: list[str] = field(default_factory=list)
    """Those of them that would fail."""
    untold: str = ""
    """Why the database cannot be kept."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing would be missed if it were not kept."""
        held = self.catalog.keys() & {"table", "view", *OF_ITS_OWN}
        return not (held or self.settings or self.named or (self.refused and not self.is_busy))


def reduce_duckdb(pickler: Any, connection: Any) -> Any:
    """A duckdb connection."""
    refusals = pickler.reducers.refused
    if id(connection) in refusals:
        raise PicklingError(refusals[id(connection)][1])
    if may_reach(connection):  # a question in between would be an error in another thread
        raise PicklingError("a duckdb connection that other threads, which are running, may use")
    database, answer = _ask(connection, in_part=True)
    if answer.refused:
        refusals[id(connection)] = connection, answer.refused
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
    if may_reach(sys.modules["duckdb"]):
        return connection
    try:
        _, answer = _ask(connection)
    except Exception:  # pickling it says why it cannot be kept
        return connection
    _Default.held = connection if answer.catalog and not answer.path else None
    return None if answer.is_empty else connection


class _Default:
    held: Any = None
    """The default connection, if it is to memory: of the object that duckdb makes for it when there is none, nothing
    would be known. One to a file is not held, so that the file can be opened in another way."""


def _ask(connection: Any, *, in_part: bool = False) -> tuple[Database, Answer]:
    """The database of a connection, and what the connection holds.

    Args:
        connection: The connection.
        in_part: Why it cannot be kept is enough, if it cannot.
    """
    seen = Seen.of(connection)
    database = seen.database
    now = database.look(connection), has_profile(connection)
    if now[1] or seen.found_at != now:
        with database.asked(connection):
            answer = _answer(database, connection, in_part=in_part)
            if not (answer.refused or answer.path) and database.content[0] != now[0]:
                database.content = now[0], _content(database, connection, answer)
        seen.found, seen.found_at = answer, (NOT_REMEMBERED if answer.is_busy else now[0], now[1])
    found: Answer = seen.found
    return database, found


def _answer(database: Database, connection: Any, *, in_part: bool) -> Answer:
    """What a connection holds, asked of it and, by a cursor, of its database; see `_ask`."""
    number, own, answer = "", list[tuple[str, str]](), Answer()
    error_of_duckdb: Any = sys.modules["duckdb"].Error
    try:
        number = connection.query("select txid_current()::varchar").fetchall()[0][0]
        own = connection.sql(OWN).fetchall()
        if CurrentSession.cells.any(_has_temporary_macros):
            own += connection.sql(MACROS).fetchall()
    except error_of_duckdb as error:
        if "ransaction" in str(error):
            return Answer(IN_TRANSACTION)
        answer.is_busy, answer.refused = True, BUSY if "unfinished result" in str(error) else str(error)
    if answer.refused and in_part:
        return answer
    if ("transaction", number) in own:  # outside of one, each question has a new number
        return Answer(IN_TRANSACTION)
    answer.catalog = database.entries(connection)
    variables, lost = _variables(connection)
    answer.settings = _settings(database, connection) | variables
    answer.settings |= {f"{OF_VIEW}{number}": sql for number, (kind, sql) in enumerate(own) if kind == "temporary view"}
    own += lost
    functions = [name for _, name, *_ in answer.catalog.get("function", ()) if name not in usual_functions()]
    own += [("function", name) for name in functions]
    if (functions or answer.catalog.keys() & {"view", *OF_ITS_OWN}) and not answer.catalog["path"][0][0]:
        with database.catalog.cursor(connection) as cursor:
            _define(cursor, answer)
        own += [known for known in map(definitions.defined_by, answer.not_made) if known is not None]
    answer.named = sorted((kind, name) for kind, name in own if kind in REASONS)
    ((path, _, _, readonly),) = answer.catalog["path"]
    answer.path, answer.readonly = path or "", bool(readonly)
    if answer.refused:
        return answer
    if sum(kind == "database" for kind, _ in own) > 1:
        answer.refused = "a duckdb connection with other databases attached"
    elif any(kind == "temporary table" for kind, _ in own):
        answer.refused = "a duckdb connection with temporary tables"
    elif answer.path and not answer.readonly:
        with database.catalog.cursor(connection) as cursor:
            cursor.execute("checkpoint")
    return answer


def _has_temporary_macros(text: str) -> bool:
    return TEMPORARY.search(text) is not None


TEMPORARY = re.compile(r"\btemp(?:orary)?\s+(?:macro|function)\b", re.IGNORECASE)


def _settings(database: Database, connection: Any) -> dict[str, str]:
    """What was set of a connection and its database; a connection with a pending result answers no question."""
    error_of_duckdb: Any = sys.modules["duckdb"].Error
    with database.catalog.cursor(connection) as cursor:
        try:
            now = dict(connection.query(SETTINGS).fetchall())
        except error_of_duckdb:
            now = dict(cursor.execute(SETTINGS).fetchall())
        usual = usual_settings()
        changed = {name: value for name, value in now.items() if usual.get(name) != value}
        if not changed:
            return changed
        # What a new cursor does not have was set of this connection only.
        ask = "select " + ", ".join(f"current_setting({literal(name)})::varchar" for name in changed)
        try:
            pairs = zip(connection.query(ask).fetchall()[0], cursor.execute(ask).fetchall()[0], strict=True)
        except error_of_duckdb:
            return changed
    own = [name for name, (here, there) in zip(changed, pairs, strict=True) if here != there]
    return {f"{OF_SESSION}{name}" if name in own else name: value for name, value in changed.items()}


def _variables(connection: Any) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """The variables that were set of a connection, each as an expression for its value; and those that have none."""
    error_of_duckdb: Any = sys.modules["duckdb"].Error
    kept, lost = dict[str, str](), list[tuple[str, str]]()
    try:
        found = connection.query(VARIABLES).fetchall()
    except error_of_duckdb:  # a result is still pending, or the version has no variables
        return kept, lost
    for name, value, kind in found:
        same = f"is not distinct from getvariable({literal(name)})"
        for expression in (f"{literal(value)}::{kind}", f"null::{kind}", "null"):
            with contextlib.suppress(error_of_duckdb):
                if connection.query(f"select ({expression}) {same}").fetchall() == [(True,)]:
                    kept[f"{OF_VARIABLE}{name}"] = expression
                    break
        else:
            lost.append(("variable", name))
    return kept, lost


VARIABLES = "select name, value::varchar, type from duckdb_variables()"


def reduce_database(_: Any, database: Database) -> Any:
    """A database in memory; one of its connections was asked just before."""
    version, found = database.content
    if version != database.version:
        seen = next(one for one in Seen.all if one.database is database and one.found_at[0] == database.version)
        with database.asked(seen()):
            found = _content(database, seen(), seen.found)
        database.content = database.version, found
    if isinstance(found, str):
        raise PicklingError(found)
    if sum(rows.nbytes for *_, rows in found[1]) > KEPT:
        database.content = NOT_REMEMBERED, None
    return make_database, found


def _content(
    database: Database, connection: Any, answer: Answer
) -> tuple[list[str], list[Any], list[str], list[str]] | str:
    """What `make_database` makes a database of: its tables as arrow tables, all else as SQL; or why not."""
    if answer.untold:
        return answer.untold
    catalog = answer.catalog
    columns: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for schema, table, (name, kind), _ in catalog.get("column", ()):
        columns.setdefault((schema, table), []).append((_column(name, kind), name))
        if kind not in AS_TEXT and WITHIN.search(kind) and not _is_its_text(database, connection, schema, table, name):
            return f"a duckdb database in memory with values in {table}.{name} that cannot be written as text"
    found = []
    with database.catalog.cursor(connection) as cursor:
        for schema, name, sql, _ in catalog.get("table", ()):
            if sql in answer.not_made:
                continue
            generated = _generated(cursor, schema, name, sql, catalog)
            wanted = ", ".join(one for one, of_rows in columns[schema, name] if of_rows not in generated)
            rows = cursor.sql(f"select {wanted} from {quoted(schema)}.{quoted(name)}")
            found.append((schema, name, sql, rows.to_arrow_table()))
    statements = [sql for _, _, sql, _ in catalog.get("index", ())]
    made = [statement for statement in answer.after if statement not in answer.not_made]
    with database.catalog.cursor(connection) as cursor:
        statements += definitions.comments(cursor)
    return [schema for schema, *_ in catalog.get("schema", ())], found, [*made, *statements], answer.first


def _define(cursor: Any, answer: Answer) -> None:
    """Find what makes sequences, types, macros and views again, and which of them it does not make."""
    catalog = answer.catalog
    tables = [(schema, sql) for schema, _, sql, _ in catalog.get("table", ())]
    if catalog.keys() & OF_ITS_OWN:
        try:
            answer.first, answer.after = definitions.statements(cursor, tables)
        except Exception:  # it has what cannot be told
            answer.untold = (
                "a duckdb database in memory with sequences, macros or types that do not say all of themselves"
            )
            return
    answer.after += [sql for _, _, sql, _ in catalog.get("view", ())]
    schemas = tuple(schema for schema, *_ in catalog.get("schema", ()))
    first = tuple(statement for statement in answer.first if not statement.startswith("select"))
    answer.not_made = definitions.not_made(schemas, first, tuple(tables), tuple(answer.after))


def _generated(cursor: Any, schema: str, table: str, sql: str, catalog: Rows) -> set[str]:
    """The columns of a table that duckdb computes, into which nothing can be written."""
    found = set[str]()
    if GENERATED not in sql.upper():
        return found
    for name in [name for of_schema, of, (name, _), _ in catalog["column"] if (of_schema, of) == (schema, table)]:
        try:
            cursor.execute(f"explain insert into {quoted(schema)}.{quoted(table)} ({quoted(name)}) select null")
        except sys.modules["duckdb"].Error as error:
            found |= {name} if "generated column" in str(error) else set()
    return found


GENERATED = "GENERATED ALWAYS"


def _column(name: str, kind: str) -> str:
    """What to ask of a column: types that arrow has no equal for come as text, from which they are made again."""
    return f"{quoted(name)}::text as {quoted(name)}" if WITHIN.search(kind) else quoted(name)


def _is_its_text(database: Database, connection: Any, schema: str, table: str, name: str) -> bool:
    """Whether all values of a column of a nested type are made again from their text."""
    column, place = quoted(name), f"{quoted(schema)}.{quoted(table)}"
    with database.catalog.cursor(connection) as cursor:
        try:
            ((kind,),) = cursor.execute(f"select distinct typeof({column}) from {place} limit 1").fetchall() or (("",),)
            other = f"select 1 from {place} where {column}::text::{kind} is distinct from {column} limit 1"
            return not kind or not cursor.execute(other).fetchall()
        except sys.modules["duckdb"].Error:
            return False


def reduce_type(_pickler: Any, kind: Any) -> Any:
    """A type of duckdb: by its name, or as it is written, which duckdb understands."""
    known = vars(sys.modules["_duckdb._sqltypes"])
    return make_type, (next((name for name, one in known.items() if one is kind), ""), str(kind))


def make_type(name: str, text: str) -> Any:
    """A type of duckdb."""
    import duckdb  # noqa: F401 - which brings the other

    known: Any = sys.modules["_duckdb._sqltypes"]
    return getattr(known, name) if name else known.DuckDBPyType(text)


def reduce_relation(_pickler: Any, relation: Any) -> Any:
    """A relation, which is a value from duckdb 2 on, but for what it knows of its connection's catalog."""
    made = object.__reduce_ex__(relation, 4)
    state: Any = made[2] if isinstance(made, tuple) else None
    slots = state[1] if isinstance(state, tuple) else None
    if not isinstance(slots, dict) or VERSION not in slots:
        return NotImplemented
    return *made[:2], (state[0], {**slots, VERSION: UNKNOWN}), *made[3:]


VERSION, UNKNOWN = "_version", -1
"""Where it has the version of the catalog that it was bound to, and a version that no catalog has."""
