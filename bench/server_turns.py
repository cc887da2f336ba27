"""How long one user of a server waits for the first cell while another has asked for fifty runs at once."""

import asyncio
import contextlib
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from rich.console import RenderableType
from rich.table import Table

from bench.aims import Aim, aims_table
from bench.analysing import CELLS, table_of
from tests.serving import DevServer, with_keys

ASKED = 50
"""Runs of the other user."""
AIM_SECONDS = 2.0
JOBS = 10
"""What `langgraph dev` works on at a time unless it is told otherwise."""
PATIENCE = 600.0
NOTES = """\
Seconds from asking for a run to its first cell (`cell_started` in its stream), with inputs, sandbox and plan, medians
and the slowest: of one user alone, and while another has asked for {asked} runs of the playbook's whole analysis at
once. One `langgraph dev` with {jobs} workers and the default policy; without turns, as many runs of a user as there
are workers. The server, its sandboxes and the clients share the machine's processors, so others' work is in it."""


@dataclass
class Waits:
    """Seconds to the first cell, of each analysis."""

    name: str
    alone: list[float]
    beside: list[float]
    left: int
    """Runs of the other user that were not over when the last of these was."""

    @property
    def more(self) -> float:
        """How much longer the slowest took beside the others."""
        return max(self.beside) - statistics.median(self.alone)


async def measure(*, quick: bool) -> AsyncIterator[RenderableType]:
    """Measure with turns, and without.

    Args:
        quick: Fewer analyses, and not without turns.
    """
    found = []
    for name, runs in (("in turn", 0),) if quick else (("in turn", 0), ("whoever comes first", ASKED + 1)):
        with tempfile.TemporaryDirectory(prefix="stepwell-bench-") as folder:
            found.append(await waits(Path(folder), name, runs, rounds=2 if quick else 5))
    load = " / ".join(f"{one:.1f}" for one in os.getloadavg())
    table = Table(title=f"Beside {ASKED} runs of another user; load of the machine at the end {load}")
    for column in ("", "alone, s", "beside, s", "slowest beside, s", "more, s", "ratio", "of his not over"):
        table.add_column(column, justify="left" if not column else "right")
    for one in found:
        alone, beside = statistics.median(one.alone), statistics.median(one.beside)
        slowest = max(one.beside)
        numbers = [f"{number:.2f}" for number in (alone, beside, slowest, one.more)]
        table.add_row(one.name, *numbers, f"{slowest / alone:.1f}x", str(one.left))
    yield table
    reached = found[0].more
    yield aims_table(
        [Aim(f"at most {AIM_SECONDS:g} s more than alone", f"{reached:.2f} s", reached <= AIM_SECONDS)], "Turns: aims"
    )
    yield NOTES.format(asked=ASKED, jobs=JOBS)


async def waits(folder: Path, name: str, runs: int, *, rounds: int) -> Waits:
    """Start a server, and measure.

    Args:
        folder: An empty folder.
        name: Which row of the table.
        runs: A user may have at a time; 0: the default.
        rounds: Analyses alone, and as many beside.
    """
    settings, keys = with_keys(folder / "settings", "alice", "bob")
    if runs:
        (folder / "settings" / "policy.toml").write_text(f"[quotas]\nruns = {runs}\nsandboxes = {runs}\n")
        settings["STEPWELL_POLICY"] = str(folder / "settings" / "policy.toml")
    server = DevServer(folder, settings)
    try:
        await asyncio.to_thread(server.begin, JOBS)
        alice, bob = (get_client(url=server.url, api_key=keys[user], timeout=PATIENCE) for user in ("alice", "bob"))
        await first_cell(alice, 1)  # what comes once: imports, a parent of sandboxes
        alone = [await first_cell(alice, 100 + number) for number in range(rounds)]
        asked = await _ask(bob, wanted=min(runs or 3, JOBS))
        beside = [await first_cell(alice, 200 + number) for number in range(rounds)]
        left = sum(not one.done() for one in asked)
        for one in asked:
            one.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        return Waits(name, alone, beside, left)
    finally:
        await asyncio.to_thread(server.end)


async def _ask(client: LangGraphClient, *, wanted: int) -> list[asyncio.Task[None]]:
    """Ask for all runs at once; returns when as many are at work as can be."""
    at_work = asyncio.Semaphore(0)

    async def one(number: int) -> None:
        thread = (await client.threads.create())["thread_id"]
        given = await _given(client, number)
        async for part in client.runs.stream(thread, "stepwell", input=given, stream_mode="custom"):
            if part.event == "custom" and part.data.get("event") == "cell_started":
                at_work.release()

    asked = [asyncio.create_task(one(300 + number)) for number in range(ASKED)]
    for _ in range(wanted):
        await at_work.acquire()
    return asked


async def first_cell(client: LangGraphClient, number: int) -> float:
    """Seconds until the first cell of a small analysis begins; waits for its end."""
    given = await _given(client, number)
    thread = (await client.threads.create())["thread_id"]
    began, seconds = time.perf_counter(), 0.0
    stream = client.runs.stream(thread, "stepwell", input=given, context={"max_cells": CELLS}, stream_mode="custom")
    async with contextlib.aclosing(stream) as parts:  # type: ignore[type-var]  # a generator
        async for part in parts:
            if not seconds and part.event == "custom" and part.data.get("event") == "cell_started":
                seconds = time.perf_counter() - began
    if not seconds:
        raise SystemExit("An analysis had no cell.")
    return seconds


async def _given(client: LangGraphClient, number: int) -> dict[str, Any]:
    name = f"mark{number:04}.csv"
    sent = await client.http.client.post("/stepwell/uploads", params={"name": name}, content=table_of(number).encode())
    sent.raise_for_status()
    question = {"role": "user", "content": f"What stands out in {name}?"}
    return {"messages": [question], "files": [sent.json()["file"]]}
