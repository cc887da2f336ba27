"""Going back to where a turn ended: its answer stays, and `THREAD@turn2` names the place."""

import pytest

from graph.events import Finished
from graph.settings import Settings
from stepwell.errors import ThreadError
from stepwell.forks import fork_here, fork_thread
from stepwell.runs import resume, start
from stepwell.threads import read_thread
from tests.analyses import follow, last, with_model
from tests.scripted_model import Call, Request, Scripted, ScriptedServer


def answering(code: str, answer: str) -> Call:
    return Call("run_python", purpose="do it", code=code, answer=answer)


@pytest.mark.parametrize("here", [True, False])
async def test_a_further_question_at_the_end_of_a_turn_sees_its_answer(here: bool, settings: Settings) -> None:
    def told(request: Request) -> Call:
        assert "The first is 5." in request.text
        assert "(Turn 1 ended at step 2; it bound a, b.)" in request.text
        assert "Not answered" not in request.text
        assert "The second is 6." not in request.text
        return answering("c = b + 10", "From there it is {{c}}.")

    script: list[Scripted] = [
        Call("run_python", purpose="begin", code="a = 2"),
        answering("b = a + 3", "The first is {{b}}."),
        answering("b += 1", "The second is {{b}}."),
        told,
    ]
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url)
        run = start("First?", settings=model)
        await follow(run)
        assert (
            last(await follow(start("Second?", thread=run.thread, settings=model)), Finished).answer
            == "The second is 6."
        )
        fork = fork_here if here else fork_thread
        thread = await fork(run.thread, step="turn1", new_turn=True, settings=model)
        done = last(await follow(start("And from there?", thread=thread, settings=model)), Finished)
    assert done.answer == "From there it is 15."
    turns = (await read_thread(thread, settings)).state["turns"]
    assert [turn["answer"] for turn in turns] == ["The first is 5.", "From there it is 15."]


async def test_a_question_that_is_gone_on_with_is_answered_anew(settings: Settings) -> None:
    script: list[Scripted] = [
        answering("n = 5", "It is {{n}}."),
        answering("n *= 2", "Twice that is {{n}}."),
    ]
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url)
        run = start("How many?", settings=model)
        await follow(run)
        thread = await fork_thread(run.thread, step=1, settings=model)
        assert last(await follow(resume(thread, settings=model)), Finished).answer == "Twice that is 10."


async def test_a_turn_that_is_not_there_has_no_step(settings: Settings) -> None:
    async with ScriptedServer([answering("n = 5", "It is {{n}}.")]) as server:
        model = with_model(settings, server.base_url)
        run = start("How many?", settings=model)
        await follow(run)
        with pytest.raises(ThreadError, match="no step turn7"):
            await fork_thread(run.thread, step="turn7", settings=model)


async def test_whoever_has_gone_back_goes_forward_to_the_answer_again(settings: Settings) -> None:
    script: list[Scripted] = [
        Call("run_python", purpose="begin", code="n = 5"),
        answering("open('outputs/n.txt', 'w').write(str(n))", "It is {{n}}."),
        Call("submit_review", good_enough=True, missing=[]),
    ]
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url)
        run = start("How many?", settings=model)
        await follow(run)
    before = (await read_thread(run.thread, settings)).state
    for step in ("1", "2", "2"):
        await fork_here(run.thread, step=step, settings=settings)
        there = await read_thread(run.thread, settings)
        assert there.status == "paused"
        assert not there.state["answer"]
    for _ in range(2):
        await fork_here(run.thread, step="2", answered=True, settings=settings)
        there = await read_thread(run.thread, settings)
        assert there.status == "finished"
        for name in ("answer", "artifacts", "turns", "cells"):
            assert there.state[name] == before[name], name
    await fork_here(run.thread, step="1", answered=True, settings=settings)
    assert (await read_thread(run.thread, settings)).status == "paused", "no answer was given after this one"
