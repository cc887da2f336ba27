"""The playbook on whole analyses: its cells are really run, and its answer says only what they printed."""

import asyncio
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from langchain_core.messages import HumanMessage

from models.playbook.cells import STAGE_OF, STAGES
from models.playbook.cells.loading import CLEAN, HELPERS, LOAD, SPOKEN, TOLERANT_READ
from models.playbook.model import Playbook
from models.situation import PromptStep
from tests.unit.playbook_host import (
    TOOL,
    Analysis,
    abstract,
    inputs_of,
    make_situation,
    numbers_not_printed,
    ran,
    replied,
)
from tests.unit.playbook_tables import CSV, EXAMPLE, KINDS, birdstrikes, nasty, put, sound

matplotlib.use("Agg")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("inputs", "outputs"):
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.mark.slow  # `make demo` does this
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
    book = pd.read_excel(folder / "outputs" / "summary.xlsx", sheet_name=None, engine="openpyxl")
    assert {"columns", "missing", "differences", "findings"} <= set(book)
    named = re.findall(r"`((?:outputs|figures)/[^`]+)`", answer)
    assert len(named) == 5
    assert all((folder / name).is_file() for name in named)


@pytest.mark.slow
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
    "numbers as text": "'price' was text and became numbers; 1 value could not be read",
    "time zones": "Times in 'when' are taken as UTC",
    "chinese": "'日期' was text and became dates",
    "twice the same name": "'x (2)'",
    "constant": "no column holds values that could be compared",
}
"""What the answer says of some of them."""
SLOW_KINDS = {
    "thousand columns", "twice the same name", "time zones", "integers as categories", "chinese", "formulas",
    "booleans", "no numbers", "mixed types", "nested", "dollar names",
}  # fmt: skip
"""Those that take longest, of which each is analysed as others are."""


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow) if kind in SLOW_KINDS else kind for kind in KINDS]
)
async def test_a_nasty_table_needs_no_second_try_and_what_does_not_apply_is_said(folder: Path, kind: str) -> None:
    analysis = Analysis(folder, put(folder, nasty(kind), "one table.pkl"))
    answer = await analysis.ask("What is in it?")
    sound(analysis)
    assert "\n- one table.pkl has " in answer, "the file keeps its name"
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


@pytest.mark.slow
async def test_columns_are_the_same_whatever_their_case_and_spaces(folder: Path) -> None:
    (folder / "inputs" / "orders.csv").write_text(
        "Customer ,OrderDate,Net Amount\n"
        + "".join(f"c{n % 5},2024-01-{n % 28 + 1:02d},{n * 1.5}\n" for n in range(60))
    )
    people = "".join(f"c{n} ,{'Berlin' if n % 2 else 'berlin '}\n" for n in range(5))
    (folder / "inputs" / "people.csv").write_text(f"customer,city\n{people}")
    abstracts = "".join(
        abstract(f"inputs/{name}", f"pd.read_csv('inputs/{name}')") for name in ("orders.csv", "people.csv")
    )
    analysis = Analysis(folder, abstracts)
    answer = await analysis.ask("What is in it?")
    sound(analysis)
    assert "could be joined on 'Customer', which is 'customer' there (100% of the keys match)" in answer
    answer = await analysis.ask("How does the net_amount differ by CUSTOMER?")
    sound(analysis)
    assert "names no column" not in answer
    assert "the mean of 'Net Amount' by 'Customer' is highest" in answer.replace("The mean", "the mean")


async def test_groups_that_differ_in_case_or_spaces_alone_are_one(folder: Path) -> None:
    towns = ["Berlin", "berlin", " BERLIN", "Ulm", "Berlin", "ulm "] * 20
    (folder / "inputs" / "t.csv").write_text("town,x\n" + "".join(f"{town},{n}\n" for n, town in enumerate(towns)))
    analysis = Analysis(folder, abstract("inputs/t.csv", "pd.read_csv('inputs/t.csv')"))
    answer = await analysis.ask("Which town?")
    sound(analysis)
    assert "'town' has 2 values; the commonest are 'Berlin' 80 (67%), 'Ulm' 40 (33%)" in answer
    assert "differ in case or spaces alone count as one, such as 'berlin' as 'Berlin'" in answer


def test_many_columns_and_spellings_cost_no_more_than_once_each() -> None:
    """Counted are the calls of Python functions that would grow with pairs, and with groups."""
    calls: Counter[str] = Counter()

    def count(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            calls[frame.f_code.co_name] += 1

    names = [f"column {n}" for n in range(40)]
    wide = pd.DataFrame([[1] * 40] * 3, columns=names)
    spelt = pd.DataFrame({"name": [text for n in range(400) for text in (f"name {n}", f"NAME {n}", f"name {n}")]})
    there: dict[str, Any] = {
        "pd": pd,
        "re": re,
        "tables": {"a": spelt.join(wide), "b": wide},
        "findings": [],
        "raw": None,
    }
    exec(HELPERS, there)
    sys.setprofile(count)
    try:
        exec(SPOKEN + LOAD + CLEAN, there)
    finally:
        sys.setprofile(None)
    assert calls["spoken"] <= 2 * 81
    assert calls["value_counts"] < 40
    assert set(there["df"]["name"]) == {f"name {n}" for n in range(400)}


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


async def test_the_same_situation_gives_the_same_reply(folder: Path) -> None:
    situation = make_situation(inputs=inputs_of(birdstrikes(folder)))
    replies = [await replied(situation) for _ in range(2)]
    assert replies[0].tool_calls == replies[1].tool_calls
    model = Playbook().with_situation(situation).bind_tools([TOOL])
    again = await asyncio.to_thread(model.invoke, [HumanMessage("Another prompt.")])
    assert again.tool_calls == replies[0].tool_calls


async def test_a_prompt_alone_says_nothing_to_it() -> None:
    with pytest.raises(ValueError, match="give it a situation"):
        await Playbook().ainvoke([HumanMessage("What is the capital of France?")])


async def test_a_doubted_number_is_taken_out_of_the_answer() -> None:
    observation = "cell 1 · ok · 0.1 s\n- Data: t.csv has 77 rows and 3 columns.\n- Trend: it rises to 4,321 in May."
    reply = await replied(
        make_situation(
            inputs=inputs_of(abstract("inputs/t.csv", CSV.format("t.csv"))),
            cells=[ran("List all findings", observation)],
            missing=["No cell printed these numbers of the answer: 4,321."],
        )
    )
    answer = reply.tool_calls[0]["args"]["answer"]
    assert reply.tool_calls[0]["name"] == "submit_answer"
    assert "77 rows" in answer
    assert "4,321" not in answer


async def test_a_review_finds_every_answer_good_enough() -> None:
    situation = make_situation(wanted="review")
    assert (await replied(situation)).tool_calls[0]["args"] == {"good_enough": True, "missing": []}
    assert (await replied(situation, tools=False)).text == '{"good_enough": true, "missing": []}'


async def test_a_step_taken_out_of_the_plan_is_not_done(folder: Path) -> None:
    inputs, purposes = inputs_of(birdstrikes(folder)), list[str]()
    plan = [PromptStep(text="Look for outliers", done=False)]
    for _ in range(6):
        reply = await replied(make_situation(inputs=inputs, plan=plan, cells=[ran(purpose) for purpose in purposes]))
        if reply.tool_calls[0]["name"] != "run_python":
            break
        purposes.append(reply.tool_calls[0]["args"]["purpose"])
    assert purposes == [STAGES[name].purpose for name in ("load", "clean", "quality", "outliers", "list")]


async def test_cells_that_another_model_ran_in_this_turn_are_passed_over(folder: Path) -> None:
    cells = [ran("See what there is"), ran(STAGES["load"].purpose), ran("Count", status="error", error="E: no")]
    reply = await replied(make_situation(inputs=inputs_of(birdstrikes(folder)), cells=cells))
    assert reply.tool_calls[0]["args"]["purpose"] == STAGES["clean"].purpose


async def test_what_an_earlier_version_did_is_not_done_again(folder: Path) -> None:
    cells = [ran(STAGES["load"].purpose), ran(STAGES["clean"].purpose, status="error", error="ValueError: no")]
    cells += [ran("Clean the columns again, counting dates"), ran(STAGES["quality"].purpose)]
    reply = await replied(make_situation(inputs=inputs_of(birdstrikes(folder)), cells=cells))
    assert reply.tool_calls[0]["args"]["purpose"] == STAGES["distributions"].purpose


@pytest.mark.parametrize("name", list(STAGES))
@pytest.mark.parametrize("again", [False, True])
def test_every_cell_compiles_and_stays_short(name: str, again: bool) -> None:
    code = STAGES[name].code(again=again)
    compile(code, name, "exec")
    assert code.startswith(f"# {STAGES[name].purpose_of(again=again)}\n")
    assert again or len(code.splitlines()) < 60


def test_no_two_cells_have_the_same_purpose() -> None:
    assert len(STAGE_OF) == 2 * len(STAGES)


def test_it_is_cheap_to_import() -> None:
    code = "import sys, models.playbook.model; print({'pandas', 'numpy', 'matplotlib', 'langgraph'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=EXAMPLE.parents[1])
    assert ran.stdout.strip() == "set()", ran.stderr


def test_what_is_no_delimited_text_is_not_taken_for_a_table(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<html>\n<body>\n<p>a, b</p>\n<p>c, d</p>\n</body>\n</html>\n", encoding="utf-8")
    notes: list[str] = []
    names: dict[str, Any] = {"pd": pd, "note": lambda topic, text: notes.append(f"{topic}: {text}")}
    exec(TOLERANT_READ, names)
    failing = lambda: pd.read_csv(tmp_path / "missing.csv")  # noqa: E731
    assert names["attempt"](failing, str(page), False) is None
    assert notes == [f"Skipped: {page} could not be read as a table."]
    assert names["attempt"](failing, str(page), True) is not None
