"""The playbook on whole analyses: its cells are really run, and its answer says only what they printed."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from models.playbook.cells import STAGES
from models.playbook.model import Playbook
from tests.unit.playbook_host import (
    RUN_PYTHON,
    SUBMIT_ANSWER,
    SUBMIT_PLAN,
    SUBMIT_REVIEW,
    Analysis,
    abstract,
    numbers_not_printed,
)
from tests.unit.playbook_tables import CSV, EXAMPLE, KINDS, birdstrikes, nasty, put, sound

matplotlib.use("Agg")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("inputs", "outputs"):
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.mark.parametrize("tools", [True, False])
async def test_the_sample_data_are_explored_without_an_error(folder: Path, tools: bool) -> None:
    analysis = Analysis(folder, birdstrikes(folder), tools=tools)
    answer = await analysis.ask("When and where do birds strike?")
    sound(analysis)
    assert [cell.status for cell in analysis.cells] == ["ok"] * 10
    assert [cell.step for cell in analysis.cells] == [1, 2, 2, 3, 4, 4, 5, 6, 7, 7]
    assert 5 <= len(analysis.plan) <= 7
    assert analysis.skipped == []
    assert "'Speed IAS in knots' differs by 'Phase of flight'" in answer
    assert "'None' in 'Effect Amount of damage' is kept as a value of its own" in answer
    assert "a clear season" in answer.casefold()
    assert "4 rows repeat an earlier row exactly" in answer
    book = pd.read_excel(folder / "outputs" / "summary.xlsx", sheet_name=None)
    assert {"columns", "missing", "differences", "findings"} <= set(book)
    named = re.findall(r"`((?:outputs|figures)/[^`]+)`", answer)
    assert len(named) == 5
    assert all((folder / name).is_file() for name in named)


async def test_a_later_question_goes_on_with_the_variables(folder: Path) -> None:
    analysis = Analysis(folder, birdstrikes(folder))
    await analysis.ask("What is in it?")
    before = len(analysis.cells)
    answer = await analysis.ask("How does Speed IAS in knots depend on Phase of flight?")
    sound(analysis)
    later = analysis.cells[before:]
    assert [cell.status for cell in later] == ["ok"] * 4
    assert [cell.step for cell in later] == [1, 2, 3, 3]
    assert not any("read_csv" in cell.code for cell in later)
    assert "The mean of 'Speed IAS in knots' by 'Phase of flight' is highest for 'Descent'" in answer
    assert "Flight Date" not in answer
    assert (folder / "outputs" / "follow-up-2.xlsx").is_file()


async def test_a_file_that_comes_with_a_later_question_is_loaded(folder: Path) -> None:
    analysis = Analysis(folder, put(folder, pd.DataFrame({"a": range(30), "g": list("xyz") * 10}), "one.csv"))
    await analysis.ask("What is in it?")
    analysis.abstracts += put(folder, pd.DataFrame({"b": range(90), "h": list("uvw") * 30}), "two.csv")
    answer = await analysis.ask("And in this one?")
    assert "two.csv has 90 rows" in answer
    assert numbers_not_printed(analysis) == []


SAYS = {
    "no numbers": "no pair of a grouping and a numeric column",
    "no rows": "The table has no rows",
    "one column": "not two numeric columns to correlate",
    "all missing": "no column holds values that could be compared",
    "integers as categories": "Rows per year by 'year'",
    "numbers as text": "'price' was text and became numbers; 1 values could not be read",
    "time zones": "Times in 'when' are taken as UTC",
    "chinese": "'日期' was text and became dates",
    "twice the same name": "'x (2)'",
    "constant": "no column holds values that could be compared",
}
"""What the answer says of some of them."""


@pytest.mark.parametrize("kind", KINDS)
async def test_a_nasty_table_needs_no_second_try_and_what_does_not_apply_is_said(folder: Path, kind: str) -> None:
    analysis = Analysis(folder, put(folder, nasty(kind), "table.pkl"))
    answer = await analysis.ask("What is in it?")
    sound(analysis)
    assert SAYS.get(kind, "").casefold() in answer.casefold()
    failed = [cell.observation for cell in analysis.cells if cell.status != "ok"]
    assert failed == []
    before = len(analysis.cells)
    if len(nasty(kind)):
        await analysis.ask("And x?")
        assert [cell.observation for cell in analysis.cells[before:] if cell.status != "ok"] == []
        assert numbers_not_printed(analysis) == []


async def test_steps_that_an_empty_table_leaves_out_are_named_with_the_reason(folder: Path) -> None:
    analysis = Analysis(folder, put(folder, nasty("no rows"), "table.pkl"))
    await analysis.ask("What is in it?")
    assert [cell.step for cell in analysis.cells] == [1, 7, 7]
    assert [item.partition(":")[0] for item in analysis.skipped] == ["2", "3", "4", "5", "6"]


async def test_the_largest_table_is_explored_and_a_shared_key_is_named(folder: Path) -> None:
    sales = pd.DataFrame({"shop": [f"s{i % 9}" for i in range(300)], "amount": np.arange(300.0)})
    shops = pd.DataFrame({"shop": [f"s{i}" for i in range(9)], "city": list("abcdefghi")})
    abstracts = put(folder, shops, "shops.csv") + put(folder, sales, "sales.csv")
    (folder / "inputs" / "notes.txt").write_text("hello")
    analysis = Analysis(folder, abstracts + abstract("inputs/notes.txt"))
    answer = await analysis.ask("?")
    sound(analysis)
    assert "sales.csv has 300 rows" in answer
    assert "could be joined on 'shop' (100% of the keys match)" in answer
    assert "inputs/notes.txt" in answer


@pytest.mark.parametrize("tools", [True, False])
async def test_text_is_read_and_its_words_counted(folder: Path, tools: bool) -> None:
    (folder / "inputs" / "tale.txt").write_text(
        "The raven flew. The raven sat? Visit https://example.org in 1845.\n" * 9
    )
    analysis = Analysis(folder, abstract("inputs/tale.txt"), tools=tools)
    answer = await analysis.ask("What is it about?")
    sound(analysis)
    assert [cell.status for cell in analysis.cells] == ["ok"] * 6
    assert "'raven' (18)" in answer
    assert "9 web addresses" in answer
    assert len(analysis.plan) == 5
    assert (folder / "outputs" / "words.csv").is_file()


async def test_a_file_that_is_no_text_is_said_to_be_unreadable(folder: Path) -> None:
    (folder / "inputs" / "blob.bin").write_bytes(bytes(5_000))
    analysis = Analysis(folder, abstract("inputs/blob.bin"))
    answer = await analysis.ask("?")
    sound(analysis)
    assert "blob.bin could not be read (ValueError)" in answer
    assert "No text could be read" in answer


async def test_without_files_it_says_that_it_can_only_analyse_files(folder: Path) -> None:
    analysis = Analysis(folder, "The user brought no files.")
    answer = await analysis.ask("What is the capital of France?")
    sound(analysis)
    assert analysis.cells == []
    assert "can only analyse files" in answer


async def test_files_that_the_profile_calls_unreadable_are_named_not_read(folder: Path) -> None:
    analysis = Analysis(folder, "### inputs/lie.xlsx\nCannot be read: it seems to be HTML.\n")
    answer = await analysis.ask("?")
    assert analysis.cells == []
    assert "`inputs/lie.xlsx`" in answer


async def test_the_same_messages_give_the_same_reply(folder: Path) -> None:
    analysis = Analysis(folder, birdstrikes(folder))
    messages = [SystemMessage(analysis.abstracts), HumanMessage("Why?\n\nPlan:\n1. Look")]
    replies = [await Playbook().bind_tools([RUN_PYTHON, SUBMIT_ANSWER]).ainvoke(messages) for _ in range(2)]
    assert replies[0].tool_calls == replies[1].tool_calls
    again = await asyncio.to_thread(Playbook().bind_tools([RUN_PYTHON, SUBMIT_ANSWER]).invoke, messages)
    assert again.tool_calls == replies[0].tool_calls


async def test_a_doubted_number_is_taken_out_of_the_answer() -> None:
    observation = "cell 1 · ok · 0.1 s\n- Data: t.csv has 77 rows and 3 columns.\n- Trend: it rises to 4,321 in May."
    call = {"name": "run_python", "args": {"purpose": "List all findings", "code": ""}, "id": "a", "type": "tool_call"}
    sent = {"name": "submit_answer", "args": {"answer": "4,321", "skipped": []}, "id": "b", "type": "tool_call"}
    messages = [
        SystemMessage(abstract("inputs/t.csv", CSV.format("t.csv"))),
        HumanMessage("Why?\n\nPlan:\n1. Look"),
        AIMessage("", tool_calls=[call]),
        ToolMessage(observation, tool_call_id="a"),
        AIMessage("", tool_calls=[sent]),
        ToolMessage("Not good enough yet:\n- No cell printed these numbers of the answer: 4,321.", tool_call_id="b"),
    ]
    reply = await Playbook().bind_tools([RUN_PYTHON, SUBMIT_ANSWER]).ainvoke(messages)
    answer = reply.tool_calls[0]["args"]["answer"]
    assert reply.tool_calls[0]["name"] == "submit_answer"
    assert "77 rows" in answer
    assert "4,321" not in answer


async def test_a_review_finds_every_answer_good_enough() -> None:
    messages = [SystemMessage('Reply with JSON: {"good_enough": true or false}'), HumanMessage("An answer")]
    by_tool = await Playbook().bind_tools([SUBMIT_REVIEW]).ainvoke(messages)
    assert by_tool.tool_calls[0]["args"] == {"good_enough": True, "missing": []}
    assert (await Playbook().ainvoke(messages)).text == '{"good_enough": true, "missing": []}'


async def test_cells_that_are_only_told_of_in_one_line_are_not_run_again(folder: Path) -> None:
    told = "\n".join(
        f"{number} · ok · {STAGES[stage].purpose}: and so on"
        for number, stage in enumerate(["load", "clean", "quality", "distributions"], 1)
    )
    plan = await Playbook().bind_tools([SUBMIT_PLAN]).ainvoke([SystemMessage(birdstrikes(folder)), HumanMessage("?")])
    steps = "\n".join(f"{n}. {step}" for n, step in enumerate(plan.tool_calls[0]["args"]["steps"], 1))
    opening = (
        f"Why?\n\nPlan:\n{steps}\n\nCells run before, in short:\n{told}\n\nVariables now:\ndf: DataFrame 3,296 x 14"
    )
    reply = (
        await Playbook().bind_tools([RUN_PYTHON]).ainvoke([SystemMessage(birdstrikes(folder)), HumanMessage(opening)])
    )
    assert reply.tool_calls[0]["args"]["purpose"] == STAGES["relations"].purpose


async def test_a_step_taken_out_of_the_plan_is_not_done(folder: Path) -> None:
    analysis = Analysis(folder, birdstrikes(folder))
    opening = "Why?\n\nPlan:\n1. Look for outliers"
    bound = Playbook().bind_tools([RUN_PYTHON])
    purposes: list[str] = []
    said: list[Any] = []
    for number in range(1, 6):
        reply = await bound.ainvoke([SystemMessage(analysis.abstracts), HumanMessage(opening), *said])
        if reply.tool_calls[0]["name"] != "run_python":
            break
        purposes.append(reply.tool_calls[0]["args"]["purpose"])
        said += [reply, ToolMessage(f"cell {number} · ok · 0.1 s", tool_call_id=reply.tool_calls[0]["id"])]
    assert purposes == [STAGES[name].purpose for name in ("load", "clean", "quality", "outliers", "list")]


@pytest.mark.parametrize("name", list(STAGES))
@pytest.mark.parametrize("mended", [False, True])
def test_every_cell_compiles_and_stays_short(name: str, mended: bool) -> None:
    code = STAGES[name].code("", mended=mended, error="TypeError: 'x'")
    compile(code, name, "exec")
    assert code.startswith(f"# {STAGES[name].purpose_of(mended=mended)}\n")
    assert mended or len(code.splitlines()) < 60


def test_no_two_cells_have_the_same_purpose() -> None:
    purposes = [stage.purpose_of(mended=mended) for stage in STAGES.values() for mended in (False, True)]
    assert len(set(purposes)) == len(purposes)


def test_it_is_cheap_to_import() -> None:
    code = "import sys, models.playbook.model; print({'pandas', 'numpy', 'matplotlib', 'langgraph'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=EXAMPLE.parents[1])
    assert ran.stdout.strip() == "set()", ran.stderr
