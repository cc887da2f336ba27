"""Each cheap check of an answer passes what is right and names what is missing."""

from pathlib import Path
from typing import Any

import pytest

from graph.state import PlanStep
from nodes.answer_checks.answer_files import files_made, missing_files, unknown_files
from nodes.answer_checks.answer_numbers import unprinted_numbers
from nodes.answer_checks.checks import unfinished_steps, unreadable_files
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
        ("用折线图展示趋势，并生成柱状图", "a figure"),
        ("Show the top ten and give me the table as an Excel file.", "an Excel file"),
        ("Compare the years and visualise the difference", "a figure"),
        ("Show sales by month in a line chart", "a figure"),
        ("Draw two figures of it", "a figure"),
        ("Which is best? Put the numbers of the analysis into an Excel file", "an Excel file"),
    ],
)
def test_a_file_that_was_asked_for_and_not_made_is_missing(question: str, kind: str) -> None:
    assert kind in missing_files(make_state(question=question))[0]
    suffix = {"an Excel file": "xlsx", "a CSV file": "csv", "a Parquet file": "parquet", "a PDF file": "pdf"}.get(
        kind, "png"
    )
    made = make_cell(1, files=[make_file(f"outputs/result.{suffix}")])
    assert missing_files(make_state(question=question, cells=[made])) == []


@pytest.mark.parametrize(
    "question",
    [
        "What is in sales.csv?",
        "Which rows of the Excel file are wrong?",
        "How many nodes has the graph?",
        "What does figure 3 of the report say?",
        "Read the pdf and tell me its title",
        "What are the costs per plot of land?",
        "Using the provided Excel file, how many orders are there?",
        "Add up the amounts in the CSV",
        "How many buildings are in the CSV?",
        "What is the total return in the csv?",
        "Create a summary of this PDF",
        "Given the plot above, what is the trend?",
        "Give me the sales figures for 2023",
        "Draw a conclusion about the two groups",
        "Which plot has the highest yield, and plot size matters how much?",
        "Make a table of the totals from the two Excel sheets",
        "这个Excel里有多少行？",
    ],
)
def test_a_question_about_a_file_asks_for_none(question: str) -> None:
    assert missing_files(make_state(question=question, inputs=[make_input()])) == []


def test_a_figure_counts_as_made_and_a_deleted_file_does_not() -> None:
    first = make_cell(1, figures=["figures/cell-001-1.png"], files=[make_file("outputs/a.csv")])
    second = make_cell(2, files=[make_file("outputs/a.csv", "deleted")])
    assert files_made(make_state(cells=[first, second])) == ["figures/cell-001-1.png"]
    assert missing_files(make_state(question="Plot it", cells=[first])) == []


def test_a_figure_of_an_earlier_turn_is_not_the_one_asked_for_now() -> None:
    earlier = make_cell(1, figures=["figures/cell-001-1.png"], files=[make_file("outputs/a.xlsx")])
    state = make_state(question="Plot it again, and write the Excel file", turn=2, cells=[earlier])
    assert [lack.split(";")[0] for lack in missing_files(state)] == ["The user asked for a figure"]
    now = make_cell(2, turn=2, figures=["figures/cell-002-1.png"])
    assert missing_files(make_state(question="Plot it again", turn=2, cells=[earlier, now])) == []


def test_a_named_file_that_nobody_made_is_missing() -> None:
    state = make_state(
        proposal="See `outputs/report.xlsx`, sales.csv, figures/cell-001-1.png and answer.md.",
        inputs=[make_input()],
        cells=[make_cell(1, figures=["figures/cell-001-1.png"])],
    )
    assert [lack.split(",")[0] for lack in unknown_files(state)] == ["The answer names report.xlsx"]


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
        ("1,532 of 3,296 strikes (46.5%)", "1532 3296"),
        ("It rose from 120 to 150 (+25 %).", "120 150"),
        ("A climb costs $13.8k, roughly 2.8× the mean of $4,888, a gap of about $8,900.", "13825.22 4888.17"),
        ("Damage in 10.9%, none in the other 89.1%.", "0.10922"),
        ("about 1,500 strikes, over 3,200 in all, nearly 5,000 $", "1532 3296 4963"),
        ("SMB brings $84.3k; together with the $29.2k of others $113.5 thousand.", "84331.21 29202.14"),
        ("p < 0.001 with a 95% CI of 1.2–3.4, 5% level", "p 1.2e-05 (1.2012, 3.3987)"),
        ("p = .013, p = 1.2×10⁻⁵, 1.2 x 10^-5", "0.0131 1.2e-05"),
        ("46,5 % der 3.296 Fälle, 1.234.567,8 € gesamt", "0.4651 3296 1234567.81"),
        ("1 234 567 lignes, 12,5 de moyenne", "1234567 12.5"),
        ("The years 2019,2020,2021", "2019 2020 2021"),
        ("in the 1990s, on the 15th, B-737-300, COVID-19, id 4f50, report_2024.xlsx, sales-2025.csv", "nothing"),
        ("| 地区 | 2023年（万元） |\n|---|---|\n| 华东 | 499.8 |", "2023 4997953.0"),
        (
            "销售额从499.8万元增至638.4万元，增长27.7%，合计约4302万元，840条订单",
            "4997953 6384024 0.277328 43023906 840",
        ),
        ("| Region | Revenue ($ million) |\n|---|---|\n| East | 5.0 |", "4997953.0"),
        ("1" * 500 + " and 5e999 are too long to be read", "nothing"),
        ("5kg, 13.8k and 2.83x", "5 13825 2.8299"),
    ],
)
def test_a_number_that_was_printed_passes(answer: str, printed: str) -> None:
    assert unprinted_numbers(make_state(proposal=answer, cells=[make_cell(1, printed)])) == []


SEEN = "cell 49 · ok · 0.49 s\n12.3456 0.1234 1234567 -3.5"


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        ("The mean is 12.45.", "12.45"),
        ("It is 45.6 %.", "45.6 %"),
        ("1,234,999 rows", "1,234,999"),
        ("about 1.9 million rows", "1.9"),
        ("It rose to 777.", "777"),
        ("虚构的数字是99999。", "99999"),
        ("合计约4302万元", "4302"),
        ("共有1280条订单", "1280"),
        ("It rose from 12.35 to 1234567 (+35.5%).", "35.5%"),
        ("about 3,000 rows", "3,000"),
        ("about 1,200 rows", "1,200"),
        ("12.3456 of 1234567 and p = 0.123 or p = 0.048 with 0.1234 and -3.5", "0.048"),
        ("p = 0.012 of it", "0.012"),
        ("It took 0.49 of it, 49%", "49%"),
        ("A trip costs 77.7k.", "77.7"),
        ("Es waren 47,5 %.", "47,5 %"),
    ],
)
def test_a_number_that_no_cell_printed_is_named(answer: str, named: str) -> None:
    lacks = unprinted_numbers(make_state(proposal=answer, cells=[make_cell(1, SEEN)]))
    assert named in lacks[0]


THRESHOLDS = [
    "The effect is significant at 0.05.",
    "The difference is significant at the 0.05 level (p = 0.031).",
    "With alpha = 0.05 the null hypothesis is rejected.",
    "With α = 0.01 it is not rejected.",
    "At a significance level of 0.05, p = 0.031 is small enough.",
    "It holds at the 0.1 significance level.",
    "As p <= 0.05, the means differ.",
    "As p ≤ 0.05, the means differ.",
    "As p < .001, the means differ.",
    "The p-value is less than 0.05.",
    "The P-value less than 0.05 speaks against it.",
    "The p value was above 0.05 in the other group.",
    "All p-values are below 0.05.",
    "p>0.05, so nothing follows.",
    "Points beyond 1.5 × IQR count as outliers.",
    "Points beyond 1.5*IQR count as outliers.",
    "Values more than 1.5 times the IQR from the box are outliers.",
    "Values more than 1.5 times the interquartile range from the box are outliers.",
    "The fences lie at 3.0 × IQR.",
    "Pairs with |r| > 0.7 are called strong.",
    "Pairs with |r| ≥ 0.5 are called moderate.",
    "Pairs with |ρ| >= 0.75 are kept.",
    "The sample is large enough for a power of 0.8.",
    "It reaches power = 0.9.",
    "A threshold of 0.05 was used.",
    "The usual cut-off of 0.05 is met.",
    "The 0.05 threshold is met.",
    "Der p-Wert ist signifikant (p < 0,05).",
    "The 95 % confidence interval excludes zero.",
    "It is significant at the 5 % level.",
    "r = 0.217 with p = 0.031, which is below 0.05, so the correlation is weak but significant.",
    "Values with |z| > 1.96 were left out.",
    "Points with a z-score beyond 2.58 were checked.",
    "Skewness within ±0.5 counts as symmetric.",
    "A Cronbach's alpha above 0.7 is acceptable.",
    "By Cohen's convention 0.2 is a small effect, 0.5 a medium and 0.8 a large one.",
    "The false discovery rate was held at 0.05.",
    "The Shapiro-Wilk test gives p > 0.05 for both groups, so a t-test is used.",
    "The p-value (0.0312) is larger than 0.01.",
    "The test (p = 0.031 < 0.05) rejects equality; r = 0.22.",
    "Since p < 0.001 < 0.05, we reject.",
    "A VIF above 10, or a correlation above 0.9, would mean collinearity.",
]


@pytest.mark.parametrize("answer", THRESHOLDS)
def test_customary_thresholds_are_no_claims(answer: str) -> None:
    state = make_state(proposal=answer, cells=[make_cell(1, "cell 1 · ok · 0.1 s\np 0.0312 r 0.2171")])
    assert unprinted_numbers(state) == []


@pytest.mark.parametrize(
    ("answer", "named"),
    [
        ("The effect is significant at 0.043.", "0.043"),
        ("The p-value is 0.05.", "0.05"),
        ("p = 0.051, so nothing follows.", "0.051"),
        ("The p-value is less than 0.0234.", "0.0234"),
        ("The correlation is 0.7.", "0.7"),
        ("Pairs with |r| > 0.63 are called strong.", "0.63"),
        ("The median is 1.5.", "1.5"),
        ("The share of the level is 0.051.", "0.051"),
        ("A power of 0.83 is reached.", "0.83"),
        ("Values beyond 2.7 × IQR are outliers.", "2.7"),
        ("The mean z-score is 1.96.", "1.96"),
        ("The smallest share is 0.5, of the large ones.", "0.5"),
        ("The correlation above is 0.9.", "0.9"),
    ],
)
def test_what_only_looks_like_a_threshold_is_a_claim(answer: str, named: str) -> None:
    state = make_state(proposal=answer, cells=[make_cell(1, "cell 1 · ok · 0.1 s\n4711.25")])
    assert named in unprinted_numbers(state)[0]


def test_a_mistyped_digit_is_caught_beside_thresholds() -> None:
    values = [f"{17.31 + 3.7 * number:.2f}" for number in range(60)]
    state = make_state(cells=[make_cell(1, "cell 1 · ok · 0.1 s\n" + "\n".join(values))])
    tried, caught = 0, 0
    for number, value in enumerate(values):
        for place in [place for place, digit in enumerate(value) if digit.isdigit()]:
            wrong = value[:place] + str((int(value[place]) + 1 + number % 8) % 10) + value[place + 1 :]
            if wrong in values or wrong[0] == "0":
                continue
            tried += 1
            state["proposal"] = (
                f"The mean is {wrong}, significant at the 0.05 level (p < 0.001); "
                + THRESHOLDS[number % len(THRESHOLDS)]
            )
            caught += f" {wrong}" in "".join(unprinted_numbers(state))
    assert tried >= 200
    assert caught >= 0.95 * tried, (caught, tried)


def test_numbers_of_the_question_the_abstract_and_the_code_are_known() -> None:
    state = make_state(
        question="Which of the 4711 sold?",
        proposal="Of 4711, 5000 rows have a price above 250.",
        inputs=[make_input(abstract="### inputs/sales.csv\nCSV, 5,000 rows")],
        cells=[make_cell(1, "ok", code="df[df.price > 250]")],
    )
    assert unprinted_numbers(state) == []


@pytest.mark.parametrize(
    ("made", "proposal", "fine"),
    [
        ("outputs/销售汇总.xlsx", "\n详见销售汇总.xlsx。汇总表已保存到outputs/销售汇总.xlsx。", True),
        ("outputs/my report.xlsx", "See my report.xlsx.", True),
        ("outputs/report v1.2.xlsx", "See (report v1.2.xlsx).", True),
        ("outputs/销售汇总.xlsx", "另见：报告.docx。", False),
        ("outputs/port.xlsx", "See report.xlsx", False),
    ],
)
def test_names_in_running_text_are_recognised(made: str, proposal: str, fine: bool) -> None:
    state = make_state(proposal=proposal, cells=[make_cell(1, files=[make_file(made)])])
    assert (unknown_files(state) == []) is fine


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
    assert (unfinished_steps(state) == []) is fine


@pytest.mark.parametrize(
    ("proposal", "fine"),
    [("It is 4. Left out: step 2, because there is no date.", True), ("Step 2 was done.", False)],
)
def test_an_answer_in_text_says_which_steps_it_left_out(proposal: str, fine: bool) -> None:
    state = make_state(plan=plan(True, False, True), proposal=proposal, cells=[make_cell(1, step=1)])
    assert (unfinished_steps(state) == []) is fine


def test_a_model_that_names_no_steps_is_not_held_to_them() -> None:
    assert unfinished_steps(make_state(plan=plan(False, False), cells=[make_cell(1)])) == []


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
    assert len(await unreadable_files(state, sandbox)) == lacks


@pytest.mark.parametrize("number", ["1e9999999", "4E1234567", "1e-9999999", "1" * 5_000])
def test_a_number_beyond_all_measure_is_no_crash(number: str) -> None:
    unprinted_numbers(make_state(cells=[make_cell(1, f"cell 1\n{number}")], proposal=f"It is {number}."))
