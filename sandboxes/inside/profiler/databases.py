"""Describe database files: the tables of SQLite and DuckDB, opened for reading only."""

from __future__ import annotations

import importlib
import os
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from urllib.parse import quote

from .columns import describe_values
from .doubts import repetition
from .findings import Findings, Inspection, Table, UnreadableError, clean, count_text, literal, size_text

TABLES = 20
SAMPLE_ROWS = 2_000
COUNT_SECONDS = 3.0


def describe(look: Inspection, kind: str) -> Findings:
    """Describe a database file.

    Raises:
        UnreadableError: it is damaged or locked.
    """
    return _sqlite(look) if kind == "sqlite" else _duckdb(look)


def _name(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _sqlite(look: Inspection) -> Findings:
    # Without a journal beside it nothing but this file is touched, so that it opens in a read-only folder too.
    alone = not os.path.exists(look.path + "-wal")  # noqa: PTH110
    address = f"file:{quote(look.path)}?mode=ro"
    found = Findings(kind=f"SQLite database, {size_text(look.size)}")
    try:
        with closing(sqlite3.connect(address + ("&immutable=1" if alone else ""), uri=True)) as connection:
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            connection.execute("pragma trusted_schema=off")
            entries = connection.execute(
                "select name, type from sqlite_master where type in ('table', 'view') and name not like 'sqlite_%'"
                " order by type, rootpage"
            ).fetchall()
            for name, type_ in entries[:TABLES]:
                found.tables.append(_sqlite_table(connection, name, type_, address, look, len(entries)))
    except (sqlite3.Error, ValueError, OverflowError) as error:
        raise UnreadableError(
            f"seems to be an SQLite database that is truncated or corrupt: {clean(error, 120)}"
        ) from error
    _finish(found, [name for name, _ in entries])
    return found


def _finish(found: Findings, names: list[str]) -> None:
    count = len(names)
    found.kind = found.kind.replace(", ", f", {count_text(count, 'table')}, ", 1)
    if not count:
        found.remarks.append("it has no tables")
    if count > TABLES:
        found.lines.append(f"not looked at: {', '.join(clean(name) for name in names[TABLES : TABLES + 40])}")


def _sqlite_table(
    connection: sqlite3.Connection, name: str, type_: str, address: str, look: Inspection, tables: int
) -> Table:
    table = Table(f"{type_} {clean(name)}")
    query = f"select * from {_name(name)}"
    table.read_with = f"pd.read_sql({literal(query)}, sqlite3.connect({literal(address)}, uri=True))"
    seconds = min(COUNT_SECONDS, look.seconds * 0.5 / max(min(tables, TABLES), 1))
    end = time.monotonic() + seconds
    connection.set_progress_handler(lambda: int(time.monotonic() > end), 10_000)
    try:
        cursor = connection.execute(f"{query} limit {SAMPLE_ROWS}")
        names = [entry[0] for entry in cursor.description]
        rows = cursor.fetchall()
        table.size = f"{_count(connection, name, len(rows), type_)} x {count_text(len(names), 'column')}"
    except sqlite3.OperationalError as error:
        slow = "interrupted" in str(error)
        table.size = "not read: it took too long" if slow else f"cannot be read: {clean(error, 100)}"
        return table
    finally:
        connection.set_progress_handler(None, 0)
    _fill(table, names, rows, whole=len(rows) < SAMPLE_ROWS)
    if keys := _keys(connection, name):
        table.remarks.append(f"keys: {'; '.join(keys)}")
    return table


def _keys(connection: sqlite3.Connection, name: str) -> list[str]:
    """The primary key of a table, and the columns that refer to other tables."""
    marked = [(row[5], row[1]) for row in connection.execute(f"pragma table_info({_name(name)})") if row[5]]
    found = [f"primary key {', '.join(clean(column) for _, column in sorted(marked))}"] if marked else []
    for row in connection.execute(f"pragma foreign_key_list({_name(name)})"):
        target = f"{clean(row[2])}.{clean(row[4])}" if row[4] else f"the primary key of {clean(row[2])}"
        found.append(f"{clean(row[3])} → {target}")
    return found


def _count(connection: sqlite3.Connection, name: str, read: int, type_: str) -> str:
    if read < SAMPLE_ROWS:
        return f"{count_text(read, 'row')} (exact)"
    try:
        count = connection.execute(f"select count(*) from {_name(name)}").fetchone()[0]
        return f"{count_text(count, 'row')} (exact)"
    except sqlite3.OperationalError:
        pass
    try:
        highest = connection.execute(f"select max(rowid) from {_name(name)}").fetchone()[0] if type_ == "table" else 0
    except sqlite3.OperationalError:
        highest = 0
    return f"about {highest:,} rows (estimated)" if highest else f"more than {read:,} rows"


def _fill(table: Table, names: Sequence[str], rows: Sequence[Sequence[object]], *, whole: bool) -> None:
    table.column_count = len(names)
    if not whole:
        table.size += f", statistics from the first {len(rows):,} rows"
    for place, name in enumerate(names):
        table.columns.append(describe_values(name, [row[place] for row in rows], whole=whole))
    table.rows = [["" if value is None else clean(value) for value in row] for row in rows[:3]]
    table.remarks += repetition(rows, whole=whole)
    if not rows:
        table.remarks.append("it has no rows")


def _duckdb(look: Inspection) -> Findings:
    found = Findings(kind=f"DuckDB database, {size_text(look.size)}")
    try:
        duckdb = importlib.import_module("duckdb")
    except ImportError:
        found.remarks.append("this Python has no library to read it (duckdb)")
        return found
    try:
        settings = {"enable_external_access": "false", "autoload_known_extensions": "false"}
        with duckdb.connect(look.path, read_only=True, config=settings) as connection:
            entries = connection.execute(
                "select table_schema, table_name, table_type from information_schema.tables order by 1, 2"
            ).fetchall()
            for schema, name, type_ in entries[:TABLES]:
                full = _name(name) if schema == "main" else f"{_name(schema)}.{_name(name)}"
                table = Table(f"{'view' if type_ == 'VIEW' else 'table'} {clean(name)}")
                found.tables.append(table)
                query = f"select * from {full}"
                table.read_with = f"duckdb.connect({literal(look.path)}, read_only=True).sql({literal(query)}).df()"
                _duckdb_table(connection, table, query, full)
                look.publish(found)
    except duckdb.Error as error:
        raise UnreadableError(f"seems to be a DuckDB database that cannot be opened: {clean(error, 140)}") from error
    _finish(found, [name for _, name, _ in entries])
    return found


def _duckdb_table(connection: object, table: Table, query: str, full: str) -> None:
    cursor = connection.execute(f"{query} limit {SAMPLE_ROWS}")  # type: ignore[attr-defined]
    names = [entry[0] for entry in cursor.description]
    rows = cursor.fetchall()
    count = connection.execute(f"select count(*) from {full}").fetchone()[0]  # type: ignore[attr-defined]
    table.size = f"{count_text(count, 'row')} (exact) x {count_text(len(names), 'column')}"
    _fill(table, names, rows, whole=len(rows) == count)
