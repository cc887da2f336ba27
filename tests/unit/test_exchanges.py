"""What prompts show of cells is remembered, and is each prompt's own."""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages.tool import invalid_tool_call

from bench.scripted import ScriptedChat
from graph.build import build_graph
from graph.context import Context
from graph.state import State
from nodes.prompts.conversation import write_conversation
from nodes.prompts.exchanges import copy_ahead
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.fake import FakeSandbox
from sandboxes.results import CapturedText, CellResult
from storage.artifacts import Artifacts
from storage.blobs import Blobs
from storage.inputs import InputSource
from tests.states import make_cell, make_state


def state_of(cells: int, name: str) -> State:
    made = [make_cell(number, f"cell {number} · ok\n{name}") for number in range(1, cells + 1)]
    return make_state(cells=[made[0] | {"planned": True}, *made[1:]])


def prompt(state: State, *, tools: bool = True) -> list[BaseMessage]:
    return write_conversation(state, tools=tools, limit=60_000)


def calls_in(work: Callable[[], object], *of: str) -> int:
    """How often functions of these names are called meanwhile."""
    counts: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            counts[frame.f_code.co_qualname] += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return sum(counts[name] for name in of)


MADE = ("AIMessage.__init__", "ToolMessage.__init__", "HumanMessage.__init__")
COPIED = ("BaseModel.model_copy",)


def test_a_prompt_makes_the_messages_of_the_newest_cell_only() -> None:
    prompt(state_of(20, "once"))
    assert calls_in(lambda: prompt(state_of(21, "once")), *MADE) <= 5


def test_copies_for_the_next_prompt_are_made_ahead() -> None:
    prompt(state_of(20, "ahead"))
    assert calls_in(copy_ahead, *COPIED) >= 40
    assert calls_in(lambda: prompt(state_of(20, "ahead")), *COPIED) <= 2  # the last message, which tells the variables
    assert calls_in(lambda: prompt(state_of(20, "ahead")), *COPIED) >= 40  # nobody has made more


async def test_the_copies_are_made_while_a_cell_runs(tmp_path: Path) -> None:
    cells = 10
    model = ScriptedChat(cells=[f"in_graph = {number}" for number in range(cells)])
    results = [CellResult("ok", stdout=CapturedText(f"in a graph {number}\n")) for number in range(cells + 1)]
    described = {"python": "3.12", "packages": {}, "fonts": []}
    sandbox = FakeSandbox(tmp_path / "sandbox", cells=results, programs={"kernel": described})

    async def choose_model(name: str) -> ScriptedChat:
        return model

    async def open_sandbox(kind: str, id: str) -> FakeSandbox:
        return sandbox

    graph = build_graph(
        choose_model=choose_model,
        open_sandbox=open_sandbox,
        inputs=InputSource(),
        artifacts=Artifacts(str(tmp_path / "artifacts")),
        snapshots=SnapshotStore(Blobs.at(str(tmp_path / "blobs"))),
    ).compile()
    made: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name == "_copied" and frame.f_back is not None:
            made[frame.f_back.f_code.co_name] += 1

    sys.setprofile(note)
    try:
        await graph.ainvoke(
            {"messages": [HumanMessage("Go")]},
            {"configurable": {"thread_id": "t"}, "recursion_limit": 100},
            context=Context(max_cells=cells, review="never"),
        )
    finally:
        sys.setprofile(None)
    assert made["prepare"] >= cells * (cells - 1) - cells
    assert made["copies"] <= 4 * cells  # those of a new cell, in two prompts until they are made ahead


def spoil(messages: list[BaseMessage]) -> None:
    for message in messages:
        message.additional_kwargs["marked"] = True
        message.response_metadata["marked"] = True
        message.content = "changed"
        if isinstance(message, AIMessage):
            message.invalid_tool_calls.append(invalid_tool_call(error="marked"))
            for call in message.tool_calls:
                call["args"].setdefault("plan", []).append("marked")
                call["args"]["code"] = call["name"] = "changed"


@pytest.mark.parametrize("tools", [True, False])
def test_who_changes_a_prompt_changes_no_other(tools: bool) -> None:
    state = state_of(6, f"changed {tools}")
    first = prompt(state, tools=tools)
    before = [message.model_copy(deep=True) for message in first]
    for ahead in (False, True, True):
        spoil(first)
        if ahead:
            copy_ahead()
        first = prompt(state, tools=tools)
        assert first == before


def test_a_cell_that_is_shown_otherwise_is_another_one() -> None:
    state = state_of(3, "before")
    prompt(state)
    first, second, third = state["cells"]
    changes: list[dict[str, Any]] = [{"observation": "after"}, {"code": "after()"}, {"back_to": 0}, {"step": 7}]
    for change in changes:
        changed: Any = {**second, **change}
        assert prompt(make_state(cells=[first, changed, third])) != prompt(state), change


def test_what_is_long_is_not_remembered() -> None:
    state = make_state(cells=[make_cell(1, "cell 1 · ok\n" + "x" * 9_000)])
    assert prompt(state) == prompt(state)
    assert calls_in(lambda: prompt(state), *MADE) >= 3
