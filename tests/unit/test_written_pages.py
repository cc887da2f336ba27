"""Tracking writes sees every write, whoever makes it; what it says equals what reading everything says."""

import ctypes
import errno
import mmap
import os
import random
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash

from sandboxes.inside.kernel.snapshots.storing.block_digests import BLOCK, BlockDigests, address_of
from sandboxes.inside.kernel.snapshots.storing.written_pages import PAGE, WrittenPages

SIZE = 2 << 20
MIDDLE = SIZE // 2 + 100
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.mremap.restype = ctypes.c_void_p
needs_tracking = pytest.mark.skipif(not WrittenPages().works(), reason="this system does not track writes")


digest = xxhash.xxh3_128_digest


class Both:
    """Digests with tracking and without, of the same memory."""

    def __init__(self) -> None:
        self.pages = WrittenPages()
        self.tracked = BlockDigests(digest, self.pages)
        self.plain = BlockDigests(digest)

    def keep(self, *buffers: Any) -> int:
        """Take a snapshot in both ways, compare them, and say how many bytes tracking had to read."""
        self.tracked.begin()
        for buffer in buffers:
            flat = memoryview(buffer).cast("B")
            pieces = [flat[start : start + (1 << 20)] for start in range(0, len(flat), 1 << 20)]
            assert self.tracked.of(pieces) == self.plain.of(pieces)
        return self.tracked.read

    def settle(self, *buffers: Any) -> None:
        """Keep until they are tracked, and nothing of them has to be read but what lies on pages with other things."""
        self.keep(*buffers)
        self.keep(*buffers)
        assert self.keep(*buffers) <= 2 * BLOCK * len(buffers)


@pytest.fixture
def both() -> Iterator[Both]:
    # Memory can be tracked by one only, and what other tests of this process tracked may lie where this lies now.
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if "userfaultfd" in str(descriptor.readlink()):
                os.close(int(descriptor.name))
    made = Both()
    yield made
    made.pages.close()


def by_python(memory: Any) -> None:
    memory[MIDDLE] = memory[MIDDLE] % 255 + 1


def by_compiled_code(memory: Any) -> None:
    np.frombuffer(memory, "u1")[MIDDLE : MIDDLE + 9].sort()
    np.add(np.frombuffer(memory, "u1")[MIDDLE:], 1, out=np.frombuffer(memory, "u1")[MIDDLE:])


def by_libc(memory: Any) -> None:
    ctypes.memset(address_of(memoryview(memory)) + MIDDLE, 7, 3)


def by_reading_a_file(memory: Any) -> None:
    with Path("/dev/urandom").open("rb", buffering=0) as file:
        file.readinto(memoryview(memory)[MIDDLE : MIDDLE + 10])


def by_reading_in_parts(memory: Any) -> None:
    with Path("/proc/self/exe").open("rb", buffering=0) as file:
        view = memoryview(memory)
        os.preadv(file.fileno(), [view[MIDDLE : MIDDLE + 4], view[MIDDLE + PAGE : MIDDLE + PAGE + 4]], 0)


def by_reading_past_the_cache(memory: Any) -> None:
    path = Path(__file__).parent / f".direct-{os.getpid()}"  # not in a folder that lies in memory
    path.write_bytes(os.urandom(PAGE))
    start = address_of(memoryview(memory))
    place = MIDDLE + -(start + MIDDLE) % PAGE
    try:
        file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        pytest.skip("this file system opens no file past its cache")
    finally:
        path.unlink()
    try:
        assert os.preadv(file, [memoryview(memory)[place : place + PAGE]], 0) == PAGE
    finally:
        os.close(file)


def by_receiving(memory: Any) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.send(b"a few bytes")
        ours.recv_into(memoryview(memory)[MIDDLE : MIDDLE + 11])


def by_another_thread(memory: Any) -> None:
    thread = threading.Thread(target=by_python, args=(memory,))
    thread.start()
    thread.join()


def by_a_child(memory: Any) -> None:
    """Another process writes into the memory of this one."""
    start = address_of(memoryview(memory)) + MIDDLE
    LIBC.prctl(0x59616D61, ctypes.c_ulong(-1 & (1 << 64) - 1))  # where only parents may, let anybody
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        held = ctypes.create_string_buffer(b"written")
        local = (ctypes.c_uint64 * 2)(ctypes.addressof(held), 7)
        remote = (ctypes.c_uint64 * 2)(start, 7)
        os._exit(LIBC.process_vm_writev(parent, local, 1, remote, 1, 0) != 7)
    assert os.waitpid(child, 0)[1] == 0


def by_giving_pages_back(memory: Any) -> None:
    start = address_of(memoryview(memory))
    place = start + MIDDLE + -(start + MIDDLE) % PAGE
    assert LIBC.madvise(ctypes.c_void_p(place), ctypes.c_size_t(4 * PAGE), mmap.MADV_DONTNEED) == 0


def by_moving_other_memory_there(memory: Any) -> None:
    start = address_of(memoryview(memory))
    place = start + MIDDLE + -(start + MIDDLE) % PAGE
    with mmap.mmap(-1, PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as other:
        other[:4] = b"here"
        moved = LIBC.mremap(
            ctypes.c_void_p(address_of(memoryview(other))), ctypes.c_size_t(PAGE), ctypes.c_size_t(PAGE), 3,
            ctypes.c_void_p(place),
        )  # fmt: skip
        assert moved == place


def by_protecting_and_writing(memory: Any) -> None:
    start = address_of(memoryview(memory))
    place = ctypes.c_void_p(start + MIDDLE + -(start + MIDDLE) % PAGE)
    for protection in (mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE):
        assert LIBC.mprotect(place, ctypes.c_size_t(PAGE), protection) == 0
    ctypes.memset(place, ctypes.string_at(place, 1)[0] % 255 + 1, 1)  # another byte than is there


def by_writing_after_a_fork(memory: Any) -> None:
    asked, answer = os.pipe()
    child = os.fork()
    if child == 0:
        os.read(asked, 1)
        os._exit(0)
    by_python(memory)
    os.write(answer, b"x")
    os.waitpid(child, 0)
    os.close(asked)
    os.close(answer)


WAYS: list[Callable[[Any], None]] = [
    by_python, by_compiled_code, by_libc, by_reading_a_file, by_reading_in_parts, by_reading_past_the_cache,
    by_receiving, by_another_thread, by_a_child, by_giving_pages_back, by_moving_other_memory_there,
    by_protecting_and_writing, by_writing_after_a_fork,
]  # fmt: skip


def filled(memory: Any) -> Any:
    memoryview(memory)[:] = np.random.default_rng(0).integers(1, 255, SIZE, dtype="u1").tobytes()
    return memory


KINDS: dict[str, Callable[[Path], Any]] = {
    "array": lambda folder: filled(np.empty(SIZE, "u1")),
    "bytearray": lambda folder: filled(bytearray(SIZE)),
    "map": lambda folder: filled(mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)),
    "huge pages": lambda folder: filled(huge()),
    "map of a file": lambda folder: filled(of_file(folder / "file", mmap.MAP_PRIVATE)),
    "shared map of a file": lambda folder: filled(of_file(folder / "file", mmap.MAP_SHARED)),
    "shared": lambda folder: filled(mmap.mmap(-1, SIZE)),
}


def huge() -> mmap.mmap:
    found = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    found.madvise(mmap.MADV_HUGEPAGE)
    return found


def of_file(path: Path, flags: int) -> mmap.mmap:
    path.write_bytes(bytes(SIZE))
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), SIZE, flags=flags)


@needs_tracking
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
def test_a_write_is_seen_whoever_makes_it(both: Both, way: Callable[[Any], None], kind: str, tmp_path: Path) -> None:
    memory = KINDS[kind](tmp_path)
    before = bytes(memory)
    for _ in range(3):
        both.keep(memory)
    for _ in range(2):
        way(memory)
        both.keep(memory)
    untold = way is by_giving_pages_back and "shared" in kind  # there it changes nothing
    assert (bytes(memory) == before) == untold


@needs_tracking
@pytest.mark.parametrize("kind", ["array", "bytearray", "map", "huge pages", "map of a file"])
def test_what_was_not_written_is_not_read(both: Both, kind: str, tmp_path: Path) -> None:
    memory = KINDS[kind](tmp_path)
    both.settle(memory)
    memoryview(memory)[MIDDLE : MIDDLE + 1] = b"\0"
    assert BLOCK <= both.keep(memory) <= 4 * BLOCK
    both.settle(memory)


@needs_tracking
def test_what_another_process_writes_into_shared_memory_is_seen(both: Both) -> None:
    memory = filled(mmap.mmap(-1, SIZE))
    for number in range(4):
        both.keep(memory)
        child = os.fork()
        if child == 0:
            memory[MIDDLE] = number
            os._exit(0)
        os.waitpid(child, 0)


@needs_tracking
def test_what_a_child_writes_into_its_own_copy_is_no_write(both: Both) -> None:
    memory = filled(bytearray(SIZE))
    both.settle(memory)
    child = os.fork()
    if child == 0:
        memory[MIDDLE] = 0
        os._exit(0)
    os.waitpid(child, 0)
    assert both.keep(memory) <= 2 * BLOCK


@needs_tracking
def test_a_copy_of_the_process_goes_on_by_itself(both: Both) -> None:
    memory = filled(bytearray(SIZE))
    both.settle(memory)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            memory[MIDDLE] ^= 1
            both.keep(memory)
            memory[0] ^= 1
            both.settle(memory)
            memory[MIDDLE] ^= 1
            both.keep(memory)
            code = 0
        finally:
            os._exit(code)
    memory[MIDDLE + PAGE] ^= 1
    assert os.waitpid(child, 0)[1] == 0
    both.keep(memory)


@needs_tracking
def test_memory_that_another_buffer_has_now_is_read(both: Both) -> None:
    for number in range(6):
        memory = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory[MIDDLE] = number  # mapped again and again at the same place
        both.keep(memory)
        if number == 2:
            both.settle(memory)
        memory.close()


@needs_tracking
def test_buffers_that_share_memory_both_see_a_write(both: Both) -> None:
    memory = filled(np.empty(SIZE, "u1"))
    views = (memory, memory[PAGE:], memory[: -2 * PAGE], memory[10:-10])
    for _ in range(3):
        both.keep(*views)
    for order in (views, views[::-1], views[1:], views[:2], views[2:]):
        memory[MIDDLE] += 1
        both.keep(*order)


@needs_tracking
def test_neighbours_on_one_page_both_see_a_write(both: Both) -> None:
    memory = filled(np.empty(SIZE, "u1"))
    cut = SIZE // 2 + 100
    for _ in range(3):
        both.keep(memory[:cut], memory[cut:])
    for place in (cut - 1, cut, cut + 1):
        memory[place] += 1
        both.keep(memory[:cut], memory[cut:])


@needs_tracking
def test_a_buffer_that_grows_where_it_is_moved_is_seen(both: Both) -> None:
    memory = filled(bytearray(SIZE))
    both.settle(memory)
    for _ in range(3):
        memory.extend(b"x" * SIZE)
        both.keep(memory)
        del memory[-10:]
        both.keep(memory)


@needs_tracking
def test_descriptors_that_code_has_closed_are_not_missed_and_not_closed_again(both: Both) -> None:
    memory = filled(bytearray(SIZE))
    both.settle(memory)
    numbers = (both.pages._faults, both.pages._pages)
    for number in numbers:
        os.close(number)
    memory[MIDDLE] ^= 1
    assert both.keep(memory) == SIZE
    with Path(os.devnull).open("rb") as file:
        for number in numbers:
            os.dup2(file.fileno(), number)
    both.pages._forked()
    memory[MIDDLE] ^= 1
    both.keep(memory)
    for number in numbers:
        os.close(number)


@needs_tracking
def test_a_snapshot_that_is_broken_off_in_the_middle_forgets_nothing(both: Both) -> None:
    memory = filled(bytearray(SIZE))
    both.settle(memory)
    memory[MIDDLE] ^= 1

    def fails(block: memoryview) -> bytes:
        raise KeyboardInterrupt

    both.tracked._digest = fails
    with pytest.raises(KeyboardInterrupt):
        both.keep(memory)
    both.tracked._digest = digest
    both.keep(memory)
    both.settle(memory)


@needs_tracking
def test_what_is_written_all_the_time_is_not_tracked(both: Both) -> None:
    memory = filled(np.empty(SIZE, "u1"))
    for _ in range(4):
        memory += 1
        assert both.keep(memory) == SIZE
    assert both.pages.unwritten(memory.ctypes.data, memory.ctypes.data + SIZE) == []


@pytest.mark.parametrize("without", ["system call", "page map", "features"])
def test_a_system_that_cannot_do_it_reads_everything(without: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from sandboxes.inside.kernel.snapshots.storing import written_pages

    if without == "system call":
        monkeypatch.setattr(written_pages, "USERFAULTFD", {})
    elif without == "page map":
        monkeypatch.setattr(written_pages, "PAGEMAP_SCAN", 0xC0606611)
    else:
        monkeypatch.setattr(written_pages, "FEATURES", 1 << 60)
    both = Both()
    assert not both.pages.works()
    memory = filled(bytearray(SIZE))
    for _ in range(3):
        assert both.keep(memory) == SIZE


def writes(rng: random.Random) -> Iterator[tuple[str, int, int]]:
    for _ in range(60):
        yield rng.choice(["set", "many", "fork", "keep", "new", "keep", "swap"]), rng.randrange(SIZE), rng.randrange(64)


@needs_tracking
@pytest.mark.parametrize("seed", range(8))
def test_random_writes_between_snapshots_are_all_seen(both: Both, seed: int) -> None:
    rng = random.Random(seed)
    arrays = [filled(np.empty(SIZE, "u1")) for _ in range(3)]
    for what, place, value in writes(rng):
        array = rng.choice(arrays)
        if what == "set":
            array[place] = value
        elif what == "many":
            array[place : place + value * 10_000] += 1
        elif what == "fork":
            by_writing_after_a_fork(array)
        elif what == "new":
            arrays[rng.randrange(3)] = array + 1
        elif what == "swap":
            rng.shuffle(arrays)
        both.keep(*arrays)
