"""What the pages of steps show of a tree and of a session: a step's question, and which variables come first."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest

from graph.checkpoints.step_tree import Step
from graph.settings import SettingsError
from graph.state import Variable
from nodes.answer_checks.number_sources import NumberSources
from sandboxes.results import CellResult
from stepwell.errors import ThreadError
from stepwell.exports.markdown import prose
from stepwell.page.step_routes import asked, by_use, drawn
from stepwell.page.step_sessions import StepSessions, TriedCode
from stepwell.restored_step import RestoredStep
from tests.states import make_cell


def step(number: int, turn: int, question: str) -> Step:
    parent = str(number - 1)
    return Step(str(number), number, "a", parent, make_cell(number, turn=turn), question, None, False, "", "")


def test_the_steps_of_a_fork_stand_below_the_question_that_they_worked_on() -> None:
    steps = [step(1, 1, ""), step(2, 1, ""), step(3, 1, "How much?"), step(4, 2, "And without?")]
    told = asked(steps)
    assert [one.question for one in told] == ["How much?"] * 3 + ["And without?"]
    assert [new for _, new, _ in drawn(told)] == [True, False, False, True]


def test_tables_come_first_and_functions_last() -> None:
    kinds = ["function", "int", "DataFrame", "module", "str", "Series"]
    rows = [Variable(name=kind, kind=kind, summary="") for kind in kinds]
    assert [row["name"] for row in by_use(rows)] == ["DataFrame", "Series", "int", "str", "function", "module"]


def test_the_year_of_a_date_leads_nowhere() -> None:
    cell = make_cell(1)
    cell["observation"] = "2025-01 34"
    cell["outputs"] = [{"kind": "stdout", "text": "2025-01 34\n"}]
    text = "In 2025-01 there were 34."
    shown = str(prose(text, numbers=NumberSources([cell], text)))
    assert shown.count('class="number"') == 1
    assert ">34</a>" in shown


async def test_a_prompt_whose_session_cannot_be_had_says_so() -> None:
    @asynccontextmanager
    async def refusing(step: str) -> AsyncIterator[RestoredStep]:
        if step:
            raise ThreadError(f"{step} was given up.")
        yield cast("RestoredStep", None)

    sessions = StepSessions(refusing)
    for _ in range(2):
        with pytest.raises(ThreadError, match="t@1 was given up"):
            await sessions.try_out("t@1", "1")
        assert sessions.tried("t@1") == ()
    await sessions.close()


class EndlessSession:
    """A session in which code runs until it is cancelled."""

    folder = Path()

    async def run(self, code: str, on_output: object = None) -> CellResult:
        await asyncio.Event().wait()
        raise AssertionError("it never ends by itself")

    async def survived(self) -> bool:
        return True


@asynccontextmanager
async def endless(step: str) -> AsyncIterator[RestoredStep]:
    yield cast("RestoredStep", EndlessSession())


async def running(sessions: StepSessions, step: str) -> TriedCode:
    """Code that runs at a step's prompt."""
    trying = asyncio.create_task(sessions.try_out(step, "1"))
    while not (tried := sessions.tried(step)) or tried[-1].running is None:
        await asyncio.sleep(0)
    trying.cancel()
    return tried[-1]


async def test_a_session_whose_code_was_stopped_still_ends_when_it_is_closed() -> None:
    sessions = StepSessions(endless)
    one = await running(sessions, "t@1")
    one.stopped = True
    async with asyncio.timeout(60):
        await sessions.close()
    assert one.task is not None


async def test_a_session_whose_code_runs_is_kept_longer_than_an_idle_one() -> None:
    async def at_once(session: RestoredStep) -> str:
        return "seen"

    sessions = StepSessions(endless, most=2)
    one = await running(sessions, "t@1")
    await sessions.use("t@2", "a table", at_once)
    await sessions.use("t@3", "a table", at_once)
    assert sessions.tried("t@1") == (one,)
    assert not one.over
    await sessions.close()


async def test_why_a_session_cannot_be_had_stays_said_when_it_took_long() -> None:
    known = asyncio.Event()

    @asynccontextmanager
    async def refusing(step: str) -> AsyncIterator[RestoredStep]:
        await known.wait()
        if step:
            raise SettingsError("The bucket is closed.")
        yield cast("RestoredStep", None)

    sessions = StepSessions(refusing, patience=0)
    await sessions.try_out("t@1", "1")
    (one,) = sessions.tried("t@1")
    assert not one.over
    known.set()
    assert one.task is not None
    await one.task
    assert [tried.problem for tried in sessions.tried("t@1")] == ["The bucket is closed."]
    await sessions.close()
