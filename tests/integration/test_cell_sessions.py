"""Cells that a user writes themself: steps of a thread, without a model, that survive whatever happens."""

import asyncio
from pathlib import Path

import pytest

import stepwell
from graph.context import Context
from graph.events import CellStarted, Event, Output, Started
from graph.settings import Settings
from nodes.direct_cells import CODE_KEY, PURPOSE, purpose_of
from stepwell import runs
from stepwell.cell_sessions import CellSessions, open_cell_sessions
from stepwell.errors import ThreadError
from stepwell.runs import Decision, RunFailedError
from tests.analyses import with_model
from tests.other_process import environment, wait_for_flag
from tests.prepared_command import ForkedProcess
from tests.scripted_model import ScriptedServer
from tests.scripted_replies import Call


async def test_cells_are_steps_whose_variables_and_files_stay(settings: Settings) -> None:
    seen: list[Event] = []
    async with open_cell_sessions(settings=settings) as sessions:
        first = await sessions.run("# Count\nn = 3\nprint('said')\nn", on_event=seen.append)
        second = await sessions.run(
            "open('outputs/a.txt', 'w').write(str(n)); n + 1", session=first.session, purpose="Write"
        )
    assert first.cell is not None
    assert second.cell is not None
    assert (first.step, first.cell["purpose"], first.cell["status"]) == ("1", "Count", "ok")
    assert [event.text for event in seen if isinstance(event, Output)] == ["said\n"]
    assert [event.model for event in seen if isinstance(event, Started)] == [""]
    assert [row["name"] for row in first.variables] == ["n"]
    assert second.cell["observation"].count("4")
    assert second.restored is None
    assert [one["path"] for one in second.cell["files"]] == ["outputs/a.txt"]
    async with open_cell_sessions(settings=settings) as sessions:
        later = await sessions.run("n, open('outputs/a.txt').read()", session=first.session)
    assert later.cell is not None
    assert "(3, '3')" in later.cell["observation"]
    assert later.restored is not None
    assert later.restored.from_cell == 2
    steps = await stepwell.log(first.session, settings=settings)
    assert [one.name for one in steps if one.cell] == ["1", "2", "3"]
    [listed] = await stepwell.list_threads(settings=settings)
    assert (listed.status, listed.turns, listed.cells, listed.question) == ("finished", 1, 3, PURPOSE)


async def test_errors_of_the_code_are_data_and_cost_nothing(settings: Settings) -> None:
    async with open_cell_sessions(settings=settings) as sessions:
        first = await sessions.run("n = 1")
        failed = await sessions.run("m = 2\n1 / 0", session=first.session)
        odd = await sessions.run("def f(:", session=first.session)
        after = await sessions.run("n, m", session=first.session)
    assert failed.cell is not None
    assert failed.cell["error"] == "ZeroDivisionError: division by zero"
    assert odd.cell is not None
    assert odd.cell["error"].startswith("SyntaxError")
    assert after.cell is not None
    assert "(1, 2)" in after.cell["observation"]


async def test_what_no_snapshot_can_keep_is_named(settings: Settings) -> None:
    async with open_cell_sessions(settings=settings) as sessions:
        ran = await sessions.run("import threading\nlock = threading.Lock()\nn = 1\nnext_one = (i for i in range(3))")
    assert ran.cell is not None
    assert ran.cell["snapshot"]
    assert "next_one" in [one["name"] for one in ran.cell.get("lost") or []]


async def test_other_cells_and_inputs(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "sales.csv").write_text("a,b\n1,2\n3,4\n")
    async with open_cell_sessions(settings=settings) as sessions:
        first = await sessions.run(
            "import pandas as pd\nsales = pd.read_csv('inputs/sales.csv')", files=[str(tmp_path / "sales.csv")]
        )
        second = await sessions.run("%%sql total\nselect sum(a) as s from sales", session=first.session)
        with pytest.raises(RunFailedError, match="nowhere"):
            await sessions.run("1", session=first.session, files=[str(tmp_path / "nowhere.csv")])
        third = await sessions.run("int(total.s[0])", session=first.session)
    assert second.cell is not None
    assert second.cell["status"] == "ok"
    assert third.cell is not None
    assert "\n4" in third.cell["observation"]


async def test_a_session_is_gone_back_in_and_forked(settings: Settings) -> None:
    async with open_cell_sessions(settings=settings) as sessions:
        thread = (await sessions.run("n = [1]")).session
        await sessions.run("n.append(2)", session=thread)
        await stepwell.fork(f"{thread}@1", here=True, settings=settings)
        back = await sessions.run("n", session=thread)
        other = await stepwell.fork(f"{thread}@2", settings=settings)
        forked = await sessions.run("n", session=other)
        beginning = await stepwell.fork(f"{thread}@0", here=True, settings=settings)
        empty = await sessions.run("'n' in globals()", session=beginning)
    assert back.step == "2b"
    assert back.cell is not None
    assert "\n[1]" in back.cell["observation"]
    assert forked.cell is not None
    assert "\n[1, 2]" in forked.cell["observation"]
    assert empty.cell is not None
    assert "\nFalse" in empty.cell["observation"]
    assert {one.status for one in await stepwell.list_threads(settings=settings)} == {"finished"}


async def test_a_question_goes_on_with_the_variables_of_the_cells(settings: Settings) -> None:
    script = [Call("run_python", purpose="Look", code="print(n)"), Call("submit_answer", answer="n is 41.")]
    async with ScriptedServer(script) as server:
        asked = with_model(settings, server.base_url)
        async with open_cell_sessions(settings=settings) as sessions:
            thread = (await sessions.run("# Count\nn = 41")).session
            await sessions.run("m = n", session=thread)
        finished = await stepwell.run("What is n?", thread=thread, settings=asked)
        prompt = str(server.requests[0])
        async with open_cell_sessions(settings=settings) as sessions:
            after = await sessions.run("n, m", session=thread)
    assert "41" in finished.answer
    assert "The user ran cells of their own" in prompt
    assert "n = 41" in prompt
    assert after.step == "4"
    assert after.cell is not None
    assert after.cell["turn"] == 3
    assert {one["turn"] for one in (await _cells(thread, settings))[:2]} == {1}


async def _cells(thread: str, settings: Settings) -> list[dict[str, object]]:
    return [dict(one.cell) for one in await stepwell.log(thread, settings=settings) if one.cell]


async def test_cells_of_one_session_run_one_after_the_other(settings: Settings) -> None:
    async with open_cell_sessions(settings=settings) as sessions:
        thread = (await sessions.run("n = []")).session
        await asyncio.gather(*(sessions.run(f"n.append({one})", session=thread) for one in range(4)))
        last = await sessions.run("sorted(n)", session=thread)
    assert last.step == "6"
    assert last.cell is not None
    assert "[0, 1, 2, 3]" in last.cell["observation"]


async def test_a_cell_waits_for_approval_and_is_decided_on(settings: Settings) -> None:
    async with open_cell_sessions(settings=settings, context=Context(approval="cells")) as sessions:
        waits = await sessions.run("n = 1")
        assert waits.cell is None
        assert waits.asked is not None
        assert waits.asked.code == "n = 1"
        with pytest.raises(ThreadError, match="still at its last question"):
            await sessions.run("n = 2", session=waits.session)
        ran = await sessions.decide(waits.session, Decision("edit", code="n = 7"))
        again = await sessions.run("n", session=waits.session)
        refused = await sessions.decide(again.session, Decision("reject", remark="No."))
        after = await sessions.run("n", session=waits.session)
        last = await sessions.decide(after.session, Decision("approve"))
    assert ran.cell is not None
    assert ran.cell["code"] == "n = 7"
    assert refused.cell is not None
    assert refused.cell["status"] == "rejected"
    assert last.cell is not None
    assert "\n7" in last.cell["observation"]


async def test_a_cell_that_is_cancelled_leaves_the_session_as_it_was(settings: Settings) -> None:
    async with open_cell_sessions(settings=settings) as sessions:
        thread = (await sessions.run("n = 1")).session
        begun = asyncio.Event()

        def notice(event: Event) -> None:
            if isinstance(event, CellStarted):
                begun.set()

        running = asyncio.ensure_future(
            sessions.run("n = 2\nimport time; time.sleep(600)", session=thread, on_event=notice)
        )
        await asyncio.wait_for(begun.wait(), 60)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        after = await sessions.run("n", session=thread)
    assert after.cell is not None
    assert "\n1" in after.cell["observation"]
    assert "was broken off and was not repeated" in " ".join(after.notices)


async def test_a_cell_of_a_killed_process_is_told_and_not_repeated(settings: Settings) -> None:
    async with open_cell_sessions(settings=settings) as sessions:
        thread = (await sessions.run("n = 1")).session
    code = f"""
import asyncio
from stepwell.cell_sessions import open_cell_sessions
async def main():
    async with open_cell_sessions() as sessions:
        await sessions.run("n = 2; open('outputs/flag', 'w').close(); import time; time.sleep(600)", session={thread!r})
asyncio.run(main())
"""
    process = await asyncio.to_thread(ForkedProcess, "-c", code, env=environment(settings, "http://127.0.0.1:9"))
    await wait_for_flag(settings)
    process.kill()
    await asyncio.to_thread(process.wait)
    async with open_cell_sessions(settings=settings) as sessions:
        after = await sessions.run("import os; n, os.listdir('outputs')", session=thread)
    assert after.cell is not None
    assert "(1, [])" in after.cell["observation"]
    assert "was broken off and was not repeated" in " ".join(after.notices)
    assert after.step == "2"


async def test_a_thread_at_a_question_takes_no_cell(settings: Settings) -> None:
    async with ScriptedServer([Call("run_python", purpose="Look", code="1")]) as server:
        asked = with_model(settings, server.base_url)
        with pytest.raises(stepwell.ApprovalNeededError):
            await stepwell.run("What?", settings=asked, context=Context(approval="cells"))
    [thread] = await stepwell.list_threads(settings=settings)
    async with open_cell_sessions(settings=settings) as sessions:
        with pytest.raises(ThreadError, match="still at its last question"):
            await sessions.run("1", session=thread.id)
        with pytest.raises(ThreadError, match="is of a question"):
            await sessions.decide(thread.id, Decision("approve"))
        with pytest.raises(ThreadError, match="empty"):
            await sessions.run(" \n")


async def test_a_further_process_sees_what_another_did(settings: Settings) -> None:
    async with open_cell_sessions(settings=settings) as one, open_cell_sessions(settings=settings) as other:
        thread = (await one.run("n = 1")).session
        await other.run("n += 1", session=thread)
        last = await one.run("n += 1; n", session=thread)
    assert last.cell is not None
    assert "\n3" in last.cell["observation"]
    assert isinstance(one, CellSessions)


def test_the_purpose_is_the_first_comment() -> None:
    assert purpose_of("\n  # Load the sales\nx = 1") == "Load the sales"
    assert purpose_of("#!/bin/sh\n") == PURPOSE
    assert purpose_of("x = 1  # one") == PURPOSE
    assert len(purpose_of("# " + "a" * 5_000)) <= 200


async def test_what_is_sent_as_a_cell_must_be_one(settings: Settings) -> None:
    run = runs.start("Hello", settings=settings)
    given = await run._given(await _nothing(settings))
    given["messages"][0].additional_kwargs[CODE_KEY] = ["no", "text"]
    async with open_cell_sessions(settings=settings) as sessions:
        graph = sessions.services.graph
        with pytest.raises(ValueError, match="must be the code of a cell"):
            await graph.ainvoke(given, {"configurable": {"thread_id": run.thread}}, context=Context())


async def _nothing(settings: Settings):  # type: ignore[no-untyped-def]  # a snapshot of LangGraph's
    async with open_cell_sessions(settings=settings) as sessions:
        return await sessions.services.graph.aget_state({"configurable": {"thread_id": "none"}})
