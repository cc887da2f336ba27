"""Sandboxes against other ways of running cells: how soon they are there, what a cell and its output cost."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType

from bench import driven, rival
from bench.aims import aims_table
from bench.driven import Driven
from bench.sandbox_results import judge, table

NOTES = """\
All ways take turns in one run, each driven by a process of its own. first result: from no session to the output of
`print(1)`; first of pandas: to the output of a group-by, with numpy, pandas and matplotlib.pyplot imported; in
brackets the best. p50, p99: a cell that binds a name and prints it, from the host and back. output: {megabytes} MB
printed in pieces of 10 MB; host grows: what that adds to the host's memory at its highest; the clients of ipykernel
keep the first 64 kB and drop the rest as it comes. prints: {prints:,} calls of print. MB each: what each of {sessions}
sessions after a group-by adds to the memory of the host and all its processes (PSS). recovery: from a cell that kills
its own process to the answer of the next one, without waiting to notice it; how, and whether variables were there.
`python -c` begins anew with each cell. smolagents interprets the code in the host's own process: nothing is kept apart,
its packages are imported there once, and what kills a cell kills the host."""


@dataclass(frozen=True)
class Part:
    """One thing that is measured, and how often."""

    what: str
    rounds: int
    arguments: tuple[tuple[str, Any], ...] = ()


FULL = (
    Part("first", 12),
    Part("pandas", 10),
    Part("cells", 5, (("count", 300),)),
    Part("recover", 8),
    Part("output", 3, (("megabytes", 100),)),
    Part("memory", 2, (("count", 8),)),
    Part("prints", 2, (("count", 1_000_000), ("limit", 60.0))),
)
QUICK = (
    Part("first", 3),
    Part("pandas", 3),
    Part("cells", 1, (("count", 200),)),
    Part("recover", 3),
    Part("output", 1, (("megabytes", 20),)),
    Part("memory", 1, (("count", 3),)),
    Part("prints", 1, (("count", 50_000), ("limit", 60.0))),
)


async def measure(*, quick: bool) -> AsyncIterator[RenderableType]:
    """Measure all ways, taking turns, and print what came of it.

    Args:
        quick: Fewer rounds of less.
    """
    ways = driven.ours()
    try:
        rivals, missing = await driven.others(await rival.prepare())
        ways += rivals
        if missing:
            yield missing
    except rival.NoRivalsError as error:
        yield f"The rivals cannot be measured: their environment cannot be made ({error})."
    parts = QUICK if quick else FULL
    drivers = await driven.start_all(ways)
    try:
        versions = [f"{one.way.name}: {(await one.ask('versions')).get('versions', 'fails')}" for one in drivers]
        for part in parts:
            await _rounds(part, drivers)
    finally:
        await asyncio.gather(*(one.end() for one in drivers))
    answers = {one.way.name: one.answers for one in drivers}
    load = " / ".join(f"{one:.1f}" for one in os.getloadavg())
    yield table(answers, f"Sandboxes; load of the machine at the end {load}")
    for failure in _failures(drivers):
        yield failure
    yield aims_table(judge(answers), "Sandboxes: aims")
    yield "\n".join(versions)
    known = {name: value for part in parts for name, value in part.arguments}
    sessions = next(dict(part.arguments)["count"] for part in parts if part.what == "memory")
    prints = next(dict(part.arguments)["count"] for part in parts if part.what == "prints")
    yield NOTES.format(megabytes=known["megabytes"], prints=prints, sessions=sessions)


async def _rounds(part: Part, drivers: Sequence[Driven]) -> None:
    asked = [one for one in drivers if one.way.has(part.what)]
    for turn in range(part.rounds):
        asked = [one for one in asked if not any(answer.get("late") for answer in one.answers.get(part.what, ()))]
        for one in [*asked[turn % len(asked) :], *asked[: turn % len(asked)]]:
            began = time.perf_counter()
            await one.ask(part.what, **dict(part.arguments))
            if turn == 0:
                print(f"bench: {part.what}, {one.way.name}: {time.perf_counter() - began:.1f} s", file=sys.stderr)


def _failures(drivers: Sequence[Driven]) -> list[str]:
    found = []
    for one in drivers:
        for what, answers in one.answers.items():
            why = {answer["failed"] for answer in answers if "failed" in answer}
            found += [f"{one.way.name}, {what}: {reason}" for reason in sorted(why)]
    return found
