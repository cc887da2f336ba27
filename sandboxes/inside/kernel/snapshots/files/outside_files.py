"""Files outside of the workspace that cells have made: in the folder for temporary files, and in the home.

They are kept as those of the workspace are, up to a limit; what is beyond it is named.
"""

import contextlib
import os
import stat
from typing import Any

from ..storing.blobs import Blobs, Spool
from .file_table import Entry, FileTable, is_below

FOLDERS = ("TMPDIR", "HOME")
"""The variables of the environment that name these folders."""
MAX_BYTES = 100_000_000
MAX_FILES = 2_000
OF_PROGRAMS = frozenset({".cache", ".local", ".duckdb", ".matplotlib", ".ipython", ".npm"})
"""What programs put there for themselves and make anew."""
FOLDERS_OF_PROGRAMS = ("pymp-", "torchinductor_", "pip-")
"""How folders begin that are such."""
CACHES = ("MPLCONFIGDIR",)
"""Variables of the environment that name such folders."""
MAX_NAMED = 20
"""Names of what there is no room for; of the others it is said how many they are."""


def names_in(environment: dict[str, str], own: str = "") -> dict[str, frozenset[str]]:
    """What is in these folders when a session begins, which is not its own: variable → names.

    Args:
        environment: The environment in which it begins.
        own: A folder that is the sandbox's; what an earlier session has left in there is the session's, too. When all
            is the sandbox's, its folders begin empty, but for what is mounted there.
    """
    found: dict[str, frozenset[str]] = {}
    for variable in FOLDERS:
        folder = environment.get(variable, "")
        try:
            names = frozenset(os.listdir(folder))
        except OSError:  # there is none, or it is nobody's to read
            continue
        is_own = own not in ("", "/") and is_below(os.path.realpath(own), os.path.realpath(folder))
        found[variable] = frozenset() if is_own else names
    return found


class OutsideTable(FileTable):
    """What a session has in one of the folders.

    Args:
        root: The folder.
        foreign: Names in it that are not the session's.
        caches: Paths of folders of programs.
    """

    place = "its folder"

    def __init__(self, root: str, foreign: frozenset[str], caches: frozenset[str] = frozenset()) -> None:
        super().__init__(root)
        self._foreign = set(foreign)
        self._caches = frozenset(os.path.relpath(path, root) for path in caches if path)
        self._too_large: set[str] = set()

    def is_foreign(self, path: str) -> bool:
        """Whether a path is not the session's."""
        first = path.partition("/")[0]
        if first in OF_PROGRAMS or first in self._foreign or first in self._too_large or first in self._caches:
            return True
        return first.startswith(FOLDERS_OF_PROGRAMS) and os.path.isdir(os.path.join(self._root, first))

    def adopt(self, wanted: dict[str, Entry]) -> None:
        """Take what a snapshot has for the session's own."""
        self._foreign -= {path.split("/")[0] for path in wanted}
        self._too_large = set()

    def measure(self, room: list[int]) -> list[str]:
        """Find the names for which there is no room.

        Args:
            room: Files and bytes that are left; what fits is taken off.
        """
        self._too_large = set()
        try:
            names = sorted(os.listdir(self._root))
        except OSError:
            return []
        for name in names:
            if self.is_foreign(name):
                continue
            count, size = _size(os.path.join(self._root, name)) if room[0] else (1, 0)
            if count > room[0] or size > room[1]:
                self._too_large.add(name)
            else:
                room[0] -= count
                room[1] -= size
        return [self.named(name) for name in sorted(self._too_large)]

    def named(self, path: str) -> str:
        """What people know a file by."""
        return os.path.join(self._root, path)


def _size(full: str) -> tuple[int, int]:
    """How many files there are at a path, and their bytes."""
    try:
        status = os.lstat(full)
    except OSError:
        return 0, 0
    if not stat.S_ISDIR(status.st_mode):
        return 1, status.st_size if stat.S_ISREG(status.st_mode) else 0
    count, size, waiting = 1, 0, [full]
    while waiting and count <= MAX_FILES:
        with contextlib.suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                count += 1
                if count > MAX_FILES:
                    break
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    size += entry.stat(follow_symlinks=False).st_size
    return count, size


class OutsideFiles:
    """The files of a session outside of its workspace.

    Args:
        environment: The environment in which it began.
        before: What was there then; see `names_in`.
        workspace: Its workspace, which may lie in one of the folders.
    """

    def __init__(self, environment: dict[str, str], before: dict[str, frozenset[str]], workspace: str) -> None:
        caches = frozenset(environment.get(variable, "") for variable in CACHES)
        self.tables = {
            variable: OutsideTable(environment[variable], names, caches)
            for variable, names in before.items()
            if not is_below(environment[variable], workspace)
        }

    def sizes(self) -> dict[str, int]:
        """The sizes of the files that the last snapshot came to."""
        tables = self.tables.values()
        return {table.named(path): size for table in tables for path, size in table.sizes().items()}

    def take(self, spool: Spool, lost: list[dict[str, Any]]) -> dict[str, dict[str, Entry]]:
        """Put what is new into the spool, and name what there is no room for; see `FileTable.take`."""
        room = [MAX_FILES, MAX_BYTES]
        found: dict[str, dict[str, Entry]] = {}
        for variable, table in self.tables.items():
            reason = f"outside of the workspace {MAX_BYTES // 1_000_000} MB and {MAX_FILES:,} files are kept at most"
            names = table.measure(room)
            lost += [{"name": name, "type": "file", "reason": reason} for name in names[:MAX_NAMED]]
            if more := len(names[MAX_NAMED:]):
                lost.append({"name": table.named("*"), "type": "file", "reason": f"{more:,} more; {reason}"})
            if entries := table.take(spool, lost):
                found[variable] = entries
        return found

    def restore(self, wanted: dict[str, dict[str, Entry]], blobs: Blobs) -> None:
        """Make them exactly so; see `FileTable.restore`."""
        for variable, table in self.tables.items():
            entries = wanted.get(variable, {})
            table.adopt(entries)
            table.restore(entries, blobs)
