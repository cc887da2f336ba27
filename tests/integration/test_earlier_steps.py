"""A whole analysis reads earlier steps: after a fork, when it is replayed, and when it was killed in the middle."""

from pathlib import Path

import pytest

from graph.events import CellFinished, CellStarted, Finished
from graph.settings import Settings
from stepwell.forks import fork_thread
from stepwell.replays import ReplayedCell, replay
from stepwell.restored_step import at
from stepwell.runs import resume, start
from tests.analyses import follow, last, only, with_model
from tests.other_process import killed_in_a_cell
from tests.scripted_model import Call, Scripted, ScriptedServer

LOAD = """
import pandas as pd
df = pd.DataFrame({"a": range(1000)})
df.to_csv("outputs/a.csv", index=False)
"""
CHANGE = "df['a'] = 0; df.to_csv('outputs/a.csv', index=False)"
LOOK = """
then = steps[1]["df"]
print(int(then["a"].sum()), int(df["a"].sum()), len(pd.read_csv(steps[1].file("outputs/a.csv"))["a"].unique()))
"""


def cell(code: str) -> Call:
    return Call("run_python", purpose=code.strip().splitlines()[0][:40], step=1, code=code)


def turn(*codes: str) -> list[Scripted]:
    """Cells, an answer, and its review."""
    answer = [Call("submit_answer", answer="Done.", skipped=[]), Call("submit_review", good_enough=True, missing=[])]
    return [Call("submit_plan", steps=["Analyse"]), *map(cell, codes), *answer]


async def test_an_analysis_reads_an_earlier_step_and_replays_the_same(settings: Settings) -> None:
    async with ScriptedServer(turn(LOAD, CHANGE, LOOK)) as server:
        run = start("Compare", settings=with_model(settings, server.base_url))
        events = await follow(run)
    finished = only(events, CellFinished)[-1].cell
    assert (finished["status"], finished.get("reached")) == ("ok", None)
    assert "499500 0 1000" in finished["observation"]
    replayed = [one async for one in replay(run.thread, settings, variables=True)]
    assert [one.same for one in replayed] == [True] * 4
    assert isinstance(replayed[-2], ReplayedCell)
    async with at(f"{run.thread}@3", settings=settings) as session:
        result = await session.run("print(len(steps[1]['df']), int(steps[3]['then'].a.sum()))")
        assert result.stdout.text == "1000 499500\n", result.error


async def test_a_fork_reads_the_steps_of_its_own_line(settings: Settings) -> None:
    async with ScriptedServer(
        [*turn("x = 1", "x = 2"), *turn("x = 30", "print(steps[1]['x'], steps[2]['x'], steps[1].code, steps[2].code)")]
    ) as server:
        model = with_model(settings, server.base_url)
        run = start("Count", settings=model)
        await follow(run)
        fork = await fork_thread(run.thread, step=1, new_turn=True, settings=settings)
        events = await follow(start("Again", thread=fork, settings=model))
    assert "1 30 x = 1 x = 30" in only(events, CellFinished)[-1].cell["observation"]


@pytest.mark.slow
async def test_a_kill_while_an_earlier_step_is_in_use_loses_nothing(settings: Settings) -> None:
    slow = LOOK + (
        "\nimport time, pathlib\npathlib.Path('outputs/flag').touch()\n"
        "time.sleep(0 if pathlib.Path('inputs/go').exists() else 60)\nprint(int(steps[2]['df']['a'].sum()))"
    )
    async with ScriptedServer(turn(LOAD, CHANGE, slow)) as server:
        flag: Path = await killed_in_a_cell("Compare", settings, server.base_url)
        (flag.parents[1] / "inputs" / "go").touch()
        events = await follow(resume(flag.parts[-4], settings=with_model(settings, server.base_url)))
    last(events, Finished)
    assert [event.number for event in only(events, CellStarted)] == [3]
    finished = only(events, CellFinished)[-1].cell
    assert "499500 0 1000" in finished["observation"]
    assert finished["status"] == "ok"
