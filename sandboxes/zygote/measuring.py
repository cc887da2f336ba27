"""What a sandbox uses: memory, processes and open descriptors of the whole tree below its init."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress

MAX_PROCESSES = 4_096
"""Processes that are looked at."""
SOCKET_BYTES = 212_992
"""What waits in a socket at most (`net.core.wmem_default`); the filter of system calls keeps code from raising it."""


def tree(proc: int, root: int) -> list[int]:
    """All processes below one, without it; `proc` is a descriptor of a `/proc` that shows them under these numbers."""
    found: list[int] = []
    waiting = [root]
    while waiting and len(found) < MAX_PROCESSES:
        children = list(_children(proc, waiting.pop()))
        found += children
        waiting += children
    return found


def _children(proc: int, process: int) -> Iterator[int]:
    """The children of a process, whichever of its threads made them."""
    try:
        tasks = os.open(f"{process}/task", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=proc)
    except OSError:
        return
    try:
        for task in os.listdir(tasks):
            yield from (int(child) for child in _read(tasks, f"{task}/children").split())
    except OSError:  # it ended just now
        return
    finally:
        os.close(tasks)


def resident(proc: int, processes: list[int]) -> int:
    """Bytes of memory that these processes hold, anonymous and shared; what two share counts twice."""
    return sum(_fields(_read(proc, f"{process}/status"), ("RssAnon:", "RssShmem:")) for process in processes)


def proportional(proc: int, processes: list[int]) -> int:
    """The same with what several share counted once in all; slower."""
    names = ("Pss_Anon:", "Pss_Shmem:")
    return sum(_fields(_read(proc, f"{process}/smaps_rollup"), names) for process in processes)


def reserved(proc: int) -> int:
    """Bytes that this process has asked for as data; allocators of libraries reserve much that they never use."""
    return _fields(_read(proc, "self/status"), ("VmData:",))


def threads(proc: int, process: int) -> int:
    """How many threads a process has."""
    found = [line.split()[1] for line in _read(proc, f"{process}/status").splitlines() if line.startswith("Threads:")]
    return int(found[0]) if found else 0


def held(proc: int, processes: list[int], device: int) -> tuple[int, int]:
    """Bytes that these processes hold by nothing but open descriptors, which neither memory nor folders show.

    Args:
        proc: As for `tree`.
        processes: Their numbers in it.
        device: The file system (`st_dev`) of the files that count.

    Returns:
        What the buffers of their sockets may hold at most, and the size of their files that have no name any more.
    """
    sockets: set[int] = set()
    files: dict[int, int] = {}
    for process in processes:
        with suppress(OSError):
            folder = os.open(f"{process}/fd", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=proc)
            try:
                for status in _descriptors(folder):
                    if stat.S_ISSOCK(status.st_mode):
                        sockets.add(status.st_ino)
                    elif stat.S_ISREG(status.st_mode) and not status.st_nlink and status.st_dev == device:
                        files[status.st_ino] = status.st_blocks * 512
            finally:
                os.close(folder)
    return SOCKET_BYTES * len(sockets), sum(files.values())


def _descriptors(folder: int) -> Iterator[os.stat_result]:
    for name in os.listdir(folder):
        with suppress(OSError):
            yield os.stat(name, dir_fd=folder)


def _fields(text: str, names: tuple[str, ...]) -> int:
    return sum(int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith(names))


def _read(proc: int, name: str) -> str:
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
    except OSError:
        return ""
    try:
        return os.read(descriptor, 65_536).decode("ascii", "replace")
    except OSError:  # it ended just now
        return ""
    finally:
        os.close(descriptor)
