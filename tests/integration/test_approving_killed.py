"""Calls that need approval in processes that are killed: nothing is made twice, and nothing that nobody approved."""

import asyncio
import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from graph.events import ApprovalAsked, CellFinished, Event, Finished
from graph.settings import Settings
from stepwell.runs import Decision, resume
from tests.analyses import follow, last, only, with_model
from tests.integration.test_resume import ending
from tests.other_process import ROOT, environment
from tests.paying import Till
from tests.prepared_command import ForkedProcess
from tests.scripted_model import Call, Request, Scripted, ScriptedServer

pytestmark = pytest.mark.slow

PLAN: Scripted = Call("submit_plan", steps=["Pay"])
CODE = """\
import pathlib, time
a = send('one')
pathlib.Path('outputs/flag').touch()
time.sleep(60 if pathlib.Path('inputs/slow').exists() else 0)
print(a, transfer('alice', 10))
"""


def cell(code: str) -> Call:
    return Call("run_python", purpose="pay", step=1, code=code)


class Killed:
    """An analysis in processes of its own, which are killed."""

    def __init__(self, settings: Settings, till: Till, url: str) -> None:
        self.settings = settings
        self.till = till
        self.url = url

    async def run(self, *given: str, until: Callable[[], bool] | None = None) -> dict[str, Any]:
        """Start a process and kill it once something is so; default: once its run has ended, while it still lives.

        Returns:
            The last event of its run, if that ended.
        """
        ended = self.till.folder / "ended"
        ended.unlink(missing_ok=True)
        where = environment(self.settings, self.url, TILL=str(self.till.folder))
        process = await asyncio.to_thread(ForkedProcess, "-m", "tests.paying", *given, env=where, cwd=ROOT)
        try:
            latest = time.monotonic() + 120
            while not (until or ended.exists)():
                assert time.monotonic() < latest
                assert process.poll() is None, "it ended by itself"
                await asyncio.sleep(0.02)
        finally:
            process.send_signal(signal.SIGKILL)
            await asyncio.to_thread(process.wait)
        told: dict[str, Any] = json.loads(ended.read_text()) if ended.exists() else {}
        return told

    def workspace(self, thread: str) -> Path:
        return self.settings.home / "threads" / thread / "workspace"

    async def go_on(self, thread: str, decision: Decision | None = None) -> list[Event]:
        model = with_model(self.settings, self.url)
        return await follow(resume(thread, decision=decision, settings=model, functions=self.till.functions))


@pytest.fixture
def till(tmp_path: Path) -> Till:
    (tmp_path / "till").mkdir()
    return Till(tmp_path / "till")


async def test_a_process_that_is_killed_while_its_call_waits_leaves_it_waiting(settings: Settings, till: Till) -> None:
    async with ScriptedServer([PLAN, cell(CODE), *ending()]) as server:
        killed = Killed(settings, till, server.base_url)
        asked = await killed.run()
        thread, call = asked["thread"], asked["call"]
        assert (asked["event"], call["arguments"]) == ("approval_asked", ["to = 'alice'", "amount = 10"])
        again = last(await killed.go_on(thread), ApprovalAsked)
        assert again.call == call
        assert till.lines("paid") == []
        events = await killed.go_on(thread, Decision("approve", call=call["id"]))
    last(events, Finished)
    assert (till.lines("sent"), till.lines("paid")) == (["one"], ["alice:10"])
    assert "1 1" in only(events, CellFinished)[0].cell["observation"]


async def test_an_approval_outlives_a_process_that_is_killed_before_the_call(settings: Settings, till: Till) -> None:
    async with ScriptedServer([PLAN, cell(CODE), *ending()]) as server:
        killed = Killed(settings, till, server.base_url)
        asked = await killed.run()
        thread, call = asked["thread"], asked["call"]
        inputs, flag = killed.workspace(thread) / "inputs", killed.workspace(thread) / "outputs" / "flag"
        flag.unlink(missing_ok=True)
        inputs.mkdir(parents=True, exist_ok=True)
        (inputs / "slow").touch()
        await killed.run(thread, call["id"], until=flag.exists)
        assert till.lines("paid") == []
        (inputs / "slow").unlink()
        events = await killed.go_on(thread)
    last(events, Finished)
    assert (till.lines("sent"), till.lines("paid")) == (["one"], ["alice:10"])
    assert only(events, CellFinished)[0].cell["status"] == "ok"


async def test_an_approved_call_that_was_cut_off_is_not_made_again(settings: Settings, till: Till) -> None:
    told: list[str] = []

    def after(request: Request) -> Call:
        told.append(request.last)
        return cell("print(1)")

    async with ScriptedServer([PLAN, cell(CODE), after, *ending()]) as server:
        killed = Killed(settings, till, server.base_url)
        asked = await killed.run()
        (till.folder / "stall").touch()
        await killed.run(asked["thread"], asked["call"]["id"], until=lambda: bool(till.lines("paid")))
        (till.folder / "stall").unlink()
        events = await killed.go_on(asked["thread"])
    last(events, Finished)
    assert (till.lines("sent"), till.lines("paid")) == (["one"], ["alice:10"])
    assert only(events, CellFinished)[0].cell["status"] == "unknown"
    assert "may have had effects outside of the sandbox (function transfer)" in told[0]
    assert "These calls had ended, and their effects are there: send." in told[0]
