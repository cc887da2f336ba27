"""A replay runs the recorded cells again without a model, and says what differs and why it may."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from graph.events import Finished
from graph.functions.registry import HostFunction
from graph.settings import Settings
from stepwell.forks import fork_thread
from stepwell.replays import ReplayedCell, ReplayEnd, replay
from stepwell.runs import start
from stepwell.threads import open_graph
from tests.analyses import follow, last, with_model, write_sales
from tests.scripted_model import Call, Scripted, ScriptedServer

CELLS = (
    "import pandas as pd\ndf = pd.read_csv('inputs/sales.csv')\nprint(df.units.sum())",
    "df.to_csv('outputs/copy.csv', index=False)",
    "raise ValueError('as before')",
    "import os; os._exit(1)",
    "import random\nprint(random.random())\nopen('outputs/dice.txt', 'w').write(str(random.random()))",
)


async def test_what_differs_is_named(tmp_path: object, settings: Settings) -> None:
    sales = write_sales(settings.home.parent / "sales.csv")
    script: list[Scripted] = [
        Call("submit_plan", steps=["Do it"]),
        *(Call("run_python", purpose=f"cell {number}", step=1, code=code) for number, code in enumerate(CELLS, 1)),
        Call("submit_answer", answer="Done.", skipped=[]),
        Call("submit_review", good_enough=True, missing=[]),
    ]
    async with ScriptedServer(script) as server:
        run = start("Do it", files=[str(sales)], settings=with_model(settings, server.base_url))
        finished = last(await follow(run), Finished)
    found = [one async for one in replay(finished.thread, settings)]
    cells = [one for one in found if isinstance(one, ReplayedCell)]
    assert [(cell.same, cell.passed_over) for cell in cells] == [
        (True, False),
        (True, False),
        (True, False),
        (True, True),
        (False, False),
    ]
    assert cells[-1].reasons == ("it uses randomness",)
    assert "line 1 of what it printed was" in cells[-1].differences[0]
    end = found[-1]
    assert isinstance(end, ReplayEnd)
    assert not end.same
    assert end.files_same == 1
    assert end.files_differ == ("dice.txt",)
    assert end.versions == ()


async def test_values_of_an_answer_are_computed_again(settings: Settings) -> None:
    sales = write_sales(settings.home.parent / "sales.csv")
    script: list[Scripted] = [
        Call("run_python", purpose="Read", code=f"import random\n{CELLS[0]}"),
        Call("submit_answer", answer="Of {{len(df)}} rows, luck says {{random.random():.9f}}.", skipped=[]),
    ]
    async with ScriptedServer(script) as server:
        run = start("How many?", files=[str(sales)], settings=with_model(settings, server.base_url))
        finished = last(await follow(run), Finished)
    _, answering, _ = [one async for one in replay(finished.thread, settings)]
    assert isinstance(answering, ReplayedCell)
    (difference,) = answering.differences
    assert difference.startswith("{{random.random()}} was '0.")


@pytest.mark.slow
async def test_the_playbook_gives_the_same_files_again(settings: Settings) -> None:
    sales = write_sales(settings.home.parent / "sales.csv")
    finished = last(await follow(start("What is there?", files=[str(sales)], settings=settings)), Finished)
    found = [one async for one in replay(finished.thread, settings)]
    assert [one for one in found if not one.same] == []
    end = found[-1]
    assert isinstance(end, ReplayEnd)
    assert {Path(one["name"]).suffix for one in finished.artifacts} >= {".xlsx", ".png"}
    assert end.files_same == len([one for one in finished.artifacts if one["cell"]])


@pytest.mark.slow
async def test_workbooks_that_a_server_published_are_compared_without_their_times(settings: Settings) -> None:
    """State has the server's route for them, and not their place."""
    sales = write_sales(settings.home.parent / "sales.csv")
    finished = last(await follow(start("What is there?", files=[str(sales)], settings=settings)), Finished)
    route = f"http://127.0.0.1:2024/stepwell/threads/{finished.thread}/artifacts"
    kept = settings.home / "artifacts" / finished.thread
    for one in finished.artifacts:
        (kept / one["name"]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(one["url"], kept / one["name"])
    served: Any = [{**one, "url": f"{route}/{one['name']}"} for one in finished.artifacts]
    async with open_graph(settings) as (graph, _):
        config: Any = {"configurable": {"thread_id": finished.thread}}
        await graph.aupdate_state(config, {"artifacts": served}, as_node="upload")
    end = [one async for one in replay(finished.thread, settings)][-1]
    assert isinstance(end, ReplayEnd)
    assert (end.same, end.files_differ) == (True, ())


async def test_calls_of_host_functions_are_answered_from_the_record(settings: Settings) -> None:
    sent: list[str] = []
    looked: list[str] = []

    def send(text: str) -> int:
        if text == "no":
            raise ValueError(text)
        sent.append(text)
        return len(sent)

    def look(what: str) -> str:
        looked.append(what)
        return what.upper()

    functions = [HostFunction(send), HostFunction(look, repeatable=True)]
    failing = "try:\n    send('no')\nexcept HostFunctionError as error:\n    print(error)"
    script: list[Scripted] = [
        Call("submit_plan", steps=["Do it"]),
        Call("run_python", purpose="send", step=1, code="print(send('a'), send('a'), send(text='b'))\n" + failing),
        Call("run_python", purpose="look", step=1, code="print(look('c'))"),
        Call("submit_answer", answer="Done.", skipped=[]),
        Call("submit_review", good_enough=True, missing=[]),
    ]
    async with ScriptedServer(script) as server:
        run = start("Do it", settings=with_model(settings, server.base_url), functions=functions)
        finished = last(await follow(run), Finished)
    found = [one async for one in replay(finished.thread, settings, functions=functions)]
    assert [one.same for one in found] == [True, True, True]
    assert (sent, looked) == (["a", "a", "b"], ["c", "c"])

    sending, looking, _ = [one async for one in replay(finished.thread, settings)]
    assert isinstance(sending, ReplayedCell)
    assert isinstance(looking, ReplayedCell)
    assert (sending.same, looking.same) == (True, False)
    assert looking.reasons == ("the record does not have what it calls (look)",)
    assert (sent, looked) == (["a", "a", "b"], ["c", "c"])

    fork = await fork_thread(finished.thread, settings=settings)
    sending, *_ = [one async for one in replay(fork, settings, functions=functions)]
    assert isinstance(sending, ReplayedCell)
    assert sending.reasons == ("the record does not have what it calls (send)",)
    assert sent == ["a", "a", "b"]
