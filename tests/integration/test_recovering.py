"""In a whole analysis a cell that kills its session costs its own changes alone; the model is told what came back."""

import pytest

from graph.events import CellFinished, Finished
from graph.settings import Settings
from stepwell.runs import start
from tests.analyses import follow, only, with_model
from tests.integration.test_resume import ending
from tests.scripted_model import Call, Scripted, ScriptedServer

PLAN: Scripted = Call("submit_plan", steps=["Count"])
DIE = "import os; os.kill(os.getpid(), 9)"


def cell(code: str) -> Call:
    return Call("run_python", purpose="count", step=1, code=code)


@pytest.mark.parametrize(
    ("before", "death", "how"),
    [
        ("x = [1]", f"x.append(2); {DIE}", "a copy frozen before the cell went on after"),
        (
            "import threading, time\nx = [1]\nthreading.Thread(target=time.sleep, args=[99], daemon=True).start()",
            f"x.append(2); {DIE}",
            "variables and files are as before the cell, from its snapshot, after",
        ),
        (
            "x = [1]",
            f"open('outputs/half.csv', 'w').write('1,'); x.append(2); {DIE}",
            "variables and files are as before the cell, from its snapshot, after",
        ),
        ("x = [1]", "x.append(2); import ctypes; ctypes.string_at(0)", "crashed: segmentation fault"),
    ],
    ids=["copied", "with threads", "with files", "crashed"],
)
async def test_a_killed_cell_costs_only_its_own_changes(settings: Settings, before: str, death: str, how: str) -> None:
    look = cell("import os\nprint(x, os.listdir('outputs'))")
    async with ScriptedServer([PLAN, cell(before), cell(death), look, *ending("It is [1].")]) as server:
        events = await follow(start("Count", settings=with_model(settings, server.base_url)))
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
