"""A saver that a server brings keeps no half of a node, and names checkpoints in their order."""

from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from graph.guarded import GuardedGraph
from graph.settings import Settings
from graph.wiring import make_sandboxes
from tests.integration.test_clocks import YEARS, other_process
from tests.integration.test_pauses import Paused


async def given(settings: Settings, saver: InMemorySaver) -> Paused:
    """The small graph, as a server that brings its own saver makes a copy of it for each request."""
    thread = Paused(saver)
    compiled: Any = thread.builder.compile(name="stepwell")
    async with make_sandboxes(settings) as sandboxes:
        around: Any = GuardedGraph.around(compiled, settings, sandboxes)
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
