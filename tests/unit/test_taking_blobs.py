"""Blobs on their way out of a spool: what copying them would write is counted before anything is written."""

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import SnapshotMissingError, SnapshotTooLargeError, TakenBlob
from sandboxes.host import blobs
from storage.blobs import Blobs
from tests.unit.test_keeping import LyingSandbox

NAMES = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(10)]
LARGE = 180 << 20
PARTS = st.lists(st.tuples(st.integers(0, 300_000), st.binary(min_size=1, max_size=5_000)), max_size=6)


def written(folder: Path) -> int:
    """Bytes that the files of a folder take on the disk."""
    return sum(512 * file.stat().st_blocks for file in folder.iterdir())


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    """Ten sparse files: nothing inside, 1.9 GB when somebody copies them byte by byte."""
    folder = tmp_path / "spool"
    folder.mkdir()
    for name in NAMES:
        with (folder / name).open("wb") as file:
            file.truncate(LARGE)
    return folder


def test_sparse_files_count_as_what_they_stand_for(spool: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(SnapshotTooLargeError, match=r"1,887,436,800 bytes are more than the 1,000,000 "):
        blobs.take(spool, NAMES, out, max_bytes=1_000_000)
    assert not out.exists()


def test_holes_stay_holes(spool: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    blobs.take(spool, NAMES, out, max_bytes=10 * LARGE)
    assert {file.name: file.stat().st_size for file in out.iterdir()} == dict.fromkeys(NAMES, LARGE)
    assert written(out) < 1 << 20


@settings(max_examples=40, derandomize=True, deadline=None)
@given(PARTS, st.integers(0, 9))
def test_what_is_copied_is_what_was_there(parts: list[tuple[int, bytes]], more: int) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        spool = Path(folder) / "spool"
        spool.mkdir()
        with (spool / NAMES[0]).open("wb") as file:
            for at, data in parts:
                file.seek(at)
                file.write(data)
            file.truncate(os.fstat(file.fileno()).st_size + 4_096 * more)
        hashes = blobs.take(spool, NAMES[:1], Path(folder) / "out")
        copied = (Path(folder) / "out" / NAMES[0]).read_bytes()
        assert copied == (spool / NAMES[0]).read_bytes()
        assert hashes == {NAMES[0]: TakenBlob(hashlib.sha256(copied).hexdigest(), len(copied))}


def test_many_are_hashed_as_they_are_copied(tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    for number, name in enumerate(NAMES):  # none of them is what its name says
        (spool / name).write_bytes(bytes([number]) * (1 << 20))
    hashes = blobs.take(spool, NAMES, tmp_path / "out", max_bytes=10 << 20)
    copied = {name: (tmp_path / "out" / name).read_bytes() for name in NAMES}
    assert hashes == {name: TakenBlob(hashlib.sha256(one).hexdigest(), len(one)) for name, one in copied.items()}
    with pytest.raises(SnapshotTooLargeError):
        blobs.take(spool, NAMES, tmp_path / "out", max_bytes=(10 << 20) - 1)


def test_what_a_file_has_lost_meanwhile_is_not_what_another_one_had(tmp_path: Path) -> None:
    (tmp_path / NAMES[0]).write_bytes(b"secret" * 20_000)
    (tmp_path / NAMES[1]).write_bytes(b"x" * 100_000)

    def place(name: str) -> Path:
        if name == NAMES[1]:
            os.truncate(tmp_path / name, 10)  # it has been measured by now
        return tmp_path / f"out-{name}"

    def pack(name: str, content: memoryview) -> None:
        assert name in NAMES

    taken = blobs.SpoolFolder(tmp_path).take(NAMES[:2], place, max_bytes=1 << 20, pack=pack)
    copied = (tmp_path / f"out-{NAMES[1]}").read_bytes()
    assert copied == b"x" * 10 + bytes(99_990)
    assert taken[NAMES[1]] == TakenBlob(hashlib.sha256(copied).hexdigest(), len(copied), settled=True)


def test_only_regular_files_are_copied(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / NAMES[0]).symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / NAMES[1])
    (tmp_path / NAMES[2]).mkdir()
    for name in NAMES[:4]:
        with pytest.raises(SnapshotMissingError):
            blobs.take(tmp_path, [name], tmp_path / "out", max_bytes=10)


async def test_a_step_says_why_it_has_no_snapshot(tmp_path: Path) -> None:
    data = b"x" * (40 << 20)
    name = hashlib.sha256(data).hexdigest()
    sandbox = LyingSandbox(tmp_path / "a", names=[name], delivers={name: data})
    blobs = Blobs.at(str(tmp_path / "blobs"))
    kept = await SnapshotStore(blobs).keep(sandbox, [], limit_bytes=1_000)
    assert kept.snapshot == ""
    assert "are more than the 32,001,000 that are allowed" in kept.why_not
