"""Who loses a thread's lock in the database, although they go on working, stores nothing more of it."""

import asyncio
from typing import Any

import psycopg
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph

from graph.checkpoints import advisory_lock
from graph.checkpoints import holds as holding
from graph.checkpoints.factory import open_checkpoints
from graph.checkpoints.holds import holds_of
from graph.checkpoints.thread_lock import ThreadHeldError
from graph.locked_graph import LockedGraph
from graph.settings import Settings
from graph.state import State
from graph.wiring import make_sandboxes
from tests.postgres_server import PostgresServer, in_database

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("postgres")]

ONE: RunnableConfig = {"configurable": {"thread_id": "one"}}


async def test_a_run_whose_lock_is_lost_gives_up_its_snapshot_at_once(
    settings: Settings, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else may go on with the thread; ten seconds later it must not get another step."""
    settings = in_database(settings, postgres.new_database())
    monkeypatch.setattr(holding, "LEAVING_SECONDS", 3600.0)
    monkeypatch.setattr(advisory_lock, "LOOK_SECONDS", 0.01)
    keeping, began, ended = asyncio.Event(), asyncio.Event(), list[str]()

    async def keep() -> list[str]:
        keeping.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("snapshot")
        return []

    async def first(state: Any, config: RunnableConfig) -> Any:
        holds = holds_of(config)
        assert holds is not None
        holds.begin("one", keep())
        return {"answer": "kept"}

    async def second(state: Any, config: RunnableConfig) -> Any:
        holds = holds_of(config)
        assert holds is not None
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            await holds.leave("one")

    builder: StateGraph[Any, Any, Any, Any] = StateGraph(State)
    builder.add_node("first", first)
    builder.add_node("second", second)
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    async with open_checkpoints(settings) as saver, make_sandboxes(settings) as sandboxes:
        graph = LockedGraph.around(builder.compile(checkpointer=saver, name="stepwell"), settings, sandboxes)
        running = asyncio.ensure_future(graph.ainvoke({"question": "?"}, ONE, durability="sync"))  # type: ignore[call-overload]
        await asyncio.gather(keeping.wait(), began.wait())
        async with await psycopg.AsyncConnection.connect(
            settings.database_url.get_secret_value(), autocommit=True
        ) as connection:
            await connection.execute("select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory'")
        with pytest.raises(ThreadHeldError, match="was lost"):
            await running
        assert ended == ["snapshot"]
        assert "answer" not in (await graph.aget_state(ONE)).values
