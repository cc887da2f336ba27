"""Runs random programs, restores them at random steps, lets them run on, and compares what they say."""

import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sandboxes.results import LostVariable
from tests.contract.conftest import Steps, steps_here
from tests.random_programs.writing import OWNER, Session, Thing, write_session

CELLS = 6
ASK = """
def _ask(things):
    import gc, re, json
    from hashlib import md5
    gc.collect()
    def answer(text):
        try: found = repr(eval(text, globals()))
        except Exception as error: found = f"{type(error).__name__}: {error}"
        found = re.sub("0x[0-9a-f]{6,}", "0x", found)
        rest = md5(found[3_000:].encode("utf-8", "backslashreplace")).hexdigest() if len(found) > 3_000 else ""
        return found[:3_000] + rest
    return json.dumps({prefix: [answer(text) for text in asked] for prefix, asked in things.items()})
print("<<" + _ask(THINGS) + ">>")
"""
"""Garbage is collected before the questions: what is only in cycles that nobody holds is no part of a snapshot."""
Answers = dict[str, list[str]]


@dataclass
class Difference:
    """What a restored session says differently, without a word having been said of it."""

    seed: str
    where: str
    """How the session came to where it was asked."""
    thing: Thing
    asked: str
    before: str
    after: str
    history: list[str]
    """The statements that name it, with the cell of each."""

    def __str__(self) -> str:
        return (
            f"seed {self.seed}: {self.where}: {self.thing.feature.name} ({self.thing.prefix})\n"
            f"  {self.asked}\n  - {self.before[:700]}\n  + {self.after[:700]}\n"
            + "\n".join(f"    {line}" for line in self.history)
        )


@dataclass
class Report:
    """What came of some sessions."""

    programs: int = 0
    restores: int = 0
    answers: int = 0
    """Those that were compared."""
    named: Counter[str] = field(default_factory=Counter)
    """Of what it was said that it does not come back: what and why → how often."""
    differences: list[Difference] = field(default_factory=list)

    def add(self, other: "Report") -> None:
        """Count what another one has, too."""
        self.programs += other.programs
        self.restores += other.restores
        self.answers += other.answers
        self.named += other.named
        self.differences += other.differences


class Comparison:
    """Compares what sessions of the same cells say.

    Args:
        seed: What the cells follow from.
        session: The cells.
        report: Where differences are noted.
    """

    def __init__(self, seed: str, session: Session, report: Report) -> None:
        self._seed = seed
        self._session = session
        self._report = report
        self._things = {thing.prefix: thing for thing in session.things}
        self._asked = {thing.prefix: thing.asked() for thing in session.things}
        self.question = ASK.replace("THINGS", repr(self._asked))
        """The code that asks."""
        self.said: list[Answers] = []
        """What the one that went on says after each cell."""

    def note(self, lost: Sequence[LostVariable], tainted: set[str]) -> None:
        """Leave out what is named from now on."""
        for one in lost:
            tainted |= set(OWNER.findall(one.name))
            self._report.named[f"{one.type}: {re.sub(OWNER, 'V_', one.reason)[:90]}"] += 1

    def taint(self, cell: int, tainted: set[str]) -> None:
        """Leave out, too, what a cell makes of that, also by a name that an earlier cell gave it."""
        for statement in self._session.cells[cell]:
            if (named := set(OWNER.findall(statement))) & tainted:
                tainted |= named | self._session.linked(named & tainted, cell)

    def compare(self, where: str, cell: int, tainted: set[str], now: Answers) -> None:
        """Note what is said differently after a cell, once."""
        for prefix, thing in self._things.items():
            if prefix in tainted:
                continue
            for asked, before, after in zip(self._asked[prefix], self.said[cell][prefix], now[prefix], strict=True):
                self._report.answers += 1
                if before != after:
                    history = self._session.history(prefix, cell)
                    self._report.differences.append(Difference(self._seed, where, thing, asked, before, after, history))
                    tainted.add(prefix)


def answers(printed: str) -> Answers:
    """What was said, out of what was printed."""
    found: Answers = json.loads(printed[printed.rindex("<<") + 2 : printed.rindex(">>")])
    return found


class _Lives:
    """The lives of one session: the one that went on, and those that were restored."""

    def __init__(self, session: Session, steps: Steps, comparison: Comparison) -> None:
        self._session = session
        self._steps = steps
        self._comparison = comparison

    async def live(self) -> list[tuple[str, tuple[LostVariable, ...]]]:
        """Run all cells; the snapshot after each, and what it is said to lack."""
        kept = []
        for cell in range(len(self._session.cells)):
            await self._steps.run(self._session.code(cell))
            taken = await self._steps.keep()
            kept.append((taken.id, taken.lost))
            self._comparison.said.append(await self._ask())
        return kept

    async def restored(self, step: int, id: str, lost: tuple[LostVariable, ...], again: int) -> None:
        """Restore the session after a cell, let it run on, and compare; after another cell it is restored once more."""
        tainted: set[str] = set()
        lost = (*lost, *(await self._steps.take_up_at(id)).lost)
        for cell in range(step, len(self._session.cells)):
            self._comparison.note(lost, tainted)  # before the cell, which may make something of it
            if cell > step:
                self._steps.number = cell
                self._comparison.taint(cell, tainted)
                await self._steps.run(self._session.code(cell))
            where = f"restored after cell {step}, asked after {cell}"
            self._comparison.compare(where, cell, tainted, await self._ask())
            if cell > step:
                taken = await self._steps.keep()
                lost = taken.lost
                if cell == again:
                    before = self._steps.sandbox
                    lost = (*lost, *(await self._steps.take_up_at(taken.id)).lost)
                    await before.close()
        await self._steps.sandbox.close()

    async def _ask(self) -> Answers:
        number = self._steps.number
        printed = await self._steps.run(self._comparison.question)
        self._steps.number = number
        return answers(printed)


async def try_session(seed: str, cache: Path, programs: int, restores: int = 2, *, only: int | None = None) -> Report:
    """Run some programs in one session, restore it after random cells, and compare.

    Args:
        seed: What the programs and the restores follow from.
        cache: A folder that sessions share.
        programs: How many.
        restores: How many restores of that run.
        only: Leave out all programs but that of this number.
    """
    session, report = write_session(seed, programs, CELLS), Report(programs=programs, restores=restores)
    if only is not None:
        session, report.programs = session.only(only), 1
    dice = random.Random(f"restores {seed}")
    with tempfile.TemporaryDirectory(prefix="stepwell-programs-") as folder:
        async with steps_here(Path(folder), cache) as steps:
            lives = _Lives(session, steps, Comparison(seed, session, report))
            kept = await lives.live()
            first = steps.sandbox
            for step in sorted(dice.sample(range(CELLS), restores)):
                steps.sandbox = first
                await lives.restored(step, *kept[step], again=dice.randrange(step, CELLS))
    return report
