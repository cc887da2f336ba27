"""Analyses are begun and disturbed until enough faults were done."""

import asyncio
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.analysis import Analysis
from tests.chaos.cells import Kind
from tests.chaos.life import Parent, can_mount

TURNS: Sequence[tuple[Kind, bool, bool]] = (
    ("inside", True, False),
    ("functions", False, False),
    ("inside", True, True),
    ("inside", False, False),
    ("outside", False, False),
)
"""What each analysis is: its kind, whether the runs of its cells are counted, and whether it has a small disk."""


@dataclass
class Report:
    """What came of it."""

    faults: Counter[str] = field(default_factory=Counter)
    places: Counter[str] = field(default_factory=Counter)
    """Faults in a process, by the event that came last before."""
    analyses: int = 0
    lives: int = 0
    unknown: int = 0
    """Cells whose outcome was said to be unknown."""
    problems: list[str] = field(default_factory=list)

    def add(self, name: str, analysis: Analysis) -> None:
        """Count one more analysis."""
        self.faults += analysis.faults
        self.places += analysis.places
        self.analyses += not analysis.history.problems
        self.lives += analysis.lives
        self.unknown += analysis.history.unknown
        self.problems += [f"analysis {name}: {problem}" for problem in analysis.history.problems]


async def chaos(
    faults: int,
    *,
    parallel: int = 2,
    seed: int = 0,
    home: Path | None = None,
    go_on: bool = False,
    kills: bool = False,
) -> Report:
    """Do so many faults, at least.

    Args:
        faults: How many.
        parallel: Analyses at a time.
        seed: Of what happens when.
        home: A folder for their data; default: a temporary one, removed when nothing went wrong.
        go_on: Whether it goes on after a problem.
        kills: Whether nothing but kills happens.
    """
    folder = home or Path(tempfile.mkdtemp(prefix="stepwell-chaos-"))
    report = Report()
    with Parent() as parent, ExitStack() as stack:
        mounting = stack.enter_context(Parent(mounting=True)) if can_mount() else parent
        disks = mounting is not parent
        reference = Analysis(parent, folder / "reference", "inside", None, counted=False)
        await reference.run({})
        report.problems += reference.history.problems
        turns = [turn for turn in TURNS if (disks and not kills) or not turn[2]]
        begun = 0

        async def work() -> None:
            nonlocal begun
            while report.faults.total() < faults and (go_on or not report.problems):
                number, begun = begun, begun + 1
                kind, counted, disk = turns[number % len(turns)]
                chance = random.Random(f"{seed}/{number}")
                above = mounting if disk else parent
                analysis = Analysis(above, folder / str(number), kind, chance, counted=counted, disk=disk, kills=kills)
                await analysis.run(reference.files)
                report.add(f"{number} ({kind}{', on a small disk' if disk else ''})", analysis)
                if home is None and not analysis.history.problems:
                    await asyncio.to_thread(shutil.rmtree, folder / str(number), ignore_errors=True)

        await asyncio.gather(*(work() for _ in range(parallel)))
    if home is None and not report.problems:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    elif report.problems:
        report.problems.append(f"the data is in {folder}")
    return report
