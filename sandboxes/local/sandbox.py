"""The local sandbox: a Python session in a child process, and its folder on this machine."""

import asyncio
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from sandboxes.base import SandboxUnavailableError
from sandboxes.host import blobs, workspace
from sandboxes.host.kernel_sandbox import KernelSandbox
from sandboxes.host.processes import Order, Start
from sandboxes.host.programs import run_program
from sandboxes.host.session_pool import SessionPool
from sandboxes.local.child_process import StartChild
from sandboxes.local.isolation import IN_WORDS, PRIVATE_PATHS, IsolationConfig
from sandboxes.local.network.egress import Egress
from sandboxes.local.session import Session
from sandboxes.local.zygote_process import StartInZygote
from sandboxes.network import NO_NETWORK, Network
from sandboxes.results import FetchedFile, ProgramResult, Reached, WorkspaceFile

OWNER = "owner"
"""The file that names the process whose session was the last one in this folder."""


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
    ) -> None:
        super().__init__(id, grace=grace, pool=pool)
        self._folder = root.absolute() / id
        self._workspace = self._folder / "workspace"
        self._config = config
        self._network = network
        self._make_egress = make_egress
        self._start: Start = StartChild(config) if config.level in ("process", "seatbelt") else StartInZygote(config)
        self._token = str(uuid.uuid4())

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
        order = Order(self._folder, network=self._network.mode)
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
        await asyncio.to_thread(self._remove_spools)

    def _remove_spools(self) -> None:
        file = self._folder / OWNER
        if file.exists() and file.read_text("utf-8", "replace") != self._token:
            return  # another process works in this folder by now
        for name in ("tmp", "spool", "blobs"):  # the store has what is worth keeping
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

    async def take_blobs(self, names: Sequence[str], folder: Path, *, max_bytes: int | None = None) -> dict[str, str]:
        """Copy blobs out of the spool; see `Sandbox.take_blobs`.

        Raises:
            SnapshotMissingError: one is not there.
            SnapshotTooLargeError: they have more than `max_bytes`.
        """
        with self._lease.in_use():
            return await asyncio.to_thread(blobs.take, self._folder / "spool", names, folder, max_bytes=max_bytes)

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
            await asyncio.to_thread(blobs.supply, self._folder / "blobs", files)

    async def supplied_blobs(self) -> frozenset[str]:
        """The blobs that it was given and still has."""
        return await asyncio.to_thread(blobs.names_in, self._folder / "blobs")
