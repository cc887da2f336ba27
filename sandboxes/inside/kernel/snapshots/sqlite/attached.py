"""What a sqlite connection has beside its main database: attached ones, and temporary tables of its own."""

import contextlib
import functools
import os
import re
import sys
from pickle import PicklingError
from typing import Any
from urllib.parse import quote

from ..current_session import CurrentSession, path_here, portable_path
from ..sql_text import quoted
from .changes import SEQUENCE, Statement, UnlikeError, rows_of, whole
from .internals import is_read_only, without_triggers

USUAL = ("main", "temp")
READ_ONLY = "read only"
"""In the place of a setting."""
OF_EACH = ("synchronous", "cache_size")
JOURNALS = ("persist", "truncate", "memory", "off")
"""How what is done to a file may be undone, besides the usual way and that which the file itself says."""
Beside = tuple[list[tuple[str, str, dict[str, Any]]], list[Statement]]
"""Names, paths and settings of attached databases, and what makes those in memory and temporary tables."""


def beside(connection: Any, databases: list[tuple[str, str]]) -> Beside | None:
    """What there is; None: nothing.

    Args:
        connection: One that is in no transaction.
        databases: The names of its databases, and their paths.

    Raises:
        PicklingError: It cannot be made again.
    """
    attached, statements = list[tuple[str, str, dict[str, Any]]](), list[Statement]()
    for name, path in databases:
        if name == "temp" or name not in USUAL:
            if path and not os.path.exists(path):
                raise PicklingError("a database connection with an attached database whose file is gone")
            if path and is_read_only(connection, name) is None:
                raise PicklingError("a database connection with an attached database of which nothing is known")
            if not path:
                statements += _whole(connection, name)
            if name != "temp":
                attached.append((name, portable_path(path) if path else "", _settings(connection, name, path)))
    return (attached, statements) if attached or statements else None


def _settings(connection: Any, name: str, path: str) -> dict[str, Any]:
    """The settings of an attached database that somebody has changed."""
    now = {one: rows_of(connection, f"pragma {quoted(name)}.{one}")[0][0] for one in OF_EACH}
    found = {one: value for one, value in now.items() if value != _usual()[one]}
    ((mode,),) = rows_of(connection, f"pragma {quoted(name)}.journal_mode") if path else [("",)]
    if path and is_read_only(connection, name):
        return {**found, READ_ONLY: True}
    return {**found, **({"journal_mode": mode} if mode in JOURNALS else {})}


@functools.cache
def _usual() -> dict[str, Any]:
    with contextlib.closing(sys.modules["sqlite3"].connect(":memory:")) as connection:
        return {one: rows_of(connection, f"pragma {one}")[0][0] for one in OF_EACH}


def _whole(connection: Any, name: str) -> list[Statement]:
    what = "temporary tables" if name == "temp" else "a database in memory attached"
    if name == "temp" and not rows_of(connection, "select 1 from temp.sqlite_master limit 1"):
        return []
    if name != "temp" and rows_of(connection, f"pragma {quoted(name)}.journal_mode") != [("memory",)]:
        raise PicklingError("a database connection with an attached database in a file without a name")
    try:
        return whole(connection, name)
    except UnlikeError as error:
        raise PicklingError(f"a database connection with {what}: {error}") from None


def uses(kept: Beside, lost: set[tuple[str, str]]) -> bool:
    """Whether the statements of tables, indexes, views or triggers may use functions or collations of these names."""
    how = {"function": r"""(?<!\w)["'`\[]?{}["'`\]]?\s*\(""", "collation": r"""\bcollate\s+["'`\[]?{}(?!\w)"""}
    any_of = "|".join(how[what].format(re.escape(name)) for name, what in lost) or "(?!)"
    return any(re.search(any_of, sql, re.IGNORECASE) for sql, _ in kept[1] if not INSERT.match(sql))


def inserted(kept: Beside) -> int:
    """How many rows are put in, which the connection counts as changes."""
    return sum(INSERT.match(sql) is not None and SEQUENCE not in sql for sql, _ in kept[1])


INSERT = re.compile("insert into ", re.IGNORECASE)


def put_beside(connection: Any, kept: Beside) -> None:
    """Attach the databases to a connection again, and make what is in memory."""
    attached, statements = kept
    for name, path, *more in attached:  # earlier snapshots have no settings
        settings: dict[str, Any] = dict(*more)
        place = path_here(path) if path else ":memory:"
        if path and CurrentSession.earlier_file is None and not os.path.exists(place):
            why = f"it was attached to a sqlite connection, and {path} is not there; attach it again"
            CurrentSession.not_made[f"sqlite's {name}"] = "attached database", why
            continue
        if settings.pop(READ_ONLY, False):
            place = f"file:{quote(place)}?mode=ro"
        rows_of(connection, f"attach ? as {quoted(name)}", (place,))
        for one, value in settings.items() if CurrentSession.earlier_file is None else ():
            rows_of(connection, f"pragma {quoted(name)}.{one} = {value}")
    if statements:
        rows_of(connection, "begin")
        with without_triggers(connection):
            for sql, values in statements:
                rows_of(connection, sql, values)
        rows_of(connection, "commit")
