"""Files outside of the workspace that cells have made: in the folder for temporary files, and in the home.

They are kept as those of the workspace are, up to a limit; what is beyond it is named.
"""

import os
import stat
from typing import Any

from .blobs import Blobs, Spool
from .files import Entry, FileTable

FOLDERS = ("TMPDIR", "HOME")
"""The variables of the environment that name these folders."""
MAX_BYTES = 100_000_000
MAX_FILES = 2_000
OF_PROGRAMS = frozenset({".cache", ".local", ".duckdb", ".matplotlib", ".ipython", ".npm", "matplotlib"})
"""What programs put there for themselves and make anew."""
PREFIXES_OF_PROGRAMS = ("pymp-", "torch_", "pip-")


def names_in(environment: dict[str, str]) -> dict[str, frozenset[str]]:
    """What is in these folders when a session begins, which is not its own: variable → names."""
    found: dict[str, frozenset[str]] = {}
    for variable in FOLDERS:
        folder = environment.get(variable, "")
        try:
            found[variable] = frozenset(os.listdir(folder))
        except OSError:  # there is none, or it is nobody's to read
            continue
    return found


class OutsideTable(FileTable):
    """What a session has in one of the folders.

    Args:
        root: The folder.
        foreign: Names in it that are not the session's.
    """

    def __init__(self, root: str, foreign: frozenset[str]) -> None:
        super().__init__(root)
        self._foreign = set(foreign)
        self._too_large: set[str] = set()

    def is_foreign(self, path: str) -> bool:
        """Whether a path is not the session's."""
        first = path.split("/")[0]
        of_program = first in OF_PROGRAMS or first.startswith(PREFIXES_OF_PROGRAMS)
        return of_program or first in self._foreign or first in self._too_large

    def can_lead_to(self, target: str, full: str) -> bool:
        """Whether a link may be kept; one to a place in the same folder may be absolute."""
        return os.path.join(os.path.realpath(full), "").startswith(os.path.join(os.path.realpath(self._root), ""))

    def adopt(self, wanted: dict[str, Entry]) -> None:
        """Take what a snapshot has for the session's own."""
        self._foreign -= {path.split("/")[0] for path in wanted}

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
            count, size = _size(os.path.join(self._root, name))
            if count > room[0] or size > room[1]:
                self._too_large.add(name)
            else:
                room[0] -= count
                room[1] -= size
        return [os.path.join(self._root, name) for name in sorted(self._too_large)]


def _size(full: str) -> tuple[int, int]:
    """How many files there are at a path, and their bytes."""
    count, size = 0, 0
    waiting = [full]
    while waiting and count <= MAX_FILES:
        path = waiting.pop()
        try:
            status = os.lstat(path)
            count += 1
            if stat.S_ISDIR(status.st_mode):
                waiting += [os.path.join(path, name) for name in os.listdir(path)]
            elif stat.S_ISREG(status.st_mode):
                size += status.st_size
        except OSError:
            continue
    return count, size


class OutsideFiles:
    """The files of a session outside of its workspace.

    Args:
        environment: The environment in which it began.
        before: What was there then; see `names_in`.
        workspace: Its workspace, which may lie in one of the folders.
    """

    def __init__(self, environment: dict[str, str], before: dict[str, frozenset[str]], workspace: str) -> None:
        self.tables = {
            variable: OutsideTable(environment[variable], names)
            for variable, names in before.items()
            if not os.path.join(workspace, "").startswith(os.path.join(environment[variable], ""))
        }

    def take(self, spool: Spool, lost: list[dict[str, Any]]) -> dict[str, dict[str, Entry]]:
        """Put what is new into the spool, and name what there is no room for; see `FileTable.take`."""
        room = [MAX_FILES, MAX_BYTES]
        found: dict[str, dict[str, Entry]] = {}
        for variable, table in self.tables.items():
            reason = f"outside of the workspace {MAX_BYTES // 1_000_000} MB and {MAX_FILES:,} files are kept at most"
            lost += [{"name": name, "type": "file", "reason": reason} for name in table.measure(room)]
            if entries := table.take(spool, lost):
                found[variable] = entries
        return found

    def restore(self, wanted: dict[str, dict[str, Entry]], blobs: Blobs) -> None:
        """Make them exactly so; see `FileTable.restore`."""
        for variable, table in self.tables.items():
            entries = wanted.get(variable, {})
            table.adopt(entries)
            table.restore(entries, blobs)
