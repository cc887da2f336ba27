"""What the process that watches a sandbox measures: folders that would rather not be measured, open descriptors."""

import mmap
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from sandboxes.inside.zygote import measuring
from sandboxes.inside.zygote.disk_use import NAME_BYTES, FolderSize
from sandboxes.inside.zygote.measuring import LimitMonitor

KILOBYTES = 1 << 10


def size(folder: Path) -> int:
    """What the folder has, however long it takes to find out."""
    measured = FolderSize(str(folder)).look(60.0, enough=sys.maxsize)
    assert measured is not None
    return measured


@pytest.fixture
def proc() -> Iterator[int]:
    descriptor = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder below one that everybody may enter, which pytest's are not."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)
        subprocess.run(["chmod", "-R", "u+rwx", folder])


def test_files_count_with_what_they_have_on_disk_and_every_name_counts(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "large").write_bytes(os.urandom(512 * KILOBYTES))
    assert 512 * KILOBYTES <= size(tmp_path) <= 560 * KILOBYTES
    for number in range(100):
        (tmp_path / str(number)).touch()
    assert size(tmp_path) >= 512 * KILOBYTES + 100 * NAME_BYTES


def test_a_hole_takes_no_room(tmp_path: Path) -> None:
    with (tmp_path / "hole").open("wb") as file:
        file.truncate(1 << 40)
    assert size(tmp_path) < 1 << 20


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("/usr")
    (tmp_path / "b").symlink_to(tmp_path)
    assert size(tmp_path) <= 4 * NAME_BYTES


@pytest.mark.parametrize("enough", [sys.maxsize, 1])
def test_folders_that_are_closed_are_measured_too_and_stay_closed(open_folder: Path, enough: int) -> None:
    inner = open_folder / "closed" / "inner"
    inner.mkdir(parents=True)
    (inner / "large").write_bytes(os.urandom(512 * KILOBYTES))
    inner.chmod(0)
    inner.parent.chmod(0)
    code = (
        "import os, sys; from sandboxes.inside.zygote.disk_use import FolderSize;"
        f"size = FolderSize(sys.argv[1]).look(60.0, {enough});"
        "closed = os.path.join(sys.argv[1], 'closed'); outer = os.stat(closed).st_mode; os.chmod(closed, 0o700);"
        "print(size, outer & 0o777, os.stat(os.path.join(closed, 'inner')).st_mode & 0o777)"
    )
    root = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root, "PYTHONDONTWRITEBYTECODE": "1"}
    before = [sys.executable]
    if os.geteuid() == 0:  # whom nothing is closed to
        for path in (open_folder, inner.parent, inner, inner / "large"):
            os.chown(path, 54_321, 54_321)
        before = [sys.executable, "-m", "tests.security.as_user", "54321", sys.executable]
    done = subprocess.run([*before, "-c", code, str(open_folder)], env=environment, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"an ordinary user cannot run this Python here: {done.stderr.strip().splitlines()[-1]}")
    measured, *modes = map(int, done.stdout.split())
    assert measured >= (512 * KILOBYTES if enough > 1 else 1)
    assert modes == [0, 0]


def test_what_lies_deeper_than_a_path_can_be_long_counts() -> None:
    with tempfile.TemporaryDirectory() as base:
        folder = os.open(base, os.O_RDONLY)
        for _ in range(40):
            os.mkdir("d" * 200, dir_fd=folder)
            inner = os.open("d" * 200, os.O_RDONLY, dir_fd=folder)
            os.close(folder)
            folder = inner
        file = os.open("large", os.O_CREAT | os.O_WRONLY, dir_fd=folder)
        os.write(file, os.urandom(512 * KILOBYTES))
        os.close(file)
        os.close(folder)
        assert size(Path(base)) >= 512 * KILOBYTES


def test_a_large_folder_is_measured_a_little_at_a_time(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / str(number)).touch()
    measuring_it = FolderSize(str(tmp_path))
    looks = 0
    while (measured := measuring_it.look(0.0, enough=sys.maxsize)) is None:
        looks += 1
    assert looks >= 299
    assert measured == size(tmp_path)


def test_more_than_enough_ends_the_search(tmp_path: Path) -> None:
    for number in range(300):
        (tmp_path / str(number)).touch()
    measured = FolderSize(str(tmp_path)).look(60.0, enough=10 * NAME_BYTES)
    assert measured is not None
    assert 10 * NAME_BYTES < measured < 20 * NAME_BYTES


def test_nothing_stays_open_after_measuring(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    before = set(Path("/proc/self/fd").iterdir())
    size(tmp_path)
    assert len(set(Path("/proc/self/fd").iterdir())) == len(before)


def test_a_folder_that_is_gone_has_nothing(tmp_path: Path) -> None:
    assert size(tmp_path / "gone") == 0


def test_files_without_a_name_and_sockets_are_found_by_their_descriptors(tmp_path: Path, proc: int) -> None:
    device = tmp_path.stat().st_dev
    sockets, files = measuring.held(proc, [os.getpid()], device)
    with (tmp_path / "gone").open("wb", buffering=0) as file, (tmp_path / "there").open("wb", buffering=0) as there:
        (tmp_path / "gone").unlink()
        for one in (file, there):
            one.write(os.urandom(512 * KILOBYTES))
        twice = os.dup(file.fileno())
        pair = socket.socketpair()
        now = measuring.held(proc, [os.getpid()], device)
        for end in pair:
            end.close()
        os.close(twice)
    assert now[0] - sockets == 2 * measuring.SOCKET_BYTES
    assert 512 * KILOBYTES <= now[1] - files <= 560 * KILOBYTES
    assert measuring.held(proc, [os.getpid()], device) == (sockets, files)


def test_pipes_count_with_what_may_wait_in_them(proc: int) -> None:
    buffers, _ = measuring.held(proc, [os.getpid()], 0)
    ends = [end for _ in range(10) for end in os.pipe()]
    assert measuring.held(proc, [os.getpid()], 0)[0] - buffers == 10 * measuring.PIPE_BYTES
    for end in ends:
        os.close(end)


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A folder in memory."""
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("no /dev/shm to write to")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


def test_files_in_memory_count_and_are_not_counted_twice_when_they_are_mapped(in_memory: Path, proc: int) -> None:
    folders, devices = (str(in_memory),), frozenset({in_memory.stat().st_dev})
    mine, counted = [os.getpid()], 0
    for _ in range(10):  # others may end just now what they have there
        (in_memory / "large").unlink(missing_ok=True)
        files = measuring.files_in_memory(folders)
        (in_memory / "large").write_bytes(bytes(20_000 * KILOBYTES))
        if (counted := measuring.files_in_memory(folders) - files) >= 20_000 * KILOBYTES:
            break
    assert counted >= 20_000 * KILOBYTES
    with (in_memory / "large").open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        for place in range(0, len(mapped), 4096):
            mapped[place] = 1
        together = measuring.proportional(proc, mine)
        apart = measuring.proportional(proc, mine, devices)
    assert 19_000 * KILOBYTES <= together - apart <= 21_000 * KILOBYTES


@pytest.mark.parametrize("kept", range(1, 120, 7))
def test_a_description_of_mappings_that_is_cut_counts_as_far_as_it_goes(kept: int) -> None:
    whole = "7f12-7f13 rw-p 00000000 00:2a 12 /a\nPss:                  8 kB\nAnonymous:            0 kB\n"
    assert measuring.mapped(whole + whole[: min(kept, len(whole) - 1)], frozenset({os.makedev(0, 0x2A)})) in (
        8 << 10,
        16 << 10,
    )


def test_the_tables_of_empty_mappings_count(proc: int) -> None:
    before = measuring.resident(proc, [os.getpid()])
    with mmap.mmap(-1, 8 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ) as empty:
        if hasattr(mmap, "MADV_NOHUGEPAGE"):
            empty.madvise(mmap.MADV_NOHUGEPAGE)
        for place in range(0, len(empty), 2 << 20):
            assert empty[place] == 0
        assert measuring.resident(proc, [os.getpid()]) - before >= 12_000 * KILOBYTES


def test_a_process_that_is_gone_holds_nothing(proc: int) -> None:
    assert measuring.held(proc, [1 << 22], 0) == (0, 0)
    assert measuring.threads(proc, 1 << 22) == 0


def test_mappings_are_not_gone_through_for_files_in_memory_that_are_next_to_nothing(tmp_path: Path) -> None:
    """That holds up the process that is measured. What is said of a file here is more than all of them have."""
    folder = next((one for one in ("/dev", "/dev/shm", "/run") if 0 < measuring.files_in_memory((one,)) < 1 << 20), "")
    if not folder:
        pytest.skip("no folder of this machine is in memory and has next to nothing in it")
    device = Path(folder).stat().st_dev
    described = {
        "status": "RssAnon: 90000 kB\nVmPTE: 0 kB\n",
        "smaps_rollup": "Pss_Anon: 81920 kB\n",
        "smaps": f"7f12-7f13 rw-p 00 {os.major(device):02x}:{os.minor(device):02x} 12 /dev/a\nPss: 40960 kB\n",
    }
    (tmp_path / "7").mkdir()
    for name, text in described.items():
        (tmp_path / "7" / name).write_text(text)
    described_here = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        assert LimitMonitor({"memory": 60 << 20}, described_here, (folder,)).exceeds_memory(7)
    finally:
        os.close(described_here)


def test_before_the_order_has_come_nothing_is_looked_at(proc: int) -> None:
    watching = LimitMonitor({"memory": 1, "workspace": 1, "processes": 1}, proc)
    assert watching.look([os.getpid()], nullcontext) == {}
