"""What a cell and a move cost in Daytona: round trips and bytes, counted in the emulator; times beside a local sandbox.

The emulator is on this machine, so the times are those of the driver and of the kernel, without any network; how many
requests a cell takes, and how many bytes, is the same with the real service.
"""

import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table

from sandboxes.base import Sandbox
from sandboxes.bridged.sandbox import BridgedSandbox
from sandboxes.daytona.options import Account, Options
from sandboxes.opening import Sandboxes
from tests.daytona.counters import Counters
from tests.daytona.emulator import Emulator

LIMIT = 8_000_000_000
NOTES = """\
Each cell with its snapshot, whose new blobs are taken out as `execute` does: medians of {cells} cells, in brackets the
most that any took. ws: WebSocket connections; up, down: bulk uploads, downloads. think: seconds between two cells, as
a model needs them (with none, a cell may go over the connection of the one before). move: from a local sandbox to
Daytona with a frame of that size and back, the blobs that the other side lacks; again: back into a sandbox that was
stopped. Load when it began: {load:.1f}."""


@dataclass
class Spent:
    """What the cells of one row took."""

    seconds: list[float] = field(default_factory=list)
    counts: list[Counters] = field(default_factory=list)

    def most(self, kind: str) -> int:
        """The most requests of a kind that one cell took."""
        return max((count.requests[kind] for count in self.counts), default=0)

    def row(self) -> list[str]:
        """As cells of a table."""
        if not self.counts:
            return [_milliseconds(self.seconds), *["–"] * 5]
        middle = self.counts[len(self.counts) // 2]
        counted = [
            f"{statistics.median(one.requests[kind] for one in self.counts):g} ({self.most(kind)})"
            for kind in ("run", "upload", "download")
        ]
        others = sum(middle.requests.values()) - sum(middle.requests[kind] for kind in ("run", "upload", "download"))
        return [_milliseconds(self.seconds), *counted, str(others), f"{middle.bytes_up:,} / {middle.bytes_down:,}"]


async def step(sandbox: Sandbox, number: int, code: str, folder: Path) -> list[Path]:
    """A cell and its snapshot, out of the sandbox."""
    result = await sandbox.run(code, number=number, timeout=600)
    assert result.status == "ok", result
    taken = await sandbox.snapshot(limit_bytes=LIMIT)
    await sandbox.take_blobs(taken.new, folder)
    await sandbox.drop_blobs(taken.new)
    return [folder / name for name in taken.new]


async def cells(sandbox: Sandbox, emulator: Emulator | None, count: int, think: float, folder: Path) -> Spent:
    """Small cells, one after the other."""
    spent = Spent()
    await step(sandbox, 1, "x = 0", folder)
    for number in range(count):
        await asyncio.sleep(think)
        before = emulator.counters.copy() if emulator else None
        began = time.monotonic()
        await step(sandbox, number + 2, f"x += 1; y = [{number}]\nprint(x)", folder)
        spent.seconds.append(time.monotonic() - began)
        if emulator is not None and before is not None:
            spent.counts.append(emulator.counters - before)
    return spent


async def moved(here: Sandbox, there: Sandbox, emulator: Emulator, megabytes: int, folder: Path) -> list[list[str]]:
    """A frame of some size: made here, moved there, stopped and woken there, moved back."""
    rows = []
    code = f"import numpy as np\ndata = np.random.default_rng(1).random({megabytes * 125_000})"
    blobs = await step(here, 1, code, folder)
    id = blobs[-1].name

    async def restore(sandbox: Sandbox, what: str) -> None:
        before, began = emulator.counters.copy(), time.monotonic()
        lacking = await sandbox.supplied_blobs()
        await sandbox.supply_blobs([blob for blob in blobs if blob.name not in lacking])
        await sandbox.restore(id)
        count = emulator.counters - before
        moved_bytes = f"{count.uploaded_bytes:,}" if sandbox.kind == "daytona" else f"{sum(map(_size, blobs)):,}"
        runs, ups = str(count.requests["run"]), str(count.requests["upload"])
        rows.append([f"{megabytes} MB", what, _milliseconds([time.monotonic() - began]), runs, ups, moved_bytes])

    await there.files(".")  # made, but with nothing in it
    await restore(there, "local → Daytona")
    assert isinstance(there, BridgedSandbox)
    await there.sleep()
    await restore(there, "again, after it was stopped")
    await restore(here, "Daytona → local")
    return rows


async def measure(*, quick: bool) -> AsyncIterator[RenderableType]:
    """Measure, and print what came of it.

    Args:
        quick: Fewer cells, less data.
    """
    load, count = os.getloadavg()[0], 10 if quick else 60
    with tempfile.TemporaryDirectory(prefix="stepwell-bench-") as name:
        folder = Path(name)
        async with Emulator() as emulator:
            account = Account(api_key=emulator.api_key, api_url=emulator.api_url, target="us")
            async with Sandboxes(folder / "threads", daytona=Options(account)) as sandboxes:
                local = await sandboxes.open("local", "cells")
                table = Table(title="A cell and its snapshot")
                for title in ("where", "think", "ms", "ws", "up", "down", "others", "bytes up / down"):
                    table.add_column(title, justify="left" if title == "where" else "right")
                table.add_row("local", "0", *(await cells(local, None, count, 0.0, folder / "a")).row())
                for think in (0.0, 4.0):
                    there = await sandboxes.open("daytona", f"cells-{think:.0f}")
                    spent = await cells(
                        there, emulator, count if not think else max(count // 5, 3), think, folder / "b"
                    )
                    table.add_row("daytona", f"{think:g}", *spent.row())
                    for kind in ("run", "upload"):
                        if spent.most(kind) > 1:
                            yield f"A cell took {spent.most(kind)} requests of kind {kind}; one is the aim."
                yield table
                table = Table(title="A move")
                for title in ("data", "what", "ms", "ws", "up", "bytes moved"):
                    table.add_column(title, justify="left" if title == "what" else "right")
                for megabytes in (1, 10) if quick else (1, 10, 100, 400):
                    here = await sandboxes.open("local", f"move-{megabytes}")
                    there = await sandboxes.open("daytona", f"move-{megabytes}")
                    for row in await moved(here, there, emulator, megabytes, folder / f"moved-{megabytes}"):
                        table.add_row(*row)
                yield table
    yield NOTES.format(cells=count, load=load)


def _size(file: Path) -> int:
    return file.stat().st_size


def _milliseconds(seconds: list[float]) -> str:
    return f"{1e3 * statistics.median(seconds):,.0f} ({1e3 * max(seconds):,.0f})"
