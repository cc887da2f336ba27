"""Runs random programs along random paths of steps: back and on, by memory and by the store, after kills and astray.

A session of the same cells that is never put down says after each cell what is to be said there, whatever the path.
"""

import asyncio
import random
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Sandbox
from sandboxes.opening import Sandboxes
from sandboxes.results import CellResult
from storage.blobs import Blobs
from tests.random_programs.running import CELLS, Comparison, Report, answers
from tests.random_programs.writing import Session, write_session

MOVES = 16
COPIES = 3
FROZEN = 0.1
"""Seconds after which a session has been copied, as a rule."""
DIE = "\nimport os, signal; os.kill(os.getpid(), signal.SIGKILL)"


@dataclass
class _Step:
    """A place to come back to."""

    cell: int
    snapshot: str
    tainted: frozenset[str]
    """The things that were not as they should be when it was kept, all of them named."""
    path: str


@dataclass
class _Walk:
    """A session on its way."""

    session: Session
    sandboxes: Sandboxes
    store: Path
    comparison: Comparison
    dice: random.Random
    steps: list[_Step] = field(default_factory=list)
    """Those that were kept, in any order: each can be gone back to."""
    tainted: set[str] = field(default_factory=set)
    at: _Step = field(default_factory=lambda: _Step(-1, "", frozenset(), ""))
    opened: int = 0

    async def open(self) -> None:
        """Go on in a new sandbox, as another process does."""
        if self.opened:
            await self.sandbox.close()
        self.opened += 1
        self.sandbox: Sandbox = await self.sandboxes.open("local", f"path-{self.opened}")
        self.snapshots = SnapshotStore(Blobs.at(str(self.store)))

    async def run(self, code: str, head: str = "") -> CellResult:
        """Run code that is no cell, or a cell."""
        return await self.sandbox.run(code, number=self.at.cell + 2, timeout=100.0, head=head)

    async def on(self) -> None:
        """Run the next cell and keep its step."""
        cell = self.at.cell + 1
        self.comparison.taint(cell, self.tainted)
        result = await self.run(self.session.code(cell), f"{cell + 1:064d}")
        assert result.status == "ok", result
        kept = await self.snapshots.keep(self.sandbox, [], limit_bytes=1 << 30)
        assert kept.snapshot, kept.why_not
        self.at = _Step(cell, kept.snapshot, frozenset(self.tainted), f"{self.at.path} {cell}")
        self.steps.append(self.at)
        await asyncio.sleep(FROZEN)
        await self.compare()

    async def back(self, step: _Step, how: str) -> None:
        """Be at a step again."""
        if how == "elsewhere":
            await self.open()
        elif how == "store":
            await self.sandbox.reset()
        restored = await self.snapshots.restore(self.sandbox, step.snapshot, damaged=set())
        self.tainted = set(step.tainted)
        self.comparison.note(restored.lost, self.tainted)
        self.at = _Step(step.cell, step.snapshot, frozenset(self.tainted), f"{step.path} <{how}>")
        await self.compare()

    async def astray(self, *, dies: bool, kept: bool) -> None:
        """Run another cell, which may kill the session, and come back."""
        step = self.at
        code = self.session.code(self.dice.randrange(CELLS))
        result = await self.run(code + DIE * dies, "f" * 64)
        assert (result.status == "killed") is dies, result
        if kept:
            await self.snapshots.keep(self.sandbox, [], limit_bytes=1 << 30)
            await asyncio.sleep(FROZEN)
        if dies and self.sandbox.head == step.snapshot:  # its copy goes on
            self.at.path += " <copy>"
            await self.compare()
        else:
            await self.back(step, f"back{' after death' * dies}")

    async def compare(self) -> None:
        """Ask it what a session that went straight on says after that cell."""
        result = await self.run(self.comparison.question, self.at.snapshot)
        assert result.status == "ok", result
        self.comparison.compare(self.at.path, self.at.cell, self.tainted, answers(result.stdout.text))

    async def move(self) -> None:
        """Make one random move."""
        how = self.dice.choice(("on", "on", "on", "memory", "memory", "store", "elsewhere", "astray", "death", "kept"))
        if (how == "on" and self.at.cell + 1 < CELLS) or not self.steps:
            await self.on()
        elif how in ("astray", "death", "kept"):
            await self.astray(dies=how == "death", kept=how == "kept")
        else:
            await self.back(self.dice.choice(self.steps[-6:]), how)


async def _straight(session: Session, sandbox: Sandbox, comparison: Comparison) -> None:
    """Have a session go straight on, of which no snapshot is taken."""
    for cell in range(CELLS):
        await sandbox.run(session.code(cell), number=cell + 1, timeout=100.0)
        result = await sandbox.run(comparison.question, number=cell + 1, timeout=100.0)
        comparison.said.append(answers(result.stdout.text))


async def try_path(seed: str, cache: Path, programs: int, moves: int = MOVES, *, only: int | None = None) -> Report:
    """Run some programs in one session, along a random path, and compare.

    Args:
        seed: What the programs and the path follow from.
        cache: A folder that sessions share.
        programs: How many.
        moves: How many moves the path has.
        only: Leave out all programs but that of this number.
    """
    session, report = write_session(seed, programs, CELLS), Report(programs=programs, restores=moves)
    if only is not None:
        session, report.programs = session.only(only), 1
    comparison = Comparison(seed, session, report)
    with tempfile.TemporaryDirectory(prefix="stepwell-paths-") as folder:
        place = Path(folder)
        async with Sandboxes(place / "sandboxes", cache=cache, copies=COPIES) as opened:
            straight = await opened.open("local", "straight")
            await _straight(session, straight, comparison)
            await straight.close()
            walk = _Walk(session, opened, place / "blobs", comparison, random.Random(f"path {seed}"))
            await walk.open()
            for _ in range(moves):
                await walk.move()
    return report
