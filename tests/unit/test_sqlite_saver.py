"""The SQLite file is used by several processes: whatever happens to a run, it is not left locked."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint

from graph.checkpoints.damage import DamagedThreadError, reporting_damage
from graph.checkpoints.factory import checkpoints_file, open_checkpoints
from graph.checkpoints.saver import Saver
from graph.checkpoints.sqlite_saver import SqliteSaver
from graph.settings import Settings, SettingsError

AT: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "1"}}
OF_A_NODE = "~__pregel_pull, execute"
OF_A_RUN: RunnableConfig = {**AT, "metadata": {"run_id": "a run"}}
CHANGES: dict[str, Callable[[Saver], Awaitable[object]]] = {
    "checkpoint": lambda saver: saver.aput(AT, empty_checkpoint(), {}, {}),
    "writes": lambda saver: saver.aput_writes(OF_A_RUN, [("channel", "value")], "task", OF_A_NODE),
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


async def test_a_process_that_writes_for_long_is_named_as_the_reason(settings: Settings) -> None:
    async with open_checkpoints(settings):
        pass
    with pytest.raises(SettingsError, match=r"\(database is locked\); another process has been writing to it"):
        await claim_while_another_writes(settings)


async def claim_while_another_writes(settings: Settings) -> None:
    async with open_checkpoints(settings) as saver:
        assert isinstance(saver, SqliteSaver)
        await saver.conn.execute("pragma busy_timeout = 1")
        with closing(sqlite3.connect(checkpoints_file(settings.home))) as other:
            other.execute("begin immediate")
            await saver.claim("t", "somebody")


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


async def test_a_thread_that_is_read_while_its_process_ends_is_not_called_damaged(settings: Settings) -> None:
    async with open_checkpoints(settings) as saver:
        await saver.aput(AT, empty_checkpoint(), {}, {})
    for read in (saver.aget_tuple(AT), saver.checkpoint_rows("t"), saver.written_rows("t", values=["a"], names=[])):
        with pytest.raises(ValueError, match=r"Connection closed|no active connection"):
            await read


def test_a_mistake_of_ours_is_not_called_damage_and_what_damage_is_keeps_its_cause() -> None:
    with pytest.raises(NameError), reporting_damage("t"):
        raise NameError("no_such_name")
    with pytest.raises(DamagedThreadError) as damage, reporting_damage("t"):
        b"\xff".decode()
    assert isinstance(damage.value.__cause__, UnicodeDecodeError)


@pytest.mark.parametrize(("path", "looked_for"), [("", False), (OF_A_NODE, True)])
async def test_what_a_broken_off_task_left_is_looked_for_where_a_node_writes_and_not_for_each_entry_of_the_journal(
    settings: Settings, path: str, looked_for: bool
) -> None:
    statements: list[str] = []
    async with open_checkpoints(settings) as saver:
        assert isinstance(saver, SqliteSaver)
        await saver.conn.set_trace_callback(statements.append)
        await saver.aput_writes(OF_A_RUN, [("channel", "value")], "task", path)
    assert any("insert" in one.lower() for one in statements)
    assert any(one.startswith("delete from writes") for one in statements) == looked_for
