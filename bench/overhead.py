"""What the whole graph costs per cell, beside the bare kernel: checkpoints, prompts, events, all included."""

import statistics
import tempfile
import time
import uuid
from pathlib import Path

from langchain_core.messages import HumanMessage
from rich.table import Table

from bench.scripted import ScriptedChat
from graph.build import build_graph
from graph.checkpoints.factory import checkpoints_file, open_checkpoints
from graph.context import Context
from graph.settings import Settings
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.opening import Sandboxes
from storage.artifacts import Artifacts
from storage.blobs import Blobs
from storage.inputs import InputSource

CELLS = 40
ROUNDS = 3
CODE = "total = sum(range(1000))\nprint(total)"


async def measure() -> Table:
    """Interleaved rounds of the same 40 cells: through the kernel alone, and through the graph with SQLite."""
    kernel: list[float] = []
    graph: list[float] = []
    size = 0
    for _ in range(ROUNDS):
        kernel.append(await _kernel_alone())
        seconds, size = await _whole_graph()
        graph.append(seconds)
    table = Table(title=f"Overhead per cell ({CELLS} cells, median of {ROUNDS} interleaved rounds)")
    table.add_column("")
    table.add_column("ms per cell", justify="right")
    table.add_column("against the kernel", justify="right")
    bare, whole = statistics.median(kernel), statistics.median(graph)
    table.add_row("bare kernel (local sandbox)", f"{1_000 * bare / CELLS:.2f}", "1")
    table.add_row('whole graph (SQLite, durability "sync")', f"{1_000 * whole / CELLS:.2f}", f"{whole / bare:.1f}")
    table.add_row(f"checkpoints on disk: {size / 1e6:.2f} MB", "", "")
    return table


async def _kernel_alone() -> float:
    with tempfile.TemporaryDirectory() as folder:
        async with Sandboxes(Path(folder) / "threads") as sandboxes:
            sandbox = await sandboxes.open("local", "bench")
            await sandbox.run("import pandas", number=0, timeout=60)
            started = time.perf_counter()
            for number in range(1, CELLS + 1):
                await sandbox.run(CODE, number=number, timeout=60)
            return time.perf_counter() - started


async def _whole_graph() -> tuple[float, int]:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        model = ScriptedChat(cells=["import pandas", *[CODE] * CELLS])
        marks: dict[int, float] = {}

        async def choose(name: str) -> ScriptedChat:
            return model

        async with Sandboxes(home / "threads") as sandboxes, open_checkpoints(Settings(home=home)) as saver:
            builder = build_graph(
                choose_model=choose,
                open_sandbox=sandboxes.open,
                inputs=InputSource(),
                artifacts=Artifacts(str(home / "artifacts")),
                snapshots=SnapshotStore(Blobs.at(str(home / "blobs"))),
            )
            compiled = builder.compile(checkpointer=saver)
            async for data in compiled.astream(
                {"messages": [HumanMessage("Do it")]},
                {"configurable": {"thread_id": str(uuid.uuid4())}, "recursion_limit": 10_000},
                context=Context(max_cells=1_000),
                stream_mode="custom",
                durability="sync",
            ):
                if data["event"] == "cell_finished":
                    marks[data["cell"]["number"]] = time.perf_counter()
        return marks[CELLS + 1] - marks[1], checkpoints_file(home).stat().st_size
