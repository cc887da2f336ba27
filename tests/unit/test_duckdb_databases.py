"""What tells that something may have run on a database of duckdb."""

import ctypes
import shutil
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from sandboxes.inside.kernel.snapshots.duckdb_databases import Seen, counts


@pytest.fixture(autouse=True)
def nobody_else() -> Iterator[None]:
    """The handler by which a test is ended after some time could run anything."""
    before = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGALRM, before)


def test_this_version_of_duckdb_can_be_relied_on() -> None:
    assert counts()


def test_a_library_that_is_loaded_may_be_an_extension(tmp_path: Path) -> None:
    with closing(duckdb.connect()) as connection:
        database = Seen.of(connection).database
        version = database.look(connection)
        assert database.look(connection) == version
        library = shutil.copy(_ctypes_of_python(), tmp_path / "library.so")
        ctypes.CDLL(str(library))
        assert database.look(connection) == version + 1
        assert database.look(connection) == version + 1


def _ctypes_of_python() -> str:
    import _ctypes

    return str(_ctypes.__file__)


def test_connections_are_known_by_the_database_that_they_share(tmp_path: Path) -> None:
    with (
        closing(duckdb.connect()) as one,
        closing(duckdb.connect()) as other,
        closing(duckdb.connect(str(tmp_path / "d.duckdb"))) as file,
        closing(file.cursor()) as of_file,
        closing(one.cursor()) as of_one,
    ):
        found = [Seen.of(connection).database for connection in (one, other, file, of_file, of_one)]
        versions = [found[0].look(one), found[1].look(other), found[2].look(file)]
        assert [found.index(database) for database in found] == [0, 1, 2, 2, 0]
        assert versions == [found[0].look(of_one), found[1].look(other), found[2].look(of_file)]
        of_one.execute("select 1").fetchall()
        assert found[0].look(one) == versions[0] + 1
        assert found[2].look(of_file) == versions[2]
