"""Each cheap check of an answer passes what is right and names what is missing."""

from pathlib import Path
from typing import Any

import pytest

from graph.state import PlanStep
from nodes.answer_checks import files_open, plan_done
from nodes.answer_files import files_asked_for, files_made, files_named
from nodes.answer_numbers import numbers_printed
from sandboxes.fake import FakeSandbox
from tests.states import make_cell, make_file, make_input, make_state


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Sum it and write an Excel file", "an Excel file"),
        ("Please export the result to CSV.", "a CSV file"),
        ("Save it as parquet", "a Parquet file"),
        ("Give me a report as PDF", "a PDF file"),
        ("Plot units by month", "a figure"),
        ("Show the trend; make a chart of it", "a figure"),
        ("画一个柱状图", "a figure"),
        ("把结果导出为Excel", "an Excel file"),
        ("結果をエクセルに保存してください", "an Excel file"),
    ],
)
def test_a_file_that_was_asked_for_and_not_made_is_missing(question: str, kind: str) -> None:
    assert kind in files_asked_for(make_state(question=question))[0]
    suffix = {"an Excel file": "xlsx", "a CSV file": "csv", "a Parquet file": "parquet", "a PDF file": "pdf"}.get(
        kind, "png"
    )
    made = make_cell(1, files=[make_file(f"outputs/result.{suffix}")])
    assert files_asked_for(make_state(question=question, cells=[made])) == []


@pytest.mark.parametrize(
    "question",
    [
        "What is in sales.csv?",
        "Which rows of the Excel file are wrong?",
        "How many nodes has the graph?",
        "What does figure 3 of the report say?",
        "Read the pdf and tell me its title",
        "What are the costs per plot of land?",
    ],
)
def test_a_question_about_a_file_asks_for_none(question: str) -> None:
    assert files_asked_for(make_state(question=question, inputs=[make_input()])) == []


def test_a_figure_counts_as_made_and_a_deleted_file_does_not() -> None:
    first = make_cell(1, figures=["figures/cell-001-1.png"], files=[make_file("outputs/a.csv")])
    second = make_cell(2, files=[make_file("outputs/a.csv", "deleted")])
    assert files_made(make_state(cells=[first, second])) == ["figures/cell-001-1.png"]
    assert files_asked_for(make_state(question="Plot it", cells=[first])) == []


def test_a_named_file_that_nobody_made_is_missing() -> None:
    state = make_state(
        proposal="See `outputs/report.xlsx`, sales.csv, figures/cell-001-1.png and answer.md.",
        inputs=[make_input()],
        cells=[make_cell(1, figures=["figures/cell-001-1.png"])],
    )
    assert [lack.split(",")[0] for lack in files_named(state)] == ["The answer names report.xlsx"]


@pytest.mark.parametrize(
    ("answer", "printed"),
    [
        ("The mean is 12.35.", "mean 12.3456"),
        ("It is 12.3 %.", "share 0.1234"),
        ("1,234,567 rows", "1234567"),
        ("about 1.2 million rows", "1234567"),
        ("It fell by 3.5 points", "change -3.5"),
        ("roughly 57%", "0.5702"),
        ("In 2025 it was best", "2025-03-01"),
        ("There are 3 regions and 12 months.", "nothing"),
        ("p = 1.2e-05", "1.2e-05"),
        ("1. first\n2. second\n15. fifteenth", "nothing"),
        ("See `cell_99`, https://example.org/4711", "nothing"),
        ("销量为1.2亿", "123456789"),
        ("−40.5 degrees", "-40.5"),
        ("between 10.5–20.25", "10.5 20.25"),
    ],
)
def test_a_number_that_was_printed_passes(answer: str, printed: str) -> None:
    assert numbers_printed(make_state(proposal=answer, cells=[make_cell(1, printed)])) == []


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        ("The mean is 12.45.", "12.45"),
        ("It is 45.6 %.", "45.6 %"),
        ("1,234,999 rows", "1,234,999"),
        ("about 1.9 million rows", "1.9"),
        ("It rose to 777.", "777"),
    ],
)
def test_a_number_that_no_cell_printed_is_named(answer: str, named: str) -> None:
    lacks = numbers_printed(make_state(proposal=answer, cells=[make_cell(1, "12.3456 0.1234 1234567 -3.5")]))
    assert named in lacks[0]


def test_numbers_of_the_question_the_abstract_and_the_code_are_known() -> None:
    state = make_state(
        question="Which of the 4711 sold?",
        proposal="Of 4711, 5000 rows have a price above 250.",
        inputs=[make_input(abstract="### inputs/sales.csv\nCSV, 5,000 rows")],
        cells=[make_cell(1, "ok", code="df[df.price > 250]")],
    )
    assert numbers_printed(state) == []


def plan(*done: bool) -> list[PlanStep]:
    return [PlanStep(text=f"Step number {number} of it", done=one) for number, one in enumerate(done, 1)]


@pytest.mark.parametrize(
    ("done", "skipped", "fine"),
    [
        ((True, True), [], True),
        ((True, False, True), [], False),
        ((True, False, True), ["2: there is no date column"], True),
        ((True, True, False), [], True),
        ((True, False, False), [], False),
    ],
)
def test_an_unfinished_step_must_be_done_or_declared(done: tuple[bool, ...], skipped: list[str], fine: bool) -> None:
    state = make_state(plan=plan(*done), skipped=skipped, cells=[make_cell(1, step=1)])
    assert (plan_done(state) == []) is fine


def test_a_model_that_names_no_steps_is_not_held_to_them() -> None:
    assert plan_done(make_state(plan=plan(False, False), cells=[make_cell(1)])) == []


@pytest.mark.parametrize(
    ("said", "lacks"),
    [
        ([{"path": "outputs/a.xlsx", "problem": "is not a zip file"}], 1),
        ([{"path": "outputs/a.xlsx", "problem": ""}], 0),
        ([{"path": "../../etc/passwd", "problem": "made up"}], 0),
        ("no json at all", 0),
        ([{"nothing": 1}], 0),
    ],
)
async def test_a_file_that_does_not_open_is_missing(tmp_path: Path, said: Any, lacks: int) -> None:
    sandbox = FakeSandbox(tmp_path, programs={"profiler": said})
    state = make_state(cells=[make_cell(1, files=[make_file("outputs/a.xlsx")])])
    assert len(await files_open(state, sandbox)) == lacks


@pytest.mark.parametrize("number", ["1e9999999", "4E1234567", "1e-9999999", "1" * 5_000])
def test_a_number_beyond_all_measure_is_no_crash(number: str) -> None:
    numbers_printed(make_state(cells=[make_cell(1, f"cell 1\n{number}")], proposal=f"It is {number}."))
