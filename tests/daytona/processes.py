"""The processes of an emulated sandbox: finding them, ending them, and running commands."""

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests import process_table
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


def end_all(sandbox: str, folder: Path) -> None:
    """Kill every process of a sandbox, and what it started meanwhile."""
    process_table.end_all(f"{MARK}={sandbox}", folder)


def members(sandbox: str, folder: Path) -> set[int]:
    """The living processes of a sandbox: those that carry its mark or work in its folder, and their descendants."""
    return process_table.members(f"{MARK}={sandbox}", folder)
