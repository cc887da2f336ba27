"""How much disk a sandbox uses. Free space is polled often; folders are walked only when it has fallen too far.

To walk a large folder takes longer than to fill it. What a file system has free is told in microseconds, whoever took
it: as long as that has not fallen by as much as the sandbox had left, the sandbox cannot have taken more. When it has,
the folders are walked at once, and the sandbox stands still if that takes a while.
"""

import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Any

NAME_BYTES = 4_096
"""What a name counts at least."""
LONG = 2_000
"""Characters of a path from which on a folder is opened anew, so that no path becomes longer than the system takes."""
FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class _Base:
    """An open folder that paths start from; closed with the last of them."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __del__(self) -> None:
        os.close(self.descriptor)


class FolderSize:
    """Measures a folder over and over.

    Args:
        folder: Its path.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._walk: Iterator[int] | None = None
        self._bytes = 0
        self.names = 0
        """How many files and folders were seen."""

    def begin_anew(self) -> None:
        """Forget what was seen until now."""
        self._walk = None

    def look(self, seconds: float, enough: int, names: int = sys.maxsize) -> int | None:
        """Go on for this long.

        Returns:
            Bytes on disk, once all of it was seen, or more than `enough` of it, or more than so many `names`; the next
            call begins anew. None: there is more to see.
        """
        until = time.monotonic() + seconds
        if self._walk is None:
            self._walk, self._bytes, self.names = _sizes(self._folder), 0, 0
        for size in self._walk:
            self._bytes += size
            self.names += 1
            if self._bytes > enough or self.names > names:
                break
            if time.monotonic() > until:
                return None
        self._walk = None
        return self._bytes


def _sizes(folder: str) -> Iterator[int]:
    """The size of everything below a folder, one after the other; what vanishes meanwhile is left out."""
    try:
        waiting = [(_Base(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)), ".")]
    except OSError:
        return
    opened_ones: list[tuple[int, _Base, int]] = []
    """Folders that had to be opened, with the mode that they had and how much was waiting before what is in them."""
    try:
        while waiting:
            _close_again(opened_ones, len(waiting))
            base, path = waiting.pop()
            with suppress(OSError):
                descriptor, mode = _open(base, path)
                opened = _Base(descriptor)
                if mode is not None:
                    opened_ones.append((len(waiting), opened, mode))
                if len(path) > LONG:
                    base, path = opened, "."
                with os.scandir(opened.descriptor) as entries:
                    for entry in entries:
                        with suppress(OSError):
                            status = entry.stat(follow_symlinks=False)
                            if stat.S_ISDIR(status.st_mode):
                                waiting.append((base, f"{path}/{entry.name}"))
                            yield max(status.st_blocks * 512, NAME_BYTES)
    finally:
        _close_again(opened_ones, 0)


def _close_again(opened: list[tuple[int, _Base, int]], waiting: int) -> None:
    """Give folders the mode back that they had, once nothing that is in them is waited for."""
    while opened and opened[-1][0] >= waiting:
        _, base, mode = opened.pop()
        with suppress(OSError):
            os.fchmod(base.descriptor, mode)


def _open(base: _Base, path: str) -> tuple[int, int | None]:
    """Open a folder; also its mode, if that had to be changed for it."""
    try:
        return os.open(path, FLAGS, dir_fd=base.descriptor), None
    except PermissionError:
        mode = stat.S_IMODE(os.stat(path, dir_fd=base.descriptor, follow_symlinks=False).st_mode)
        os.chmod(path, mode | stat.S_IRUSR | stat.S_IXUSR, dir_fd=base.descriptor)
        try:
            return os.open(path, FLAGS, dir_fd=base.descriptor), mode
        except OSError:
            os.chmod(path, mode, dir_fd=base.descriptor)
            raise


SECONDS = 1.0
"""How often the folders are looked through in any case: others may have freed what the sandbox took."""
LOOK_SECONDS = 0.01
"""For how long at a time."""
FREE_SPACE_SLACK = 4 << 20
"""Bytes by which what is free may fall without a walk, however little is left."""
UNKNOWN = 64_000_000
"""The same while nobody has seen yet what is there."""
MORE = 1 << 20
"""Bytes that may come to a folder which has too much already, so that a cell can run that removes files."""
MAX_NAMES = 1_000_000
"""Files and folders that a workspace may have."""

Hold = Callable[[], AbstractContextManager[None]]


@dataclass
class Folder:
    """A folder that a sandbox writes to."""

    path: str
    limit: str
    """What is exceeded when it has too much."""
    allowed: int
    """Bytes."""
    allowed_names: int = MAX_NAMES
    """Files and folders."""
    had: int | None = None
    """Bytes that it held before any code ran, allowed even above the limit; None: not known yet."""
    had_names: int = 0
    """The same of names."""
    last: int = 0
    """What it had when it was last walked."""
    size: FolderSize = field(init=False)

    def __post_init__(self) -> None:
        self.size = FolderSize(self.path)

    @property
    def allowance(self) -> int:
        """The bytes that it may have now."""
        return max(self.allowed, self.had or 0)

    def walk(self, seconds: float, fell: int) -> bool:
        """Go on walking it for so long; `fell` is by how much less is free than before anything ran.

        Returns:
            Whether all of it was seen, or enough of it.
        """
        known = self.had is not None
        enough = (self.allowance, max(self.allowed_names, self.had_names)) if known else (sys.maxsize, sys.maxsize)
        found = self.size.look(seconds, *enough)
        if found is None:
            return False
        self.last = found
        if self.had is None:
            self.had, self.had_names = found - fell + MORE, self.size.names
        elif self.had > self.allowed:
            self.had = min(self.had, found + MORE)
        return True

    def begin_anew(self) -> None:
        """Find out what it has before anything runs."""
        self.had = None
        self.size.begin_anew()

    def exceeded(self, held: int) -> dict[str, Any]:
        """The limit that it exceeds, if so many bytes are `held` besides by open files without a name."""
        if self.size.names > max(self.allowed_names, self.had_names):
            return {"limit": "names", "value": self.size.names}
        if self.last + held > self.allowance:
            return {"limit": self.limit, "value": self.last + held}
        return {}


class DiskUsage:
    """What a sandbox has taken of the disk.

    Args:
        folders: Where it writes, all in one file system.
        held: Tells how many bytes its processes hold by open files that have no name.
        every: Seconds after which a folder is walked in any case.
        at_a_time: Seconds for which one is walked while the sandbox goes on.
    """

    def __init__(
        self,
        folders: list[Folder],
        held: Callable[[], int],
        *,
        every: float = SECONDS,
        at_a_time: float = LOOK_SECONDS,
    ) -> None:
        self._folders = folders
        self._held = held
        self._every, self._at_a_time = every, at_a_time
        self._place = folders[0].path
        self._free = self._room()
        self._begun = self._free[0]
        self._next = 0.0

    def begin(self) -> None:
        """Measure what is there before anything runs, as far as that takes no time."""
        self._free = self._room()
        self._begun = self._free[0]
        for folder in self._folders:
            folder.begin_anew()
            folder.walk(self._at_a_time / len(self._folders), 0)
        self._next = 0.0

    def look(self, hold: Hold) -> dict[str, Any]:
        """Check whether it is too much.

        Args:
            hold: Has the sandbox stand still meanwhile.

        Returns:
            The limit that is exceeded, and what was found; empty when none is.
        """
        free, names = self._room()
        self._free = max(self._free[0], free), max(self._free[1], names)
        if max(self._free[0] - free, (self._free[1] - names) * NAME_BYTES) > self._left():
            return self._look_at_all(hold)
        if time.monotonic() < self._next:
            return {}
        folder = self._folders[0]
        if not folder.walk(self._at_a_time, max(0, self._begun - free)):
            return {}
        self._folders.append(self._folders.pop(0))
        self._next = time.monotonic() + self._every / len(self._folders)
        return folder.exceeded(self._held())

    def _look_at_all(self, hold: Hold) -> dict[str, Any]:
        """Walk all folders now, and no longer than a moment while something is written."""
        self._free = self._room()
        fell = max(0, self._begun - self._free[0])
        for folder in self._folders:
            folder.size.begin_anew()
            if not folder.walk(self._at_a_time, fell):
                with hold():
                    folder.walk(sys.maxsize, fell)
            if found := folder.exceeded(self._held()):
                return found
        return {}

    def _left(self) -> int:
        """How far what is free may fall until a folder may have too much."""
        least = min(folder.allowance - folder.last for folder in self._folders)
        return max(
            FREE_SPACE_SLACK, least if all(folder.had is not None for folder in self._folders) else min(least, UNKNOWN)
        )

    def _room(self) -> tuple[int, int]:
        """Bytes and names that are free."""
        try:
            room = os.statvfs(self._place)
        except OSError:
            return 0, 0
        return room.f_bfree * room.f_frsize, room.f_ffree
