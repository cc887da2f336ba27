"""A process that ends lets steps finish or breaks them off, and runs go on elsewhere with nothing done twice."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

from graph.drain import Drain
from graph.locked_graph import LockedGraph
from graph.settings import Settings
from graph.state import State
from graph.wiring import make_sandboxes


class Steps:
    """A graph of two steps, the first of which can be held up; what was done is counted."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.begun = asyncio.Event()
        self.may_go_on = asyncio.Event()

    def builder(self) -> Any:
        builder: StateGraph[Any, Any, Any, Any] = StateGraph(State)

        async def first(state: Any) -> Any:
            self.begun.set()
            await self.may_go_on.wait()
            self.done.append(f"first of {state['question']}")

        async def second(state: Any) -> Any:
            self.done.append(f"second of {state['question']}")

        builder.add_node("first", first)
        builder.add_node("second", second)
        builder.add_edge(START, "first")
        builder.add_edge("first", "second")
        builder.add_edge("second", END)
        return builder


@asynccontextmanager
async def process(builder: Any, saver: InMemorySaver, settings: Settings, draining: Drain) -> AsyncIterator[Any]:
    """A graph as one process of several has it."""
    async with make_sandboxes(settings) as sandboxes:
        yield LockedGraph.around(builder.compile(checkpointer=saver, name="stepwell"), settings, sandboxes, draining)


def run(name: str, attempt: int = 1, **more: str) -> Any:
    return {
        "configurable": {"thread_id": "t", **more},
        "metadata": {"run_id": name, "run_attempt": attempt},
    }


async def ended(task: asyncio.Task[Any]) -> None:
    """What a server does in the end with runs that are not over."""
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_step_that_runs_may_finish_and_the_next_does_not_begin(settings: Settings) -> None:
    steps, saver, draining = Steps(), InMemorySaver(), Drain(30)
    async with process(steps.builder(), saver, settings, draining) as graph:
        task = asyncio.create_task(graph.ainvoke({"question": "a"}, run("1")))
        await steps.begun.wait()
        draining.begin()
        over = asyncio.create_task(draining.over())
        await asyncio.sleep(0.1)
        assert not over.done()
        steps.may_go_on.set()
        await over
        assert steps.done == ["first of a"]
        late = asyncio.create_task(graph.ainvoke({"question": "late"}, run("2")))
        await asyncio.sleep(0.1)
        await ended(task)
        await ended(late)
    async with process(steps.builder(), saver, settings, Drain()) as graph:
        await graph.ainvoke({"question": "a"}, run("1", attempt=2))
        assert steps.done == ["first of a", "second of a"]


async def test_a_step_that_takes_too_long_is_broken_off_and_gives_the_thread_back(settings: Settings) -> None:
    steps, saver, draining = Steps(), InMemorySaver(), Drain(0.1)
    async with (
        process(steps.builder(), saver, settings, draining) as graph,
        process(steps.builder(), saver, settings, Drain()) as another,
    ):
        task = asyncio.create_task(graph.ainvoke({"question": "a"}, run("1")))
        await steps.begun.wait()
        draining.begin()
        await draining.over()
        assert steps.done == []
        steps.may_go_on.set()
        await another.ainvoke(None, run("2"))  # while the first process still waits for its end
        await ended(task)
    assert steps.done == ["first of a", "second of a"]


async def test_a_question_is_not_asked_again_when_somebody_else_has_gone_on_with_it(settings: Settings) -> None:
    steps, saver, draining = Steps(), InMemorySaver(), Drain(0)
    async with process(steps.builder(), saver, settings, draining) as graph:
        task = asyncio.create_task(graph.ainvoke({"question": "a"}, run("1")))
        await steps.begun.wait()
        draining.begin()
        await draining.over()
        await ended(task)
    steps.may_go_on.set()
    async with process(steps.builder(), saver, settings, Drain()) as graph:
        await graph.ainvoke(None, run("2"))
        await graph.ainvoke({"question": "b"}, run("3"))
        before = list(steps.done)
        await graph.ainvoke({"question": "a"}, run("1", attempt=2))  # the queue that it was in is there again
        assert steps.done == before == ["first of a", "second of a", "first of b", "second of b"]


async def test_a_fork_that_was_broken_off_is_not_forked_again(settings: Settings) -> None:
    steps, saver, draining = Steps(), InMemorySaver(), Drain(0)
    steps.may_go_on.set()
    async with process(steps.builder(), saver, settings, draining) as graph:
        await graph.ainvoke({"question": "a"}, run("1"))
        second = [one async for one in graph.aget_state_history(run("1"))][1]
        at = {"checkpoint_id": second.config["configurable"]["checkpoint_id"]}
        await graph.ainvoke(None, run("2", **at))
        assert steps.done == ["first of a", "second of a", "second of a"]
        await graph.ainvoke(None, run("2", attempt=2, **at))
        assert steps.done == ["first of a", "second of a", "second of a"]


async def test_a_decision_on_one_cell_is_not_taken_for_the_next_one(settings: Settings) -> None:
    """A run that brought an approval, and was broken off when that had been used, must not approve what comes then."""
    seen: list[Any] = []
    begun, may_go_on = asyncio.Event(), asyncio.Event()
    builder: Any = StateGraph(State)

    async def ask(state: Any) -> Any:
        seen.append(interrupt("one"))

    async def work(state: Any) -> Any:
        begun.set()
        await may_go_on.wait()

    async def ask_again(state: Any) -> Any:
        seen.append(interrupt("another"))

    for node in (ask, work, ask_again):
        builder.add_node(node.__name__, node)
    builder.add_edge(START, "ask")
    builder.add_edge("ask", "work")
    builder.add_edge("work", "ask_again")
    builder.add_edge("ask_again", END)
    saver, draining = InMemorySaver(), Drain(30)
    async with process(builder, saver, settings, draining) as graph:
        await graph.ainvoke({"question": "a"}, run("1"))
        task = asyncio.create_task(graph.ainvoke(Command(resume="approve"), run("2")))
        await begun.wait()
        draining.begin()
        may_go_on.set()
        await draining.over()
        await ended(task)
    async with process(builder, saver, settings, Drain()) as graph:
        result = await graph.ainvoke(Command(resume="approve"), run("2", attempt=2))
        assert seen == ["approve"]
        assert result["__interrupt__"][0].value == "another"
