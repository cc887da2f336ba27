"""The model is asked while the snapshot of the cell before is taken, and no checkpoint names what is not on disk."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from typing_extensions import override

from graph.checkpoints.factory import open_checkpoints
from graph.settings import Settings
from graph.wiring import make_sandboxes, wire
from storage.artifacts import Artifacts
from storage.blobs import Arrivals, BlobError, Blobs
from tests.analyses import with_model
from tests.integration.test_resume import ending
from tests.integration.test_steps import PLAN
from tests.scripted_model import Call, Request, Scripted, ScriptedServer

THREAD = "0c1f7c52-6f5d-4b70-9a3f-0f6c2f4f0c11"
CONFIG: RunnableConfig = {"configurable": {"thread_id": THREAD}}
GIVEN: Any = {"messages": [("user", "Count")], "files": []}
PATIENCE = 60.0
T = TypeVar("T")


class LateBlobs(Blobs):
    """A store that takes a step in only when it may."""

    go: threading.Event
    asked: int

    @override
    async def take_in(self, work: Callable[[Arrivals], T]) -> T:
        self.asked += 1
        if not await asyncio.to_thread(self.go.wait, PATIENCE):
            raise BlobError("The model was not asked meanwhile.")
        return await super().take_in(work)


class BrokenBlobs(Blobs):
    """A store that takes nothing."""

    @override
    async def take_in(self, work: Callable[[Arrivals], T]) -> T:
        raise BlobError("The store takes nothing.")


def late(settings: Settings) -> LateBlobs:
    blobs = LateBlobs.at(str(settings.home / "blobs"))
    blobs.go, blobs.asked = threading.Event(), 0
    return blobs


@asynccontextmanager
async def graph_with(settings: Settings, blobs: Blobs) -> AsyncIterator[CompiledStateGraph[Any, Any, Any, Any]]:
    async with open_checkpoints(settings) as saver, make_sandboxes(settings) as sandboxes:
        builder = wire(settings, sandboxes, artifacts=Artifacts(settings.artifacts), blobs=blobs, input_roots=None)
        yield builder.compile(checkpointer=saver, name="stepwell")


def cell(code: str) -> Call:
    return Call("run_python", code=code, purpose="Count")


def cells_on_disk(settings: Settings) -> list[dict[str, Any]]:
    """The cells that the newest checkpoint has, as another process sees it."""

    async def read() -> list[dict[str, Any]]:
        async with open_checkpoints(settings) as saver, make_sandboxes(settings) as sandboxes:
            blobs = Blobs.at(str(settings.home / "blobs"))
            builder = wire(settings, sandboxes, artifacts=Artifacts(settings.artifacts), blobs=blobs, input_roots=None)
            return list((await builder.compile(checkpointer=saver).aget_state(CONFIG)).values.get("cells") or [])

    return asyncio.run(read())


@pytest.mark.parametrize("durability", ["sync", "async"])
async def test_the_model_is_asked_before_the_step_is_stored(settings: Settings, durability: Any) -> None:
    blobs = late(settings)
    seen: list[list[dict[str, Any]]] = []

    def second(request: Request) -> Call:
        seen.append(cells_on_disk(settings))
        blobs.go.set()
        return cell("y = x + 1")

    script: list[Scripted] = [PLAN, cell("x = 1"), second, *ending()]
    async with ScriptedServer(script) as server, graph_with(with_model(settings, server.base_url), blobs) as graph:
        await graph.ainvoke(GIVEN, CONFIG, durability=durability)
        assert seen == [[]]
        cells = (await graph.aget_state(CONFIG)).values["cells"]
        assert [bool(one["snapshot"]) for one in cells] == [True, True]
        history = [one async for one in graph.aget_state_history(CONFIG)]
        after = [one for one in history if one.next == ("generate",) and one.values.get("cells")]
        for one in after:  # each names the snapshot of its own cell, and that is stored
            named = one.values["sandbox"]["snapshot"]
            assert named == one.values["cells"][-1]["snapshot"]
            assert await blobs.has([named]) == {named}
        assert [len(one.values["cells"]) for one in after] == [2, 1]
    assert [one["snapshot"] for one in await asyncio.to_thread(cells_on_disk, settings)] == [
        one["snapshot"] for one in cells
    ]


async def test_a_run_that_is_cancelled_meanwhile_keeps_its_step(settings: Settings) -> None:
    blobs, asked = late(settings), asyncio.Event()
    loop = asyncio.get_running_loop()

    def second(request: Request) -> Call:
        loop.call_soon_threadsafe(asked.set)
        blobs.go.wait(PATIENCE)
        return cell("y = x + 1")

    script: list[Scripted] = [PLAN, cell("x = 1"), second]
    async with ScriptedServer(script) as server, graph_with(with_model(settings, server.base_url), blobs) as graph:
        running = asyncio.ensure_future(graph.ainvoke(GIVEN, CONFIG, durability="sync"))
        await asked.wait()
        running.cancel()
        loop.call_later(0.0, blobs.go.set)
        await asyncio.gather(running, return_exceptions=True)
        state = await graph.aget_state(CONFIG)
        assert state.next == ("generate",)
        assert [bool(one["snapshot"]) for one in state.values["cells"]] == [True]
    script = [cell("assert x == 1"), *ending()]
    async with ScriptedServer(script) as server, graph_with(with_model(settings, server.base_url), blobs) as graph:
        await graph.ainvoke(None, CONFIG, durability="sync")
        assert [one["status"] for one in (await graph.aget_state(CONFIG)).values["cells"]] == ["ok", "ok"]


async def test_what_the_model_must_be_told_of_a_step_it_is_told_with_the_next_request(settings: Settings) -> None:
    told: list[str] = []

    def then(request: Request) -> Call:
        told.append(request.last)
        return cell("z = 3")

    script: list[Scripted] = [PLAN, cell("x = 1"), cell("y = 2"), then, *ending()]
    blobs = BrokenBlobs.at(str(settings.home / "blobs"))
    async with ScriptedServer(script) as server, graph_with(with_model(settings, server.base_url), blobs) as graph:
        await graph.ainvoke(GIVEN, CONFIG, durability="sync")
        cells = (await graph.aget_state(CONFIG)).values["cells"]
    assert "has no snapshot" in told[0]
    assert "The store takes nothing" in told[0]
    assert [one["snapshot"] for one in cells] == ["", "", ""]
