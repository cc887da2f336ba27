"""Connections of sqlite in the middle of a transaction: what it has changed so far is changed again at a restore.

A snapshot has what the connection sees. Of a database in memory it has what was committed as well, which a forked
child finds by rolling back; of a file that is in the file. A restore begins a transaction over what was committed and
makes the changes between the two (see `sqlite_changes`), so that committing and rolling back lead where they would have
led. That is tried out before it is relied on. Where it leads elsewhere the connection is named as lost, as it is with
savepoints.
"""

import contextlib
import gc
import hashlib
import json
import sys
from collections.abc import Callable, Iterable
from pickle import PickleBuffer, PicklingError
from typing import Any
from urllib.parse import quote

from .forked import answer_of_child
from .singletons import CurrentSession
from .sqlite_changes import change, image_of, in_one_file, opened_on, rows_of
from .sqlite_content import cache_of

LARGEST = 16 << 20
"""Bytes of a database of which this is done."""
TITLE = "a database connection in the middle of a transaction"
SAVEPOINTS = ("savepoint", "begin_nested")
Begun = tuple[Any, str, bool, tuple[int, ...]]
"""What the connection sees; the digest of what is committed, for a file; whether others are kept from writing before
anything was written; and its counts of changes."""
Counts = tuple[int, ...]


def begun_by(connection: Any, path: str, counts: Counts, is_shared: Callable[[], bool]) -> tuple[Begun, Any, bool]:
    """The transaction that a connection is in.

    Args:
        connection: One that has nothing but its main database.
        path: The database's file; empty for one in memory.
        counts: Its changes, those of the last statement and the last new row; empty: nothing has changed.
        is_shared: Asks whether other connections use the same database in memory; ends their transactions.

    Returns:
        What `resume` is given, what is committed (None: that is in the file), and whether the counts come back.

    Raises:
        PicklingError: It cannot be begun again.
    """
    try:
        size = rows_of(connection, "pragma page_count")[0][0] * rows_of(connection, "pragma page_size")[0][0]
        if (
            size > LARGEST
            or CurrentSession.cells.any(_has_savepoint)
            or any(map(_has_savepoint, _statements(connection)))
        ):
            raise ValueError("it is too large, or may have savepoints")
        if rows_of(connection, "pragma defer_foreign_keys")[0][0]:
            raise ValueError("its foreign keys are deferred")
        image = image_of(connection)
        answer = answer_of_child(lambda: _tried(connection, path, image, counts, is_shared))
        head, committed = answer.split(b"\n", 1)
        digest, at_once, is_counted = json.loads(head)
    except (ValueError, PicklingError, sys.modules["sqlite3"].Error):
        raise PicklingError(f"{TITLE}; commit or roll back first") from None
    return (PickleBuffer(image), digest, at_once, counts), None if path else PickleBuffer(committed), is_counted


def _has_savepoint(text: str) -> bool:
    return any(word in text.lower() for word in SAVEPOINTS)


def _statements(connection: Any) -> Iterable[str]:
    """Those that it ran last."""
    cache = cache_of(connection)
    if cache is None:
        raise ValueError("its statements are not known")
    held = gc.get_referents(cache)
    for one in [*held, *(key for some in held if type(some) is dict for key in some)]:
        if type(one) is str:
            yield one


def _tried(connection: Any, path: str, image: bytes, counts: Counts, is_shared: Callable[[], bool]) -> bytes:
    """In a child: whether its transaction can be begun again, over what."""
    sqlite3, digest, at_once = sys.modules["sqlite3"], "", False
    if path:
        other = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, timeout=0)
        committed = image_of(other)
        digest = hashlib.sha256(committed).hexdigest()
        at_once = committed == image and _is_kept_from_writing(path)
    else:
        sqlite3.Connection.rollback(connection)
        if is_shared():
            raise ValueError("several connections share it")
        committed = image_of(connection)
    with contextlib.closing(opened_on(committed)) as trial:
        for name in ("foreign_keys", "ignore_check_constraints"):
            rows_of(trial, f"pragma {name} = {rows_of(connection, f'pragma {name}')[0][0]}")
        is_counted = _change(trial, image, counts)
    return json.dumps([digest, at_once, is_counted]).encode() + b"\n" + (b"" if path else committed)


def _is_kept_from_writing(path: str) -> bool:
    other = sys.modules["sqlite3"].connect(path, timeout=0, isolation_level=None)
    try:
        other.execute("begin immediate")
    except sys.modules["sqlite3"].OperationalError as error:
        return "locked" in str(error)
    return False


def _change(connection: Any, image: bytes, counts: Counts, at_once: bool = False) -> bool:
    """Begin the transaction and make its changes; whether the connection has the counts then."""
    if not connection.in_transaction:  # one without automatic commits is always in one
        rows_of(connection, "begin immediate" if at_once else "begin")
    rows_of(connection, "pragma defer_foreign_keys = 1")
    change(connection, image)
    rows_of(connection, "pragma defer_foreign_keys = 0")
    if not counts or counts_of(connection) == counts:
        return bool(counts) or connection.total_changes == 0
    return count_up(connection, counts)


def resume(connection: Any, begun: Begun) -> None:
    """Let a connection to what is committed be in the transaction.

    Raises:
        ValueError: The file is another than it was.
    """
    image, digest, at_once, counts = begun
    if digest and CurrentSession.earlier_file is not None:  # it is for looking at, and reads what it saw
        connection.deserialize(in_one_file(bytes(image)))
        return
    if digest and hashlib.sha256(image_of(connection)).hexdigest() != digest:
        raise ValueError("the database is another than the one in which the transaction was begun")
    _change(connection, bytes(image), counts, at_once)


MOST_CHANGES = 100_000
COUNTED = """
create temp table stepwell_changes (x);
with recursive n (i) as (select 1 union all select i + 1 from n where i < {before})
insert into temp.stepwell_changes (rowid) select i from n where {before} > 0;
drop table temp.stepwell_changes;
create temp table stepwell_changes (x);
with recursive n (i) as (select {row} - {block} + 1 union all select i + 1 from n where i < {row})
insert into temp.stepwell_changes (rowid) select i from n;
{nothing}
drop table temp.stepwell_changes;
"""
NOTHING = "delete from temp.stepwell_changes where 0;"


def counts_of(connection: Any) -> Counts:
    """How many rows a connection has changed, how many the last statement, and the number of the last new row."""
    total = connection.total_changes
    return (total, *map(int, rows_of(connection, "select changes(), last_insert_rowid()")[0])) if total else ()


def count_up(connection: Any, counts: Counts) -> bool:
    """Let a connection have changed so many rows, of tables that are gone; whether that can be."""
    total, last, row = counts
    block = max(last, 1)
    before = total - block - connection.total_changes
    if before < 0 or total > MOST_CHANGES:
        return False
    script = COUNTED.format(before=before, block=block, row=row, nothing="" if last else NOTHING)
    if connection.in_transaction:  # which a script would end
        for statement in filter(str.strip, script.split(";")):
            rows_of(connection, statement)
    else:
        sys.modules["sqlite3"].Connection.executescript(connection, script)
    return True
