"""The processes of an emulated machine: found by a mark in their environment, by folder or parents, and ended."""

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple


class Process(NamedTuple):
    """What is asked of a process."""

    parent: int
    environment: bytes
    place: str = ""
    """Its working directory."""
    began: int = 0
    """When, in ticks of the system's clock."""
    terminal: int = 0
    """The terminal that controls it; 0: none."""


def members(mark: str, folder: Path, since: int | None = None) -> set[int]:
    """The living processes that carry a mark (`NAME=value`) or work in a folder, and their descendants.

    Args:
        mark: The mark.
        folder: The folder.
        since: Of those that only work in the folder, take none that began before that or has a terminal: somebody
            may look at the folder from a shell.
    """
    table = _table()
    marked = mark.encode()

    def works_there(one: Process) -> bool:
        return _below(one.place, folder) and (since is None or (one.began >= since and not one.terminal))

    found = {pid for pid, one in table.items() if marked in one.environment or works_there(one)}
    return _with_descendants(found, table) - {os.getpid()}


def began(pid: int) -> int:
    """When a process began; 0 where the system does not say."""
    return one.began if (one := _table().get(pid)) is not None else 0


def has_terminal(pid: int) -> bool:
    """Whether a terminal controls a process."""
    return (one := _table().get(pid)) is not None and one.terminal != 0


def descendants(pid: int) -> set[int]:
    """A process and all that descend from it."""
    return _with_descendants({pid}, _table())


def living(pids: set[int]) -> set[int]:
    """Those of them that have not ended."""
    return pids & _table().keys()


def end(pids: set[int]) -> None:
    """Kill processes."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue


def end_all(mark: str, folder: Path, since: int | None = None) -> None:
    """Kill every process of an emulated machine, and what it started meanwhile; see `members`."""
    for _ in range(200):
        left = members(mark, folder, since)
        if not left:
            return
        end(left)
        time.sleep(0.005)
    raise RuntimeError(f"processes of the emulated machine {mark} cannot be killed")


def _with_descendants(roots: set[int], table: Mapping[int, Process]) -> set[int]:
    found = set(roots)
    while True:
        more = {pid for pid, one in table.items() if one.parent in found} - found
        if not more:
            return found
        found |= more


def _table() -> dict[int, Process]:
    """Every process that can be looked at; zombies left out."""
    if Path("/proc/self/environ").exists():
        return {
            pid: seen
            for pid in (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
            if (seen := _look(pid)) is not None
        }
    listed = subprocess.run(["ps", "-AwwE", "-o", "pid=,ppid=,stat=,command="], capture_output=True, check=True)
    table = {}
    for line in listed.stdout.splitlines():
        pid, parent, state, *rest = line.split(None, 3)
        if not state.startswith(b"Z"):
            table[int(pid)] = Process(int(parent), b"".join(rest))
    return table


def _look(pid: int) -> Process | None:
    folder = Path("/proc", str(pid))
    try:
        state, *numbers = (folder / "stat").read_bytes().rpartition(b")")[2].split()
        if state in (b"Z", b"X"):
            return None
        environment, place = (folder / "environ").read_bytes(), str((folder / "cwd").readlink())
        return Process(int(numbers[0]), environment, place, int(numbers[18]), int(numbers[3]))
    except OSError:
        return None


def _below(place: str, folder: Path) -> bool:
    return place == str(folder) or place.startswith(f"{folder}/")
