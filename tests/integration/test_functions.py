"""Functions of the user's program in a whole analysis: offered, called, approved, and never repeated silently."""

import asyncio
import json
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import stepwell
from graph.context import Context
from graph.events import ApprovalAsked, CellFinished, Event, Finished, FunctionCalled, Notice, SessionRestored
from graph.functions.registry import FunctionError, HostFunction
from graph.settings import Settings
from stepwell.runs import Decision, resume, start
from stepwell.threads import read_thread
from tests.analyses import follow, last, only, with_model
from tests.integration.test_resume import ending
from tests.offering import Office
from tests.other_process import ROOT, environment, wait_for_file
from tests.prepared_command import ForkedProcess
from tests.scripted_model import Call, Request, Scripted, ScriptedServer

PLAN: Scripted = Call("submit_plan", steps=["Count"])


def cell(code: str) -> Call:
    return Call("run_python", purpose="count", step=1, code=code)


def cells(events: list[Event]) -> list[Any]:
    return [event.cell for event in only(events, CellFinished)]


@pytest.fixture
def office(tmp_path: Path) -> Office:
    (tmp_path / "office").mkdir()
    return Office(tmp_path / "office")


async def analyse(settings: Settings, functions: Any, *script: Scripted, **options: Any) -> list[Event]:
    """Run an analysis to its end, or until it stops."""
    async with ScriptedServer([PLAN, *script]) as server:
        model = with_model(settings, server.base_url)
        return await follow(start("Count", settings=model, functions=functions, **options))


async def test_functions_run_in_the_program_and_the_model_is_told_of_them(settings: Settings) -> None:
    """Synchronous ones in a thread, asynchronous ones in the loop, tables as what they ask for."""
    prompts: list[str] = []
    seen: list[object] = []

    def lookup(region: str, year: int = 2024) -> dict[str, int]:
        """Sales of a region.

        This is the second paragraph.
        """
        seen.append(region)
        return {"sales": year + len(region)}

    async def keep(frame: pd.DataFrame, *, name: str) -> pd.DataFrame:
        seen.append((name, type(frame), frame["a"].sum()))
        await asyncio.sleep(0)
        return frame * 2

    def look(request: Request) -> Call:
        prompts.append(request.text)
        return cell(
            "import pandas as pd\ndf = keep(pd.DataFrame({'a': [1, 2]}), name='x')\n"
            "print(lookup('north')['sales'], type(df).__name__, df['a'].sum())"
        )

    events = await analyse(settings, [lookup, keep], look, *ending())
    assert seen == ["north", ("x", pd.DataFrame, 3)] or seen == [("x", pd.DataFrame, 3), "north"]
    [done] = cells(events)
    assert "2029 DataFrame 6" in done["observation"]
    assert done["reached"] == ["function keep", "function lookup"]
    assert [line.partition(":")[0] for line in done["calls"]] == [
        "keep(<pandas table>, name='x')",
        "lookup('north')",
    ]
    assert [(called.function, called.outcome) for called in only(events, FunctionCalled)] == [
        ("keep", "returned"),
        ("lookup", "returned"),
    ]
    assert "- lookup(region: str, year: int = 2024) -> dict[str, int]: Sales of a region." in prompts[0]
    assert "second paragraph" not in prompts[0]
    assert "- keep(frame: pandas.DataFrame, *, name: str) -> pandas.DataFrame" in prompts[0]


async def test_what_a_function_raises_is_an_error_that_the_model_sees(settings: Settings) -> None:
    told: list[str] = []

    def lookup(region: str) -> int:
        raise KeyError(region)

    def ends() -> None:
        raise SystemExit("no")

    def stops() -> None:
        raise StopIteration

    def odd() -> object:
        return object()

    def mend(request: Request) -> Call:
        told.append(request.last)
        return cell(
            "for f in (ends, stops, odd):\n    try:\n        f()\n    except HostFunctionError as error:\n"
            "        print(error, '/', error.kind)"
        )

    events = await analyse(settings, [lookup, ends, stops, odd], cell("lookup('west')"), mend, *ending())
    assert "HostFunctionError: lookup: KeyError: 'west'" in told[0]
    assert __file__ not in told[0]
    said = cells(events)[1]["observation"]
    assert "ends: SystemExit: no / SystemExit" in said
    assert "stops: RuntimeError: StopIteration / RuntimeError" in said
    assert "odd: it gave something that cannot be sent: value is a object" in said


@pytest.mark.parametrize("sort", ["sync", "async"])
async def test_a_call_has_a_time_limit(settings: Settings, sort: str) -> None:
    cancelled: list[bool] = []

    def slow() -> None:
        time.sleep(3)

    async def slow_too() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    function = HostFunction(slow if sort == "sync" else slow_too, name="slow")
    code = "try:\n    slow()\nexcept HostFunctionError as error:\n    print(error, '/', error.kind)"
    events = await analyse(settings, [function], cell(code), *ending(), context=Context(call_timeout=0.3))
    assert (
        "slow: it did not end within 0.3 s; what it did is not known / TimeoutError" in cells(events)[0]["observation"]
    )
    assert cancelled == ([] if sort == "sync" else [True])


@pytest.mark.parametrize(
    ("functions", "why"),
    [
        ([lambda: 1], "A lambda has no name"),
        ([HostFunction(lambda: 1, name="not a name")], "Cells cannot call a function 'not a name'"),
        ([HostFunction(lambda: 1, name="class")], "Cells cannot call a function 'class'"),
        ([HostFunction(lambda: 1, name="_hidden")], "Cells cannot call a function '_hidden'"),
        ([print], "'print' means something in every cell already"),
        ([HostFunction(len, name="display")], "'display' means something"),
        ([json.dumps, json.dumps], "Two functions are offered as 'dumps'"),
        ([int], "'int' is no function"),
        ([dict.fromkeys(()).update], "'update' has no signature that can be read"),
        (["lookup"], "is no function"),
        ([HostFunction(lambda: (yield 1), name="numbers")], "'numbers' is a generator"),
        ([HostFunction(json.dumps, name=f"f{number}") for number in range(201)], "at most 200"),
    ],
)
async def test_what_cannot_be_offered_is_one_clear_error_before_anything_runs(functions: Any, why: str) -> None:
    with pytest.raises(FunctionError, match=why):
        await stepwell.run("Count", functions=functions)


@pytest.mark.slow
async def test_functions_are_not_remembered_and_are_offered_again_when_the_thread_goes_on(
    settings: Settings, office: Office
) -> None:
    script = [PLAN, cell("def tell(x):\n    return send(x)\nprint(tell('a'))"), *ending()]
    script += [
        PLAN,
        cell("try:\n    tell('b')\nexcept HostFunctionError as error:\n    print(error)"),
        *ending(),
        PLAN,
        cell("print(tell('c'))"),
        *ending(),
    ]
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url)
        first = last(await follow(start("Count", settings=model, functions=[office.send])), Finished)
        events = await follow(start("Again", thread=first.thread, settings=model))
        assert "send is not offered in this run" in cells(events)[0]["observation"]
        events = await follow(start("Again", thread=first.thread, settings=model, functions=[office.send]))
    assert (cells(events)[0]["status"], office.lines("sent")) == ("ok", ["a", "c"])
    assert "send" not in str((await read_thread(first.thread, settings)).state.get("namespace"))


class Killed:
    """An analysis in a process of its own, which is killed in the middle of its cell."""

    def __init__(self, settings: Settings, office: Office) -> None:
        self.settings = settings
        self.office = office
        self.thread = ""

    async def run(self, url: str, when: Callable[[], bool]) -> None:
        """Run it until something is so, then kill it."""
        where = environment(self.settings, url, OFFICE=str(self.office.folder))
        process = await asyncio.to_thread(ForkedProcess, "-m", "tests.offering", env=where, cwd=ROOT)
        try:
            until = time.monotonic() + 60
            while not when():
                assert time.monotonic() < until
                await asyncio.sleep(0.02)
        finally:
            process.send_signal(signal.SIGKILL)
            await asyncio.to_thread(process.wait)
        self.thread = (await wait_for_file(self.office.folder, "thread")).read_text()

    def flag(self) -> bool:
        """Whether the cell says that it is time."""
        return any((self.settings.home / "threads").glob("*/workspace/outputs/flag"))

    def let_it_end(self) -> None:
        """From now on neither the cell nor a function waits."""
        (self.settings.home / "threads" / self.thread / "workspace" / "inputs" / "go").touch()
        (self.office.folder / "go").touch()

    async def resume(self, url: str) -> list[Event]:
        """Go on with it."""
        model = with_model(self.settings, url)
        return await follow(resume(self.thread, settings=model, functions=self.office.functions))


@pytest.fixture
def killed(settings: Settings, office: Office) -> Killed:
    return Killed(settings, office)


WAIT = "import time, pathlib\npathlib.Path('outputs/flag').touch()\n"
WAIT += "time.sleep(0 if pathlib.Path('inputs/go').exists() else 60)\n"


@pytest.mark.slow
async def test_a_finished_call_of_a_broken_off_cell_is_answered_from_the_record(killed: Killed) -> None:
    told: list[str] = []
    code = "a = send('a')\nb = send('a')\ntry:\n    send(b'c')\nexcept TypeError:\n    pass\n"
    code += WAIT + "c = send('c')\nprint(a, b, c)"

    def after(request: Request) -> Call:
        told.append(request.last)
        return Call("submit_answer", answer="Done.", skipped=[])

    async with ScriptedServer([PLAN, cell(code), after, ending()[1]]) as server:
        await killed.run(server.base_url, killed.flag)
        assert killed.office.lines("sent") == ["a", "a"]
        killed.let_it_end()
        events = await killed.resume(server.base_url)
    assert killed.office.lines("sent") == ["a", "a", "c"]
    [done] = cells(events)
    assert (done["status"], done["reached"]) == ("ok", ["function send"])
    assert "1 2 3" in done["observation"]
    outcomes = [called.outcome for called in only(events, FunctionCalled)]
    assert outcomes == ["answered from the record", "answered from the record", "returned"]
    assert any("were not made again" in event.text and "send (2 times)" in event.text for event in only(events, Notice))
    assert "were not made again; the cell got what they gave then: send (2 times)" in told[0]


@pytest.mark.slow
async def test_a_finished_call_that_the_cell_does_not_repeat_is_told(killed: Killed) -> None:
    told: list[str] = []

    def after(request: Request) -> Call:
        told.append(request.last)
        return Call("submit_answer", answer="Done.", skipped=[])

    code = "import uuid\nsend(str(uuid.uuid4()))\n" + WAIT
    async with ScriptedServer([PLAN, cell(code), after, ending()[1]]) as server:
        await killed.run(server.base_url, killed.flag)
        killed.let_it_end()
        await killed.resume(server.base_url)
    assert "the cell did not make them when it ran again: send. Their effects are there." in told[0]


@pytest.mark.slow
async def test_the_outcome_of_a_cell_that_was_killed_in_the_middle_of_a_call_is_unknown(killed: Killed) -> None:
    told: list[str] = []

    def after(request: Request) -> Call:
        told.append(request.last)
        return cell("assert 'x' not in globals()\nprint(1)")

    code = "x = 1\nsend('a')\nstall()\nsend('b')"
    async with ScriptedServer([PLAN, cell(code), after, *ending()]) as server:
        await killed.run(server.base_url, lambda: bool(killed.office.lines("stalled")))
        killed.let_it_end()
        events = await killed.resume(server.base_url)
    unknown = cells(events)[0]
    assert (unknown["status"], unknown["reached"]) == ("unknown", ["function stall", "function send"])
    assert "may have had effects outside of the sandbox (function stall)" in told[0]
    assert (killed.office.lines("sent"), killed.office.lines("stalled")) == (["a"], ["begun"])
    assert cells(events)[1]["status"] == "ok"


async def test_the_model_is_told_what_a_cell_had_called_whose_session_was_killed(
    settings: Settings, office: Office
) -> None:
    """Else it writes the cell again, and what was sent is sent twice."""
    told: list[str] = []
    begun = asyncio.Event()

    async def pay() -> None:
        begun.set()
        await asyncio.Event().wait()

    async def paying() -> None:
        await begun.wait()

    def after(request: Request) -> Call:
        told.append(request.last)
        return cell("print(1)")

    code = "import os, threading\nsend('a')\nsend('b')\n"
    code += "threading.Thread(target=lambda: (paying(), os._exit(3))).start()\npay()"
    functions = [office.send, pay, HostFunction(paying, repeatable=True)]
    events = await analyse(settings, functions, cell(code), after, *ending())
    killed = cells(events)[0]
    assert (killed["status"], office.lines("sent")) == ("killed", ["a", "b"])
    assert "these calls of it had ended, and their effects are there: send (2 times)" in told[0]
    assert "these had begun, and may have taken effect: pay" in told[0]


@pytest.mark.slow
async def test_functions_that_can_be_repeated_are_simply_called_again(killed: Killed) -> None:
    code = "look('a')\nprint(stall_repeatably())"
    async with ScriptedServer([PLAN, cell(code), *ending()]) as server:
        await killed.run(server.base_url, lambda: bool(killed.office.lines("stalled")))
        killed.let_it_end()
        events = await killed.resume(server.base_url)
    [done] = cells(events)
    assert (done["status"], done.get("reached")) == ("ok", None)
    assert (killed.office.lines("looked"), killed.office.lines("stalled")) == (["a", "a"], ["begun", "begun"])


@pytest.mark.slow
async def test_a_question_after_a_crash_hears_of_the_calls_of_the_broken_off_cell(killed: Killed) -> None:
    told: list[str] = []

    def after(request: Request) -> Call:
        told.append(request.last)
        return Call("submit_answer", answer="Done.", skipped=[])

    script = [PLAN, cell("send('a')\n" + WAIT), Call("submit_plan", steps=["Else"]), after, ending()[1]]
    async with ScriptedServer(script) as server:
        await killed.run(server.base_url, killed.flag)
        model = with_model(killed.settings, server.base_url)
        from langchain_core.runnables import RunnableConfig

        from tests.integration.test_steps import opened

        config: RunnableConfig = {"configurable": {"thread_id": killed.thread}}
        async with opened(model) as graph:
            given = {"messages": [("user", "Something else")], "files": []}
            await graph.ainvoke(given, config, durability="sync")
    assert "may have had effects outside of the sandbox (function send)" in told[0]


async def test_a_cancelled_run_leaves_the_call_unfinished(settings: Settings, office: Office) -> None:
    async with ScriptedServer([PLAN, cell("stall()"), cell("print(1)"), *ending()]) as server:
        model = with_model(settings, server.base_url)
        run = start("Count", settings=model, functions=office.functions)
        task = asyncio.create_task(follow(run))
        while not office.lines("stalled"):
            await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        events = await follow(resume(run.thread, settings=model, functions=office.functions))
    assert [done["status"] for done in cells(events)] == ["unknown", "ok"]
    assert office.lines("stalled") == ["begun"]


@pytest.mark.slow
async def test_cells_that_called_run_again_only_if_all_of_it_can_be_repeated(
    settings: Settings, office: Office
) -> None:
    script = [PLAN, cell("x = send('a')"), cell("y = look('b')"), *ending(), PLAN]
    script += [cell("print('x' in globals(), y)"), *ending()]
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url)
        first = last(await follow(start("Count", settings=model, functions=office.functions)), Finished)
        await asyncio.to_thread(shutil.rmtree, settings.home / "blobs")
        events = await follow(start("Go on", thread=first.thread, settings=model, functions=office.functions))
    assert "False 2" in cells(events)[0]["observation"]
    assert (office.lines("sent"), office.lines("looked")) == (["a"], ["b", "b"])
    problems = only(events, SessionRestored)[0].problems
    assert any("cell 1 had reached outside of the sandbox (function send)" in problem for problem in problems)


@pytest.mark.slow
async def test_lost_variables_are_not_made_again_by_calling(settings: Settings, office: Office) -> None:
    script = [
        PLAN,
        cell("numbers = (n for n in [send('a'), 2])"),
        cell("lines = (n for n in [look('b'), 2])"),
        *ending(),
    ]
    script += [PLAN, cell("print('numbers' in globals(), 'lines' in globals())"), *ending()]
    async with ScriptedServer(script) as server:
        model = with_model(settings, server.base_url)
        first = last(await follow(start("Count", settings=model, functions=office.functions)), Finished)
        events = await follow(start("Go on", thread=first.thread, settings=model, functions=office.functions))
    lost = only(events, SessionRestored)[0].lost
    assert any("reached outside the sandbox (function send)" in one for one in lost)
    assert any("cannot be called between cells, nor while cells run again" in one for one in lost), lost
    assert (office.lines("sent"), office.lines("looked")) == (["a"], ["b"])


async def test_edited_code_is_approved_as_code_and_its_call_by_itself(settings: Settings, office: Office) -> None:
    functions = [HostFunction(office.send, needs_approval=True)]
    async with ScriptedServer([PLAN, cell("print(1)"), *ending()]) as server:
        model = with_model(settings, server.base_url)
        context = Context(approval="cells")
        asked = last(await follow(start("Count", settings=model, functions=functions, context=context)), ApprovalAsked)
        assert (asked.functions, asked.call) == ([], None)
        decision = Decision("edit", code="send('b')")
        events = await follow(resume(asked.thread, decision=decision, settings=model, functions=functions))
        call = last(events, ApprovalAsked).call
        assert call is not None
        assert (call["arguments"], office.lines("sent")) == (["text = 'b'"], [])
        decision = Decision("approve", call=call["id"])
        events = await follow(resume(asked.thread, decision=decision, settings=model, functions=functions))
    assert (cells(events)[0]["status"], office.lines("sent")) == ("ok", ["b"])


async def test_a_session_at_a_step_calls_only_what_can_be_repeated(settings: Settings, office: Office) -> None:
    async with ScriptedServer([PLAN, cell("def both():\n    return look('a'), send('b')"), *ending()]) as server:
        model = with_model(settings, server.base_url)
        first = last(await follow(start("Count", settings=model, functions=office.functions)), Finished)
    async with stepwell.at(f"{first.thread}@1", settings=settings, functions=office.functions) as session:
        result = await session.run("both()")
    assert result.error is not None
    assert "send: it is called only where a cell runs for the first time" in result.error.message
    assert (office.lines("looked"), office.lines("sent")) == (["a"], [])
