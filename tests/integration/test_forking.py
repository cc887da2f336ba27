"""A fork begins at a step of another thread, and neither sees what the other does."""

import asyncio
from pathlib import Path

import pytest
from filelock import FileLock

from graph.context import Context
from graph.events import ApprovalAsked, CellStarted, Finished, SessionRestored
from graph.settings import Settings
from stepwell.cli.comparison_lines import lines_of
from stepwell.cli.thread_lines import detail_text
from stepwell.cli.thread_list import summary_json, thread_line
from stepwell.comparison import compare
from stepwell.errors import ThreadError
from stepwell.forks import fork_here, fork_thread
from stepwell.labels import rename
from stepwell.locks import lock_thread
from stepwell.runs import resume, start
from stepwell.threads import list_threads, read_thread
from tests.analyses import follow, last, only, with_model, write_sales
from tests.scripted_model import Call, Request, Scripted, ScriptedServer


def cell(number: int) -> Call:
    code = (
        f"trail = [*globals().get('trail', []), {number}]\n"
        f"open('outputs/log.txt', 'a').write('{number}\\n')\nprint(trail)"
    )
    return Call("run_python", purpose=f"append {number}", step=1, code=code)


def printing(expected: str, then: Call) -> Scripted:
    """The next call, once the model was shown what the last cell must have printed."""

    def reply(request: Request) -> Call:
        assert expected in request.last, request.last
        return then

    return reply


def ending(expected: str) -> list[Scripted]:
    return [
        printing(expected, Call("submit_answer", answer="Done.", skipped=[])),
        Call("submit_review", good_enough=True, missing=[]),
    ]


def log_of(finished: Finished) -> str:
    return next(Path(one["url"]).read_text() for one in finished.artifacts if one["name"] == "log.txt")


async def test_a_fork_of_an_early_step_and_the_original_go_their_own_ways(tmp_path: Path, settings: Settings) -> None:
    sales = write_sales(tmp_path / "sales.csv")
    plan = Call("submit_plan", steps=["Append"])
    script: list[Scripted] = [
        *[plan, *(cell(number) for number in range(1, 6)), *ending("[1, 2, 3, 4, 5]")],
        *[plan, cell(10), *ending("[1, 2, 10]")],
        *[cell(20), *ending("[1, 2, 3, 20]")],
        *[plan, cell(6), *ending("[1, 2, 3, 4, 5, 6]")],
    ]
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url)
        first = last(await follow(start("Append", files=[str(sales)], settings=model)), Finished)
        asked = await fork_thread(first.thread, step=2, new_turn=True, settings=model)
        events = await follow(start("Append ten instead", thread=asked, settings=model))
        forked = last(events, Finished)
        assert only(events, SessionRestored)[0].problems == []
        assert [event.number for event in only(events, CellStarted)] == [3]
        continued = await fork_thread(first.thread, step=3, settings=model)
        await rename(continued, "a try", settings=model)
        gone_on = last(await follow(resume(continued, settings=model)), Finished)
        original = last(await follow(start("And six", thread=first.thread, settings=model)), Finished)
    assert log_of(forked) == "1\n2\n10\n"
    assert log_of(gone_on) == "1\n2\n3\n20\n"
    assert log_of(original) == "1\n2\n3\n4\n5\n6\n"
    difference = await compare((first.thread, 5), (forked.thread, None), settings)
    assert difference.cells_in_common == 2
    assert difference.questions.added == ("Append ten instead",)
    assert difference.variables.changed == ("trail: list 5 items: 1, 2, 3, 4, 5 -> list 3 items: 1, 2, 10",)
    assert difference.files.changed == ("outputs/log.txt: 10 bytes -> 7 bytes",)
    assert "+trail = [*globals().get('trail', []), 10]" in difference.code
    same = await compare((first.thread, 3), (gone_on.thread, 3), settings)
    assert lines_of(same) == ["the same: 3 cells"]
    state = (await read_thread(forked.thread, settings)).state
    assert [turn["question"] for turn in state["turns"]] == ["Append", "Append ten instead"]
    assert "forked here, after cell 2" in state["turns"][0]["answer"]
    assert [one["path"] for one in state["inputs"]] == ["inputs/sales.csv"]
    listed = {one.id: one for one in await list_threads(settings=settings)}
    titles = {id: thread_line(one)[4:6] for id, one in listed.items()}
    assert titles == {
        first.thread: ("And six", ""),
        forked.thread: ("Append ten instead", ""),
        continued: ("Fork at step 3 of: Append", "a try"),
    }
    assert summary_json(listed[continued])["fork_of"] == f"{first.thread}@3"
    assert "fork_of" not in summary_json(listed[first.thread])
    shown = await asyncio.to_thread(detail_text, await read_thread(continued, settings))
    assert f"thread {continued}, a fork of {first.thread}@3\n" in shown


async def test_a_finished_thread_can_be_forked_where_it_is(settings: Settings) -> None:
    first = last(await follow(start("What?", settings=settings)), Finished)
    new = await fork_thread(first.thread, settings=settings)
    assert (await read_thread(new, settings)).status == "finished"
    assert last(await follow(start("And then?", thread=new, settings=settings)), Finished).thread == new


async def test_a_question_that_is_left_before_its_first_cell_stays_with_its_files(
    tmp_path: Path, settings: Settings
) -> None:
    (tmp_path / "more.csv").write_text("a\n1\n")
    script = [
        Call("submit_plan", steps=["Append"]),
        cell(1),
        *ending("[1]"),
        Call("submit_plan", steps=["More"]),
        cell(2),
    ]
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url)
        thread = last(await follow(start("First", settings=model)), Finished).thread
        asking = start(
            "Second",
            thread=thread,
            files=[str(tmp_path / "more.csv")],
            context=Context(approval="cells"),
            settings=model,
        )
        last(await follow(asking), ApprovalAsked)
        await fork_here(thread, new_turn=True, settings=model)
    state = (await read_thread(thread, settings)).state
    assert [one["question"] for one in state["turns"]] == ["First", "Second"]
    assert [one["path"] for one in state["inputs"]] == ["inputs/more.csv"]


async def test_steps_that_are_not_there_are_named(settings: Settings) -> None:
    first = last(await follow(start("What?", settings=settings)), Finished)
    with pytest.raises(ThreadError, match="has no step 99"):
        await fork_thread(first.thread, step=99, settings=settings)
    with pytest.raises(ThreadError, match="There is no thread"):
        await fork_thread("00000000-0000-0000-0000-000000000000", settings=settings)


async def test_somebody_who_looks_whether_a_thread_is_held_does_not_keep_others_from_it(settings: Settings) -> None:
    thread = last(await follow(start("What?", settings=settings)), Finished).thread
    lock = FileLock(settings.home / "locks" / f"{thread}.lock", thread_local=False)
    await asyncio.to_thread(lock.acquire)
    asyncio.get_running_loop().call_later(0.05, lock.release)
    async with lock_thread(thread, settings):
        pass
    async with lock_thread(thread, settings):
        with pytest.raises(ThreadError, match="another process"):
            async with lock_thread(thread, settings):
                pass
