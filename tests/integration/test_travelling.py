"""Going back to steps: the tree, branches in place, sessions at a step, values compared; through the Python API."""

from pathlib import Path

import pytest

import stepwell
from graph.checkpoints.factory import open_checkpoints
from graph.checkpoints.step_tree import step_tree
from graph.events import Finished
from graph.settings import Settings
from stepwell.cli.inspection import drawn
from stepwell.comparison import BothSides
from stepwell.replays import ReplayedCell, ReplayEnd
from stepwell.runs import start
from stepwell.threads import open_graph
from tests.analyses import follow, last, with_model, write_sales
from tests.scripted_model import Call, Scripted, ScriptedServer

pytestmark = pytest.mark.slow

PLAN = Call("submit_plan", steps=["Append"])
END: list[Scripted] = [
    Call("submit_answer", answer="Done.", skipped=[]),
    Call("submit_review", good_enough=True, missing=[]),
]


def cell(number: int, code: str = "") -> Call:
    trail = f"trail = [*globals().get('trail', []), {number}]\nopen('outputs/log.txt', 'a').write('{number}\\n')"
    return Call("run_python", purpose=f"append {number}", step=1, code=code or f"{trail}\nprint(trail)")


def numbers(first: int, last_one: int) -> list[Scripted]:
    return [cell(number) for number in range(first, last_one + 1)]


async def analysed(
    settings: Settings, script: list[Scripted], question: str = "Append", *, thread: str | None = None
) -> Finished:
    sales = write_sales(settings.home.parent / "sales.csv")
    async with ScriptedServer(script) as server:
        files = [] if thread else [str(sales)]
        run = start(question, files=files, thread=thread, settings=with_model(settings, server.base_url))
        return last(await follow(run), Finished)


async def names_of(thread: str, settings: Settings) -> list[str]:
    return [step.name for step in await stepwell.log(thread, settings=settings)]


async def test_a_branch_in_place_keeps_the_old_one_and_every_name(settings: Settings) -> None:
    first = await analysed(settings, [PLAN, *numbers(1, 4), *END])
    assert await names_of(first.thread, settings) == ["1", "2", "3", "4"]
    assert await stepwell.fork(f"{first.thread}@2", here=True, new_turn=True, settings=settings) == first.thread
    again = await analysed(settings, [PLAN, cell(30), cell(40), *END], "Otherwise", thread=first.thread)
    log = Path(next(one["url"] for one in again.artifacts if one["name"] == "log.txt"))
    assert log.read_text() == "1\n2\n30\n40\n"
    await stepwell.fork(f"{first.thread}@3b", here=True, new_turn=True, settings=settings)
    await analysed(settings, [PLAN, cell(50), *END], "Again", thread=first.thread)
    steps = {step.name: step for step in await stepwell.log(first.thread, settings=settings)}
    assert {name: step.parent for name, step in steps.items()} == {
        "1": "0", "2": "1", "3": "2", "4": "3", "3b": "2", "4b": "3b", "4c": "3b",
    }  # fmt: skip
    assert [name for name, step in steps.items() if step.head] == ["4c"]
    assert [steps[name].question for name in ("4", "4b", "4c")] == ["Append", "Otherwise", "Again"]
    for name, trail in (("4", [1, 2, 3, 4]), ("4b", [1, 2, 30, 40]), ("4c", [1, 2, 30, 50]), ("2", [1, 2])):
        async with stepwell.at(f"{first.thread}@{name}", settings=settings) as session:
            result = await session.run("print(trail, open('outputs/log.txt').read().split())")
            assert result.stdout.text == f"{trail} {[str(number) for number in trail]}\n"
            assert session.receipt.problems == []
    old = await stepwell.show(f"{first.thread}@4", settings=settings)
    assert (old.answer, old.step.question, old.files) == ("Done.", "Append", {"outputs/log.txt": 8})
    assert [(row["name"], row["kind"]) for row in old.namespace] == [("trail", "list")]
    assert old.comes_back == "It comes back from its snapshot."
    drawing = [(first_, step.name) for first_, _, step in drawn(list(steps.values()))]
    assert drawing == [
        ("", "1"), ("", "2"), ("├─ ", "3b"), ("│  ├─ ", "4c"), ("│  ", "4b"), ("", "3"), ("", "4"),
    ]  # fmt: skip


async def test_a_branch_without_a_question_goes_on_with_the_steps_own(settings: Settings) -> None:
    first = await analysed(settings, [PLAN, *numbers(1, 3), *END])
    await stepwell.fork(f"{first.thread}@1", here=True, settings=settings)
    async with ScriptedServer([cell(7), *END]) as server:
        finished = await stepwell.resume(first.thread, settings=with_model(settings, server.base_url))
    assert finished.answer == "Done."
    assert await names_of(first.thread, settings) == ["1", "2", "3", "2b"]


async def test_time_travel_of_langgraph_itself_makes_branches_of_the_same_tree(settings: Settings) -> None:
    first = await analysed(settings, [PLAN, *numbers(1, 3), *END])
    config = {"configurable": {"thread_id": first.thread}}
    async with open_graph(settings) as (graph, _):
        before_two = [
            snapshot
            async for snapshot in graph.aget_state_history(config)  # type: ignore[arg-type]
            if snapshot.next == ("execute",) and len(snapshot.values.get("cells") or []) == 1
        ][-1]
        edited = {"cells": [{**before_two.values["cells"][0], "number": 2, "purpose": "by hand"}]}
        await graph.aupdate_state(before_two.config, edited, as_node="execute")
    async with open_checkpoints(settings) as saver:
        tree = await step_tree(saver, first.thread)
    assert [(step.name, step.cell["purpose"] if step.cell else "", step.head) for step in tree.steps] == [
        ("1", "append 1", False), ("2", "append 2", False), ("3", "append 3", False), ("2b", "by hand", True),
    ]  # fmt: skip


async def test_the_tree_tells_what_the_history_of_langgraph_tells(settings: Settings) -> None:
    first = await analysed(settings, [PLAN, *numbers(1, 3), *END])
    await stepwell.fork(f"{first.thread}@2", here=True, new_turn=True, settings=settings)
    await analysed(settings, [PLAN, cell(9), *END], "Otherwise", thread=first.thread)
    async with open_graph(settings) as (graph, _):
        tree = await step_tree(graph.checkpointer, first.thread)  # type: ignore[arg-type]
        for step in tree.steps:
            config = {"configurable": {"thread_id": first.thread, "checkpoint_id": step.checkpoint}}
            there = await graph.aget_state(config)  # type: ignore[arg-type]
            assert there.values["cells"] == [one.cell for one in tree.line(step)], step.name


async def test_steps_of_a_fork_that_lie_before_its_beginning_can_be_gone_to(settings: Settings) -> None:
    first = await analysed(settings, [PLAN, *numbers(1, 4), *END])
    new = await stepwell.fork(f"{first.thread}@3", settings=settings)
    async with stepwell.at(f"{new}@2", settings=settings) as session:
        assert (await session.run("print(trail)")).stdout.text == "[1, 2]\n"
    async with stepwell.at(f"{new}@0", settings=settings) as session:
        assert (await session.run("print('trail' in globals())")).stdout.text == "False\n"
    await stepwell.fork(f"{new}@2", here=True, new_turn=True, settings=settings)
    await analysed(settings, [PLAN, cell(8), *END], "Otherwise", thread=new)
    assert await names_of(new, settings) == ["1", "2", "3", "3b"]
    async with stepwell.at(new, settings=settings) as session:
        assert (await session.run("print(trail)")).stdout.text == "[1, 2, 8]\n"


FRAMES = (
    "import pandas as pd\ndf = pd.read_csv('inputs/sales.csv')\nkept = df.copy()\nsame = {'b': 1, 'a': {1, 2}}\n"
    "def f(x):\n    return x + 1",
    "df.loc[3, 'units'] = 999\ndf['more'] = 1\nopen('outputs/a.txt', 'w').write('one')",
    "open('outputs/a.txt', 'w').write('two')\nkept.loc[0, 'price'] = -1.0\nsame = {'a': {2, 1}, 'b': 1}\n"
    "def f(x):\n    return x + 2",
)


async def test_variables_and_files_are_compared_by_what_they_hold(settings: Settings) -> None:
    first = await analysed(settings, [PLAN, *(cell(0, code) for code in FRAMES), *END])
    one, two, three = (f"{first.thread}@{number}" for number in (1, 2, 3))
    difference = await stepwell.diff(one, two, settings=settings)
    (changed,) = difference.variables.changed
    assert changed.startswith("df: DataFrame 60 x 4")
    assert changed.endswith("60 x 4 -> 60 x 5; columns that differ: units; with column: more")
    (side,) = difference.variables.sides
    assert changed == f"df: {side.a} -> {side.b}; {side.more}"
    assert side.more == "60 x 4 -> 60 x 5; columns that differ: units; with column: more"
    later = await stepwell.diff(two, three, settings=settings)
    told = {change.partition(":")[0]: change for change in later.variables.changed}
    assert set(told) == {"kept", "f"}, "equal dicts and sets in another order are the same"
    assert told["kept"].endswith("other values; columns that differ: price")
    assert later.files.changed == ("outputs/a.txt: 3 bytes, other content",)
    assert later.files.sides == (BothSides("outputs/a.txt", "3 bytes", "3 bytes", "other content"),)
    assert later.notes == ()
    assert (await stepwell.diff(three, three, settings=settings)).nothing


async def replayed(thread: str, settings: Settings) -> tuple[list[ReplayedCell], ReplayEnd]:
    found = [one async for one in stepwell.replay(thread, verify=True, settings=settings)]
    end = found[-1]
    assert isinstance(end, ReplayEnd)
    return [one for one in found if isinstance(one, ReplayedCell)], end


async def test_a_verified_replay_compares_files_by_cell_and_the_variables(settings: Settings) -> None:
    dice = (
        "import random\ndf['dice'] = [random.random() for _ in df.units]\nopen('outputs/d', 'w').write(str(df.dice));"
    )
    first = await analysed(settings, [PLAN, *(cell(0, code) for code in (*FRAMES, dice)), *END])
    cells, end = await replayed(f"{first.thread}@3", settings)
    assert [one.same for one in cells] == [True] * 3
    assert (end.same, end.variables_differ, end.notes) == (True, (), ())
    assert end.variables_same == 5
    cells, end = await replayed(first.thread, settings)
    assert [one.differences for one in cells] == [(), (), (), ("outputs/d holds other bytes",)]
    assert cells[-1].reasons == ("it uses randomness",)
    (told,) = end.variables_differ
    assert told.startswith("df: ")
    assert told.endswith("columns that differ: dice")
    assert not end.same


async def test_a_damaged_step_is_said_and_comes_back_by_running_cells_again(settings: Settings) -> None:
    first = await analysed(settings, [PLAN, *numbers(1, 3), *END])
    snapshot = (await stepwell.show(f"{first.thread}@3", settings=settings)).snapshot
    blob = next(file for file in (settings.home / "blobs").rglob("*") if file.name.endswith(snapshot[2:]))
    blob.chmod(0o600)
    blob.write_bytes(b"damaged")
    told = (await stepwell.show(f"{first.thread}@3", settings=settings)).comes_back
    assert "cannot be used" in told
    assert told.endswith("1 cell runs again, from the snapshot after cell 2.")
    async with stepwell.at(f"{first.thread}@3", settings=settings) as session:
        assert (session.receipt.from_cell, session.receipt.cells) == (2, 1)
        assert "cannot be used" in session.receipt.problems[0]
        assert (await session.run("print(trail)")).stdout.text == "[1, 2, 3]\n"
    assert (await stepwell.diff(f"{first.thread}@2", f"{first.thread}@3", settings=settings)).variables.changed


@pytest.mark.parametrize(("step", "says"), [("9", "has no step 9"), ("2b", "has no step 2b"), ("x", "names no step")])
async def test_a_wrong_step_is_one_sentence(step: str, says: str, settings: Settings) -> None:
    first = await analysed(settings, [PLAN, *numbers(1, 2), *END])
    for wrong in (stepwell.show, stepwell.fork):
        with pytest.raises(stepwell.ThreadError, match=says):
            await wrong(f"{first.thread}@{step}", settings=settings)
    assert len(list((settings.home / "threads").iterdir())) == 1
