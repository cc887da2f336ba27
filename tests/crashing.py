"""A process that dies at a chosen point between a cell and its checkpoint: `python -m tests.crashing POINT DURABILITY`.

It runs the real graph on the real checkpoints of `STEPWELL_HOME`; only the saver is a subclass, which kills the process
with SIGKILL when the point is reached.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from typing import Any, Literal, cast

from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata

from graph.checkpoints.factory import open_checkpoints
from graph.checkpoints.journal import FINISHED, STARTED
from graph.checkpoints.saver import Saver
from graph.settings import Settings
from graph.wiring import make_blobs, make_sandboxes, wire
from storage.artifacts import Artifacts

Point = Literal["started", "kept", "finished", "returned", "never"]
"""After *started* was written; once the snapshot is stored; after *finished* was written; after what `execute` returned
was, before its checkpoint."""
THREAD = "5b0b9a3c-2f0e-4a8e-9c55-0d7d2f3c1a77"
CELL = 2


def die() -> None:
    """As if the machine had lost its power."""
    os.kill(os.getpid(), signal.SIGKILL)


class Crashing(Saver):
    """Dies at a point of the second cell."""

    point: Point = "never"
    started = 0

    async def _put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> None:
        """Keep the writes, then die if it is time to."""
        channels = {channel for channel, _ in writes}
        if self.point == "kept" and self.started == CELL and FINISHED in channels:
            die()
        await super()._put_writes(config, writes, task_id, task_path)  # type: ignore[safe-super]  # a real one follows
        self.started += STARTED in channels
        if self.started != CELL:
            return
        if self.point == "started" and STARTED in channels:
            die()
        if self.point == "finished" and FINISHED in channels:
            die()
        if self.point == "returned" and "cells" in channels:
            die()

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a checkpoint; late, as a slow disk would, when it is not waited for."""
        if self.point == "never":
            await asyncio.sleep(0.2)
        return await super().aput(config, checkpoint, metadata, new_versions)


async def main(point: Point, durability: Literal["sync", "async"]) -> None:
    """Ask one question on the thread."""
    settings = Settings()
    await asyncio.to_thread(settings.home.mkdir, parents=True, exist_ok=True)
    async with open_checkpoints(settings) as saver, make_sandboxes(settings) as sandboxes:
        saver.__class__ = type("CrashingSaver", (Crashing, type(saver)), {"point": point})
        builder = wire(
            settings,
            sandboxes,
            artifacts=Artifacts.at(settings.artifacts),
            blobs=make_blobs(settings),
            input_roots=None,
        )
        graph = builder.compile(checkpointer=saver, name="stepwell")
        given: Any = {"messages": [HumanMessage("Count")], "files": []}
        await graph.ainvoke(given, {"configurable": {"thread_id": THREAD}}, durability=durability)


if __name__ == "__main__":
    asyncio.run(main(cast("Point", sys.argv[1]), cast("Literal['sync', 'async']", sys.argv[2])))
