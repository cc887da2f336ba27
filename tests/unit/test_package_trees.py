"""Folders of installed packages are one stream each in a snapshot, and come back file by file."""

import json
import os
import stat
import time
from pathlib import Path

import pytest

from sandboxes.inside.kernel.snapshots.files.file_table import FileTable
from sandboxes.inside.kernel.snapshots.storing.blobs import Blobs, MissingBlobError, Spool

SITE = ".packages/lib/python3.11/site-packages"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    package = tmp_path / "workspace" / SITE / "greeting"
    (package / "deep" / "er").mkdir(parents=True)
    (package / "empty").mkdir()
    (package / "__init__.py").write_text("VERSION = 1\n")
    (package / "deep" / "er" / "data.bin").write_bytes(bytes(range(256)) * 9_000)  # more than one blob
    (package / "deep" / "nothing.txt").touch()
    (package / "deep" / "tool.sh").write_text("#!/bin/sh\n")
    (package / "deep" / "tool.sh").chmod(0o755)
    (package / "link.py").symlink_to("__init__.py")
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "x.pyc").write_bytes(b"x")
    (package.parent / "helper.py").write_text("READY = True\n")
    for file in [path for path in (tmp_path / "workspace").rglob("*") if path.is_file() and not path.is_symlink()]:
        os.utime(file, (1_700_000_000, 1_700_000_000))
    time.sleep(0.05)  # what changed just now is read again each time
    return tmp_path / "workspace"


def spool_of(tmp_path: Path) -> Spool:
    spool = Spool(str(tmp_path / "spool"))
    spool.begin(1 << 30)
    return spool


def looks(root: Path) -> dict[str, tuple[int, bytes | str]]:
    """Everything below a folder but what Python caches."""
    found: dict[str, tuple[int, bytes | str]] = {}
    for path in sorted(root.rglob("*")):
        if "__pycache__" not in path.parts:
            content = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
            found[str(path.relative_to(root))] = (stat.S_IMODE(path.lstat().st_mode), content)
    return found


def test_a_package_is_one_entry_and_comes_back_as_it_was(root: Path, tmp_path: Path) -> None:
    spool, lost = spool_of(tmp_path), list[dict[str, object]]()
    table = FileTable(str(root)).take(spool, lost)
    spool.commit(b"{}")
    assert lost == []
    assert [path for path in table if "greeting" in path] == [f"{SITE}/greeting"]
    assert f"{SITE}/helper.py" in table
    other = tmp_path / "other"
    other.mkdir()
    FileTable(str(other)).restore(json.loads(json.dumps(table)), Blobs([str(tmp_path / "spool")]))
    assert looks(other) == looks(root)
    assert (other / SITE / "greeting" / "__init__.py").stat().st_mtime == 1_700_000_000


def test_an_unchanged_package_writes_nothing_and_a_changed_file_of_it_is_seen(root: Path, tmp_path: Path) -> None:
    spool, files = spool_of(tmp_path), FileTable(str(root))
    first = files.take(spool, [])
    spool.commit(b"1")
    spool.begin(1 << 30)
    assert files.take(spool, []) == first
    assert spool.size == 0
    (root / SITE / "greeting" / "__init__.py").write_text("VERSION = 2\n")  # the same length
    assert files.take(spool, [])[f"{SITE}/greeting"] != first[f"{SITE}/greeting"]


def test_what_is_in_the_place_of_a_package_is_replaced(root: Path, tmp_path: Path) -> None:
    spool, files = spool_of(tmp_path), FileTable(str(root))
    table = files.take(spool, [])
    spool.commit(b"1")
    blobs, before = Blobs([str(tmp_path / "spool")]), looks(root)
    package = root / SITE / "greeting"
    (package / "added.py").touch()
    (package / "__init__.py").unlink()
    (root / SITE / "newer").mkdir()
    files.restore(table, blobs)
    assert looks(root) == before
    inode = (package / "__init__.py").stat().st_ino
    files.restore(table, blobs)
    assert looks(root) == before
    assert (package / "__init__.py").stat().st_ino == inode, "what is so already is left alone"


def test_a_package_with_a_missing_blob_is_told_as_that(root: Path, tmp_path: Path) -> None:
    spool = spool_of(tmp_path)
    table = FileTable(str(root)).take(spool, [])
    spool.commit(b"1")
    (tmp_path / "spool" / table[f"{SITE}/greeting"]["chunks"][1]).unlink()
    (tmp_path / "other").mkdir()
    with pytest.raises(MissingBlobError):
        FileTable(str(tmp_path / "other")).restore(table, Blobs([str(tmp_path / "spool")]))


def test_a_stream_that_names_a_path_outside_is_refused(root: Path, tmp_path: Path) -> None:
    spool = spool_of(tmp_path)
    header = json.dumps([["", 0o40755, 0, 0, ""], ["../../../../../out.txt", 0o100644, 0, 0, ""]]).encode()
    blob = spool.put(len(header).to_bytes(8, "big") + header)
    spool.commit(b"1")
    table = {f"{SITE}/evil": {"tree": True, "size": 1, "chunks": [blob]}}
    (tmp_path / "other").mkdir()
    with pytest.raises(ValueError, match="outside the workspace"):
        FileTable(str(tmp_path / "other")).restore(table, Blobs([str(tmp_path / "spool")]))
    assert not (tmp_path / "out.txt").exists()
