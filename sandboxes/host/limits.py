"""What a local sandbox may use at most, how its process ended, and the sentences about it."""

import os
import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sandboxes.results import CellError

MEGABYTE = 1_000_000
"""Bytes: wherever a setting, a sentence or a document says MB. GB is a thousand of them, and GiB is 1 << 30."""
MOST_TMP = 2_000 * MEGABYTE
SHARE = 4
"""Which part of the memory `/tmp`, HOME and `/dev/shm` may each have by default."""

CRASHES: Mapping[int, str] = {
    signal.SIGSEGV: "crashed: segmentation fault",
    signal.SIGBUS: "crashed: bus error",
    signal.SIGABRT: "crashed: aborted by a library",
    signal.SIGFPE: "crashed: arithmetic error in a library",
    signal.SIGILL: "crashed: illegal instruction",
    signal.SIGSYS: "made a system call that is not allowed",
    signal.SIGXCPU: "used up its computing time",
    signal.SIGKILL: "was killed from outside, as happens when memory runs out",
}
MENTIONED = MEGABYTE
"""Bytes from which on a part of the memory is named."""
THREADS = re.compile(r"can't start new thread|cannot start new thread|Resource temporarily unavailable")
Limited = Literal["", "memory", "processes", "workspace", "names", "tmp"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one sandbox; 0 means that there is none."""

    memory: int = 0
    """Bytes of memory, of all its processes together."""
    processes: int = 256
    """Processes and threads at a time."""
    file: int = 10_000 * MEGABYTE
    """Bytes of one file."""
    workspace: int = 50_000 * MEGABYTE
    """Bytes of all files of the workspace."""
    tmp: int = 0
    """Bytes in `/tmp`, and as many in HOME; they count as memory. 0: a quarter of it, at most 2,000 MB."""
    shared_memory: int = 500 * MEGABYTE
    """Bytes in `/dev/shm`, at most a quarter of the memory; they count as memory."""
    open_files: int = 1_024
    """Files that one process has open."""
    cpu: int = 0
    """Seconds of computing of one process, in its whole life."""

    @property
    def memory_or_half(self) -> int:
        """The memory limit; half of the machine's memory when none is set."""
        return self.memory or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2

    @property
    def tmp_bytes(self) -> int:
        """The size of `/tmp`, and of HOME: never more than the memory that they count as."""
        return min(self.tmp or min(MOST_TMP, self.memory_or_half // SHARE), self.memory_or_half)

    @property
    def shared_memory_bytes(self) -> int:
        """The size of `/dev/shm`."""
        return min(self.shared_memory, self.memory_or_half // SHARE)

    @property
    def file_bytes(self) -> int:
        """The largest size of one file: that of the largest folder limit; 0: any."""
        most = self.workspace + self.memory_or_half if self.workspace else 0
        return min(self.file or most, most or self.file)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a process ended, as the one that started it has seen it."""

    code: int
    """Its exit code; negative: the signal that ended it."""
    limit: Limited = ""
    """The limit for which it was ended."""
    value: int = 0
    """What was found, in the limit's unit."""
    files: int = 0
    """How much of the memory that was found are files in `/tmp`, HOME and `/dev/shm`."""
    copy: bool = False
    """Whether a standby, forked before the cell, waits to take over."""


def in_words(ending: Ending, limits: Limits) -> str:
    """How a process ended by itself, in words."""
    if ending.limit:
        return _exceeded(ending, limits)
    if ending.code >= 0:
        return f"the code ended the Python process with exit code {ending.code}"
    try:
        name = signal.Signals(-ending.code).name
    except ValueError:
        name = "unknown"
    return f"the Python process {CRASHES.get(-ending.code, 'was ended')} (signal {-ending.code}, {name})"


def _exceeded(ending: Ending, limits: Limits) -> str:
    if ending.limit == "memory":
        used = f" used {_megabytes(ending.value)} of memory" if ending.value else " needed more memory"
        if ending.files >= MENTIONED:
            used += f" ({_megabytes(ending.files)} of it are files in /tmp, HOME and /dev/shm)"
        allowed = _megabytes(limits.memory_or_half)
        instead = "read in chunks, take fewer columns or smaller types, or let DuckDB work on the file"
        return f"the cell{used}, and {allowed} are allowed, so it was ended; {instead}"
    if ending.limit == "processes":
        had, allowed = f"{ending.value:,} processes", f"{limits.processes:,}"
        return f"the cell had {had}, and {allowed} are allowed, so it was ended; use fewer workers (n_jobs)"
    if ending.limit == "names":
        instead = "put what belongs together into one file, and remove what is not needed any more"
        return f"the workspace has too many files ({ending.value:,}), so the cell was ended; {instead}"
    if ending.limit == "tmp":
        has, allowed = _megabytes(ending.value), _megabytes(limits.tmp_bytes)
        return f"the folder for temporary files has {has}, and {allowed} are allowed, so the cell was ended"
    has, allowed = _megabytes(ending.value), _megabytes(limits.workspace)
    instead = "write less, or remove what is not needed any more in a cell that writes nothing"
    return f"the workspace has {has}, and {allowed} are allowed, so the cell was ended; {instead}"


def limit_note(error: CellError | None, limits: Limits) -> str:
    """Which limit it was, at what value, and what to do instead; empty when it was none."""
    if error is None:
        return ""
    text = f"{error.name}: {error.message}"
    if "MemoryError" in error.name:
        return (
            f"memory is limited to {_megabytes(limits.memory_or_half)}: read in chunks, take fewer columns or smaller "
            "types, or let DuckDB work on the file"
        )
    if "[Errno 27]" in text and limits.file_bytes:
        allowed = _megabytes(limits.file_bytes)
        return f"one file may have {allowed}: write several, or a compressed format such as Parquet"
    if "[Errno 28]" in text:
        return (
            f"/tmp and HOME have room for {_megabytes(limits.tmp_bytes)} each, /dev/shm for "  # noqa: S108 - that one is its own
            f"{_megabytes(limits.shared_memory_bytes)}: write large files to the working directory, and remove what is "
            "not needed any more"
        )
    if "[Errno 24]" in text:
        return f"a process may have {limits.open_files:,} files open: close them (with open(…) as file)"
    if THREADS.search(text):
        return f"{limits.processes:,} processes and threads are allowed: use fewer workers (n_jobs)"
    return ""


def _megabytes(size: int) -> str:
    return f"{size / MEGABYTE:,.0f} MB"
