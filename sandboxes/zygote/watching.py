"""Limits that the operating system does not keep for a sandbox as a whole: its init looks at them again and again."""

import os
import sys
import time
from typing import Any

from . import measuring
from .folder_size import FolderSize

DISK_SECONDS = 1.0
"""How often the folders are looked through."""
LOOK_SECONDS = 0.01
"""For how long at a time."""
NOTE_BYTES = 1 << 20
"""What the note on what a cell reached may have."""


class Watching:
    """What one sandbox uses, and what it may use.

    Args:
        allowed: Bytes of `memory` and of the `workspace` (0: any), and a count of `processes`.
        proc: A descriptor of a `/proc` that shows the sandbox's processes.
    """

    def __init__(self, allowed: dict[str, int], proc: int) -> None:
        self._allowed = allowed
        self._proc = proc
        self._folders: list[tuple[FolderSize, int]] = []
        """The host's folders that it writes to, and what each may have; the one to be looked at next comes first."""
        self._note = ""
        self._device = 0
        self._next_disk = 0.0
        self.peak = 0
        """The most memory that was seen."""

    def begin(self, order: dict[str, Any]) -> None:
        """Learn where it writes to.

        Raises:
            OSError: there is no workspace.
        """
        workspace = self._allowed["workspace"] or sys.maxsize
        self._folders = [(FolderSize(order["workspace"]), workspace)]
        self._device = os.stat(order["workspace"]).st_dev
        if kernel := order.get("kernel"):
            # It is there for snapshots: of all variables, and of all files.
            self._folders.append((FolderSize(kernel["spool"]), workspace + self._allowed["memory"]))
            self._note = kernel["reach"]

    def look(self, processes: list[int]) -> dict[str, Any]:
        """Measure what these processes use.

        Returns:
            The limit that is exceeded, and what was found; empty when none is.
        """
        if not self._folders:
            return {}  # the order is still on its way: nothing of the user's runs yet
        used = measuring.resident(self._proc, processes)
        if used > self._allowed["memory"]:  # what a runner shares with its frozen copy was counted twice
            used = measuring.proportional(self._proc, processes) or used
        self.peak = max(self.peak, used)
        if used > self._allowed["memory"]:
            return _exceeded("memory", used)
        if len(processes) > self._allowed["processes"]:
            return _exceeded("processes", len(processes))
        return self._look_closer(processes, used) if time.monotonic() > self._next_disk else {}

    def _look_closer(self, processes: list[int], used: int) -> dict[str, Any]:
        """Measure what takes longer to find out, a little at a time."""
        folder, allowed = self._folders[0]
        size = folder.look(LOOK_SECONDS, enough=allowed)
        if size is None:
            return {}
        self._folders.append(self._folders.pop(0))
        self._next_disk = time.monotonic() + DISK_SECONDS / len(self._folders)
        sockets, files = measuring.held(self._proc, processes, self._device)
        if used + sockets > self._allowed["memory"]:
            return _exceeded("memory", used + sockets)
        note = self._note_bytes()
        if size + files > allowed or note > NOTE_BYTES:
            return _exceeded("workspace", size + files + note)
        return {}

    def _note_bytes(self) -> int:
        try:
            return os.stat(self._note).st_size if self._note else 0
        except OSError:
            return 0


def _exceeded(limit: str, value: int) -> dict[str, Any]:
    return {"limit": limit, "value": value}
