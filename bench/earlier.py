"""Reading a large frame of an earlier step into a cell, against reading it from disk."""

import asyncio
import json
import statistics
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import RenderableType

from bench.aims import Aim, aims_table
from bench.ours import LIMIT, TIMEOUT, run_cell
from bench.restoring import FRAME, forget, read
from graph.state import Cell
from nodes.restoration.earlier_steps import EarlierSteps
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Sandbox
from sandboxes.opening import Sandboxes
from storage.blobs import Blobs
from tests.states import make_cell

TIMES = 2.0
"""How much longer it may take than reading from disk."""
ROUNDS = 5
LOAD = """
import time
began = time.perf_counter()
old = steps[1]["df"]
print(time.perf_counter() - began)
"""
READ = """
import json, os
old.to_pickle("outputs/df.pickle")
old.to_parquet("outputs/df.parquet")
def forget(path):
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
def timed(load, path, cold=True):
    if cold:
        forget(path)
    began = time.perf_counter()
    found = load(path)
    return time.perf_counter() - began
pickled, parquet = timed(pd.read_pickle, "outputs/df.pickle"), timed(pd.read_parquet, "outputs/df.parquet")
print(json.dumps([pickled, parquet, timed(pd.read_pickle, "outputs/df.pickle", False)]))
"""


@dataclass(frozen=True, slots=True)
class Reading:
    """Seconds, medians; everything was dropped from the page cache before it was read."""

    frame_bytes: int
    step: float
    """`steps[1]["df"]` in a cell, from the store."""
    blobs: float
    """Reading all blobs of the store, one after the other."""
    pickled: float
    """`pd.read_pickle` in a cell."""
    parquet: float
    """`pd.read_parquet` in a cell."""
    warm: float
    """As `step`, from the page cache."""
    warm_pickled: float
    """As `pickled`, from the page cache."""


async def measure(*, quick: bool) -> AsyncIterator[RenderableType]:
    """Measure, and print what came of it.

    Args:
        quick: A small frame, and one round.
    """
    with tempfile.TemporaryDirectory(prefix="stepwell-bench-") as folder:
        yield aims_table(
            [judge(await reading(Path(folder), 10_000_000 if quick else 100_000_000, quick))], "Earlier steps"
        )


def judge(found: Reading) -> Aim:
    """Compare it with the aim."""
    return Aim(
        f"loading a frame of {found.frame_bytes / 1e6:g} MB of an earlier step takes at most {TIMES:g}x as long as "
        "reading its blobs from disk",
        f"{found.step / found.blobs:.1f}x ({found.step:.2f} s, reading {found.blobs:.2f} s; in a cell a pickle of it "
        f"{found.pickled:.2f} s, Parquet {found.parquet:.2f} s); from the page cache {found.warm:.2f} s, a pickle "
        f"{found.warm_pickled:.2f} s",
        found.step <= TIMES * found.blobs,
    )


async def reading(folder: Path, size: int, quick: bool) -> Reading:
    """Keep a frame, replace it, and read it again, in a new session each time.

    Args:
        folder: A new folder.
        size: Bytes of the frame.
        quick: One round.
    """
    store = folder / "blobs"
    snapshots = SnapshotStore(Blobs.at(str(store)))
    rounds: list[tuple[float, ...]] = []
    async with Sandboxes(folder / "threads") as sandboxes:
        first = await sandboxes.open("local", "first")
        await run_cell(first, FRAME.format(rows=size // 64), 1)
        cells = [make_cell(1, snapshot=(await snapshots.keep(first, [], limit_bytes=LIMIT)).snapshot)]
        await run_cell(first, "df = None", 2)
        cells.append(make_cell(2, snapshot=(await snapshots.keep(first, cells, limit_bytes=LIMIT)).snapshot))
        await first.close()
        for number in range(1 if quick else ROUNDS):
            cold = await _round(await sandboxes.open("local", f"cold-{number}"), cells, snapshots, store, cold=True)
            warm = await _round(await sandboxes.open("local", f"warm-{number}"), cells, snapshots, store, cold=False)
            rounds.append((cold[0], cold[1], cold[2], cold[3], warm[0], warm[4]))
    return Reading(size, *(statistics.median(values) for values in zip(*rounds, strict=True)))


async def _round(
    sandbox: Sandbox, cells: list[Cell], snapshots: SnapshotStore, store: Path, *, cold: bool
) -> tuple[float, ...]:
    await snapshots.restore(sandbox, cells[-1]["snapshot"], damaged=set())
    blobs = 0.0
    if cold:
        await asyncio.to_thread(forget, store)
        blobs = await asyncio.to_thread(read, store)
        await asyncio.to_thread(forget, store)
    offered = EarlierSteps(None, sandbox, cells, snapshots)
    loaded = await sandbox.run(LOAD, number=3, timeout=TIMEOUT, functions=offered)
    others = await sandbox.run(READ, number=4, timeout=TIMEOUT)
    await sandbox.close()
    return float(loaded.stdout.text), blobs, *map(float, json.loads(others.stdout.text))
