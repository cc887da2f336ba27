"""`stepwell mcp` as agents use it: the SDK's own client drives every tool, over stdin and stdout and over HTTP."""

import asyncio
import base64
import json
import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp_types import ElicitRequestParams, ElicitResult, ImageContent

import stepwell
from bench.snapshots import WORKLOADS
from graph.settings import Settings
from stepwell.last_session import FOLDER
from tests.mcp_client import Agent, agent, http_agent, settings_over_http, text_of
from tests.other_process import wait_for_flag
from tests.page_process import page_inside
from tests.scripted_model import ScriptedServer
from tests.scripted_replies import Call

TOOLS = {
    "run_code", "ask", "list_variables", "show_variable", "list_files", "fetch_file", "list_sessions", "list_steps",
    "go_back", "fork_session", "compare_steps", "end_session",
}  # fmt: skip
FRAME = "import pandas as pd\ndf = pd.DataFrame({'a': range(200), 'b': 'x'})"


@dataclass(frozen=True, slots=True)
class Transport:
    """How a client reaches the server, and where its threads are then."""

    opened: Callable[..., AbstractAsyncContextManager[Agent]]
    settings_of: Callable[[Settings], Settings]


TRANSPORTS = {
    "stdio": Transport(agent, lambda settings: settings),
    "http": Transport(http_agent, settings_over_http),
}


@pytest.fixture(params=["stdio", pytest.param("http", marks=pytest.mark.slow)])
def transport(request: pytest.FixtureRequest) -> Transport:
    """Each of both."""
    return TRANSPORTS[request.param]


async def test_every_tool(transport: Transport, settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "sales.csv").write_text("a,b\n1,2\n")
    async with transport.opened(settings, tmp_path, "--files", str(tmp_path / "open")) as user:
        assert {one.name for one in (await user.client.list_tools()).tools} == TOOLS
        first = await user.told("run_code", code=f"{FRAME}\nprint('said')", session="sales", purpose="Load")
        assert (first["step"], first["status"], first["variables"][-1]["name"]) == ("1", "ok", "df")
        assert "said" in first["output"]
        drawn = await user.call("run_code", code="df.plot()\nopen('outputs/a.txt', 'w').write('ä')", session="sales")
        [picture] = [part for part in drawn.content if isinstance(part, ImageContent)]
        assert base64.b64decode(picture.data).startswith(b"\x89PNG")
        counted = await user.told("run_code", code="%%sql n\nselect count(*) as n from df", session="sales")
        assert "200" in counted["output"]
        failed = await user.call("run_code", code="1 / 0", session="sales")
        assert failed.is_error
        assert "ZeroDivisionError" in text_of(failed)
        variables = (await user.told("list_variables", session="sales"))["variables"]
        assert {"name": "df", "kind": "DataFrame", "summary": "200 x 2: a int64, b str"} in variables
        part = await user.told("show_variable", session="sales", name="df", first_row=150, rows=2)
        assert (part["rows"], part["index"], part["cells"]) == (200, ["150", "151"], [["150", "x"], ["151", "x"]])
        files = await user.told("list_files", session="sales")
        assert {one["path"] for one in files["files"]} == {"figures/cell-002-1.png", "outputs/a.txt"}
        fetched = await user.call("fetch_file", session="sales", path="outputs/a.txt")
        assert text_of(fetched) == "ä"
        assert fetched.structured_content is not None
        read = await user.client.read_resource(fetched.structured_content["uri"])
        assert base64.b64decode(read.contents[0].model_dump()["blob"]).decode() == "ä"
        steps = (await user.told("list_steps", session="sales"))["steps"]
        assert [(one["step"], one["status"]) for one in steps] == [
            ("1", "ok"),
            ("2", "ok"),
            ("3", "ok"),
            ("4", "error"),
        ]
        forked = await user.told("fork_session", session="sales", step="1", name="other")
        assert "True" in (await user.told("run_code", code="'n' not in globals()", session="other"))["output"]
        await user.told("go_back", session="sales", step="1")
        back = await user.told("run_code", code="'n' in globals()", session="sales")
        assert (back["step"], "False" in back["output"]) == ("2b", True)
        differs = await user.told("compare_steps", session="sales", step="1", other_step="3")
        assert any(one.startswith("n") for one in differs["variables"]["added"])
        taken = await user.told(
            "run_code",
            code="sorted(__import__('os').listdir('inputs'))",
            session="other",
            files=[str(tmp_path / "open" / "sales.csv")],
            sent_files=[{"name": "../x/sent.csv", "text": "a\n1\n"}, {"name": "b.bin", "base64": "AAE="}],
        )
        assert "['b.bin', 'sales.csv', 'sent.csv']" in taken["output"]
        sessions = (await user.told("list_sessions"))["sessions"]
        assert {one["name"] for one in sessions} == {"sales", "other"}
        await user.told("end_session", session="sales")
        assert "(200, 2)" in (await user.told("run_code", code="df.shape", session="sales"))["output"]
        await user.told("end_session", session="other", delete=True)
        assert "no session" in await user.refused("list_steps", session="other")
        assert "no session" in await user.refused("list_steps", session=forked["session"])
    listed = await stepwell.list_threads(settings=transport.settings_of(settings))
    assert [(one.name, one.cells, one.tags) for one in listed] == [("sales", 3, ("agents",))]


@pytest.mark.slow
async def test_what_a_client_gets_wrong_is_said(settings: Settings, tmp_path: Path) -> None:
    await stepwell.run("Count.", settings=settings)  # the user's own thread, of which agents know nothing
    [own] = await stepwell.list_threads(settings=settings)
    await stepwell.rename(own.id, "private", settings=settings)
    async with agent(settings, tmp_path) as user:
        for session in ("private", own.id, own.id[:9], "last"):
            assert "no session" in await user.refused("list_steps", session=session)
        assert "taken by a thread" in await user.refused("run_code", code="1", session="private")
        assert "no session" in await user.refused("run_code", code="1", session=own.id)
        assert "cannot be a name" in await user.refused("run_code", code="1", session="a@1")
        assert "is empty" in await user.refused("run_code", code="  ")
        assert "--files DIR" in await user.refused("run_code", code="1", files=["/etc/passwd"])
        assert "--files DIR" in await user.refused("ask", question="What is it?", files=["../../etc/passwd"])
        assert "`text` or `base64`" in await user.refused("run_code", code="1", sent_files=[{"name": "a.csv"}])
        assert "not base64" in await user.refused("run_code", code="1", sent_files=[{"name": "a", "base64": "é"}])
        begun = await user.told("run_code", code="n = 1", session="mine")
        assert "no step 7" in await user.refused("go_back", session="mine", step="7")
        assert "has no step" in await user.refused("go_back", session="mine", step="; rm")
        assert "no variable" in (await user.refused("show_variable", session="mine", name="m"))
        assert "no such file" in await user.refused("fetch_file", session="mine", path="../../../etc/passwd")
        assert "no such file" in await user.refused("fetch_file", session="mine", path="/etc/passwd")
        for path in ("etc/passwd", "../etc/passwd", "%2e%2e/%2e%2e/etc/passwd"):
            with pytest.raises(Exception, match=r"no such file|security|Unknown resource"):
                await user.client.read_resource(f"stepwell://{begun['session']}/1/{path}")
        assert "rows" in await user.refused("show_variable", session="mine", name="n", rows=0)
    assert len(await stepwell.list_threads(settings=settings)) == 2


async def test_a_kill_between_calls_costs_nothing(transport: Transport, settings: Settings, tmp_path: Path) -> None:
    async with transport.opened(settings, tmp_path) as user:
        await user.told("run_code", code=f"{FRAME}\nshared = [df]\nother = shared", session="long")
        user.kill()
    async with transport.opened(settings, tmp_path) as user:
        back = await user.told("run_code", code="other is shared and len(df)", session="long")
    assert "200" in back["output"]
    assert back["notices"] == ["The session was brought back from the snapshot after step 1."]


@pytest.mark.slow
async def test_a_kill_between_any_two_calls_costs_nothing(
    transport: Transport, settings: Settings, tmp_path: Path
) -> None:
    """Each call is of a server that is killed as soon as it has answered."""

    async def answered(tool: str, **arguments: Any) -> dict[str, Any]:
        async with transport.opened(settings, tmp_path) as user:
            told = await user.told(tool, **arguments)
            user.kill()
        return told

    begun = await answered("run_code", code="n = [1]; m = n", session="s")
    assert "[1, 2]" in (await answered("run_code", code="n.append(2); m", session="s"))["output"]
    variables = (await answered("list_variables", session="s"))["variables"]
    assert {one["name"] for one in variables} == {"n", "m"}
    forked = await answered("fork_session", session="s", name="other")
    assert forked["session"] != begun["session"]
    await answered("go_back", session="s", step="1")
    assert "[1]" in (await answered("run_code", code="m", session="s"))["output"]
    assert "[1, 2]" in (await answered("run_code", code="m", session="other"))["output"]
    assert [one["step"] for one in (await answered("list_steps", session="s"))["steps"]] == ["1", "2", "2b"]
    await answered("end_session", session="s")
    assert "[1, 3]" in (await answered("run_code", code="n.append(3); m", session="s"))["output"]
    await answered("end_session", session="other", delete=True)
    assert [one["name"] for one in (await answered("list_sessions"))["sessions"]] == ["s"]


@pytest.mark.slow
async def test_a_kill_in_a_cell_is_told_and_the_cell_is_not_repeated(
    transport: Transport, settings: Settings, tmp_path: Path
) -> None:
    async with transport.opened(settings, tmp_path) as user:
        await user.told("run_code", code="n = 1", session="long")
        code = "n = 2; open('outputs/flag', 'w').close(); import time; time.sleep(600)"
        running = asyncio.ensure_future(user.call("run_code", code=code, session="long", purpose="Count on"))
        await wait_for_flag(transport.settings_of(settings))
        user.kill()
        with pytest.raises(Exception, match=r"(?i)closed|connection|end"):
            await asyncio.wait_for(running, 60)
    async with transport.opened(settings, tmp_path) as user:
        back = await user.told("run_code", code="import os; n, os.listdir('outputs')", session="long")
    assert "(1, [])" in back["output"]
    assert "The cell before this one ('Count on') was broken off and was not repeated" in " ".join(back["notices"])


@pytest.mark.slow
async def test_a_call_that_is_cancelled_interrupts_the_cell(settings: Settings, tmp_path: Path) -> None:
    async with agent(settings, tmp_path) as user:
        await user.told("run_code", code="n = 1", session="s")
        code = "n = 2; print('now', flush=True); open('outputs/flag', 'w').close(); import time; time.sleep(600)"
        running = asyncio.ensure_future(user.call("run_code", code=code, session="s"))
        await wait_for_flag(settings)
        async with asyncio.timeout(60):
            while "now" not in user.progress:
                await asyncio.sleep(0.05)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        async with asyncio.timeout(60):
            assert "1" in (await user.told("run_code", code="n", session="s"))["output"]


@pytest.mark.slow
async def test_sessions_of_one_client_at_a_time(settings: Settings, tmp_path: Path) -> None:
    async with agent(settings, tmp_path) as user:
        found = await asyncio.gather(*(user.told("run_code", code=f"n = {one}", session="same") for one in range(3)))
        assert len({one["session"] for one in found}) == 1
        await asyncio.gather(*(user.told("run_code", code=f"n = {one}", session=f"s{one}") for one in range(3)))
        for one in range(3):
            assert str(one) in (await user.told("run_code", code="n", session=f"s{one}"))["output"]


@pytest.mark.slow
@pytest.mark.parametrize(("agreed", "status"), [(True, "ok"), (False, "rejected")])
async def test_the_user_is_asked_about_a_cell(agreed: bool, status: str, settings: Settings, tmp_path: Path) -> None:
    asked: list[str] = []

    async def decide(context: Any, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"approve": agreed, "remark": "Not now."})

    async with agent(settings, tmp_path, "--approve", anew=True, elicitation_callback=decide, mode="legacy") as user:
        result = await user.call("run_code", code="n = 1", session="s")
    assert "n = 1" in asked[0]
    assert result.structured_content is not None
    assert result.structured_content["status"] == status


@pytest.mark.slow
async def test_a_client_that_cannot_ask_is_told_how_it_goes_on(settings: Settings, tmp_path: Path) -> None:
    async with agent(settings, tmp_path, "--approve") as user:
        told = await user.refused("run_code", code="n = 1", session="s")
        assert "waits for the user's approval" in told
        [thread] = await stepwell.list_threads(settings=settings)
        await stepwell.resume(thread.id, decision=stepwell.Decision("approve"), settings=settings)
        [row] = (await user.told("list_variables", session="s"))["variables"]
    assert row["name"] == "n"


@pytest.mark.slow
async def test_a_question_is_asked(transport: Transport, settings: Settings, tmp_path: Path) -> None:
    script = [
        Call("run_python", purpose="Look", code="open('outputs/n.txt', 'w').write(str(n))"),
        Call("submit_answer", answer="n is 41, in [n.txt](outputs/n.txt)."),
        Call("submit_review", good_enough=True, missing=[]),
    ]
    async with ScriptedServer(script) as model, transport.opened(settings, tmp_path, model=model.base_url) as user:
        await user.told("run_code", code="n = 41", session="s")
        answered = await user.told("ask", question="What is n?", session="s")
        assert answered["answer"].startswith("n is 41")
        assert text_of(await user.call("fetch_file", session="s", path="outputs/n.txt")) == "41"
        assert "41" in (await user.told("run_code", code="n", session="s"))["output"]


@pytest.mark.slow
@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda one: one.name)
async def test_a_session_of_a_killed_server_answers_as_before(
    workload: Any, settings: Settings, tmp_path: Path
) -> None:
    cells = workload.cells(200)
    given = tmp_path / "given"
    inputs = []
    if workload.data is not None:
        given.mkdir()
        workload.data(given, 200)
        inputs = [str(path) for path in sorted(given.rglob("*")) if path.is_file()]
    async with agent(settings, tmp_path, "--files", str(given) if inputs else str(tmp_path)) as user:
        told: dict[str, Any] = {}
        for number, cell in enumerate(cells):
            told = await user.told("run_code", code=cell, session="w", files=[] if number else inputs)
        named = {one["name"] for one in told["not_kept"]}
        fork = (await user.told("fork_session", session="w", name="restored"))["session"]
        [note] = (settings.home / FOLDER).glob("*.json")
        last = json.loads(note.read_text())
        alive = [await _answer(user, "w", probe) for probe in workload.probes]
        user.kill()
    # It is brought back ahead, as if no probe had run.
    note.write_text(json.dumps({**last, "thread": fork}))
    (settings.home / "locks" / f"{fork}.holder").write_text(last["holder"])
    async with agent(settings, tmp_path) as user:
        restored = [await _answer(user, "restored", probe) for probe in workload.probes]
    wrong = [
        probe
        for probe, one, other in zip(workload.probes, alive, restored, strict=True)
        if one != other and not any(name in probe for name in named)
    ]
    assert wrong == []


async def _answer(user: Agent, session: str, probe: str) -> str:
    result = await user.call("run_code", code=probe, session=session)
    assert result.structured_content is not None
    output: str = result.structured_content["output"]
    return output.partition("\n")[2]


@pytest.mark.slow
async def test_limits_and_network_rules_hold_and_a_session_is_a_thread_like_any(
    settings: Settings, tmp_path: Path
) -> None:
    listening = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    reach = f"import socket\nsocket.create_connection(('127.0.0.1', {listening.sockets[0].getsockname()[1]}), 5)"
    async with listening, agent(settings, tmp_path, variables={"STEPWELL_SANDBOX_MEMORY_MB": "600"}) as user:
        drawn = await user.told("run_code", code=f"{FRAME}\ndf.plot()", session="walls", purpose="Draw it")
        assert "Error" in await user.refused("run_code", code=reach, session="walls")
        assert "memory" in await user.refused("run_code", code="much = b'x' * 2_000_000_000", session="walls")
        assert "(200, 2)" in (await user.told("run_code", code="df.shape", session="walls"))["output"]
    for name in ("report.html", "notebook.ipynb"):
        await stepwell.export(drawn["session"], tmp_path / name, settings=settings)
        assert "df.plot()" in re.sub(r"<[^>]*>", "", (tmp_path / name).read_text())
    async with page_inside(settings) as page:
        assert "walls" in (await page.client.get("/")).text
        assert "Draw it" in (await page.client.get(f"/threads/{drawn['session']}")).text


@pytest.mark.slow
async def test_another_kind_of_program_is_told_what_it_speaks(settings: Settings, tmp_path: Path) -> None:
    async with agent(settings, tmp_path) as user:
        assert isinstance(user.client, Client)
        assert (await user.client.list_resource_templates()).resource_templates[0].uri_template.startswith("stepwell:")
        assert "go_back" in (user.client.server_capabilities and (user.client.instructions or ""))
