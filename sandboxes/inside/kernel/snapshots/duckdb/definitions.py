"""Sequences, types and macros of duckdb databases in memory, as statements that make them again.

The parameters of macros with their defaults are in what duckdb answers to a call with too many arguments, and nowhere
else. The statements are tried out on a database of their own before they are relied on.
"""

import contextlib
import functools
import re
import sys
from collections.abc import Iterable
from typing import Any

from ..sql_text import literal, quoted

MOST_NUMBERS = 1_000_000
"""How often a sequence is asked for its next number, to be where it was."""
SCHEMAS = "select schema_name from duckdb_schemas() where not internal and database_name = current_database()"
SEQUENCES = """
select schema_name, sequence_name, temporary, start_value, min_value, max_value, increment_by, cycle, last_value
from duckdb_sequences() order by sequence_oid
"""
TYPES = "select schema_name, type_name, database_name from duckdb_types() where not internal order by type_oid"
BODIES = (
    "select function_name, macro_definition from duckdb_functions() where not internal and function_type like '%macro'"
)
MACROS = """
select schema_name, function_name, function_type, database_name, parameters, macro_definition
from duckdb_functions() where not internal and function_type like '%macro' order by function_oid
"""
COMMENTS = """
select 'table', schema_name, table_name, null, comment from duckdb_tables() where not internal and comment is not null
union all select 'view', schema_name, view_name, null, comment from duckdb_views()
where not internal and comment is not null
union all select 'column', schema_name, table_name, column_name, comment from duckdb_columns()
where not internal and comment is not null
"""
DEFAULT = " := "
CANDIDATES = "Candidate macros:"
"""Before the lines that say how a macro is called."""


class Naming:
    """Says what names something of a set, or what names that, and so on.

    Args:
        first: The names.
        bodies: What else there is, by name, and its SQL.
    """

    def __init__(self, first: Iterable[str], bodies: list[tuple[str, str]]) -> None:
        self.names = set(first)
        left = list(bodies) if self.names else []
        while found := [one for one in left if self.is_in(one[1])]:
            self.names |= {name for name, _ in found}
            left = [one for one in left if one not in found]

    def is_in(self, sql: str) -> bool:
        """Whether one of them stands there; it may mean something else."""
        any_of = "|".join(map(re.escape, self.names)) or "(?!)"
        return re.search(rf"(?<!\w)(?:{any_of})(?!\w)", sql, re.IGNORECASE) is not None


def statements(cursor: Any, tables: list[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """What makes them, before the tables and after these.

    Args:
        cursor: One to the database.
        tables: The schemas of its tables, and their SQL.

    Raises:
        ValueError: One does not say all of itself.
        duckdb.Error: They make nothing of the kind.
    """
    first = [*_sequences(cursor), *_types(cursor)]
    after = _macros(cursor)
    wanted = _listed(cursor)
    with contextlib.closing(sys.modules["duckdb"].connect(":memory:")) as trial:
        schemas = [schema for (schema,) in cursor.execute(SCHEMAS).fetchall()]
        failed = _make(trial, schemas, first, tables, after)
        # Those over files are not tried; others need views, or functions of Python.
        unsure = of_files(after) | {statement for statement in after if statement in failed}
        *known, macros = _listed(trial)
        if [*known, sorted([*macros, *unsure])] != wanted:
            raise ValueError("they are made as others")
    return first, after


OF_FILES = re.compile(r"\bread_\w+\s*\(|\b(?:from|join)\s+'|\w_scan\s*\(", re.IGNORECASE)
MARK = '"'
NAME = r'(?:"(?:[^"]|"")*"|\w+)'
DEFINED = re.compile(
    rf"(?:create|comment\s+on)\s+(?:temp\w*\s+|unique\s+)?(view|macro|column|table|index)\s+(?:{NAME}\s*\.\s*)*({NAME})",
    re.IGNORECASE,
)
"""How the SQL of a view or the like begins, as duckdb writes it, and that of what was written about it."""


def defined_by(statement: str) -> tuple[str, str] | None:
    """What a statement defines, and its name; None: it is of another kind."""
    found = DEFINED.match(statement)
    return (found[1].lower(), found[2].strip(MARK).replace(MARK * 2, MARK)) if found is not None else None


def of_files(made: Iterable[str]) -> set[str]:
    """The statements for views and macros that read files, or others that do: they are read when one is made."""
    known = [((defined_by(one) or ("", ""))[1], one) for one in made]
    names = Naming({name for name, sql in known if OF_FILES.search(sql)}, known).names
    return {sql for name, sql in known if name in names}


@functools.lru_cache(maxsize=100)
def not_made(
    schemas: tuple[str, ...], first: tuple[str, ...], tables: tuple[tuple[str, str], ...], made: tuple[str, ...]
) -> list[str]:
    """The statements for tables, views and macros that do not work in another database."""
    with contextlib.closing(sys.modules["duckdb"].connect(":memory:")) as trial:
        return _make(trial, schemas, first, tables, made)


def _make(
    trial: Any, schemas: Iterable[str], first: Iterable[str], tables: Iterable[tuple[str, str]], made: Iterable[str]
) -> list[str]:
    """Make all in a database but what reads files; the statements that fail, because of what only a session has."""
    failed: list[str] = []
    for schema in schemas:
        trial.execute(f"create schema if not exists {quoted(schema)}")
    for statement in first:
        trial.execute(statement)
    read = of_files(made)
    waiting = [statement for statement in made if statement not in read]
    for schema, sql in tables:
        try:
            waiting = make_table(trial, schema, sql, waiting)
        except sys.modules["duckdb"].Error:
            failed.append(sql)
    trial.execute("use main")
    return [*failed, *(statement for statement, _ in run_in_rounds(trial, waiting))]


def make_table(connection: Any, schema: str, sql: str, waiting: list[str]) -> list[str]:
    """Make a table, which may need macros for its defaults; the statements that are still to be run.

    Raises:
        duckdb.Error: It cannot be made.
    """
    connection.execute(f"use {quoted(schema)}")
    try:
        connection.execute(sql)
    except sys.modules["duckdb"].Error:
        macros = [statement for statement in waiting if statement.startswith("create macro")]
        failed = {statement for statement, _ in run_in_rounds(connection, macros)}
        connection.execute(sql)
        return [statement for statement in waiting if statement not in macros or statement in failed]
    return waiting


def run_in_rounds(connection: Any, statements: list[str]) -> list[tuple[str, Exception]]:
    """Run statements, those that need others after them; what cannot be run, and why."""
    failed: list[tuple[str, Exception]] = []
    left = statements
    while left:
        failed = []
        for statement in left:
            try:
                connection.execute(statement).fetchall()  # else the next one finds it busy
            except sys.modules["duckdb"].Error as error:
                failed.append((statement, error))
        if len(failed) == len(left):
            break
        left = [statement for statement, _ in reversed(failed)]  # what was made again stands behind what needs it
    return failed


def comments(cursor: Any) -> list[str]:
    """What was written about tables, views and columns, as statements."""
    try:
        found = cursor.execute(COMMENTS).fetchall()
    except sys.modules["duckdb"].Error:  # an earlier version
        return []
    return [
        f"comment on {kind} {'.'.join(quoted(part) for part in place if part)} is {literal(text)}"
        for kind, *place, text in found
    ]


def _listed(cursor: Any) -> list[Any]:
    types = cursor.execute(TYPES).fetchall()
    return [cursor.execute(SEQUENCES).fetchall(), types, sorted(_macros(cursor))]


def _sequences(cursor: Any) -> list[str]:
    made = []
    for schema, name, temporary, start, least, most, step, cycle, last in cursor.execute(SEQUENCES).fetchall():
        count = 0 if last is None else (last - start) // step + 1
        if temporary or not 0 <= count <= MOST_NUMBERS or (count and cycle):
            raise ValueError(f"sequence {name}")
        place = f"{quoted(schema)}.{quoted(name)}"
        ends = f"minvalue {least} maxvalue {most} start with {start}{' cycle' if cycle else ''}"
        made.append(f"create sequence {place} increment by {step} {ends}")
        if count:
            made.append(f"select max(nextval({literal(place)})) from range({count})")
    return made


def _types(cursor: Any) -> list[str]:
    made = []
    for schema, name, database in cursor.execute(TYPES).fetchall():
        place = f"{quoted(schema)}.{quoted(name)}"
        if database == "temp":
            raise ValueError(f"type {name}")
        ((kind,),) = cursor.execute(f"select typeof(null::{place})").fetchall()
        made.append(f"create type {place} as {kind}")
    return made


def _macros(cursor: Any) -> list[str]:
    ways: dict[tuple[str, str, str, str], list[tuple[list[str], str]]] = {}
    for *which, parameters, body in cursor.execute(MACROS).fetchall():
        ways.setdefault(tuple(which), []).append((parameters, body))
    made = []
    for (schema, name, kind, database), bodies in ways.items():
        place, table = f"{quoted(schema)}.{quoted(name)}", "table " if kind == "table_macro" else ""
        most = max(len(parameters) for parameters, _ in bodies)
        called = _signatures(cursor, f"{'* from ' if table else ''}{place}({', '.join(['null'] * (most + 1))})", name)
        if database == "temp" or len(called) != len(bodies):
            raise ValueError(f"macro {name}")
        given = [
            listed if DEFAULT in listed else ", ".join(map(quoted, parameters))
            for listed, (parameters, _) in zip(called, bodies, strict=True)
        ]
        each = [f"({listed}) as {table}({body})" for listed, (_, body) in zip(given, bodies, strict=True)]
        made.append(f"create macro {place}{', '.join(each)}")
    return made


def _signatures(cursor: Any, call: str, name: str) -> list[str]:
    """The parameters of each way to call a macro."""
    try:
        cursor.execute(f"explain select {call}")
    except sys.modules["duckdb"].Error as error:
        _, _, lines = str(error).partition(CANDIDATES)
        listed = lines.partition("\n\n")[0].strip().splitlines()
        heads = [line.strip().partition("(") for line in listed]
        return [rest.rpartition(")")[0] for head, _, rest in heads if head.strip('"') == name]
    return []
