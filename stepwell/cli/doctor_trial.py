"""What `stepwell doctor` does with a sandbox: one is made, used, put away, brought back and deleted."""

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
from sandboxes.results import CellResult, SnapshotTaken
from stepwell.cli.exits import FAILED, FINISHED, print_error
from stepwell.cli.thread_list import json_out

CELL_SECONDS = 60.0
MAX_BYTES = 64 << 20
CODE = "answer = 41 + 1\nprint(answer)"
SCIPY = (
    "import sys, pandas as pd, scipy.stats\n"
    "frame = pd.DataFrame({'a': [1, 2, 3], 'b': ['x', 'y', 'z']})\n"
    "print(scipy.stats.norm.cdf(0))"
)
FIGURE = "import matplotlib.pyplot as plt\nplt.plot(frame['a'])\nplt.title('tried')"
BACK = "print(answer, frame['b'].sum(), scipy.stats.norm.cdf(0))"


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
        folder: For the blobs of its snapshot, and for a figure.
        packages: Whether the packages that analyses use are tried, too.
    """

    def __init__(self, sandboxes: Sandboxes, kind: str, folder: Path, *, packages: bool = False) -> None:
        self._sandboxes = sandboxes
        self._kind = kind
        self._folder = folder
        self._packages = packages
        self._thread = f"doctor-{secrets.token_hex(4)}"
        self._sandbox: Sandbox | None = None
        self._taken = SnapshotTaken("")
        self._cells = 0

    async def steps(self) -> AsyncGenerator[Tried, None]:
        """Try one thing after the other; what follows one that does not work is left out, but for the deletion."""
        packages: dict[str, Callable[[], Awaitable[None]]] = {"scipy": self._scipy, "figure": self._figure}
        tries: dict[str, Callable[[], Awaitable[None]]] = {
            "create": self._create,
            "cell": self._cell,
            **(packages if self._packages else {}),
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
        await self._run(CODE, "42\n")

    async def _scipy(self) -> None:
        await self._run(SCIPY, "0.5\n", "The packages that analyses use cannot be imported")

    async def _figure(self) -> None:
        result = await self._run(FIGURE, "", "No figure can be drawn")
        paths = [display.path for display in result.displays if display.path]
        if not paths:
            raise _WrongError("A figure was drawn, and no picture came of it.")
        assert self._sandbox is not None
        picture = self._folder / "figure.png"
        await self._sandbox.fetch(paths[0], picture, max_bytes=MAX_BYTES)
        if not (await asyncio.to_thread(picture.read_bytes)).startswith(b"\x89PNG"):
            raise _WrongError("A figure was drawn, and what came of it is no PNG file.")

    async def _run(self, code: str, printed: str, failed: str = "") -> CellResult:
        assert self._sandbox is not None
        self._cells += 1
        result = await self._sandbox.run(code, number=self._cells, timeout=CELL_SECONDS)
        if result.status != "ok" or result.stdout.text != printed:
            said = result.note or repr(result.stdout.text)
            if result.error is not None:
                said = f"{result.error.name}: {result.error.message}"
            raise _WrongError(f"{failed or 'The cell failed'} ({result.status}: {' '.join(said.split())[:300]}).")
        return result

    async def _snapshot(self) -> None:
        assert self._sandbox is not None
        self._taken = await self._sandbox.snapshot(limit_bytes=MAX_BYTES)
        if not self._taken.id:
            raise _WrongError(self._taken.refused)
        if self._taken.lost:
            raise _WrongError(f"The snapshot lacks {self._taken.lost[0].name}: {self._taken.lost[0].reason}.")
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
        await self._run(*((BACK, "42 xyz 0.5\n") if self._packages else ("print(answer)", "42\n")))

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


async def attempt(settings: Settings, kind: str, tell: Callable[[Tried], None], *, packages: bool = False) -> str:
    """Try a kind of sandbox, saying how each thing went as it does; the first problem, or nothing."""
    problem = ""
    try:
        # What the trial made goes while the sandboxes are open, even when nobody hears of it any more.
        async with (
            scratch_folder("doctor") as folder,
            make_sandboxes(settings) as sandboxes,
            aclosing(Trial(sandboxes, kind, folder, packages=packages).steps()) as steps,
        ):
            async for tried in steps:
                problem = problem or tried.problem
                tell(tried)
    except SandboxError as error:
        problem = problem or str(error)
    return problem


def doctor(kind: str, *, as_json: bool) -> int:
    """Try a kind that runs elsewhere; the exit code is 1 when something did not work."""

    def tell(tried: Tried) -> None:
        if as_json:
            json_out(asdict(tried))
        else:
            said = "failed" if tried.problem else "works"
            sys.stdout.write(f"{tried.step}\t{said}\t{tried.seconds:.2f} s\n")
            sys.stdout.flush()

    problem = asyncio.run(attempt(read_settings(), kind, tell))
    if problem:
        print_error(f"error: {problem}")
        return FAILED
    return FINISHED
