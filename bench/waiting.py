"""How long the model waits after a cell, when the step is kept while it is asked."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path

from langchain_core.messages import HumanMessage

from bench.scripted import ScriptedChat
from graph.build import build_graph
from graph.checkpoints.factory import open_checkpoints
from graph.context import Context
from graph.settings import Settings
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Sandbox
from sandboxes.opening import Sandboxes
from server.readiness import freeze_heap
from storage.artifacts import Artifacts
from storage.blobs import Blobs
from storage.inputs import InputSource


async def until_asked(cells: Sequence[str], inputs: Path | None, folder: Path) -> list[float]:
    """Run cells through the graph, with a model that answers at once.

    Args:
        cells: What the model wants to run, one after the other.
        inputs: A folder whose files the sandbox gets, if it is there.
        folder: A new folder.

    Returns:
        The seconds from when each cell was said to have ended until the model's client was called.
    """
    return [spent async for spent in waits(cells, inputs, folder)]


async def waits(
    cells: Sequence[str], inputs: Path | None, folder: Path, *, max_cells: int = 100
) -> AsyncIterator[float]:
    """The same, one after the other, while the cells run; each comes when the model has answered.

    Args:
        cells: As there.
        inputs: As there.
        folder: As there.
        max_cells: How many the turn may have.
    """
    settings = await asyncio.to_thread(partial(Settings, home=folder))
    files = await asyncio.to_thread(lambda: sorted(inputs.glob("*")) if inputs is not None else [])
    model = ScriptedChat(cells=list(cells))

    async def choose(name: str) -> ScriptedChat:
        return model

    async with Sandboxes(folder / "threads") as sandboxes, open_checkpoints(settings) as saver:
        filled: set[str] = set()

        async def opened(kind: str, id: str) -> Sandbox:
            sandbox = await sandboxes.open(kind, id)
            for file in files if id not in filled else []:
                await sandbox.put(file, f"inputs/{file.name}")
            filled.add(id)
            return sandbox

        builder = build_graph(
            choose_model=choose,
            open_sandbox=opened,
            inputs=InputSource(),
            artifacts=Artifacts(str(folder / "artifacts")),
            snapshots=SnapshotStore(Blobs.at(str(folder / "blobs"))),
        )
        freeze_heap()  # as a server does
        ended = 0.0
        async for data in builder.compile(checkpointer=saver).astream(
            {"messages": [HumanMessage("Do it")]},
            {"configurable": {"thread_id": str(uuid.uuid4())}, "recursion_limit": 10 * max_cells},
            context=Context(max_cells=max_cells),
            stream_mode="custom",
            durability="sync",
        ):
            if data["event"] == "cell_finished":
                ended = time.perf_counter()
            elif data["event"] == "model_answered" and ended:
                yield model.asked - ended
                ended = 0.0
