"""Sessions for who writes cells themself: an agent, an editor or a notebook. Each cell is a step of a thread.

A session is a thread, and nothing of it lives in this process alone: sandboxes stay open between cells for speed, and
after a crash or months of pause the next cell finds variables and files as its last step left them.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from langchain_core.runnables import RunnableConfig

from graph.checkpoints.damage import reporting_damage
from graph.checkpoints.journal import FINISHED
from graph.context import Context
from graph.events import ApprovalAsked, CellFinished, Event, Failed, Notice, SessionRestored
from graph.functions.registry import HostFunction
from graph.settings import Settings, settings_or_default
from graph.state import Cell, State, Variable
from sandboxes.base import SandboxError
from stepwell.errors import ThreadError
from stepwell.labels import rename
from stepwell.last_session import LastSession, LastSessionNote, LastSessions, bringing_back
from stepwell.runs import Decision, Run, RunFailedError
from stepwell.services import Services, open_services
from stepwell.steps import read_steps
from stepwell.threads import Graph, find_thread_in
from storage.uploads import Uploads


@dataclass(frozen=True, slots=True)
class CellRun:
    """The outcome of one cell."""

    session: str
    """The thread's full id."""
    step: str
    """The name of the step that it made; of a cell that waits for approval, the step before it."""
    cell: Cell | None
    """None: it waits for approval."""
    asked: ApprovalAsked | None
    """What waits for a decision, if anything does."""
    variables: tuple[Variable, ...]
    """Those after it."""
    restored: SessionRestored | None
    """How variables and files were brought back before it ran; None: they were there."""
    notices: tuple[str, ...]
    """What whoever wrote it must know besides, one sentence each."""


class CellSessions:
    """Runs cells in sessions; made by `open_cell_sessions`. Cells of one session run one after the other.

    Args:
        services: What runs work with.
        context: The knobs of cells.
        last: Which session was used last; None: that is not written down.
    """

    def __init__(
        self,
        services: Services,
        context: Context | None = None,
        last: LastSessions | None = None,
    ) -> None:
        self.settings = services.settings
        self.services = services
        self._context = context
        self._graph: Graph = services.graph
        self._turns: dict[str, asyncio.Lock] = {}
        self._ends: dict[str, str] = {}
        """Where the threads of sessions were left by cells that ended here: after these nothing was broken off."""
        self.last = last or LastSessions()

    async def find(self, session: str) -> str:
        """The thread that a name, an id or the beginning of an id stands for.

        Raises:
            ThreadError: there is none, or more than one.
        """
        return await find_thread_in(self.services.saver, session)

    async def run(
        self,
        code: str,
        *,
        session: str = "",
        name: str = "",
        purpose: str = "",
        files: Sequence[str] = (),
        on_event: Callable[[Event], None] | None = None,
    ) -> CellRun:
        """Run a cell, and keep its step.

        A cell that was broken off by a crash is not repeated: variables and files are as before it, and that is said.

        Args:
            code: Python, with the value of a last expression shown; `%%sql`, `%%bash`, `%%r` and `%%js` are cells, too.
            session: A session's name or id; empty: a new one.
            name: What a new session is called.
            purpose: What the cell is for, in a few words.
            files: Inputs to take in first: paths and URLs.
            on_event: Called with what happens, while it happens.

        Raises:
            ThreadError: there is no such session, it is at another question, or the name cannot be used.
            RunFailedError: the cell could not be run, for a reason that is not in its code.
        """
        if not code.strip():
            raise ThreadError("The cell is empty.")
        thread = await self.find(session) if session else str(uuid.uuid4())
        await self.last.make_way(thread)
        async with self._turn(thread):
            told = await self._after_a_crash(thread) if session else []
            run = Run(
                thread,
                purpose,
                tuple(files),
                code=code,
                context=self._context,
                settings=self.settings,
                services=self.services,
                follows=bool(session),
            )
            return await self._followed(run, told, on_event, name)

    async def decide(self, session: str, decision: Decision) -> CellRun:
        """Go on with a cell that waits for approval.

        Raises:
            ThreadError: there is no such session, or nothing in it waits for a decision.
            RunFailedError: the cell could not be run, for a reason that is not in its code.
        """
        thread = await self.find(session)
        await self.last.make_way(thread)
        async with self._turn(thread):
            if not (await self._state(thread)).get("direct"):
                raise ThreadError(f"What waits in thread {thread} is of a question; decide on it with: stepwell resume")
            run = Run(thread, decision=decision, settings=self.settings, services=self.services, resumes=True)
            return await self._followed(run, [], None)

    async def peek(self, session: str, code: str, *, timeout: float = 5.0) -> str:
        """What code prints in the live session, without making a step; nothing where no session is live here.

        Args:
            session: The thread's full id.
            code: Changes nothing that anybody would miss.
            timeout: Seconds that it may take.
        """
        if self._turns.setdefault(session, asyncio.Lock()).locked():
            return ""  # a cell runs
        async with self._turn(session):
            ref = (await self._state(session)).get("sandbox")
            if ref is None:
                return ""
            sandbox = await self.services.sandboxes.open(ref["kind"], ref["id"])
            if sandbox.head != ref["snapshot"]:
                return ""
            try:
                return (await sandbox.run(code, number=0, timeout=timeout, head=sandbox.head)).stdout.text
            except SandboxError:
                return ""

    async def keep(self, thread: str) -> None:
        """Note that a session was used last, for the case that this process is killed."""
        await self.last.keep(thread, (await self._state(thread)).get("sandbox"))

    async def close(self, thread: str) -> None:
        """End a session's processes; the next cell brings it back."""
        await self.last.make_way(thread)
        await self.services.sandboxes.close(thread)

    async def _followed(
        self, run: Run, told: list[str], on_event: Callable[[Event], None] | None, name: str = ""
    ) -> CellRun:
        cell: Cell | None = None
        asked: ApprovalAsked | None = None
        restored: SessionRestored | None = None
        notices = list(told)
        async with aclosing(aiter(run)) as events:  # type: ignore[type-var]  # an async generator, typed as an iterator
            async for event in events:
                if on_event is not None:
                    on_event(event)
                match event:
                    case CellFinished():
                        cell = event.cell
                    case ApprovalAsked():
                        asked = event
                    case SessionRestored():
                        restored = event
                    case Notice():
                        notices.append(event.text)
                    case Failed():
                        raise RunFailedError(run.thread, event.error)
        if name:
            try:
                await rename(run.thread, name, settings=self.settings)
            except ThreadError as error:
                notices.append(f"The session has no name: {error}")
        state = await self._state(run.thread)
        self._ends[run.thread] = await self.services.saver.mark(run.thread)
        if cell is not None:
            cell = state["cells"][-1]  # by now it says what of it was kept
        await self.last.keep(run.thread, state.get("sandbox"))
        head = (await read_steps(self.services.saver, run.thread)).head
        return CellRun(
            run.thread,
            head.name if head is not None else "0",
            cell,
            asked,
            tuple(state.get("namespace") or []),
            restored,
            tuple(dict.fromkeys(notices)),
        )

    async def _after_a_crash(self, thread: str) -> list[str]:
        """Take over the result of a cell that was broken off at its very end, or say that it is skipped."""
        if self._ends.get(thread) == await self.services.saver.mark(thread) != "":
            return []
        config: RunnableConfig = {"configurable": {"thread_id": thread}}
        with reporting_damage(thread):
            before = await self._graph.aget_state(config)
        if before.interrupts or not before.values.get("direct") or before.next != ("execute",):
            return []
        pending = before.values["pending"][0]["purpose"]
        found = await self.services.saver.aget_tuple(before.config)
        if found is None or all(channel != FINISHED for _, channel, _ in found.pending_writes or []):
            return [
                f"The cell before this one ({pending!r}) was broken off and was not repeated: variables and files are "
                "as they were before it."
            ]
        rest = Run(thread, settings=self.settings, services=self.services, resumes=True)
        async with aclosing(aiter(rest)) as events:  # type: ignore[type-var]  # as above
            async for event in events:
                if isinstance(event, Failed):
                    raise RunFailedError(thread, event.error)
        return [f"The cell before this one ({pending!r}) had finished before the interruption; its step is kept."]

    async def _state(self, thread: str) -> State:
        return cast("State", (await self._graph.aget_state({"configurable": {"thread_id": thread}})).values)

    @asynccontextmanager
    async def _turn(self, thread: str) -> AsyncIterator[None]:
        lock = self._turns.setdefault(thread, asyncio.Lock())
        async with lock:
            yield


@asynccontextmanager
async def open_cell_sessions(
    *,
    settings: Settings | None = None,
    context: Context | None = None,
    functions: Sequence[Callable[..., Any] | HostFunction] = (),
    input_roots: tuple[Path, ...] | None = None,
    uploads: Uploads | None = None,
    note: LastSessionNote | None = None,
    last: LastSession | None = None,
) -> AsyncIterator[CellSessions]:
    """Sessions for the caller's own cells, for the time of the block; their threads stay.

    Args:
        settings: Where threads are kept; None reads the environment.
        context: The knobs of cells; None: those of a session's last run.
        functions: Functions of this program that cells can call.
        input_roots: Local inputs must lie below one of these; None: any that this user can read.
        uploads: Where users of a server upload inputs; with them, URLs are limited as the settings say.
        note: Where it is written down which session was used last; None: nowhere.
        last: The session that a killed process used last, to be brought back before anybody asks.

    Raises:
        FunctionError: one of the functions cannot be offered.
        SettingsError: a setting cannot be used.
    """
    chosen = await settings_or_default(settings)
    async with (
        bringing_back(last, chosen) as ahead,
        open_services(
            chosen,
            functions,
            input_roots=input_roots,
            uploads=uploads,
            sandboxes=ahead.sandboxes if ahead is not None else None,
        ) as services,
    ):
        used = LastSessions(note, ahead)
        try:
            yield CellSessions(services, context, used)
        finally:
            await used.make_way()
