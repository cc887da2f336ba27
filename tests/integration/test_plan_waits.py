"""A plan that waits for a decision: in a process that is killed, without tool calls, and at a terminal."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from graph.context import Context
from graph.events import ApprovalAsked, CellFinished, CellStarted, Finished
from graph.settings import Settings
from stepwell.runs import Decision, resume, start
from tests.analyses import follow, last, only, with_model
from tests.integration.test_command import Desk, Terminal
from tests.other_process import environment
from tests.scripted_model import Call, Say, Scripted, ScriptedServer

TEXT_ONLY = Context(review="never", approve_plan=True, tool_calling="off")
CALLS: list[Scripted] = [
    Call("submit_plan", steps=["Load", "Count"]),
    Call("run_python", purpose="Work", code="print(1)"),
    Call("submit_answer", answer="Done."),
]
TEXTS: list[Scripted] = [
    Say("1. Load\n2. Count"),
    Say("```python\n# step 1: load\nprint(1)\n```"),
    Say("<answer>Done.</answer>"),
]
WAITS = """\
import asyncio, sys
from graph.context import Context
from graph.events import ApprovalAsked
from stepwell.runs import start
async def main():
    context = Context(review="never", approve_plan=True, tool_calling=sys.argv[1])
    async for event in start("Count", context=context):
        if isinstance(event, ApprovalAsked):
            print(event.thread, flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


def desk_at(settings: Settings, url: str, folder: Path) -> Desk:
    return Desk(folder, settings.home, {**environment(settings, url), "HOME": str(folder)})


@pytest.mark.slow
@pytest.mark.parametrize(("tools", "script"), [("auto", CALLS), ("off", TEXTS)])
async def test_a_plan_outlives_the_kill_of_its_process(
    settings: Settings, tmp_path: Path, tools: str, script: list[Scripted]
) -> None:
    """`resume --approve-plan` goes on with the same plan, and the model is not asked for it again."""
    async with ScriptedServer(script) as server:
        desk = desk_at(settings, server.base_url, tmp_path)
        process = await asyncio.to_thread(
            subprocess.Popen,
            [sys.executable, "-c", WAITS, tools],
            env=desk.environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        try:
            thread = (await asyncio.to_thread(process.stdout.readline)).strip()
        finally:
            process.send_signal(signal.SIGKILL)
            await asyncio.to_thread(process.communicate)
        assert (process.returncode, len(server.requests)) == (-signal.SIGKILL, 1)
        done = await asyncio.to_thread(desk.command, "resume", thread, "--approve-plan")
        assert (done.returncode, "Done." in done.stdout) == (0, True), done
        assert len(server.requests) == 3  # the plan, before the kill; the cell and the answer, after it
        assert {"Load", "Count"} <= set(re.findall(r"\w+", str(server.requests[1].body["messages"])))
        shown = await asyncio.to_thread(desk.command, "show", thread)
        assert "1. Load" in shown.stdout


async def test_a_plan_in_plain_text_is_rejected_with_a_remark(settings: Settings) -> None:
    """A model that cannot call tools is told the rejected plan and the remark; only the next plan is followed."""
    async with ScriptedServer([TEXTS[0], Say("1. Only count"), *TEXTS[1:]]) as server:
        model = with_model(settings, server.base_url)
        asked = last(await follow(start("Count", settings=model, context=TEXT_ONLY)), ApprovalAsked)
        assert asked.plan == ["Load", "Count"]
        rejection = Decision("reject", remark="Do not load.", plan=True)
        events = await follow(resume(asked.thread, decision=rejection, settings=model))
        assert (only(events, CellStarted), last(events, ApprovalAsked).plan) == ([], ["Only count"])
        assert "rejected this plan: 1. Load; 2. Count. They say: Do not load." in server.requests[1].last
        events = await follow(resume(asked.thread, decision=Decision("approve", plan=True), settings=model))
        assert all(request.tools == [] for request in server.requests)
    assert len(only(events, CellFinished)) == 1
    assert last(events, Finished).answer == "Done."


@pytest.mark.slow
async def test_a_terminal_is_asked_about_the_plan(settings: Settings, tmp_path: Path) -> None:
    """A rejection there leads to another plan; a process killed at the prompt leaves that one waiting."""
    async with ScriptedServer([CALLS[0], Call("submit_plan", steps=["Only count"]), *CALLS[1:]]) as server:
        desk = desk_at(settings, server.base_url, tmp_path)

        def reject_and_kill() -> int:
            terminal = Terminal(desk, "run", "Count", "--plan", "--review", "never")
            terminal.wait_for(r"A plan waits for approval:.*1\. Load.*2\. Count.*uit\? ")
            terminal.press("r\n")
            terminal.wait_for("What should be different. ")
            terminal.press("Do not load.\n")
            terminal.wait_for(r"A plan waits for approval:.*1\. Only count.*uit\? ")
            os.kill(terminal.pid, signal.SIGKILL)
            return terminal.exit_code()

        def approve() -> int:
            terminal = Terminal(desk, "resume", "last")
            terminal.wait_for(r"A plan waits for approval:.*1\. Only count.*uit\? ")
            assert len(server.requests) == 2
            terminal.press("a\n")
            terminal.wait_for(r"Done\.")
            return terminal.exit_code()

        assert await asyncio.to_thread(reject_and_kill) == -signal.SIGKILL
        assert "They say: Do not load." in server.requests[1].last
        assert await asyncio.to_thread(approve) == 0
        assert len(server.requests) == 4
