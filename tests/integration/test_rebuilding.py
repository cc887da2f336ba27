"""What no snapshot can hold is there again after a restart, through the whole graph; the rest is said to be lost."""

from graph.context import Context
from graph.events import CellFinished, Finished, SessionRestored
from graph.settings import Settings
from graph.state import Pending
from stepwell.cli.wording import restore_problems, restored_text
from stepwell.runs import start
from tests.analyses import follow, last, only, with_model
from tests.integration.test_resume import ending
from tests.integration.test_steps import PLAN, after_cell, opened
from tests.scripted_model import Call, Request, Scripted, ScriptedServer


def cell(code: str) -> Call:
    return Call("run_python", purpose="count", step=1, code=code)


MAKE = cell("data = [1, 2, 3, 4]\ngen = (i for i in data)\nprint(next(gen))")
TAKE = cell("print(next(gen))")


async def test_a_further_question_finds_a_generator_where_it_was(settings: Settings) -> None:
    use = cell("data.append(5)\nassert list(gen) == [3, 4, 5]")
    told: list[str] = []

    def tells(request: Request) -> Call:
        told.append(request.last)
        return Call("submit_answer", answer="Done.", skipped=[])

    review = Call("submit_review", good_enough=True, missing=[])
    async with ScriptedServer([PLAN, MAKE, TAKE, *ending(), PLAN, use, tells, review]) as server:
        model = with_model(settings, server.base_url)
        first = last(await follow(start("Count", settings=model)), Finished)
        events = await follow(start("And now?", thread=first.thread, settings=model))
    assert [event.cell["status"] for event in only(events, CellFinished)] == ["ok"]
    back = only(events, SessionRestored)[0]
    assert (back.cells, back.rebuilt, back.lost) == (0, ["gen (from cells 1 and 2)"], [])
    assert "Made again by running only the cells that they need: gen (from cells 1 and 2)." in told[0]
    assert "gen (from cells 1 and 2) made again" in restored_text(back)


async def test_nothing_is_run_again_when_the_limit_forbids_it(settings: Settings) -> None:
    use = cell("assert 'gen' not in globals() and data == [1, 2, 3, 4]")
    told: list[str] = []

    def tells(request: Request) -> Call:
        told.append(request.last)
        return Call("submit_answer", answer="Done.", skipped=[])

    review = Call("submit_review", good_enough=True, missing=[])
    async with ScriptedServer([PLAN, MAKE, *ending(), PLAN, use, tells, review]) as server:
        model = with_model(settings, server.base_url)
        first = last(await follow(start("Count", settings=model)), Finished)
        context = Context(max_rebuild_seconds=0)
        events = await follow(start("And now?", thread=first.thread, settings=model, context=context))
    assert [event.cell["status"] for event in only(events, CellFinished)] == ["ok"]
    back = only(events, SessionRestored)[0]
    assert back.rebuilt == []
    assert restore_problems(back)[0].startswith("lost: gen (generator, made in cell 1: ")
    assert "create them again if you need them: gen (generator, made in cell 1: " in told[0]


async def test_a_fork_from_an_older_step_has_it_as_it_was_then(settings: Settings) -> None:
    script: list[Scripted] = [PLAN, MAKE, TAKE, TAKE, *ending()]
    code = "data.append(9)\nassert list(gen) == [3, 4, 9]"
    fork = Pending(purpose="fork", code=code, step=1, thought="", call_id="fork")
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url)
        thread = last(await follow(start("Count", settings=model)), Finished).thread
        async with opened(model) as graph:
            branch = await graph.aupdate_state(await after_cell(graph, thread, 2), {"pending": [fork]}, "generate")
            server.script += ending("Forked.")
            await graph.ainvoke(None, branch)
            state = (await graph.aget_state({"configurable": {"thread_id": thread}})).values
    assert [one["status"] for one in state["cells"]] == ["ok", "ok", "ok"]
    assert state["cells"][2]["purpose"] == "fork"
