"""The Daytona sandbox: the port, over a bridge that holds the kernel in it."""

from collections.abc import Sequence
from contextlib import suppress

from sandboxes.base import SandboxRefusedError, SandboxUnavailableError
from sandboxes.daytona import transfers
from sandboxes.daytona.channel import Channel
from sandboxes.daytona.files import DaytonaFiles
from sandboxes.daytona.machine import Machine
from sandboxes.daytona.place import Place
from sandboxes.daytona.session import Session, note_lines
from sandboxes.host import replies
from sandboxes.host.kernel_sandbox import KernelSandbox
from sandboxes.host.session_pool import SessionPool
from sandboxes.host.tasks import uncancellable
from sandboxes.results import Reached


class DaytonaSandbox(KernelSandbox[Session], DaytonaFiles):
    """A Python session in a sandbox of Daytona's. It is made, or started, when it is first used.

    Args:
        machine: The sandbox.
        id: The thread's.
        network: What the kernel is told that it may reach.
        grace: Seconds that an interrupted cell has to end before it is killed.
        pool: Which of these sandboxes are awake; default: this one, until it is closed.
        keep: Whether closing only stops it; else it is deleted.
    """

    def __init__(
        self,
        machine: Machine,
        id: str,
        *,
        network: str = "none",
        grace: float = 3.0,
        pool: SessionPool | None = None,
        keep: bool = True,
    ) -> None:
        KernelSandbox.__init__(self, id, grace=grace, pool=pool)
        self._place = Place(machine)
        DaytonaFiles.__init__(self, self._place, self._lease)
        self._machine = machine
        self._network = network
        self._keep = keep
        self._channel = Channel(self._place)
        self._used = False
        """Whether a session of this process has been in it."""

    @property
    def kind(self) -> str:
        """`daytona`."""
        return "daytona"

    @property
    def isolation(self) -> str:
        """What keeps code in it away from this machine."""
        return "Daytona: a sandbox on Daytona's machines; nothing runs on this one."

    async def reached(self) -> Reached:
        """The note on the last cell that began; see `Sandbox.reached`.

        Raises:
            SandboxUnavailableError: it cannot be read.
        """
        place = await self._place.ready()
        session = self._session
        if session is not None and session.note is not None:
            lines = session.note
        else:
            lines = note_lines(await self._place.command("state"))
        what = replies.reached({"reached": list(lines[1:])})
        # Its network is as closed as that since it was started, or it would not have been.
        confined = self._network == "none"
        return Reached(sandbox=place.name, head=lines[0][:64] if lines else "", what=what, confined=confined)

    async def _start_session(self) -> Session:
        await self._place.ready()
        self._refuse_when_closed()
        self._used = True
        return Session(self._channel, self._network, self._dropping)

    async def _put_away(self, stored: bool) -> None:
        """Stop the sandbox, unless another worker is in it."""
        # Inputs are in it before its first session, or `hold` was called.
        all_stored = stored if self._used else self._machine.was_stored
        self._used = False
        await self._channel.close()
        if not self._keep:
            await self._machine.delete()
        elif self._machine.known and await transfers.end(self._place, self._channel.token):
            await (self._machine.release() if all_stored else self._machine.stop())

    async def _empty_workspace(self) -> None:
        await transfers.empty(self._place, self._channel.token)

    async def _remove_supplied(self) -> None:
        await self._place.command("forget")

    async def drop_blobs(self, names: Sequence[str]) -> None:
        """Remove blobs from the spool; that is done on the way, with what is asked next.

        What the newest snapshot needs stays in the sandbox, so that waking it moves nothing.
        """
        self._to_drop.extend(transfers.checked(name) for name in names)
        self._mark_stored(names)

    async def close(self) -> None:
        """End the session, a running cell too, and stop the sandbox. The workspace's files stay where they are.

        Who is cancelled meanwhile leaves when it is done: a sandbox that is half stopped runs on, and costs.
        """
        await uncancellable(self._close())

    async def _close(self) -> None:
        with suppress(SandboxUnavailableError, SandboxRefusedError):  # then Daytona stops it by itself, later
            await super().close()
        await self._machine.settled()

    async def hold(self) -> None:
        """Keep the sandbox: something in it is nowhere else.

        Raises:
            SandboxUnavailableError: that cannot be said to the service.
        """
        await self._machine.hold()
