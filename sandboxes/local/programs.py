"""Runs a program of ours in a process of its own, and takes what it prints, up to a limit."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from sandboxes.base import ProgramResult, Status
from sandboxes.local.pipes import Pipe
from sandboxes.local.processes import ChildProcess, ending, start_process

MAX_OUTPUT = 4 << 20
"""Bytes of each stream that are kept."""


class _Kept:
    """The first bytes of a stream."""

    def __init__(self) -> None:
        self._data = bytearray()

    def add(self, data: bytes) -> None:
        self._data += data[: MAX_OUTPUT - len(self._data)]

    def text(self) -> str:
        return self._data.decode("utf-8", "replace")


async def run_program(
    command: list[str], *, folder: Path, environment: Mapping[str, str], timeout: float
) -> ProgramResult:
    """Run it to its end or to the time limit; see `Sandbox.run_program`.

    Raises:
        SandboxUnavailableError: it cannot be started.
    """
    stdout, stderr, printed, complained = Pipe(), Pipe(), _Kept(), _Kept()
    process: ChildProcess | None = None
    try:
        output = (stdout.theirs, stderr.theirs)
        process = await start_process(command, folder=folder, environment=environment, output=output)
        stdout.close_theirs()
        stderr.close_theirs()
        stdout.listen(printed.add)
        stderr.listen(complained.add)
        await asyncio.wait((process.exited,), timeout=timeout)
        in_time = process.exited.done()
        process.kill()  # a child of it may still hold the pipes
        code = await process.exited
        stdout.drain()
        stderr.drain()
        status: Status = "timeout" if not in_time else "ok" if code == 0 else "error" if code > 0 else "killed"
        if status == "timeout":
            complained.add(f"\nended at its time limit of {timeout:g} s".encode())
        elif status == "killed":
            complained.add(f"\n{ending(code)}".encode())
        return ProgramResult(status=status, stdout=printed.text(), stderr=complained.text())
    finally:
        if process is not None:
            process.kill()
        stdout.close()
        stderr.close()
