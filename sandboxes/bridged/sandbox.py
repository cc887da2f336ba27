"""A bridged sandbox: the port, over a bridge that holds the kernel on a machine."""

from collections.abc import Sequence
from contextlib import suppress

from sandboxes.base import SandboxRefusedError, SandboxUnavailableError
from sandboxes.bridged.channel import Channel
from sandboxes.bridged.files import BridgedFiles, empty_workspace, end_session
from sandboxes.bridged.machine import Machine
from sandboxes.bridged.place import Place
from sandboxes.bridged.session import Session, note_lines
from sandboxes.host import replies
from sandboxes.host.blobs import checked
from sandboxes.host.kernel_sandbox import KernelSandbox
from sandboxes.host.session_pool import SessionPool
from sandboxes.host.tasks import uncancellable
from sandboxes.results import Reached


class BridgedSandbox(KernelSandbox[Session], BridgedFiles):
    """A Python session on a machine, which is made, or started, when it is first used.

    Args:
        machine: The machine.
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
        BridgedFiles.__init__(self, self._place, self._lease)
        self._machine = machine
        self._network = network
        self._keep = keep
        self._channel = Channel(self._place)
        self._used = False
        """Whether a session of this process has been in it."""

    @property
    def kind(self) -> str:
        """That of its machine."""
        return self._machine.kind

    @property
    def isolation(self) -> str:
        """What keeps code in it away from this machine."""
        return self._machine.isolation

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
        """Stop the machine, unless another worker is in it."""
        # Inputs are in it before its first session, or `hold` was called.
        all_stored = stored if self._used else self._machine.was_stored
        self._used = False
        await self._channel.close()
        if not self._keep:
            await self._machine.end("delete")
        elif await end_session(self._place, self._channel.token):
            await self._machine.end("spare" if all_stored else "keep")

    async def _empty_workspace(self) -> None:
        await empty_workspace(self._place, self._channel.token)

    async def _remove_supplied(self) -> None:
        await self._place.command("forget")

    async def drop_blobs(self, names: Sequence[str]) -> None:
        """Remove blobs from the spool, together with the next request.

        What the newest snapshot needs stays in the sandbox, so that waking it moves nothing.
        """
        self._to_drop.extend(checked(name) for name in names)
        self._mark_stored(names)

    async def close(self) -> None:
        """End the session, a running cell too, and stop the machine. The workspace's files stay where they are.

        A caller that is cancelled waits until it is done: a half-stopped machine keeps running, and costs money.
        """
        await uncancellable(self._close())

    async def _close(self) -> None:
        with suppress(SandboxUnavailableError, SandboxRefusedError):  # then it is stopped for being idle
            await super().close()
        await self._machine.settled()

    async def hold(self) -> None:
        """Keep the sandbox: it holds something that exists nowhere else.

        Raises:
            SandboxUnavailableError: it cannot be said now.
        """
        await self._machine.hold()
