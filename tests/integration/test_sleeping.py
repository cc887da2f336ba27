"""Threads whose sandbox sleeps between two questions, or has to wait for a place."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from graph.context import Context
from graph.events import CellFinished, Event, Notice, SessionRestored, read_event
from graph.settings import Settings
from graph.wiring import make_blobs, make_sandboxes, wire
from sandboxes.base import Sandbox
from sandboxes.local import LocalSandbox
from sandboxes.opening import Sandboxes
from stepwell.cli.wording import restore_problems, restored_text
from storage.artifacts import Artifacts
from tests.analyses import only, with_model
from tests.scripted_model import Call, Scripted, ScriptedServer

pytestmark = pytest.mark.slow

PLAN = Call("submit_plan", steps=["Do it"])
GOOD = Call("submit_review", good_enough=True, missing=[])
ANSWER = Call("submit_answer", answer="Done.", skipped=[])


def cell(code: str) -> Call:
    return Call("run_python", purpose="do it", step=1, code=code)


class Served:
    """A graph in one process, as a server holds it: several threads, sandboxes that stay."""

    def __init__(self, graph: Any, sandboxes: Sandboxes) -> None:
        self._graph = graph
        self.sandboxes = sandboxes

    async def ask(self, thread: str, question: str, told: list[Event] | None = None) -> list[Event]:
        """One turn; what it told, added to a list as it comes."""
        told = [] if told is None else told
        async for data in self._graph.astream(
            {"messages": [HumanMessage(question)]},
            {"configurable": {"thread_id": thread}},
            context=Context(),
            stream_mode="custom",
        ):
            told.append(read_event(data))
        return told

    async def sandbox(self, thread: str) -> LocalSandbox:
        """A thread's sandbox."""
        sandbox: Sandbox = await self.sandboxes.open("local", thread)
        assert isinstance(sandbox, LocalSandbox)
        return sandbox


@asynccontextmanager
async def served(settings: Settings, script: list[Scripted], **changes: object) -> AsyncIterator[Served]:
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url, **changes)
        async with make_sandboxes(model) as sandboxes:
            artifacts = Artifacts.at(model.artifacts)
            builder = wire(model, sandboxes, artifacts=artifacts, blobs=make_blobs(settings), input_roots=None)
            yield Served(builder.compile(checkpointer=InMemorySaver()), sandboxes)


async def test_a_thread_that_slept_goes_on_and_says_one_quiet_line(settings: Settings) -> None:
    thread = str(uuid.uuid4())
    script: list[Scripted] = [
        *(PLAN, cell("x = [1]\ny = x\nopen('outputs/a.txt', 'w').write('a')"), ANSWER, GOOD),
        *(PLAN, cell("y.append(2)\nprint('x is', x, open('outputs/a.txt').read())"), ANSWER, GOOD),
    ]
    async with served(settings, script) as graph:
        await graph.ask(thread, "First?")
        sandbox = await graph.sandbox(thread)
        assert sandbox.evictable == "when idle"
        await sandbox.sleep()
        assert sandbox.head == ""
        told = await graph.ask(thread, "Second?")
    back = only(told, SessionRestored)
    assert len(back) == 1
    assert (back[0].woken, back[0].cells) == (True, 0)
    assert restored_text(back[0]).startswith("session woken, ")
    assert restore_problems(back[0]) == []
    assert only(told, Notice) == []
    assert "x is [1, 2] a" in only(told, CellFinished)[-1].cell["observation"]


async def test_a_thread_that_falls_asleep_before_its_cell_is_woken_and_not_begun_empty(settings: Settings) -> None:
    """Between being brought to its state and its cell it cannot; were it so, the step would be tried again."""
    thread = str(uuid.uuid4())
    script: list[Scripted] = [PLAN, cell("x = 1"), cell("print('x is', x)"), ANSWER, GOOD]
    async with served(settings, script, sleep_after=0.001) as graph:
        told = await graph.ask(thread, "Count")
        assert "x is 1" in only(told, CellFinished)[-1].cell["observation"]
        assert [one.cell["status"] for one in only(told, CellFinished)] == ["ok", "ok"]


async def test_a_run_that_waits_for_a_place_says_so_and_goes_on(settings: Settings) -> None:
    thread = str(uuid.uuid4())
    script: list[Scripted] = [PLAN, cell("print('at last')"), ANSWER, GOOD]
    async with served(settings, script, max_sandboxes=1) as graph:
        busy = await graph.sandbox("busy")
        code = "import os, time\nwhile not os.path.exists('outputs/go'): time.sleep(0.01)"
        working = asyncio.ensure_future(busy.run(code, number=1, timeout=100))
        told: list[Event] = []
        asked = asyncio.ensure_future(graph.ask(thread, "Go", told))
        async with asyncio.timeout(60):
            while not only(told, Notice):
                await asyncio.sleep(0.01)
        assert not asked.done()
        await busy.put(Path(__file__), "outputs/go")
        await working
        assert not asked.done()  # its variables are stored nowhere, so it keeps its place
        await busy.close()
        await asked
    notices = [one.text for one in only(told, Notice)]
    assert notices == [
        "Waiting for a place: 1 sandbox is in use, and no more may be at a time (STEPWELL_MAX_SANDBOXES)."
    ]
    assert "at last" in only(told, CellFinished)[-1].cell["observation"]


async def test_a_run_that_waits_for_a_place_can_be_cancelled(settings: Settings) -> None:
    thread = str(uuid.uuid4())
    async with served(
        settings, [PLAN, cell("print(1)"), PLAN, cell("print(2)"), ANSWER, GOOD], max_sandboxes=1
    ) as graph:
        busy = await graph.sandbox("busy")
        await busy.run("x = 1", number=1, timeout=100)
        asked = asyncio.ensure_future(graph.ask(thread, "Go"))
        waiting = await graph.sandbox(thread)
        async with asyncio.timeout(60):
            while waiting._lease.place is None:
                await asyncio.sleep(0.01)
        asked.cancel()
        await asyncio.wait((asked,))
        assert asked.cancelled()
        assert (await busy.run("print(x)", number=2, timeout=100)).stdout.text == "1\n"
        await busy.close()
        told = await graph.ask(thread, "Again?")
    assert "2" in only(told, CellFinished)[-1].cell["observation"]
