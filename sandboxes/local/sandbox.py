"""The local sandbox: a Python session in a child process, and its folder on this machine."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from typing_extensions import override

from sandboxes.base import SandboxLostError, SandboxUnavailableError, TakenBlob
from sandboxes.host import blobs, replies, workspace
from sandboxes.host.kernel_sandbox import KernelSandbox
from sandboxes.host.processes import Order, Start
from sandboxes.host.programs import run_program
from sandboxes.host.session_pool import SessionPool, SessionSnapshot
from sandboxes.host.tasks import uncancellable
from sandboxes.local.child_process import StartChild
from sandboxes.local.isolation import IN_WORDS, PRIVATE_PATHS, PRIVATE_ROOT, IsolationConfig
from sandboxes.local.network.egress import Egress
from sandboxes.local.session import Session
from sandboxes.local.trial import FOLDER, TrialFolder, TrialSession, prints_name
from sandboxes.local.zygote_process import StartInZygote
from sandboxes.network import NO_NETWORK, Network
from sandboxes.results import (
    FetchedFile,
    LookTaken,
    ProgramResult,
    Reached,
    RestoredSession,
    SnapshotTaken,
    TrialRestore,
    WorkspaceFile,
)

OWNER = "owner"
"""The file that names the process whose session was the last one in this folder."""


MAX_LAID_OUT = 3
"""Times that the kernel may ask for contents of files: for the manifest, for what files lack, and once more."""
MAX_REMEMBERED = 100
"""Snapshots of which it is remembered whether they had all."""
LOOK_SECONDS = 30.0
"""How long making a copy that looks may take before it is interrupted."""


class LocalSandbox(KernelSandbox[Session]):
    """A Python session on this machine, isolated by the operating system.

    `isolation` says how strongly; at level `process` not at all: code in it can do what you can do. The kernel starts
    with the first cell. Its files stay on disk: `<root>/<id>/workspace/{inputs,outputs,figures}`.

    Args:
        root: The folder that holds all local sandboxes.
        id: The name of this one.
        config: The interpreter, the level of isolation, the limits.
        network: What cells may reach.
        make_egress: Makes the proxy of each session.
        grace: Seconds that an interrupted cell has to end before it is killed.
        pool: Where its session takes a place; default: there is always one.
        inputs: The inputs of another sandbox that it has in the place of its own.
    """

    def __init__(
        self,
        root: Path,
        id: str,
        config: IsolationConfig,
        *,
        network: Network = NO_NETWORK,
        make_egress: Callable[[Network, Path], Egress] = Egress,
        grace: float = 3.0,
        pool: SessionPool | None = None,
        inputs: Path | None = None,
    ) -> None:
        super().__init__(id, grace=grace, pool=pool)
        self._pool = pool
        self._inputs = inputs
        self._complete: dict[str, bool] = {}
        """Whether snapshots that the session took, or came from, had all that was in it."""
        self._looking = False
        """Whether its session is about to be looked at, which is soon over."""
        self._trial: LocalSandbox | None = None
        self._trial_turn = asyncio.Lock()
        self._folder = root.absolute() / id
        self._workspace = self._folder / "workspace"
        self._config = config
        self._network = network
        self._make_egress = make_egress
        self._start: Start = StartChild(config) if config.level in ("process", "seatbelt") else StartInZygote(config)
        self._token = str(uuid.uuid4())

    @property
    def folder(self) -> Path:
        """Its folder on this machine."""
        return self._folder

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return self._closed

    @property
    def kind(self) -> str:
        """`local`."""
        return "local"

    @property
    def isolation(self) -> str:
        """What keeps code in it away from the rest of the machine."""
        return IN_WORDS[self._config.level]

    async def open(self) -> None:
        """Make its folders.

        Raises:
            SandboxUnavailableError: they cannot be made.
        """
        await asyncio.to_thread(self.make_folders)

    def make_folders(self) -> None:
        """Make its folders; blocks."""
        workspace.make_all(self._folder, Path(self._config.cache))

    async def reached(self) -> Reached:
        """The note on the last cell that began, and what the proxy has seen of it; see `Sandbox.reached`.

        Raises:
            SandboxUnavailableError: its folder cannot be written.
        """
        await self.open()
        confined = self._config.level in PRIVATE_PATHS and self._network.mode == "none"
        note = await asyncio.to_thread(workspace.read_note, self._folder)
        seen = self._session.reached() if self._session is not None else ()
        return replace(note, what=tuple(dict.fromkeys((*note.what, *seen))), confined=confined)

    async def _start_session(self) -> Session:
        await asyncio.to_thread(self._claim)
        order = Order(self._folder, network=self._network.mode, inputs=self._inputs)
        egress = self._make_egress(self._network, self._folder) if self._network.mode != "none" else None
        return await Session.start(
            self._start, order, limits=self._config.limits, python=self._config.python, egress=egress
        )

    def _claim(self) -> None:
        """Make its folders, and note that they are used by this process."""
        self.make_folders()
        try:
            (self._folder / OWNER).write_text(self._token)
        except OSError as error:
            raise SandboxUnavailableError(
                f"The sandbox folder {self._folder} cannot be written ({error.strerror or error}). "
                "Make room, or choose another place with STEPWELL_HOME."
            ) from error

    async def _put_away(self, stored: bool) -> None:
        if self._trial_turn.locked():  # a trial removes its own folder
            await asyncio.to_thread(self._remove_spools)
            return
        async with self._trial_turn:
            await asyncio.to_thread(self._remove_spools, FOLDER)

    def _remove_spools(self, *trial: str) -> None:
        file = self._folder / OWNER
        if file.exists() and file.read_text("utf-8", "replace") != self._token:
            return  # another process works in this folder by now
        for name in ("tmp", "spool", "blobs", *trial):  # the store has what is worth keeping
            workspace.remove(self._folder / name)
        file.unlink(missing_ok=True)

    async def _empty_workspace(self) -> None:
        await asyncio.to_thread(self._empty)

    def _empty(self) -> None:
        workspace.empty(self._workspace, keep=frozenset({"inputs"}))
        workspace.empty(self._folder / "tmp")
        workspace.remove(self._folder / "home")
        self.make_folders()

    async def _remove_supplied(self) -> None:
        await asyncio.to_thread(workspace.remove, self._folder / "blobs")

    async def run_program(self, program: Path, arguments: Sequence[str], *, timeout: float) -> ProgramResult:
        """Run a program of ours beside the session; see `Sandbox.run_program`.

        Raises:
            SandboxUnavailableError: it cannot be started.
        """
        with self._lease.in_use():
            await self.open()
            order = Order(self._folder, program, tuple(arguments))
            return await run_program(self._start, order, limits=self._config.limits, timeout=timeout)

    async def put(self, source: Path, path: str) -> None:
        """Copy a host file into the workspace; see `Sandbox.put`. What lies in `inputs/` is read-only.

        Raises:
            FileNotFoundError: there is no such host file.
            SandboxUnavailableError: there is no room for it, or the workspace cannot be written.
            ValueError: the path leaves the workspace.
        """
        await self.open()
        await asyncio.to_thread(workspace.put, self._workspace, source, path)

    async def files(self, folder: str) -> list[WorkspaceFile]:
        """The regular files below a folder; `.` stands for the whole workspace.

        Raises:
            ValueError: the folder leaves the workspace.
        """
        return await asyncio.to_thread(workspace.files, self._workspace, folder)

    async def fetch(self, path: str, target: Path, *, max_bytes: int) -> FetchedFile:
        """Copy a workspace file out; see `Sandbox.fetch`.

        Raises:
            FileNotFoundError: there is no regular file at that path.
            ValueError: it is larger than `max_bytes`, or the path leaves the workspace.
        """
        return await asyncio.to_thread(workspace.fetch, self._workspace, path, target, max_bytes=max_bytes)

    async def take_blobs(
        self, names: Sequence[str], folder: Path, *, max_bytes: int | None = None
    ) -> dict[str, TakenBlob]:
        """Copy blobs out of the spool; see `Sandbox.take_blobs`.

        Raises:
            SnapshotMissingError: one is not there.
            SnapshotTooLargeError: they have more than `max_bytes`.
        """
        with self._lease.in_use():
            return await asyncio.to_thread(blobs.take, self._folder / "spool", names, folder, max_bytes=max_bytes)

    @contextmanager
    def spool(self) -> Iterator[blobs.SpoolFolder]:
        """Its spool; see `SpoolHere`."""
        spool = blobs.SpoolFolder(self._folder / "spool")
        with self._lease.in_use():
            try:
                yield spool
            finally:
                spool.ended = True
        self._mark_stored(spool.dropped)

    async def drop_blobs(self, names: Sequence[str]) -> None:
        """Remove blobs from the spool."""
        with self._lease.in_use():
            await asyncio.to_thread(blobs.drop, self._folder / "spool", names)
        self._mark_stored(names)

    async def supply_blobs(self, files: Sequence[Path]) -> None:
        """Give the sandbox blobs for a restore.

        Raises:
            SandboxUnavailableError: there is no room for them.
        """
        with self._lease.in_use():
            # Mounted there for reading only, so they may be the store's own files.
            link = self._config.level in PRIVATE_ROOT
            await asyncio.to_thread(blobs.supply, self._folder / "blobs", files, link=link)

    async def supplied_blobs(self) -> frozenset[str]:
        """The blobs that it was given and still has."""
        return await asyncio.to_thread(blobs.names_in, self._folder / "blobs")

    async def return_to(
        self, snapshot: str, lay_out: Callable[[Sequence[str]], Awaitable[None]]
    ) -> RestoredSession | None:
        """Go back to a step whose frozen copy is in memory; see `KeepsSteps.return_to`.

        Raises:
            SandboxLostError: the copy ended meanwhile; there is no session then.
        """
        if not self._config.copies or (self._lease.turn_taken and not self._looking):
            return None
        async with self._lease:
            session = self._session
            if session is None or not self._session_lives():
                return None
            complete = self._complete.get(snapshot)
            if complete is None:
                return None
            returned = await session.return_to(snapshot)
            if not self._session_lives():
                await self._drop()
            if not returned:
                return None
            self._snapshot = SessionSnapshot()
            try:
                restored = await self._bring_files(snapshot, lay_out)
            except BaseException:
                await self._drop()
                raise
            self._snapshot = SessionSnapshot(snapshot, stored=True, complete=complete)
        self._lease.mark_idle()
        return restored

    def _session_lives(self) -> bool:
        return self._session is not None and self._session.alive

    async def _bring_files(self, snapshot: str, lay_out: Callable[[Sequence[str]], Awaitable[None]]) -> RestoredSession:
        """Make the files as the step has them; its variables, and the files that it lacks."""
        for _ in range(MAX_LAID_OUT):
            brought = replies.files_brought(await self._ask("files", {"snapshot": snapshot}))
            if isinstance(brought, RestoredSession):
                return brought
            await lay_out(brought)
        raise SandboxLostError("The files of the step could not be brought back.")

    @override
    async def snapshot(self, *, limit_bytes: int) -> SnapshotTaken:
        taken = await super().snapshot(limit_bytes=limit_bytes)
        if taken.id:
            self._remember(taken.id, complete=not taken.lost)
        return taken

    @override
    async def restore(self, id: str) -> RestoredSession:
        restored = await super().restore(id)
        self._complete.pop(id, None)
        if not (restored.lost or restored.versions):  # as the kernel decides whether its copy is one of the step
            self._remember(id, complete=True)
        return restored

    def _remember(self, snapshot: str, *, complete: bool) -> None:
        """Note that a copy may be at that snapshot."""
        if self._config.copies:
            self._complete.pop(snapshot, None)
            self._complete[snapshot] = complete
            while len(self._complete) > MAX_REMEMBERED:
                self._complete.pop(next(iter(self._complete)))

    async def look(self, snapshot: str, *, always: bool, proved: str, seconds: float, max_bytes: int) -> LookTaken:
        """Have a frozen copy of its session look at it; see `Provable.look`.

        Raises:
            SandboxLostError: its session ended meanwhile.
        """
        async with self._lease:
            if self.head != snapshot:
                return LookTaken("gone")
            body = {
                "snapshot": snapshot,
                "file": prints_name(snapshot),
                "always": always,
                "proved": proved,
                "seconds": seconds,
                # What it looks at may have to be copied, and counts as the sandbox's memory then.
                "bytes": min(max_bytes, self._config.limits.memory_or_half // 4),
            }
            self._looking = True
            try:
                taken = replies.look(await self._ask("look", {}, body=body, seconds=LOOK_SECONDS + seconds))
            finally:
                self._looking = False
        self._lease.mark_idle()
        return taken

    @asynccontextmanager
    async def trial(self) -> AsyncIterator[TrialSession]:
        """A fresh session; see `Provable.trial`.

        Raises:
            SandboxUnavailableError: there is no place for one, or it cannot be made.
        """
        async with self._trial_turn:
            if self._closed or (self._pool is not None and not self._pool.has_room):
                raise SandboxUnavailableError("all places for sandboxes are taken")
            folder = TrialFolder(self._folder, self._config.level)
            pool = self._pool or SessionPool(capacity=1)
            trial = LocalSandbox(self._folder, FOLDER, self._config, grace=0.0, pool=pool, inputs=folder.inputs)
            self._trial = trial
            closing: list[asyncio.Task[None]] = []
            try:
                await asyncio.to_thread(folder.prepare, Path(self._config.cache))
                with pool.giving_way(lambda: closing.append(asyncio.create_task(trial.close()))):
                    yield TrialSession(trial, folder, self._folder / "spool")
            finally:
                self._trial = None
                await uncancellable(self._end_trial(trial, folder, closing))

    async def _end_trial(self, trial: "LocalSandbox", folder: TrialFolder, closing: "list[asyncio.Task[None]]") -> None:
        await asyncio.gather(*closing, return_exceptions=True)
        await trial.close()
        await asyncio.to_thread(folder.remove)

    async def restore_and_compare(self, asked: dict[str, Any], *, seconds: float) -> TrialRestore:
        """Restore a snapshot and compare it; for the sandbox of a trial.

        Raises:
            SandboxLostError: its session ended.
            SandboxUnavailableError: it cannot be started.
        """
        async with self._lease:
            return replies.trial(await self._ask("prove", {}, body=asked, seconds=seconds))

    async def close(self) -> None:
        """End the session, a trial too; see `Sandbox.close`."""
        self._closed = True  # no other trial begins
        if self._trial is not None:
            await self._trial.close()
        async with self._trial_turn:  # its folder is gone then
            pass
        await super().close()
