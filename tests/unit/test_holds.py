"""Checkpoints that wait for a snapshot are stored after it, in their order, or not at all."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph

from graph.checkpoints import holds as holding
from graph.checkpoints.factory import open_checkpoints
from graph.checkpoints.holds import Holds, holds_of
from graph.checkpoints.journal import DURABILITY, SAVER
from graph.checkpoints.saver import Saver
from graph.locked_graph import LockedGraph
from graph.settings import Settings
from graph.state import State
from graph.wiring import make_sandboxes

ONE: RunnableConfig = {"configurable": {"thread_id": "one"}}
TWO: RunnableConfig = {"configurable": {"thread_id": "two"}}


class Stored:
    """What was stored, and a snapshot that is there when it is let."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.go = asyncio.Event()

    async def keep(self) -> list[str]:
        await self.go.wait()
        self.names.append("snapshot")
        return ["told"]

    async def fail(self) -> list[str]:
        await self.go.wait()
        raise OSError("no room")

    def put(self, name: str) -> Callable[[], Awaitable[Any]]:
        async def put() -> None:
            await asyncio.sleep(0)
            self.names.append(name)

        return put


async def test_what_waits_is_stored_after_the_snapshot_and_in_its_order() -> None:
    stored, holds = Stored(), Holds()
    holds.begin("one", stored.keep())
    assert holds.defers(ONE, stored.put("writes"))
    assert holds.defers(ONE, stored.put("checkpoint"))
    assert not holds.defers(TWO, stored.put("other"))
    settling = asyncio.ensure_future(holds.settle("one"))
    reading = asyncio.ensure_future(holds.wait("one"))
    await asyncio.sleep(0)
    assert stored.names == []
    stored.go.set()
    assert await settling == ["told"]
    await reading
    assert stored.names == ["snapshot", "writes", "checkpoint"]
    assert not holds.defers(ONE, stored.put("next"))
    assert await holds.settle("one") == []


async def test_the_model_is_asked_before_a_snapshot_is_begun_and_who_waits_for_it_begins_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stored, holds = Stored(), Holds()
    begun = asyncio.Event()

    async def keep() -> list[str]:
        begun.set()
        return await stored.keep()

    stored.go.set()
    holds.begin("one", keep())
    await begun.wait()  # nobody has asked for it
    assert await holds.settle("one") == ["told"]
    monkeypatch.setattr(holding, "BEGIN_SECONDS", 3_600.0)
    begun.clear()
    holds.begin("one", keep())
    for _ in range(20):
        await asyncio.sleep(0)
    assert not begun.is_set()
    assert await holds.settle("one") == ["told"]
    begun.clear()
    holds.begin("one", keep())
    holds.abandon("one")
    with pytest.raises(asyncio.CancelledError):
        await holds.settle("one")
    assert not begun.is_set()


async def test_what_comes_while_one_waits_is_waited_for_too() -> None:
    stored, holds = Stored(), Holds()

    async def put_and_add() -> None:
        stored.names.append("writes")
        assert holds.defers(ONE, stored.put("checkpoint"))

    holds.begin("one", stored.keep())
    assert holds.defers(ONE, put_and_add)
    stored.go.set()
    await holds.settle("one")
    assert stored.names == ["snapshot", "writes", "checkpoint"]


async def test_after_a_snapshot_that_cannot_be_written_down_nothing_is_stored() -> None:
    stored, holds = Stored(), Holds()
    holds.begin("one", stored.fail())
    assert holds.defers(ONE, stored.put("checkpoint"))
    stored.go.set()
    await holds.wait("one")  # a reader finds what was there before
    assert stored.names == []
    holds.begin("one", stored.fail())
    assert holds.defers(ONE, stored.put("checkpoint"))
    with pytest.raises(OSError, match="no room"):
        await holds.settle("one")
    assert stored.names == []
    assert not holds.defers(ONE, stored.put("next"))


async def test_what_came_of_it_is_told_to_the_run_though_somebody_has_read_the_thread_meanwhile() -> None:
    stored, holds = Stored(), Holds()
    stored.go.set()
    holds.begin("one", stored.fail())
    await holds.wait("one")
    assert holds.defers(ONE, stored.put("checkpoint of a run that has lost its step"))
    with pytest.raises(OSError, match="no room"):
        await holds.settle("one")
    holds.begin("one", stored.keep())
    await holds.wait("one")
    assert await holds.settle("one") == ["told"]
    assert stored.names == ["snapshot"]


async def test_copies_of_a_saver_wait_for_the_same(settings: Settings) -> None:
    async with open_checkpoints(settings) as saver:
        copy = saver.with_allowlist({("collections", "Counter")})  # as LangGraph makes one for each graph
        assert copy is not saver
        assert isinstance(copy, Saver)
        assert copy.holds is saver.holds


async def test_a_run_that_ends_where_the_model_would_be_asked_waits_for_its_snapshot(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holding, "LEAVING_SECONDS", 0.0)

    async def keep() -> list[str]:
        await asyncio.sleep(0.1)  # longer than the run's last steps
        return []

    async def first(state: Any, config: RunnableConfig) -> Any:
        holds = holds_of(config)
        assert holds is not None
        holds.begin("one", keep())
        return {"answer": "kept"}

    async def second(state: Any) -> Any:
        return {"answer": "told"}

    builder: StateGraph[Any, Any, Any, Any] = StateGraph(State)
    builder.add_node("first", first)
    builder.add_node("second", second)
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    async with open_checkpoints(settings) as saver, make_sandboxes(settings) as sandboxes:
        graph = LockedGraph.around(builder.compile(checkpointer=saver, name="stepwell"), settings, sandboxes)
        await graph.ainvoke({"question": "?"}, ONE, interrupt_after=["first"])  # type: ignore[call-overload]
        state = await graph.aget_state(ONE)
        assert (state.next, state.values["answer"]) == (("second",), "kept")


async def test_two_runs_within_one_run_of_a_thread_come_one_after_the_other(settings: Settings) -> None:
    """They have one sandbox and one line of steps, so neither sees the other's snapshot while that is pending."""
    seen: list[str] = []

    def child(name: str) -> StateGraph[Any, Any, Any, Any]:
        async def keep() -> list[str]:
            await asyncio.sleep(0)
            seen.append(f"{name} kept")
            return [name]

        async def first(state: Any, config: RunnableConfig) -> Any:
            seen.append(f"{name} begun")
            holds = holds_of(config)
            assert holds is not None
            holds.begin("one", keep())
            return {}

        async def second(state: Any, config: RunnableConfig) -> Any:
            holds = holds_of(config)
            assert holds is not None
            assert await holds.settle("one") == [name]
            seen.append(f"{name} ended")
            return {}

        builder: StateGraph[Any, Any, Any, Any] = StateGraph(State)
        builder.add_node("first", first)
        builder.add_node("second", second)
        builder.add_edge(START, "first")
        builder.add_edge("first", "second")
        return builder

    async with open_checkpoints(settings) as saver, make_sandboxes(settings) as sandboxes:
        parent: StateGraph[Any, Any, Any, Any] = StateGraph(State)

        def calling(graph: Any) -> Any:
            async def call(state: Any, config: RunnableConfig) -> Any:
                await graph.ainvoke({"question": "?"}, config)
                return {}

            return call

        for name in ("a", "b"):
            compiled = child(name).compile(name="stepwell")
            parent.add_node(name, calling(LockedGraph.around(compiled, settings, sandboxes)))
            parent.add_edge(START, name)
        await parent.compile(checkpointer=saver).ainvoke({"question": "?"}, ONE)
    one, other = (seen[0][0], seen[3][0])
    assert seen == [f"{name} {what}" for name in (one, other) for what in ("begun", "kept", "ended")]


async def test_who_leaves_gives_up_what_takes_long_and_a_reader_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holding, "LEAVING_SECONDS", 0.0)
    stored, holds = Stored(), Holds()
    holds.begin("one", stored.keep())
    assert holds.defers(ONE, stored.put("checkpoint"))
    reading = asyncio.ensure_future(holds.wait("one"))
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert holds.defers(ONE, stored.put("more"))
    await holds.leave()
    assert stored.names == []
    assert not holds.defers(ONE, stored.put("next"))


async def test_of_a_thread_that_was_lost_nothing_more_is_stored() -> None:
    stored, holds = Stored(), Holds()
    holds.begin("one", stored.keep())
    assert holds.defers(ONE, stored.put("checkpoint"))
    holds.abandon("one")
    holds.abandon("two")
    stored.go.set()
    with pytest.raises(asyncio.CancelledError):
        await holds.settle("one")
    assert stored.names == []


async def test_what_is_being_stored_when_a_thread_is_lost_is_the_last() -> None:
    stored, holds = Stored(), Holds()
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def put_slowly() -> None:
        begun.set()
        await go_on.wait()
        stored.names.append("writes")

    stored.go.set()
    holds.begin("one", stored.keep())
    assert holds.defers(ONE, put_slowly)
    assert holds.defers(ONE, stored.put("checkpoint"))
    await begun.wait()
    holds.abandon("one")
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await holds.settle("one")
    assert stored.names == ["snapshot", "writes"]


async def test_who_is_cancelled_leaves_once_it_is_stored() -> None:
    stored, holds = Stored(), Holds()
    holds.begin("one", stored.keep())
    assert holds.defers(ONE, stored.put("checkpoint"))
    settling = asyncio.ensure_future(holds.settle("one"))
    await asyncio.sleep(0)
    settling.cancel()
    await asyncio.sleep(0)
    stored.go.set()
    with pytest.raises(asyncio.CancelledError):
        await settling
    assert stored.names == ["snapshot", "checkpoint"]


def test_only_a_saver_of_ours_that_stores_on_the_way_can_wait() -> None:
    assert holds_of(None) is None
    assert holds_of({"configurable": {SAVER: InMemorySaver()}}) is None

    class Mine(InMemorySaver):
        holds = Holds()

    mine = Mine()
    assert holds_of({"configurable": {SAVER: mine, DURABILITY: "sync"}}) is mine.holds
    assert holds_of({"configurable": {SAVER: mine, DURABILITY: "exit"}}) is None
