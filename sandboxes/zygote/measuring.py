"""What a sandbox uses: memory and processes of the whole tree below its init, and the size of its workspace."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress

MAX_PROCESSES = 4_096
"""Processes that are looked at."""


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


def folder_bytes(folder: str, *, seconds: float = 0.5) -> int:
    """Bytes on disk below a folder, as far as that can be found out in this time."""
    until = time.monotonic() + seconds
    return sum(_sizes(folder, until))


def _sizes(folder: str, until: float) -> Iterator[int]:
    waiting = [folder]
    while waiting and time.monotonic() < until:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        yield entry.stat(follow_symlinks=False).st_blocks * 512


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
