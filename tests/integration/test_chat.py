"""`stepwell chat`, as people use it: on a terminal and in pipes."""

import asyncio
import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.integration.test_command import PATIENCE, Desk, Terminal, make_desk, thread_in
from tests.prepared_command import PREPARED
from tests.scripted_model import ScriptedServer
from tests.scripted_replies import Call, Scripted

pytestmark = [pytest.mark.xdist_group("chat"), pytest.mark.timeout(300)]
SLOW = "n = 2; print('be' + 'gun', flush=True); import time; time.sleep(600)"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path)


def cell(code: str) -> Call:
    return Call("run_python", purpose="Work", code=code)


def answer(text: str) -> list[Call]:
    return [Call("submit_answer", answer=text, skipped=[]), Call("submit_review", good_enough=True, missing=[])]


def asks(desk: Desk, model: ScriptedServer) -> Desk:
    desk.variables = {"OPENAI_BASE_URL": model.base_url, "STEPWELL_MODEL": "scripted", "OPENAI_API_KEY": "none"}
    return desk


def piped(desk: Desk, text: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        PREPARED.command("chat", *words),
        cwd=desk.folder,
        env=desk.environment,
        input=text,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


def threads(desk: Desk) -> list[dict[str, object]]:
    return [json.loads(line) for line in desk.command("threads", "--json").stdout.splitlines()]


async def test_questions_and_commands_from_a_pipe(desk: Desk) -> None:
    script: list[Scripted] = [
        *(cell("n = 1"), *answer("n is 1.")),
        *(cell("n += 1"), *answer("n is 2.")),
        *(cell("n += 10"), *answer("n is 11.")),
        *(cell("print('n is', n)"), *answer("It is as it was.")),
    ]
    lines = [
        "Count.", "/files", "/cost", "Count \\", "on.", "/steps", "/back 1", "Count from there.", "/fork 1",
        "What is n?", "/model other", "/model", "/quit", "never asked",
    ]  # fmt: skip
    async with ScriptedServer(script) as model:
        desk = asks(desk, model)
        done = await asyncio.to_thread(piped, desk, "\n".join(lines), "--file", "sales.csv")
        prompts = [str(one) for one in model.requests]
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stdout.splitlines() if re.match(r"n is|It is", line)]
    assert said == ["n is 1.", "n is 2.", "n is 11.", "It is as it was."]
    assert "inputs/sales.csv" in done.stdout
    assert "No prices are set" in done.stdout
    assert "model other" in done.stdout
    assert any("Count \non." in prompt.replace("\\n", "\n") for prompt in prompts)
    assert "n is 1" in prompts[-2]
    first, second = sorted(threads(desk), key=lambda one: str(one["updated"]))
    assert (first["question"], second["question"]) == ("Count from there.", "What is n?")
    shown = await asyncio.to_thread(desk.command, "log", str(first["thread"]))
    assert "2b" in shown.stdout


def test_what_is_wrong_is_said_and_loses_nothing(desk: Desk) -> None:
    lines = [
        "/back 1",
        "/nothing",
        "/add",
        "/add 'open",
        "/quit now",
        "/add nowhere.csv",
        "/usr/bin is what?",
        "/back x",
        "/show 9",
        "/resume",
    ]
    done = piped(desk, "\n".join(lines))
    assert done.returncode == 1
    for part in (
        "no thread yet", "no command /nothing", "needs the name of a file", "not closed", "takes nothing",
        "nowhere.csv", "names no step", "(/steps lists them)", "is finished; ask another question.",
    ):  # fmt: skip
        assert part in done.stderr, part
    assert "Traceback" not in done.stderr
    assert "stepwell log" not in done.stderr
    assert [one["question"] for one in threads(desk)] == ["/usr/bin is what?"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("nowhere",), 2, "No thread"),
        (("--file", "nowhere.csv"), 2, "nowhere.csv"),
        (("--max-cells", "0"), 2, "max-cells"),
        (("--sandbox", "moon"), 1, "moon"),
    ],
)
def test_wrong_options_are_said_before_anything_is_typed(
    words: tuple[str, ...], code: int, said: str, desk: Desk
) -> None:
    done = piped(desk, "Hello.\n", *words)
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
async def test_ctrl_c_pauses_the_turn_and_not_the_chat(desk: Desk) -> None:
    script: list[Scripted] = [
        *(cell("n = 1"), *answer("n is 1.")),
        *(cell(SLOW), cell("print('n is', n)"), *answer("It went on.")),
    ]
    async with ScriptedServer(script) as model:
        await asyncio.to_thread(_pauses, asks(desk, model))
    [thread] = threads(desk)
    assert thread["status"] == "finished"
    assert (desk.home / "chat_history").stat().st_mode & 0o777 == 0o600


def _pauses(desk: Desk) -> None:
    terminal = Terminal(desk, "chat")
    terminal.wait_for("Ctrl-D ends.*> ")
    terminal.press("Count.\n")
    terminal.wait_for("n is 1.*> ")
    terminal.press("half a line")
    terminal.wait_for("half a line")
    terminal.wait_until_it_reads()
    terminal.press("\x03")
    terminal.wait_for("> ")
    terminal.press("Count on.\n")
    terminal.wait_for("begun")
    terminal.press("\x03")
    terminal.wait_for("/resume.*> ")
    terminal.press("/resume\n")
    terminal.wait_for("begun")
    terminal.press("\x03")
    terminal.wait_for("/resume.*> ")
    terminal.press("What is n?\n")
    terminal.wait_for("It went on.*> ")
    terminal.press("\x04")
    assert terminal.exit_code() == 0
    assert "stepwell chat " in terminal.plain


@pytest.mark.slow
async def test_a_thread_goes_on_and_a_cell_is_approved(desk: Desk) -> None:
    script: list[Scripted] = [*(cell("n = 1"), *answer("n is 1.")), *(cell("n += 1"), *answer("n is 2."))]
    async with ScriptedServer(script) as model:
        await asyncio.to_thread(_approves, asks(desk, model))


def _approves(desk: Desk) -> None:
    thread = thread_in(desk.command("run", "Count.").stderr)
    terminal = Terminal(desk, "chat", thread[:8], "--approve")
    terminal.wait_for("its last question: Count.*> ")
    terminal.press("Count on.\n")
    terminal.wait_for("n \\+= 1.*uit\\? ")
    terminal.press("a\n")
    terminal.wait_for("n is 2.*> ")
    terminal.press("\x1b[A")  # the history, which has questions and no decisions
    terminal.wait_for("Count on.")
    terminal.press("\x15/quit\n")
    assert terminal.exit_code() == 0


@pytest.mark.slow
async def test_who_is_ended_in_a_turn_leaves_it_to_be_gone_on_with(desk: Desk) -> None:
    async with ScriptedServer([cell(SLOW)]) as model:
        code = await asyncio.to_thread(_ends, asks(desk, model))
    assert code == 128 + signal.SIGTERM
    [thread] = threads(desk)
    assert thread["status"] == "paused"


def _ends(desk: Desk) -> int:
    terminal = Terminal(desk, "chat")
    terminal.wait_for("> ")
    terminal.press("Count.\n")
    terminal.wait_for("begun")
    os.kill(terminal.pid, signal.SIGTERM)
    return terminal.exit_code()
