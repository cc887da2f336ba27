"""Collecting files from a workspace in which hostile code has been, and still is."""

import os
import random
import shutil
import stat
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from sandboxes.host import workspace
from sandboxes.inside.bridge import tree

NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices and mounts")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    workspace.prepare(folder)
    (folder / "outputs" / "good.txt").write_text("good")
    return folder


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "data.txt").write_text("secret")
    return tmp_path / "outside"


def names(root: Path) -> list[str]:
    return [file.path for file in workspace.files(root, "outputs")]


def refused(root: Path, path: str, tmp_path: Path) -> bool:
    with pytest.raises(FileNotFoundError):
        workspace.fetch(root, path, tmp_path / "target", max_bytes=1 << 20)
    return not (tmp_path / "target").exists()


@NEEDS_ROOT
@pytest.mark.parametrize("device", [(stat.S_IFCHR, 1, 5), (stat.S_IFCHR, 1, 3), (stat.S_IFBLK, 7, 0)])
def test_a_device_is_neither_listed_nor_opened(root: Path, tmp_path: Path, device: tuple[int, int, int]) -> None:
    kind, major, minor = device
    os.mknod(root / "outputs" / "device", kind | 0o666, os.makedev(major, minor))
    assert names(root) == ["outputs/good.txt"]
    assert refused(root, "outputs/device", tmp_path)


def test_a_pipe_a_socket_and_a_link_are_neither_listed_nor_opened(root: Path, secret: Path, tmp_path: Path) -> None:
    os.mkfifo(root / "outputs" / "pipe")
    (root / "outputs" / "link").symlink_to(secret / "data.txt")
    (root / "outputs" / "folder").symlink_to(secret)
    (root / "outputs" / "environ").symlink_to("/proc/self/environ")
    (root / "outputs" / "root").symlink_to("/proc/self/root")
    os.mknod(root / "outputs" / "socket", stat.S_IFSOCK | 0o666)
    assert names(root) == ["outputs/good.txt"]
    for name in ("pipe", "link", "folder/data.txt", "environ", "root/etc/hostname", "socket"):
        assert refused(root, f"outputs/{name}", tmp_path)


def test_a_hard_link_to_a_file_outside_is_neither_listed_nor_opened(root: Path, secret: Path, tmp_path: Path) -> None:
    os.link(secret / "data.txt", root / "outputs" / "hard.txt")
    assert names(root) == ["outputs/good.txt"]
    assert refused(root, "outputs/hard.txt", tmp_path)


@contextmanager
def mounted(folder: Path) -> Iterator[None]:
    done = subprocess.run(["mount", "-t", "tmpfs", "none", str(folder)], capture_output=True)
    if done.returncode:
        pytest.skip("mounting is not allowed here")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@NEEDS_ROOT
def test_what_is_mounted_into_the_workspace_is_not_collected(root: Path, tmp_path: Path) -> None:
    place = root / "outputs" / "mounted"
    place.mkdir()
    with mounted(place):
        (place / "data.txt").write_text("of another file system")
        assert names(root) == ["outputs/good.txt"]
        assert refused(root, "outputs/mounted/data.txt", tmp_path)


@pytest.mark.parametrize(
    "path", ["../outside/data.txt", "outputs/../../outside/data.txt", "/etc/hostname", "", "outputs//"]
)
def test_a_path_that_leads_out_is_refused(root: Path, secret: Path, tmp_path: Path, path: str) -> None:
    with pytest.raises((ValueError, FileNotFoundError)):
        workspace.fetch(root, path, tmp_path / "target", max_bytes=1 << 20)
    assert not (tmp_path / "target").exists()


def test_a_name_with_a_backslash_is_a_name_and_leads_nowhere(root: Path, secret: Path, tmp_path: Path) -> None:
    odd = root / "outputs" / "..\\..\\data.txt"
    odd.write_text("mine")
    fetched = workspace.fetch(root, "outputs/..\\..\\data.txt", tmp_path / "target", max_bytes=100)
    assert (fetched.size, (tmp_path / "target").read_text()) == (4, "mine")


def test_a_file_is_measured_by_its_length_whatever_it_takes_on_disk(root: Path, tmp_path: Path) -> None:
    with (root / "outputs" / "sparse.bin").open("wb") as file:
        file.truncate(1 << 40)
    assert {file.path: file.size for file in workspace.files(root, "outputs")}["outputs/sparse.bin"] == 1 << 40
    with pytest.raises(ValueError, match="1,099,511,627,776 bytes, more than the 1,048,576"):
        workspace.fetch(root, "outputs/sparse.bin", tmp_path / "target", max_bytes=1 << 20)


def test_a_folder_that_is_swapped_for_a_link_meanwhile_never_leads_out(
    root: Path, secret: Path, tmp_path: Path
) -> None:
    folder, other = root / "outputs" / "sub", root / "outputs" / "other"
    folder.mkdir()
    (folder / "data.txt").write_text("mine")
    other.symlink_to(secret)
    done = threading.Event()
    pauses = random.Random(1)

    def swap() -> None:
        spare = root / "outputs" / "spare"
        while not done.is_set():
            folder.rename(spare)
            other.rename(folder)
            folder.rename(other)
            spare.rename(folder)
            # Without it the two threads may go in step, and only the gaps are ever seen.
            time.sleep(pauses.uniform(0, 0.0002))

    swapping = threading.Thread(target=swap)
    swapping.start()
    seen: set[str] = set()
    tries, end = 0, time.monotonic() + 60
    try:
        while tries < 500 or (not seen and time.monotonic() < end):
            tries += 1
            with suppress(FileNotFoundError):
                workspace.fetch(root, "outputs/sub/data.txt", tmp_path / "target", max_bytes=100)
                seen.add((tmp_path / "target").read_text())
            for file in workspace.files(root, "outputs"):
                assert file.size == 4, file
    finally:
        done.set()
        swapping.join()
    assert seen == {"mine"}


def test_a_flood_of_files_is_listed_up_to_a_limit_and_a_deep_tree_to_a_depth(root: Path) -> None:
    flood = root / "outputs" / "flood"
    flood.mkdir()
    for number in range(tree.MAX_FILES + 50):
        (flood / str(number)).touch()
    assert len(workspace.files(root, "outputs")) == tree.MAX_FILES
    shutil.rmtree(flood)
    deep = root / "outputs"
    for _ in range(tree.MAX_DEPTH + 5):
        deep = deep / "d"
        deep.mkdir()
    (deep / "bottom.txt").touch()
    assert names(root) == ["outputs/good.txt"]


def test_what_cells_install_is_no_file_of_the_users(root: Path) -> None:
    (root / ".packages" / "lib").mkdir(parents=True)
    (root / ".packages" / "lib" / "module.py").touch()
    (root / "outputs" / ".packages").mkdir()
    (root / "outputs" / ".packages" / "mine.txt").touch()
    assert [file.path for file in workspace.files(root, ".")] == ["outputs/.packages/mine.txt", "outputs/good.txt"]
