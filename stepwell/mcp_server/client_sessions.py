"""The sessions that agents of one user reach: which those are, and what is done in them besides running cells."""

import asyncio
import base64
import binascii
import re
import shutil
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graph.checkpoints.labels import Labels
from graph.context import Context
from graph.events import Event
from graph.settings import Settings
from graph.wiring import make_uploads
from sandboxes.host.session_pool import SessionPool
from stepwell import runs
from stepwell.cell_sessions import CellRun, CellSessions
from stepwell.cleanup import delete
from stepwell.errors import ThreadError
from stepwell.forks import fork_here, fork_thread
from stepwell.labels import checked_name, rename, tag
from stepwell.last_session import TAG, LastSessionNote, LastSessions, SessionAhead, take_left_behind
from stepwell.page.local import LocalBackend
from stepwell.runs import Run, RunFailedError
from stepwell.services import open_services
from stepwell.step_detail import StepDetail, show_step
from stepwell.thread_summaries import ThreadFilter, ThreadSummary
from stepwell.threads import list_threads
from storage.safe_names import harmless_name, safe_name

AN_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{0,4}){0,3}(-[0-9a-f]{0,12})?", re.IGNORECASE)
MOST_SENT = 32 << 20
"""Bytes of a file that a client sends as text or base64."""


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file whose content a client sends."""

    name: str
    data: bytes

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "SentFile":
        """What a client sent.

        Raises:
            ThreadError: it is no file.
        """
        name, text, encoded = value.get("name", ""), value.get("text"), value.get("base64")
        if not isinstance(name, str) or not name.strip() or (text is None) == (encoded is None):
            raise ThreadError("A file has a `name` and either `text` or `base64`.")
        try:
            data = text.encode() if text is not None else base64.b64decode(encoded or "", validate=True)
        except (binascii.Error, ValueError, AttributeError):
            raise ThreadError(f"What was sent of {name} is not {'text' if text is not None else 'base64'}.") from None
        if len(data) > MOST_SENT:
            raise ThreadError(f"{name} has more than {MOST_SENT >> 20} MB: give its path or a URL.")
        return cls(name, data)


class ClientSessions:
    """What a client can do; made by `open_client_sessions`. Sessions without the tag are not there for it.

    Args:
        cells: Runs cells.
        backend: Reads threads, and keeps copies of steps open that were looked at.
        folder: Where files lie that a client sends, until they are taken in.
        roots: Folders that a client may name files in, without links.
    """

    def __init__(
        self,
        cells: CellSessions,
        backend: LocalBackend,
        folder: Path,
        roots: Sequence[Path] = (),
    ) -> None:
        self.settings = cells.settings
        self.backend = backend
        self._cells = cells
        self._folder = folder
        self._roots = tuple(roots)
        self._own: set[str] = set()
        self._starting: dict[str, asyncio.Lock] = {}

    async def find(self, session: str) -> str:
        """The thread of a session.

        Raises:
            ThreadError: there is none of that name.
        """
        if not (thread := await self._known(session)):
            raise ThreadError(f"There is no session {session!r}; list_sessions names those that there are.")
        return thread

    async def _known(self, session: str) -> str:
        """The thread of a session, or nothing."""
        if session in self._own:
            return session
        try:
            thread = await self._cells.find(session)
        except ThreadError:
            return ""
        if not (await self._cells.services.saver.labels()).get(thread, Labels()).tagged(TAG):
            return ""
        self._own.add(thread)
        return thread

    async def newest(self, *, limit: int = 50) -> list[ThreadSummary]:
        """The newest sessions."""
        return await list_threads(limit=limit, wanted=ThreadFilter(tags=(TAG,)), settings=self.settings)

    async def run(
        self,
        code: str,
        *,
        session: str = "",
        purpose: str = "",
        files: Sequence[str] = (),
        sent: Sequence[SentFile] = (),
        on_event: Callable[[Event], None] | None = None,
    ) -> CellRun:
        """Run a cell; see `CellSessions.run`.

        Args:
            code: The cell.
            session: The session; where there is none of that name, one is begun that has it. Empty: a new one.
            purpose: What the cell is for.
            files: Paths and URLs of inputs.
            sent: Inputs that were sent.
            on_event: Called with what happens.
        """
        self._check_paths(files)
        async with self._starting.setdefault(session, asyncio.Lock()):
            thread, name = await self._for(session)
            if not thread:
                async with self._placed(sent) as placed:
                    return await self._first(code, name, purpose, [*files, *placed], on_event)
        async with self._placed(sent) as placed:
            named = [*files, *placed]
            return await self._cells.run(code, session=thread, purpose=purpose, files=named, on_event=on_event)

    async def _first(
        self, code: str, name: str, purpose: str, files: list[str], on_event: Callable[[Event], None] | None
    ) -> CellRun:
        """The first cell of a new session; where it cannot be run, there is no session."""
        try:
            found = await self._cells.run(code, purpose=purpose, files=files, on_event=on_event)
        except RunFailedError as error:
            await delete(error.thread, settings=self.settings)
            raise
        await self._begun(found.session, name)
        return found

    def _check_paths(self, files: Sequence[str]) -> None:
        """Say what to do about a file outside of the allowed folders; the inputs refuse it in any case."""
        for file in files:
            if "://" in file or any(Path(file).expanduser().resolve().is_relative_to(root) for root in self._roots):
                continue
            raise ThreadError(
                f"{file} lies outside of the folders that agents may name files in. The user opens one with "
                "`stepwell mcp --files DIR`; or send the content with `sent_files`."
            )

    async def ask(
        self,
        question: str,
        *,
        session: str = "",
        files: Sequence[str] = (),
        sent: Sequence[SentFile] = (),
        context: Context | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> Event:
        """Ask Stepwell's own model a question; returns the last event: `Finished`, `ApprovalAsked` or `Failed`.

        Raises:
            ThreadError: there is no such session, or it cannot take a question.
        """
        self._check_paths(files)
        thread, name = await self._for(session)
        if thread:
            await self._cells.last.leave(thread)
        else:
            await self._cells.last.make_way()
        async with self._placed(sent) as placed:
            run: Run = runs.start(
                question,
                files=[*files, *placed],
                thread=thread or None,
                context=context,
                settings=self.settings,
                services=self._cells.services,
            )
            event: Event | None = None
            async with aclosing(aiter(run)) as events:  # type: ignore[type-var]  # an async generator, typed as an iterator
                async for event in events:
                    if on_event is not None:
                        on_event(event)
        if not thread:
            await self._begun(run.thread, name)
        assert event is not None, "a run tells how it ended"
        await self._cells.keep(run.thread)
        return event

    async def step(self, session: str, step: str) -> StepDetail:
        """A step of a session; an empty one is where it is now.

        Raises:
            ThreadError: there is no such session or step.
        """
        thread = await self.find(session)
        return await show_step(f"{thread}@{step}" if step else thread, self.settings)

    async def decide(self, session: str, decision: runs.Decision) -> CellRun:
        """See `CellSessions.decide`."""
        return await self._cells.decide(await self.find(session), decision)

    async def go_back(self, session: str, step: str) -> str:
        """Go back to an earlier step; what came after it stays in the tree."""
        thread = await self.find(session)
        await self._cells.last.leave(thread)
        return await fork_here(thread, step=step, new_turn=True, settings=self.settings)

    async def fork(self, session: str, step: str, name: str) -> str:
        """Begin a new session at a step; returns its id."""
        thread = await self.find(session)
        new = await fork_thread(thread, step=step or None, new_turn=True, settings=self.settings)
        await self._begun(new, name)
        return new

    async def end(self, session: str, *, forget: bool) -> str:
        """End a session's processes, or delete it with all that is kept of it."""
        thread = await self.find(session)
        await self._cells.last.leave(thread)
        await self._cells.close(thread)
        if forget:
            self._own.discard(thread)
            await delete(thread, settings=self.settings)
        return thread

    async def _for(self, session: str) -> tuple[str, str]:
        """The thread of a session; else None, and the name that a new session gets.

        Raises:
            ThreadError: a new one cannot have that name.
        """
        if not session.strip() or (thread := await self._known(session)):
            return thread if session.strip() else "", ""
        if AN_ID.fullmatch(session.strip()):
            raise ThreadError(f"There is no session {session!r}; list_sessions names those that there are.")
        name = checked_name(session)
        try:
            await self._cells.find(name)
        except ThreadError:
            return "", name
        raise ThreadError(f"The name {name!r} is taken by a thread that is no session of agents; choose another.")

    async def _begun(self, thread: str, name: str) -> None:
        """Mark a new session as one that agents reach; refuse a name that cannot be used, and say what to do."""
        await tag(thread, TAG, settings=self.settings)
        self._own.add(thread)
        if name:
            try:
                await rename(thread, name, settings=self.settings)
            except ThreadError as error:
                raise ThreadError(f"The session {thread} has begun, but without the name: {error}") from None

    @asynccontextmanager
    async def _placed(self, sent: Sequence[SentFile]) -> AsyncIterator[list[str]]:
        """Files that were sent, as local files, for the time of the block."""
        folder = self._folder / str(uuid.uuid4())

        def place() -> list[str]:
            paths = []
            for number, one in enumerate(sent):
                path = folder / str(number) / safe_name(harmless_name(one.name.replace("\\", "/").rpartition("/")[2]))
                path.parent.mkdir(parents=True, mode=0o700)
                path.write_bytes(one.data)
                paths.append(str(path))
            return paths

        try:
            yield await asyncio.to_thread(place) if sent else []
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


@asynccontextmanager
async def open_client_sessions(
    settings: Settings,
    *,
    context: Context | None = None,
    roots: Sequence[Path] = (),
    served: bool = False,
    pool: SessionPool | None = None,
    ahead: SessionAhead | None = None,
) -> AsyncIterator[ClientSessions]:
    """The sessions of these settings' data folder, for the time of the block.

    Args:
        settings: Where threads are kept and what runs them.
        context: The knobs of cells and questions.
        roots: Folders that a client may name files in.
        served: Whether clients come over the network: then URLs are limited to STEPWELL_INPUT_URLS.
        pool: Live sessions that count together with those of other users; None: these alone.
        ahead: A session that is being brought back; None: one that a killed server has left behind, if there is one.
    """
    folder = settings.home / "sent-files"
    own = await asyncio.to_thread(lambda: [one.expanduser().resolve() for one in (*roots, folder)])
    uploads = make_uploads(settings) if served else None
    sandboxes = ahead.sandboxes if ahead is not None else None
    async with (
        open_services(settings, input_roots=tuple(own), uploads=uploads, pool=pool, sandboxes=sandboxes) as services,
        LocalBackend(settings) as backend,
    ):
        if ahead is None:
            last = await asyncio.to_thread(take_left_behind, settings.home)
            if last is not None and (await services.saver.labels()).get(last.thread, Labels()).tagged(TAG):
                ahead = SessionAhead(last, settings, services.sandboxes)
        used = LastSessions(LastSessionNote(settings.home), ahead)
        try:
            yield ClientSessions(CellSessions(services, context, used), backend, folder, own[:-1])
        finally:
            await used.close()
