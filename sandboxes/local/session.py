"""A session on this machine: starts a kernel, sends it cells, receives what they do, and wakes its standby."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sandboxes.base import SandboxLostError, SandboxUnavailableError
from sandboxes.host.calls import Calls, FloodError
from sandboxes.host.limits import Limits, in_words, limit_note
from sandboxes.host.processes import Order, Process, Start, StartedProcess
from sandboxes.host.running_cell import CellRequest, CellStream, FunctionOffer, KernelRequest, RunningCell
from sandboxes.inside.bridge.supervision import complaint, interrupt_waits
from sandboxes.inside.kernel import frames
from sandboxes.local.kernel_connection import SEND_SECONDS, KernelConnection
from sandboxes.local.network.egress import Egress
from sandboxes.results import CellResult

START_SECONDS = 60.0
"""How long a kernel may take until it says hello; a cold disk is slow."""
BEGIN_SECONDS = 10.0
"""How soon after a cell a kernel begins with its snapshot; background threads may hold it up for a while."""
MAX_UNASKED = 1_000
"""Frames that are taken in while nothing was asked."""
CHANGING = frozenset({"restore", "rebuild"})
"""Requests, beside cells, that change variables."""
END_SECONDS = 2.0
"""How long a process may take to end once its connection is closed, and a standby to go on."""


class Session:
    """A kernel in a process of this machine. Made by `start`; it cannot be used once `alive` is false.

    ```
    started ── hello ──> idle ── run, ask ──> busy ── answer ──> idle
                                                └── time limit ──> interrupted, twice ── answer ──> idle
                                                                     └── no answer ──> ended
    ended ── a copy was frozen before the cell ──> idle, with the variables as before the cell
      └── none ──> closed
    ```
    """

    def __init__(self, connection: StartedProcess, limits: Limits, egress: Egress | None = None) -> None:
        self._process: Process = connection.process
        self._connection = KernelConnection(connection.control, connection.stdout, connection.stderr, self._receive)
        self._limits = limits
        self._egress = egress
        if connection.listener is not None:
            if egress is not None:
                egress.open(connection.listener)
            else:
                connection.listener.close()
        self._cell: RunningCell | None = None
        self._changes = 0
        """How often variables were changed by request, as the kernel counts."""
        self._hello: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._discarded = False
        self._unasked = 0
        self._offer = FunctionOffer()

    @classmethod
    async def start(
        cls, start: Start, order: Order, *, limits: Limits, python: str, egress: Egress | None = None
    ) -> "Session":
        """Start a kernel and wait for its hello.

        Args:
            start: Starts its process.
            order: What to start.
            limits: What it may use.
            python: The interpreter, to be named if it does not start.
            egress: The way out of it, which ends with it.

        Raises:
            SandboxUnavailableError: it does not start.
        """
        connection = await start(order)
        session = cls(connection, limits, egress)
        try:
            await session._wait_for_hello(python)
        except BaseException:
            await session.close()
            raise
        session._watch_exit()
        return session

    def _watch_exit(self) -> None:
        self._process.exited.add_done_callback(lambda _: self._exited())

    def _exited(self) -> None:
        """Discard a process that ended by itself between two cells: its frozen copy is of no use."""
        if self._cell is None:
            self.discard()

    async def _wait_for_hello(self, python: str) -> None:
        stderr = CellStream("stderr")
        self._connection.listen(stderr=stderr.capture.add)
        ends = (self._hello, self._process.exited)
        await asyncio.wait(ends, timeout=START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        self._connection.pause()
        if not self._hello.done():
            self._connection.drain()
            ended = self._process.exited
            how = f"it ended with exit code {ended.result().code}" if ended.done() else "it did not answer"
            why = complaint(stderr.capture.text().text, self._process.why or "it printed nothing")
            raise SandboxUnavailableError(
                f"A session cannot be started with the Python interpreter {python}: {how} ({why}). "
                "Set STEPWELL_PYTHON to a Python 3.11 or newer, or unset it."
            )

    @property
    def alive(self) -> bool:
        """Whether it can run cells."""
        return self._process.alive and not self._connection.broken.done()

    def reached(self) -> tuple[str, ...]:
        """What the proxy has seen the last cell connect to."""
        return self._egress.reached() if self._egress is not None else ()

    def when_gone(self, call: Callable[[], None]) -> None:
        """Call `call` once its process has ended, whoever ended it."""
        self._process.gone.add_done_callback(lambda _: call())

    async def run(self, request: CellRequest) -> CellResult:
        """Run one cell; see `Sandbox.run`. A cancelled cell is interrupted, and killed if that does not end it.

        Raises:
            SandboxLostError: the process had ended before; the cell was not run.
        """
        cell = RunningCell(request.on_output)
        order = cell.order(request)
        if isinstance(order, CellResult):
            return order
        self._changes += 1
        data = self._offer.frame(request.functions) + order
        cell.calls = Calls(
            request.functions, lambda header, body: self._connection.send(frames.pack({**header, "id": cell.id}, body))
        )
        self._cell = cell
        self._listen(cell)
        self._process.busy(True)
        if self._egress is not None:
            self._egress.begin(request.number)
        sending = self._connection.send_now(data)
        try:
            result = await self._wait_for_result(cell, timeout=request.timeout, grace=request.grace)
        except asyncio.CancelledError:
            await self._stop_cell(cell, request.grace)
            raise
        finally:
            self._process.busy(False)
            self._cell = None
            try:
                if not await cell.calls.close():
                    self._connection.break_off("it does not take the answers to its calls")
                if sending is not None and not sending.done():
                    self._connection.break_off("it did not take the cell")
            except asyncio.CancelledError:
                self.discard()  # half a frame may be on its way
                raise
            finally:
                self._connection.pause()
                if sending is not None:
                    sending.cancel()
            if sending is not None:
                await asyncio.wait((sending,))
        if result.variables_kept and not self.alive:
            why = await self._end_process("it did not go on")
            await self.close()
            result = replace(result, status="killed", note=f"{why}; variables are lost", variables_kept=False)
        result = replace(result, reached=tuple(dict.fromkeys((*result.reached, *self.reached()))))
        return cell.with_output(result)

    async def ask(self, request: KernelRequest) -> dict[str, Any]:
        """Send a request that is not a cell, as for a snapshot. What the kernel prints meanwhile is dropped.

        Returns:
            The content of its answer.

        Raises:
            ProtocolError: `body` is too large.
            SandboxLostError: it ended, or had to be ended because it did not answer.
        """
        self._changes += request.kind in CHANGING
        cell = self._cell = RunningCell(None, request.answer)
        self._listen(cell)
        self._process.busy(True)
        try:
            order = frames.pack({**request.content, "type": request.kind, "id": cell.id}, request.packed_body)
            await self._connection.send(order, within=min(request.timeout, SEND_SECONDS))
            await self._wait_for_answer(cell, request.timeout, request.grace)
            self._connection.drain()
            if not cell.ended.done():
                why = await self._end_process("it did not answer")
                await self.close()
                raise SandboxLostError(f"The Python process is gone: {why}.")
            return await cell.read_answer()
        except asyncio.CancelledError:
            self.discard()
            raise
        finally:
            self._process.busy(False)
            self._connection.pause()
            self._cell = None

    async def _wait_for_answer(self, cell: RunningCell, timeout: float, grace: float) -> None:
        """Wait until the kernel has done what it was asked, or had to be interrupted.

        Code can send the answer of its own cell and go on; then the kernel does not begin with a snapshot.
        """
        if cell.answer == "snapshot":
            ends = (cell.begun, cell.ended, self._connection.broken, self._process.exited)
            await asyncio.wait(ends, timeout=BEGIN_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if not cell.begun.done() and not self._finished(cell):
                await self._interrupt(cell, grace, cell.begun)
        if cell.begun.done() or cell.answer != "snapshot" or self._finished(cell):
            await self._wait(cell, timeout)
            if not self._finished(cell):
                await self._interrupt(cell, grace)

    async def _wait_for_result(self, cell: RunningCell, *, timeout: float, grace: float) -> CellResult:
        """Wait for the end of the cell, whichever it is; the result lacks its output."""
        await self._wait(cell, timeout)
        late = not self._finished(cell)
        if late:
            await self._interrupt(cell, grace)
        self._connection.drain()
        if cell.ended.done():
            result = await cell.result(late=late, timeout=timeout)
            note = "" if late else limit_note(result.error, self._limits)
            return replace(result, note=note) if note else result
        began = time.monotonic()
        note = await self._end_process(
            f"the cell reached its time limit of {timeout:g} s, did not react to the interrupt"
        )
        if (hello := await self._wake_copy(cell)) is None:
            await self.close()
            return CellResult(status="killed", note=f"{note}; variables are lost", variables_kept=False)
        seconds = time.monotonic() - began
        files = "" if hello.get("files_changed") is False else ", but it had changed files"
        copy = f"a copy frozen before the cell went on after {1e3 * seconds:.0f} ms"
        return CellResult(
            status="killed",
            note=f"{note}; the variables are as before the cell ({copy}){files}",
            variables_kept=False,
            recovered="files" if files else "copy",
            recovery_seconds=seconds,
        )

    async def _end_process(self, too_late: str) -> str:
        """End what is left of a kernel that cannot go on, except for a standby.

        Returns:
            Why it cannot go on: `too_late` if its time is merely over.
        """
        runs = not self._connection.broken.done() and not self._process.exited.done()
        hostile = self._connection.protocol_error and not self._discarded
        if (runs and not self._process.stop()) or (hostile and not runs):
            self._process.kill()
        await asyncio.wait((self._process.exited,), timeout=END_SECONDS)
        self._connection.drain()
        if runs:
            return f"{too_late} and was ended"
        if self._discarded:
            return "the sandbox was closed or reset while the cell ran"
        if self._process.exited.done() and not hostile:
            return in_words(self._process.exited.result(), self._limits)
        return f"the session was ended because {self._connection.broken.result()}"

    async def _wake_copy(self, cell: RunningCell) -> dict[str, Any] | None:
        """Let the standby take over from a process that ended.

        Returns:
            What it said; None when there is none, or it cannot be trusted with the connection any more.
        """
        ended = self._process.exited
        if self._discarded or self._connection.broken.done() or not ended.done() or not ended.result().copy:
            return None
        if (cell.calls is not None and not await cell.calls.close(seconds=0.0)) or self._connection.busy:
            return None  # half a frame is on its way, and nobody would know where the next one begins
        before = self._changes - 1
        hello = await self._wake()
        # Of a session that has threads by now, or to which cells came one after the other, the last copy is too old.
        return hello if self._changes == before else None

    async def _wake(self) -> dict[str, Any] | None:
        """Wake the copy that was spared; what it said."""
        self._offer.forget()
        self._connection.resync()
        if self._connection.broken.done():
            return None
        self._hello = asyncio.get_running_loop().create_future()
        self._process.wake()
        ends = (self._hello, self._connection.broken, self._process.exited)
        await asyncio.wait(ends, timeout=END_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        self._watch_exit()
        if not self._hello.done():
            return None
        hello = self._hello.result()
        self._changes = changes if isinstance(changes := hello.get("changes"), int) else -1
        return hello

    async def return_to(self, step: str) -> bool:
        """Have the frozen copy of an earlier step go on in the place of the session, if there is one.

        Returns:
            Whether it goes on. If not, the session is as it was, or it is of no use any more.
        """
        if not self.alive or self._cell is not None or self._connection.busy:
            return False
        try:
            if not await self._process.return_to(step):
                return False
            self._connection.listen()
            hello = await self._wake()
            if hello is not None and hello.get("head") == step:
                return True
        except asyncio.CancelledError:
            self.discard()
            raise
        finally:
            self._connection.pause()
        await self.close()
        return False

    async def _stop_cell(self, cell: RunningCell, grace: float) -> None:
        """End a cell whose task was cancelled; a second cancel while waiting kills at once."""
        try:
            if not self._finished(cell):
                await self._interrupt(cell, grace)
            if cell.ended.done():
                await self._connection.send(frames.pack({"type": "head", "head": ""}), within=SEND_SECONDS)
                return
        except asyncio.CancelledError:
            self.discard()
            raise
        await self.close()

    async def _interrupt(self, cell: RunningCell, grace: float, enough: "asyncio.Future[None] | None" = None) -> None:
        """Interrupt a cell and wait for its end.

        Args:
            cell: The cell.
            grace: Seconds that it has to end.
            enough: What will do in place of its end.
        """
        for seconds in interrupt_waits(grace):
            if not self._finished(cell) and (enough is None or not enough.done()):
                self._process.interrupt()
                await self._wait(cell, seconds, enough)

    async def _wait(self, cell: RunningCell, timeout: float, enough: "asyncio.Future[None] | None" = None) -> None:
        ends = (cell.ended, self._connection.broken, self._process.exited, *((enough,) if enough is not None else ()))
        await asyncio.wait(ends, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if self._process.exited.done():
            await self._connection.read_rest(cell.ended.done)  # its last words were still on the way

    def _finished(self, cell: RunningCell) -> bool:
        return cell.ended.done() or self._connection.broken.done() or self._process.exited.done()

    def _listen(self, cell: RunningCell) -> None:
        self._connection.listen(
            lambda data: cell.take(cell.stdout, data),
            lambda data: cell.take(cell.stderr, data),
        )

    def _receive(self, header: dict[str, Any], body: bytes) -> None:
        if header.get("type") == "hello" and not self._hello.done():
            self._hello.set_result(header)
        if self._cell is not None:
            self._cell.hear(header, body)
            return
        self._unasked += 1
        if self._unasked > MAX_UNASKED:
            raise FloodError("it sent messages that nobody asked for")

    def discard(self) -> None:
        """Kill the process and close the connections, without waiting."""
        self._discarded = True
        self._process.kill()
        self._connection.close()

    async def kill(self) -> None:
        """End what it does now; it cannot be used afterwards."""
        self.discard()

    async def close(self) -> None:
        """Kill the process and wait until it is gone."""
        self.discard()
        if self._egress is not None:
            await self._egress.close()
        await asyncio.wait((self._process.gone,))
