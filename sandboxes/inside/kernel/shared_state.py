"""Says whether a frozen copy of this process would be changed by what the process does afterwards.

A copy has memory of its own, but shares all that lies outside of it: the place in an open file, and the file, which may
be another one once the workspace is as it was; pipes and connections; memory that was mapped to be shared. And children
are only the children of one. A session that has any of that is not kept in memory. It comes back from the store, which
opens files anew and names what it lacks.
"""

import fcntl
import mmap
import os
import re
import stat
import sys
import threading
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress

MAP = mmap.mmap
HARMLESS = frozenset({"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"})
OURS = ("anon_inode:[userfaultfd]", "/proc/")
"""How the descriptors are called with which pages are tracked."""
SHARED_MAP = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) (r.)[x-]s \S+ \S+ (\d+) *(.*)$", re.MULTILINE)


class SharedState:
    """What this process shares with copies of itself, beside what it had when it began.

    Args:
        folders: Those of the session, whose files are brought back with a step.
    """

    def __init__(self, folders: Iterable[str]) -> None:
        self._folders = tuple(os.path.join(os.path.realpath(folder), "") for folder in folders if folder)
        self._first = {mark for mark in map(_mark, _descriptors()) if mark is not None}
        self._maps = SharedMaps()

    def is_there(
        self, descriptors: Collection[int], children: Collection[int], memory: Collection[tuple[int, int]]
    ) -> bool:
        """Whether there is any.

        Args:
            descriptors: Those that the kernel has opened since, and that copies may share.
            children: Its own children.
            memory: Where memory begins and ends that copies share on purpose.
        """
        return (
            any(self._is_shared(number) for number in _descriptors() if number not in descriptors)
            or not _children() <= set(children)
            or self._has_shared_memory(memory)
        )

    def _is_shared(self, descriptor: int) -> bool:
        try:
            name, status = os.readlink(f"/proc/self/fd/{descriptor}"), os.fstat(descriptor)
            mode = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE
        except OSError:  # it was the one with which descriptors were listed
            return False
        if name in HARMLESS or name.startswith(OURS) or (status.st_dev, status.st_ino) in self._first:
            return False
        # Libraries keep files of their own open, such as fonts, and look for the place each time that they read.
        is_of_library = stat.S_ISREG(status.st_mode) and mode == os.O_RDONLY and not name.startswith(self._folders)
        return not is_of_library

    def _has_shared_memory(self, ours: Collection[tuple[int, int]]) -> bool:
        """Whether memory is mapped that copies would share."""

        def matters(one: SharedMap) -> bool:
            if any(start <= one.start and one.end <= end for start, end in ours):
                return False
            return one.is_writable or one.path.startswith(self._folders)

        return bool(self._maps.now(matters, _shared_pages()))


class SharedMaps:
    """Knows which memory of this process others may have, too; files may be written by writing to it."""

    def __init__(self) -> None:
        self._known: tuple[int, str] | None = None
        """The signs at which there was none that matters."""

    def now(self, matters: "Callable[[SharedMap], bool]", pages: str = "") -> "list[SharedMap]":
        """Those that matter. The list of all maps, which takes 2 ms, is read only when there may be new ones.

        Args:
            matters: The same each time.
            pages: How much of them is used, which tells of those that compiled code has made; each that Python has made
                counts for its type.
        """
        signs = sys.getrefcount(MAP), pages
        if signs == self._known:
            return []
        try:
            with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
                found = [SharedMap(*line.groups()) for line in SHARED_MAP.finditer(file.read())]
        except OSError:
            return []
        found = [one for one in found if matters(one)]
        self._known = None if found else signs
        return found


class SharedMap:
    """Such memory, as a line of the list of all maps has it."""

    def __init__(self, start: str, end: str, access: str, inode: str, path: str) -> None:
        self.start, self.end = int(start, 16), int(end, 16)
        self.is_writable = access == "rw"
        self.inode, self.path = int(inode), path


def _descriptors() -> list[int]:
    with suppress(OSError):
        return [int(name) for name in os.listdir("/proc/self/fd")]
    return []


def _mark(descriptor: int) -> tuple[int, int] | None:
    """What tells an open file from others, whatever its number."""
    with suppress(OSError):
        status = os.fstat(descriptor)
        return status.st_dev, status.st_ino
    return None


def _children() -> set[int]:
    with suppress(OSError), open(f"/proc/self/task/{threading.get_native_id()}/children", encoding="utf-8") as file:
        return set(map(int, file.read().split()))
    return set()


def _shared_pages() -> str:
    """Memory that is shared and no file, in kB."""
    with suppress(OSError), open("/proc/self/status", encoding="utf-8", errors="replace") as file:
        found = re.search(r"^RssShmem:\s+(\d+)", file.read(), re.MULTILINE)
        return found[1] if found is not None else ""
    return ""
