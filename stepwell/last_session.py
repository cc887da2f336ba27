"""The session that a killed server used last: brought back by the next server before anybody asks for it.

Each server writes down its last session, in a file of its own that it holds locked; whoever ends in good order removes
it. So a file that nobody holds is a killed server's. Servers are of a kind each, which sees its own files alone: those
of agents, of editors, of notebooks.

This is imported before LangGraph, so that a session begins while that is read.
"""

import asyncio
import contextlib
import json
import re
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import BaseFileLock, FileLock, Timeout

from graph.checkpoints.labels import Labels, kept_labels
from graph.checkpoints.thread_lock import PROCESS_ID, ThreadHeldError, hold_thread, last_holder
from graph.settings import Settings, SettingsError
from graph.wiring import make_blobs, make_sandboxes
from nodes.restoration.manifests import NotRestoredError
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import SandboxError
from sandboxes.local.isolation_choice import choose_ahead
from sandboxes.opening import Sandboxes
from storage.blobs import BlobError

if TYPE_CHECKING:
    from graph.state import SandboxRef

FOLDER = "last-sessions"
OF_EDITORS, OF_NOTEBOOKS = f"{FOLDER}/editors", f"{FOLDER}/notebooks"
OTHERS_AFTER = 1.0
"""Seconds after which a zygote for other sessions starts, if no call has come: a call that has goes first."""
THREAD = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SNAPSHOT = re.compile(r"[0-9a-f]{64}")
TAG = "agents"
"""A thread with this tag is a session that agents reach; the user may give it to any thread, or take it away."""
KIND = "local"
"""Sandboxes elsewhere cost money, and go on when this machine's server ends."""
NOT_BROUGHT_BACK = (BlobError, NotRestoredError, OSError, SandboxError, SettingsError, ThreadHeldError)
"""What is left to who asks for the session: they are told what is wrong."""


@dataclass(frozen=True, slots=True)
class LastSession:
    """What a server used last."""

    thread: str
    snapshot: str
    holder: str
    """The process; as long as it is the last one that held the thread, nobody else has the session."""

    @classmethod
    def read(cls, file: Path) -> "LastSession | None":
        """What a file says; None where it says nothing that can be used."""
        with contextlib.suppress(OSError, ValueError, TypeError):
            found = cls(**json.loads(file.read_text("utf-8")))
            if THREAD.fullmatch(found.thread) and SNAPSHOT.fullmatch(found.snapshot):
                return found
        return None


class LastSessionNote:
    """This server's own file, for the time of the block. All functions block.

    Args:
        home: The data folder.
        folder: Where servers of this kind write, below it.
    """

    def __init__(self, home: Path, folder: str = FOLDER) -> None:
        self._folder = home / folder
        self._file = self._folder / f"{uuid.uuid4()}.json"
        self._lock: BaseFileLock | None = None
        self._text = ""

    def write(self, thread: str, snapshot: str) -> None:
        """Write down which session is at which snapshot; nothing may fail because a disk is full."""
        text = json.dumps(asdict(LastSession(thread, snapshot, PROCESS_ID)))
        if text != self._text:
            with contextlib.suppress(OSError, Timeout):
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                if self._lock is None:
                    self._lock = FileLock(self._file.with_suffix(".lock"), thread_local=False)
                    self._lock.acquire(timeout=0)
                self._file.write_text(text, "utf-8")
                self._text = text

    def forget(self, thread: str = "") -> None:
        """Remove it; where a thread is named, if it is of that one."""
        if self._text and thread in self._text:
            self._text = ""
            self._file.unlink(missing_ok=True)

    def close(self, *, leave: bool = False) -> None:
        """Remove it: this server ends in good order.

        Args:
            leave: Whether it is left, for a server that starts at once.
        """
        if not leave:
            self.forget()
        if self._lock is not None:
            if not leave:
                Path(self._lock.lock_file).unlink(missing_ok=True)
            self._lock.release(force=True)


def take_left_behind(home: Path, folder: str = FOLDER, thread: str = "") -> LastSession | None:
    """The newest session that a killed server has left behind; none is given twice. Blocks.

    Args:
        home: The data folder.
        folder: Where servers of this kind write, below it.
        thread: The only one that is wanted; empty: any.
    """
    found = []
    for file in (home / folder).glob("*.json"):
        with contextlib.suppress(OSError), _held(file) as held:
            last = LastSession.read(file) if held else None
            if last is not None and thread not in ("", last.thread):
                if last_holder(last.thread, home) == last.holder:
                    continue
                last = None  # it was deleted, or somebody has used it since
            if held:
                if last is not None:
                    found.append((file.stat().st_mtime_ns, last))
                file.unlink()
                file.with_suffix(".lock").unlink()
    return max(found, key=lambda one: one[0])[1] if found else None


@contextlib.contextmanager
def _held(file: Path) -> Iterator[bool]:
    """Hold a server's file, if it is nobody's any more."""
    lock = FileLock(file.with_suffix(".lock"), thread_local=False)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


class SessionAhead:
    """A killed server's session, brought back before anybody has asked for it, until somebody asks for one.

    Nothing is done where another process has used it since; what goes wrong is left to who asks for it.

    Args:
        last: The session.
        settings: Where threads are kept.
        sandboxes: Those of who uses it then.
        bare: Whether the session imports what it needs by itself, since no zygote is ready.
    """

    def __init__(self, last: LastSession, settings: Settings, sandboxes: Sandboxes, *, bare: bool = False) -> None:
        self.sandboxes = sandboxes
        self._last: LastSession | None = last
        self._settings = settings
        self._bare = bare
        self._wanted = False
        """Whether somebody waits for it."""
        self._making_way = asyncio.Lock()
        self._task = asyncio.ensure_future(self._bring_back(last))
        if bare:
            self._task.add_done_callback(self._settle)

    @property
    def thread(self) -> str:
        """The session's thread; empty once somebody has asked for one."""
        return self._last.thread if self._last is not None else ""

    async def make_way(self, thread: str = "") -> None:
        """Wait until the session is there; if it is another one than is wanted, and nobody waits for it, let it go.

        Args:
            thread: The session that is used now; empty: none.
        """
        if not self.thread:
            return
        if self.thread == thread:
            self._wanted = True
        elif self._wanted:
            return
        async with self._making_way:  # whoever comes meanwhile waits, too
            if (last := self._last) is None:
                return
            if last.thread == thread:
                await self.settled()
                self._last = None
            elif not self._wanted:
                self._task.cancel()
                await self.settled()
                await self.sandboxes.close(last.thread)
                self._last = None

    async def settled(self) -> None:
        """Wait until the session is there, or cannot be."""
        if not self._task.done():
            await asyncio.wait((self._task,))

    async def _bring_back(self, last: LastSession) -> None:
        home = self._settings.home
        with contextlib.suppress(*NOT_BROUGHT_BACK):
            if await asyncio.to_thread(last_holder, last.thread, home) != last.holder:
                return
            async with hold_thread(last.thread, self._settings, patience=0) as hold:
                if hold.before == last.holder:
                    sandbox = await self.sandboxes.open(KIND, last.thread, bare=self._bare)
                    store = SnapshotStore(make_blobs(self._settings), keep_inputs=self._settings.shared)
                    await store.restore_ahead(sandbox, last.snapshot)

    def _settle(self, task: "asyncio.Task[None]") -> None:
        if not self._wanted:  # else the call that waits goes first
            task.get_loop().call_later(OTHERS_AFTER, self.prepare_others)

    def prepare_others(self) -> None:
        """Begin to have a sandbox ready for other sessions, once."""
        if self._bare:
            self._bare = False
            choose_ahead(self._settings.local)


class LastSessions:
    """The session that a server uses last, and the one that a killed server used: what is to be done with each use.

    Args:
        note: Where it is written down; None: nowhere.
        ahead: The killed server's, while it is brought back; None: there is none.
    """

    def __init__(self, note: LastSessionNote | None = None, ahead: SessionAhead | None = None) -> None:
        self._note = note
        self.ahead = ahead

    async def make_way(self, thread: str = "") -> None:
        """Wait for the session that is brought back; see `SessionAhead.make_way`."""
        if self.ahead is not None:
            await self.ahead.make_way(thread)

    async def keep(self, thread: str, sandbox: "SandboxRef | None") -> None:
        """Write down where a session is after a cell, if it is one that can be brought back."""
        if self.ahead is not None:
            self.ahead.prepare_others()
        if self._note is None or sandbox is None or sandbox["kind"] != KIND:
            return
        if SNAPSHOT.fullmatch(sandbox["snapshot"]):  # else no cell has run yet
            await asyncio.to_thread(self._note.write, thread, sandbox["snapshot"])

    async def leave(self, thread: str) -> None:
        """Note that a session is about to be elsewhere than it was written down."""
        await self.make_way(thread)
        if self._note is not None:
            await asyncio.to_thread(self._note.forget, thread)

    async def close(self, *, leave: bool = False) -> None:
        """End in good order; see `LastSessionNote.close`."""
        await self.make_way()
        if self._note is not None:
            await asyncio.to_thread(partial(self._note.close, leave=leave))


def begin_early(settings: Settings, folder: str = FOLDER, *, thread: str = "", tag: str = "") -> LastSession | None:
    """Begin what the first session needs, before all else; returns the one that `bringing_back` is to bring back.

    A session that is brought back gets a zygote which imports nothing, and imports what it needs by itself: that is
    there a second earlier. Blocks for a moment.

    Args:
        settings: Where threads are kept.
        folder: Where servers of this kind write, below the data folder.
        thread: The only one that is wanted; empty: any.
        tag: What the thread must be tagged with; empty: nothing.
    """
    last = None
    if not (tag and settings.database_url.get_secret_value()):  # which has the labels: a second to connect to
        last = take_left_behind(settings.home, folder, thread)
    if last is not None and tag:
        labels = kept_labels(settings.home / "threads.sqlite") or {}
        last = last if labels.get(last.thread, Labels()).tagged(tag) else None
    choose_ahead(replace(settings.local, bare=last is not None))
    return last


@contextlib.asynccontextmanager
async def bringing_back(last: LastSession | None, settings: Settings) -> AsyncIterator[SessionAhead | None]:
    """Bring back a session while the server still starts, for the time of the block.

    Args:
        last: The session, as `begin_early` has found it; None: there is none.
        settings: Where threads are kept.
    """
    if last is None:
        yield None
        return
    async with make_sandboxes(settings) as sandboxes:
        ahead = SessionAhead(last, settings, sandboxes, bare=True)
        try:
            yield ahead
        finally:
            await ahead.make_way()
