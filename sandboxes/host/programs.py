"""Programs of ours that run in a sandbox beside the session: run to their end, and asked what Python has to offer."""

import asyncio
from typing import TypedDict

from sandboxes.base import Sandbox, SandboxUnavailableError
from sandboxes.host.limits import Limits, in_words
from sandboxes.host.processes import Order, Start
from sandboxes.host.reading import read_json
from sandboxes.inside import PROGRAMS
from sandboxes.inside.bridge.supervision import FirstBytes
from sandboxes.results import ProgramResult, Status


async def run_program(start: Start, order: Order, *, limits: Limits, timeout: float) -> ProgramResult:
    """Run it to its end or to the time limit; see `Sandbox.run_program`.

    Raises:
        SandboxUnavailableError: it cannot be started.
    """
    printed, complained = FirstBytes(), FirstBytes()
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


DESCRIBE_ENVIRONMENT = PROGRAMS / "kernel"
"""The program, for `Sandbox.run_program`."""
MAX_ENTRIES = 50


class EnvironmentDescription(TypedDict):
    """The sandbox's Python and its packages."""

    python: str
    packages: dict[str, str]
    """The analysis packages that are installed, with their versions."""
    fonts: list[str]
    """Font families with Chinese, Japanese or Korean glyphs."""


async def describe_environment(sandbox: Sandbox, *, timeout: float = 60.0) -> EnvironmentDescription:
    """Run the program and check what it says.

    Raises:
        SandboxUnavailableError: it gives no description.
    """
    result = await sandbox.run_program(DESCRIBE_ENVIRONMENT, [], timeout=timeout)
    try:
        description = await read_json(result.stdout.encode())
    except ValueError:
        description = None
    if result.status != "ok" or not isinstance(description, dict):
        last = (result.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise SandboxUnavailableError(f"The sandbox's Python cannot be described ({result.status}: {last[:300]}).")
    packages, fonts = description.get("packages"), description.get("fonts")
    return {
        "python": str(description.get("python", ""))[:40],
        "packages": {str(name)[:60]: str(version)[:40] for name, version in list(packages.items())[:MAX_ENTRIES]}
        if isinstance(packages, dict)
        else {},
        "fonts": [str(name)[:100] for name in fonts[:MAX_ENTRIES]] if isinstance(fonts, list) else [],
    }
