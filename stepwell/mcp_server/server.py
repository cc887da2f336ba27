"""The server of the Model Context Protocol: its tools and resources over the sessions of whoever asks.

What code does is data in a result. What a client can fix is a `ToolError` with one sentence.
"""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from importlib.metadata import version
from typing import Annotated, Any, ParamSpec, TypeVar
from urllib.parse import unquote

from mcp.server.mcpserver import Context as Call
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.server.mcpserver.resources import ResourceSecurity
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import BaseModel, Field

from graph.checkpoints.damage import DamagedThreadError
from graph.events import CellStarted, Event, ModelAsked, Output, Planned
from graph.settings import SettingsError
from sandboxes.base import SandboxError
from stepwell.cell_sessions import CellRun
from stepwell.errors import ThreadError, UsageError
from stepwell.mcp_server import content
from stepwell.mcp_server.client_sessions import ClientSessions, SentFile
from stepwell.page.backend import NothingFoundError
from stepwell.page.variables import VariableWindow
from stepwell.runs import Decision, RunFailedError
from storage.artifacts import StorageError
from storage.blobs import BlobError

P = ParamSpec("P")
R = TypeVar("R")
SessionsOf = Callable[[Call[Any, Any]], Awaitable[ClientSessions]]
"""The sessions of who makes a call."""

INSTRUCTIONS = """Stepwell runs Python in a sandbox with no network and no files but its own, and keeps every cell as a
step: variables and files survive crashes and pauses, and you can go back to any step or fork from it.

- Give `session` a name of your choice, or the id that a result told you, and use the same one for all cells that belong
  together. Without one, a new session begins.
- Write small cells. The value of the last expression is shown, figures come back as pictures. `%%sql NAME` runs SQL
  over the session's frames, `%%bash` a shell.
- Files of the user come in with `files` and lie in `inputs/`; write results to `outputs/`.
- Before something risky, remember the step: `go_back` returns to it."""
ERRORS = (
    ThreadError,
    UsageError,
    RunFailedError,
    NothingFoundError,
    SettingsError,
    SandboxError,
    StorageError,
    BlobError,
    DamagedThreadError,
)
BEAT_SECONDS = 5.0
"""How often a client hears that a cell still runs, so that it goes on waiting."""
PROGRESS_SECONDS = 0.3
MOST_TOLD = 200
"""Characters of one progress message."""

Session = Annotated[str, Field(description="A session's name or id.")]
NewSession = Annotated[
    str, Field(description="A session's name or id; one that does not exist is begun. Empty: a new one without a name.")
]
AtStep = Annotated[str, Field(description="A step, such as `3` or `4b`; empty: where the session is now.")]
Files = Annotated[
    list[str], Field(description="Inputs to take in first: URLs, and paths below the folders that the user opened.")
]
Sent = Annotated[
    list[dict[str, str]],
    Field(description="Inputs whose content you send: each with `name`, and `text` or `base64`."),
]
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
REMOVES = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)


class Approval(BaseModel):
    """What the user decides about a cell."""

    approve: bool = Field(title="Run this cell?")
    remark: str = Field(default="", title="If not: what should be different")


def sentences(work: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
    """Turn errors into one sentence for the client."""

    @functools.wraps(work)
    async def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return await work(*args, **kwargs)
        except ERRORS as error:
            raise ToolError(str(error)) from None

    return call


class ProgressReports:
    """Tells a client what happens, in order and not too often; use with `async with`.

    Args:
        call: The client's call.
    """

    def __init__(self, call: Call[Any, Any]) -> None:
        self._call = call
        self._told: asyncio.Queue[str] = asyncio.Queue(maxsize=100)
        self._task: asyncio.Task[None] | None = None
        self._last = "running"

    def __call__(self, event: Event) -> None:
        """Take in an event; drop it when too many wait."""
        match event:
            case CellStarted():
                text = f"step {event.number}: {event.purpose}"
            case Output():
                text = event.text.strip().rpartition("\n")[2]
            case Planned():
                text = "; ".join(step["text"] for step in event.steps)
            case ModelAsked():
                text = "asking the model"
            case _:
                return
        if text and not self._told.full():
            self._told.put_nowait(text[:MOST_TOLD])

    async def __aenter__(self) -> "ProgressReports":
        self._task = asyncio.ensure_future(self._tell())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None, "it was entered"
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _tell(self) -> None:
        for number in range(1, 1_000_000_000):
            try:
                async with asyncio.timeout(BEAT_SECONDS):
                    self._last = await self._told.get()
            except TimeoutError:
                pass
            await self._call.report_progress(number, message=self._last)
            await asyncio.sleep(PROGRESS_SECONDS)


def make_server(sessions_of: SessionsOf) -> MCPServer[Any]:
    """The server.

    Args:
        sessions_of: The sessions of who makes a call.
    """
    server: MCPServer[Any] = MCPServer(
        "stepwell", instructions=INSTRUCTIONS, version=version("stepwell"), log_level="WARNING"
    )
    for add in (_add_cells, _add_variables, _add_files, _add_steps, _add_sessions):
        add(server, sessions_of)
    return server


def _add_cells(server: MCPServer[Any], sessions_of: SessionsOf) -> None:
    @server.tool(annotations=CHANGES, structured_output=False)
    @sentences
    async def run_code(
        call: Call[Any, Any],
        code: Annotated[str, Field(description="Python; or a cell that begins with %%sql NAME, %%bash, %%r or %%js.")],
        session: NewSession = "",
        purpose: Annotated[str, Field(description="What the cell is for, in a few words.")] = "",
        files: Files = [],  # noqa: B006 - never changed; the schema shows it
        sent_files: Sent = [],  # noqa: B006
    ) -> CallToolResult:
        """Run a cell in a session, and keep its step. Variables and files of earlier cells are there."""
        sessions = await sessions_of(call)
        sent = [SentFile.from_json(one) for one in sent_files]
        async with ProgressReports(call) as telling:
            found = await sessions.run(code, session=session, purpose=purpose, files=files, sent=sent, on_event=telling)
        if found.asked is not None:
            found = await _decided(call, sessions, found)
        return await content.ran(found, sessions.backend)

    @server.tool(annotations=CHANGES, structured_output=False)
    @sentences
    async def ask(
        call: Call[Any, Any],
        question: Annotated[str, Field(description="What is to be found out about the files or the variables.")],
        session: NewSession = "",
        files: Files = [],  # noqa: B006
        sent_files: Sent = [],  # noqa: B006
    ) -> CallToolResult:
        """Give a question to Stepwell's own analyst: it plans, writes and checks cells, and answers with files.

        It asks the model that the user configured for Stepwell, and may take minutes.
        """
        sessions = await sessions_of(call)
        sent = [SentFile.from_json(one) for one in sent_files]
        async with ProgressReports(call) as telling:
            return content.answered(
                await sessions.ask(question, session=session, files=files, sent=sent, on_event=telling)
            )


async def _decided(call: Call[Any, Any], sessions: ClientSessions, found: CellRun) -> CellRun:
    """The same cell after its user has decided, where the client can ask them; else it waits."""
    asked, able = found.asked, call.client_capabilities
    if asked is None or asked.call is not None or able is None or able.elicitation is None:
        return found
    answer = await call.elicit(f"Run this cell?\n\n{asked.purpose}\n\n{asked.code}", schema=Approval)
    if answer.action != "accept":
        return found
    decision = Decision("approve") if answer.data.approve else Decision("reject", remark=answer.data.remark)
    return await sessions.decide(found.session, decision)


def _add_variables(server: MCPServer[Any], sessions_of: SessionsOf) -> None:
    @server.tool(annotations=READS, structured_output=False)
    @sentences
    async def list_variables(call: Call[Any, Any], session: Session, step: AtStep = "") -> CallToolResult:
        """List the variables of a session, each with its type and what it is like."""
        sessions = await sessions_of(call)
        detail = await sessions.step(session, step)
        return content.listed({"step": detail.step.name, "variables": list(detail.namespace)})

    @server.tool(annotations=READS, structured_output=False)
    @sentences
    async def show_variable(
        call: Call[Any, Any],
        session: Session,
        name: Annotated[str, Field(description="The variable.")],
        step: AtStep = "",
        first_row: Annotated[int, Field(ge=0)] = 0,
        rows: Annotated[int, Field(ge=1, le=1_000)] = 50,
        first_column: Annotated[int, Field(ge=0)] = 0,
        columns: Annotated[int, Field(ge=1, le=200)] = 30,
    ) -> CallToolResult:
        """Look at a variable as it is at a step: of a table some rows and columns, else its text. Makes no step."""
        sessions = await sessions_of(call)
        thread, at = await sessions.find(session), (await sessions.step(session, step)).step.name
        window = VariableWindow(first_row, first_column, rows, columns)
        return content.table(await sessions.backend.variable(thread, at, name, window))


def _add_files(server: MCPServer[Any], sessions_of: SessionsOf) -> None:
    @server.tool(annotations=READS, structured_output=False)
    @sentences
    async def list_files(call: Call[Any, Any], session: Session, step: AtStep = "") -> CallToolResult:
        """List the files of a session's workspace, with their sizes in bytes, and its inputs."""
        sessions = await sessions_of(call)
        detail = await sessions.step(session, step)
        inputs = [{"path": one["path"], "size": one["size"], "about": one["abstract"]} for one in detail.inputs]
        files = [{"path": path, "size": size} for path, size in detail.files.items()]
        return content.listed({"step": detail.step.name, "files": files, "inputs": inputs})

    @server.tool(annotations=READS, structured_output=False)
    @sentences
    async def fetch_file(
        call: Call[Any, Any],
        session: Session,
        path: Annotated[str, Field(description="Its path in the workspace, such as `outputs/report.csv`.")],
        step: AtStep = "",
    ) -> CallToolResult:
        """Fetch a file that cells made: text, a picture, or bytes. A large one is named as a resource."""
        sessions = await sessions_of(call)
        thread, at = await sessions.find(session), (await sessions.step(session, step)).step.name
        data, size = await _file(sessions, thread, at, path, content.BLOB_BYTES)
        return content.file_content(thread, at, path, data, size)

    @server.resource(
        "stepwell://{session}/{step}/{+path}",
        name="file",
        description="A file of a session's workspace as it was at a step.",
        mime_type="application/octet-stream",
        security=ResourceSecurity(),
    )
    async def file(session: str, step: str, path: str, call: Call[Any, Any]) -> bytes:
        try:
            sessions = await sessions_of(call)
            thread = await sessions.find(session)
            data, size = await _file(sessions, thread, step, unquote(path), sessions.settings.max_input_bytes)
        except ERRORS as error:
            raise ResourceError(str(error)) from None
        if data is None:
            raise ResourceError(f"{path} has {size} bytes, which is too much for one message.")
        return data


async def _file(sessions: ClientSessions, thread: str, step: str, path: str, most: int) -> tuple[bytes | None, int]:
    """A file's content, and its size; no content when that is too much."""
    async with sessions.backend.step_file(thread, step, path) as file:
        if file.size > most:
            return None, file.size
        return b"".join([piece async for piece in file.pieces(0, file.size)]), file.size


def _add_steps(server: MCPServer[Any], sessions_of: SessionsOf) -> None:
    @server.tool(annotations=READS, structured_output=False)
    @sentences
    async def list_steps(call: Call[Any, Any], session: Session) -> CallToolResult:
        """List a session's steps with their code; `parent` makes the tree, `current` says where the session is."""
        sessions = await sessions_of(call)
        tree = await sessions.backend.steps(await sessions.find(session))
        steps = [
            {
                "step": one.name,
                "parent": one.parent,
                "current": one.head,
                "purpose": one.cell["purpose"],
                "status": one.cell["status"],
                "code": one.cell["code"],
            }
            for one in tree.steps
            if one.cell is not None
        ]
        return content.listed({"steps": steps})

    @server.tool(annotations=REMOVES, structured_output=False)
    @sentences
    async def go_back(
        call: Call[Any, Any],
        session: Session,
        step: Annotated[str, Field(description="The step to be at again; `0`: the beginning.")],
    ) -> CallToolResult:
        """Go back to a step: the next cell finds variables and files as they were after it. Later steps are kept."""
        sessions = await sessions_of(call)
        thread = await sessions.go_back(session, step)
        return content.text_result(f"session {thread} is at step {step} again", {"session": thread, "step": step})

    @server.tool(annotations=READS, structured_output=False)
    @sentences
    async def compare_steps(
        call: Call[Any, Any],
        session: Session,
        step: AtStep,
        other_step: AtStep,
        other_session: Annotated[str, Field(description="Empty: the same session.")] = "",
    ) -> CallToolResult:
        """Say what differs between two steps: code, variables, files."""
        sessions = await sessions_of(call)
        one = await sessions.find(session)
        other = await sessions.find(other_session) if other_session else one
        return content.listed(asdict(await sessions.backend.compare((one, step), (other, other_step))))


def _add_sessions(server: MCPServer[Any], sessions_of: SessionsOf) -> None:
    @server.tool(annotations=READS, structured_output=False)
    @sentences
    async def list_sessions(call: Call[Any, Any]) -> CallToolResult:
        """List the newest sessions."""
        sessions = await sessions_of(call)
        found = [
            {"session": one.id, "name": one.name, "steps": one.cells, "newest": one.question[:200], "when": one.updated}
            for one in await sessions.newest()
        ]
        return content.listed({"sessions": [{**one, "when": str(one["when"])} for one in found]})

    @server.tool(annotations=CHANGES, structured_output=False)
    @sentences
    async def fork_session(
        call: Call[Any, Any],
        session: Session,
        step: AtStep = "",
        name: Annotated[str, Field(description="What the new session is called.")] = "",
    ) -> CallToolResult:
        """Begin a new session at a step of another one; neither sees what happens in the other."""
        sessions = await sessions_of(call)
        new = await sessions.fork(session, step, name)
        return content.text_result(f"session {new} begins there", {"session": new, "name": name})

    @server.tool(annotations=REMOVES, structured_output=False)
    @sentences
    async def end_session(
        call: Call[Any, Any],
        session: Session,
        delete: Annotated[
            bool, Field(description="Whether its steps, variables and files are deleted for good.")
        ] = False,
    ) -> CallToolResult:
        """End a session's process. Its steps stay, and the next cell brings it back, unless it is deleted."""
        sessions = await sessions_of(call)
        thread = await sessions.end(session, forget=delete)
        return content.text_result(f"session {thread} is {'deleted' if delete else 'ended'}", {"session": thread})
