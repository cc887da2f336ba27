"""Limits that the operating system does not keep for a sandbox as a whole: its init looks at them again and again."""

import os
import sys
import time
from contextlib import suppress
from typing import Any

from . import measuring
from .disk_use import DiskUse, Folder, Hold

CLOSER_SECONDS = 0.5
"""How often it is looked at what processes hold by open descriptors."""
FEW_FILES = 1 << 20
"""Bytes of files in memory that may count twice where they are mapped: telling them apart takes long."""
NOTE_BYTES = 1 << 20
"""What the note on what a cell reached may have."""


class Watching:
    """What one sandbox uses, and what it may use.

    Args:
        allowed: Bytes of `memory`, of the `workspace` (0: any) and of `tmp`, and a count of `processes`.
        proc: A descriptor of a `/proc` that shows the sandbox's processes.
        in_memory: Folders of the sandbox's own that are file systems in memory: what is in them is memory.
    """

    def __init__(self, allowed: dict[str, int], proc: int, in_memory: tuple[str, ...] = ()) -> None:
        self._allowed = allowed
        self._proc = proc
        self._in_memory = in_memory
        self._disk: DiskUse | None = None
        self._processes: list[int] = []
        self.hidden: list[int] = []
        """Processes that hide what they hold, and did so half a second ago; they are to be ended."""
        self._suspected: list[int] = []
        self._note = ""
        self._device = 0
        self._next = 0.0
        self.peak = 0
        """The most memory that was seen."""

    def begin(self, order: dict[str, Any]) -> None:
        """Learn where it writes to.

        Raises:
            OSError: there is no workspace.
        """
        workspace = self._allowed["workspace"] or sys.maxsize
        folders = [Folder(order["workspace"], "workspace", workspace)]
        self._device = os.stat(order["workspace"]).st_dev
        if kernel := order.get("kernel"):
            # It is there for snapshots: of all variables, and of all files.
            folders.append(Folder(kernel["spool"], "workspace", workspace + self._allowed["memory"]))
            self._note = kernel["reach"]
        if not self._in_memory:
            folders += [Folder(order["environment"][name], "tmp", self._allowed["tmp"]) for name in ("TMPDIR", "HOME")]
        self._disk = DiskUse(folders, self._held)

    def look_around(self) -> None:
        """See what is on the disk while nothing of the user's runs: that much may stay there."""
        if self._disk is not None:
            self._disk.begin()

    def look(self, processes: list[int], hold: Hold) -> dict[str, Any]:
        """Measure what these processes use.

        Args:
            processes: All of the sandbox.
            hold: Has them stand still while something is measured that takes a while.

        Returns:
            The limit that is exceeded, and what was found; empty when none is.
        """
        if self._disk is None:
            return {}  # the order is still on its way: nothing of the user's runs yet
        self._processes = processes
        used, files = self._memory(processes)
        self.peak = max(self.peak, used)
        if used > self._allowed["memory"]:
            return {**_exceeded("memory", used), "files": files}
        if len(processes) > self._allowed["processes"]:
            return _exceeded("processes", len(processes))
        return self._disk.look(hold) or self._look_closer(used)

    def too_full_for(self, process: int) -> bool:
        """Whether a process, were it the only one, would use more memory together with the files that are left."""
        return self._memory([process])[0] > self._allowed["memory"]

    def _memory(self, processes: list[int]) -> tuple[int, int]:
        """Bytes that are used, and how many of them are files in memory."""
        files = measuring.files_in_memory(self._in_memory)
        used = measuring.resident(self._proc, processes) + files
        if used > self._allowed["memory"]:  # what a runner shares with its frozen copy was counted twice
            held = measuring.proportional(self._proc, processes, self._devices() if files > FEW_FILES else frozenset())
            used = held + files if held else used
        return used, files

    def _devices(self) -> frozenset[int]:
        found = set()
        for folder in self._in_memory:
            with suppress(OSError):
                found.add(os.stat(folder).st_dev)
        return frozenset(found)

    def _look_closer(self, used: int) -> dict[str, Any]:
        """Measure what takes longer to find out."""
        if time.monotonic() < self._next:
            return {}
        self._next = time.monotonic() + CLOSER_SECONDS
        hidden = measuring.hidden(self._proc, self._processes)
        self.hidden = [one for one in hidden if one in self._suspected]
        self._suspected = hidden
        buffers, _ = measuring.held(self._proc, self._processes, self._device)
        if used + buffers > self._allowed["memory"]:
            return _exceeded("memory", used + buffers)
        note = self._note_bytes()
        return _exceeded("workspace", note) if note > NOTE_BYTES else {}

    def _held(self) -> int:
        return measuring.held(self._proc, self._processes, self._device)[1]

    def _note_bytes(self) -> int:
        try:
            return os.stat(self._note).st_size if self._note else 0
        except OSError:
            return 0


def _exceeded(limit: str, value: int) -> dict[str, Any]:
    return {"limit": limit, "value": value}
