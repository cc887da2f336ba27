"""Runs a program of ours in a process of its own, and takes what it prints, up to a limit."""

import asyncio

from sandboxes.host.limits import Limits
from sandboxes.host.processes import Order, Start, in_words
from sandboxes.results import ProgramResult, Status

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


async def run_program(start: Start, order: Order, *, limits: Limits, timeout: float) -> ProgramResult:
    """Run it to its end or to the time limit; see `Sandbox.run_program`.

    Raises:
        SandboxUnavailableError: it cannot be started.
    """
    printed, complained = _Kept(), _Kept()
    connection = await start(order)
    stdout, stderr, process = connection.stdout, connection.stderr, connection.process
    try:
        process.busy(True)
        stdout.listen(printed.add)
        stderr.listen(complained.add)
        await asyncio.wait((process.exited,), timeout=timeout)
        in_time = process.exited.done()
        process.kill()  # a child of it may still hold the pipes
        await asyncio.wait((process.gone,))
        ending = process.exited.result()
        stdout.drain()
        stderr.drain()
        status: Status = "timeout" if not in_time else "ok" if ending.code == 0 else "killed"
        if in_time and ending.code > 0 and not ending.limit:
            status = "error"
        if status == "timeout":
            complained.add(f"\nended at its time limit of {timeout:g} s".encode())
        elif process.why:
            complained.add(process.why.encode())
        elif status == "killed":
            complained.add(f"\n{in_words(ending, limits)}".encode())
        return ProgramResult(status=status, stdout=printed.text(), stderr=complained.text())
    finally:
        process.kill()
        stdout.close()
        stderr.close()
        connection.control.close()
