"""Branches from one step and `steps[1]["x"]`: from the frozen copy in memory, beside the store in the same run."""

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table

from bench.ours import TIMEOUT
from bench.proving import FROZEN, kept
from nodes.restoration.earlier_steps import EarlierSteps
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Sandbox
from sandboxes.opening import Sandboxes
from storage.blobs import Blobs
from tests.process_table import descendants

ROUNDS = 7
FILL = "import numpy as np\nx = np.random.default_rng(1).integers(0, 255, {size}, 'u1'); small = [1]"
READ = """
import time
began, used = time.perf_counter(), time.process_time()
found = steps[1]["{name}"]
print(time.perf_counter() - began, time.process_time() - used)
"""
NOTES = """\
Branch: `SnapshotStore.restore` of the first step; after each, a cell changes 8 kB. In memory: in the same thread, no
pause between branches. From the store: each in another sandbox, as a fork into a thread of its own is. Reading: in a
cell, with the request to the host; CPU is that of the session, without the copy's child. Memory: the sandbox's
processes together, what they share counted once, after the first step and after all branches."""


async def measure(*, quick: bool) -> AsyncIterator[RenderableType]:
    """Measure, and print what came of it.

    Args:
        quick: Small data, two rounds.
    """
    size, rounds = (20_000_000, 2) if quick else (450_000_000, ROUNDS)
    read = min(size, 100_000_000)
    with tempfile.TemporaryDirectory(prefix="stepwell-bench-") as folder:
        yield await branches_table(Path(folder), size, rounds)
    with tempfile.TemporaryDirectory(prefix="stepwell-bench-") as folder:
        yield await reading_table(Path(folder), read, rounds)
    yield NOTES


async def branches_table(folder: Path, size: int, rounds: int) -> Table:
    """Begin branches at one step, by both ways in turn."""
    store = SnapshotStore(Blobs.at(str(folder / "blobs")))
    found: dict[str, list[float]] = {"memory": [], "store": []}
    async with Sandboxes(folder / "sandboxes", cache=folder / "cache", copies=2) as opened:
        sandbox = await opened.open("local", "bench")
        first = (await kept(sandbox, store, FILL.format(size=size), 1)).get("snapshot", "")
        await asyncio.sleep(FROZEN)
        alone = await asyncio.to_thread(memory_of_sandboxes)
        await kept(sandbox, store, "y = 1", 2)
        for number in range(rounds):
            found["memory"].append(await _branch(sandbox, store, first, number))
        await asyncio.sleep(FROZEN)  # what was ended has given back its memory by then
        grown = await asyncio.to_thread(memory_of_sandboxes)
        for number in range(rounds):
            other = await opened.open("local", f"fork-{number}")
            found["store"].append(await _branch(other, store, first, number))
            await other.close()
    made = Table(title=f"{rounds} branches from a step of {size / 1e6:,.0f} MB, ms: median (least)")
    for name in ("in memory", "from the store", "store / memory", "memory before, MB", "after, MB"):
        made.add_column(name, justify="right")
    made.add_row(*_both(found), f"{alone / 1e6:,.0f}", f"{grown / 1e6:,.0f}")
    return made


async def _branch(sandbox: Sandbox, store: SnapshotStore, step: str, number: int) -> float:
    began = time.perf_counter()
    await store.restore(sandbox, step, damaged=set())
    seconds = time.perf_counter() - began
    ran = await sandbox.run(f"x[:8192] = {number}", number=3, timeout=TIMEOUT, head=f"{number:064d}")
    if ran.status != "ok":
        raise RuntimeError(f"a branch failed: {ran.error}")
    return seconds


async def reading_table(folder: Path, size: int, rounds: int) -> Table:
    """Read variables of the first step with and without copies."""
    store = SnapshotStore(Blobs.at(str(folder / "blobs")))
    found: dict[tuple[str, int], list[list[float]]] = {}
    for copies in (2, 0):
        async with Sandboxes(folder / f"sandboxes-{copies}", cache=folder / "cache", copies=copies) as opened:
            sandbox = await opened.open("local", "bench")
            cells = [await kept(sandbox, store, FILL.format(size=size), 1)]
            await asyncio.sleep(FROZEN)
            cells.append(await kept(sandbox, store, "x[:8192] = 1", 2))
            offered = EarlierSteps(None, sandbox, cells, store)
            for name in ("x", "small"):
                for _ in range(rounds):
                    ran = await sandbox.run(READ.format(name=name), number=3, timeout=TIMEOUT, functions=offered)
                    found.setdefault((name, copies), []).append([float(one) for one in ran.stdout.text.split()])
                    await sandbox.run("found = None", number=4, timeout=TIMEOUT)
    made = Table(title="steps[1][…] in a cell, ms: median (least)")
    for column in ("variable", "from the copy", "from the store", "store / copy", "CPU: copy", "CPU: store"):
        made.add_column(column, justify="right")
    for name in ("x", "small"):
        copied, stored = found[name, 2], found[name, 0]
        elapsed = {"memory": [one[0] for one in copied], "store": [one[0] for one in stored]}
        used = [f"{1e3 * statistics.median(one[1] for one in each):.1f}" for each in (copied, stored)]
        made.add_row(f"{name}, {size / 1e6:,.0f} MB" if name == "x" else name, *_both(elapsed), *used)
    return made


def _both(found: dict[str, list[float]]) -> list[str]:
    cells = [f"{1e3 * statistics.median(each):.1f} ({1e3 * min(each):.1f})" for each in found.values()]
    memory, store = (statistics.median(each) for each in found.values())
    return [*cells, f"{store / memory:.1f}x"]


def memory_of_sandboxes() -> int:
    """Bytes that the processes of sandboxes hold, what they share counted once."""
    held = 0
    for pid in descendants(os.getpid()):
        with suppress(OSError):
            if Path(f"/proc/{pid}/cwd").readlink().name == "workspace":
                lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
                held += sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
    return held
