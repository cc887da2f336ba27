"""The local sandbox: a Python session in a child process, and its folder on this machine."""

import asyncio
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sandboxes.base import SandboxLostError, SandboxUnavailableError
from sandboxes.functions import Functions
from sandboxes.host import removing, workspace
from sandboxes.host.living import Living, Standing, Stay
from sandboxes.host.processes import Order, Start
from sandboxes.host.programs import run_program
from sandboxes.host.steps import SNAPSHOT_SECONDS, Steps
from sandboxes.local.child_process import StartChild
from sandboxes.local.isolation import IN_WORDS, PRIVATE_PATHS
from sandboxes.local.local_files import LocalFiles
from sandboxes.local.network.egress import Egress as Doorway
from sandboxes.local.session import Session
from sandboxes.local.walls import Walls
from sandboxes.local.warm_process import StartWarm
from sandboxes.network import NO_NETWORK, Network
from sandboxes.results import CellResult, ProgramResult, Reached, Streamed

OWNER = "owner"
"""The file that says which process's session was the last one in this folder."""


class LocalSandbox(Steps, LocalFiles):
    """A Python session on this machine, behind walls of the operating system.

    How strong they are says `isolation`; `process` are none: code in it can do what you can do. The kernel starts with
    the first cell. Its files stay on disk: `<root>/<id>/workspace/{inputs,outputs,figures}`.

    Args:
        root: The folder that holds all local sandboxes.
        id: The name of this one.
        walls: The interpreter, the level of isolation, the limits.
        network: What cells may reach.
        make_doorway: Makes the way there for each session.
        grace: Seconds that an interrupted cell has to end before it is killed.
        living: Where its session takes a place; default: there is always one.
    """

    def __init__(
        self,
        root: Path,
        id: str,
        walls: Walls,
        *,
        network: Network = NO_NETWORK,
        make_doorway: Callable[[Network, Path], Doorway] = Doorway,
        grace: float = 3.0,
        living: Living | None = None,
    ) -> None:
        self._id = id
        super().__init__(root.absolute() / id, Path(walls.cache), Stay(living or Living(most=1), self))
        self._walls = walls
        self._network = network
        self._make_doorway = make_doorway
        self._start: Start = StartChild(walls) if walls.level in ("process", "seatbelt") else StartWarm(walls)
        self._grace = grace
        self._session: Session | None = None
        self._at = Standing()
        self._slept = ""
        self._closed = False
        self._token = str(uuid.uuid4())

    @property
    def kind(self) -> str:
        """`local`."""
        return "local"

    @property
    def id(self) -> str:
        """Its name."""
        return self._id

    @property
    def head(self) -> str:
        """The snapshot that it is at; empty without a living session."""
        return self._at.head if self._session is not None and self._session.alive else ""

    async def reached(self) -> Reached:
        """The note on the last cell that began, and what its way out has seen; see `Sandbox.reached`.

        Raises:
            SandboxUnavailableError: its folder cannot be written.
        """
        confined = self._walls.level in PRIVATE_PATHS and self._network.mode == "none"
        note = await super().reached()
        seen = self._session.reached() if self._session is not None else ()
        return replace(note, what=tuple(dict.fromkeys((*note.what, *seen))), confined=confined)

    async def sleep(self) -> None:
        """End its session unless something would be lost by that; `restore` wakes it."""
        async with self._turn:
            if self.rest != "never":
                slept = self._at.head
                await self._drop()
                self._slept = slept
                await self._tidy()

    @property
    def isolation(self) -> str:
        """What keeps code in it away from the rest of the machine."""
        return IN_WORDS[self._walls.level]

    async def run(
        self,
        code: str,
        *,
        number: int,
        timeout: float,
        head: str = "",
        on_output: Callable[[Streamed], None] | None = None,
        functions: Functions | None = None,
    ) -> CellResult:
        """Run one cell; see `Sandbox.run`.

        Raises:
            SandboxLostError: it is closed, or its process died between two cells.
            SandboxUnavailableError: the interpreter cannot be started.
        """
        async with self._turn:
            session = await self._ready()
            before, self._at = self._at, Standing()
            try:
                result = await session.run(
                    code,
                    number=number,
                    timeout=timeout,
                    grace=self._grace,
                    head=head,
                    on_output=on_output,
                    functions=functions,
                )
            finally:
                if not session.alive:
                    self._session = None
            if result.variables_kept:
                self._at = Standing(head)
                return result
            if result.recovered == "copy":
                self._at = before
            noted = (await self.reached()).what
            return replace(result, reached=tuple(dict.fromkeys((*result.reached, *noted))))

    async def _ready(self) -> Session:
        """The living session, started if there is none yet."""
        self._refuse_when_closed()
        if self._session is not None and not self._session.alive:
            await self._drop()
            raise SandboxLostError(
                f"The Python process of sandbox {self._id} ended between two cells; its variables are lost."
            )
        if self._slept:
            self._slept = ""
            raise SandboxLostError(f"The session of sandbox {self._id} was put to sleep; restore its snapshot.")
        if self._session is None:
            await self._turn.enter()
            await asyncio.to_thread(self._claim)
            walls = self._walls
            order = Order(self._folder, network=self._network.mode)
            doorway = self._make_doorway(self._network, self._folder) if self._network.mode != "none" else None
            session = await Session.start(self._start, order, limits=walls.limits, python=walls.python, doorway=doorway)
            if self._closed:
                await session.close()
            self._refuse_when_closed()
            self._session = session
            self._turn.began()
            session.when_gone(self._turn.ended)
        return self._session

    def _claim(self) -> None:
        """Make its folders, and say whose they are now."""
        self.make_folders()
        try:
            (self._folder / OWNER).write_text(self._token)
        except OSError as error:
            raise SandboxUnavailableError(
                f"The sandbox folder {self._folder} cannot be written ({error.strerror or error}). "
                "Make room, or choose another place with STEPWELL_HOME."
            ) from error

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise SandboxLostError(f"The sandbox {self._id} is closed.")

    async def _break_off(self) -> None:
        self._turn.give_up()
        if self._session is not None:
            self._session.discard()

    async def _drop(self) -> None:
        session, self._session = self._session, None
        self._at, self._slept = Standing(), ""
        if session is not None:
            await session.close()

    async def run_program(self, program: Path, arguments: Sequence[str], *, timeout: float) -> ProgramResult:
        """Run a program of ours beside the session; see `Sandbox.run_program`.

        Raises:
            SandboxUnavailableError: it cannot be started.
        """
        with self._turn.beside():
            await self.open()
            order = Order(self._folder, program, tuple(arguments))
            return await run_program(self._start, order, limits=self._walls.limits, timeout=timeout)

    async def _ask(
        self,
        kind: str,
        content: dict[str, Any],
        *,
        answer: str = "",
        body: dict[str, Any] | None = None,
        seconds: float = SNAPSHOT_SECONDS,
    ) -> dict[str, Any]:
        session = await self._ready()
        try:
            return await session.ask(
                kind, content, answer=answer or kind, timeout=seconds, grace=self._grace, body=body
            )
        finally:
            if not session.alive:
                self._session = None

    async def _forget_blobs(self) -> None:
        await asyncio.to_thread(removing.remove, self._folder / "blobs")

    async def drop_blobs(self, names: Sequence[str]) -> None:
        """Remove blobs from the spool."""
        await super().drop_blobs(names)
        self._note_stored(names)

    async def reset(self) -> None:
        """Start again with only the inputs; a cell that is running is killed.

        Raises:
            SandboxUnavailableError: the workspace cannot be emptied.
        """
        await self._break_off()
        async with self._turn:
            await self._drop()
            await asyncio.to_thread(self._empty)

    def _empty(self) -> None:
        workspace.empty(self._workspace, keep=frozenset({"inputs"}))
        workspace.empty(self._folder / "tmp")
        self.make_folders()

    async def close(self) -> None:
        """End the session, a running cell too. The workspace's files stay where they are."""
        self._closed = True
        await self._break_off()
        async with self._turn:
            await self._drop()
            await self._tidy()

    async def _tidy(self) -> None:
        if await asyncio.to_thread(self._is_anothers):
            return
        for name in ("tmp", "spool", "blobs"):  # the store has what is worth keeping
            await asyncio.to_thread(removing.remove, self._folder / name)
        await asyncio.to_thread(self._give_up_folder)

    def _give_up_folder(self) -> None:
        (self._folder / OWNER).unlink(missing_ok=True)

    def _is_anothers(self) -> bool:
        """Whether another process works in this folder by now; what is there is not ours to remove."""
        file = self._folder / OWNER
        return file.exists() and file.read_text("utf-8", "replace") != self._token
