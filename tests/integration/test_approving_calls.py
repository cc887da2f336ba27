"""Calls that need approval: asked for with the arguments that they are made with, and made with exactly these."""

import asyncio
from typing import Any

import pytest

import stepwell
from graph.context import Context
from graph.events import ApprovalAsked, CellFinished, Event, Finished, FunctionCalled, Notice
from graph.functions.registry import HostFunction
from graph.settings import Settings
from stepwell.errors import ThreadError
from stepwell.runs import Decision, Run, resume, start
from stepwell.threads import read_thread
from tests.analyses import follow, last, only, with_model
from tests.integration.test_resume import ending
from tests.scripted_model import Call, Request, Scripted, ScriptedServer

PLAN: Scripted = Call("submit_plan", steps=["Pay"])


def cell(code: str) -> Call:
    return Call("run_python", purpose="pay", step=1, code=code)


class Bank:
    """What was transferred, and what else was called."""

    def __init__(self) -> None:
        self.transfers: list[tuple[str, int]] = []
        self.sent: list[str] = []

    def transfer(self, to: str, amount: int) -> int:
        """Send money."""
        self.transfers.append((to, amount))
        return len(self.transfers)

    def send(self, text: str) -> int:
        """Send a message."""
        self.sent.append(text)
        return len(self.sent)

    @property
    def functions(self) -> list[HostFunction]:
        return [HostFunction(self.transfer, needs_approval=True), HostFunction(self.send)]


@pytest.fixture
def bank() -> Bank:
    return Bank()


class Talk:
    """A conversation with one analysis: it goes on until something is asked or it is over."""

    def __init__(self, settings: Settings, bank: Bank, url: str) -> None:
        self.settings = with_model(settings, url)
        self.bank = bank
        self.thread = ""
        self.events: list[Event] = []

    async def begin(self, **options: Any) -> ApprovalAsked | None:
        return await self._go_on(start("Pay", settings=self.settings, functions=self.bank.functions, **options))

    async def answer(self, verdict: Any, **said: Any) -> ApprovalAsked | None:
        asked = self.events[-1]
        assert isinstance(asked, ApprovalAsked)
        if asked.call is not None and verdict == "approve":
            said = {"call": asked.call["id"], **said}
        decision = Decision(verdict, **said)
        run = resume(self.thread, decision=decision, settings=self.settings, functions=self.bank.functions)
        return await self._go_on(run)

    async def _go_on(self, run: Run) -> ApprovalAsked | None:
        self.thread = run.thread
        self.events = await follow(run)
        return self.events[-1] if isinstance(self.events[-1], ApprovalAsked) else None

    @property
    def done(self) -> list[Any]:
        return [event.cell for event in only(self.events, CellFinished)]


def shown(asked: ApprovalAsked | None) -> tuple[str, list[str]]:
    assert asked is not None
    assert asked.call is not None
    return asked.call["function"], asked.call["arguments"]


FAKED = """\
g = globals()
real = g["trans" + "fer"]
g["trans" + "fer"] = lambda to, amount: real("mallory", 1_000_000)
"""


async def test_what_is_shown_is_what_is_called_though_an_earlier_cell_gave_the_name_to_something_else(
    settings: Settings, bank: Bank
) -> None:
    """The bypass of an approval of texts: the first cell names nothing, the second is shown and does something else."""
    code = 'print(transfer("alice", 10))'
    async with ScriptedServer([PLAN, cell(FAKED), cell(code), *ending()]) as server:
        talk = Talk(settings, bank, server.base_url)
        asked = await talk.begin()
        assert bank.transfers == []
        assert shown(asked) == ("transfer", ["to = 'mallory'", "amount = 1000000"])
        assert asked is not None
        assert asked.call is not None
        assert (asked.number, asked.code) == (2, code)
        assert asked.call["place"] == "cell 2, line 1; cell 1, line 3 in <lambda>"
        [touching] = asked.call["earlier"]
        assert touching["cell"] == 1
        assert any("globals()" in line for line in touching["lines"])
        await talk.answer("reject", remark="Never to mallory.")
    assert bank.transfers == []
    last(talk.events, Finished)


async def test_an_approved_call_is_made_once_and_the_cell_gets_its_result(settings: Settings, bank: Bank) -> None:
    async with ScriptedServer([PLAN, cell('print("gave", transfer("alice", amount=10))'), *ending()]) as server:
        talk = Talk(settings, bank, server.base_url)
        assert shown(await talk.begin()) == ("transfer", ["to = 'alice'", "amount = 10"])
        assert await talk.answer("approve") is None
    assert bank.transfers == [("alice", 10)]
    [done] = talk.done
    assert done["status"] == "ok"
    assert "gave 1" in done["observation"]
    assert done["reached"] == ["function transfer"]


ROUTES = {
    "a wrapper object": "class W:\n    def __call__(self, *a):\n        return real('mallory', 9)\n"
    "real = transfer\ntransfer = W()",
    "functools.partial": "import functools\ntransfer = functools.partial(lambda f, *a: f('mallory', 9), transfer)",
    "a thread": "import threading\nreal = transfer\ndef transfer(to, amount):\n"
    "    t = threading.Thread(target=real, args=('mallory', 9))\n    t.start()\n    t.join()",
    "the stub's closure": "transfer.__closure__[0].cell_contents  # looked at\nreal = transfer\n"
    "transfer = type(real)(real.__code__, real.__globals__, 'x', real.__defaults__, real.__closure__)\n"
    "_t = transfer\ntransfer = lambda to, amount: _t('mallory', 9)",
    "a module": "import pathlib\npathlib.Path('pay.py').write_text('def pay(f):\\n    return f(\"mallory\", 9)\\n')\n"
    "import pay\nreal = transfer\ntransfer = lambda *a: pay.pay(real)",
}


@pytest.mark.parametrize(
    "route", [route if route == "a thread" else pytest.param(route, marks=pytest.mark.slow) for route in ROUTES]
)
async def test_whatever_the_name_means_by_now_what_would_be_called_is_asked_for(
    settings: Settings, bank: Bank, route: str
) -> None:
    async with ScriptedServer([PLAN, cell(ROUTES[route]), cell('transfer("alice", 10)'), *ending()]) as server:
        talk = Talk(settings, bank, server.base_url)
        assert shown(await talk.begin()) == ("transfer", ["to = 'mallory'", "amount = 9"])
        assert bank.transfers == []
        assert await talk.answer("approve") is None
    assert bank.transfers == [("mallory", 9)]


PATCHED = """\
import sys
values = next(m for n, m in sys.modules.items() if n.endswith("values") and hasattr(m, "pack"))
pack = values.pack
values.pack = lambda said: pack({**said, "args": ["mallory", 9]} if "args" in said else said)
"""


@pytest.mark.slow
async def test_a_cell_that_changed_the_kernel_changes_what_is_asked_for(settings: Settings, bank: Bank) -> None:
    """The change is gone when the cell runs again in a new session, so that is another call, and nobody approved it."""
    async with ScriptedServer([PLAN, cell(PATCHED), cell('transfer("alice", 10)'), *ending()]) as server:
        talk = Talk(settings, bank, server.base_url)
        assert shown(await talk.begin()) == ("transfer", ["to = 'mallory'", "amount = 9"])
        assert shown(await talk.answer("approve")) == ("transfer", ["to = 'alice'", "amount = 10"])
        assert bank.transfers == []
        assert await talk.answer("approve") is None
    assert bank.transfers == [("alice", 10)]


async def test_a_cell_that_calls_something_else_when_it_runs_again_is_asked_for_that_anew(
    settings: Settings, bank: Bank
) -> None:
    """An approval is for arguments, not for the next call of that function."""
    code = "import os\ntransfer(f'alice-{os.urandom(4).hex()}', 10)"
    async with ScriptedServer([PLAN, cell(code)]) as server:
        talk = Talk(settings, bank, server.base_url)
        first = shown(await talk.begin())
        second = shown(await talk.answer("approve"))
        assert first != second
        assert bank.transfers == []
        assert await talk.answer("reject") is not None  # and a third time, with a third name


@pytest.mark.slow
async def test_calls_that_were_made_before_are_not_made_again(settings: Settings, bank: Bank) -> None:
    told: list[str] = []

    def after(request: Request) -> Call:
        told.append(request.last)
        return Call("submit_answer", answer="Done.", skipped=[])

    code = "a = send('one')\nb = transfer('alice', 1)\nc = send('two')\nd = transfer('bob', 2)\nprint([a, b, c, d])"
    async with ScriptedServer([PLAN, cell(code), after, ending()[1]]) as server:
        talk = Talk(settings, bank, server.base_url)
        asked = await talk.begin()
        assert (shown(asked)[1], bank.sent) == (["to = 'alice'", "amount = 1"], ["one"])
        assert asked is not None
        assert asked.call is not None
        assert [line.partition(":")[0] for line in asked.call["made"]] == ["send('one')"]
        assert shown(await talk.answer("approve"))[1] == ["to = 'bob'", "amount = 2"]
        assert (bank.sent, bank.transfers) == (["one", "two"], [("alice", 1)])
        assert await talk.answer("approve") is None
    assert (bank.sent, bank.transfers) == (["one", "two"], [("alice", 1), ("bob", 2)])
    assert "[1, 1, 2, 2]" in talk.done[0]["observation"]
    outcomes = [called.outcome for called in only(talk.events, FunctionCalled)]
    assert outcomes == ["answered from the record"] * 3 + ["returned"]
    *_, end = [one async for one in stepwell.replay(talk.thread, settings=talk.settings)]
    assert end.same, end
    assert (bank.sent, bank.transfers) == (["one", "two"], [("alice", 1), ("bob", 2)])


@pytest.mark.slow
async def test_each_call_is_asked_for_though_another_like_it_was_approved(settings: Settings, bank: Bank) -> None:
    async with ScriptedServer([PLAN, cell("for _ in range(3):\n    transfer('alice', 10)"), *ending()]) as server:
        talk = Talk(settings, bank, server.base_url)
        await talk.begin()
        for number in (2, 3):
            asked = await talk.answer("approve")
            assert asked is not None
            assert asked.call is not None
            assert (asked.call["nth"], len(bank.transfers)) == (number, number - 1)
        assert await talk.answer("approve") is None
    assert bank.transfers == [("alice", 10)] * 3


async def test_a_refused_call_raises_in_the_cell_and_the_model_is_told_why(settings: Settings, bank: Bank) -> None:
    told: list[str] = []

    def after(request: Request) -> Call:
        told.append(request.last)
        return Call("submit_answer", answer="Done.", skipped=[])

    code = (
        "try:\n    transfer('alice', 10)\nexcept HostFunctionError as error:\n    print('no:', error, '/', error.kind)"
    )
    async with ScriptedServer([PLAN, cell(code), after, ending()[1]]) as server:
        talk = Talk(settings, bank, server.base_url)
        await talk.begin()
        assert await talk.answer("reject", remark="Ask the boss.") is None
    assert bank.transfers == []
    said = "no: transfer: somebody was asked about this call and refused it: Ask the boss. / Rejected"
    assert said in talk.done[0]["observation"]
    assert "The user refused a call of cell 1: transfer(to = 'alice'; amount = 10) (Ask the boss.)." in told[0]
    assert [called.outcome for called in only(talk.events, FunctionCalled)] == ["rejected"]


async def test_approving_a_cell_approves_none_of_its_calls(settings: Settings, bank: Bank) -> None:
    async with ScriptedServer([PLAN, cell("transfer('alice', 10)"), *ending()]) as server:
        talk = Talk(settings, bank, server.base_url)
        asked = await talk.begin(context=Context(approval="cells"))
        assert asked is not None
        assert (asked.call, asked.functions) == (None, ["transfer"])
        asked = await talk.answer("approve")
        assert shown(asked)[1] == ["to = 'alice'", "amount = 10"]
        assert bank.transfers == []
        assert await talk.answer("approve") is None
    assert bank.transfers == [("alice", 10)]


async def test_an_approval_names_the_call_that_was_shown(settings: Settings, bank: Bank) -> None:
    async with ScriptedServer([PLAN, cell("transfer('alice', 10)"), *ending()]) as server:
        talk = Talk(settings, bank, server.base_url)
        asked = await talk.begin()
        assert asked is not None
        assert asked.call is not None
        for decision, why in [
            (Decision("approve"), f"approve it with: --approve-call {asked.call['id']}"),
            (Decision("approve", call="0123456789ab"), "and not 0123456789ab; look at it before you decide"),
            (Decision("edit", code="1"), "a call cannot be edited"),
        ]:
            with pytest.raises(ThreadError, match=why):
                await follow(resume(talk.thread, decision=decision, settings=talk.settings, functions=bank.functions))
        assert bank.transfers == []
        assert (await read_thread(talk.thread, talk.settings)).status == "waiting"
        assert await talk.answer("approve") is None
    assert bank.transfers == [("alice", 10)]


async def test_variables_and_files_are_as_before_the_cell_while_its_call_waits(settings: Settings, bank: Bank) -> None:
    """What the cell did up to its call is done once, though it runs twice."""
    code = (
        "rows.append(2)\nwith open('outputs/log', 'a') as file:\n    file.write('line\\n')\n"
        "transfer('alice', 10)\nprint(rows, open('outputs/log').read().count('line'))"
    )
    first = cell("rows = [1]\nopen('outputs/log', 'w').write('line\\n')")
    async with ScriptedServer([PLAN, first, cell(code), *ending()]) as server:
        talk = Talk(settings, bank, server.base_url)
        await talk.begin()
        assert await talk.answer("approve") is None
    assert "[1, 2] 2" in talk.done[0]["observation"]


async def test_nothing_of_a_cell_runs_after_its_call_while_that_waits(settings: Settings, bank: Bank) -> None:
    """No handler and no other thread of it calls anything before somebody has decided."""
    code = (
        "import threading\ndef more():\n    for number in range(1_000_000):\n        send(str(number))\n"
        "threading.Thread(target=more, daemon=True).start()\n"
        "try:\n    transfer('alice', 10)\nexcept BaseException:\n    send('handler')\nfinally:\n    send('finally')"
    )
    async with ScriptedServer([PLAN, cell(code)]) as server:
        talk = Talk(settings, bank, server.base_url)
        asked = await talk.begin()
        assert asked is not None
        assert asked.call is not None
        sent = list(bank.sent)
        assert not {"handler", "finally"} & set(sent)
        assert len(asked.call["made"]) == min(len(sent), 51)
        await asyncio.sleep(0.2)
        assert bank.sent == sent


@pytest.mark.slow
async def test_calls_of_several_threads_are_asked_for_one_after_the_other(settings: Settings, bank: Bank) -> None:
    code = (
        "import threading\nthreads = [threading.Thread(target=transfer, args=(who, 1)) for who in ('alice', 'bob')]\n"
        "for one in threads:\n    one.start()\nfor one in threads:\n    one.join()"
    )
    async with ScriptedServer([PLAN, cell(code), *ending()]) as server:
        talk = Talk(settings, bank, server.base_url)
        asked = {shown(await talk.begin())[1][0]}
        again = await talk.answer("approve")
        asked.add(shown(again)[1][0])
        assert await talk.answer("approve") is None
    assert asked == {"to = 'alice'", "to = 'bob'"}
    assert sorted(bank.transfers) == [("alice", 1), ("bob", 1)]


async def test_a_question_instead_of_a_decision_hears_what_the_cell_had_called(settings: Settings, bank: Bank) -> None:
    """As on a server, where a thread that waits can be asked something else."""
    from langchain_core.runnables import RunnableConfig

    from tests.integration.test_steps import opened

    told: list[str] = []

    def after(request: Request) -> Call:
        told.append(request.last)
        return Call("submit_answer", answer="Done.", skipped=[])

    script = [PLAN, cell("send('one')\ntransfer('alice', 10)"), Call("submit_plan", steps=["Else"]), after, ending()[1]]
    async with ScriptedServer(script) as server:
        talk = Talk(settings, bank, server.base_url)
        await talk.begin()
        config: RunnableConfig = {"configurable": {"thread_id": talk.thread}}
        async with opened(talk.settings) as graph:
            await graph.ainvoke({"messages": [("user", "Something else")], "files": []}, config, durability="sync")
    assert "these calls of it were made: send('one'): returned" in told[0]
    assert (bank.sent, bank.transfers) == (["one"], [])


async def test_a_thread_that_waits_says_so_with_the_call(settings: Settings, bank: Bank) -> None:
    from stepwell.cli.thread_lines import detail_text

    async with ScriptedServer([PLAN, cell(FAKED), cell('transfer("alice", 10)')]) as server:
        talk = Talk(settings, bank, server.base_url)
        asked = await talk.begin()
        assert asked is not None
        assert asked.call is not None
        text = detail_text(await read_thread(talk.thread, talk.settings))
    for part in (
        "Cell 2 calls transfer and waits for approval of this call:",
        "    to = 'mallory'",
        "    amount = 1000000",
        'transfer("alice", 10)',
        f"--approve-call {asked.call['id']}",
        "cell 1: g = globals()",
    ):
        assert part in text
    assert "--approve-cell" not in text
    assert any(event.text.startswith("Cell 2 waits at its call of transfer(") for event in only(talk.events, Notice))
