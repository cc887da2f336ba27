"""The session that a killed server used last: brought back by the next server before anybody asks for it.

Each server writes down its last session, in a file of its own that it holds locked; whoever ends in good order removes
it. So a file that nobody holds is a killed server's.
"""

import asyncio
import contextlib
import json
import re
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from graph.checkpoints.thread_lock import PROCESS_ID, ThreadHeldError, hold_thread, last_holder
from graph.settings import SettingsError
from nodes.restoration.manifests import NotRestoredError
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import SandboxError
from stepwell.services import Services
from storage.blobs import BlobError

FOLDER = "last-sessions"
THREAD = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SNAPSHOT = re.compile(r"[0-9a-f]{64}")
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
    """

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER
        self._file = self._folder / f"{uuid.uuid4()}.json"
        self._lock: BaseFileLock | None = None
        self._text = ""

    def write(self, thread: str, snapshot: str) -> None:
        """Write down which session is at which snapshot; nothing may fail because a disk is full."""
        text = json.dumps(asdict(LastSession(thread, snapshot, PROCESS_ID)))
        if text != self._text:
            with contextlib.suppress(OSError, Timeout):
                self._folder.mkdir(mode=0o700, exist_ok=True)
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

    def close(self) -> None:
        """Remove it: this server ends in good order."""
        self.forget()
        if self._lock is not None:
            Path(self._lock.lock_file).unlink(missing_ok=True)
            self._lock.release(force=True)


def take_left_behind(home: Path) -> LastSession | None:
    """The newest session that a killed server has left behind; none is given twice. Blocks."""
    found = []
    for file in (home / FOLDER).glob("*.json"):
        with contextlib.suppress(OSError), _held(file) as held:
            if held:
                found.append((file.stat().st_mtime_ns, LastSession.read(file)))
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


async def bring_back(last: LastSession, services: Services) -> None:
    """Restore a session in its sandbox, where `restore` of the same snapshot has it then.

    Nothing is done where another process has used the session since; what goes wrong is left to who asks for it.
    """
    home = services.settings.home
    with contextlib.suppress(*NOT_BROUGHT_BACK):
        if await asyncio.to_thread(last_holder, last.thread, home) != last.holder:
            return
        async with hold_thread(last.thread, services.settings, patience=0) as hold:
            if hold.before == last.holder:
                sandbox = await services.sandboxes.open(KIND, last.thread)
                store = SnapshotStore(services.blobs, keep_inputs=services.settings.shared)
                await store.restore_ahead(sandbox, last.snapshot)
