"""The command and a local LangGraph server work on the same threads, one at a time."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.other_process import ROOT, wait_for_file
from tests.scripted_model import Call, Plain, Request, ScriptedServer
from tests.serving import DevServer, serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.xdist_group("sharing")]


def policy(request: Request) -> Plain:
    """One cell for each question: its last line is the code."""
    if request.choice == "submit_review":
        return Call("submit_review", good_enough=True, missing=[])
    question = question_in(request)
    if f"ran: {question}" in request.text:
        return Call("submit_answer", answer=f"Answered {question}.", skipped=[])
    return Call("run_python", purpose="p", step=1, code=f"{CODE[question]}\nprint('ran: {question}')")


def question_in(request: Request) -> str:
    """The newest of the questions that the prompt holds."""
    return max(CODE, key=lambda question: request.text.rfind(f"[{question}]"))


HELD = "import os, time\nopen('outputs/flag', 'w').write('x')\nwhile os.path.exists('outputs/flag'): time.sleep(0.05)"
"""Runs until somebody takes its flag away."""
CODE = {
    "make": "values = [1, 2, 3]\nopen('outputs/log.txt', 'w').write('made')",
    "check": "values.append(4)\nassert open('outputs/log.txt').read() == 'made'\nprint(values)",
    "check again": "assert values == [1, 2, 3, 4], values",
    "slow again": HELD,
    "slow": HELD,
}
"""By question."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sharing")


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedServer]:
    server = ScriptedServer(policy=policy)
    asyncio.run(server.__aenter__())
    yield server
    asyncio.run(server.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def server(folder: Path, model: ScriptedServer) -> Iterator[DevServer]:
    with serving(folder, settings_of(folder, model)) as server:
        yield server


def settings_of(folder: Path, model: ScriptedServer) -> dict[str, str]:
    return {
        "STEPWELL_HOME": str(folder / "home"),
        "STEPWELL_ARTIFACTS": str(folder / "artifacts"),
        "STEPWELL_MODEL": "scripted",
        "OPENAI_BASE_URL": model.base_url,
    }


@pytest.fixture
async def client(server: DevServer) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=server.url) as client:
        yield client


class Command:
    """`stepwell` in processes of their own, on the same data folder."""

    def __init__(self, folder: Path, model: ScriptedServer) -> None:
        self._environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **settings_of(folder, model)}

    async def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-c", "from stepwell.command import main; main()", *arguments]
        return await asyncio.to_thread(
            lambda: subprocess.run(line, env=self._environment, capture_output=True, text=True, timeout=120)
        )

    async def told(self, *arguments: str) -> list[dict[str, Any]]:
        done = await self.run(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def command(folder: Path, model: ScriptedServer) -> Command:
    return Command(folder, model)


def asking(question: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": f"[{question}]"}]}


async def test_the_command_shows_the_servers_threads_and_goes_on_with_them(
    server: DevServer, client: LangGraphClient, command: Command
) -> None:
    thread = (await client.threads.create())["thread_id"]
    await client.runs.wait(thread, "stepwell", input=asking("make"))
    shown = {line["thread"]: line for line in await command.told("threads")}
    assert shown[thread]["status"] == "finished"
    assert len(await command.told("log", thread)) == 1
    asked = await command.told("ask", thread, "[check]")
    assert asked[-1]["answer"] == "Answered check."
    state: Any = await client.threads.get_state(thread)
    assert [cell["status"] for cell in state["values"]["cells"]] == ["ok", "ok"]
    # What the server knew of the sandbox is not so any more: the command has worked in it since.
    await client.runs.wait(thread, "stepwell", input=asking("check again"))
    state = await client.threads.get_state(thread)
    assert [cell["status"] for cell in state["values"]["cells"]] == ["ok", "ok", "ok"], state["values"]["cells"][-1]


async def test_the_server_goes_on_with_the_commands_threads(client: LangGraphClient, command: Command) -> None:
    thread = (await command.told("run", "[make]"))[-1]["thread"]
    await client.threads.create(thread_id=thread, if_exists="do_nothing", metadata={"graph_id": "stepwell"})
    state: Any = await client.threads.get_state(thread)
    assert state["values"]["answer"] == "Answered make."
    await client.runs.wait(thread, "stepwell", input=asking("check"))
    shown = (await command.told("show", thread))[0]
    assert shown["answer"] == "Answered check."
    assert len(await command.told("log", thread)) == 2


async def test_only_one_of_them_works_on_a_thread_at_a_time(
    client: LangGraphClient, command: Command, folder: Path
) -> None:
    thread = (await client.threads.create())["thread_id"]
    run = await client.runs.create(thread, "stepwell", input=asking("slow"))
    flag = folder / "home" / "threads" / thread / "workspace" / "outputs" / "flag"
    await wait_for_file(flag.parent, "flag")
    refused = await command.run("ask", thread, "[make]")
    assert refused.returncode == 2
    assert "is being worked on by another process" in refused.stderr
    flag.unlink()
    await client.runs.join(thread, run["run_id"])
    working = asyncio.create_task(command.told("ask", thread, "[slow again]"))
    await wait_for_file(flag.parent, "flag")
    # The server's run waits for the command's, and goes on from where that one ends.
    run = await client.runs.create(thread, "stepwell", input=asking("make"))
    flag.unlink()
    await working
    await client.runs.join(thread, run["run_id"])
    state: Any = await client.threads.get_state(thread)
    assert [cell["status"] for cell in state["values"]["cells"]] == ["ok", "ok", "ok"]
    assert [turn["answer"] for turn in state["values"]["turns"]] == [
        "Answered slow.",
        "Answered slow again.",
        "Answered make.",
    ]


async def test_gc_keeps_what_the_servers_threads_name_and_a_deleted_thread_is_gone_for_the_command(
    client: LangGraphClient, command: Command
) -> None:
    thread = (await client.threads.create())["thread_id"]
    await client.runs.wait(thread, "stepwell", input=asking("make"))
    copied: Any = await client.http.post(f"/threads/{thread}/copy", json=None)
    copy = copied["thread_id"]
    done = await command.run("gc", "--grace", "0")
    assert done.returncode == 0, done.stderr
    await client.threads.delete(thread)
    assert thread not in {line["thread"] for line in await command.told("threads")}
    asked = await command.told("ask", copy, "[check]")
    assert asked[-1]["answer"] == "Answered check."
