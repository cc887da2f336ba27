"""`stepwell acp` as editors use it: the SDK's own client drives every method."""

import asyncio
import base64
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from acp import PROTOCOL_VERSION, RequestError, spawn_agent_process, text_block
from acp.client.connection import ClientSideConnection
from acp.schema import (
    AllowedOutcome,
    BlobResourceContents,
    DeniedOutcome,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    RequestPermissionResponse,
    ResourceContentBlock,
    TextResourceContents,
)

import stepwell
from graph.settings import Settings
from stepwell.acp_agent.agent import open_agent
from stepwell.last_session import OF_EDITORS, begin_early, bringing_back
from tests.other_process import environment, wait_for_flag
from tests.prepared_command import PREPARED, started_anew
from tests.scripted_model import ScriptedServer
from tests.scripted_replies import Call, Scripted

PLAN = ["Load", "Draw"]
SLOW = "n = 2; open('outputs/flag', 'w').close(); import time; time.sleep(600)"


def cell(code: str, step: int = 1, **more: Any) -> Call:
    return Call("run_python", purpose=f"Work on {step}", step=step, code=code, **more)


def answer(text: str = "Done.") -> list[Call]:
    return [Call("submit_answer", answer=text, skipped=[]), Call("submit_review", good_enough=True, missing=[])]


class Editor:
    """The editor's side: it keeps what it is shown, and decides as it was told."""

    def __init__(self) -> None:
        self.shown: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.decisions: list[str] = []

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.shown.append({"session": session_id, **update.model_dump(exclude_none=True)})

    async def request_permission(self, session_id: str, tool_call: Any, options: list[Any], **kwargs: Any) -> Any:
        self.asked.append({"title": tool_call.title, "options": [one.kind for one in options]})
        chosen = self.decisions.pop(0)
        if chosen == "cancelled":
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    def on_connect(self, conn: Any) -> None:
        pass

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The updates of a kind."""
        return [one for one in self.shown if one["session_update"] == kind]

    def said(self, kind: str = "agent_message_chunk") -> str:
        """The text of the messages of a kind."""
        return "".join(one["content"].get("text", "") for one in self.of(kind))


class Opened:
    """A connection to an agent's process."""

    def __init__(self, editor: Editor, connection: ClientSideConnection, pid: int, cwd: str) -> None:
        self.editor, self.connection, self.pid, self.cwd = editor, connection, pid, cwd

    async def new(self) -> str:
        return (await self.connection.new_session(cwd=self.cwd, mcp_servers=[])).session_id

    async def ask(self, session: str, *blocks: Any) -> str:
        """Prompt; the reason why it stopped."""
        given = [text_block(one) if isinstance(one, str) else one for one in blocks]
        return (await self.connection.prompt(session_id=session, prompt=given)).stop_reason


@asynccontextmanager
async def opened(
    settings: Settings, folder: Path, *options: str, model: str = "http://127.0.0.1:9", anew: bool = False
) -> AsyncIterator[Opened]:
    editor = Editor()
    note = folder / "pid"
    command = (started_anew if anew else PREPARED.command)("acp", *options, note=note)
    told = environment(settings, model, HOME=str(folder))
    spawned = spawn_agent_process(
        editor,  # type: ignore[arg-type]  # the methods that an editor without files and terminals has
        *command,
        env=told,
        cwd=folder,
        transport_kwargs={"shutdown_timeout": 60.0},  # after two seconds it would be killed
    )
    async with spawned as (connection, _):
        said = await connection.initialize(protocol_version=PROTOCOL_VERSION)
        assert said.agent_capabilities is not None
        assert said.agent_capabilities.load_session
        yield Opened(editor, connection, int(note.read_text()), str(folder))


async def test_a_question_with_files_is_answered_step_by_step(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "sales of May.csv").write_text("month,sum\n1,2\n")
    draw = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nopen('outputs/a.txt', 'w').write('x')\nprint('drawn')"
    script: list[Scripted] = [
        Call("submit_plan", steps=PLAN),
        cell("import os; print(sorted(os.listdir('inputs')))"),
        cell(draw, 2),
        *answer("It is **2**, see [a.txt](outputs/a.txt)."),
    ]
    async with ScriptedServer(script) as model, opened(settings, tmp_path, model=model.base_url, anew=True) as user:
        session = await user.new()
        link = ResourceContentBlock(
            type="resource_link", name="sales of May.csv", uri=(tmp_path / "sales of May.csv").as_uri()
        )
        text = TextResourceContents(uri="file:///x/notes.txt", text="a note")
        blob = BlobResourceContents(uri="file:///x/data.bin", blob=base64.b64encode(b"\0\1").decode())
        picture = ImageContentBlock(
            type="image", mime_type="image/png", data=base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
        )
        stopped = await user.ask(
            session,
            "What is in ",
            link,
            "?",
            EmbeddedResourceContentBlock(type="resource", resource=text),
            EmbeddedResourceContentBlock(type="resource", resource=blob),
            picture,
        )
        asked = str(model.requests[0])
        editor = user.editor
        listed = await user.connection.list_sessions(cwd=str(tmp_path))
        elsewhere = await user.connection.list_sessions(cwd="/elsewhere")
    assert stopped == "end_turn"
    assert "What is in sales of May.csv?" in asked
    assert next(one["entries"][0]["status"] for one in editor.of("plan")) == "in_progress"
    assert [one["status"] for one in editor.of("plan")[-1]["entries"]] == ["completed", "completed"]
    started = editor.of("tool_call")
    assert [one["title"] for one in started] == ["Work on 1", "Work on 2"]
    ended = [one for one in editor.of("tool_call_update") if one.get("status") == "completed"]
    shown = str(ended[0]["content"])
    for name in ("data.bin", "notes.txt", "sales of May.csv", "picture-5.png"):
        assert name in shown
    [figure] = [one["content"] for one in ended[1]["content"] if one["content"]["type"] == "image"]
    assert base64.b64decode(figure["data"]).startswith(b"\x89PNG")
    assert "It is **2**" in editor.said()
    blocks = [one["content"] for one in editor.of("agent_message_chunk")]
    links = {one["name"]: one["uri"] for one in blocks if one["type"] == "resource_link"}
    assert Path(links["a.txt"].removeprefix("file://")).read_text() == "x"
    [known] = listed.sessions
    assert (known.session_id, known.cwd) == (session, str(tmp_path))
    assert elsewhere.sessions == []


@pytest.mark.slow
async def test_cells_wait_for_the_user(settings: Settings, tmp_path: Path) -> None:
    script: list[Scripted] = [
        cell("print('refused')"), cell("print('once')"), cell("print('always')"), cell("print('after')"), *answer(),
    ]  # fmt: skip
    async with ScriptedServer(script) as model, opened(settings, tmp_path, "--approve", model=model.base_url) as user:
        session = await user.new()
        user.editor.decisions = ["reject", "once", "always"]
        assert await user.ask(session, "Print.") == "end_turn"
        shown = str(user.editor.of("tool_call_update"))
    assert [one["title"][:10] for one in user.editor.asked] == ["Run cell 1", "Run cell 2", "Run cell 3"]
    assert user.editor.asked[0]["options"] == ["allow_once", "allow_always", "reject_once"]
    steps = [one.cell for one in await stepwell.log(session, settings=settings) if one.cell]
    assert [one["status"] for one in steps] == ["rejected", "ok", "ok", "ok"]
    assert "after" in shown


@pytest.mark.slow
async def test_modes(settings: Settings, tmp_path: Path) -> None:
    script: list[Scripted] = [Call("submit_plan", steps=PLAN), cell("print(1)"), cell("print(2)", 2), *answer()]
    async with ScriptedServer(script) as model, opened(settings, tmp_path, model=model.base_url) as user:
        session = await user.new()
        await user.connection.set_session_mode(session_id=session, mode_id="plan")
        user.editor.decisions = ["once"]
        assert await user.ask(session, "Work.") == "end_turn"
        assert [one["title"] for one in user.editor.asked] == ["Go on with this plan?"]
        with pytest.raises(RequestError, match="no mode"):
            await user.connection.set_session_mode(session_id=session, mode_id="wild")
        await user.connection.set_session_mode(session_id=session, mode_id="ask")
        user.editor.decisions = ["cancelled"]
        assert await user.ask(session, "/run n = 1") == "cancelled"
        user.editor.decisions = ["once"]
        assert await user.ask(session, "/resume") == "end_turn"
        loaded = await user.connection.load_session(cwd=str(tmp_path), session_id=session, mcp_servers=[])
    assert loaded.modes is not None
    assert loaded.modes.current_mode_id == "ask"


@pytest.mark.slow
async def test_what_is_cancelled_goes_on_or_is_left(settings: Settings, tmp_path: Path) -> None:
    script: list[Scripted] = [cell("n = 1"), cell(SLOW), cell("print(n)"), *answer("n is 1.")]
    async with ScriptedServer(script) as model, opened(settings, tmp_path, model=model.base_url) as user:
        session = await user.new()
        asking = asyncio.ensure_future(user.ask(session, "Count."))
        await wait_for_flag(settings)
        with pytest.raises(RequestError, match="being worked on"):
            await user.ask(session, "And now?")
        await user.connection.cancel(session_id=session)
        assert await asyncio.wait_for(asking, 60) == "cancelled"
        assert await user.ask(session, "What is n?") == "end_turn"
        assert "n is 1." in user.editor.said()
        await user.ask(session, "/steps")
        assert "Work on 1" in user.editor.said()
        await user.ask(session, "/back 1")
        assert await user.ask(session, "/run print(n, 'is back')") == "end_turn"
        assert "1 is back" in str(user.editor.of("tool_call_update")[-1])
        for wrong, said in {"/back": "Say which step", "/back 99": "has no step", "/run": "what is to run"}.items():
            with pytest.raises(RequestError, match=said):
                await user.ask(session, wrong)


@pytest.mark.slow
async def test_an_editor_that_was_broken_off_resumes(settings: Settings, tmp_path: Path) -> None:
    begun: list[Scripted] = [cell("n = 1"), cell(SLOW)]
    async with ScriptedServer(begun) as model, opened(settings, tmp_path, model=model.base_url) as user:
        session = await user.new()
        asking = asyncio.ensure_future(user.ask(session, "Count."))
        flag = await wait_for_flag(settings)
        os.kill(user.pid, signal.SIGKILL)
        with pytest.raises(Exception, match=r"(?i)connection|closed"):
            await asyncio.wait_for(asking, 60)
    flag.unlink(missing_ok=True)
    script: list[Scripted] = [cell("print('n is', n)"), *answer("All is there.")]
    async with ScriptedServer(script) as model, opened(settings, tmp_path, model=model.base_url) as user:
        await user.connection.resume_session(cwd=str(tmp_path), session_id=session)
        assert user.editor.of("user_message_chunk") == []
        await user.connection.load_session(cwd=str(tmp_path), session_id=session, mcp_servers=[])
        assert user.editor.said("user_message_chunk") == "Count."
        assert [one["title"] for one in user.editor.of("tool_call")] == ["Work on 1", "Work on 1"]
        assert await user.ask(session, "What is n?") == "end_turn"
        assert "n is 1" in str(user.editor.of("tool_call_update"))
        assert "All is there." in user.editor.said()


@pytest.mark.slow
async def test_the_last_session_of_a_killed_agent_comes_back_ahead(settings: Settings, tmp_path: Path) -> None:
    async with opened(settings, tmp_path) as user:
        session = await user.new()
        await user.ask(session, "/run n = 1")
        os.kill(user.pid, signal.SIGKILL)
    last = await asyncio.to_thread(begin_early, settings, OF_EDITORS)
    async with bringing_back(last, settings) as ahead, open_agent(settings, ahead=ahead) as agent:
        assert ahead is not None
        assert ahead.thread == session
        await ahead.settled()
        assert ahead.sandboxes.counts["active"] == 1, "nobody has asked for it"
        editor = Editor()
        agent.on_connect(cast("Any", editor))
        await agent.prompt(session, [text_block("/run n")])
        assert "1" in str(editor.of("tool_call_update")[-1])
        assert ahead.thread == ""
    assert list((settings.home / OF_EDITORS).iterdir()) == []


@pytest.mark.slow
async def test_sessions_are_forked_closed_and_listed(settings: Settings, tmp_path: Path) -> None:
    async with opened(settings, tmp_path) as user:
        session = await user.new()
        empty = (await user.connection.fork_session(session_id=session, cwd=str(tmp_path))).session_id
        await user.ask(session, "/run n = [1]")
        fork = (await user.connection.fork_session(session_id=session, cwd=str(tmp_path))).session_id
        await user.ask(fork, "/run n.append(2); n")
        assert "[1, 2]" in str(user.editor.of("tool_call_update")[-1])
        await user.connection.close_session(session_id=session)
        await user.connection.load_session(cwd=str(tmp_path), session_id=session, mcp_servers=[])
        await user.ask(session, "/run n")
        assert "[1]" in str(user.editor.of("tool_call_update")[-1])
        sessions = (await user.connection.list_sessions()).sessions
        assert {one.session_id for one in sessions} == {session, fork}
        assert await user.ask(empty, "/run 'n' in globals()") == "end_turn"
        assert "False" in str(user.editor.of("tool_call_update")[-1])
        await stepwell.delete(fork, settings=settings)
        assert fork not in {one.session_id for one in (await user.connection.list_sessions()).sessions}


@pytest.mark.slow
async def test_what_an_editor_gets_wrong_is_said(settings: Settings, tmp_path: Path) -> None:
    async with opened(settings, tmp_path) as user:
        session = await user.new()
        for wrong in ("nothing", "../../etc", "00000000-0000-0000-0000-000000000000"):
            with pytest.raises(RequestError, match="no session"):
                await user.connection.load_session(cwd=str(tmp_path), session_id=wrong, mcp_servers=[])
        with pytest.raises(RequestError, match="no question"):
            await user.ask(session, " ")
        with pytest.raises(RequestError, match="another machine"):
            await user.ask(session, ResourceContentBlock(type="resource_link", name="a", uri="file://host/a.csv"))
        with pytest.raises(RequestError, match="not base64"):
            await user.ask(session, "a", ImageContentBlock(type="image", mime_type="image/png", data="é"))
        with pytest.raises(RequestError):
            await user.connection.authenticate(method_id="none")
        with pytest.raises(RequestError):
            await user.connection.ext_method("stepwell.dev/nothing", {})
        await user.connection.ext_notification("stepwell.dev/nothing", {})
        with pytest.raises(RequestError, match="no option"):
            await user.connection.set_config_option(config_id="a", session_id=session, value="b")
        missing = ResourceContentBlock(type="resource_link", name="gone.csv", uri=(tmp_path / "gone.csv").as_uri())
        assert await user.ask(session, "What is in ", missing) == "end_turn"
        assert "does not exist" in user.editor.said()
        assert await user.ask(session, "/run 1 + 1") == "end_turn"
        own = (await stepwell.run("Count.", settings=settings)).thread
        await user.connection.load_session(cwd=str(tmp_path), session_id=own, mcp_servers=[])
        assert "Count." in user.editor.said("user_message_chunk")


@pytest.mark.parametrize("stream", ["stdin", "stdout"])
def test_streams_that_are_files_are_refused(settings: Settings, tmp_path: Path, stream: str) -> None:
    with (tmp_path / "file").open("w+") as file:
        streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, stream: file}
        told = subprocess.run(
            PREPARED.command("acp"), env=environment(settings, ""), **streams, stderr=subprocess.PIPE, text=True
        )
    assert told.returncode == 2
    assert told.stderr.startswith("error: `stepwell acp` speaks with an editor over stdin and stdout, and ")
    assert f"and {stream} is a file or closed here" in told.stderr
