"""In a whole analysis a cell that kills its session costs its own changes alone; the model is told what came back."""

import threading
import time
from pathlib import Path

import pytest

from graph.context import Context
from graph.events import CellFinished, Event, Finished, SnapshotSaved
from graph.settings import Settings
from stepwell.runs import start
from tests.analyses import follow, only, with_model
from tests.contract.test_sandbox_recovery import FROZEN
from tests.integration.test_resume import ending
from tests.scripted_model import Call, Request, Scripted, ScriptedServer

PLAN: Scripted = Call("submit_plan", steps=["Count"])
DIE = "import os; os.kill(os.getpid(), 9)"
FROM_SNAPSHOT = "variables and files are as before the cell, from its snapshot, after"


def cell(code: str) -> Call:
    return Call("run_python", purpose="count", step=1, code=code)


def after_a_while(reply: Call, kept: threading.Event) -> Scripted:
    """A reply of a model that thinks on once the step is kept, so that a copy can be frozen."""

    def reply_then(_: Request) -> Call:
        kept.wait()
        time.sleep(FROZEN)
        return reply

    return reply_then


@pytest.mark.parametrize(
    ("before", "death", "how"),
    [
        ("x = [1]", f"x.append(2); {DIE}", "a copy frozen before the cell went on after"),
        (
            "import threading, time\nx = [1]\nthreading.Thread(target=time.sleep, args=[99], daemon=True).start()",
            f"x.append(2); {DIE}",
            FROM_SNAPSHOT,
        ),
        (
            "x = [1]",
            f"open('outputs/half.csv', 'w').write('1,'); x.append(2); {DIE}",
            FROM_SNAPSHOT,
        ),
        ("x = [1]", "x.append(2); import ctypes; ctypes.string_at(0)", "crashed: segmentation fault"),
    ],
    ids=["copied", "with threads", "with files", "crashed"],
)
async def test_a_killed_cell_costs_only_its_own_changes(settings: Settings, before: str, death: str, how: str) -> None:
    look = cell("import os\nprint(x, os.listdir('outputs'))")
    kept, events = threading.Event(), list[Event]()
    script: list[Scripted] = [PLAN, cell(before), after_a_while(cell(death), kept), look, *ending("It is [1].")]
    async with ScriptedServer(script) as server:
        async for event in start("Count", settings=with_model(settings, server.base_url)):
            events.append(event)
            if isinstance(event, SnapshotSaved):
                kept.set()
    cells = [event.cell for event in only(events, CellFinished)]
    assert [one["status"] for one in cells] == ["ok", "killed", "ok"]
    assert how in cells[1]["observation"]
    assert "variables are lost" not in cells[1]["observation"]
    assert "[1] []" in cells[2]["observation"]
    assert isinstance(events[-1], Finished)


async def test_a_first_cell_that_dies_leaves_a_session_with_the_inputs(settings: Settings) -> None:
    async with ScriptedServer([PLAN, cell(DIE), cell("print(1)"), *ending("It is 1.")]) as server:
        events = await follow(start("Count", settings=with_model(settings, server.base_url)))
    assert [event.cell["status"] for event in only(events, CellFinished)] == ["killed", "ok"]
    assert isinstance(events[-1], Finished)


DIES = """
import copyreg, os, string
copyreg.pickle(string.Template, lambda one: os.kill(me, 9))
me, dies = os.getpid(), string.Template("")
"""


@pytest.mark.slow
async def test_a_cell_that_is_lost_and_must_not_run_again_is_told_to_the_model_and_with_the_answer(
    settings: Settings, tmp_path: Path
) -> None:
    """The session dies between the cell's end and its snapshot, twice, and the cell had reached outside."""
    settings = settings.model_copy(update={"isolation": "process"})
    reach = f"open({str(tmp_path / 'sent')!r}, 'a').write('x')\n"
    lost = cell(f"{reach}{DIES}open('outputs/table.csv', 'w').write('a')")
    answer = Call("submit_answer", answer="It is done.", skipped=[])
    told: list[str] = []

    def again(request: Request) -> Call:
        told.append(request.last)
        return lost

    script = [PLAN, cell("x = [1]"), lost, answer, again, answer]
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url)
        events = await follow(start("Count", settings=model, context=Context(max_reviews=1)))
    why = f"cell 2 had reached outside of the sandbox (file {tmp_path / 'sent'}) and was not run again"
    assert why in told[0]
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert (tmp_path / "sent").read_text() == "xx"
    assert "table.csv" not in [one["name"] for one in finished.artifacts]
    assert any(why.replace("cell 2", "cell 3") in concern for concern in finished.concerns)
