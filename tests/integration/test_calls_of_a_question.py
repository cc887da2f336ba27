"""How often a model is asked: twice where it looks first, at most six times for four steps and a file with a review."""

import json
from pathlib import Path

import pytest

from graph.context import Context
from graph.events import Finished
from graph.settings import Settings
from stepwell.runs import start
from tests.analyses import follow, last, with_model, write_sales
from tests.scripted_model import Call, Scripted, ScriptedServer

LOAD = 'import pandas as pd\nsales = pd.read_csv("inputs/sales.csv")\n'
LOOK = Call("run_python", purpose="Look", code=f"{LOAD}print(sales.describe())")
AFTER = Call("run_python", purpose="Count", code="n = len(sales)", answer="There are {{n}} rows.")
PLAN = ["Load the sales", "Check the columns", "Sum them up", "Write summary.csv"]
STEPS: list[Scripted] = [
    Call("run_python", purpose="Load", plan=PLAN, step=1, code=f"{LOAD}print(sales.shape)"),
    Call("run_python", purpose="Check", step=2, done=[1], code="print(sales.dtypes, sales.isna().sum())"),
    Call("run_python", purpose="Sum", step=3, done=[2], code="sums = sales.sum(numeric_only=True)\nprint(sums)"),
    Call(
        "run_python",
        purpose="Write",
        step=4,
        done=[3],
        code='sums.to_csv("outputs/summary.csv")',
        answer="summary.csv has {{len(sums)}} sums.",
    ),
    Call("submit_review", good_enough=True, missing=[]),
]


@pytest.mark.parametrize(
    ("question", "script", "review"),
    [
        ("How many rows are there?", [LOOK, AFTER], False),
        ("Load, check and sum up the sales, and write the sums to summary.csv.", STEPS, True),
    ],
    ids=["a look first", "four steps and a file"],
)
async def test_a_question_takes_no_more_calls_than_it_needs(
    settings: Settings, tmp_path: Path, question: str, script: list[Scripted], review: bool
) -> None:
    async with ScriptedServer(script) as server:
        sales = write_sales(tmp_path / "sales.csv")
        run = start(question, files=[sales], settings=with_model(settings, server.base_url), context=Context())
        done = last(await follow(run), Finished)
        asked = [request.choice for request in server.requests]
    assert "{{" not in done.answer
    assert len(asked) == len(script) <= 6
    assert ("submit_review" in asked) is review, json.dumps(asked)
