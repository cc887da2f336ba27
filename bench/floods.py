"""What others notice of a cell that floods the host: the event loop's lag, and the time of another sandbox's cell.

Each channel is flooded with all that it takes, again and again, while a probe looks at the loop and another sandbox
runs one small cell after the other. `lag` is how much later than asked the loop comes back to somebody.
"""

import asyncio
import contextlib
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from graph.functions.host_functions import HostFunctions
from graph.functions.registry import HostFunction
from nodes.calls.recorded_calls import RepeatableCalls
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Sandbox, SandboxError
from sandboxes.opening import Sandboxes
from server.readiness import freeze_heap
from storage.blobs import Blobs

SECONDS, QUICK_SECONDS = 10.0, 1.0
EVERY = 0.002
SESSION = """
import gc, hashlib, json, os, struct, time
session = next(one for one in gc.get_objects() if type(one).__name__ == "Session")
def frame(what, body=b"", **more):
    header = json.dumps({"type": what, "id": session._run_id, **more}).encode()
    return struct.pack("!II", len(header), len(body)) + header + body
def write(data):
    data = memoryview(data)
    while data: data = data[os.write(session._control, data):]
lists = b"[]," * 3_500_000 + b"0]"
def blob(data):
    name = hashlib.sha256(data).hexdigest()
    with open(os.path.join(session._folders["spool"], name), "wb") as file: file.write(data)
    return name
"""
FLOODS = {
    "nothing": "time.sleep(0.2)",
    "output": "os.write(1, b'x' * 50_000_000)",
    "small messages": "many = frame('other', id='nobody') * 2_000\nwhile True: write(many)",
    "large messages": "large = frame('other', b'x' * 30_000_000)\nwhile True: write(large)",
    "displays": "many = frame('display', b'x' * 900_000, kind='display', text=450_000) * 60\n"
    "write(many)\ntime.sleep(0.2)",
    "last word of 10 MB": "write(frame('done', b'{\"a\": [' + lists + b'}'))",
    "arguments of 10 MB": 'text = b\'{"values": {"args": [[\' + lists + b\'], "kwargs": {}}, "tables": []}\'\n'
    "for number in range(8): write(frame('call', struct.pack('!I', len(text)) + text, call=number, name='take'))\n"
    "time.sleep(1.0)",
    "manifest of 10 MB": 'name = blob(b\'{"blobs":[],"cache_tag":"","lost":[\' + lists + b\',"format":1,"x":1}\')\n'
    "answer = session._send\n"
    "session._snapshot = lambda header: (setattr(session, '_run_id', header['id']),"
    " answer('begun', {}), answer('snapshot', {'id': name, 'new': [name]}))",
}


@dataclass(frozen=True, slots=True)
class Noticed:
    """What others noticed, in seconds."""

    lags: tuple[float, ...]
    cells: tuple[float, ...]
    ended: str

    def quantile(self, share: float) -> float:
        """The lag that is not exceeded in this share of the looks."""
        return sorted(self.lags)[min(int(share * len(self.lags)), len(self.lags) - 1)]


async def measure(*, quick: bool) -> AsyncIterator[Any]:
    """A table with a row for each channel."""
    table = Table("flooded with", "lag p50", "lag p99", "lag max", "another's cell p50", "max", "how it ended")
    await flooded(next(iter(FLOODS)), QUICK_SECONDS)
    freeze_heap()  # as a server does once it is ready
    for name in FLOODS:
        seen = await flooded(name, QUICK_SECONDS if quick else SECONDS)
        lags = [f"{1e3 * seen.quantile(share):.1f} ms" for share in (0.5, 0.99, 1.0)]
        cells = [f"{1e3 * one:.0f} ms" for one in (statistics.median(seen.cells), max(seen.cells))]
        table.add_row(name, *lags, *cells, seen.ended)
    yield table


async def flooded(name: str, seconds: float) -> Noticed:
    """Flood one channel for so long, and look at what others notice."""
    with tempfile.TemporaryDirectory() as folder:
        async with Sandboxes(Path(folder) / "sandboxes", max_live=2) as sandboxes:
            bad, good = await sandboxes.open("local", "bad"), await sandboxes.open("local", "good")
            snapshots = SnapshotStore(Blobs.at(str(Path(folder) / "blobs")))
            functions = RepeatableCalls(
                await HostFunctions([HostFunction(_take, name="take", repeatable=True)]).ready(), timeout=10
            )
            for one in (bad, good):
                await one.run(SESSION, number=1, timeout=60)
            ended: list[str] = []
            cells: list[float] = []
            async with _probed() as lags:
                flooding = asyncio.ensure_future(_flood(bad, FLOODS[name], functions, snapshots, ended))
                until = time.perf_counter() + seconds
                while time.perf_counter() < until or not (cells and ended):
                    began = time.perf_counter()
                    await good.run("sum(range(1000))", number=2, timeout=60)
                    cells.append(time.perf_counter() - began)
                flooding.cancel()
                await asyncio.wait((flooding,))
            return Noticed(tuple(lags), tuple(cells), ended[-1] if ended else "")


def _take(value: Any) -> None:
    """Is offered to the cell."""


async def _flood(
    sandbox: Sandbox, code: str, functions: RepeatableCalls, snapshots: SnapshotStore, ended: list[str]
) -> None:
    while True:
        with contextlib.suppress(SandboxError):
            await sandbox.run(SESSION, number=1, timeout=60)
            result = await sandbox.run(code, number=2, timeout=10, functions=functions)
            kept = await snapshots.keep(sandbox, [], limit_bytes=1 << 30)
            why = result.note or (result.error.message if result.error else "") or kept.why_not
            ended.append(f"{result.status} {why[:70]}".strip())


@asynccontextmanager
async def _probed() -> AsyncIterator[list[float]]:
    lags: list[float] = []

    async def look() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(EVERY)
            lags.append(max(time.perf_counter() - before - EVERY, 0.0))

    looking = asyncio.ensure_future(look())
    await asyncio.sleep(5 * EVERY)
    try:
        yield lags
    finally:
        looking.cancel()
