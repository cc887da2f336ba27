"""Connections of sqlite in the middle of a transaction: what it has changed so far is changed again at a restore.

A snapshot has what the connection sees. Of a database in memory it has what was committed as well, which a forked
child finds by rolling back; of a file that is in the file. A restore begins a transaction over what was committed and
makes the changes between the two (see `changes`), so that committing and rolling back lead where they would have
led. That is tried out before it is relied on. Where it leads elsewhere the connection is named as lost, as it is with
savepoints.
"""

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from pickle import PickleBuffer, PicklingError
from typing import Any
from urllib.parse import quote

from ...dict_contents import is_alone
from ..child_answers import answer_of_child
from ..current_session import CurrentSession
from ..files.locks import descriptors_of, open_descriptors
from .changes import change, image_of, in_one_file, opened_on, rows_of
from .internals import savepoints, transaction_state

LARGEST = 8 << 20
"""Bytes of a database of which this is done."""
TITLE = "a database connection in the middle of a transaction"
READS, WRITES = 1, 2
"""States of a transaction."""
TEMPORARY = "etilqs_"
"""In the names of files that sqlite makes for itself."""
Begun = tuple[Any, str, int, tuple[int, ...]]
"""What the connection sees; the digest of what is committed, for a file; the transaction's state; and its counts."""
Counts = tuple[int, ...]


NOTHING_YET: Begun = ("", "", 0, ())
"""One that was begun and has done nothing."""


@contextlib.contextmanager
def out_of_transaction(connection: Any) -> Iterator[bool]:
    """End a transaction that has neither read nor written, which nobody sees, and begin it again afterwards.

    Within it, looking would take locks and decide what it sees from then on. Connections without automatic commits
    (`autocommit=False`) are always in one.

    Yields:
        Whether there is one.
    """
    # Also in none of those that are attached, or in temporary tables.
    is_one = connection.in_transaction and transaction_state(connection, None) == 0 and is_alone()
    if not is_one or savepoints(connection) != 0 or rows_of(connection, "pragma defer_foreign_keys")[0][0]:
        yield False
        return
    rows_of(connection, "commit")
    try:
        yield True
    finally:
        rows_of(connection, "begin")


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
    state = transaction_state(connection)
    try:
        if not may_be_looked_at(connection):
            raise ValueError("it has read nothing yet, which looking at it would change")
        if not path and rows_of(connection, "pragma journal_mode") != [("memory",)]:
            raise ValueError("its database is in a file without a name")
        size = rows_of(connection, "pragma page_count")[0][0] * rows_of(connection, "pragma page_size")[0][0]
        if size > LARGEST or savepoints(connection) != 0:
            raise ValueError("it is too large, or has savepoints")
        if rows_of(connection, "pragma defer_foreign_keys")[0][0]:
            raise ValueError("its foreign keys are deferred")
        if path and not descriptors_of(path):
            raise ValueError("its file is another by now")
        image = image_of(connection)
        answer = answer_of_child(lambda: _tried(connection, path, image, state, counts, is_shared))
        head, committed = answer.split(b"\n", 1)
        digest, is_counted = json.loads(head)
    except (ValueError, PicklingError, sys.modules["sqlite3"].Error):
        raise PicklingError(f"{TITLE}; commit or roll back first") from None
    return (PickleBuffer(image), digest, state or 0, counts), None if path else PickleBuffer(committed), is_counted


def may_be_looked_at(connection: Any) -> bool:
    """Whether a transaction has read already, so that reading changes neither its locks nor what it sees.

    What sqlite has moved from memory to files of its own is shared with a forked child, which would change it.
    """
    return transaction_state(connection) in (READS, WRITES) and not any(
        status.st_nlink == 0 and _may_be_of_sqlite(number) for number, status in open_descriptors().items()
    )


def _may_be_of_sqlite(descriptor: int) -> bool:
    try:
        return TEMPORARY in os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:  # nothing tells what it was called
        return True


def _tried(
    connection: Any, path: str, image: bytes, state: int | None, counts: Counts, is_shared: Callable[[], bool]
) -> bytes:
    """In a child: whether its transaction can be begun again, over what."""
    sqlite3, digest = sys.modules["sqlite3"], ""
    if path:
        committed = image_of(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, timeout=0))
        digest = hashlib.sha256(committed).hexdigest()
    else:
        rows_of(connection, "rollback")  # the method does nothing in a connection that commits by itself
        if is_shared():
            raise ValueError("several connections share it")
        committed = image_of(connection)
    if state == READS and committed != image:
        raise ValueError("others have written since it has read")
    with contextlib.closing(opened_on(committed)) as trial:
        for name in ("foreign_keys", "ignore_check_constraints"):
            rows_of(trial, f"pragma {name} = {rows_of(connection, f'pragma {name}')[0][0]}")
        is_counted = _change(trial, image, state, counts)
        if rows_of(trial, "pragma foreign_keys") == [(1,)] and rows_of(trial, "pragma foreign_key_check"):
            raise ValueError("it waits for what its foreign keys want")
    return json.dumps([digest, is_counted]).encode() + b"\n" + (b"" if path else committed)


def _change(connection: Any, image: bytes, state: int | None, counts: Counts) -> bool:
    """Begin the transaction and make its changes; whether the connection has the counts then."""
    if not connection.in_transaction:  # one without automatic commits is always in one
        rows_of(connection, "begin immediate" if state == WRITES else "begin")
    ((version,),), ((spill,),) = rows_of(connection, "pragma user_version"), rows_of(connection, "pragma cache_spill")
    if state == WRITES:
        rows_of(connection, f"pragma user_version = {version}")
    rows_of(connection, "pragma defer_foreign_keys = 1")
    rows_of(connection, "pragma cache_spill = 0")  # what is written to the file before the end locks others out
    change(connection, image)
    rows_of(connection, f"pragma cache_spill = {spill}")
    rows_of(connection, "pragma defer_foreign_keys = 0")
    if not counts or counts_of(connection) == counts:
        return bool(counts) or connection.total_changes == 0
    return count_up(connection, counts)


def resume(connection: Any, begun: Begun) -> None:
    """Let a connection to what is committed be in the transaction.

    Raises:
        ValueError: The file is another than it was.
    """
    image, digest, state, counts = begun
    if not state:
        if not connection.in_transaction:
            rows_of(connection, "begin")
        return
    if digest and CurrentSession.earlier_file is not None:  # it is for looking at, and reads what it saw
        sys.modules["sqlite3"].Connection.deserialize(connection, in_one_file(bytes(image)))
        return
    if digest and hashlib.sha256(image_of(connection)).hexdigest() != digest:
        raise ValueError("the database is another than the one in which the transaction was begun")
    _change(connection, bytes(image), state, counts)


MOST_CHANGES, MOST_IN_TRANSACTION = 100_000, 10_000
"""How many are counted up; in a transaction by temporary tables, which must not become files."""
COUNTED = """
create table {place} (x);
with recursive n (i) as (select 1 union all select i + 1 from n where i < {before})
insert into {place} (rowid) select i from n where {before} > 0;
drop table {place};
create table {place} (x);
with recursive n (i) as (select {row} - {block} + 1 union all select i + 1 from n where i < {row})
insert into {place} (rowid) select i from n;
{nothing}
drop table {place};
"""
NOTHING = "delete from {place} where 0;"


def counts_of(connection: Any) -> Counts:
    """How many rows a connection has changed, how many the last statement, and the number of the last new row."""
    total = connection.total_changes
    return (total, *map(int, rows_of(connection, "select changes(), last_insert_rowid()")[0])) if total else ()


def count_up(connection: Any, counts: Counts) -> bool:
    """Let a connection have changed so many rows, of tables that are gone; whether that can be."""
    if counts_of(connection) == counts:
        return True
    total, last, row = counts
    block = max(last, 1)
    before = total - block - connection.total_changes
    if before < 0 or total > (MOST_IN_TRANSACTION if connection.in_transaction else MOST_CHANGES):
        return False
    place = f"{'temp' if connection.in_transaction else 'stepwell'}.stepwell_changes"
    nothing = "" if last else NOTHING.format(place=place)
    script = COUNTED.format(place=place, before=before, block=block, row=row, nothing=nothing)
    if connection.in_transaction:  # which a script would end, and in which nothing can be attached
        for statement in filter(str.strip, script.split(";")):
            rows_of(connection, statement)
    else:
        try:
            rows_of(connection, "attach ':memory:' as stepwell")
        except sys.modules["sqlite3"].OperationalError:  # there are as many as there may be
            return False
        sys.modules["sqlite3"].Connection.executescript(connection, f"{script}detach stepwell;")
    return True
