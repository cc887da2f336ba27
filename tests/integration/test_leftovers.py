"""What killed processes left is removed by the next one; what living ones use is left alone."""

import fcntl
import os
import tempfile
from pathlib import Path

import pytest

from sandboxes.local.isolation import IsolationRequest
from sandboxes.local.isolation_choice import choose, probe
from storage.artifacts import Artifacts

TWO_MINUTES = 120.0


async def test_a_file_that_was_being_published_when_its_process_was_killed_is_swept(tmp_path: Path) -> None:
    artifacts = Artifacts.at(str(tmp_path / "published"))
    folder = Path(artifacts.folder("thread"))
    folder.mkdir(parents=True)
    left, used, fresh = (folder / f".stepwell-{name * 16}.partial" for name in "abd")
    mine = folder / ".stepwell-notes.partial"
    for file in (left, used, fresh, mine):
        file.write_text("half")
    old = left.stat().st_mtime - TWO_MINUTES
    for file in (left, used, mine):
        os.utime(file, (old, old))
    (folder / f".stepwell-{'c' * 16}.partial").symlink_to(mine)
    given = tmp_path / "given.txt"
    given.write_text("whole")
    with used.open("rb") as somebody:
        fcntl.flock(somebody, fcntl.LOCK_EX)
        await artifacts.publish("thread", "given.txt", given)
    assert not left.exists()
    assert used.exists()
    assert fresh.exists()
    assert mine.exists()
    assert (folder / "given.txt").read_text() == "whole"


@pytest.mark.slow
def test_folders_of_probes_that_were_killed_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    left, used, fresh = (folder / f"stepwell-probe-{name}" for name in ("left", "used", "fresh"))
    for one in (left, used, fresh):
        (one / "sandboxes").mkdir(parents=True)
    old = one.stat().st_mtime - TWO_MINUTES
    os.utime(left, (old, old))
    os.utime(used, (old, old))
    descriptor = os.open(used, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        probe(choose(IsolationRequest("", tmp_path / "cache", "process", "")))
    finally:
        os.close(descriptor)
    assert sorted(one.name for one in folder.glob("stepwell-probe-*")) == [fresh.name, used.name]
