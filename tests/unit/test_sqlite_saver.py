"""The SQLite file is used by several processes: whatever happens to a run, it is not left locked."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint

from graph.checkpoints import checkpoints_file, open_checkpoints
from graph.saver import Saver
from graph.settings import Settings

AT: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "1"}}
OF_A_RUN: RunnableConfig = {**AT, "metadata": {"run_id": "a run"}}
CHANGES: dict[str, Callable[[Saver], Awaitable[object]]] = {
    "checkpoint": lambda saver: saver.aput(AT, empty_checkpoint(), {}, {}),
    "writes": lambda saver: saver.aput_writes(OF_A_RUN, [("channel", "value")], "task"),
    "deletion": lambda saver: saver.adelete_thread("t"),
    "metadata": lambda saver: saver.change_metadata("t", "key", "text"),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_that_is_cancelled_locks_nobody_out(settings: Settings, change: str) -> None:
    def begin_another() -> None:
        with sqlite3.connect(checkpoints_file(settings.home), timeout=1) as other:
            other.execute("begin immediate")
            other.rollback()
        other.close()

    async with open_checkpoints(settings) as saver:
        for steps in range(20):  # wherever it is by then
            changing = asyncio.ensure_future(CHANGES[change](saver))
            for _ in range(steps):
                await asyncio.sleep(0.0002)
            changing.cancel()
            await asyncio.wait([changing])
            await asyncio.to_thread(begin_another)


async def test_what_a_cancelled_run_was_writing_is_noted_with_its_run(settings: Settings) -> None:
    async with open_checkpoints(settings) as saver:
        for number in range(20):
            at: RunnableConfig = {
                "configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": str(number)},
                "metadata": {"run_id": "a run"},
            }
            writing = asyncio.create_task(saver.aput_writes(at, [("channel", "value")], "task"))
            for _ in range(number):
                await asyncio.sleep(0.0002)
            writing.cancel()
            await asyncio.wait([writing])
        await saver.adelete_for_runs(["a run"])
        assert await saver.written_rows("t", values=["channel"], names=[]) == []
