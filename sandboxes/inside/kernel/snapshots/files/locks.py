"""Which files the session has open and may have locked, and how they are read: a snapshot must not end locks.

POSIX locks belong to a process and a file: closing any descriptor of the file ends all of them. So a file that is open
is read by a descriptor that the session has, or by a forked child, which has no locks.
"""

import contextlib
import fcntl
import os
import resource
import stat
import struct
from collections.abc import Iterable
from pickle import PicklingError

from ..child_answers import answer_of_child
from ..storing.blobs import CHUNK, Spool

MOST_DESCRIPTORS = 4_096
"""That are looked at where nothing lists them."""


def open_descriptors() -> dict[int, os.stat_result]:
    """The numbers of the files, in the strict sense, that this process has open, and what they are."""
    found: dict[int, os.stat_result] = {}
    for number in _numbers():
        with contextlib.suppress(OSError):  # the list itself is closed by now
            status = os.fstat(number)
            if stat.S_ISREG(status.st_mode):
                found[number] = status
    return found


def _numbers() -> Iterable[int]:
    """Those that may be open."""
    try:
        return map(int, os.listdir("/proc/self/fd"))
    except OSError:  # there is no such folder behind these walls; the lowest free number is always taken first
        return range(min(MOST_DESCRIPTORS, resource.getrlimit(resource.RLIMIT_NOFILE)[0]))


def descriptors_of(path: str) -> list[int]:
    """The numbers with which this process has a file open."""
    try:
        wanted = os.stat(path)
    except OSError:
        return []
    return [number for number, status in open_descriptors().items() if os.path.samestat(status, wanted)]


def own_descriptors() -> dict[tuple[int, int], int | None]:
    """The files that this process has open and may have POSIX locks on, by device and number.

    Each has a descriptor by which it can be read; None: it is locked, and open for writing only.
    """
    found: dict[tuple[int, int], int | None] = {}
    for number, status in open_descriptors().items():
        inode = status.st_dev, status.st_ino
        with contextlib.suppress(OSError):
            flags = fcntl.fcntl(number, fcntl.F_GETFL)
            if flags & os.O_ACCMODE != os.O_WRONLY and not flags & (os.O_PATH | os.O_DIRECT):
                found[inode] = number
            elif inode not in found and _has_locks(number):
                found[inode] = None
    return found


def _has_locks(descriptor: int) -> bool:
    """Whether the process may have locks that closing any descriptor of the file ends, as those of `flock` do not."""
    with contextlib.suppress(AttributeError, OSError):  # a lock of another kind would have to wait for one
        lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind: int = struct.unpack("hhqqi4x", fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, lock))[0]
        return kind != fcntl.F_UNLCK
    try:
        with open(f"/proc/self/fdinfo/{descriptor}", encoding="utf-8") as lines:
            return any(line.startswith("lock:") and "POSIX" in line for line in lines)
    except OSError:  # nothing tells it
        return True


def read(
    full: str, status: os.stat_result, opened: dict[tuple[int, int], int | None], spool: Spool
) -> tuple[list[str], os.stat_result]:
    """The chunks of a file, and its status before it was read.

    Args:
        full: Its path.
        status: What it was before.
        opened: The files that this process has open and may have locked, as databases do, and how they are read.
            Closing another descriptor would take the locks away.
        spool: Where the chunks go.

    Raises:
        OSError: It cannot be read.
        ValueError: It changed, or cannot be read without an end of its locks.
    """
    inode = status.st_dev, status.st_ino
    descriptor = opened.get(inode)
    if descriptor is not None:
        try:
            return _read_at(descriptor, spool)
        except OSError:  # another thread has closed it
            pass
    elif inode in opened:
        return _read_by_child(full, status, spool), status
    descriptor = os.open(full, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return _read_at(descriptor, spool)
    finally:
        os.close(descriptor)


def _read_by_child(full: str, status: os.stat_result, spool: Spool) -> list[str]:
    """What is in a file; a child has none of the locks, so it may open and close it."""
    try:
        data = answer_of_child(lambda: _content(full), among_threads=True)
    except PicklingError as error:
        raise ValueError(f"it is locked and open for writing only, and {error}") from None
    if len(data) != status.st_size:
        raise ValueError("it changed while it was read")
    view = memoryview(data)
    return spool.put_all([view[start : start + CHUNK] for start in range(0, len(view), CHUNK)])


def _content(full: str) -> bytes:
    with open(full, "rb") as file:
        return file.read()


def _read_at(descriptor: int, spool: Spool) -> tuple[list[str], os.stat_result]:
    """What is in the file of a descriptor, whose place in it stays.

    Raises:
        OSError: The descriptor was closed, or is that of another file by now.
        ValueError: The file changed.
    """
    status, chunks, size = os.fstat(descriptor), list[str](), 0
    while size < status.st_size and (data := os.pread(descriptor, min(16 * CHUNK, status.st_size - size), size)):
        size += len(data)
        while len(data) % CHUNK and size < status.st_size:
            more = os.pread(descriptor, CHUNK - len(data) % CHUNK, size)
            if not more:
                break
            size += len(more)
            data += more
        if not os.path.samestat(os.fstat(descriptor), status):
            raise OSError("it is the descriptor of another file")
        view = memoryview(data)
        chunks += spool.put_all([view[start : start + CHUNK] for start in range(0, len(view), CHUNK)])
    if size != status.st_size:
        raise ValueError("it changed while it was read")
    return chunks, status
