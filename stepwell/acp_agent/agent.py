"""The agent that editors talk to: sessions are threads, prompts are questions, cells are tool calls.

What a user can mend is a request error with one sentence. A run that stops is told in the conversation, where the user
goes on with it.
"""

import asyncio
import functools
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from importlib.metadata import version
from typing import Any, ParamSpec, TypeVar

from acp import PROTOCOL_VERSION, RequestError
from acp.helpers import (
    SessionUpdate,
    text_block,
    tool_content,
    update_agent_message_text,
    update_available_commands,
    update_tool_call,
)
from acp.interfaces import Client
from acp.schema import (
    AgentCapabilities,
    AllowedOutcome,
    AvailableCommand,
    AvailableCommandInput,
    ClientCapabilities,
    CloseSessionResponse,
    ForkSessionResponse,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PermissionOption,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionForkCapabilities,
    SessionInfo,
    SessionInfoUpdate,
    SessionListCapabilities,
    SessionMode,
    SessionModeState,
    SessionResumeCapabilities,
    SetSessionModeResponse,
    ToolCallUpdate,
    UnstructuredCommandInput,
    Usage,
)

from graph.checkpoints.damage import DamagedThreadError
from graph.context import Context, stored_context
from graph.events import ApprovalAsked, Event, Finished, Started
from graph.settings import Settings, SettingsError
from sandboxes.base import SandboxError
from sandboxes.opening import ID
from stepwell.acp_agent.kept_sessions import MODES, KeptSession, KeptSessions
from stepwell.acp_agent.prompt_content import Asked, Block, asked_in, placed
from stepwell.acp_agent.updates import RunUpdates, conversation
from stepwell.errors import ThreadError, UsageError
from stepwell.exports.archive import published_opener
from stepwell.exports.pictures import Pictures, picture_type
from stepwell.forks import fork_here, fork_thread
from stepwell.last_session import OF_EDITORS, LastSessionNote, LastSessions, SessionAhead
from stepwell.page.local import LocalBackend
from stepwell.runs import CONTEXT_KEY, Decision, Run
from stepwell.services import Services, open_services
from stepwell.thread_summaries import ANY
from stepwell.threads import list_threads
from storage.artifacts import StorageError
from storage.blobs import BlobError

P = ParamSpec("P")
R = TypeVar("R")
ERRORS = (ThreadError, UsageError, SettingsError, SandboxError, StorageError, BlobError, DamagedThreadError)
INVALID = -32602
ONCE, ALWAYS, NEVER = "once", "always", "reject"
CALL = "waiting"
COMMANDS = (
    ("resume", "Go on with a question that was cancelled or has stopped", ""),
    ("steps", "List the steps of this session", ""),
    ("back", "Be at an earlier step again, with its variables and files", "STEP"),
    ("run", "Run a cell of your own, without a model", "CODE"),
)
"""What a prompt may begin with, what it does, and what follows it."""


def sentences(work: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
    """Turn what a user can mend into a request error."""

    @functools.wraps(work)
    async def told(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return await work(*args, **kwargs)
        except ERRORS as error:
            raise RequestError(INVALID, str(error)) from None

    return told


class StepwellAgent:
    """The agent of one editor; made by `open_agent`.

    Args:
        services: What runs work with.
        backend: Reads threads.
        context: The knobs of new sessions.
        last: Which session was used last; None: that is not written down.
    """

    def __init__(
        self,
        services: Services,
        backend: LocalBackend,
        context: Context | None = None,
        last: LastSessions | None = None,
    ) -> None:
        self._services = services
        self._settings = services.settings
        self._backend = backend
        self._context = context or Context()
        self._kept = KeptSessions(self._settings.home / "editor-sessions")
        self._graph = services.graph
        self._last = last or LastSessions()
        self._client: Client | None = None
        self._open: dict[str, KeptSession] = {}
        self._running: dict[str, asyncio.Task[PromptResponse]] = {}

    def on_connect(self, conn: Client) -> None:
        """Take the connection to the editor."""
        self._client = conn

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
        **kwargs: Any,
    ) -> InitializeResponse:
        """Say what this agent can do."""
        return InitializeResponse(
            protocol_version=min(protocol_version, PROTOCOL_VERSION),
            agent_info=Implementation(name="stepwell", title="Stepwell", version=version("stepwell")),
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, audio=False, embedded_context=True),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(),
                    fork=SessionForkCapabilities(),
                    resume=SessionResumeCapabilities(),
                    close=SessionCloseCapabilities(),
                ),
            ),
            auth_methods=[],
        )

    async def authenticate(self, method_id: str, **kwargs: Any) -> None:
        """Nobody has to log in."""
        raise RequestError(INVALID, "Nobody has to log in.")

    @sentences
    async def new_session(self, cwd: str, **kwargs: Any) -> NewSessionResponse:
        """Begin a session; its thread begins with the first prompt."""
        session = KeptSession(str(uuid.uuid4()), cwd, "ask" if self._context.approval == "cells" else "auto")
        await self._kept.keep(session)
        self._opened(session)
        return NewSessionResponse(session_id=session.thread, modes=_modes(session))

    @sentences
    async def load_session(self, cwd: str, session_id: str, **kwargs: Any) -> LoadSessionResponse:
        """Open a session again, and show its conversation."""
        session = await self._found(session_id, cwd)
        state = await self._graph.aget_state({"configurable": {"thread_id": session.thread}})
        for update in conversation(state.values.get("messages") or []):
            await self._show(session.thread, update)
        self._opened(session)
        return LoadSessionResponse(modes=_modes(session))

    @sentences
    async def resume_session(self, session_id: str, cwd: str, **kwargs: Any) -> ResumeSessionResponse:
        """Open a session again whose conversation the editor has."""
        session = await self._found(session_id, cwd)
        self._opened(session)
        return ResumeSessionResponse(modes=_modes(session))

    @sentences
    async def fork_session(self, session_id: str, cwd: str, **kwargs: Any) -> ForkSessionResponse:
        """Begin another session where this one is."""
        before = await self._found(session_id, cwd)
        if await self._has_thread(before.thread):
            new = await fork_thread(before.thread, new_turn=True, settings=self._settings)
        else:
            new = str(uuid.uuid4())
        session = KeptSession(new, cwd, before.mode)
        await self._kept.keep(session)
        self._opened(session)
        return ForkSessionResponse(session_id=new, modes=_modes(session))

    @sentences
    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **kwargs: Any
    ) -> ListSessionsResponse:
        """The sessions of a folder, or of all, the newest first."""
        threads = {one.id: one for one in await list_threads(limit=10_000, wanted=ANY, settings=self._settings)}
        kept = [one for one in await self._kept.all(set(threads)) if cwd in (None, one.cwd)]
        sessions = [
            SessionInfo(
                session_id=one.thread,
                cwd=one.cwd,
                title=threads[one.thread].name or threads[one.thread].question[:200],
                updated_at=threads[one.thread].updated.isoformat(),
            )
            for one in sorted(kept, key=lambda one: threads[one.thread].updated, reverse=True)
        ]
        return ListSessionsResponse(sessions=sessions)

    @sentences
    async def close_session(self, session_id: str, **kwargs: Any) -> CloseSessionResponse:
        """Pause what runs in a session, and end its process."""
        await self.cancel(session_id)
        self._open.pop(session_id, None)
        await self._last.leave(session_id)
        await self._services.sandboxes.close(session_id)
        return CloseSessionResponse()

    @sentences
    async def set_session_mode(self, session_id: str, mode_id: str, **kwargs: Any) -> SetSessionModeResponse:
        """Choose how cells are agreed to, from the next prompt on."""
        if mode_id not in MODES:
            raise UsageError(f"There is no mode {mode_id!r}; there is: {', '.join(MODES)}.")
        before = await self._found(session_id, "")
        session = KeptSession(before.thread, before.cwd, mode_id)
        await self._kept.keep(session)
        self._open[session_id] = session
        return SetSessionModeResponse()

    async def set_config_option(self, config_id: str, session_id: str, value: str | bool, **kwargs: Any) -> None:
        """There are no options besides the mode."""
        raise RequestError(INVALID, f"There is no option {config_id!r}.")

    @sentences
    async def prompt(self, session_id: str, prompt: list[Block], **kwargs: Any) -> PromptResponse:
        """Answer a question, or do what a command says."""
        session = await self._found(session_id, "")
        asked = asked_in(prompt)
        if session_id in self._running:
            raise UsageError("This session is being worked on; cancel that first.")
        task = self._running[session_id] = asyncio.ensure_future(self._work(session, asked))
        try:
            return await task
        except asyncio.CancelledError:
            if not task.done():  # the editor went away
                task.cancel()
                raise
            return PromptResponse(stop_reason="cancelled")
        finally:
            del self._running[session_id]

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        """Pause what runs in a session."""
        if (task := self._running.get(session_id)) is not None:
            task.cancel()
            await asyncio.wait([task])

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """There are no methods besides those of the protocol."""
        raise RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Notifications besides those of the protocol are passed over."""

    async def _work(self, session: KeptSession, asked: Asked) -> PromptResponse:
        command, _, rest = asked.text[1:].partition(" ") if asked.text.startswith("/") else ("", "", "")
        match command:
            case "steps":
                await self._tell(session, await self._steps(session))
            case "back":
                await self._tell(session, await self._back(session, rest.strip()))
            case "resume":
                return await self._follow(session, await self._run(session, resumes=True))
            case "run":
                if not rest.strip():
                    raise UsageError("Say what is to run: /run 1 + 1.")
                async with placed(asked, self._settings.home / "sent-files") as files:
                    return await self._follow(session, await self._run(session, code=rest, files=tuple(files)))
            case _:
                async with placed(asked, self._settings.home / "sent-files") as files:
                    return await self._follow(session, await self._run(session, asked.text, files=tuple(files)))
        return PromptResponse(stop_reason="end_turn")

    async def _run(
        self,
        session: KeptSession,
        question: str = "",
        *,
        code: str = "",
        files: tuple[str, ...] = (),
        resumes: bool = False,
    ) -> Run:
        """The run of a prompt. A question that was broken off before it is left where it is."""
        await self._last.make_way(session.thread)
        known = await self._has_thread(session.thread)
        if not resumes and known:
            before = await self._graph.aget_state({"configurable": {"thread_id": session.thread}})
            if before.tasks and before.values.get("sandbox"):
                await fork_here(session.thread, new_turn=True, settings=self._settings)
        return Run(
            session.thread,
            question,
            files,
            code=code,
            context=await self._knobs(session),
            settings=self._settings,
            services=self._services,
            follows=known,
            resumes=resumes,
        )

    async def _knobs(self, session: KeptSession) -> Context:
        kept = await self._services.saver.newest_metadata(session.thread, CONTEXT_KEY)
        before = stored_context(kept) if kept else self._context
        approval = "cells" if session.mode == "ask" else "none"
        return before.model_copy(update={"approval": approval, "approve_plan": session.mode == "plan"})

    async def _follow(self, session: KeptSession, run: Run) -> PromptResponse:
        """Follow a run, with what is asked on the way, to its end."""
        updates = RunUpdates(functools.partial(self._picture, session.thread))
        while True:
            asked: ApprovalAsked | None = None
            async with aclosing(aiter(run)) as events:  # type: ignore[type-var]  # an async generator, typed as an iterator
                async for event in events:
                    async for update in updates.of(event):
                        await self._show(session.thread, update)
                    asked = event if isinstance(event, ApprovalAsked) else None
                    await self._entitle(session, event)
            if asked is None:
                await self._note(session.thread)
                return PromptResponse(stop_reason="end_turn", usage=_usage(event))
            decision, session = await self._decision(session, asked)
            if decision is None:
                return PromptResponse(stop_reason="cancelled")
            knobs = await self._knobs(session)
            run = Run(
                session.thread,
                decision=decision,
                context=knobs,
                settings=self._settings,
                services=self._services,
                resumes=True,
            )

    async def _entitle(self, session: KeptSession, event: Event) -> None:
        if isinstance(event, Started) and not event.resumed:
            title = SessionInfoUpdate(session_update="session_info_update", title=event.question[:200])
            await self._show(session.thread, title)

    async def _decision(self, session: KeptSession, asked: ApprovalAsked) -> tuple[Decision | None, KeptSession]:
        """What the user decides; None: nothing yet."""
        title, content = _request(asked)
        call = f"{CALL}-{uuid.uuid4().hex[:12]}"
        options = [PermissionOption(option_id=ONCE, name="Go on", kind="allow_once")]
        if asked.plan is None and asked.call is None:
            options.append(PermissionOption(option_id=ALWAYS, name="Run all further cells", kind="allow_always"))
        options.append(PermissionOption(option_id=NEVER, name="Reject", kind="reject_once"))
        assert self._client is not None, "it is connected"
        answer = await self._client.request_permission(
            session_id=session.thread,
            tool_call=ToolCallUpdate(
                tool_call_id=call,
                title=title,
                kind="execute",
                status="pending",
                content=[tool_content(text_block(content))],
                raw_input={"code": asked.code},
            ),
            options=options,
        )
        if not isinstance(answer.outcome, AllowedOutcome):
            return None, session
        allowed = answer.outcome.option_id != NEVER
        await self._show(session.thread, update_tool_call(call, status="completed" if allowed else "failed"))
        if answer.outcome.option_id == ALWAYS:
            session = KeptSession(session.thread, session.cwd, "auto")
            await self._kept.keep(session)
            self._open[session.thread] = session
        verdict = "approve" if allowed else "reject"
        called = asked.call["id"] if asked.call is not None and allowed else ""
        return Decision(verdict, plan=asked.plan is not None, call=called), session  # type: ignore[arg-type]  # one of the two

    async def _steps(self, session: KeptSession) -> str:
        tree = await self._backend.steps(session.thread)
        lines = [
            f"- **{one.name}** {one.cell['purpose']} ({one.cell['status']}){' ← here' if one.head else ''}"
            for one in tree.steps
            if one.cell is not None
        ]
        return "\n".join(lines) or "There are no steps yet."

    async def _back(self, session: KeptSession, step: str) -> str:
        if not step:
            raise UsageError("Say which step: /back 3. /steps lists them.")
        await self._last.leave(session.thread)
        await fork_here(session.thread, step=step, new_turn=True, settings=self._settings)
        return f"Variables and files are as they were after step {step}."

    async def _note(self, thread: str) -> None:
        state = await self._graph.aget_state({"configurable": {"thread_id": thread}})
        await self._last.keep(thread, state.values.get("sandbox"))

    async def _picture(self, thread: str, cell: Any, path: str) -> tuple[bytes, str]:
        opener = published_opener(self._settings, thread)
        data = await Pictures(self._services.blobs, opener, ()).of_cell(cell, path)
        kind = picture_type(data)
        return (data, kind) if kind else (b"", "")

    async def _has_thread(self, thread: str) -> bool:
        return bool(await self._services.saver.mark(thread))

    async def _found(self, session_id: str, cwd: str) -> KeptSession:
        """A session of an editor, or any thread.

        Raises:
            ThreadError: there is none.
        """
        if session_id in self._open:
            return self._open[session_id]
        kept = await self._kept.of(session_id)
        if kept is None and ID.fullmatch(session_id) and await self._has_thread(session_id):
            kept = KeptSession(session_id, cwd)
            await self._kept.keep(kept)
        if kept is None:
            raise ThreadError(f"There is no session {session_id}.")
        self._open[session_id] = kept
        return kept

    def _opened(self, session: KeptSession) -> None:
        """Note that a session is open, and tell the editor its commands once it knows the session."""
        self._open[session.thread] = session
        commands = [
            AvailableCommand(
                name=name,
                description=what,
                input=AvailableCommandInput(root=UnstructuredCommandInput(hint=hint)) if hint else None,
            )
            for name, what, hint in COMMANDS
        ]
        loop = asyncio.get_running_loop()
        telling = loop.create_task(self._show(session.thread, update_available_commands(commands)))
        telling.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _show(self, session_id: str, update: SessionUpdate) -> None:
        assert self._client is not None, "it is connected"
        await self._client.session_update(session_id=session_id, update=update)

    async def _tell(self, session: KeptSession, text: str) -> None:
        await self._show(session.thread, update_agent_message_text(text))


def _modes(session: KeptSession) -> SessionModeState:
    modes = [SessionMode(id=id, name=name, description=what) for id, (name, what) in MODES.items()]
    return SessionModeState(current_mode_id=session.mode, available_modes=modes)


def _usage(event: Event) -> Usage | None:
    if not isinstance(event, Finished):
        return None
    total = event.input_tokens + event.output_tokens
    return Usage(total_tokens=total, input_tokens=event.input_tokens, output_tokens=event.output_tokens)


def _request(asked: ApprovalAsked) -> tuple[str, str]:
    """What waits: a title, and what the user has to see to decide."""
    if asked.plan is not None:
        return "Go on with this plan?", "\n".join(f"{number}. {step}" for number, step in enumerate(asked.plan, 1))
    lines = [f"```python\n{asked.code}\n```"] if "```" not in asked.code else [f"`````python\n{asked.code}\n`````"]
    if asked.back_to is not None:
        lines.append(f"It starts with variables and files as they were after step {asked.back_to}.")
    if asked.functions:
        lines.append(f"It names functions of this computer: {', '.join(asked.functions)}.")
    if asked.answer:
        lines.append(f"If it ends well, this is the answer:\n\n{asked.answer}")
    if asked.call is not None:
        arguments = "\n".join(f"- {one}" for one in asked.call["arguments"])
        return f"Call {asked.call['function']}?", "\n\n".join([arguments, *lines])
    return f"Run cell {asked.number}: {asked.purpose}", "\n\n".join(lines)


@asynccontextmanager
async def open_agent(
    settings: Settings, context: Context | None = None, *, ahead: SessionAhead | None = None
) -> AsyncIterator[StepwellAgent]:
    """The agent over these settings, for the time of the block.

    Args:
        settings: Where threads are kept and what runs them.
        context: The knobs of new sessions.
        ahead: A session that is being brought back.
    """
    sandboxes = ahead.sandboxes if ahead is not None else None
    last = LastSessions(LastSessionNote(settings.home, OF_EDITORS), ahead)
    async with open_services(settings, sandboxes=sandboxes) as services, LocalBackend(settings) as backend:
        try:
            yield StepwellAgent(services, backend, context, last)
        finally:
            await last.close()
