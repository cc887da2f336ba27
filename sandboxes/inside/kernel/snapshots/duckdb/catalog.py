"""What is in the catalog of a duckdb database, listed only if an entry of it was made, changed or dropped.

Listing takes 10 ms, since duckdb has 3,000 functions of its own. Whatever is made, changed or dropped is a new entry of
the catalog, and these have ever higher numbers: if one that is made here has just the number that follows from the last
one, there were no others. A cursor and the temporary sequence that is made on it to see a number take some, too; how
many is tried out on each database.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

Rows = dict[str, list[list[Any]]]
"""Entries by their kind: schema, name, SQL, and a number."""

LISTED = """
select 'path', path, null, null, readonly::bigint from duckdb_databases()
where database_name = current_database()
union all select 'schema', schema_name, null, null, 0 from duckdb_schemas()
where not internal and database_name = current_database()
union all select 'table', schema_name, table_name, sql, table_oid from duckdb_tables() where not internal
union all select 'index', null, null, sql, index_oid from duckdb_indexes() where sql is not null
union all select 'view', schema_name, view_name, sql, view_oid from duckdb_views()
where not internal and sql is not null
union all select 'sequence', null, sequence_name, null, 0 from duckdb_sequences()
union all select 'type', null, type_name, null, 0 from duckdb_types() where not internal
"""
COLUMNS = (
    "select 'column', schema_name, table_name, [column_name, data_type], column_index from duckdb_columns() "
    "where not internal"
)
FUNCTIONS = (
    "select distinct case when internal then 'function' else 'macro' end, null, function_name, null, 0 "
    "from duckdb_functions() where (not internal and function_type like '%macro') "
    "or (internal and function_type = 'scalar' and description is null and parameters[1] = 'col0')"
)
"""Functions of Python are internal ones, whose parameters duckdb gives names."""
CONNECTIONS = "select * from duckdb_connection_count()"
MAKE_ENTRY = "create temp sequence stepwell_entry"
ENTRY_NUMBER = "select sequence_oid from duckdb_sequences() where temporary and sequence_name = 'stepwell_entry'"


class Catalog:
    """What is known of the catalog of one database."""

    def __init__(self) -> None:
        self._rows: Rows = {}
        self._last = -1
        """The number of the last entry that was made here, when nothing was left to be listed; -1: it is not known."""
        self._of_cursor = self._of_entry = 0
        """How many numbers a cursor takes, and an entry with its cursor."""
        self._cursors = 0
        """Those that were made here since."""

    @contextlib.contextmanager
    def cursor(self, connection: Any) -> Iterator[Any]:
        """A cursor of the kernel: only what is made in this way is known to be no entry of the user's."""
        with contextlib.closing(connection.cursor()) as cursor:
            self._cursors += 1
            yield cursor

    def rows(self, connection: Any, trusted: bool) -> Rows:
        """All that is in it.

        Args:
            connection: One to the database, which is in no transaction.
            trusted: Whether nobody else can run anything just now, and numbers can be relied on.
        """
        if not self.is_as_listed(connection):
            self.forget()
            self._rows = _listed(connection)
            if trusted:
                self.begin(connection)
        return self._rows

    def forget(self) -> None:
        """Count on nothing until it is listed again."""
        self._last = -1

    def begin(self, connection: Any) -> None:
        """Learn how many numbers are taken, just after it was listed.

        With other connections nothing is: a transaction of theirs may hold an entry that has its number already.
        """
        if not _is_alone(connection):
            return
        _entry(connection)  # with the first one, duckdb may make entries of its own
        first, second, third = (_entry(connection) for _ in range(3))
        connection.cursor().close()
        fourth = _entry(connection)
        if -1 not in (first, second, third, fourth) and third - second == second - first > 0:
            self._of_entry, self._of_cursor = third - second, fourth - third - (third - second)
            self._last, self._cursors = fourth, 0

    def is_as_listed(self, connection: Any) -> bool:
        """Whether there were no other entries since."""
        if self._last < 0:
            return False
        expected = self._last + self._of_entry + self._cursors * self._of_cursor
        self._last, self._cursors = _entry(connection), 0
        return self._last == expected


def _listed(connection: Any) -> Rows:
    rows: Rows = {}
    with contextlib.closing(connection.cursor()) as cursor:
        for ask in (LISTED, COLUMNS, FUNCTIONS):
            for kind, *row in cursor.execute(ask).fetchall():
                rows.setdefault(kind, []).append(row)
    for found in rows.values():
        found.sort(key=lambda row: row[-1])
    return rows


def _entry(connection: Any) -> int:
    """The number of an entry that is made now; -1: it cannot be made."""
    try:
        with contextlib.closing(connection.cursor()) as cursor:
            cursor.execute(MAKE_ENTRY)
            return int(cursor.execute(ENTRY_NUMBER).fetchall()[0][0])
    except Exception:  # another version, or closed
        return -1


def _is_alone(connection: Any) -> bool:
    """Whether a database has no other connection."""
    try:
        with contextlib.closing(connection.cursor()) as cursor:
            return bool(cursor.execute(CONNECTIONS).fetchall() == [(2,)])
    except Exception:  # another version
        return False
