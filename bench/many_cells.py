"""What a step costs after many cells, beside one of the first: time, CPU, bytes, and how long the model waits."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table

from bench.ours import ProcessorTime
from bench.waiting import waits

AT = (50, 200, 400, 600, 800, 990)
"""The cells up to which `WINDOW` cells are looked at."""
QUICK = (50, 150)
WINDOW = 30
VARIABLES = 40
"""They are made again and again, so that what a step keeps stays the same."""
CELL = """\
# look at group {number}: which of its rows are late, and how much of the total they are
import math, statistics
rows_{place} = [(row, row * {number} % 17, row % 3 == 0) for row in range(20)]
late_{place} = [value for _, value, is_late in rows_{place} if is_late]
share_{place} = sum(late_{place}) / max(sum(value for _, value, _ in rows_{place}), 1)
print("group {number}:", len(late_{place}), "late,", round(share_{place}, 3), "of the total,",
      round(statistics.fmean(late_{place}), 2), "on average,", round(math.sqrt(share_{place}), 4))
"""
NOTES = """\
One thread, one turn; the model answers at once. Means of 30 cells up to the one that is named, the wait's median and
longest. elapsed: from one cell to the next; host: all threads of its process, with the graph, its checkpoints and the
prompt; sandbox: all of its processes; kept: what the store of snapshots gained; the model waits: from the end of a
cell until the client of the model is called."""


@dataclass(frozen=True, slots=True)
class Window:
    """Seconds and bytes per cell of some cells."""

    cell: int
    """The last one."""
    elapsed: float
    host: float
    sandbox: float
    kept: float
    wait: float
    longest: float


async def measure(*, quick: bool) -> AsyncIterator[RenderableType]:
    """Run one long turn, and print what came of it.

    Args:
        quick: Fewer cells.
    """
    table = Table(title="A step after many cells")
    for name in ("cell", "elapsed ms", "CPU, host ms", "CPU, sandbox ms", "kept kB", "model waits ms", "longest"):
        table.add_column(name, justify="right")
    with tempfile.TemporaryDirectory(prefix="stepwell-bench-") as folder:
        windows = [window async for window in _windows(QUICK if quick else AT, Path(folder))]
    for window in windows:
        times = (window.elapsed, window.host, window.sandbox)
        table.add_row(
            str(window.cell),
            *(f"{1e3 * one:.1f}" for one in times),
            f"{window.kept / 1e3:.1f}",
            *(f"{1e3 * one:.1f}" for one in (window.wait, window.longest)),
        )
    first, last = windows[0], windows[-1]
    ratios = [
        last.elapsed / first.elapsed, last.host / first.host, last.sandbox / first.sandbox, last.kept / first.kept,
        last.wait / first.wait, last.longest / first.longest,
    ]  # fmt: skip
    table.add_section()
    table.add_row("times the first", *(f"{one:.2f}" for one in ratios))
    yield table
    yield NOTES


async def _windows(ends: tuple[int, ...], folder: Path) -> AsyncIterator[Window]:
    cells = [CELL.format(number=number, place=number % VARIABLES) for number in range(1, ends[-1] + 1)]
    waited: list[float] = []
    began, processor, kept = 0.0, ProcessorTime(), 0
    async for wait in waits(cells, None, folder, max_cells=1_000):
        waited.append(wait)
        if len(waited) in ends:
            elapsed, (host, sandbox) = time.perf_counter() - began, processor.spent()
            now = await asyncio.to_thread(_size, folder / "blobs")
            newest = waited[-WINDOW:]
            costs = (elapsed / WINDOW, host / WINDOW, sandbox / WINDOW, (now - kept) / WINDOW)
            yield Window(len(waited), *costs, statistics.median(newest), max(newest))
        if len(waited) + WINDOW in ends:
            kept = await asyncio.to_thread(_size, folder / "blobs")
            began, processor = time.perf_counter(), ProcessorTime()


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
