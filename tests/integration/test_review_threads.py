"""Threads at odd moments: forks, wrong order, stale checkpoints, names that are none."""

import json
from pathlib import Path
from typing import Any

import aiosqlite
import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.types import Command

from graph.checkpoints.factory import checkpoints_file, open_checkpoints
from graph.context import Context, stored_context
from graph.events import ApprovalAsked, CellStarted, Failed, Finished, SessionRestored, Started
from graph.settings import Settings, SettingsError
from graph.wiring import make_blobs, make_sandboxes, wire
from stepwell.errors import ThreadError
from stepwell.runs import CONTEXT_KEY, Decision, resume, start
from stepwell.threads import list_threads, read_thread
from storage.artifacts import Artifacts
from tests.analyses import follow, last, only, with_model
from tests.scripted_model import Call, Calls, Request, Scripted, ScriptedServer, bad_key

PLAN = Call("submit_plan", steps=["Do it"])
GOOD = Call("submit_review", good_enough=True, missing=[])


def cell(code: str) -> Call:
    return Call("run_python", purpose="do it", step=1, code=code)


def answer(text: str = "Done.") -> Call:
    return Call("submit_answer", answer=text, skipped=[])


def append(letter: str) -> str:
    return f"open('outputs/log.txt', 'a').write('{letter}')"


def unanswered(messages: list[Any]) -> set[str | None]:
    asked = {call["id"] for one in messages if isinstance(one, AIMessage) for call in one.tool_calls}
    return asked - {one.tool_call_id for one in messages if isinstance(one, ToolMessage)}


async def test_langgraphs_own_forks_and_replays_rebuild_the_session(settings: Settings) -> None:
    script: list[Scripted] = [
        PLAN,
        cell("x = 1\n" + append("1")),
        cell("x += 10\n" + append("2")),
        cell("print('x is', x)\n" + append("3")),
        answer(),
        GOOD,
    ]
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url)
        run = start("Count", settings=model, context=Context(approval="none", max_cells=9))
        last(await follow(run), Finished)
        async with open_checkpoints(settings) as saver, make_sandboxes(model) as sandboxes:
            builder = wire(
                model, sandboxes, artifacts=Artifacts.at(model.artifacts), blobs=make_blobs(settings), input_roots=None
            )
            graph = builder.compile(checkpointer=saver)
            history = [one async for one in graph.aget_state_history(run.config)]
            old = next(one for one in history if one.next == ("execute",) and len(one.values["cells"]) == 1)
            edited = {**old.values["pending"][0], "code": "x += 100\nprint('forked', x)\n" + append("F")}
            fork = await graph.aupdate_state(old.config, {"pending": [edited]})
            server.script.extend([answer("Forked."), GOOD])
            assert (await graph.ainvoke(None, fork, context=Context()))["answer"] == "Forked."
            forked = (await graph.aget_state(run.config)).values
            log = Path(model.artifacts, run.thread, "log.txt")
            assert "forked 101" in forked["cells"][-1]["observation"]
            assert log.read_text() == "1F"
            server.script.extend([cell("print('again', x)"), answer("Again."), GOOD])
            assert (await graph.ainvoke(None, old.config, context=Context()))["answer"] == "Again."
            replayed = (await graph.aget_state(run.config)).values
            assert [one["number"] for one in replayed["cells"]] == [1, 2, 3]
            assert "again 11" in replayed["cells"][-1]["observation"]
            assert log.read_text() == "12"
            assert not unanswered(forked["messages"]) | unanswered(replayed["messages"])


async def test_a_fork_goes_on_with_the_knobs_of_the_threads_last_run(settings: Settings) -> None:
    async with ScriptedServer([PLAN, cell("print(1)")]) as server:
        model = with_model(settings, server.base_url)
        run = start("Count", settings=model, context=Context(approval="cells"))
        asked = last(await follow(run), ApprovalAsked)
        async with open_checkpoints(settings) as saver, make_sandboxes(model) as sandboxes:
            builder = wire(
                model, sandboxes, artifacts=Artifacts.at(model.artifacts), blobs=make_blobs(settings), input_roots=None
            )
            graph = builder.compile(checkpointer=saver)
            planned = [one async for one in graph.aget_state_history(run.config) if one.next == ("generate",)]
            await graph.aupdate_state(planned[0].config, {"notices": ["Look twice."]})
        server.script.append(cell("print(2)"))
        again = last(await follow(resume(asked.thread, settings=model)), ApprovalAsked)
    assert again.code == "print(2)"


async def test_a_question_in_the_middle_of_a_turn_leaves_no_call_unanswered(settings: Settings) -> None:
    async with ScriptedServer([PLAN, Calls([cell("x = 1"), cell("x = 2")])]) as server:
        model = with_model(settings, server.base_url)
        run = start("First?", settings=model, context=Context(approval="cells"))
        last(await follow(run), ApprovalAsked)
        async with open_checkpoints(settings) as saver, make_sandboxes(model) as sandboxes:
            builder = wire(
                model, sandboxes, artifacts=Artifacts.at(model.artifacts), blobs=make_blobs(settings), input_roots=None
            )
            graph = builder.compile(checkpointer=saver)
            server.script.extend([PLAN, cell("print(5)"), answer(), GOOD])
            await graph.ainvoke({"messages": [HumanMessage("Second?")]}, run.config, context=Context(approval="none"))
            state = (await graph.aget_state(run.config)).values
    assert not unanswered(state["messages"])
    assert [(turn["number"], turn["question"], turn["answer"]) for turn in state["turns"]] == [
        (1, "First?", ""),
        (2, "Second?", "Done."),
    ]
    assert [one["turn"] for one in state["cells"]] == [2]


async def test_a_run_that_says_nothing_of_approval_does_not_switch_it_off(settings: Settings) -> None:
    async with ScriptedServer([PLAN, cell("x = 1"), cell("x = 2")]) as server:
        model = with_model(settings, server.base_url)
        run = start("First?", settings=model, context=Context(approval="cells"))
        last(await follow(run), ApprovalAsked)
        async with open_checkpoints(settings) as saver, make_sandboxes(model) as sandboxes:
            artifacts = Artifacts.at(model.artifacts)
            builder = wire(model, sandboxes, artifacts=artifacts, blobs=make_blobs(settings), input_roots=None)
            graph = builder.compile(checkpointer=saver)
            await graph.ainvoke(Command(resume={"verdict": "approve"}), run.config)  # as a server's client may do
            snapshot = await graph.aget_state(run.config)
    assert snapshot.next == ("approve",)
    assert [one["code"] for one in snapshot.values["cells"]] == ["x = 1"]


async def test_a_question_that_stopped_before_its_plan_can_be_asked_anew(settings: Settings) -> None:
    async with ScriptedServer([PLAN, answer(), GOOD]) as server:
        model = with_model(settings, server.base_url)
        thread = last(await follow(start("First?", settings=model)), Finished).thread
        wrong = start("Second?", thread=thread, files=["http://127.0.0.1:9/x.csv"], settings=model)
        assert "cannot be fetched" in last(await follow(wrong), Failed).error
        assert (await list_threads(settings=model))[0].question == "Second?"
        resumed = await follow(resume(thread, settings=model))
        assert only(resumed, Started)[0].question == "Second?"
        server.script.extend([PLAN, answer(), GOOD])
        last(await follow(start("Third?", thread=thread, settings=model)), Finished)
        assert [turn["question"] for turn in (await read_thread(thread, model)).state["turns"]] == ["First?", "Third?"]


async def test_a_decision_that_nothing_waits_for_runs_nothing(settings: Settings) -> None:
    async with ScriptedServer([PLAN, bad_key()]) as server:
        model = with_model(settings, server.base_url)
        thread = last(await follow(start("Count", settings=model)), Failed).thread
        with pytest.raises(ThreadError, match="waits for a decision"):
            await follow(resume(thread, decision=Decision("reject", remark="no"), settings=model))


@pytest.mark.parametrize("thread", ["my analysis", "../../elsewhere", "0b6c1f7e-0000-0000-0000-000000000000", "a\nb"])
async def test_a_question_on_a_thread_that_is_none_is_refused(settings: Settings, thread: str) -> None:
    with pytest.raises(ThreadError):
        await follow(start("Count", thread=thread, settings=settings))
    assert not list(settings.home.parent.glob("elsewhere*"))


async def test_an_unknown_kind_of_sandbox_is_one_sentence(settings: Settings) -> None:
    with pytest.raises(SettingsError, match="no sandbox of kind 'moon'"):
        await follow(start("Count", context=Context(sandbox="moon"), settings=settings))
    assert await list_threads(settings=settings) == []


async def test_knobs_of_another_version_do_not_lock_a_thread(settings: Settings) -> None:
    async with ScriptedServer([PLAN, answer(), GOOD]) as server:
        model = with_model(settings, server.base_url)
        thread = last(await follow(start("Count", settings=model)), Finished).thread
        old = json.dumps({"max_reviews": 99, "gone": 1, "language": "Latin"})
        async with aiosqlite.connect(checkpoints_file(settings.home)) as connection:
            change = "update checkpoints set metadata = cast(json_set(cast(metadata as text), ?, ?) as blob)"
            await connection.execute(change, (f"$.{CONTEXT_KEY}", old))
            await connection.commit()

        def planned(request: Request) -> Call:
            return PLAN

        def in_latin(request: Request) -> Call:
            assert "stands alone, in Latin" in request.text
            return answer()

        server.script.extend([planned, in_latin, GOOD])
        last(await follow(start("Again?", thread=thread, settings=model)), Finished)


@pytest.mark.parametrize("kept", [None, "no json", "[1]", '{"cell_timeout": null, "max_cells": "many"}'])
def test_knobs_that_cannot_be_read_have_their_defaults(kept: str | None) -> None:
    assert stored_context(kept) == Context()


async def test_damaged_checkpoints_are_one_sentence(settings: Settings) -> None:
    thread = last(await follow(start("Count", settings=settings)), Finished).thread
    file = checkpoints_file(settings.home)
    content = file.read_bytes()
    file.write_bytes(content[:4096] + b"\7" * (len(content) - 4096))
    for journal in file.parent.glob("threads.sqlite-*"):
        journal.unlink()
    for work in (list_threads(settings=settings), follow(start("Count", thread=thread, settings=settings))):
        with pytest.raises(SettingsError, match="damaged"):
            await work


async def test_rebuilding_before_the_upload_is_told(tmp_path: Path, settings: Settings) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where the folder should be")
    async with ScriptedServer([PLAN, cell(append("1")), answer(), GOOD]) as server:
        model = with_model(settings, server.base_url, artifacts=str(blocked))
        failed = last(await follow(start("Append", settings=model)), Failed)
        events = await follow(resume(failed.thread, settings=with_model(settings, server.base_url)))
    last(events, Finished)
    assert [(event.from_cell, event.cells) for event in only(events, SessionRestored)] == [(1, 0)]


async def test_one_reply_cannot_exceed_the_allowed_cells(settings: Settings) -> None:
    script: list[Scripted] = [PLAN, Calls([cell("a = 1"), cell("b = 2"), cell("c = 3")]), answer(), GOOD]
    async with ScriptedServer(script) as server:
        run = start("Count", context=Context(max_cells=2), settings=with_model(settings, server.base_url))
        events = await follow(run)
        state = (await read_thread(run.thread, settings)).state
    assert [event.number for event in only(events, CellStarted)] == [1, 2]
    assert not unanswered(state["messages"])


async def test_half_a_surrogate_pair_of_a_model_is_no_crash(settings: Settings) -> None:
    script: list[Scripted] = [
        Call("submit_plan", steps=["Half \ud83d"]),
        Call("run_python", purpose="\ud83d", step=1, code="print(1)  # \ud83d"),
        answer("Half \ud83d"),
        Call("submit_review", good_enough=False, missing=["\ud83d"]),
        answer("Half ?"),
        GOOD,
    ]
    async with ScriptedServer(script) as server:
        model, context = with_model(settings, server.base_url), Context(review="always")
        events = await follow(start("caf\udce9?", settings=model, context=context))
    assert last(events, Finished).answer == "Half ?"


async def test_a_reviewer_who_declines_does_not_hold_the_answer_up(settings: Settings) -> None:
    from tests.scripted_model import Say

    declined = Say("I cannot help with that.", finish="content_filter")
    async with ScriptedServer([PLAN, answer(), declined, declined]) as server:
        model, context = with_model(settings, server.base_url), Context(review="always")
        events = await follow(start("Count", settings=model, context=context))
    assert last(events, Finished).answer == "Done."


async def test_a_cell_whose_code_was_removed_does_not_run(settings: Settings) -> None:
    def told(request: Request) -> Call:
        assert "its code was removed" in request.text
        return Call("submit_answer", answer="Done.", skipped=["1: refused"])

    async with ScriptedServer([PLAN, Calls([cell("x = 1"), cell("x = 2")]), told, GOOD]) as server:
        model = with_model(settings, server.base_url)
        asked = last(await follow(start("Count", settings=model, context=Context(approval="cells"))), ApprovalAsked)
        events = await follow(resume(asked.thread, decision=Decision("edit", code=" \n"), settings=model))
        state = (await read_thread(asked.thread, settings)).state
    assert last(events, Finished).cells == 1
    assert not only(events, CellStarted)
    assert not unanswered(state["messages"])
