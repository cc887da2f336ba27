"""Databases of sqlite in memory are read again if anything was written to them, and else not."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from sandboxes.inside.kernel.snapshots.sqlite.internals import content_of


def _read(connection: sqlite3.Connection) -> Callable[[], bytearray]:
    return lambda: bytearray(connection.serialize())


def _blob(connection: sqlite3.Connection) -> None:
    with connection.blobopen("t", "b", 1) as blob:
        blob.write(b"abc")


def _backup(connection: sqlite3.Connection) -> None:
    with closing(sqlite3.connect(":memory:")) as other:
        other.execute("create table other (a)")
        other.backup(connection)


WRITES: dict[str, Callable[[sqlite3.Connection], Any]] = {
    "insert": lambda it: it.executescript("insert into t values (2, 'x')"),
    "update": lambda it: it.executescript("update t set b = 'y'"),
    "delete": lambda it: it.executescript("delete from t"),
    "many": lambda it: (
        it.execute("begin"),
        it.executemany("insert into t values (?, 1)", [(2,), (3,)]),
        it.execute("end"),
    ),
    "create": lambda it: it.execute("create table u (a)"),
    "drop": lambda it: it.execute("drop table t"),
    "version": lambda it: it.execute("pragma user_version = 7"),
    "application": lambda it: it.execute("pragma application_id = 7"),
    "analyze": lambda it: it.executescript("create index i on t (b); analyze"),
    "vacuum": lambda it: it.executescript("pragma page_size = 8192; vacuum"),
    "schema": lambda it: it.executescript("pragma writable_schema = on; update sqlite_master set sql = sql || ' '"),
    "blob": _blob,
    "backup": _backup,
    "without a journal": lambda it: it.executescript("pragma journal_mode = off; insert into t values (5, 1)"),
}


@pytest.fixture
def connection() -> Any:
    with closing(sqlite3.connect(":memory:")) as made:
        made.execute("create table t (a integer primary key, b blob)")
        made.execute("insert into t values (1, zeroblob(10))")
        made.commit()
        yield made


@pytest.mark.parametrize("way", WRITES)
def test_what_is_written_in_any_way_is_read(connection: sqlite3.Connection, way: str) -> None:
    before = content_of(connection, _read(connection))
    WRITES[way](connection)
    now = content_of(connection, _read(connection))
    assert now == connection.serialize()
    assert now is not before


def test_what_was_not_written_to_is_not_read(connection: sqlite3.Connection) -> None:
    before = content_of(connection, _read(connection))
    connection.execute("select * from t").fetchall()
    connection.execute("insert into t values (2, 'x')")
    connection.rollback()
    assert content_of(connection, _read(connection)) is before


def test_a_blob_that_is_being_written_is_read_each_time(connection: sqlite3.Connection) -> None:
    with connection.blobopen("t", "b", 1) as blob:
        content_of(connection, _read(connection))
        blob.write(b"abc")
        assert content_of(connection, _read(connection)) == connection.serialize()


def test_connections_that_come_after_each_other_are_told_apart() -> None:
    """Their objects and those of sqlite have the same addresses, and their databases the same versions."""
    for number in range(50):
        connection = sqlite3.connect(":memory:")
        connection.execute("create table t (a)")
        connection.execute("insert into t values (?)", (number,))
        connection.commit()
        assert content_of(connection, _read(connection)) == connection.serialize()
        connection.close()
        del connection
