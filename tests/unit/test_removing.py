"""What a sandbox left can be removed and given to another user, whatever it did to its folders."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandboxes.host import workspace

DEEP = 1_200
"""Deeper than Python recurses, than a process has descriptors, and than a path can be long."""


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """pytest's folder, emptied by a program that can: pytest itself could not remove what a failing test leaves."""
    yield tmp_path
    subprocess.run(["chmod", "-R", "u+rwx", str(tmp_path)], stderr=subprocess.DEVNULL)
    subprocess.run(["rm", "-rf", str(tmp_path)])


def dig(root: Path, depth: int) -> None:
    """Folders within folders; the innermost has a file."""
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(depth):
        os.mkdir("d" * 9, dir_fd=folder)
        inner = os.open("d" * 9, os.O_RDONLY | os.O_DIRECTORY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    os.close(folder)


def test_folders_deeper_than_a_path_can_be_long_are_removed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    dig(root, DEEP)
    workspace.remove(root)
    assert not root.exists()


def test_folders_that_are_closed_to_their_owner_are_removed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "a" / "b" / "c").mkdir(parents=True)
    (root / "a" / "b" / "file").write_text("x")
    dig(root / "a", DEEP)
    for path in ("a/b/c", "a/b", "a", "."):
        (root / path).chmod(0)
    workspace.remove(root)
    assert not root.exists()


def test_what_links_lead_to_stays(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    outside.mkdir()
    (outside / "file").write_text("x")
    root.mkdir()
    dig(root, DEEP)
    (root / "folder").symlink_to(outside)
    (root / "file").symlink_to(outside / "file")
    workspace.remove(root)
    assert not root.exists()
    assert (outside / "file").read_text() == "x"


def test_a_workspace_is_emptied_however_deep_it_is(tmp_path: Path) -> None:
    (tmp_path / "inputs").mkdir()
    (tmp_path / "inputs" / "file").write_text("x")
    (tmp_path / "outputs").mkdir()
    dig(tmp_path / "outputs", DEEP)
    workspace.empty(tmp_path, keep=frozenset({"inputs"}))
    assert [path.name for path in tmp_path.iterdir()] == ["inputs"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_handing_over_follows_no_link_and_leaves_files_of_two_names_alone(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    for folder in (outside, root / "inner"):
        folder.mkdir(parents=True)
    for path in (outside / "file", outside / "other", root / "inner" / "own"):
        path.write_text("x")
    (root / "link").symlink_to(outside / "file")
    os.link(outside / "other", root / "hard")
    dig(root, DEEP)
    workspace.hand_over(root, 65_534)
    assert (outside / "file").stat().st_uid == (outside / "other").stat().st_uid == 0
    assert root.stat().st_uid == (root / "inner" / "own").stat().st_uid == 65_534
    assert (root / "link").lstat().st_uid == 65_534
