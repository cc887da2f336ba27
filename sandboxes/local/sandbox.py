"""The local sandbox: a Python session in a child process, and its folder on this machine."""

import asyncio
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sandboxes import replies
from sandboxes.base import SandboxLostError, SandboxUnavailableError, SnapshotMissingError
from sandboxes.functions import Functions
from sandboxes.living import Living, Rest, Standing, Stay
from sandboxes.local import removing, workspace
from sandboxes.local.child_process import StartChild
from sandboxes.local.isolation import IN_WORDS, PRIVATE_PATHS
from sandboxes.local.local_files import LocalFiles
from sandboxes.local.network.doorway import Doorway
from sandboxes.local.network.rules import NO_NETWORK, Network
from sandboxes.local.processes import Order, Start
from sandboxes.local.programs import run_program
from sandboxes.local.session import Session
from sandboxes.local.walls import Walls
from sandboxes.local.warm_process import StartWarm
from sandboxes.rebuilding import BrokenOff, PastCell, RebuildOrder, RebuildPlan
from sandboxes.results import CellResult, ProgramResult, Reached, RestoredSession, SnapshotTaken, Streamed

SNAPSHOT_SECONDS = 600.0
"""How long taking or restoring a snapshot may take before it is interrupted."""
OWNER = "owner"
"""The file that says which process's session was the last one in this folder."""
PLAN_SECONDS = 60.0
"""How long looking for the cells that lost variables need may take."""


class LocalSandbox(LocalFiles):
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
        """The head at which it was put to sleep, until it is woken."""
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

    @property
    def rest(self) -> Rest:
        """Whether its session may be put to sleep: when its head is a snapshot that the store has."""
        return self._at.rest if self.head else "never"

    async def reached(self) -> Reached:
        """The note on the last cell that began; see `Sandbox.reached`.

        Raises:
            SandboxUnavailableError: its folder cannot be written.
        """
        confined = self._walls.level in PRIVATE_PATHS and self._network.mode == "none"
        return replace(await super().reached(), confined=confined)

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
            return replace(result, reached=(await self.reached()).what)

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

    def _break_off(self) -> None:
        """End what the session does, or waits for."""
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

    async def snapshot(self, *, limit_bytes: int) -> SnapshotTaken:
        """Keep the variables and the files; see `Sandbox.snapshot`.

        Raises:
            SandboxLostError: its process is gone.
            SandboxUnavailableError: the interpreter cannot be started.
        """
        async with self._turn:
            session = await self._ready()
            asked = {"limit_bytes": limit_bytes}
            try:
                said = await session.ask(
                    "snapshot", asked, answer="snapshot", timeout=SNAPSHOT_SECONDS, grace=self._grace
                )
            finally:
                if not session.alive:
                    self._session = None
            taken = replies.snapshot(said)
            if taken.id:
                self._at = Standing(taken.id, whole=not taken.lost)
            return taken

    async def restore(self, id: str) -> RestoredSession:
        """Start a new session with a snapshot; see `Sandbox.restore`. A cell that is running is killed.

        Raises:
            SandboxLostError: the new process ended while it restored.
            SandboxUnavailableError: the interpreter cannot be started, or the workspace cannot be written.
            SnapshotMissingError: a blob is missing or damaged.
        """
        self._break_off()
        async with self._turn:
            woken = bool(id) and self._slept == id
            await self._drop()
            session = await self._ready()
            try:
                said = await session.ask(
                    "restore", {"snapshot": id}, answer="restored", timeout=SNAPSHOT_SECONDS, grace=self._grace
                )
            finally:
                if not session.alive:
                    self._session = None
            problem, failed = replies.problems(said)
            if problem or failed:
                await self._drop()
            if problem:
                # Which of them was damaged, and whether others were, is not known here: they have to be supplied anew.
                await asyncio.to_thread(removing.remove, self._folder / "blobs")
                raise SnapshotMissingError(f"The snapshot {id[:12]} cannot be restored: {problem}.")
            if failed:
                raise SandboxUnavailableError(failed)
            restored = replies.restored(said)
            self._at = Standing(id, stored=True, whole=not restored.lost)
            return replace(restored, woken=woken)

    async def plan_rebuild(self, cells: Sequence[PastCell], names: Sequence[str], *, limit: float) -> RebuildPlan:
        """Say which cells have to run for lost variables; see `Sandbox.plan_rebuild`.

        Raises:
            SandboxLostError: its process is gone.
            SandboxUnavailableError: the interpreter cannot be started.
        """
        asked = {"cells": [cell.as_json() for cell in cells], "names": list(names), "limit": limit}
        async with self._turn:
            return replies.rebuild_plan(await self._ask(await self._ready(), "plan_rebuild", asked, PLAN_SECONDS))

    async def rebuild(self, order: RebuildOrder) -> RestoredSession | BrokenOff:
        """Make lost variables again in a new session; see `Sandbox.rebuild`. A cell that is running is killed.

        Raises:
            SandboxLostError: the new process ended while it worked.
            SandboxUnavailableError: the interpreter cannot be started.
        """
        self._break_off()
        async with self._turn:
            await self._drop()
            timeout = order.seconds + SNAPSHOT_SECONDS
            said = await self._ask(await self._ready(), "rebuild", order.as_json(), timeout)
            if broken_off := replies.broken_off(said):
                await self._drop()
                return broken_off
            # What was made again is in the session only.
            self._at = Standing(order.snapshot, stored=True, whole=False)
            return replies.restored(said)

    async def _ask(self, session: Session, kind: str, asked: dict[str, Any], timeout: float) -> dict[str, Any]:
        try:
            return await session.ask(kind, {}, answer=kind, timeout=timeout, grace=self._grace, body=asked)
        finally:
            if not session.alive:
                self._session = None

    async def drop_blobs(self, names: Sequence[str]) -> None:
        """Remove blobs from the spool."""
        await super().drop_blobs(names)
        if self._at.head in names:
            self._at = replace(self._at, stored=True)
            self._turn.settle()

    async def reset(self) -> None:
        """Start again with only the inputs; a cell that is running is killed.

        Raises:
            SandboxUnavailableError: the workspace cannot be emptied.
        """
        self._break_off()
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
        self._break_off()
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
        return file.exists() and file.read_text() != self._token
