"""What a sandbox takes of the disk is seen when the disk has less, not a second later; a folder may be over-full."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sandboxes.inside.zygote.disk_use import FREE_SPACE_SLACK, MORE, DiskUsage, Folder

MEGABYTE = 1 << 20
ALLOWED = 10 * MEGABYTE
TRIES = 5
"""Others use the disk, too: what they free just now hides what is taken."""


class Sandbox:
    """A folder in place of one, written to from here."""

    def __init__(self, folder: Path, allowed: int = ALLOWED, names: int = 1 << 20, **times: float) -> None:
        self.folder, self.held, self.holds = folder, 0, 0
        folders = [Folder(str(folder), "workspace", allowed, names)]
        self.use = DiskUsage(folders, lambda: self.held, **{"at_a_time": 60.0, **times})

    def look(self) -> str:
        return str(self.use.look(self._hold).get("limit", ""))

    @contextmanager
    def _hold(self) -> Iterator[None]:
        self.holds += 1
        yield

    def write_and_look(self, size: int = 0, names: int = 0) -> str:
        """Write that much more, and look once."""
        there = sum(1 for _ in self.folder.iterdir())
        if size:
            self.write(f"more-{there}", size)
        for number in range(names):
            (self.folder / f"{there}-{number}").touch()
        return self.look()

    def write(self, name: str, size: int) -> None:
        """Write it to the disk, so that what is free falls also where a system is slow to say so."""
        with (self.folder / name).open("wb") as file:
            file.write(os.urandom(size))
            os.fsync(file.fileno())


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    """One that is not walked before an hour has passed, unless what is free falls."""
    sandbox = Sandbox(tmp_path, every=3_600.0)
    sandbox.use.begin()
    sandbox.look()
    return sandbox


def test_what_is_too_much_is_seen_at_the_next_look_although_all_was_walked_just_now(sandbox: Sandbox) -> None:
    sandbox.write("a", 9 * MEGABYTE)
    assert sandbox.look() == ""
    assert "workspace" in (sandbox.write_and_look(size=2 * MEGABYTE + FREE_SPACE_SLACK) for _ in range(TRIES))


def test_many_empty_files_are_seen_at_the_next_look(sandbox: Sandbox) -> None:
    assert "workspace" in (sandbox.write_and_look(names=2 * ALLOWED // 4_096) for _ in range(TRIES))


def test_what_others_write_costs_a_walk_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    mine, others = Sandbox(tmp_path / "mine"), Sandbox(tmp_path)
    mine.use.begin()
    others.write("others", 3 * ALLOWED)
    for _ in range(3):
        assert mine.look() == ""


def test_a_folder_that_is_not_walked_in_a_moment_is_walked_while_the_sandbox_stands_still(tmp_path: Path) -> None:
    for number in range(200):
        (tmp_path / str(number)).touch()
    sandbox = Sandbox(tmp_path, at_a_time=0.0)
    sandbox.use.begin()
    sandbox.write("a", MEGABYTE)
    assert sandbox.look() == ""
    assert "workspace" in (sandbox.write_and_look(size=ALLOWED + FREE_SPACE_SLACK) for _ in range(TRIES))
    assert sandbox.holds >= 1


def test_in_a_folder_that_has_too_much_files_can_be_removed_and_none_added(tmp_path: Path) -> None:
    for number in range(4):
        Sandbox(tmp_path).write(str(number), 5 * MEGABYTE)
    sandbox = Sandbox(tmp_path, every=0.0)
    sandbox.use.begin()
    assert sandbox.look() == "", "it had that before anything ran"
    (tmp_path / "0").unlink()
    assert sandbox.look() == ""
    assert sandbox.write_and_look(size=MORE + FREE_SPACE_SLACK + MEGABYTE) == "workspace", (
        "what it may have sinks with what it has"
    )
    sandbox.use.begin()
    assert sandbox.look() == "", "the next cell begins with what is there"


def test_files_without_a_name_count(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path)
    sandbox.use.begin()
    sandbox.held = ALLOWED + 1
    assert sandbox.look() == "workspace"


def test_a_folder_has_so_many_names_at_most(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path, allowed=1 << 40, names=50)
    sandbox.use.begin()
    for number in range(51):
        (tmp_path / str(number)).touch()
    assert sandbox.look() == "names"


def test_it_is_walked_after_a_while_also_when_others_free_what_is_taken(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    mine, others = Sandbox(tmp_path / "mine", every=0.0), Sandbox(tmp_path)
    others.write("others", 10 * ALLOWED)
    mine.use.begin()
    (tmp_path / "others").unlink()
    mine.write("a", 2 * ALLOWED)
    assert mine.look() == "workspace"
