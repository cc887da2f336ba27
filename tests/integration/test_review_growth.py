"""A long analysis with many variables and many inputs keeps its checkpoints small, and its prompts bounded."""

import asyncio
from pathlib import Path
from typing import get_type_hints

import pytest
from langchain_core.messages import HumanMessage

from bench.scripted import ScriptedChat
from graph.build import build_graph
from graph.checkpoints.factory import checkpoints_file, open_checkpoints
from graph.checkpoints.sqlite_saver import SqliteSaver
from graph.checkpoints.step_tree import step_tree
from graph.context import Context
from graph.settings import Settings
from graph.state import Cell, Input, Turn, Variable
from nodes.prompts.conversation import write_conversation
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Sandbox
from sandboxes.fake import FakeSandbox
from sandboxes.results import CapturedText, CellResult, NamespaceRow
from storage.artifacts import Artifacts
from storage.blobs import Blobs
from storage.inputs import InputSource
from tests.states import make_cell, make_state

pytestmark = pytest.mark.slow

CELLS, INPUTS = 200, 1_000


async def test_two_hundred_cells_stay_below_ten_megabytes(tmp_path: Path) -> None:
    text = "".join(f"{line} {line * 7919 % 100_003}\n" for line in range(600))
    rows = tuple(NamespaceRow(f"variable_{number}", "DataFrame", "s" * 180) for number in range(200))
    result = CellResult("ok", stdout=CapturedText(text), namespace=rows)
    described = {"python": "3.12", "packages": {}, "fonts": []}
    names = [f"f{number}.csv" for number in range(INPUTS)]
    profiled = [{"path": f"inputs/{name}", "abstract": f"### {name}\n" + "a" * 1_900, "problem": ""} for name in names]
    sandbox = FakeSandbox(tmp_path, cells=[result] * (CELLS + 1), programs={"kernel": described, "profiler": profiled})
    model = ScriptedChat(cells=[f"x = {number}\n" + "y = 1\n" * 100 for number in range(CELLS)])
    folder = tmp_path / "in"
    await asyncio.to_thread(_write, folder, names)

    async def choose_model(name: str) -> ScriptedChat:
        return model

    async def open_sandbox(kind: str, id: str) -> Sandbox:
        return sandbox

    builder = build_graph(
        choose_model=choose_model,
        open_sandbox=open_sandbox,
        inputs=InputSource(),
        artifacts=Artifacts.at(str(tmp_path / "out")),
        snapshots=SnapshotStore(Blobs.at(str(tmp_path / "blobs"))),
    )
    kept = await asyncio.to_thread(lambda: Settings(home=tmp_path))
    async with open_checkpoints(kept) as saver:
        graph = builder.compile(checkpointer=saver)
        given = {"messages": [HumanMessage("Go")], "files": [str(folder)]}
        config = {"configurable": {"thread_id": "t"}, "recursion_limit": 10_000}
        await graph.ainvoke(given, config, context=Context(max_cells=CELLS), durability="sync")  # type: ignore[call-overload]
        state = (await graph.aget_state({"configurable": {"thread_id": "t"}})).values
        asked: list[str] = []
        assert isinstance(saver, SqliteSaver)
        await saver.conn.set_trace_callback(asked.append)
        tree = await step_tree(saver, "t")
    assert [step.name for step in tree.steps] == [str(number) for number in range(1, CELLS + 1)]
    assert len(asked) < CELLS / 10, "a tree of steps is read from rows, not from each checkpoint's state"
    assert (len(state["cells"]), len(state["inputs"])) == (CELLS, INPUTS)
    assert len(state["messages"]) == 2 + 2 * CELLS
    assert state["namespace"][-1]["name"] == "variable_199"
    assert checkpoints_file(tmp_path).stat().st_size < 10_000_000


def _write(folder: Path, names: list[str]) -> None:
    folder.mkdir()
    for name in names:
        (folder / name).write_text("a,b\n1,2\n")


def size(turns: int, cells: int, code: str) -> int:
    past = [Turn(number=number, question="q" * 900, plan=[], answer="a" * 3_000) for number in range(1, turns + 1)]
    made = [make_cell(number, "o" * 4_000, code=code, turn=turns + 1) for number in range(1, cells + 1)]
    messages = write_conversation(make_state(turns=past, turn=turns + 1, cells=made), tools=True, limit=60_000)
    return sum(len(message.text) + len(str(getattr(message, "tool_calls", ""))) for message in messages)


def test_the_conversation_keeps_to_its_limit_over_many_turns_and_huge_cells() -> None:
    assert size(300, 1, "x = 1") <= 60_000
    assert size(0, 9, "x = 1\n" * 20_000) <= 60_000
    assert size(300, 40, "x = 1\n" * 20_000) <= 60_000


@pytest.mark.parametrize("row", [Cell, Input, Turn, Variable])
def test_nothing_in_a_growing_channel_looks_like_a_message(row: type) -> None:
    # LangGraph gives ids to what it takes for messages there, fails on what it cannot convert, and the step is lost.
    assert not {"type", "role"} & set(get_type_hints(row))
