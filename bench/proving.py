"""What proving steps costs, and going back to a step in memory beside restoring it from the store."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from rich.console import RenderableType
from rich.table import Table

from bench.ours import LIMIT, TIMEOUT
from bench.restoring import read
from graph.state import Cell
from nodes.restoration.proofs import Proofs
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Sandbox
from sandboxes.opening import Sandboxes
from storage.blobs import Blobs
from tests.states import make_cell

SHARE = 0.1
ROUNDS = 5
FROZEN = 0.3
"""Seconds after which a session has been copied."""
CELLS = (
    "import numpy as np, pandas as pd\n"
    "df = pd.DataFrame({'a': np.arange(200_000.0), 'b': [str(n % 99) for n in range(200_000)]})",
    "means = df.groupby('b').a.mean()",
    "class Model:\n    def __init__(self, frame): self.frame, self.seen = frame, []\nmodel = Model(df)",
    "import matplotlib.pyplot as plt\nfig, ax = plt.subplots(); means.plot(ax=ax)",
    *(f"model.seen.append({number}); df['c{number}'] = df.a * {number}" for number in range(16)),
)
COLUMNS = (
    "STEPWELL_PROOF_SHARE", "proved", "differ", "not proved", "CPU s", "elapsed s", "share",
    "next cell, ms: median (worst)",
)  # fmt: skip
NOTES = """\
CPU of proofs: the copy that looks, and the session that restores and compares, until both are done; pauses of a second
between cells stand for a model. In memory: `SnapshotStore.restore` of a step whose frozen copy stays. From the store:
the same in a sandbox without copies. Reading: all blobs of the store, one after the other, from the page cache."""


async def measure(*, quick: bool) -> AsyncIterator[RenderableType]:
    """Measure, and print what came of it.

    Args:
        quick: Short pauses, small data, one round.
    """
    with tempfile.TemporaryDirectory(prefix="stepwell-bench-") as folder:
        made = Table(title=f"Proving the steps of {len(CELLS)} cells")
        for name in COLUMNS:
            made.add_column(name, justify="right")
        for share in (0.0, SHARE):
            row = await proofs_row(Path(folder) / str(share), share, pause=0.1 if quick else 1.0)
            made.add_row(str(share), *row)
        yield made
    with tempfile.TemporaryDirectory(prefix="stepwell-bench-") as folder:
        yield await returning_table(Path(folder), 20_000_000 if quick else 450_000_000, 1 if quick else ROUNDS)
    yield NOTES


async def proofs_row(folder: Path, share: float, *, pause: float) -> list[str]:
    """Run cells, have their steps proved, and count."""
    store = SnapshotStore(Blobs.at(str(folder / "blobs")))
    proofs = Proofs(store, share=share, max_bytes=LIMIT, settle_seconds=60.0)
    outcomes: list[str] = []
    waits: list[float] = []
    runtime: Any = _Silent()
    async with Sandboxes(folder / "sandboxes", cache=folder / "cache") as opened:
        sandbox = await opened.open("local", "bench")
        began = time.perf_counter()
        for number, code in enumerate(CELLS, 1):
            cell = await kept(sandbox, store, code, number)
            proofs.begin(sandbox, cell, always=number == len(CELLS))
            await asyncio.sleep(0)
            asked = time.perf_counter()
            await sandbox.run("", number=0, timeout=TIMEOUT, head=cell.get("snapshot", ""))
            waits.append(time.perf_counter() - asked)
            await asyncio.sleep(pause)
        await proofs.settle("bench")
        elapsed = time.perf_counter() - began
        outcomes += [proof["outcome"] for proof in proofs.take("bench", runtime)[0]]
    counts = [str(outcomes.count(one)) for one in ("proved", "differs", "not proved")]
    wait = f"{1e3 * statistics.median(waits):.1f} ({1e3 * max(waits):.1f})"
    return [*counts, f"{proofs.cpu:.2f}", f"{elapsed:.1f}", f"{proofs.cpu / elapsed:.1%}", wait]


async def returning_table(folder: Path, size: int, rounds: int) -> Table:
    """Go back one step with much alive: in memory, from the store, and only reading what the store has."""
    found: dict[int, list[float]] = {1: [], 0: []}
    store = SnapshotStore(Blobs.at(str(folder / "blobs")))
    fill = f"import numpy as np\nx = np.random.default_rng(1).integers(0, 255, {size}, 'u1')"
    for copies, taken in found.items():
        async with Sandboxes(folder / f"sandboxes-{copies}", cache=folder / "cache", copies=copies) as opened:
            sandbox = await opened.open("local", "bench")
            first = await kept(sandbox, store, fill, 1)
            for number in range(2, rounds + 2):
                await asyncio.sleep(FROZEN)
                await kept(sandbox, store, f"y = {number}", number)
                await asyncio.sleep(FROZEN)
                began = time.perf_counter()
                await store.restore(sandbox, first.get("snapshot", ""), damaged=set())
                taken.append(time.perf_counter() - began)
                await asyncio.sleep(FROZEN)
    reading = [await asyncio.to_thread(read, folder / "blobs") for _ in range(rounds)]
    made = Table(title=f"Going back one step with {size / 1e6:,.0f} MB alive, ms: median (least)")
    for name in ("in memory", "from the store", "reading its blobs", "store / reading", "store / memory"):
        made.add_column(name, justify="right")
    memory, stored, alone = (statistics.median(each) for each in (found[1], found[0], reading))
    cells = [f"{1e3 * statistics.median(each):.1f} ({1e3 * min(each):.1f})" for each in (found[1], found[0], reading)]
    made.add_row(*cells, f"{stored / alone:.2f}x", f"{stored / memory:.0f}x")
    return made


async def kept(sandbox: Sandbox, store: SnapshotStore, code: str, number: int) -> Cell:
    result = await sandbox.run(code, number=number, timeout=TIMEOUT, head=f"{number:064d}")
    if result.status != "ok":
        raise RuntimeError(f"cell {number} failed: {result.error}")
    kept = await store.keep(sandbox, [], limit_bytes=LIMIT)
    return make_cell(number, snapshot=kept.snapshot)


class _Silent:
    def stream_writer(self, data: dict[str, Any]) -> None:
        """Nobody listens."""
