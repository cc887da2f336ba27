"""`stepwell doctor --daytona`, `--docker`: a sandbox is made there, used, stopped, started again and deleted."""

import asyncio
import secrets
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import asdict, dataclass
from pathlib import Path

from graph.settings import Settings, read_settings
from graph.wiring import make_sandboxes
from sandboxes.base import Sandbox, SandboxError
from sandboxes.host.scratch import scratch_folder
from sandboxes.opening import Sandboxes
from sandboxes.results import SnapshotTaken
from stepwell.cli.exits import FAILED, FINISHED, print_error
from stepwell.cli.thread_list import json_out

CELL_SECONDS = 60.0
MAX_BYTES = 64 << 20
CODE = "answer = 41 + 1\nprint(answer)"


@dataclass(frozen=True, slots=True)
class Tried:
    """One thing that was tried."""

    step: str
    seconds: float
    problem: str = ""
    """Why it did not work, in a sentence; empty when it did."""


class Trial:
    """Goes through the life of one sandbox.

    Args:
        sandboxes: Where it is made.
        kind: Its kind.
        folder: For the blobs of its snapshot.
    """

    def __init__(self, sandboxes: Sandboxes, kind: str, folder: Path) -> None:
        self._sandboxes = sandboxes
        self._kind = kind
        self._folder = folder
        self._thread = f"doctor-{secrets.token_hex(4)}"
        self._sandbox: Sandbox | None = None
        self._taken = SnapshotTaken("")

    async def steps(self) -> AsyncGenerator[Tried, None]:
        """Try one thing after the other; what follows one that does not work is left out, but for the deletion."""
        tries: dict[str, Callable[[], Awaitable[None]]] = {
            "create": self._create,
            "cell": self._cell,
            "snapshot": self._snapshot,
            "stop": self._stop,
            "start": self._start,
        }
        try:
            for step, work in tries.items():
                tried = await _timed(step, work)
                yield tried
                if tried.problem:
                    break
        finally:
            deleted = asyncio.ensure_future(_timed("delete", self._delete))
            await asyncio.shield(deleted)
        if self._sandbox is not None:
            yield deleted.result()

    async def _create(self) -> None:
        self._sandbox = await self._sandboxes.open(self._kind, self._thread)
        await self._sandbox.files(".")

    async def _cell(self) -> None:
        await self._run(CODE)

    async def _run(self, code: str) -> None:
        assert self._sandbox is not None
        result = await self._sandbox.run(code, number=1, timeout=CELL_SECONDS)
        if result.status != "ok" or result.stdout.text != "42\n":
            said = result.error.message if result.error is not None else result.note
            raise _WrongError(f"The cell ended with {result.status} ({said or result.stdout.text!r}).")

    async def _snapshot(self) -> None:
        assert self._sandbox is not None
        self._taken = await self._sandbox.snapshot(limit_bytes=MAX_BYTES)
        if not self._taken.id:
            raise _WrongError(self._taken.refused)
        await self._sandbox.take_blobs(self._taken.new, self._folder)

    async def _stop(self) -> None:
        await self._sandboxes.close(self._thread)

    async def _start(self) -> None:
        self._sandbox = await self._sandboxes.open(self._kind, self._thread)
        there = await self._sandbox.supplied_blobs()
        await self._sandbox.supply_blobs([self._folder / name for name in self._taken.new if name not in there])
        restored = await self._sandbox.restore(self._taken.id)
        if restored.lost:
            raise _WrongError(f"{restored.lost[0].name} was lost: {restored.lost[0].reason}.")
        await self._run("print(answer)")

    async def _delete(self) -> None:
        if self._sandbox is not None:
            await self._sandboxes.remove(self._thread)


class _WrongError(Exception):
    """It worked, and what came of it is wrong."""


async def _timed(step: str, work: Callable[[], Awaitable[None]]) -> Tried:
    began = time.monotonic()
    try:
        await work()
    except (SandboxError, _WrongError) as error:
        return Tried(step, time.monotonic() - began, str(error))
    return Tried(step, time.monotonic() - began)


def doctor(kind: str, *, as_json: bool) -> int:
    """Try it, saying how each thing went as it does; the exit code is 1 when one did not work."""
    return asyncio.run(_doctor(read_settings(), kind, as_json=as_json))


async def _doctor(settings: Settings, kind: str, *, as_json: bool) -> int:
    problem = ""
    try:
        # What the trial made goes while the sandboxes are open, even when nobody hears of it any more.
        async with (
            scratch_folder("doctor") as folder,
            make_sandboxes(settings) as sandboxes,
            aclosing(Trial(sandboxes, kind, folder).steps()) as steps,
        ):
            async for tried in steps:
                problem = problem or tried.problem
                if as_json:
                    json_out(asdict(tried))
                else:
                    said = "failed" if tried.problem else "works"
                    sys.stdout.write(f"{tried.step}\t{said}\t{tried.seconds:.2f} s\n")
                    sys.stdout.flush()
    except SandboxError as error:
        problem = problem or str(error)
    if problem:
        print_error(f"error: {problem}")
        return FAILED
    return FINISHED
