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

from models.playbook import Playbook
from models.playbook_cells import STAGES
from tests.unit.playbook_host import (
    RUN_PYTHON,
    SUBMIT_ANSWER,
    SUBMIT_PLAN,
    SUBMIT_REVIEW,
    Analysis,
    abstract,
    numbers_not_printed,
)

matplotlib.use("Agg")
EXAMPLE = Path(__file__).parents[2] / "examples" / "birdstrikes.csv"
CSV = "pd.read_csv('inputs/{0}')"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("inputs", "outputs"):
        (tmp_path / name).mkdir()
    return tmp_path


def put(folder: Path, table: pd.DataFrame, name: str = "table.parquet") -> str:
    """Write a table into the inputs; its abstract."""
    path = folder / "inputs" / name
    if name.endswith(".csv"):
        table.to_csv(path, index=False)
        return abstract(f"inputs/{name}", f"pd.read_csv('inputs/{name}')")
    if name.endswith(".pkl"):
        table.to_pickle(path)
        return abstract(f"inputs/{name}", f"pd.read_pickle('inputs/{name}')")
    table.to_parquet(path)
    return abstract(f"inputs/{name}", f"pd.read_parquet('inputs/{name}')")


def birdstrikes(folder: Path) -> str:
    (folder / "inputs" / "birdstrikes.csv").write_bytes(EXAMPLE.read_bytes())
    return abstract("inputs/birdstrikes.csv", CSV.format("birdstrikes.csv"))


def strikes(folder: Path) -> str:
    """A few of the sample's rows and columns, for what does not depend on them."""
    columns = ["Flight Date", "Phase of flight", "Cost Repair", "Speed IAS in knots"]
    table = pd.read_csv(EXAMPLE, usecols=columns).iloc[::8]
    return put(folder, table, "strikes.csv")


def sound(analysis: Analysis) -> None:
    """What holds for every analysis that the playbook ends."""
    assert "built-in playbook, not a language model" in analysis.answer
    assert "STEPWELL_MODEL" in analysis.answer
    assert len(analysis.cells) <= 14
    assert numbers_not_printed(analysis) == []
    assert analysis.tokens > 0


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


def nasty(kind: str) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    n = 200
    x, ab = rng.normal(size=n), rng.choice(["a", "b"], n)
    days = pd.date_range("2020-01-01", periods=n, freq="9D", tz="Asia/Tokyo")
    tables: dict[str, Any] = {
        "no numbers": {"colour": rng.choice(["red", "green"], n), "shape": rng.choice(["round", "square", "flat"], n)},
        "no rows": {"a": pd.Series(dtype=float), "b": pd.Series(dtype=str)},
        "one column": {"value": x},
        "one row": {"a": [1], "b": ["x"], "when": ["2020-01-01"]},
        "all missing": {"a": [None] * n, "b": [float("nan")] * n},
        "thousand columns": {f"x{i}": rng.normal(size=60) for i in range(1000)},
        "chinese": {"城市": ["北京", "上海"] * (n // 2), "销售额": x, "日期": ["2023年5月1日", "2024年1月9日"] * 100},
        "booleans": {"yes": x > 0.5, "maybe": [True, False, None, True] * (n // 4), "x": x},
        "time zones": {"when": days, "x": x},
        "identifier": {"customer_id": range(1000, 1000 + n), "amount": x + 50, "name": [f"n{i}" for i in range(n)]},
        "integers as categories": {"class": rng.integers(1, 4, n), "fare": x, "year": rng.integers(2001, 2012, n)},
        "dollar names": {"$a_{b$": x, "cost $ and $^x$": x**3, "g$": rng.choice(["$x$", "$_{"], n)},
        "infinities": {"x": [float("inf"), -float("inf"), *x[2:]], "g": ab},
        "numbers as text": {"price": [f"$1,{i:03d}.50" for i in range(n - 1)] + ["n/a"], "zip": [f"0{i}" for i in x]},
        "nested": {"tags": [["a", "b"], ["c"]] * (n // 2), "x": x},
        "time spans": {"wait": pd.to_timedelta(rng.integers(1, 900, n), unit="s"), "g": ab},
        "nullable": {
            "n": pd.array([1, None, 3, 4] * (n // 4), dtype="Int64"),
            "b": pd.array([True, None] * (n // 2), dtype="boolean"),
        },
        "categories": {"c": pd.Categorical(ab, ["a", "mid", "b"], ordered=True), "x": x},
        "constant": {"x": [5] * n, "y": [5.0] * n, "g": ["a"] * n},
        "formulas": {"=1+1": rng.choice(["=cmd()", "+1", "@x"], n), "x\x01y": x},
        "mixed types": {"v": [1, "two", 3.0, None, pd.Timestamp("2020-01-01")] * (n // 5), "x": x},
        "mixed offsets": {"when": ["2020-01-01T00:00:00+01:00", "2020-07-01T00:00:00+02:00"] * (n // 2), "x": x},
    }  # fmt: skip
    if kind == "twice the same name":
        table = pd.DataFrame(rng.normal(size=(n, 3)))
        table.columns = ["x", "x", ""]
        return table
    return pd.DataFrame(tables[kind])


KINDS = [
    "no numbers", "no rows", "one column", "one row", "all missing", "thousand columns", "chinese", "booleans",
    "time zones", "identifier", "integers as categories", "dollar names", "infinities", "numbers as text", "nested",
    "time spans", "nullable", "categories", "constant", "formulas", "mixed types", "twice the same name",
]  # fmt: skip


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


async def test_times_of_mixed_offsets_become_utc_at_the_second_try(folder: Path) -> None:
    analysis = Analysis(folder, put(folder, nasty("mixed offsets"), "table.pkl"))
    answer = await analysis.ask("What is in it?")
    sound(analysis)
    assert [cell.status for cell in analysis.cells[:3]] == ["ok", "error", "ok"]
    assert "'when' became dates, 2019-12-31 to 2020-06-30; 0 values could not be read" in answer


def with_bad_dates(folder: Path) -> str:
    table = pd.read_csv(EXAMPLE, keep_default_na=False)
    table.loc[[100, 1500, 3000], "Flight Date"] = ["unknown", "1990-13-45", "??"]
    return put(folder, table, "strikes.csv")


async def test_dates_that_cannot_be_read_are_counted_after_the_strict_try_failed(folder: Path) -> None:
    analysis = Analysis(folder, with_bad_dates(folder))
    answer = await analysis.ask("When do birds strike?")
    sound(analysis)
    assert [cell.status for cell in analysis.cells[:3]] == ["ok", "error", "ok"]
    assert "The last cell failed" in analysis.cells[2].thought
    assert "3 values could not be read and count as missing (such as 'unknown')" in answer
    assert analysis.skipped == []
    assert "'None' in 'Effect Amount of damage' is kept" in answer


@pytest.mark.parametrize(
    ("written", "first", "taken"),
    [
        (["31/12/2020", "01/02/2021", "15/03/2021", "soon"], "2020-12-31", "day"),
        (["12/31/2020", "01/02/2021", "03/15/2021", "soon"], "2020-12-31", "month"),
    ],
)
async def test_the_order_of_day_and_month_is_told_by_the_values(
    folder: Path, written: list[str], first: str, taken: str
) -> None:
    analysis = Analysis(
        folder, put(folder, pd.DataFrame({"day": written[:3] * 30 + written[3:], "x": range(91)}), "t.csv")
    )
    answer = await analysis.ask("?")
    sound(analysis)
    assert f"became dates, {first}" in answer
    assert f"the {taken} is taken to come first" in answer


async def test_an_expression_that_fails_is_followed_by_other_ways_to_read(folder: Path) -> None:
    (folder / "inputs" / "gbk.csv").write_bytes("城市;数量\n北京;1\n上海;2\n坏;3;4;5\n广州;6\n".encode("gb18030"))
    analysis = Analysis(folder, abstract("inputs/gbk.csv", CSV.format("gbk.csv")))
    answer = await analysis.ask("What is in it?")
    sound(analysis)
    assert [cell.status for cell in analysis.cells[:2]] == ["error", "ok"]
    assert "gbk.csv has 3 rows and 2 columns" in answer
    assert "read with other settings" in answer


async def test_a_table_that_cannot_be_read_in_any_way_ends_in_an_answer(folder: Path) -> None:
    analysis = Analysis(folder, abstract("inputs/gone.csv", CSV.format("gone.csv")))
    answer = await analysis.ask("What is in it?")
    sound(analysis)
    assert "inputs/gone.csv could not be read as a table" in answer
    assert len(analysis.cells) <= 4


async def test_a_step_that_fails_twice_is_left_out_and_named(folder: Path) -> None:
    def fault(number: int, code: str) -> str:
        return f"cell {number} · error · 0.1 s\nValueError: no" if "kruskal" in code or "far = []" in code else ""

    analysis = Analysis(folder, strikes(folder), fault=fault)
    answer = await analysis.ask("?")
    sound(analysis)
    assert [cell.status for cell in analysis.cells].count("error") == 4
    assert analysis.skipped == ["6: it failed twice"]
    assert "Look for outliers: it failed twice" in answer
    assert "Look for values far from the rest (it failed twice)" in answer
    assert "Rows per year" in answer


async def test_a_column_that_the_error_names_is_left_out(folder: Path) -> None:
    def fault(number: int, code: str) -> str:
        broken = "kruskal" in code and "error_text" not in code
        return f"cell {number} · error · 0.1 s\nTypeError: cannot rank 'Cost Repair'" if broken else ""

    analysis = Analysis(folder, strikes(folder), fault=fault)
    answer = await analysis.ask("?")
    sound(analysis)
    assert "'Cost Repair': a step failed on this" in answer
    assert "'Speed IAS in knots' differs by" in answer
    assert "'Cost Repair' differs by" not in answer


@pytest.mark.parametrize("status", ["timeout", "killed"])
async def test_a_cell_that_breaks_off_is_tried_again_on_a_sample(folder: Path, status: str) -> None:
    broken: list[int] = []

    def fault(number: int, code: str) -> str:
        if "kruskal" in code and not broken:
            broken.append(number)
            return f"cell {number} · {status} · 120.0 s\nIt was ended."
        return ""

    big = pd.DataFrame({"x": np.arange(60_000) % 977, "g": list("abc") * 20_000})
    analysis = Analysis(folder, put(folder, big, "big.csv"), fault=fault)
    answer = await analysis.ask("?")
    sound(analysis)
    assert broken == [6]
    assert "nrows=50000" in analysis.cells[6].code
    assert "only the first 50,000 rows are used" in answer
    assert "big.csv has 50,000 rows" in answer
    assert analysis.skipped == []
    assert sum("kruskal" in cell.code for cell in analysis.cells) == 2


async def test_what_breaks_off_every_time_is_given_up(folder: Path) -> None:
    def fault(number: int, code: str) -> str:
        return f"cell {number} · timeout · 120.0 s" if "read_csv" in code else ""

    analysis = Analysis(folder, strikes(folder), fault=fault)
    answer = await analysis.ask("?")
    sound(analysis)
    assert len(analysis.cells) <= 4
    assert "took too long" in answer
    assert [item.partition(":")[0] for item in analysis.skipped] == list("1234567")


async def test_a_session_that_lost_its_variables_is_loaded_again(folder: Path) -> None:
    analysis = Analysis(folder, strikes(folder))
    lost: list[int] = []

    def fault(number: int, code: str) -> str:
        if number == 5 and not lost:
            lost.append(number)
            analysis.namespace.clear()
        return ""

    analysis.fault = fault
    answer = await analysis.ask("?")
    sound(analysis)
    assert analysis.cells[4].status == "error"
    assert "read_csv" in analysis.cells[5].code
    assert "nrows" not in analysis.cells[5].code
    assert "'Phase of flight' has " in answer  # found out before the variables were lost
    assert analysis.skipped == []


async def test_a_rejected_cell_is_not_proposed_again(folder: Path) -> None:
    def fault(number: int, code: str) -> str:
        return f"cell {number} · rejected · 0.0 s\nNot run: no outliers, please." if "far = []" in code else ""

    analysis = Analysis(folder, strikes(folder), fault=fault)
    await analysis.ask("?")
    sound(analysis)
    assert sum("far = []" in cell.code for cell in analysis.cells) == 1
    assert analysis.skipped == ["6: the cell was rejected"]


@pytest.mark.parametrize("tools", [True, False])
async def test_when_the_cells_run_out_it_answers_with_what_was_seen(folder: Path, tools: bool) -> None:
    analysis = Analysis(folder, strikes(folder), max_cells=4, tools=tools)
    answer = await analysis.ask("?")
    sound(analysis)
    assert len(analysis.cells) == 4
    assert "strikes.csv has 412 rows" in answer
    assert "cells of this turn were used up" in answer
    if tools:
        assert [item.partition(":")[0] for item in analysis.skipped] == list("4567")


async def test_observations_cut_short_do_not_break_the_answer(folder: Path) -> None:
    analysis = Analysis(folder, strikes(folder), observation_chars=300)
    await analysis.ask("?")
    sound(analysis)
    assert [cell.status for cell in analysis.cells] == ["ok"] * 10


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
    code = "import sys, models.playbook; print({'pandas', 'numpy', 'matplotlib', 'langgraph'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=EXAMPLE.parents[1])
    assert ran.stdout.strip() == "set()", ran.stderr
