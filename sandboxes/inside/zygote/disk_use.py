"""How much of the host's disk a sandbox has taken: what is free is asked often, and folders are walked when need be.

To walk a large folder takes longer than to fill it. What a file system has free is told in microseconds, whoever took
it: as long as that has not fallen by as much as the sandbox had left, the sandbox cannot have taken more. When it has,
the folders are walked at once, and the sandbox stands still if that takes a while.
"""

import os
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from .folder_size import NAME_BYTES, FolderSize

SECONDS = 1.0
"""How often the folders are looked through in any case: others may have freed what the sandbox took."""
LOOK_SECONDS = 0.01
"""For how long at a time."""
FALL = 4 << 20
"""Bytes by which what is free may fall without a walk, however little is left."""
UNKNOWN = 64 << 20
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
    """What it may have although that is too much, because it had it before anything ran; None: not known yet."""
    had_names: int = 0
    """The same of names."""
    last: int = 0
    """What it had when it was last walked."""
    size: FolderSize = field(init=False)

    def __post_init__(self) -> None:
        self.size = FolderSize(self.path)

    @property
    def may_have(self) -> int:
        """Bytes, now."""
        return max(self.allowed, self.had or 0)

    def walk(self, seconds: float, fell: int) -> bool:
        """Go on walking it for so long; `fell` is by how much less is free than before anything ran.

        Returns:
            Whether all of it was seen, or enough of it.
        """
        known = self.had is not None
        enough = (self.may_have, max(self.allowed_names, self.had_names)) if known else (sys.maxsize, sys.maxsize)
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
        if self.last + held > self.may_have:
            return {"limit": self.limit, "value": self.last + held}
        return {}


class DiskUse:
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
        """See what is there before anything runs, as far as that takes no time."""
        self._free = self._room()
        self._begun = self._free[0]
        for folder in self._folders:
            folder.begin_anew()
            folder.walk(self._at_a_time / len(self._folders), 0)
        self._next = 0.0

    def look(self, hold: Hold) -> dict[str, Any]:
        """Look whether it is too much.

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
        least = min(folder.may_have - folder.last for folder in self._folders)
        return max(FALL, least if all(folder.had is not None for folder in self._folders) else min(least, UNKNOWN))

    def _room(self) -> tuple[int, int]:
        """Bytes and names that are free."""
        try:
            room = os.statvfs(self._place)
        except OSError:
            return 0, 0
        return room.f_bfree * room.f_frsize, room.f_ffree
