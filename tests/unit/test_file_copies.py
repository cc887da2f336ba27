"""Copies of inputs take no more room than they must: holes stay holes, and what is copied is what was there."""

import hashlib
import os
import secrets
import subprocess
from pathlib import Path

import pytest

from sandboxes.host import workspace
from sandboxes.host.file_copies import copy_content

MEGABYTE = 1 << 20


def sparse(file: Path, parts: dict[int, bytes], size: int) -> Path:
    """A file with data at some places, and nothing between them."""
    with file.open("wb") as stream:
        for at, data in parts.items():
            stream.seek(at)
            stream.write(data)
        stream.truncate(size)
    return file


def room(file: Path) -> int:
    """The bytes that it takes on the disk."""
    return 512 * file.stat().st_blocks


@pytest.mark.parametrize(
    ("parts", "size"),
    [
        ({}, 0),
        pytest.param({}, 300 * MEGABYTE, marks=pytest.mark.slow),
        pytest.param({0: b"beginning"}, 300 * MEGABYTE, marks=pytest.mark.slow),
        ({100 * MEGABYTE: b"middle", 299 * MEGABYTE: secrets.token_bytes(MEGABYTE)}, 300 * MEGABYTE),
        ({0: secrets.token_bytes(3 * MEGABYTE + 17)}, 3 * MEGABYTE + 17),
    ],
)
def test_holes_of_an_input_stay_holes_on_the_way_in_and_out(tmp_path: Path, parts: dict[int, bytes], size: int) -> None:
    source = sparse(tmp_path / "source", parts, size)
    (tmp_path / "workspace" / "inputs").mkdir(parents=True)
    workspace.put(tmp_path / "workspace", source, "inputs/source")
    inside = tmp_path / "workspace" / "inputs" / "source"
    workspace.fetch(tmp_path / "workspace", "inputs/source", tmp_path / "back", max_bytes=size)
    for copy in (inside, tmp_path / "back"):
        assert copy.stat().st_size == size
        assert room(copy) <= sum(len(data) for data in parts.values()) + 3 * MEGABYTE
        with copy.open("rb") as stream:
            for at, data in parts.items():
                stream.seek(at)
                assert stream.read(len(data)) == data
    assert inside.stat().st_mode & 0o777 == 0o444
    assert workspace.digest(tmp_path / "workspace", "inputs/source")[1] == _sha256(source)


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def test_a_file_system_without_holes_is_copied_whole(tmp_path: Path) -> None:
    """Files of /proc say that they have no size, and have no places to seek for data."""
    with Path("/proc/self/status").open("rb") as reading, (tmp_path / "copy").open("wb") as writing:
        copy_content(reading, writing)
    assert b"Name:" in (tmp_path / "copy").read_bytes()


def test_where_the_file_system_can_a_copy_shares_its_blocks(tmp_path: Path) -> None:
    source, probe = tmp_path / "source", tmp_path / "probe"
    source.write_bytes(secrets.token_bytes(64 * MEGABYTE))
    can = subprocess.run(["cp", "--reflink=always", source, probe], capture_output=True, check=False).returncode == 0
    if not can:
        pytest.skip("this file system shares no blocks (btrfs and XFS do)")
    (tmp_path / "workspace").mkdir()
    os.sync()
    before = os.statvfs(tmp_path)
    workspace.put(tmp_path / "workspace", source, "inputs/source")
    os.sync()
    after = os.statvfs(tmp_path)
    assert (before.f_bfree - after.f_bfree) * before.f_frsize < 8 * MEGABYTE
    assert (tmp_path / "workspace" / "inputs" / "source").read_bytes() == source.read_bytes()
