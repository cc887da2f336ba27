"""The main job, whole: a question and a file in, an answer and files out, over real HTTP with the real client."""

import csv
import json
from pathlib import Path

import pytest

from graph.context import Context
from graph.events import CellFinished, Finished, InputTaken, Output, Planned, Published, SentBack
from graph.settings import Settings
from stepwell.runs import start
from stepwell.threads import read_thread
from tests.analyses import follow, last, only, with_model, write_sales
from tests.scripted_model import Call, Calls, Request, Say, Scripted, ScriptedServer

WRONG = "import pandas as pd\ndf = pd.read_csv('inputs/sales.csv')\nprint(df['unitz'].sum())"
MENDED = "print('total', df['units'].sum())\nby_region = df.groupby('region')['units'].sum()\nprint(by_region)"
PLOT = (
    "import matplotlib.pyplot as plt\nby_region.plot.bar(title='Units by region')\n"
    "by_region.to_frame().to_excel('outputs/regions.xlsx')\nprint('written')"
)
QUESTION = "Which region sold most units? Draw a chart and write an Excel file."


def units(file: Path) -> dict[str, int]:
    totals: dict[str, int] = {}
    with file.open() as stream:
        for row in csv.DictReader(stream):
            totals[row["region"]] = totals.get(row["region"], 0) + int(row["units"])
    return totals


def check_result(events: list[object], settings: Settings) -> None:
    finished = events[-1]
    assert isinstance(finished, Finished)
    names = {artifact["name"] for artifact in finished.artifacts}
    assert names == {"regions.xlsx", "figures/cell-003-1.png", "answer.md", "analysis.py"}
    for artifact in finished.artifacts:
        assert Path(artifact["url"]).stat().st_size == artifact["size"]
        assert Path(artifact["url"]).is_relative_to(Path(settings.artifacts) / finished.thread)
    makers = {artifact["name"]: artifact["cell"] for artifact in finished.artifacts}
    assert makers["regions.xlsx"] == 3
    assert makers["answer.md"] == 0
    assert finished.concerns == []


async def test_wrong_code_is_mended_and_a_poor_answer_is_sent_back_by_tool_calls(
    tmp_path: Path, settings: Settings
) -> None:
    sales = write_sales(tmp_path / "sales.csv")
    totals = units(sales)
    best = max(totals, key=lambda region: totals[region])
    better = f"**{best}** sold most: {totals[best]} of {sum(totals.values())} units. See regions.xlsx and the chart."

    def mend(request: Request) -> Call:
        assert "KeyError: 'unitz'" in request.last
        assert "inputs/sales.csv" in request.text
        assert "site-packages" not in request.last
        return Call("run_python", purpose="sum the units", step=1, code=MENDED)

    def answer_again(request: Request) -> Call:
        assert "Not good enough yet" in request.last
        assert "name the region" in request.last
        return Call("submit_answer", answer=better, skipped=[])

    script: list[Scripted] = [
        Call("submit_plan", steps=["Sum units by region", "Draw a chart and write the Excel file"]),
        Call("run_python", purpose="load and sum", step=1, code=WRONG),
        mend,
        Call("run_python", purpose="plot and write", step=2, code=PLOT),
        Call("submit_answer", answer="One region sold most.", skipped=[]),
        Call("submit_review", good_enough=False, missing=["name the region and its units"]),
        answer_again,
        Call("submit_review", good_enough=True, missing=[]),
    ]
    async with ScriptedServer(script) as server:
        events = await follow(start(QUESTION, files=[str(sales)], settings=with_model(settings, server.base_url)))
    check_result(list(events), settings)
    finished = last(events, Finished)
    assert finished.answer == better
    assert [cell.cell["status"] for cell in only(events, CellFinished)] == ["error", "ok", "ok"]
    assert only(events, SentBack)[0].missing == ["name the region and its units"]
    assert only(events, Planned)[0].steps[0]["text"] == "Sum units by region"
    assert only(events, InputTaken)[0].input["problem"] == ""
    assert f"total {sum(totals.values())}\n" in "".join(output.text for output in only(events, Output))
    assert {published.artifact["name"] for published in only(events, Published)} >= {"regions.xlsx"}
    state = (await read_thread(finished.thread, settings)).state
    assert {node: row["calls"] for node, row in state["usage"].items()} == {"plan": 1, "generate": 5, "check_final": 2}
    assert finished.input_tokens == 800
    assert [step["done"] for step in state["plan"]] == [True, True]


@pytest.mark.slow
async def test_the_same_analysis_works_with_replies_in_text(tmp_path: Path, settings: Settings) -> None:
    sales = write_sales(tmp_path / "sales.csv")
    totals = units(sales)
    best = max(totals, key=lambda region: totals[region])
    better = f"{best} sold most: {totals[best]} units, as regions.xlsx and the chart show."

    def mend(request: Request) -> Say:
        assert request.tools == []
        assert "KeyError: 'unitz'" in request.last
        return Say(f"The column is called units.\n```python\n# step 1: sum the units\n{MENDED}\n```")

    script: list[Scripted] = [
        Say("1. Sum units by region\n2. Draw a chart and write the Excel file"),
        Say(f"<execute>\n# step 1: load and sum\n{WRONG}\n</execute>"),
        mend,
        Say(f"```\n# step 2: plot and write\n{PLOT}\n"),
        Say("<answer>One region sold most.</answer>"),
        Say('```json\n{"good_enough": false, "missing": ["name the region and its units"]}\n```'),
        Say(f"<answer>\n{better}\n</answer>"),
        Say('{"good_enough": true, "missing": []}'),
    ]
    async with ScriptedServer(script) as server:
        run = start(
            QUESTION,
            files=[str(sales)],
            context=Context(tool_calling="off"),
            settings=with_model(settings, server.base_url),
        )
        events = await follow(run)
    check_result(list(events), settings)
    assert last(events, Finished).answer == better
    cells = [finished.cell for finished in only(events, CellFinished)]
    assert [(cell["step"], cell["purpose"]) for cell in cells] == [
        (1, "load and sum"),
        (1, "sum the units"),
        (2, "plot and write"),
    ]


async def test_a_follow_up_uses_a_variable_of_the_first_turn(tmp_path: Path, settings: Settings) -> None:
    def look(request: Request) -> Call:
        assert "secret_total: int 4711" in request.text.replace("'", "")
        return Call("run_python", purpose="use it", step=1, code="print(secret_total + 1)")

    script: list[Scripted] = [
        Call("submit_plan", steps=["Set a variable"]),
        Call(
            "run_python",
            purpose="set",
            step=1,
            code="secret_total = 4711\nopen('outputs/a.txt', 'a').write('x\\n')\nprint('set')",
        ),
        Call("submit_answer", answer="It is set.", skipped=[]),
        Call("submit_review", good_enough=True, missing=[]),
        Call("submit_plan", steps=["Use the variable"]),
        look,
        Call("submit_answer", answer="It is 4712.", skipped=[]),
        Call("submit_review", good_enough=True, missing=[]),
    ]
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url)
        first = last(await follow(start("Set it", settings=model)), Finished)
        second = last(await follow(start("And one more?", thread=first.thread, settings=model)), Finished)
        follow_up = server.requests[4].text
    assert "Set it" in follow_up
    assert second.answer == "It is 4712."
    assert second.cells == 2
    # The second session was restored and the first cell did not run again: the appended line is there once.
    appended = next(artifact for artifact in second.artifacts if artifact["name"] == "a.txt")
    assert Path(appended["url"]).read_text() == "x\n"
    assert {artifact["name"] for artifact in second.artifacts} == {"a.txt", "answer.md", "answer-2.md", "analysis.py"}


async def test_several_cells_of_one_reply_run_in_order_and_stop_at_the_first_that_fails(settings: Settings) -> None:

    script: list[Scripted] = [
        Call("submit_plan", steps=["Count"]),
        Calls(
            [
                Call("run_python", purpose="one", step=1, code="a = 1\nprint(a)"),
                Call("run_python", purpose="two", step=1, code="b = a / 0"),
                Call("run_python", purpose="three", step=1, code="open('outputs/never.txt', 'w').write('x')"),
            ]
        ),
        lambda request: (
            Call("submit_answer", answer="Done.", skipped=[])
            if "not run, because cell 2 failed" in request.last
            else Say("the model was not told")
        ),
        Call("submit_review", good_enough=True, missing=[]),
    ]
    async with ScriptedServer(script) as server:
        events = await follow(start("Count", settings=with_model(settings, server.base_url)))
    assert [(cell.cell["purpose"], cell.cell["status"]) for cell in only(events, CellFinished)] == [
        ("one", "ok"),
        ("two", "error"),
    ]
    assert "never.txt" not in json.dumps(last(events, Finished).artifacts)


async def test_when_the_cells_are_used_up_the_model_must_answer(settings: Settings) -> None:
    def answer(request: Request) -> Call:
        assert request.choice == "submit_answer"
        assert "All 2 cells of this turn are used" in request.last
        return Call("submit_answer", answer="As far as I got.", skipped=["1: out of cells"])

    script: list[Scripted] = [
        Call("submit_plan", steps=["Count"]),
        Call("run_python", purpose="one", step=1, code="1/0"),
        Call("run_python", purpose="two", step=1, code="1/0"),
        answer,
        Call("submit_review", good_enough=True, missing=[]),
    ]
    async with ScriptedServer(script) as server:
        run = start("Count", context=Context(max_cells=2), settings=with_model(settings, server.base_url))
        assert last(await follow(run), Finished).answer == "As far as I got."


@pytest.mark.parametrize("knob", ["tokens", "money"])
async def test_a_used_up_budget_ends_the_turn_with_what_was_done(settings: Settings, knob: str) -> None:
    script: list[Scripted] = [
        Call("submit_plan", steps=["Count"]),
        Call("run_python", purpose="count one thing", step=1, code="open('outputs/a.txt', 'w').write('x')"),
    ]
    context = Context(max_tokens=240) if knob == "tokens" else Context(max_cost=0.00023)
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url, prices="1,1")
        finished = last(await follow(start("Count", context=context, settings=model)), Finished)
    assert "budget" in finished.answer
    assert "count one thing" in finished.answer
    assert finished.concerns
    assert "a.txt" in {artifact["name"] for artifact in finished.artifacts}


async def test_after_the_allowed_reviews_the_answer_passes_with_its_concerns(settings: Settings) -> None:
    script: list[Scripted] = [
        Call("submit_plan", steps=["Count"]),
        Call("run_python", purpose="count", step=1, code="print(5)"),
        Call("submit_answer", answer="It is 777.25.", skipped=[]),
        lambda request: (
            Call("submit_answer", answer="It is 777.25!", skipped=[])
            if "777.25" in request.last and "printed" in request.last
            else Say("the model was not told")
        ),
    ]
    async with ScriptedServer(script) as server:
        run = start("Count", context=Context(max_reviews=1), settings=with_model(settings, server.base_url))
        finished = last(await follow(run), Finished)
    assert finished.answer == "It is 777.25!"
    assert "777.25" in finished.concerns[0]
