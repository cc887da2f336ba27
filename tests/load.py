"""Many sandboxes at a time, and many that sleep: `python -m tests.load --live 200 --sleeping 2000 --wakes 300`.

First many live sandboxes with a pandas group-by each; then many threads whose sandbox sleeps, each with a snapshot, of
which random ones are woken, answer, go on and fall asleep again. In the end all is as it was at the start: processes,
descriptors, mounts, temporary folders, memory.
"""

import argparse
import asyncio
import gc
import os
import random
import resource
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.drivers import memory
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Sandbox, SandboxLostError
from sandboxes.opening import Sandboxes
from storage.blobs import Blobs

AT_ONCE = 8
LIMIT = 1 << 30
THREADS = 8
SETTLE_SECONDS = 30.0
GROUP_BY = """
import numpy as np, pandas as pd
df = pd.DataFrame({{"a": np.arange(20_000) % 7, "b": np.arange(20_000.0) + {number}}})
print(int(df.groupby("a")["b"].sum().sum()))
"""
POOLS = {"stepwell-sync": 32, "stepwell-start": 8, "stepwell-background": 4, "stepwell-quick": 1, "stepwell-prompt": 1}
"""Names of pools of threads that a process has once: at most so many threads of each."""
BASES = 4
BASE = "import pandas as pd\ndf = pd.DataFrame({{'a': range(1000)}}) + {number}\nview = df\nseen = []"
WAKE = "seen.append({number})\nview.loc[0, 'a'] += 1\nprint(seen, int(df.loc[0, 'a']))"


@dataclass(frozen=True)
class Held:
    """What this process holds of the machine."""

    processes: int
    descriptors: int
    mounts: int
    """Lines of the mount tables of this process and of those below it that stay."""
    temporary: int
    threads: int
    """Without those of the process's own pools, which start when all others of a pool are busy and stay."""
    tasks: int
    bytes: int
    """Of this process and those below it, what they share counted once."""


@dataclass
class Report:
    """What came of it."""

    rows: list[tuple[str, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def say(self, what: str, value: str) -> None:
        """Add a line to the table."""
        self.rows.append((what, value))

    def must(self, right: bool, problem: str) -> None:
        """Note what is not as it should be."""
        if not right:
            self.problems.append(problem)

    def table(self) -> Table:
        """The lines as a table."""
        made = Table(title="Many sandboxes", show_header=False)
        for row in self.rows:
            made.add_row(*row)
        return made


async def load(folder: Path, *, live: int, sleeping: int, wakes: int, places: int, seed: int = 0) -> Report:
    """Put load on this machine, and see whether it is gone afterwards.

    Args:
        folder: An empty folder.
        live: Sandboxes that live at the same time.
        sleeping: Threads whose sandbox sleeps.
        wakes: How many of them are woken, one after the other and some at once; half of these a second time.
        places: Sandboxes that may live while they are woken.
        seed: Which ones are woken.
    """
    report = Report()
    temporary, tempfile.tempdir = tempfile.tempdir, str(folder / "tmp")
    await asyncio.to_thread((folder / "tmp").mkdir)
    try:
        await _warm_up(folder)
        before = await held(folder)
        began = time.monotonic()
        await _live(folder / "live", live, report)
        await _back(report, before, folder, f"after {live} live ones")
        await _sleeping(folder, sleeping, wakes, places, random.Random(seed), report)
        await _back(report, before, folder, f"after {sleeping} sleeping ones", say=True)
        report.say("all of it", f"{time.monotonic() - began:.0f} s")
    finally:
        tempfile.tempdir = temporary
    return report


async def _warm_up(folder: Path) -> None:
    """What comes with the first sandboxes and stays: the parent of all, threads of this process, imports."""
    _start_all_threads()
    async with Sandboxes(folder / "first", max_live=4 * AT_ONCE) as sandboxes:
        snapshots = SnapshotStore(Blobs.at(str(folder / "first-store")))

        async def one(number: int) -> None:
            sandbox = await sandboxes.open("local", f"first-{number}")
            await _answer(sandbox, GROUP_BY.format(number=number))
            kept = await snapshots.keep(sandbox, [], limit_bytes=LIMIT)
            await snapshots.restore(sandbox, kept.snapshot, damaged=set())

        await at_once([partial(one, number) for number in range(4 * AT_ONCE)], 4 * AT_ONCE)


def _start_all_threads() -> None:
    """Give the event loop threads that have all started: they would come one by one, when all others are busy."""
    executor = ThreadPoolExecutor(THREADS)
    all_there = threading.Barrier(THREADS)
    for waiting in [executor.submit(all_there.wait) for _ in range(THREADS)]:
        waiting.result()
    asyncio.get_running_loop().set_default_executor(executor)


async def _live(folder: Path, count: int, report: Report) -> None:
    starts: list[float] = []
    async with Sandboxes(folder, max_live=count) as sandboxes:

        async def one(number: int) -> None:
            began = time.perf_counter()
            sandbox = await sandboxes.open("local", f"live-{number}")
            said = await _answer(sandbox, GROUP_BY.format(number=number))
            starts.append(time.perf_counter() - began)
            report.must(said == str(199_990_000 + 20_000 * number), f"live sandbox {number} answered {said!r}")

        alone = await asyncio.to_thread(taken_up)
        began = time.perf_counter()
        await at_once([partial(one, number) for number in range(count)], AT_ONCE)
        seconds = time.perf_counter() - began
        await asyncio.sleep(1.0)
        each = (await asyncio.to_thread(taken_up) - alone) / count
        report.say(f"{count} live sandboxes with a group-by", f"{seconds:.1f} s, {count / seconds:.0f} a second")
        report.say(f"start to answer, {AT_ONCE} at once", _spread(starts))
        report.say("memory of each", f"{each / 1e6:.1f} MB")
        cells: list[float] = []
        for number in range(count):
            sandbox = await sandboxes.open("local", f"live-{number}")
            began = time.perf_counter()
            report.must(await _answer(sandbox, "print(len(df))") == "20000", f"live sandbox {number} lost its frame")
            cells.append(time.perf_counter() - began)
        report.say("a cell in each of them", _spread(cells))
        began = time.perf_counter()
    report.say("ending them all", f"{time.perf_counter() - began:.1f} s")


async def _sleeping(folder: Path, count: int, wakes: int, places: int, chance: random.Random, report: Report) -> None:
    snapshots = SnapshotStore(Blobs.at(str(folder / "store")))
    async with Sandboxes(folder / "sleeping", max_live=places) as sandboxes:
        bases = [await _base(sandboxes, snapshots, number) for number in range(BASES)]
        began = time.perf_counter()
        opened = [await sandboxes.open("local", f"asleep-{number}") for number in range(count)]
        report.say(f"opening {count} that sleep", f"{time.perf_counter() - began:.1f} s")
        threads = [_Thread(number, sandbox, bases[number % BASES]) for number, sandbox in enumerate(opened)]
        chosen = chance.sample(threads, min(wakes, count))
        again = chance.sample(chosen, len(chosen) // 2)
        spent: list[float] = []
        most = 0

        async def wake(thread: _Thread) -> None:
            nonlocal most
            began = time.perf_counter()
            await thread.wake(snapshots, report)
            spent.append(time.perf_counter() - began)
            pool = sandboxes._pool
            most = max(most, pool.count if pool is not None else 0)

        for some in (chosen, again):
            await at_once([partial(wake, thread) for thread in some], min(AT_ONCE, places))
        report.must(most <= places, f"{most} sandboxes lived where {places} may")
        report.must(sum(sandbox.head != "" for sandbox in opened) <= places, "more are awake than may be")
        report.say(f"waking {len(spent)} of them, {places} places", _spread(spent))
        report.say("descriptors with all open", str(_entries("/proc/self/fd")))


async def _base(sandboxes: Sandboxes, snapshots: SnapshotStore, number: int) -> str:
    sandbox = await sandboxes.open("local", f"base-{number}")
    await _answer(sandbox, BASE.format(number=number))
    return (await snapshots.keep(sandbox, [], limit_bytes=LIMIT)).snapshot


class _Thread:
    """A thread whose sandbox sleeps, at a snapshot of its own or of the thread that it was forked from."""

    def __init__(self, number: int, sandbox: Sandbox, snapshot: str) -> None:
        self._number = number
        self._sandbox = sandbox
        self._snapshot = snapshot
        self._wakes = 0

    async def wake(self, snapshots: SnapshotStore, report: Report) -> None:
        """Bring its session back as a node does, run a cell, keep the step."""
        said = ""
        for _ in range(3):  # as the graph's policy has it, when it falls asleep at the very moment
            try:
                if self._sandbox.head != self._snapshot:
                    back = await snapshots.restore(self._sandbox, self._snapshot, damaged=set())
                    report.must(not back.lost, f"thread {self._number} lost {back.lost}")
                said = await _answer(self._sandbox, WAKE.format(number=self._number))
            except SandboxLostError:
                continue
            break
        self._wakes += 1
        right = f"{[self._number] * self._wakes} {self._number % BASES + self._wakes}"
        report.must(said == right, f"thread {self._number} answered {said!r}, not {right!r}")
        kept = await snapshots.keep(self._sandbox, [], limit_bytes=LIMIT)
        report.must(bool(kept.snapshot), f"the step of thread {self._number} was not kept: {kept.why_not}")
        self._snapshot = kept.snapshot


async def _answer(sandbox: Sandbox, code: str) -> str:
    result = await sandbox.run(code, number=1, timeout=120.0, head="after")
    if result.status != "ok":
        return f"{result.status}: {result.error or result.note}"
    return result.stdout.text.strip()


async def at_once(work: Sequence[Callable[[], Awaitable[None]]], count: int) -> None:
    """Do all of it, so much at a time."""
    ahead = iter(work)

    async def some() -> None:
        for one in ahead:
            await one()

    await asyncio.gather(*(some() for _ in range(count)))


async def held(folder: Path) -> Held:
    """What this process holds now, once what was going on has ended."""
    return await asyncio.to_thread(_held, folder, len(asyncio.all_tasks()))


def _held(folder: Path, tasks: int) -> Held:
    gc.collect()
    below = memory.descendants(os.getpid())
    tables = [Path(f"/proc/{pid}/mounts") for pid in {os.getpid(), *below}]
    return Held(
        processes=len(below),
        descriptors=_entries("/proc/self/fd"),
        mounts=sum(_lines(table) for table in tables),
        temporary=_entries(folder / "tmp"),
        threads=beyond_pools(thread.name for thread in threading.enumerate()),
        tasks=tasks,
        bytes=taken_up(),
    )


def beyond_pools(names: Iterable[str]) -> int:
    """How many threads there are beside those that the pools of the process may have."""
    counts = Counter(name.rsplit("_", 1)[0] for name in names)
    return sum(max(count - POOLS.get(name, 0), 0) for name, count in counts.items())


def taken_up() -> int:
    """Bytes of memory of this process and of all below it."""
    return memory.proportional({os.getpid(), *memory.descendants(os.getpid())})


def _entries(folder: Path | str) -> int:
    return len(list(Path(folder).iterdir()))


def _lines(table: Path) -> int:
    try:
        return len(table.read_text().splitlines())
    except OSError:
        return 0  # gone by now


async def _back(report: Report, before: Held, folder: Path, when: str, *, say: bool = False) -> None:
    """All is as before, after a while."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while (left := more(before, now := await held(folder))) and time.monotonic() < deadline:
        await asyncio.sleep(0.2)
    report.problems += [f"{when}: {one}" for one in left]
    if say:
        report.say("processes, descriptors before", f"{before.processes}, {before.descriptors}")
        report.say("the same in the end", f"{now.processes}, {now.descriptors}")
        report.say("mounts before, in the end", f"{before.mounts}, {now.mounts}")
        report.say("memory before, in the end", f"{before.bytes / 1e6:.0f} MB, {now.bytes / 1e6:.0f} MB")


MEMORY_ROOM = 32 << 20
"""Bytes that an allocator may keep."""


def more(before: Held, now: Held) -> list[str]:
    """What is held now that was not before."""
    found = [
        f"{getattr(now, name)} {name}, {getattr(before, name)} before"
        for name in ("processes", "descriptors", "mounts", "temporary", "threads", "tasks")
        if getattr(now, name) > getattr(before, name)
    ]
    if now.bytes > before.bytes + MEMORY_ROOM:
        found.append(f"{(now.bytes - before.bytes) / 1e6:.0f} MB more memory")
    return found


def _spread(seconds: Sequence[float]) -> str:
    ordered = sorted(seconds)
    late = ordered[max(len(ordered) * 99 // 100 - 1, 0)]
    return f"{1e3 * statistics.median(ordered):.1f} ms, 99 of 100: {1e3 * late:.0f} ms"


def main() -> int:
    """Run it with the arguments of the command line; 1 when something is not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--live", type=int, default=200)
    parser.add_argument("--sleeping", type=int, default=2_000)
    parser.add_argument("--wakes", type=int, default=300)
    parser.add_argument("--places", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    asked = vars(parser.parse_args())
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 16_384), hard))
    with tempfile.TemporaryDirectory(prefix="stepwell-load-") as folder:
        report = asyncio.run(load(Path(folder), **asked))
    console = Console(width=None if sys.stdout.isatty() else 100, highlight=False)
    console.print(report.table())
    for problem in report.problems[:20]:
        console.print(f"NOT RIGHT: {problem}", markup=False)
    if not report.problems:
        console.print("All answers were right, and nothing is left over.")
    return 1 if report.problems else 0


if __name__ == "__main__":
    sys.exit(main())
