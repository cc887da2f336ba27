"""What stands on what once cells go back: lines, replies, prompts, the script."""

import pytest

from graph.state import Cell, Pending
from models.base import Reply, ToolCall
from nodes.answer_checks.answer_files import files_made
from nodes.next_step import read_reply
from nodes.prompts.conversation import write_conversation
from nodes.publishing import as_script
from nodes.restoration.line import BEGINNING, cells_in_effect, left_aside, line_of, start_of_cell, state_id_after
from tests.states import make_cell, make_file, make_state


def numbers(cells: list[Cell]) -> list[int]:
    return [cell["number"] for cell in cells]


BACK = [
    make_cell(1, snapshot="s1"),
    make_cell(2, snapshot="s2", status="killed"),
    make_cell(3, snapshot="s3"),
    make_cell(4, snapshot="s4", back_to=2),
    make_cell(5, snapshot="s5", back_to=3),
    make_cell(6, snapshot="s6", status="rejected"),
    make_cell(7, snapshot="s7"),
    make_cell(8, snapshot="s8", back_to=0),
]


@pytest.mark.parametrize(
    ("last", "line", "effect"),
    [
        (0, [], []),
        (3, [1, 2, 3], [1, 3]),
        (4, [1, 2, 4], [1, 4]),
        (5, [1, 2, 3, 5], [1, 3, 5]),
        (7, [1, 2, 3, 5, 6, 7], [1, 3, 5, 7]),
        (8, [8], [8]),
    ],
)
def test_a_step_stands_on_the_cells_that_were_not_gone_back_over(last: int, line: list[int], effect: list[int]) -> None:
    cells = BACK[:last]
    assert numbers(line_of(cells)) == line
    assert numbers(cells_in_effect(cells)) == effect
    assert left_aside(cells) == set(range(1, last + 1)) - set(line)
    assert numbers(cells_in_effect(cells_in_effect(cells))) == effect  # also of a list with gaps
    assert state_id_after(cells) == (f"s{last}" if last else BEGINNING)


def test_a_cell_starts_from_the_step_that_it_names() -> None:
    pending = Pending(purpose="", code="c", step=0, thought="", call_id="")
    state = make_state(cells=BACK[:5], pending=[pending])
    assert start_of_cell(state) is state
    for back_to, snapshot, line in ((4, "s4", [1, 2, 4]), (2, "s1", [1, 2]), (0, BEGINNING, [])):
        started = start_of_cell(make_state(cells=BACK[:5], pending=[Pending(**{**pending, "back_to": back_to})]))
        assert (started["sandbox"]["snapshot"], numbers(line_of(started["cells"]))) == (snapshot, line)


def called(**arguments: object) -> Reply:
    return Reply(
        "", calls=(ToolCall("id", "run_python", {"purpose": "p", "code": "# back to 9: no\nx = 1", **arguments}),)
    )


@pytest.mark.parametrize(
    ("reply", "back_to", "step", "purpose"),
    [
        (called(), None, 0, "p"),
        (called(back_to=3, step=2), 3, 2, "p"),
        (called(back_to="3"), 3, 0, "p"),
        (called(back_to=0), 0, 0, "p"),
        (called(back_to=None), None, 0, "p"),
        (Reply("```python\n# back to 3: undo it\nx = 1\n```"), 3, 0, "undo it"),
        (Reply("```python\n# step 2 (1 done), back to cell 3: undo it\nx = 1\n```"), 3, 2, "undo it"),
        (Reply("```python\n# back to basics: x\nx = 1\n```"), None, 0, "back to basics: x"),
        (Reply("```python\n# step 2 (1 done): x\nx = 1\n```"), None, 2, "x"),
        (Reply("```python\n# steps: x\nx = 1\n```"), None, 0, "steps: x"),
    ],
)
def test_a_reply_says_where_it_goes_back_to(reply: Reply, back_to: int | None, step: int, purpose: str) -> None:
    cell = read_reply(reply).cells[0]
    assert (cell.get("back_to"), cell["step"], cell["purpose"]) == (back_to, step, purpose)


def test_prompts_show_where_a_cell_went_back_to() -> None:
    cells = [make_cell(1), make_cell(2), make_cell(3, back_to=1)]
    shown = write_conversation(make_state(cells=cells), tools=True, limit=60_000)
    arguments = [call["args"] for message in shown for call in getattr(message, "tool_calls", [])][-3:]
    assert [one.get("back_to") for one in arguments] == [None, None, 1]
    many = [*cells, *(make_cell(number, thought="t" * 400) for number in range(4, 60))]
    text = "\n".join(message.text for message in write_conversation(make_state(cells=many), tools=True, limit=60_000))
    assert "3 · back to 1 · ok · purpose 3" in text


def test_files_and_the_script_are_those_of_the_line() -> None:
    cells = [
        make_cell(1, files=[make_file("outputs/a.csv")]),
        make_cell(2, files=[make_file("outputs/b.csv"), make_file("outputs/a.csv", "deleted")]),
        make_cell(3, back_to=1, files=[make_file("outputs/c.csv")]),
    ]
    state = make_state(cells=cells)
    assert files_made(state) == ["outputs/a.csv", "outputs/c.csv"]
    script = as_script(state)
    assert "# %% cell 2: purpose 2 (a later cell goes back before it; left out)\n# code_2()\n" in script
    assert "\ncode_1()\n" in script
    assert "\ncode_3()\n" in script
    compile(script, "analysis.py", "exec")


@pytest.mark.parametrize("tools", [True, False])
def test_a_plan_is_shown_with_the_cell_that_it_came_with(tools: bool) -> None:
    alone = write_conversation(make_state(cells=[make_cell(1)]), tools=tools, limit=60_000)
    beside = write_conversation(make_state(cells=[make_cell(1, planned=True)]), tools=tools, limit=60_000)
    assert len(beside) == len(alone) - 2
    first = next(message for message in beside if message.type == "ai")
    assert "Count" in (str(first.tool_calls[0]["args"]["plan"]) if tools else first.text)  # type: ignore[attr-defined]
