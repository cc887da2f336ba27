"""A session that Stepwell keeps: the real kernel process, the real store, as the host sees them."""

import asyncio
import json
import os
import time
from pathlib import Path
from typing import Any

from bench.drivers.memory import descendants
from bench.measured import Described, Measured, Restored
from bench.rivals import looking
from bench.waiting import until_asked
from bench.workloads import Workload
from nodes.restoration.snapshots import SaveResult, SnapshotStore
from sandboxes.base import Sandbox
from sandboxes.host.running_cell import KernelRequest
from sandboxes.local.sandbox import LocalSandbox
from sandboxes.opening import Sandboxes
from storage.blobs import Blobs

LIMIT = 16 << 30
TIMEOUT = 600.0
LOOK = """
def _look():
    import sys, types, json
    looking = types.ModuleType("bench_looking")
    exec(compile({source!r}, "<looking>", "exec"), looking.__dict__)
    variables = looking.describe(globals())
    print(json.dumps([variables, looking.answer(globals(), {probes!r})]))
try:
    _look()
finally:
    del _look
"""


async def measure(workload: Workload, rows: int, folder: Path) -> Measured:
    """Run the workload in a sandbox, keeping every step in a store; restore two of them in other sandboxes.

    Args:
        workload: The session.
        rows: Its size.
        folder: A new folder.
    """
    inputs = folder / "inputs"
    if workload.data is not None:
        await asyncio.to_thread(workload.data, inputs, rows)
    snapshots = SnapshotStore(Blobs.at(str(folder / "blobs")))
    cells = workload.cells(rows)
    middle, last = len(cells) // 2, len(cells)
    live: dict[int, Described] = {}
    kept: list[SaveResult] = []
    keeps: list[float] = []
    cpu: list[tuple[float, float]] = []
    spent = 0.0
    async with Sandboxes(folder / "threads") as sandboxes:
        sandbox = await sandboxes.open("local", "live")
        for file in sorted(inputs.iterdir()) if inputs.exists() else []:
            await sandbox.put(file, f"inputs/{file.name}")
        for number, code in enumerate(cells, 1):
            spent += await run_cell(sandbox, code, number)
            processor = ProcessorTime()
            began = time.perf_counter()
            kept.append(await snapshots.keep(sandbox, [], limit_bytes=LIMIT))
            keeps.append(time.perf_counter() - began)
            cpu.append(processor.spent())
            if number in (middle, last):
                live[number] = await look(sandbox, workload.probes if number == last else [], number)
        await sandbox.close()
    brought = {}
    for step in (middle, last):
        probes = workload.probes if step == last else []
        brought[step] = await _restore(workload, kept[step - 1].snapshot, live[step], probes, folder / f"at-{step}")
    return Measured(
        keeps=tuple(keeps),
        inside=tuple(one.seconds for one in kept),
        sizes=tuple(one.bytes for one in kept),
        probes=len(workload.probes),
        cpu=tuple(sum(one) for one in cpu),
        cpu_inside=tuple(below for _, below in cpu),
        waits=tuple(await until_asked(cells, inputs, folder / "asked")),
        cells=spent,
        refused=tuple(one.why_not for one in kept if one.why_not),
        middle=brought[middle],
        last=brought[last],
    )


async def look(sandbox: Sandbox, probes: list[str], number: int) -> Described:
    """Have a session describe its variables and answer probes.

    Args:
        sandbox: The session.
        probes: What it is asked.
        number: The number of the last cell.
    """
    source = await asyncio.to_thread(Path(looking.__file__).read_text)
    result = await sandbox.run(LOOK.format(source=source, probes=probes), number=number, timeout=TIMEOUT)
    if result.status != "ok":
        raise RuntimeError(f"The session cannot be described: {result.error or result.note}")
    variables, answers = json.loads(result.stdout.text)
    return Described(variables, answers)


async def _restore(workload: Workload, snapshot: str, live: Described, probes: list[str], folder: Path) -> Restored:
    """Restore from the store twice: in no process yet, and in one that has imported the packages."""
    snapshots = SnapshotStore(Blobs.at(str(folder.parent / "blobs")))
    async with Sandboxes(folder) as sandboxes:
        sandbox = await sandboxes.open("local", "cold")
        began = time.perf_counter()
        restored = await snapshots.restore(sandbox, snapshot, damaged=set())
        cold = time.perf_counter() - began
        lost = tuple(one.name for one in restored.lost)
        after = await look(sandbox, probes, 1)
        warm = await restore_warm(sandbox, workload.modules, snapshot)
    return live.compare(after, probes, seconds=warm, cold=cold, lost=lost)


async def restore_warm(sandbox: Sandbox, modules: tuple[str, ...], snapshot: str) -> float:
    """Seconds of the kernel's own part, from the request to its answer, with the packages imported."""
    assert isinstance(sandbox, LocalSandbox)
    await sandbox.reset()
    await run_cell(sandbox, f"[__import__(name) for name in {modules!r}] and None", 1)
    session: Any = sandbox._session  # the sandbox itself restores in a new process only
    began = time.perf_counter()
    said = await session.ask(
        KernelRequest(
            kind="restore",
            content={"snapshot": snapshot},
            answer="restored",
            timeout=TIMEOUT,
            grace=5.0,
            body=None,
        )
    )
    seconds = time.perf_counter() - began
    if said.get("failed") or said.get("problem"):
        raise RuntimeError(f"The snapshot cannot be restored: {said}")
    return seconds


async def run_cell(sandbox: Sandbox, code: str, number: int) -> float:
    result = await sandbox.run(code, number=number, timeout=TIMEOUT)
    if result.status != "ok":
        raise RuntimeError(f"Cell {number} failed: {result.error or result.note}")
    return result.seconds


class ProcessorTime:
    """Seconds of a processor that this process and those below it compute from now on; one that ends counts no more."""

    def __init__(self) -> None:
        self._below = {pid: clock for pid in descendants(os.getpid()) if (clock := _clock(pid)) is not None}
        self._own = time.process_time()

    def spent(self) -> tuple[float, float]:
        """Seconds of this process, and of those below it that there were at the beginning."""
        own = time.process_time() - self._own
        now = {pid: _clock(pid) for pid in self._below}
        return own, sum((now[pid] or before) - before for pid, before in self._below.items())


def _clock(pid: int) -> float | None:
    """What all threads of a process have computed: the clock that `clock_getcpuclockid` names on Linux."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:  # it has ended
        return None
