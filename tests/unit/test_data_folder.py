"""What is said of file systems on which the data folder cannot lie, or only with care."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from graph.checkpoints import data_folder

ROOT = Path(__file__).parents[2]


def without_locks(*words: str, home: Path) -> subprocess.CompletedProcess[str]:
    """A command that can lock no file."""
    command = [sys.executable, "-m", "tests.without_locks", sys.executable, "-m", "stepwell", *words]
    variables = {**os.environ, "STEPWELL_HOME": str(home), "STEPWELL_MODEL": "playbook"}
    return subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True)


def test_a_folder_of_this_disk_can_be_the_data_folder(tmp_path: Path) -> None:
    assert data_folder.trouble(tmp_path) == ""
    assert data_folder.caution(tmp_path) == ""
    assert data_folder.file_system(tmp_path)
    assert not list(tmp_path.glob(".stepwell-tried-*"))


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("threads",), marks=pytest.mark.slow),
        pytest.param(("run", "What?", "examples/birdstrikes.csv"), marks=pytest.mark.slow),
        ("doctor",),
    ],
)
def test_a_data_folder_without_locks_is_one_sentence(words: tuple[str, ...], tmp_path: Path) -> None:
    done = without_locks(*words, home=tmp_path)
    assert done.returncode in (1, 2)
    assert done.stderr.startswith("error: ")
    assert done.stderr.endswith("set STEPWELL_HOME to a folder of a local disk.\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(("kind", "cautious"), [("nfs4", True), ("9p", True), ("fuse.sshfs", True), ("ext4", False)])
def test_a_disk_of_another_machine_is_named(kind: str, cautious: bool, tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    home = tmp_path / "my home"
    home.mkdir()
    at = str(home).replace(" ", r"\040")
    mounts.write_text(
        "22 1 8:1 / / rw - overlay overlay rw\n"
        f"23 22 8:1 / {at} rw,relatime shared:1 master:2 - {kind} server:/homes rw\n"
        f"24 22 8:1 / {at}more rw - tmpfs tmpfs rw\n"
    )
    assert data_folder.file_system(home / "below", mounts) == kind
    assert (f"lies on {kind}" in data_folder.caution(home, mounts)) == cautious
