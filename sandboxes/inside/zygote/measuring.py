"""What a sandbox uses: memory, processes and open descriptors of the whole tree below its init."""

import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from .disk_use import DiskUsage, Folder, Hold

MAX_PROCESSES = 4_096
"""Processes that are looked at."""
SOCKET_BYTES = 212_992
"""What waits in a socket at most (`net.core.wmem_default`); the filter of system calls keeps code from raising it."""
PIPE_BYTES = 65_536
"""The same of a pipe."""
INODE_BYTES = 1_024
"""What a name in a file system in memory takes besides, about."""
ONE_BLOCK = 65_536
"""What is read of a file at a time; most of them are shorter."""
MAX_MAPS = 16 << 20
"""Bytes of a description of a process's mappings that are read."""
HELD, TABLES = ("RssAnon:", "RssShmem:"), "VmPTE:"
"""Lines of a process's status: what it holds, and the tables that say where, which an empty mapping needs, too."""


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
    """Bytes of memory that these processes hold, anonymous, shared and for its tables; what two share counts twice."""
    return sum(_fields(_read(proc, f"{process}/status"), (*HELD, TABLES)) for process in processes)


def proportional(proc: int, processes: list[int], apart: frozenset[int] = frozenset()) -> int:
    """The same with what several share counted once in all; slower.

    Args:
        proc: As for `tree`.
        processes: Their numbers in it.
        apart: File systems (`st_dev`) whose files are counted elsewhere, mapped ones too.
    """
    found = 0
    for process in processes:
        held = _fields(_read(proc, f"{process}/smaps_rollup"), ("Pss_Anon:", "Pss_Shmem:"))
        if held and apart:
            held -= mapped(_read(proc, f"{process}/smaps", MAX_MAPS), apart)
        found += held + _fields(_read(proc, f"{process}/status"), (TABLES,))
    return found


def mapped(smaps: str, devices: frozenset[int]) -> int:
    """Bytes of the files of these file systems that a process has mapped, its share of each page."""
    found, here = 0, False
    for line in smaps[: smaps.rfind("\n") + 1].splitlines():  # it may be cut in the middle of one
        name, _, rest = line.partition(" ")
        if not name.endswith(":"):
            major, _, minor = rest.split()[2].partition(":")
            here = os.makedev(int(major, 16), int(minor, 16)) in devices
        elif here and name in ("Pss:", "Anonymous:"):
            found += (int(rest.split()[0]) << 10) * (1 if name == "Pss:" else -1)
    return max(0, found)


def files_in_memory(folders: tuple[str, ...]) -> int:
    """Bytes that the files of file systems in memory have, and their names."""
    found = 0
    for folder in folders:
        with suppress(OSError):
            room = os.statvfs(folder)
            found += (room.f_blocks - room.f_bfree) * room.f_frsize + (room.f_files - room.f_ffree) * INODE_BYTES
    return found


def reserved(proc: int) -> int:
    """Bytes that this process has asked for as data; allocators of libraries reserve much that they never use."""
    return _fields(_read(proc, "self/status"), ("VmData:",))


def namespace_pid(proc: int, process: int) -> int:
    """The number that a process has in its own namespace, by which signals from there reach it; 0 when it is gone."""
    found = [line.split()[-1] for line in _read(proc, f"{process}/status").splitlines() if line.startswith("NSpid:")]
    return int(found[0]) if found else 0


def threads(proc: int, process: int) -> int:
    """How many threads a process has."""
    found = [line.split()[1] for line in _read(proc, f"{process}/status").splitlines() if line.startswith("Threads:")]
    return int(found[0]) if found else 0


def stopped(proc: int, process: int) -> bool:
    """Whether a process stands still because it was told to."""
    found = [line.split()[1] for line in _read(proc, f"{process}/status").splitlines() if line.startswith("State:")]
    return found == ["T"]


def held(proc: int, processes: list[int], device: int) -> tuple[int, int]:
    """Bytes that these processes hold by nothing but open descriptors, which neither memory nor folders show.

    Args:
        proc: As for `tree`.
        processes: Their numbers in it.
        device: The file system (`st_dev`) of the files that count.

    Returns:
        What the buffers of their sockets and pipes may hold at most, and the size of their files that have no name any
        more.
    """
    sockets: set[int] = set()
    pipes: set[int] = set()
    files: dict[int, int] = {}
    for process in processes:
        with suppress(OSError):
            folder = os.open(f"{process}/fd", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=proc)
            try:
                for status in _descriptors(folder):
                    if stat.S_ISSOCK(status.st_mode):
                        sockets.add(status.st_ino)
                    elif stat.S_ISFIFO(status.st_mode):
                        pipes.add(status.st_ino)
                    elif stat.S_ISREG(status.st_mode) and not status.st_nlink and status.st_dev == device:
                        files[status.st_ino] = status.st_blocks * 512
            finally:
                os.close(folder)
    return SOCKET_BYTES * len(sockets) + PIPE_BYTES * len(pipes), sum(files.values())


def hidden_processes(proc: int, processes: list[int]) -> list[int]:
    """Those that cannot be looked into: their program is a file that can be run and not read.

    One that is just ending, or becoming another program, looks the same for a moment.
    """
    found = []
    for process in processes:
        try:
            os.readlink(f"{process}/cwd", dir_fd=proc)
            os.close(os.open(f"{process}/fd", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=proc))
        except PermissionError:
            found.append(process)
        except OSError:  # it ended just now
            continue
    return found


def _descriptors(folder: int) -> Iterator[os.stat_result]:
    for name in os.listdir(folder):
        with suppress(OSError):
            yield os.stat(name, dir_fd=folder)


def _fields(text: str, names: tuple[str, ...]) -> int:
    return sum(int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith(names))


def _read(proc: int, name: str, most: int = ONE_BLOCK) -> str:
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
    except OSError:
        return ""
    try:
        found = block = os.read(descriptor, ONE_BLOCK)
        while block and most > ONE_BLOCK and len(found) < most:
            block = os.read(descriptor, ONE_BLOCK)
            found += block
        return found.decode("ascii", "replace")
    except OSError:  # it ended just now
        return ""
    finally:
        os.close(descriptor)


CLOSER_SECONDS = 0.5
"""How often it is looked at what processes hold by open descriptors."""
FEW_FILES = 1 << 20
"""Bytes of files in memory that may count twice where they are mapped: telling them apart takes long."""
NOTE_BYTES = 1 << 20
"""What the note on what a cell reached may have."""


class LimitMonitor:
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
        self._disk: DiskUsage | None = None
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
        self._disk = DiskUsage(folders, self._held)

    def measure_baseline(self) -> None:
        """Measure what is on the disk while nothing of the user runs: that much may stay."""
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
        return self._disk.look(hold) or self._measure_slow_limits(used)

    def exceeds_memory(self, process: int) -> bool:
        """Whether one process and the files in memory would exceed the limit by themselves."""
        return self._memory([process])[0] > self._allowed["memory"]

    def _memory(self, processes: list[int]) -> tuple[int, int]:
        """Bytes that are used, and how many of them are files in memory."""
        files = files_in_memory(self._in_memory)
        used = resident(self._proc, processes) + files
        if used > self._allowed["memory"]:  # what a runner shares with its standby was counted twice
            held = proportional(self._proc, processes, self._devices() if files > FEW_FILES else frozenset())
            used = held + files if held else used
        return used, files

    def _devices(self) -> frozenset[int]:
        found = set()
        for folder in self._in_memory:
            with suppress(OSError):
                found.add(os.stat(folder).st_dev)
        return frozenset(found)

    def _measure_slow_limits(self, used: int) -> dict[str, Any]:
        """Measure what takes longer."""
        if time.monotonic() < self._next:
            return {}
        self._next = time.monotonic() + CLOSER_SECONDS
        hidden = hidden_processes(self._proc, self._processes)
        self.hidden = [one for one in hidden if one in self._suspected]
        self._suspected = hidden
        buffers, _ = held(self._proc, self._processes, self._device)
        if used + buffers > self._allowed["memory"]:
            return _exceeded("memory", used + buffers)
        note = self._note_bytes()
        return _exceeded("workspace", note) if note > NOTE_BYTES else {}

    def _held(self) -> int:
        return held(self._proc, self._processes, self._device)[1]

    def _note_bytes(self) -> int:
        try:
            return os.stat(self._note).st_size if self._note else 0
        except OSError:
            return 0


def _exceeded(limit: str, value: int) -> dict[str, Any]:
    return {"limit": limit, "value": value}
