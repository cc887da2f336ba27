"""Reading back a long thread of a server: history, state, steps and a published file, beside LangGraph's own store."""

import asyncio
import itertools
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
from rich.console import RenderableType
from rich.table import Table

from bench.aims import Aim, aims_table
from tests.scripted_model import Call, Plain, Request, ScriptedServer
from tests.serving import DevServer

OURS, THEIRS = "Stepwell", "LangGraph's store in memory"
PRINTED = 4_000
"""Characters that each cell prints."""
ROUNDS = 7
LIMITS = (10, 100)
SECONDS = 0.5
"""What the newest ten states of a thread of 120 cells may take."""
NOTES = """\
A thread of {cells} cells of which each prints {printed} characters, made through one `langgraph dev` for each column;
then asked for what chat pages ask for after each run. Seconds, the median of {rounds}; the client is on the same
machine. LangGraph's store keeps everything in memory and loses them with the process; Stepwell's is SQLite on disk,
where each checkpoint has what was added."""


async def measure(*, quick: bool) -> AsyncIterator[RenderableType]:
    """Make a thread on both servers, read it back, and print the times."""
    cells = 30 if quick else 120
    found: dict[str, dict[str, float]] = {}
    columns: list[tuple[str, dict[str, Any]]] = [(OURS, {}), (THEIRS, {"checkpointer": {}})]
    for name, more in columns:
        with tempfile.TemporaryDirectory(prefix="stepwell-bench-") as folder:
            found[name] = await read_back(Path(folder), cells, more)
    table = Table(title=f"A thread of {cells} cells read back; load of the machine {os.getloadavg()[0]:.1f}")
    for column in ("what", OURS, THEIRS, "ratio"):
        table.add_column(column)
    for what, seconds in found[OURS].items():
        theirs = found[THEIRS].get(what)
        ratio = f"{seconds / theirs:.1f}x" if theirs else ""
        table.add_row(what, f"{seconds:.3f}", f"{theirs:.3f}" if theirs else "", ratio)
    yield table
    newest = found[OURS][f"history, newest {LIMITS[0]}"]
    aim = f"the newest {LIMITS[0]} states of a thread of {cells} cells within {SECONDS} s"
    yield aims_table([Aim(aim, f"{newest:.2f} s", newest <= SECONDS)], "History: aims")
    yield NOTES.format(cells=cells, printed=PRINTED, rounds=ROUNDS)


async def read_back(folder: Path, cells: int, more: dict[str, Any]) -> dict[str, float]:
    """Make a thread on a server of its own, and read it back.

    Args:
        folder: An empty folder.
        cells: Of the thread.
        more: Put over `langgraph.json`.

    Returns:
        By what was asked for, the seconds that it took.
    """

    numbers = itertools.count(1)

    def answer(request: Request) -> Plain:
        if request.choice == "submit_review":
            return Call("submit_review", good_enough=True, missing=[])
        if (number := next(numbers)) <= cells:
            code = f"x{number % 50} = {number}\nprint('{number} ' * {PRINTED // 4})"
            return Call("run_python", purpose=f"count {number}", step=1, code=code)
        return Call("submit_answer", answer="Done.", skipped=[])

    async with ScriptedServer(policy=answer) as model:
        settings = {"STEPWELL_MODEL": "scripted", "OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "k"}
        server = DevServer(folder, settings, more)
        try:
            await asyncio.to_thread(server.begin)
            async with httpx.AsyncClient(base_url=server.url, timeout=600) as http:
                thread = (await http.post("/threads", json={})).json()["thread_id"]
                given = {"messages": [{"role": "user", "content": "Count."}]}
                asked = {"assistant_id": "stepwell", "input": given, "context": {"max_cells": cells + 10}}
                (await http.post(f"/threads/{thread}/runs/wait", json=asked)).raise_for_status()
                return await _timed(http, thread, cells)
        finally:
            await asyncio.to_thread(server.end)


async def _timed(http: httpx.AsyncClient, thread: str, cells: int) -> dict[str, float]:
    state = (await http.get(f"/threads/{thread}/state")).json()["values"]
    if len(state["cells"]) != cells:
        raise SystemExit(f"The thread has {len(state['cells'])} cells, not {cells}.")
    asked: dict[str, tuple[str, str, Any]] = {
        "state": ("GET", f"/threads/{thread}/state", None),
        "steps": ("GET", f"/stepwell/threads/{thread}/steps", None),
        "a published file": ("GET", f"/stepwell/threads/{thread}/artifacts/analysis.py", None),
    }
    for limit in LIMITS:
        asked[f"history, newest {limit}"] = ("POST", f"/threads/{thread}/history", {"limit": limit})
    found: dict[str, list[float]] = {what: [] for what in asked}
    for _ in range(ROUNDS):
        for what, (method, path, body) in asked.items():
            began = time.perf_counter()
            (await http.request(method, path, json=body)).raise_for_status()
            found[what].append(time.perf_counter() - began)
    return {what: statistics.median(seconds) for what, seconds in found.items()}
