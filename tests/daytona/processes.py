"""The processes of an emulated sandbox: finding them, ending them, and running commands."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from tests.daytona.answers import RefusedError

MARK = "DAYTONA_SANDBOX_ID"


def execute(command: str, folder: Path, environment: Mapping[str, str], timeout: float | None) -> tuple[int, str]:
    """Run a command as the toolbox does: given to a shell on its standard input, both streams in one. Blocks.

    Returns:
        Its exit code, and all that it printed.

    Raises:
        RefusedError: the time limit passed; the process group was killed, and what it printed is lost.
    """
    shell = shutil.which("bash") or "/bin/sh"
    try:
        process = subprocess.Popen(
            [shell],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        return -1, f"fork/exec {shell}: {os.strerror(error.errno or 0).lower()}"
    with process:
        try:
            printed, _ = process.communicate(command.encode(), timeout)
        except subprocess.TimeoutExpired:
            _kill_group(process.pid)
            # Leaving waits only for the shell: what has left its group may hold the pipe for long.
            raise RefusedError(408, "command execution timeout", code="PROCESS_EXECUTION_TIMEOUT") from None
    return process.returncode, printed.decode(errors="replace")


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def members(sandbox: str, folder: Path) -> set[int]:
    """The living processes of a sandbox: those that carry its mark or work in its folder, and their descendants."""
    mark = f"{MARK}={sandbox}".encode()
    table = _table()
    found = {pid for pid, (_, environment, place) in table.items() if mark in environment or _below(place, folder)}
    return _with_descendants(found, table) - {os.getpid()}


def descendants(pid: int) -> set[int]:
    """A process and all that descend from it."""
    return _with_descendants({pid}, _table())


def end(pids: set[int]) -> None:
    """Kill processes."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue


def end_all(sandbox: str, folder: Path) -> None:
    """Kill every process of a sandbox, and what it started meanwhile."""
    for _ in range(200):
        left = members(sandbox, folder)
        if not left:
            return
        end(left)
        time.sleep(0.005)
    raise RuntimeError(f"processes of the emulated sandbox {sandbox} cannot be killed")


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
