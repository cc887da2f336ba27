"""Fits a store of checkpoints that a server gives the graph, and that is not ours, to what Stepwell asks of one.

LangGraph's own server gives an adapter around our saver, and makes one for each request; Aegra gives a saver of
LangGraph's, the same one to all. What is changed is changed in that object alone.
"""

from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint, CheckpointTuple

from graph.checkpoints.damage import noting_failure
from graph.checkpoints.order import go_on_after
from graph.checkpoints.saver import Saver
from graph.checkpoints.task_writes import Write, whole_writes

FITTED = "_stepwell_fitted"


def fit(checkpointer: object) -> None:
    """Have a saver that is not ours keep no half of what a node wrote, and name checkpoints in their order.

    Why it could not store a checkpoint is noted.

    An adapter around ours gets no more than its way to read growing channels: its own reads one whole checkpoint for
    each that came before, for each state of a thread's history, which is seconds for a thread of a hundred cells.
    """
    if not isinstance(checkpointer, BaseCheckpointSaver) or isinstance(checkpointer, Saver):
        return
    read = getattr(checkpointer, "read_growing_channels", None)
    if read is not None:
        checkpointer.aget_delta_channel_history = read  # type: ignore[method-assign]
    elif FITTED not in vars(checkpointer):
        setattr(checkpointer, FITTED, True)
        _fit(checkpointer)


def _fit(checkpointer: BaseCheckpointSaver[Any]) -> None:
    store, put = checkpointer.aput, checkpointer.aput_writes
    get, listed = checkpointer.aget_tuple, checkpointer.alist

    async def aput(config: RunnableConfig, checkpoint: Checkpoint, *others: Any) -> RunnableConfig:
        with noting_failure(config):
            return await store(config, checkpoint, *others)

    async def aput_writes(config: RunnableConfig, writes: Sequence[Write], task_id: str, task_path: str = "") -> None:
        with noting_failure(config, writes):
            await put(config, whole_writes(writes), task_id, task_path)

    async def aget_tuple(config: RunnableConfig) -> CheckpointTuple | None:
        found = newest = await get(config)
        if found is None:
            return None
        at = found.config["configurable"]
        if (config.get("configurable") or {}).get("checkpoint_id"):
            thread = {"thread_id": at["thread_id"], "checkpoint_ns": at.get("checkpoint_ns", "")}
            async for one in listed({"configurable": thread}, limit=1):
                newest = one
        go_on_after(str((newest or found).config["configurable"]["checkpoint_id"]))
        return found

    checkpointer.aput = aput  # type: ignore[assignment,method-assign]
    checkpointer.aput_writes = aput_writes  # type: ignore[method-assign]
    checkpointer.aget_tuple = aget_tuple  # type: ignore[method-assign]
