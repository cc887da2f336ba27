"""A cell goes back to an earlier one: variables, files and random state, after kills, in forks and in replays."""

from pathlib import Path
from typing import Literal

import pytest

from graph.context import Context
from graph.events import ApprovalAsked, CellFinished, CellStarted, Event, Finished
from graph.settings import Settings
from graph.state import Cell
from stepwell.forks import fork_thread
from stepwell.replays import ReplayedCell, ReplayEnd, replay
from stepwell.restored_step import at
from stepwell.runs import Decision, resume, start
from stepwell.step_detail import show_step
from tests.analyses import follow, last, only, with_model
from tests.other_process import killed_in_a_cell
from tests.scripted_model import Call, Scripted, ScriptedServer

SEED = """
import pathlib, random
random.seed(7)
out = pathlib.Path("outputs/a.txt")
out.write_text("first")
kept = [1, 2, 3]
"""
DRAW = "drawn = random.random(); out.write_text('second'); kept.clear(); extra = 1\nprint(f'{drawn:.12f}')"
LOOK = (
    "print(f'{random.random():.12f}', out.read_text(), kept, 'extra' in globals(), steps[2]['extra'])"
    "\nout.write_text('b')"
)


def cell(code: str, **fields: object) -> Call:
    return Call("run_python", purpose=code.strip().splitlines()[0][:40], code=code, **fields)


def answered(text: str = "Done.") -> list[Scripted]:
    return [Call("submit_answer", answer=text, skipped=[])]


def finished(events: list[Event]) -> Cell:
    return only(events, CellFinished)[-1].cell


async def test_variables_files_and_random_state_are_as_after_that_cell(settings: Settings) -> None:
    replies = [cell(SEED), cell(DRAW), cell(LOOK, back_to=1), cell("print(kept)"), *answered()]
    async with ScriptedServer(replies) as server:
        model = with_model(settings, server.base_url)
        run = start("Sample", settings=model, context=Context(review="never"))
        cells = [event.cell for event in only(await follow(run), CellFinished)]
    drawn = cells[1]["observation"].splitlines()[1]
    assert f"{drawn} first [1, 2, 3] False 1" in cells[2]["observation"]
    assert cells[2].get("back_to") == 1
    assert "It started with variables and files as they were after cell 1." in cells[2]["observation"]
    assert not any("session was restored" in request.text for request in server.requests)
    assert "[1, 2, 3]" in cells[3]["observation"]  # what comes next stands on the cell that went back
    replayed = [one async for one in replay(run.thread, settings, variables=True)]
    assert [one.differences for one in replayed if isinstance(one, ReplayedCell)] == [(), (), (), ()]
    end = replayed[-1]
    assert isinstance(end, ReplayEnd)
    assert end.same, end
    async with at(f"{run.thread}@2", settings=settings) as aside:
        assert (await aside.run("print(extra, kept)")).stdout.text == "1 []\n"  # the step that was left is still there
    detail = await show_step(f"{run.thread}@4", settings)
    assert detail.comes_back == "It comes back from its snapshot."


async def test_a_session_that_is_lost_comes_back_along_the_line_that_was_taken(settings: Settings) -> None:
    """Without snapshots the cells of the line run again, and those that were left aside do not."""
    tally = (
        "import os\nwith open('outputs/log.txt', 'a') as log: log.write({0!r})\nprint(open('outputs/log.txt').read())"
    )
    replies = [cell(tally.format("a")), cell(tally.format("b")), cell(tally.format("c"), back_to=1), *answered()]
    async with ScriptedServer([*replies, cell(tally.format("d")), *answered()]) as server:
        model = with_model(settings, server.base_url)
        context = Context(review="never", max_snapshot_bytes=0)
        run = start("Log", settings=model, context=context)
        assert "\nac" in finished(await follow(run))["observation"]
        fork = await fork_thread(run.thread, settings=settings)  # in a sandbox of its own, from nothing
        events = await follow(start("And on", thread=fork, settings=model, context=context))
    assert "\nacd" in finished(events)["observation"]


@pytest.mark.slow
async def test_a_kill_in_a_cell_that_went_back_loses_nothing(settings: Settings) -> None:
    slow = LOOK + (
        "\nimport time\npathlib.Path('outputs/flag').touch()\n"
        "time.sleep(0 if pathlib.Path('inputs/go').exists() else 60)\nprint(kept)"
    )
    review = Call("submit_review", good_enough=True, missing=[])
    async with ScriptedServer([cell(SEED), cell(DRAW), cell(slow, back_to=1), *answered(), review]) as server:
        flag: Path = await killed_in_a_cell("Compare", settings, server.base_url)
        (flag.parents[1] / "inputs" / "go").touch()
        events = await follow(resume(flag.parts[-4], settings=with_model(settings, server.base_url)))
    last(events, Finished)
    assert [event.number for event in only(events, CellStarted)] == [3]
    assert "first [1, 2, 3] False 1" in finished(events)["observation"]


async def test_a_cell_that_dies_after_it_went_back_leaves_that_step(settings: Settings) -> None:
    replies = [cell(SEED), cell(DRAW), cell("import os; os._exit(3)", back_to=1), cell(LOOK), *answered()]
    async with ScriptedServer(replies) as server:
        run = start("Die", settings=with_model(settings, server.base_url), context=Context(review="never"))
        cells = [event.cell for event in only(await follow(run), CellFinished)]
        shown = str(server.requests[3])
    assert cells[2]["status"] == "killed"
    assert "first [1, 2, 3] False 1" in cells[3]["observation"]
    assert "Variables now:" in shown
    assert "extra: int" not in shown.rpartition("Variables now:")[2]


async def test_a_cell_that_goes_back_says_so_where_it_waits_and_changes_nothing_when_it_is_rejected(
    settings: Settings,
) -> None:
    replies = [cell(SEED), cell("kept.append(4)"), cell("print(kept)", back_to=1), cell("print(kept)"), *answered()]
    async with ScriptedServer(replies) as server:
        model = with_model(settings, server.base_url)
        run = start("Wait", settings=model, context=Context(review="never", approval="cells"))
        said: list[int | None] = []
        shown: list[str] = []
        decisions: list[Literal["approve", "reject"] | None] = ["approve", "approve", "reject", "approve", None]
        for decision in decisions:
            events = await follow(run)
            shown += [event.cell["observation"] for event in only(events, CellFinished)]
            if decision is None:
                last(events, Finished)
                break
            asked = last(events, ApprovalAsked)
            said.append(asked.back_to)
            run = resume(asked.thread, decision=Decision(verdict=decision), settings=model)
    assert said == [None, None, 1, None]
    assert "[1, 2, 3, 4]" in "".join(shown)


async def test_the_model_is_told_when_there_is_no_such_cell(settings: Settings) -> None:
    replies = [cell("x = 1", back_to=3), cell("x = 1", back_to=0), cell("print(x)", back_to=1), *answered()]
    async with ScriptedServer(replies) as server:
        run = start("Back", settings=with_model(settings, server.base_url), context=Context(review="never"))
        events = await follow(run)
        told = str(server.requests[1])
    assert "There is no cell 3 to go back to" in told
    assert [one.cell["status"] for one in only(events, CellFinished)] == ["ok", "ok"]
