"""The processes of an emulated machine: found by a mark in their environment, their folder or their parents, and ended.

It imports nothing of ours: the emulated engine's command loads it by its path.
"""

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path


def members(mark: str, folder: Path) -> set[int]:
    """The living processes that carry a mark (`NAME=value`) or work in a folder, and their descendants."""
    table = _table()
    marked = mark.encode()
    found = {pid for pid, (_, environment, place) in table.items() if marked in environment or _below(place, folder)}
    return _with_descendants(found, table) - {os.getpid()}


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


def end_all(mark: str, folder: Path) -> None:
    """Kill every process of an emulated machine, and what it started meanwhile."""
    for _ in range(200):
        left = members(mark, folder)
        if not left:
            return
        end(left)
        time.sleep(0.005)
    raise RuntimeError(f"processes of the emulated machine {mark} cannot be killed")


def _with_descendants(roots: set[int], table: Mapping[int, tuple[int, bytes, str]]) -> set[int]:
    found = set(roots)
    while True:
        more = {pid for pid, (parent, _, _) in table.items() if parent in found} - found
        if not more:
            return found
        found |= more


def _table() -> dict[int, tuple[int, bytes, str]]:
    """Every process that can be looked at: its parent, its environment, its working directory; zombies left out."""
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
            table[int(pid)] = (int(parent), b"".join(rest), "")
    return table


def _look(pid: int) -> tuple[int, bytes, str] | None:
    folder = Path("/proc", str(pid))
    try:
        state, parent = (folder / "stat").read_bytes().rpartition(b")")[2].split()[:2]
        if state in (b"Z", b"X"):
            return None
        return int(parent), (folder / "environ").read_bytes(), str((folder / "cwd").readlink())
    except OSError:
        return None


def _below(place: str, folder: Path) -> bool:
    return place == str(folder) or place.startswith(f"{folder}/")
