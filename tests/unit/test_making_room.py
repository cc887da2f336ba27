"""`gc`: what users brought does not keep it from working."""

import asyncio
import hashlib
from pathlib import Path

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint

from graph.checkpoints.factory import open_checkpoints
from graph.settings import Settings
from graph.wiring import make_blobs
from stepwell.cleanup import gc
from storage.compression import MAGIC, WHOLE


async def test_an_input_that_is_small_in_the_store_and_large_outside_does_not_stop_gc(
    settings: Settings, tmp_path: Path
) -> None:
    file = tmp_path / "zeros.zst"
    content = MAGIC + b"\0" * WHOLE
    await asyncio.to_thread(file.write_bytes, content)
    name = hashlib.sha256(content).hexdigest()
    await make_blobs(settings).add_file(file, name)
    at: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    async with open_checkpoints(settings) as saver:
        await saver.aput(at, {**empty_checkpoint(), "channel_values": {"inputs": [{"sha256": name}]}}, {}, {})
    swept = await gc(settings=settings, grace=-1)
    assert (swept.removed, swept.kept) == (0, 1)


async def test_inputs_in_the_store_are_counted_and_go_with_their_last_thread(
    settings: Settings, tmp_path: Path
) -> None:
    names = []
    for content in (b"brought", b"published"):
        file = tmp_path / content.decode()
        await asyncio.to_thread(file.write_bytes, content)
        names.append(hashlib.sha256(content).hexdigest())
        await make_blobs(settings).add_file(file, names[-1])
    at: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    values = {"artifacts": [{"sha256": names[1]}]}
    async with open_checkpoints(settings) as saver:
        kept = await saver.aput(at, {**empty_checkpoint(), "channel_values": values}, {}, {})
        await saver.aput_writes(kept, [("inputs", [{"path": "inputs/brought", "sha256": names[0]}])], "task")
    swept = await gc(settings=settings, grace=-1)
    assert (swept.removed, swept.kept, swept.inputs, swept.inputs_bytes) == (0, 2, 1, len(b"brought"))
    async with open_checkpoints(settings) as saver:
        await saver.adelete_thread("t")
    swept = await gc(settings=settings, grace=-1)
    assert (swept.removed, swept.kept, swept.inputs) == (2, 0, 0)
