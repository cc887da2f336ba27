"""What an agent waits for after its server was killed, beside a kernel without snapshots that runs its cells again."""

import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from jupyter_client.manager import AsyncKernelManager
from rich.console import RenderableType
from rich.table import Table

from bench.aims import Aim, aims_table
from bench.workloads import Workload
from bench.workloads.objects import OBJECT_SESSIONS
from bench.workloads.tables import TABLES
from graph.settings import Settings
from tests.mcp_client import Agent, agent

NAMES = ("small40", "objects", "sklearn")
AIM = 0.5
PATIENCE = 600.0
NOTES = """\
`stepwell mcp` over stdin and stdout, driven by the SDK's client. The server is killed (SIGKILL) after the last cell; a
new one is started, and asked for a probe of the session, which it first brings back. server: until it has answered
`initialize`. back: the call that brings the session back, then. call: the same call once more. ipykernel: its process
is killed, a new one started (kernel), and the cells are run again (cells), since nothing of them was kept. times: cells
by back. the same: Stepwell's answer is that of before the kill. Medians of {rounds}."""


@dataclass(frozen=True, slots=True)
class Returned:
    """Seconds after one kill."""

    started: float
    """Until the new process answers."""
    back: float
    """Then, until the session is there again and has answered."""
    call: float = 0.0
    """The same call afterwards."""
    same: bool = True
    """Whether the answer is that of before the kill."""


async def measure(*, quick: bool) -> AsyncIterator[RenderableType]:
    """Kill and bring back, for some sessions.

    Args:
        quick: Small data, two rounds.

    Raises:
        SystemExit: a session came back with another answer.
    """
    rounds = 2 if quick else 7
    title = "An agent's session after kill -9, ms"
    table = Table("session", "server", "back", "call", "ipykernel: kernel", "cells", "times", "the same", title=title)
    backs, wrong = [], []
    for workload in (one for one in (*TABLES, *OBJECT_SESSIONS) if one.name in NAMES):
        with tempfile.TemporaryDirectory(prefix="stepwell-bench-") as folder:
            ours, theirs = await _both(workload, workload.quick_rows if quick else workload.rows, Path(folder), rounds)
        back = _median(one.back for one in ours)
        again = _median(one.back for one in theirs)
        if not all(one.same for one in ours):
            wrong.append(workload.name)
        shown = [_median(one.started for one in ours), back, _median(one.call for one in ours)]
        shown += [_median(one.started for one in theirs), again]
        same = "no" if workload.name in wrong else "yes"
        table.add_row(workload.name, *(f"{1e3 * one:,.0f}" for one in shown), f"{again / back:.1f}", same)
        backs.append(back)
    yield table
    yield NOTES.format(rounds=rounds)
    reached = f"{max(backs) * 1e3:,.0f} ms at most, once the server answers"
    yield aims_table([Aim(f"back within {AIM:g} s with the variables", reached, max(backs) <= AIM)], "Agents: aims")
    if wrong:
        raise SystemExit(f"bench: came back with another answer: {', '.join(wrong)}")


async def _both(workload: Workload, rows: int, folder: Path, rounds: int) -> tuple[list[Returned], list[Returned]]:
    """Ours and the kernel's, in turns."""
    inputs = folder / "inputs"
    inputs.mkdir()
    if workload.data is not None:
        workload.data(inputs, rows)
    cells, probe = workload.cells(rows), workload.probes[0]
    settings = Settings(home=folder / "home", artifacts=str(folder / "artifacts"))
    files = [str(path) for path in sorted(inputs.rglob("*")) if path.is_file()]
    async with agent(settings, folder, "--files", str(inputs)) as user:
        for number, cell in enumerate(cells):
            await user.told("run_code", code=cell, session="s", files=[] if number else files)
        before = await _answer(user, probe)
        user.kill()
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(await _ours(settings, folder, probe, before))
        theirs.append(await _kernel(folder, [*cells, probe]))
    return ours, theirs


async def _ours(settings: Settings, folder: Path, probe: str, before: str) -> Returned:
    began = time.perf_counter()
    async with agent(settings, folder) as user:
        there = time.perf_counter()
        answer = await _answer(user, probe)
        back = time.perf_counter()
        await _answer(user, probe)
        again = time.perf_counter()
        user.kill()
    return Returned(there - began, back - there, again - back, answer == before)


async def _answer(user: Agent, probe: str) -> str:
    """What a probe says, without the line that has the time."""
    told = await user.told("run_code", code=probe, session="s")
    return str(told["output"]).partition("\n")[2]


async def _kernel(folder: Path, cells: Sequence[str]) -> Returned:
    """Start a kernel, as after a kill, and run all cells again.

    Raises:
        SystemExit: one failed.
    """
    manager = AsyncKernelManager(kernel_name="python3")
    began = time.perf_counter()
    await manager.start_kernel(cwd=str(folder), env={**os.environ, "MPLBACKEND": "agg"})
    client = manager.client()
    client.start_channels()
    try:
        await client.wait_for_ready(timeout=PATIENCE)
        there = time.perf_counter()
        for code in cells:
            reply = await client.execute_interactive(
                code, timeout=PATIENCE, output_hook=lambda _: None, allow_stdin=False
            )
            if reply["content"]["status"] != "ok":
                raise SystemExit(f"bench: ipykernel: {reply['content'].get('evalue')} in {code!r}")
        back = time.perf_counter()
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)
    return Returned(there - began, back - there)


def _median(values: Iterable[float]) -> float:
    return statistics.median(values)
