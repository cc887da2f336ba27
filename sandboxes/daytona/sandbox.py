"""The Daytona sandbox: the port, over a bridge that holds the kernel in it."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sandboxes.base import SandboxLostError, SandboxRefusedError, SandboxUnavailableError
from sandboxes.bridged.channel import Channel
from sandboxes.bridged.machine import Machine
from sandboxes.bridged.place import Place
from sandboxes.daytona import transfers
from sandboxes.daytona.files import DaytonaFiles
from sandboxes.daytona.session import Session, note_lines
from sandboxes.functions import Functions
from sandboxes.host import replies
from sandboxes.host.living import Living, Standing, Stay
from sandboxes.host.steps import SNAPSHOT_SECONDS, Steps
from sandboxes.host.uninterrupted import to_its_end
from sandboxes.results import CellResult, Reached, Streamed


class DaytonaSandbox(Steps, DaytonaFiles):
    """A Python session in a sandbox of Daytona's. It is made, or started, when it is first used.

    Args:
        machine: The sandbox.
        id: The thread's.
        network: What the kernel is told that it may reach.
        grace: Seconds that an interrupted cell has to end before it is killed.
        living: Which of these sandboxes are awake; default: this one, until it is closed.
        keep: Whether closing only stops it; else it is deleted.
    """

    def __init__(
        self,
        machine: Machine,
        id: str,
        *,
        network: str = "none",
        grace: float = 3.0,
        living: Living | None = None,
        keep: bool = True,
    ) -> None:
        self._machine = machine
        self._id = id
        self._network = network
        self._grace = grace
        self._keep = keep
        super().__init__(Place(machine))
        self._channel = Channel(self._place)
        self._session: Session | None = None
        self._at = Standing()
        self._slept = ""
        self._noted = False
        """Whether the last cell's note is known here."""
        self._used = False
        """Whether a session of this process has been in it."""
        self._closed = False
        self._turn = Stay(living or Living(most=1), self)

    @property
    def kind(self) -> str:
        """`daytona`."""
        return "daytona"

    @property
    def id(self) -> str:
        """Its name."""
        return self._id

    @property
    def head(self) -> str:
        """The snapshot that it is at; empty without a living session."""
        return self._at.head if self._session is not None and self._session.alive else ""

    @property
    def isolation(self) -> str:
        """What keeps code in it away from this machine."""
        return "Daytona: a sandbox on Daytona's machines; nothing runs on this one."

    async def sleep(self) -> None:
        """Stop it unless something would be lost by that; `restore` wakes it."""
        async with self._turn:
            if self.rest != "never":
                slept = self._at.head
                await to_its_end(self._stop())
                self._slept = slept

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
            SandboxLostError: it is closed, or its session ended between two cells, or nobody knows how the cell ended.
            SandboxUnavailableError: the sandbox cannot be reached.
        """
        async with self._turn:
            session = await self._ready()
            self._at, self._noted = Standing(), False
            try:
                result = await session.run(
                    code,
                    number=number,
                    timeout=timeout,
                    grace=self._grace,
                    head=head,
                    on_output=on_output,
                    functions=functions,
                    drop=self._dropping(),
                )
            finally:
                if not session.alive:
                    self._forget_session()
            self._noted = True
            if result.variables_kept:
                self._at = Standing(head)
                return result
            return replace(result, reached=replies.reached({"reached": list(session.note[1:])}))

    async def reached(self) -> Reached:
        """The note on the last cell that began; see `Sandbox.reached`.

        Raises:
            SandboxUnavailableError: it cannot be read.
        """
        place = await self._place.ready()
        if self._session is not None and self._noted:
            lines = self._session.note
        else:
            said = await self._place.command("state")
            lines = note_lines(said)
        what = replies.reached({"reached": list(lines[1:])})
        # Its network is as closed as that since it was started, or it would not have been.
        confined = self._network == "none"
        return Reached(sandbox=place.name, head=lines[0][:64] if lines else "", what=what, confined=confined)

    async def _ready(self) -> Session:
        """The living session; a new one begins with its first request."""
        self._refuse_when_closed()
        if self._session is not None and not self._session.alive:
            self._forget_session()
            raise SandboxLostError(
                f"The session of sandbox {self._id} ended between two cells; its variables are lost."
            )
        if self._slept:
            self._slept = ""
            raise SandboxLostError(f"The session of sandbox {self._id} was put to sleep; restore its snapshot.")
        if self._session is None:
            await self._turn.enter()
            await self._place.ready()
            self._refuse_when_closed()
            self._session, self._used = Session(self._channel, self._network), True
            self._turn.began()
        return self._session

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise SandboxLostError(f"The sandbox {self._id} is closed.")

    async def _break_off(self) -> None:
        self._turn.give_up()
        if self._session is not None:
            await self._session.interrupt()

    def _forget_session(self) -> None:
        session, self._session = self._session, None
        self._at, self._slept = Standing(), ""
        if session is not None:
            session.alive = False
            self._turn.ended()

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
                kind,
                content,
                answer=answer or kind,
                timeout=seconds,
                grace=self._grace,
                body=body,
                drop=self._dropping() if kind == "snapshot" else (),
            )
        finally:
            if not session.alive:
                self._forget_session()

    async def _drop(self) -> None:
        self._forget_session()

    async def _forget_blobs(self) -> None:
        await self._place.command("forget")

    async def drop_blobs(self, names: Sequence[str]) -> None:
        """Remove blobs from the spool; that is done on the way, with what is asked next.

        What the newest snapshot needs stays in the sandbox, so that waking it moves nothing.
        """
        self._to_drop.extend(transfers.checked(name) for name in names)
        self._note_stored(names)

    async def reset(self) -> None:
        """Start again with only the inputs; a cell that is running is killed.

        Raises:
            SandboxUnavailableError: the workspace cannot be emptied.
        """
        await self._break_off()
        async with self._turn:
            self._forget_session()
            await transfers.empty(self._place, self._channel.token)

    async def close(self) -> None:
        """End the session, a running cell too, and stop the sandbox. The workspace's files stay where they are.

        Who is cancelled meanwhile leaves when it is done: a sandbox that is half stopped runs on, and costs.
        """
        self._closed = True
        await to_its_end(self._close())

    async def _close(self) -> None:
        await self._break_off()
        async with self._turn:
            with suppress(SandboxUnavailableError, SandboxRefusedError):  # then Daytona stops it by itself, later
                await self._stop()
            await self._machine.settled()

    async def _stop(self) -> None:
        """End the session and stop the sandbox, unless another worker is in it."""
        all_stored, self._used = self._all_stored, False
        self._forget_session()
        await self._channel.close()
        if not self._keep:
            await self._machine.end("delete")
        elif await transfers.end(self._place, self._channel.token):
            await self._machine.end("spare" if all_stored else "keep")

    @property
    def _all_stored(self) -> bool:
        """Whether the store has all that is in the sandbox; inputs are in it, or `hold` was called."""
        return self.rest != "never" if self._used else self._machine.was_stored

    async def hold(self) -> None:
        """Keep the sandbox: something in it is nowhere else.

        Raises:
            SandboxUnavailableError: that cannot be said to the service.
        """
        await self._machine.hold()
