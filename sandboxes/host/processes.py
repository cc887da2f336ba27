"""The process in which a sandbox's code runs, as its session sees it: how it is interrupted and ended, how it ended."""

import asyncio
import signal
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from sandboxes.host.limits import Limits
from sandboxes.host.pipes import Pipe

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
MENTIONED = 1 << 20
"""Bytes from which on a part of the memory is named."""
Limited = Literal["", "memory", "processes", "workspace", "names", "tmp"]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a process ended, from whoever started it, not from what it said itself."""

    code: int
    """Its exit code; negative: the signal that ended it."""
    limit: Limited = ""
    """The limit for which it was ended."""
    value: int = 0
    """What was found, in the limit's unit."""
    files: int = 0
    """How much of the memory that was found are files in `/tmp`, HOME and `/dev/shm`."""
    copy: bool = False
    """Whether a frozen copy of it, from before the cell, waits to go on in its place."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be started in a sandbox's folder."""

    folder: Path
    """The sandbox's folder, with `workspace`, `spool`, `blobs`, …"""
    program: Path | None = None
    """A program of ours; None: the kernel."""
    arguments: tuple[str, ...] = ()
    network: str = "none"
    """What the kernel is told that it may reach: `none`, `allowlist` or `full`."""


class Process(Protocol):
    """A process with all that it starts."""

    exited: asyncio.Future[Ending]
    """Done when it has ended, with everything that it started but a frozen copy."""
    gone: asyncio.Future[None]
    """Done when nothing of it is left, no frozen copy either."""
    why: str
    """Why it could not begin, when that is known."""

    @property
    def alive(self) -> bool:
        """Whether it has not been seen to end."""

    def busy(self, runs: bool) -> None:
        """Say whether a cell runs: limits that have to be watched are watched only then."""

    def interrupt(self) -> None:
        """Send SIGINT to it and its children, as a terminal does on Ctrl-C."""

    def stop(self) -> bool:
        """End what runs now, so that a frozen copy may go on; false when there can be none and nothing was done."""

    def wake(self) -> None:
        """Have the frozen copy go on; `exited` is anew then."""

    def kill(self) -> None:
        """End it at once with everything that it started."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A started process and our ends of what it is connected to."""

    process: Process
    control: socket.socket
    stdout: Pipe
    stderr: Pipe
    door: socket.socket | None = None
    """Listens in the sandbox's network for what wants to go out; None where there is no way out."""


class Start(Protocol):
    """How processes of a sandbox are started."""

    async def __call__(self, order: Order) -> Connection:
        """Start the kernel, or a program, in a sandbox's folder.

        Raises:
            SandboxUnavailableError: it cannot be started.
        """


def in_words(ending: Ending, limits: Limits) -> str:
    """How a process ended that was not asked to."""
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


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
