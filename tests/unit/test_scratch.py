"""Folders for a moment: nothing stays of them, whenever their user is cancelled, or killed."""

import asyncio
import fcntl
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from sandboxes.host.scratch import scratch_folder

LATER = 120.0


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files are made."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


async def test_nothing_stays_when_its_user_is_cancelled_at_any_time(place: Path) -> None:
    began: set[bool] = set()

    async def use(inside: asyncio.Event) -> None:
        async with scratch_folder("trial") as folder:
            (folder / "file").write_text("x")
            inside.set()
            await asyncio.Event().wait()

    for turns in (*range(12), None):
        inside = asyncio.Event()
        task = asyncio.create_task(use(inside))
        for _ in range(turns or 0):
            await asyncio.sleep(0)
        if turns is None:
            await inside.wait()
        began.add(inside.is_set())
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert list(place.iterdir()) == []
    assert began == {True, False}


async def test_what_a_killed_process_left_is_swept_and_what_is_used_stays(place: Path) -> None:
    left, used, fresh = (place / f"stepwell-sweep-{name}" for name in ("left", "used", "fresh"))
    for one in (left, used, fresh):
        (one / "below").mkdir(parents=True)
    (left / "below").chmod(0o000)
    for one in (left, used):
        os.utime(one, (one.stat().st_mtime - LATER,) * 2)
    descriptor = os.open(used, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        async with scratch_folder("sweep") as mine:
            assert sorted(place.iterdir()) == sorted([fresh, used, mine])
    finally:
        os.close(descriptor)


def test_it_is_held_until_its_process_is_killed(place: Path) -> None:
    code = (
        "import sys, tempfile\nfrom sandboxes.host.scratch import held_folder\n"
        "tempfile.tempdir = sys.argv[1]\n"
        "with held_folder('killed') as folder:\n    print(folder, flush=True)\n    sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(place)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        folder = process.stdout.readline().strip()
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            with pytest.raises(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            process.kill()
            process.wait()
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(descriptor)
