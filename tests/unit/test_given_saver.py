"""A saver that a server brings keeps no half of a node, and names checkpoints in their order."""

import asyncio
import errno
import os
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver

from graph.checkpoints.damage import DiskError, clear_store_failure, reporting_disk_errors
from graph.checkpoints.journal import CALLING, Journal
from graph.locked_graph import LockedGraph, adapt_saver
from graph.settings import Settings
from graph.wiring import make_sandboxes
from tests.integration.test_clocks import YEARS, other_process
from tests.integration.test_pauses import Paused


async def given(settings: Settings, saver: InMemorySaver) -> Paused:
    """The small graph, as a server that brings its own saver makes a copy of it for each request."""
    thread = Paused(saver)
    compiled: Any = thread.builder.compile(name="stepwell")
    async with make_sandboxes(settings) as sandboxes:
        around: Any = LockedGraph.around(compiled, settings, sandboxes)
        for _ in range(3):
            thread.graph = around.copy(update={"checkpointer": saver})
    return thread


async def test_a_node_that_was_broken_off_as_it_ended_runs_again(settings: Settings) -> None:
    thread = await given(settings, InMemorySaver())
    await thread.go_on({"question": "?"})
    assert (await thread.graph.aget_state(thread.config)).next == ("generate",)
    await thread.go_on()
    assert (await thread.values())["answer"] == "Done."
    assert (await thread.values())["cells"] == [{"number": 2}, {"number": 3}]


async def test_a_thread_goes_on_after_the_clock_was_set_back(settings: Settings) -> None:
    thread = await given(settings, InMemorySaver())
    thread.how = "never"
    with other_process(YEARS):
        await thread.go_on({"question": "one"})
        first = (await thread.graph.aget_state(thread.config)).config
    with other_process():
        await thread.go_on({"question": "two"})
        newest = [
            one.config["configurable"]["checkpoint_id"] async for one in thread.graph.aget_state_history(thread.config)
        ]
        assert newest == sorted(newest, reverse=True)
        assert len((await thread.values())["cells"]) == 3
    with other_process():
        await thread.graph.aupdate_state(first, {"question": "on the branch"}, as_node="generate")
        assert (await thread.values())["question"] == "on the branch"


class Full(InMemorySaver):
    """The disk that it writes to is full."""

    full = True

    async def aput(self, *arguments: Any) -> RunnableConfig:
        self._look()
        return await super().aput(*arguments)

    async def aput_writes(self, *arguments: Any) -> None:
        self._look()
        await super().aput_writes(*arguments)

    def _look(self) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/secret")


CONFIG: RunnableConfig = {"configurable": {"thread_id": "full", "checkpoint_ns": ""}}


@pytest.mark.parametrize("channel", ["", "messages"])
async def test_a_cell_whose_checkpoint_finds_no_room_does_not_wait_for_it(channel: str) -> None:
    saver, checkpoint = Full(), empty_checkpoint()
    adapt_saver(saver)
    at: RunnableConfig = {"configurable": {**CONFIG["configurable"], "checkpoint_id": checkpoint["id"]}}
    journal = Journal(saver, at, "task", "1")
    stored = saver.aput_writes(at, [(channel, 1)], "task") if channel else saver.aput(CONFIG, checkpoint, {}, {})
    with pytest.raises(OSError, match="No space"):
        await stored
    async with asyncio.timeout(30):
        with pytest.raises(DiskError) as told, reporting_disk_errors():
            await journal.look()
    assert str(told.value).startswith("The disk cannot be used (No space left on device)")
    clear_store_failure("full")
    saver.full = False
    await saver.aput(CONFIG, checkpoint, {}, {})
    assert await journal.look() is None


async def test_what_the_journal_itself_could_not_write_stops_no_other_cell() -> None:
    saver, checkpoint = Full(), empty_checkpoint()
    adapt_saver(saver)
    at: RunnableConfig = {"configurable": {**CONFIG["configurable"], "checkpoint_id": checkpoint["id"]}}
    with pytest.raises(OSError, match="No space"):
        await saver.aput_writes(at, [(CALLING, {})], "task")
    saver.full = False
    looking = asyncio.ensure_future(Journal(saver, at, "task", "1").look())
    await asyncio.sleep(0)
    await saver.aput(CONFIG, checkpoint, {}, {})
    assert await looking is None
