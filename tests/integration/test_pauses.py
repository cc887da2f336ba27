"""A pause at any instant leaves a thread that goes on: never one that is finished without its answer."""

import asyncio
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph._internal import _constants
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.types import ERROR
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

from graph.checkpoints.saver import Saver
from graph.checkpoints.task_writes import BY_ITSELF, ERROR_SOURCE
from graph.events import Event, Finished
from graph.settings import Settings
from graph.state import State
from stepwell.runs import Run, resume, start
from stepwell.threads import read_thread
from tests.analyses import with_model
from tests.integration.test_resume import APPEND
from tests.scripted_model import Call, ScriptedServer
from tests.steady_model import steady

pytestmark = [pytest.mark.xdist_group("postgres")]


class Paused:
    """A small graph whose run is cancelled once, after a node has written its values and before the next is chosen."""

    def __init__(self, saver: BaseCheckpointSaver[Any]) -> None:
        builder: StateGraph[Any, None, Any, Any] = StateGraph(State)
        builder.add_node("generate", self._generate)
        builder.add_node("upload", self._upload)
        builder.add_edge(START, "generate")
        builder.add_conditional_edges("generate", self._choose, ["generate", "upload"])
        builder.add_edge("upload", END)
        self.builder = builder
        self.graph: Any = builder.compile(checkpointer=saver)
        self.saver = saver
        self.config: RunnableConfig = {"configurable": {"thread_id": str(uuid.uuid4())}}
        self.generated = 0
        self.how: Literal["cancel", "fail", "never"] = "cancel"
        self._run: asyncio.Task[Any] | None = None

    async def _generate(self, state: Any) -> Any:
        self.generated += bool(state["question"])
        return {"cells": [{"number": self.generated}], "question": f"time {self.generated}"}

    async def _upload(self, state: Any) -> Any:
        return {"answer": "Done." if state["cells"] else ""}

    async def _choose(self, state: Any) -> str:
        how, self.how = self.how, "never"
        if how == "cancel":
            assert self._run is not None
            self._run.cancel()
            await asyncio.Event().wait()
        if how == "fail":
            raise ValueError("of the choice")
        return "generate" if len(state["cells"]) < 2 else "upload"

    async def go_on(self, given: Any = None) -> None:
        """Run until it is cancelled, fails or ends."""
        self._run = asyncio.create_task(self._follow(given))
        with suppress(asyncio.CancelledError, ValueError):
            await self._run

    async def _follow(self, given: Any) -> None:
        async for _ in self.graph.astream(given, self.config, stream_mode="custom", durability="sync"):
            pass

    async def stored(self) -> None:
        """Wait until how the broken-off task ended is stored, for which LangGraph does not wait."""
        while not any(channel == ERROR for _, channel, _ in await self._pending()):
            await asyncio.sleep(0.01)

    async def _pending(self) -> Sequence[Any]:
        found = await self.saver.aget_tuple(self.config)
        return (found and found.pending_writes) or ()

    async def values(self) -> Any:
        """State now."""
        return (await self.graph.aget_state(self.config)).values


class AsBefore(Saver):
    """Stores and reads what tasks wrote as LangGraph's own savers do, and as earlier versions of ours did."""

    library: type[Any]

    async def aget_tuple(self, config: RunnableConfig) -> Any:
        return await self.library.aget_tuple(self, config)

    async def aput_writes(self, config: RunnableConfig, writes: Any, task_id: str, task_path: str = "") -> None:
        await self.library.aput_writes(self, config, writes, task_id, task_path)


def as_before(saver: Saver) -> type[Any]:
    """Make a graph's saver, which may be a copy of the one it was given, an earlier version; returns what it is now."""
    now = type(saver)
    library = AsyncSqliteSaver if isinstance(saver, AsyncSqliteSaver) else AsyncPostgresSaver
    saver.__class__ = type("AsBeforeSaver", (AsBefore, now), {"library": library})
    return now


@pytest.mark.parametrize("how", ["cancel", "fail"])
async def test_a_node_that_was_broken_off_as_it_ended_runs_again(
    saver: Saver, how: Literal["cancel", "fail", "never"]
) -> None:
    thread = Paused(saver)
    thread.how = how
    await thread.go_on({"question": "?"})
    assert thread.generated == 1
    assert (await thread.graph.aget_state(thread.config)).next == ("generate",)
    await thread.go_on()
    values = await thread.values()
    assert values["answer"] == "Done."
    assert values["cells"] == [{"number": 2}, {"number": 3}]


async def test_a_thread_that_an_earlier_version_left_so_goes_on_with_nothing_of_the_broken_off_try(
    saver: Saver,
) -> None:
    thread = Paused(saver)
    now = as_before(thread.graph.checkpointer)
    await thread.go_on({"question": "?"})
    await thread.stored()
    thread.graph.checkpointer.__class__ = now
    assert (await thread.graph.aget_state(thread.config)).next == ("generate",)
    await thread.go_on()
    values = await thread.values()
    assert (values["answer"], values["question"]) == ("Done.", "time 3")
    assert values["cells"] == [{"number": 2}, {"number": 3}]


async def test_a_thread_that_an_earlier_version_took_as_finished_is_opened_again(saver: Saver) -> None:
    thread = Paused(saver)
    now = as_before(thread.graph.checkpointer)
    await thread.go_on({"question": "?"})
    await thread.stored()
    await thread.go_on()
    thread.graph.checkpointer.__class__ = now
    state = await thread.graph.aget_state(thread.config)
    assert (state.next, state.values.get("answer")) == ((), None)
    id = thread.config["configurable"]["thread_id"]
    assert await saver.discard_false_end(id)
    assert not await saver.discard_false_end(id)
    await thread.go_on()
    assert (await thread.values())["cells"] == [{"number": 2}, {"number": 3}]
    assert (await thread.values())["answer"] == "Done."
    assert not await saver.discard_false_end(id)
    assert not await saver.discard_false_end("nobody")


async def test_what_failed_and_then_ended_well_is_not_opened_again(saver: Saver) -> None:
    thread = Paused(saver)
    thread.how = "never"
    builder: StateGraph[Any, None, Any, Any] = StateGraph(State)
    tries = 0

    async def upload(state: Any) -> Any:
        nonlocal tries
        tries += bool(state["question"])
        if tries == 1:
            raise ValueError("the first time")
        return {"answer": f"Try {tries}."}

    builder.add_node("upload", upload)
    builder.add_edge(START, "upload")
    thread.graph = builder.compile(checkpointer=saver)
    await thread.go_on({"question": "?"})
    await thread.go_on()
    assert (await thread.values())["answer"] == "Try 2."
    assert not await saver.discard_false_end(thread.config["configurable"]["thread_id"])


def test_the_names_of_langgraph_are_those_of_the_installed_version() -> None:
    assert _constants.ERROR_SOURCE_NODE == ERROR_SOURCE
    assert _constants.NULL_TASK_ID == BY_ITSELF


async def paused_after(run: Run, events: int) -> list[Event]:
    """Follow a run and cancel it after so many events; all of them when it ends before."""
    seen: list[Event] = []
    enough = asyncio.Event()

    async def consume() -> None:
        async for event in run:
            seen.append(event)
            if len(seen) == events:
                enough.set()

    task, wait = asyncio.create_task(consume()), asyncio.create_task(enough.wait())
    await asyncio.wait([task, wait], return_when=asyncio.FIRST_COMPLETED)
    task.cancel()
    wait.cancel()
    with suppress(asyncio.CancelledError):
        await task
    return seen


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_a_run_that_is_paused_after_each_of_its_events_comes_to_the_same_end(settings: Settings) -> None:
    cells = [Call("run_python", purpose=f"append {n}", step=1, code=APPEND.format(n)) for n in (1, 2)]
    async with ScriptedServer(policy=steady(cells)) as server:
        model = with_model(settings, server.base_url)
        run = start("Append", settings=model)
        events, pauses = await paused_after(run, 2), 1
        while not isinstance(events[-1], Finished):
            assert pauses < 60, [type(event).__name__ for event in events]
            detail = await read_thread(run.thread, settings)
            if detail.status == "finished":
                break
            assert detail.status == "paused"
            # An event later each time, and each twice: the first ones are of what was on its way, so it gets on.
            events, pauses = await paused_after(resume(run.thread, settings=model), 2 + pauses // 2), pauses + 1
        state = (await read_thread(run.thread, settings)).state
    assert pauses > 5
    assert state["answer"] == "Done."
    assert [cell["status"] for cell in state["cells"]] == ["ok", "ok"]
    log = next(one for one in state["artifacts"] if one["name"] == "log.txt")
    assert await asyncio.to_thread(Path(log["url"]).read_text) == "1\n2\n"
