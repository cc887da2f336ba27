"""What a step costs that keeps little: time and CPU in the kernel and in the host, and bytes that the store gains."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table

from bench.ours import LIMIT, ProcessorTime, run_cell
from bench.restoring import FRAME
from bench.waiting import until_asked
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Sandbox
from sandboxes.opening import Sandboxes
from storage.blobs import Blobs

REPEATS = 12
PAUSE = 0.1
"""Seconds between two steps for which the model thinks: a copy of the session is frozen after 15 ms."""
DICTS = """
people = [{{"id": i, "name": f"name {{i}}", "tags": [i % 7, i % 3], "score": i / 7}} for i in range({rows})]
"""
CHANGE = "df.iloc[{number} * 1000:{number} * 1000 + 1000, {number} % 8] = {number}.5"
"""1,000 numbers of one column: 8 kB."""
CPU = "import time as _t; print(_t.process_time()); del _t"
NOTES = """\
Medians of 12 steps. kernel: seconds that its answer took; CPU of the kernel: by its own clock, the cell's included and
that of looking at the clock left out; with pauses: the same of steps with 0.1 s between them, in which a copy of the
session is frozen, and what the next step writes to is copied; host: until the step is in the store, the kernel's part
included; CPU of the host: all threads of its process, for keeping; bytes: what the store gained. kept at once: all of
the first step, which has everything new."""


@dataclass(frozen=True, slots=True)
class StepCase:
    """A session, and cells that come again and again."""

    what: str
    first: str
    then: str


@dataclass(frozen=True, slots=True)
class StepCost:
    """Medians of one case."""

    kernel: float
    kernel_cpu: float
    paused_cpu: float
    """CPU of the kernel where a copy was frozen after each step."""
    host: float
    host_cpu: float
    size: float
    first: float
    """Seconds of the host for the first step."""


def cases(*, quick: bool) -> list[StepCase]:
    """What is measured.

    Args:
        quick: Small data.
    """
    part = 10 if quick else 1
    return [
        StepCase("small cells", "a = 1", "b{number} = {number}"),
        StepCase("nothing changes, 100 MB", FRAME.format(rows=100_000_000 // 64 // part), "print(df.shape)"),
        StepCase("nothing changes, 200,000 dicts", DICTS.format(rows=200_000 // part), "print(len(people))"),
        StepCase("8 kB change of 200 MB", FRAME.format(rows=200_000_000 // 64 // part), CHANGE),
    ]


async def measure(*, quick: bool) -> AsyncIterator[RenderableType]:
    """Measure all cases, and print what came of it.

    Args:
        quick: Small data.
    """
    made = Table(title="What a step costs")
    for name in ("", "kernel ms", "kernel CPU ms", "with pauses", "host ms", "host CPU ms", "kB", "kept at once ms"):
        made.add_column(name, justify="right" if name else "left")
    for case in cases(quick=quick):
        with tempfile.TemporaryDirectory(prefix="stepwell-bench-") as folder:
            cost = await cost_of(case, Path(folder))
        times = (cost.kernel, cost.kernel_cpu, cost.paused_cpu, cost.host, cost.host_cpu)
        made.add_row(
            case.what, *(f"{1e3 * one:,.1f}" for one in times), f"{cost.size / 1e3:,.1f}", f"{1e3 * cost.first:,.0f}"
        )
    yield made
    waits = Table(title="From the end of a cell until the model is asked")
    for name in ("", "median ms", "longest ms"):
        waits.add_column(name, justify="right" if name else "left")
    for case in cases(quick=quick):
        with tempfile.TemporaryDirectory(prefix="stepwell-bench-") as folder:
            cells = [case.first, *(case.then.format(number=number) for number in range(2, 2 + REPEATS))]
            spent = (await until_asked(cells, None, Path(folder)))[2:]
        waits.add_row(case.what, f"{1e3 * statistics.median(spent):,.1f}", f"{1e3 * max(spent):,.1f}")
    yield waits
    yield NOTES


async def cost_of(case: StepCase, folder: Path) -> StepCost:
    """Keep the steps of a case.

    Args:
        case: What runs.
        folder: A new folder.
    """
    snapshots = SnapshotStore(Blobs.at(str(folder / "blobs")))
    rows: list[tuple[float, ...]] = []
    async with Sandboxes(folder / "threads") as sandboxes:
        sandbox = await sandboxes.open("local", "steps")
        await run_cell(sandbox, case.first, 1)
        began = time.perf_counter()
        await snapshots.keep(sandbox, [], limit_bytes=LIMIT)
        first = time.perf_counter() - began
        for number in range(2, 2 + REPEATS):
            first_look, second_look = await _cpu(sandbox), await _cpu(sandbox)
            await run_cell(sandbox, case.then.format(number=number), number)
            began, cpu = time.perf_counter(), time.process_time()
            kept = await snapshots.keep(sandbox, [], limit_bytes=LIMIT)
            spent, cpu = time.perf_counter() - began, time.process_time() - cpu
            if not kept.snapshot:
                raise RuntimeError(kept.why_not)
            inside = await _cpu(sandbox) - second_look - (second_look - first_look)
            rows.append((kept.seconds, inside, spent, cpu, kept.bytes))
        paused = []
        for number in range(2 + REPEATS, 2 + 2 * REPEATS):
            processor = ProcessorTime()
            await run_cell(sandbox, case.then.format(number=number), number)
            await snapshots.keep(sandbox, [], limit_bytes=LIMIT)
            await asyncio.sleep(PAUSE)
            paused.append(processor.spent()[1])
    kernel, kernel_cpu, host, host_cpu, size = (statistics.median(one) for one in zip(*rows[2:], strict=True))
    return StepCost(kernel, kernel_cpu, statistics.median(paused), host, host_cpu, size, first)


async def _cpu(sandbox: Sandbox) -> float:
    """What the kernel's process has computed so far, this question included."""
    result = await sandbox.run(CPU, number=0, timeout=60.0)
    return float(result.stdout.text)
