"""With `approve_plan` a plan is made first, and no cell runs before somebody has agreed to it."""

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from graph.context import Context
from graph.events import ApprovalAsked, CellFinished, CellStarted, Event, Finished, Planned
from graph.settings import Settings
from stepwell.errors import ThreadError
from stepwell.forks import fork_thread
from stepwell.runs import Decision, resume, start
from tests.analyses import follow, last, only, with_model
from tests.other_process import environment
from tests.prepared_command import PREPARED
from tests.scripted_model import Call, Say, Scripted, ScriptedServer

BIRDS = Path(__file__).parents[2] / "examples" / "birdstrikes.csv"
FIRST = Context(review="never", approve_plan=True)
PLAN = Call("submit_plan", steps=["Load", "Count"])
ANSWER = Call("submit_answer", answer="Done.")


def cell(code: str, **fields: Any) -> Call:
    return Call("run_python", purpose="Work", code=code, **fields)


async def decide(settings: Settings, asked: ApprovalAsked, verdict: Any, **said: Any) -> list[Event]:
    return await follow(resume(asked.thread, decision=Decision(verdict, **said), settings=settings))


async def asked_about(settings: Settings, context: Context = FIRST) -> ApprovalAsked:
    events = await follow(start("Count", settings=settings, context=context))
    assert only(events, CellStarted) == []
    return last(events, ApprovalAsked)


@pytest.mark.parametrize(
    ("first", "plan"),
    [
        (PLAN, ["Load", "Count"]),
        (Say("1. Load\n2. Count"), ["Load", "Count"]),
        (cell("x = 1", plan=["Load", "Count"]), ["Load", "Count"]),
        (cell("x = 1"), ["Work"]),
        (Say("```python\n# look\nx = 1\n```"), ["look"]),
    ],
)
async def test_no_cell_runs_before_the_plan_is_approved(settings: Settings, first: Scripted, plan: list[str]) -> None:
    async with ScriptedServer([first, cell("print(1)", plan=["Another"]), ANSWER]) as server:
        model = with_model(settings, server.base_url)
        asked = await asked_about(model)
        assert (asked.plan, asked.number, asked.code) == (plan, 1, "")
        assert "The user wants to agree to the plan" in server.requests[0].last
        events = await decide(model, asked, "approve")
        assert "wants to agree" not in str(server.requests[1])
    assert len(only(events, CellFinished)) == 1
    assert only(events, Planned) == []  # what was agreed on is not replaced by what comes beside the first cell
    last(events, Finished)


async def test_an_edited_plan_is_the_plan(settings: Settings) -> None:
    async with ScriptedServer([PLAN, cell("print(1)", step=1), cell("print(2)", step=2), ANSWER]) as server:
        model = with_model(settings, server.base_url)
        asked = await asked_about(model)
        events = await decide(model, asked, "edit", code="1. Load all\nCount twice\n\n")
        told = str(server.requests[1])
    assert [step["text"] for step in only(events, Planned)[0].steps] == ["Load all", "Count twice"]
    assert "Load all" in told
    assert "The user edited the plan; follow it." in told
    assert last(events, Finished).concerns == []


async def test_after_a_rejection_another_plan_is_asked_for_until_one_is_accepted(settings: Settings) -> None:
    other = Call("submit_plan", steps=["Only count"])
    async with ScriptedServer([PLAN, other, other, cell("print(1)"), ANSWER]) as server:
        model = with_model(settings, server.base_url)
        asked = await asked_about(model)
        again = last(await decide(model, asked, "reject", remark="Do not load."), ApprovalAsked)
        assert again.plan == ["Only count"]
        assert "rejected this plan: 1. Load; 2. Count. They say: Do not load." in server.requests[1].last
        again = last(await decide(model, again, "edit", code=" \n"), ApprovalAsked)  # an empty plan is none
        events = await decide(model, again, "approve")
    last(events, Finished)


async def test_an_answer_that_needs_no_cell_needs_no_plan(settings: Settings) -> None:
    async with ScriptedServer([Call("submit_answer", answer="It is {{n}}."), ANSWER]) as server:
        events = await follow(start("Hello", settings=with_model(settings, server.base_url), context=FIRST))
        assert "Nothing is computed yet" in str(server.requests[1])
    assert last(events, Finished).answer == "Done."


@pytest.mark.slow
async def test_cells_are_approved_after_the_plan_and_a_later_turn_is_asked_about_anew(settings: Settings) -> None:
    both = Context(review="never", approve_plan=True, approval="cells")
    async with ScriptedServer([PLAN, cell("print(1)"), ANSWER, PLAN]) as server:
        model = with_model(settings, server.base_url)
        asked = await asked_about(model, both)
        waits = last(await decide(model, asked, "approve", plan=True), ApprovalAsked)
        assert (waits.plan, waits.code) == (None, "print(1)")
        with pytest.raises(ThreadError, match=r"No plan of thread .* waits for approval, but cell 1 does"):
            await decide(model, waits, "approve", plan=True)
        last(await decide(model, waits, "approve"), Finished)
        again = last(await follow(start("And again", thread=waits.thread, settings=model)), ApprovalAsked)
        assert (again.plan, again.number) == (["Load", "Count"], 2)


@pytest.mark.slow
@pytest.mark.parametrize("step", [None, 0])
async def test_a_fork_where_a_plan_waits_asks_about_it(settings: Settings, step: int | None) -> None:
    async with ScriptedServer([PLAN, cell("print(1)"), ANSWER, cell("print(2)"), ANSWER]) as server:
        model = with_model(settings, server.base_url)
        asked = await asked_about(model)
        fork = await fork_thread(asked.thread, step=step, settings=model)
        events = await follow(resume(fork, settings=model))
        assert (only(events, CellStarted), last(events, ApprovalAsked).plan) == ([], ["Load", "Count"])
        last(await decide(model, last(events, ApprovalAsked), "approve"), Finished)
        last(await decide(model, asked, "approve"), Finished)  # the first thread still waits for its own decision


@pytest.mark.slow
async def test_a_fork_at_the_beginning_asks_again_and_one_at_a_cell_does_not(settings: Settings) -> None:
    async with ScriptedServer([PLAN, cell("print(1)"), ANSWER, ANSWER]) as server:
        model = with_model(settings, server.base_url)
        asked = await asked_about(model)
        last(await decide(model, asked, "approve"), Finished)
        beginning = await fork_thread(asked.thread, step=0, settings=model)
        events = await follow(resume(beginning, settings=model))
        assert (only(events, CellStarted), last(events, ApprovalAsked).plan) == ([], ["Load", "Count"])
        after = await fork_thread(asked.thread, step=1, settings=model)
        last(await follow(resume(after, settings=model)), Finished)


async def test_a_plan_that_waits_outlives_its_process(settings: Settings) -> None:
    """Nothing is asked for again when the thread is taken up without a decision."""
    async with ScriptedServer([PLAN, cell("print(1)"), ANSWER]) as server:
        model = with_model(settings, server.base_url)
        asked = await asked_about(model)
        again = last(await follow(resume(asked.thread, settings=model)), ApprovalAsked)
        assert (again.plan, len(server.requests)) == (asked.plan, 1)
        last(await decide(model, again, "approve"), Finished)


@pytest.mark.slow
async def test_the_command_shows_the_plan_and_takes_a_decision(settings: Settings, tmp_path: Path) -> None:
    """Without a terminal: exit code 3, `show`, and the commands that it names."""
    file = tmp_path / "plan.txt"
    file.write_text("Load all\nCount twice\n", encoding="utf-8")

    async def command(*words: str) -> subprocess.CompletedProcess[str]:
        where = {**environment(settings, server.base_url), "HOME": str(tmp_path)}
        return await asyncio.to_thread(PREPARED.run, words, cwd=tmp_path, env=where)

    async with ScriptedServer([PLAN, PLAN, cell("print(1)"), ANSWER]) as server:
        first = await command("run", "Count", "--plan", "--review", "never")
        assert first.returncode == 3, first
        assert "a plan waits for approval:\n    1. Load\n    2. Count\ndecide with one of:" in first.stderr
        assert "--approve-plan" in first.stderr
        shown = await command("show", "last")
        assert "A plan waits for approval:\n\n    1. Load" in shown.stdout
        rejected = await command("resume", "last", "--reject", "Another", "--json")
        assert rejected.returncode == 3
        assert json.loads(rejected.stdout.splitlines()[-1])["plan"] == ["Load", "Count"]
        done = await command("resume", "last", "--edit", str(file))
        assert (done.returncode, "Done." in done.stdout) == (0, True), done
        shown = await command("show", "last")
        assert "1. Load all" in shown.stdout


@pytest.mark.slow
async def test_the_playbook_goes_on_with_its_plan(settings: Settings) -> None:
    events = await follow(start("Describe it", files=[BIRDS], settings=settings, context=FIRST))
    asked = last(events, ApprovalAsked)
    assert asked.plan
    events = await decide(settings, asked, "approve")
    assert only(events, CellFinished)
    last(events, Finished)
