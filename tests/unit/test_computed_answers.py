"""Answers whose numbers are computed: placeholders, what they become, and what State keeps of them."""

import json
import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from langgraph.runtime import Runtime

from graph.build import after_execute
from graph.context import Context
from graph.events import Finished
from graph.settings import Settings
from graph.state import AnswerValue, Pending, PlanStep
from models.base import Reply, ReplyProblem, ToolCall
from nodes.answer_checks.answer_numbers import unprinted_numbers
from nodes.computed_answers import MAX_PLACEHOLDERS, ONLY_VALUES, fill, placeholders
from nodes.execute import _Attempt
from nodes.next_step import computed, read_reply
from nodes.prompts.observation import cell_record
from sandboxes.fake import FakeSandbox
from sandboxes.inside.kernel.answer_values import markdown_table, value_text
from sandboxes.results import CellResult
from stepwell.cli.thread_lines import detail_json
from stepwell.runs import start
from stepwell.threads import read_thread
from tests.analyses import follow, last, with_model
from tests.scripted_model import Call, Request, Scripted, ScriptedServer
from tests.states import make_cell, make_state


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("r is {{r:.2f}}.", [("r", ".2f")]),
        ('{{"small" if p < 0.05 else "large"}}', [('"small" if p < 0.05 else "large"', "")]),
        ("{{table.head(5):table}} {{t:table,.2f}}", [("table.head(5)", "table"), ("t", "table,.2f")]),
        ("{{ {'a': 1}['a'] }}", [("{'a': 1}['a']", "")]),
        ("{{{1: 2}[1]}}", [("{1: 2}[1]", "")]),
        ("{{x[1:3]}} {{d['a:b']:.1%}}", [("x[1:3]", ""), ("d['a:b']", ".1%")]),
        ("{{when:%Y-%m-%d %H:%M}}", [("when", "%Y-%m-%d %H:%M")]),
        ("{{n}}{{m}} ${{total:,.2f}} **{{x}}**", [("n", ""), ("m", ""), ("total", ",.2f"), ("x", "")]),
        ("共{{n}}条 @mean[{{m:.2f}}]", [("n", ""), ("m", ".2f")]),
        ('```json\n{"a": {"n": {{n}}}}\n```', [("n", "")]),
        ('{"r": {{r:.3f}}, "s": {{"true" if p else "false"}}}', [("r", ".3f"), ('"true" if p else "false"', "")]),
        (r"$\frac{{a}}{{b}} + x^{{2}} + x_{{i}}$ and \mathbf{{x}}", []),
        ('{"a": {"b": {}}} {{}} {{ not python here }} {{(x := 3)}} {{await x}} {x} {{', []),
        (r"In Jinja: \{{ user }}", []),
    ],
)  # fmt: skip
def test_placeholders(text: str, found: list[tuple[str, str]]) -> None:
    assert [(one.expression, one.form) for one in placeholders(text)] == found


def test_what_is_no_placeholder_survives() -> None:
    latex = r"$\frac{{a}}{{b}}$, {\"a\": {\"b\": {}}}, \{{ user }}: {{n}}"
    assert fill(latex, ["5"])[0] == r"$\frac{{a}}{{b}}$, {\"a\": {\"b\": {}}}, {{ user }}: 5"
    text, values = fill("{{a:.1f}} of {{b}}", ["{{b}}", "2"])
    assert text == "{{b}} of 2", "a value is never read as a placeholder"
    assert values == [
        AnswerValue(expression="a", format=".1f", text="{{b}}"),
        AnswerValue(expression="b", format="", text="2"),
    ]


@pytest.mark.parametrize("values", [[], ["1"], ["1", "2", "3"]])
def test_values_that_do_not_fit_are_not_believed(values: list[str]) -> None:
    with pytest.raises(ValueError, match="for 2 placeholders"):
        fill("{{a}} {{b}}", values)


def test_braces_without_end_take_no_time() -> None:
    for text in ("{{" * 50_000, "{{a:" * 20_000 + "}}" * 20_000, "{{(" * 10_000 + ")}}" * 10_000):
        assert placeholders(text) in ([], placeholders(text))
    with pytest.raises(ReplyProblem, match="placeholders"):
        placeholders("{{x}} " * (MAX_PLACEHOLDERS + 1))


def test_a_table_as_people_write_it() -> None:
    frame = pd.DataFrame(
        {
            "name": ["a|b", "c\nd"], "share": [0.123456789, float("nan")], "count": [1234567, 2],
            "big": [1e6, 123456789.5],
        }
    )  # fmt: skip
    assert markdown_table(frame, "").splitlines() == [
        "| name | share | count | big |", "|---|---|---|---|", "| a\\|b | 0.1235 | 1234567 | 1000000.0 |",
        "| c d |  | 2 | 123456789.5 |",
    ]  # fmt: skip
    revenue = pd.DataFrame(
        {"r": [18337.97, 16532.17, 15315.6], "p": [0.00001, 5.0, 0.5], "w": [1.0, 2.0, float("inf")]}
    )
    assert markdown_table(revenue, "").splitlines()[2:] == [
        "| 18337.97 | 1e-05 | 1 |", "| 16532.17 | 5 | 2 |", "| 15315.60 | 0.5 | inf |",
    ]  # fmt: skip
    assert markdown_table(frame[["count", "big"]], ",.1f").splitlines()[2:] == [
        "| 1,234,567 | 1,000,000.0 |", "| 2 | 123,456,789.5 |",
    ]  # fmt: skip
    grouped = frame.set_index(["name", "count"])[["share"]]
    assert markdown_table(grouped, ".2f").splitlines()[:3] == [
        "| name | count | share |", "|---|---|---|", "| a\\|b | 1234567 | 0.12 |",
    ]  # fmt: skip
    assert value_text(frame.groupby("name").big.sum(), "").startswith("| name | big |")
    with pytest.raises(ValueError, match="at most 1,000 rows"):
        markdown_table(pd.DataFrame({"a": range(1_001)}), "")


def test_an_answer_beside_a_cell_or_alone_becomes_the_last_cells() -> None:
    def replied(*calls: tuple[str, dict[str, Any]]) -> Reply:
        return Reply("", calls=tuple(ToolCall(str(n), name, given) for n, (name, given) in enumerate(calls)))

    cell = ("run_python", {"purpose": "p", "code": "n = 1", "answer": "It is {{n}}."})
    (one,) = read_reply(replied(cell)).cells
    assert (one["code"], one["answer"]) == ("n = 1", "It is {{n}}.")
    first, second = read_reply(replied(cell, ("run_python", {"purpose": "q", "code": "m = 2"}))).cells
    assert "answer" not in first
    assert second["answer"] == "It is {{n}}."
    beside = replied(cell, ("submit_answer", {"answer": "Given {{n}}.", "skipped": ["2: no"]}))
    assert read_reply(beside).cells[0]["answer"] == "It is {{n}}."
    alone = computed(read_reply(replied(("submit_answer", {"answer": "{{n}}", "skipped": ["2: no"]}))))
    assert (alone.answer, alone.cells[0]["code"], alone.cells[0]["answer"]) == ("", ONLY_VALUES, "{{n}}")
    assert alone.cells[0]["skipped"] == ["2: no"]
    typed = computed(read_reply(replied(("submit_answer", {"answer": "5"}))))
    assert (typed.answer, typed.cells) == ("5", ())


def test_the_same_without_tools() -> None:
    (cell,) = read_reply(Reply("```python\n# count\nn = 5\n```\n<answer>\nThere are {{n}}.\n</answer>")).cells
    assert (cell["code"], cell["answer"]) == ("# count\nn = 5", "There are {{n}}.")
    typed = read_reply(Reply("```python\nn = 5\n```\n<answer>There are 5.</answer>"))
    assert (typed.cells, typed.answer) == ((), "There are 5.")


def attempt(tmp_path: Path, status: Any, values: tuple[str, ...]) -> tuple[dict[str, Any], list[str]]:
    pending = Pending(purpose="p", code="n = 5", step=2, thought="", call_id="x")
    pending["answer"], pending["skipped"] = "{{n}} of {{m}}", ["1: no"]
    plan = [PlanStep(text="one", done=False), PlanStep(text="two", done=False)]
    state = make_state(pending=[pending], plan=plan)
    one = _Attempt(state, Runtime(context=Context()), FakeSandbox(tmp_path), None)
    result = CellResult(status=status, values=values)
    cell = cell_record(pending, result, number=1, turn=1, limit=1_000)
    changed: dict[str, Any] = {**one._answer(cell, result), "cell": cell}
    return changed, one.notices


def test_a_cell_that_ended_well_answers(tmp_path: Path) -> None:
    changed, notices = attempt(tmp_path, "ok", ("5", "7"))
    assert (changed["proposal"], changed["skipped"], notices) == ("5 of 7", ["1: no"], [])
    assert [step["done"] for step in changed["plan"]] == [False, True]
    assert changed["cell"]["answer"] == "{{n}} of {{m}}"
    assert [value["expression"] for value in changed["cell"]["values"]] == ["n", "m"]
    assert after_execute(make_state(pending=[], proposal="5 of 7")) == "check_final"


@pytest.mark.parametrize(("status", "values", "told"), [("error", (), 0), ("ok", ("5",), 1)])
def test_one_that_did_not_answers_nothing(tmp_path: Path, status: str, values: tuple[str, ...], told: int) -> None:
    changed, notices = attempt(tmp_path, status, values)
    assert set(changed) == {"cell"}
    assert "values" not in changed["cell"]
    assert len(notices) == told


def test_numbers_that_were_computed_were_shown() -> None:
    values = [AnswerValue(expression="m", format=".2f", text="1,234.57")]
    cell = make_cell(1, observation="cell 1 · ok · 0.01 s", code="", values=values)
    assert unprinted_numbers(make_state(cells=[cell], proposal="It is 1,234.57.")) == []
    assert unprinted_numbers(make_state(cells=[cell], proposal="It is 1,234.75."))


async def test_a_question_that_one_cell_answers_takes_one_call(tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n4\n")
    code = "import pandas as pd\ndf = pd.read_csv('inputs/a.csv')\ntotal = df.a.sum()"
    answer = "The sum is **{{total}}**; the mean {{df.a.mean():.2f}}."
    reply = Call("run_python", purpose="add", code=code, answer=answer)
    async with ScriptedServer([reply]) as server:
        run = start("Add up a.", files=[tmp_path / "a.csv"], settings=with_model(settings, server.base_url))
        done = last(await follow(run), Finished)
        assert len(server.requests) == 1
    assert done.answer == "The sum is **5**; the mean 2.50."
    assert done.concerns == []
    shown = json.loads(json.dumps(detail_json(await read_thread(run.thread, settings))))
    assert shown["values"] == [
        {"cell": 1, "expression": "total", "format": "", "text": "5"},
        {"cell": 1, "expression": "df.a.mean()", "format": ".2f", "text": "2.50"},
    ]


async def test_look_then_answer_takes_two_and_an_expression_that_fails_goes_back(settings: Settings) -> None:
    def told(request: Request) -> Call:
        assert "name 'wrong' is not defined" in request.text
        assert "{{wrong:.2f}}" in request.text
        return Call("submit_answer", answer="It is {{n}}.", skipped=[])

    script: list[Scripted] = [
        Call("run_python", purpose="count", code="n = 41 + 1"),
        Call("submit_answer", answer="It is {{wrong:.2f}}.", skipped=[]),
        told,
    ]
    async with ScriptedServer(script) as server:
        run = start("What is it?", settings=with_model(settings, server.base_url), context=Context(review="never"))
        done = last(await follow(run), Finished)
        assert len(server.requests) == 3
    assert done.answer == "It is 42."
    cells = (await read_thread(run.thread, settings)).state["cells"]
    assert [cell["status"] for cell in cells] == ["ok", "error", "ok"]
    assert [cell["code"] for cell in cells] == ["n = 41 + 1", ONLY_VALUES, ONLY_VALUES]


async def test_an_answer_is_computed_when_no_more_cells_are_allowed(settings: Settings) -> None:
    script = [
        Call("run_python", purpose="count", code="n = 42"),
        Call("submit_answer", answer="It is {{n}}.", skipped=[]),
    ]
    async with ScriptedServer(script) as server:
        run = start("What is it?", settings=with_model(settings, server.base_url), context=Context(max_cells=1))
        assert last(await follow(run), Finished).answer == "It is 42."


def test_values_of_any_size_are_found_again() -> None:
    chance = random.Random(7)
    for _ in range(200):
        count = chance.randrange(1, 20)
        texts = [str(chance.random()) for _ in range(count)]
        template = " ".join(f"{{{{v{place}:.3f}}}}" for place in range(count))
        assert fill(template, texts)[0] == " ".join(texts)
