"""Many analyses at a time through a real server, beside the same graph with sandboxes that start cold."""

import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from rich.console import RenderableType

from bench import server_memory
from bench.aims import aims_table
from bench.analysing import CELLS, Seen, analyse, counted
from bench.server_log import Spent, spent
from bench.server_memory import Sample, Watched
from bench.server_results import judge, table
from tests.serving import ROOT, DevServer, json_lines, with_keys

WARM, COLD = "Stepwell", "sandboxes that start cold"
USERS = ("alice", "bob")
PLACES = 64
"""Sandboxes that may live at a time; sandboxes of analyses that have ended stay until another needs the place."""
FIRST, ALONE = 900, 5
"""The numbers of the analyses that run one after the other before."""
LOOK_SECONDS = 2.0
PATIENCE = 600.0
NOTES = """\
Analyses by two users, {at_once} at a time, of a CSV file of its own each: uploaded, analysed with the first {cells}
cells of the playbook (one draws a figure), followed as a stream, then state, steps and published files are read. One
`langgraph dev --n-jobs-per-worker {at_once}` for each column, SQLite, {places} live sandboxes at most; the clients
are on the same machine. lost, mixed up, failed: the answer, each cell, file or event is missing, is about another's
file, or broke off. own, per cell: from the end of one `execute` to the end of the next in the server's log, less what
the cell itself ran; when more is asked than the processors can do that is waiting, too. alone: {alone} analyses
before, one after the other. CPU: of the server's process alone, clients' requests and all. to the first cell: from
the run's start, with inputs, sandbox and plan. /ok: how long the server took to answer that while it worked. Memory
is proportional (PSS)."""


@dataclass
class Loaded:
    """What came of one server."""

    name: str
    asked: int
    analyses: list[Seen]
    """Those that came to an end, however."""
    seconds: float
    alone: Spent
    """Of analyses one after the other, before."""
    spent: Spent
    watched: Watched
    computed: float
    """Seconds that the server's process computed."""
    answers: list[float] = field(default_factory=list)
    """Seconds until it answered `/ok`."""
    emptied: Sample | None = None
    """When all threads were deleted."""
    left: int = 0
    """Files and folders named after threads that were there then; whose a thread was, is remembered on purpose."""

    @property
    def wrong(self) -> dict[str, int]:
        """How many analyses were lost, mixed up, and failed."""
        return counted(self.analyses, self.asked)


async def measure(*, quick: bool) -> AsyncIterator[RenderableType]:
    """Put load on both servers, one after the other, and print what came of it.

    Args:
        quick: Fewer analyses, fewer at a time.

    Raises:
        SystemExit: an analysis was lost, mixed up or failed.
    """
    at_once = 12 if quick else 50
    results = []
    for name, count in ((WARM, 60), (COLD, 24)) if quick else ((WARM, 500), (COLD, 100)):
        with tempfile.TemporaryDirectory(prefix="stepwell-bench-") as folder:
            results.append(await load(name, Path(folder), count, at_once))
        print(f"bench: {name}: {results[-1].seconds:.0f} s", file=sys.stderr)
    average = " / ".join(f"{one:.1f}" for one in os.getloadavg())
    yield table(results, f"Analyses through a server, {at_once} at a time; load of the machine at the end {average}")
    wrong = [f"{one.name}: analysis {seen.number}: {seen.verdict}" for one in results for seen in one.analyses
             if seen.verdict]  # fmt: skip
    for sentence in wrong[:10]:
        yield sentence
    yield aims_table(judge(results), "Server: aims")
    yield NOTES.format(alone=ALONE, at_once=at_once, cells=CELLS, places=PLACES)
    if wrong:
        raise SystemExit("Analyses were lost, mixed up or failed; see the table of aims.")


async def load(name: str, folder: Path, count: int, at_once: int) -> Loaded:
    """Start a server, and have it analyse.

    Args:
        name: Which row of the table.
        folder: An empty folder.
        count: Analyses in all.
        at_once: How many are under way at a time.
    """
    settings, keys = with_keys(folder / "settings", *USERS, "operator")
    settings |= {"LOG_JSON": "true", "STEPWELL_MAX_SANDBOXES": str(PLACES)}
    policy = folder / "settings" / "policy.toml"
    # Two users stand for many here.
    policy.write_text(f"[quotas]\nruns = {at_once}\nsandboxes = {PLACES}\nrequests_a_minute = 1_000_000\n")
    settings["STEPWELL_POLICY"] = str(policy)
    server = DevServer(folder, settings, _graph(name))
    if name == COLD:
        shutil.copy(ROOT / "bench" / "drivers" / "cold_graph.py", server.project)
    try:
        await asyncio.to_thread(server.begin, at_once)
        return await _load(name, server, keys, count, at_once)
    finally:
        await asyncio.to_thread(server.end)


def _graph(name: str) -> dict[str, Any]:
    return {} if name == WARM else {"graphs": {"stepwell": {"path": "cold_graph:agent"}}}


async def _load(name: str, server: DevServer, keys: dict[str, str], count: int, at_once: int) -> Loaded:
    clients = {user: get_client(url=server.url, api_key=keys[user], timeout=PATIENCE) for user in USERS}
    operator = httpx.AsyncClient(base_url=server.url, headers={"X-Api-Key": keys["operator"]}, timeout=PATIENCE)
    try:
        first = [await analyse(clients[USERS[0]], USERS[0], 0)]  # what comes with it and stays: imports, a parent
        read = server.log.stat().st_size
        first += [await analyse(clients[USERS[0]], USERS[0], number) for number in range(FIRST, FIRST + ALONE)]
        alone = spent(await _lines(server, read))
        watched = Watched(await _looked(server.pid, operator, 0))
        answers: list[float] = []
        analyses = [seen for seen in first if seen.verdict]
        watching = asyncio.create_task(_watch(server.pid, operator, watched, analyses, answers))
        began, computed = time.perf_counter(), server_memory.seconds_of(server.pid)
        read = server.log.stat().st_size
        waiting = iter(range(1, count + 1))

        async def work() -> None:
            for number in waiting:
                user = USERS[number % len(USERS)]
                analyses.append(await analyse(clients[user], user, number))

        await asyncio.gather(*(work() for _ in range(at_once)))
        seconds, computed = time.perf_counter() - began, server_memory.seconds_of(server.pid) - computed
        watching.cancel()
        await asyncio.wait([watching])
        watched.samples.append(await _looked(server.pid, operator, len(analyses)))
        told = spent(await _lines(server, read))
        loaded = Loaded(name, count, analyses, seconds, alone, told, watched, computed, answers)
        threads = {seen.thread: seen.user for seen in (*first, *analyses) if seen.thread}
        await asyncio.gather(*(_delete(clients, list(threads.items())[turn::at_once]) for turn in range(at_once)))
        loaded.emptied = await _looked(server.pid, operator, len(analyses))
        loaded.left = await asyncio.to_thread(left, server.home)
        return loaded
    finally:
        await operator.aclose()
        for client in clients.values():
            await client.aclose()


async def _lines(server: DevServer, since: int) -> list[dict[str, object]]:
    """The lines of its log after so many bytes."""
    return json_lines((await asyncio.to_thread(server.log.read_bytes))[since:].decode("utf-8", "replace"))


async def live(operator: httpx.AsyncClient) -> int:
    """How many sandboxes are live."""
    lines = (await operator.get("/stepwell/metrics")).text.splitlines()
    return int(float(next(line for line in lines if line.startswith('stepwell_sandboxes{state="active"}')).split()[-1]))


async def _looked(pid: int, operator: httpx.AsyncClient, done: int) -> Sample:
    return await asyncio.to_thread(server_memory.look, pid, await live(operator), done)


async def _delete(clients: dict[str, LangGraphClient], threads: list[tuple[str, str]]) -> None:
    for thread, user in threads:
        await clients[user].threads.delete(thread)


def left(home: Path) -> int:
    """How many files and folders of threads there are below a data folder."""
    return sum(len(list((home / name).glob("*"))) for name in ("threads", "artifacts", "locks"))


async def _watch(
    pid: int, operator: httpx.AsyncClient, watched: Watched, analyses: list[Seen], answers: list[float]
) -> None:
    """Look at the server until cancelled; a look that finds it busy is a look."""
    while True:
        began = time.perf_counter()
        await operator.get("/ok")
        answers.append(time.perf_counter() - began)
        watched.samples.append(await _looked(pid, operator, len(analyses)))
        await asyncio.sleep(LOOK_SECONDS)
