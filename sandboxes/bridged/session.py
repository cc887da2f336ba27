"""The host's end of a kernel that a bridge holds: gives it cells, and takes in what they do."""

import asyncio
from collections.abc import Callable
from typing import Any

from sandboxes.base import SandboxLostError, SandboxUnavailableError
from sandboxes.bridged.channel import LINGER_SECONDS, Channel
from sandboxes.bridged.connection import Exchange
from sandboxes.host.calls import Calls, FloodError
from sandboxes.host.limits import Ending, Limits, in_words
from sandboxes.host.running_cell import CellRequest, FunctionOffer, KernelRequest, RunningCell
from sandboxes.inside.kernel import frames
from sandboxes.results import CellResult

NO_LIMITS = Limits()


class Session:
    """A session of the host: its first request starts a kernel. It cannot be used once `alive` is false.

    Args:
        channel: The way to the bridge.
        network: What the kernel is told that it may reach.
        dropping: Takes the names of blobs that can be removed; with a cell or a snapshot they are.
    """

    def __init__(self, channel: Channel, network: str, dropping: Callable[[], list[str]] = list) -> None:
        self._channel = channel
        self._network = network
        self._dropping = dropping
        self._began = False
        self.alive = True
        self.note: tuple[str, ...] | None = None
        """The note on the last cell, as it was when the last request ended; None: not known here."""
        self._when_gone: list[Callable[[], None]] = []
        self._offer = FunctionOffer()
        self._exchange: Exchange | None = None
        """The current request."""
        self._asked = False
        """Whether it is known to have been begun."""
        channel.when_gone = self._gone

    def _gone(self) -> None:
        self.alive = False

    async def run(self, request: CellRequest) -> CellResult:
        """Run one cell; see `Sandbox.run`. A cancelled cell is interrupted, and killed if that does not end it.

        Raises:
            SandboxLostError: the kernel had ended before, or nobody knows how the cell went on.
            SandboxUnavailableError: the sandbox cannot be reached; the cell was not run.
        """
        cell = RunningCell(request.on_output)
        order = cell.order(request)
        if isinstance(order, CellResult):
            return order
        data = self._offer.frame(request.functions) + order
        work = _Work(cell, request.timeout)
        cell.calls = Calls(
            request.functions,
            lambda header, body: self._tell(frames.pack({**header, "id": cell.id}, body)),
        )
        try:
            asked = {"timeout": request.timeout, "grace": request.grace, "linger": LINGER_SECONDS}
            await self._ask(work, data, **asked, drop=self._dropping())
        except asyncio.CancelledError:
            await self._stop(work, request.grace)
            raise
        finally:
            await cell.calls.close()
            self._exchange = None
        return cell.with_output(await work.result())

    async def ask(self, request: KernelRequest) -> dict[str, Any]:
        """Send the kernel a request that is not a cell, such as taking a snapshot. What it prints is discarded.

        Returns:
            The content of its answer.

        Raises:
            SandboxLostError: it ended, or had to be ended because it did not answer.
            SandboxUnavailableError: the sandbox cannot be reached.
        """
        work = _Work(RunningCell(None, request.answer), request.timeout)
        drop = self._dropping() if request.kind == "snapshot" else []
        try:
            packed = frames.pack({**request.content, "type": request.kind, "id": work.cell.id}, request.packed_body)
            await self._ask(work, packed, timeout=request.timeout, grace=request.grace, quiet=True, drop=drop)
        except asyncio.CancelledError:
            self.alive = False
            if self._exchange is not None:
                await asyncio.shield(self._channel.say(self._exchange, "kill"))
            raise
        finally:
            self._exchange = None
        if not work.cell.ended.done():
            raise SandboxLostError(f"The Python process is gone: {work.why()}.")
        return await work.cell.read_answer()

    async def _ask(self, work: "_Work", data: bytes, **asked: Any) -> None:
        """Send a request to the kernel through the bridge, and wait until it has ended."""
        began, self._began, self.note, self._asked = self._began, True, None, False
        header = {**asked, "id": work.cell.id, "answer": work.cell.answer, "fresh": not began, "network": self._network}
        loop = asyncio.get_running_loop()

        def take(header: dict[str, Any], body: bytes) -> None:
            try:
                work.take(header, body)
            except FloodError as error:
                work.flooded = str(error)
                if self._exchange is not None:
                    work.ending = loop.create_task(self._channel.say(self._exchange, "kill"))

        try:
            # It is known before it is begun: a call may have to be answered before that has been heard to arrive.
            self._exchange = exchange = self._channel.exchange(header, data, take)
            await self._channel.begin(exchange)
            self._asked = True
            await self._channel.outcome(exchange, asked["timeout"] + asked["grace"])
        except (SandboxLostError, SandboxUnavailableError):
            self.alive = False
            raise
        self._close_with(work)
        if work.lost:
            self.alive = False
            raise SandboxLostError(f"The session in {self._channel.noun} is lost: {work.lost}.")
        if (failed := str(work.over.get("failed") or "")) and not began:
            raise SandboxUnavailableError(f"A session cannot be started in {self._channel.noun} ({failed[:300]}).")

    def _close_with(self, work: "_Work") -> None:
        self.note = note_lines(work.over)
        self.alive = work.over.get("code") is None

    async def _tell(self, data: bytes) -> None:
        if self._exchange is not None:
            await self._channel.pass_on(self._exchange, data)

    async def _stop(self, work: "_Work", grace: float) -> None:
        """End a cell whose task was cancelled; a second cancel while waiting gives the session up."""
        exchange = self._exchange
        if exchange is None or not self._asked:
            self.alive = False  # nobody knows whether it began
            return
        try:
            await self._channel.say(exchange, "interrupt", grace=grace)
            await self._channel.outcome(exchange, grace)
        except asyncio.CancelledError:
            self.alive = False
            raise
        except (SandboxLostError, SandboxUnavailableError):
            self.alive = False
            return
        if not work.cell.ended.done():
            self.alive = False
            return
        self._close_with(work)

    def when_gone(self, call: Callable[[], None]) -> None:
        """Have `call` called when it is closed."""
        self._when_gone.append(call)

    async def kill(self) -> None:
        """Tell the bridge to end what runs now."""
        if self._exchange is not None:
            await self._channel.say(self._exchange, "kill")

    async def close(self) -> None:
        """Give it up; the kernel ends with the next session's first request, or with the sandbox."""
        self.alive = False
        calls, self._when_gone = self._when_gone, []
        for call in calls:
            call()


def note_lines(reply: dict[str, Any]) -> tuple[str, ...]:
    """The lines of the note on the last cell, as a sandbox gives them."""
    lines = reply.get("reached")
    return tuple(line for line in lines if isinstance(line, str)) if isinstance(lines, list) else ()


class _Work:
    """What is known of a request that is under way."""

    def __init__(self, cell: RunningCell, timeout: float) -> None:
        self.cell = cell
        self._timeout = timeout
        self.over: dict[str, Any] = {}
        """How it ended, as the bridge says."""
        self.lost = ""
        self.flooded = ""
        self.ending: asyncio.Task[None] | None = None
        self._streams = {"stdout": cell.stdout, "stderr": cell.stderr}

    def take(self, header: dict[str, Any], body: bytes) -> None:
        """Take in a frame of the bridge's.

        Raises:
            FloodError: there are too many calls.
        """
        kind = header.get("type")
        if kind == "kernel":
            if isinstance(inner := header.get("header"), dict):
                self.cell.hear(inner, body)
        elif kind == "over":
            self.over = header
        elif kind == "lost":
            self.lost = str(header.get("why", ""))[:300]
        elif (stream := self._streams.get(str(header.get("stream")))) is not None:
            if kind == "output":
                self.cell.take(stream, body)
            elif kind == "sample":
                self.cell.take_sample(stream, body)
            elif kind == "rest":
                dropped = header.get("dropped")
                stream.capture.leave_out(dropped if type(dropped) is int else 0)
                stream.capture.add(body)

    async def result(self) -> CellResult:
        """What the cell did, output aside."""
        if not self.cell.ended.done():
            why = self.why()
            return CellResult(status="killed", note=f"{why}; variables are lost", variables_kept=False)
        return await self.cell.result(late=bool(self.over.get("late")), timeout=self._timeout)

    def why(self) -> str:
        """Why the kernel is gone."""
        if self.flooded:
            return f"the session was ended because {self.flooded}"
        if self.over.get("discarded"):
            return "the sandbox was closed or reset while the cell ran"
        if self.over.get("protocol_error"):
            return "the session was ended because something other than the session wrote to its connection"
        if self.over.get("unresponsive"):
            return "the session was ended because it does not take what it is told"
        if self.over.get("ignored_interrupt"):
            limit = f"the cell reached its time limit of {self._timeout:g} s"
            return f"{limit}, did not react to the interrupt and was ended"
        code = self.over.get("code")
        return in_words(Ending(code if type(code) is int else 1), NO_LIMITS)
