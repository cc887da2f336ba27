"""A run that was killed, paused, stopped on an error or waits for approval goes on where it was."""

import asyncio
from pathlib import Path

import pytest

from graph.context import Context
from graph.events import ApprovalAsked, CellFinished, CellStarted, Failed, Finished, SentBack, SessionRestored, Started
from graph.settings import Settings
from stepwell.errors import ThreadError
from stepwell.runs import Decision, RunFailedError, finish, resume, start
from stepwell.threads import find_thread, list_threads, read_thread
from tests.analyses import follow, last, only, with_model, write_sales
from tests.other_process import killed_in_a_cell, wait_for_flag
from tests.scripted_model import Call, Fault, Request, Scripted, ScriptedServer, bad_key

APPEND = "open('outputs/log.txt', 'a').write('{0}\\n')\nx{0} = {0}\nprint({0})"


def cell(number: int, code: str = "") -> Call:
    return Call("run_python", purpose=f"append {number}", step=1, code=code or APPEND.format(number))


def ending(answer: str = "Done.") -> list[Scripted]:
    return [Call("submit_answer", answer=answer, skipped=[]), Call("submit_review", good_enough=True, missing=[])]


def published(finished: Finished, name: str) -> str:
    return next(Path(artifact["url"]).read_text() for artifact in finished.artifacts if artifact["name"] == name)


async def test_a_killed_run_is_continued_and_no_cell_takes_effect_twice(tmp_path: Path, settings: Settings) -> None:
    slow = (
        APPEND.format(2)
        + "\nimport time, pathlib\npathlib.Path('outputs/flag').touch()\n"
        + "time.sleep(0 if pathlib.Path('inputs/go').exists() else 60)"
    )
    script: list[Scripted] = [Call("submit_plan", steps=["Append"]), cell(1), cell(2, slow), cell(3), *ending()]
    async with ScriptedServer(script) as server:
        workspace = await killed_in_a_cell("Append", settings, server.base_url)
        thread = workspace.parts[-4]
        assert (workspace.parent / "log.txt").read_text() == "1\n2\n"
        assert (await list_threads(settings=settings))[0].status == "paused"
        assert await find_thread(thread[:8], settings) == await find_thread("last", settings) == thread
        (workspace.parents[1] / "inputs" / "go").touch()
        events = await follow(resume(thread, settings=with_model(settings, server.base_url)))
    finished = last(events, Finished)
    assert published(finished, "log.txt") == "1\n2\n3\n"
    assert only(events, Started)[0].resumed
    assert [event.number for event in only(events, CellStarted)] == [2, 3]
    back = only(events, SessionRestored)[0]
    assert (back.from_cell, back.cells, back.problems, back.lost) == (1, 0, [], [])


async def test_a_cancelled_run_is_paused_and_goes_on(settings: Settings) -> None:
    slow = (
        "import time, pathlib\nopen('outputs/log.txt', 'a').write('2\\n')\npathlib.Path('outputs/flag').touch()\n"
        "time.sleep(0 if pathlib.Path('inputs/go').exists() else 60)"
    )
    script: list[Scripted] = [Call("submit_plan", steps=["Append"]), cell(1), cell(2, slow), *ending()]
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url)
        run = start("Append", settings=model, context=Context(cell_timeout=77))
        task = asyncio.create_task(follow(run))
        flag = await wait_for_flag(settings)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await read_thread(run.thread, settings)).status == "paused"
        (flag.parents[1] / "inputs" / "go").touch()
        finished = last(await follow(resume(run.thread, settings=model)), Finished)
    assert published(finished, "log.txt") == "1\n2\n"


async def test_an_error_of_the_model_leaves_the_thread_resumable(settings: Settings) -> None:
    script: list[Scripted] = [
        Call("submit_plan", steps=["Append"]),
        cell(1),
        bad_key(),
        *ending(),
    ]
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url)
        events = await follow(start("Append", settings=model))
        failed = last(events, Failed)
        assert "OPENAI_API_KEY" in failed.error
        assert "\n" not in failed.error
        assert (await read_thread(failed.thread, settings)).status == "failed"
        events = await follow(resume(failed.thread, settings=model))
    assert last(events, Finished).cells == 1
    assert only(events, CellStarted) == []


async def test_an_unreachable_model_is_one_sentence(settings: Settings) -> None:
    model = with_model(settings, "http://127.0.0.1:9/v1")
    with pytest.raises(RunFailedError) as failure:
        await finish(start("Append", settings=model))
    assert "http://127.0.0.1:9" in str(failure.value)
    assert "OPENAI_BASE_URL" in str(failure.value)


async def test_an_overloaded_model_is_one_sentence(settings: Settings) -> None:
    async with ScriptedServer([Fault(status=503, body="overloaded")]) as server:
        failed = last(await follow(start("Append", settings=with_model(settings, server.base_url))), Failed)
    assert "\n" not in failed.error


async def test_approval_waits_across_processes_with_variables(settings: Settings) -> None:
    script: list[Scripted] = [
        Call("submit_plan", steps=["Append"]),
        cell(1),
        cell(2, "print(x1 + 100)"),
        lambda request: cell(3, "print('better')") if "too expensive" in request.last else bad_key(),
        *ending(),
    ]
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url)
        asked = last(await follow(start("Append", settings=model, context=Context(approval="cells"))), ApprovalAsked)
        assert (asked.number, asked.purpose) == (1, "append 1")
        assert (await read_thread(asked.thread, settings)).status == "waiting"
        again = last(await follow(resume(asked.thread, settings=model)), ApprovalAsked)
        assert again == asked
        edit = Decision("edit", code=APPEND.format(7))
        asked = last(await follow(resume(asked.thread, decision=edit, settings=model)), ApprovalAsked)
        assert asked.number == 2
        reject = Decision("reject", remark="too expensive")
        asked = last(await follow(resume(asked.thread, decision=reject, settings=model)), ApprovalAsked)
        assert asked.number == 3
        events = await follow(resume(asked.thread, decision=Decision("approve"), settings=model))
    finished = last(events, Finished)
    assert published(finished, "log.txt") == "7\n"
    cells = (await read_thread(finished.thread, settings)).state["cells"]
    assert [one["status"] for one in cells] == ["ok", "rejected", "ok"]


async def test_a_dead_interpreter_is_data_and_its_variables_come_back(settings: Settings) -> None:
    def told(request: Request) -> Call:
        assert "killed" in request.last
        assert "variables and files are as before the cell, from its snapshot" in request.last
        assert "restored from the snapshot after cell 1. Variables and files are as they were." in request.last
        return cell(3, "print(x1)\nopen('outputs/log.txt', 'a').write('3\\n')")

    die = "open('outputs/log.txt', 'a').write('2\\n')\nimport os; os.kill(os.getpid(), 9)"
    script: list[Scripted] = [
        Call("submit_plan", steps=["Append"]),
        cell(1),
        cell(2, die),
        told,
        Call("submit_answer", answer="Done.", skipped=[]),
        Call("submit_review", good_enough=True, missing=[]),
    ]
    async with ScriptedServer(script) as server:
        events = await follow(start("Append", settings=with_model(settings, server.base_url)))
    assert [event.cell["status"] for event in only(events, CellFinished)] == ["ok", "killed", "ok"]
    assert published(last(events, Finished), "log.txt") == "1\n3\n"
    assert only(events, SentBack) == []


async def test_two_runs_on_one_thread_are_refused(settings: Settings) -> None:
    slow = "import time, pathlib\npathlib.Path('outputs/flag').touch()\ntime.sleep(60)"
    script: list[Scripted] = [Call("submit_plan", steps=["Wait"]), cell(1, slow)]
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url)
        run = start("Wait", settings=model)
        task = asyncio.create_task(follow(run))
        await wait_for_flag(settings)
        with pytest.raises(ThreadError, match="another process"):
            await follow(resume(run.thread, settings=model))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_threads_that_cannot_be_resumed_say_why(settings: Settings) -> None:
    with pytest.raises(ThreadError, match="There is no thread"):
        await follow(resume("00000000-0000-0000-0000-000000000000", settings=settings))
    with pytest.raises(ThreadError, match="no threads yet"):
        await find_thread("last", settings)
    with pytest.raises(ThreadError, match="too short"):
        await find_thread("ab", settings)
    with pytest.raises(ThreadError, match="The question is empty"):
        start("  ", settings=settings)


async def test_a_full_or_closed_destination_loses_nothing(tmp_path: Path, settings: Settings) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the folder should be")
    script: list[Scripted] = [Call("submit_plan", steps=["Append"]), cell(1), *ending()]
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url, artifacts=str(blocked))
        failed = last(await follow(start("Append", settings=model)), Failed)
        assert "STEPWELL_ARTIFACTS" in failed.error
        assert (await read_thread(failed.thread, settings)).state["answer"] == "Done."
        finished = last(await follow(resume(failed.thread, settings=with_model(settings, server.base_url))), Finished)
    assert published(finished, "log.txt") == "1\n"


async def test_the_checkpoint_holds_json_and_messages_only(tmp_path: Path, settings: Settings) -> None:
    import aiosqlite

    from graph.checkpoints.factory import checkpoints_file

    sales = write_sales(tmp_path / "sales.csv")
    script: list[Scripted] = [Call("submit_plan", steps=["Append"]), cell(1), *ending()]
    async with ScriptedServer(script) as server:
        await follow(start("Append", files=[str(sales)], settings=with_model(settings, server.base_url)))
    async with aiosqlite.connect(checkpoints_file(settings.home)) as connection:
        blobs = [row[0] async for row in await connection.execute("select checkpoint from checkpoints")]
        blobs += [row[0] async for row in await connection.execute("select value from writes")]
    assert blobs
    for name in (b"graph.state", b"sandboxes.base", b"nodes."):
        assert not any(name in bytes(blob) for blob in blobs if blob), name
