"""What tells that something may have run on a database of duckdb."""

import ctypes
import shutil
from contextlib import closing
from pathlib import Path

import duckdb

from sandboxes.inside.kernel.snapshots.duckdb.databases import Seen, counts


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
