"""The host's end of one kernel: starts it, sends it cells, takes in what they do, and wakes its frozen copy."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sandboxes.base import SandboxLostError, SandboxUnavailableError
from sandboxes.functions import Functions
from sandboxes.host.calls import Calls, FloodError
from sandboxes.host.limits import Limits, in_words, limit_note
from sandboxes.host.processes import Connection, Order, Process, Start
from sandboxes.host.running_cell import Offer, OnOutput, RunningCell, Stream
from sandboxes.inside.kernel import frames
from sandboxes.local.kernel_connection import SEND_SECONDS, KernelLine
from sandboxes.local.network.doorway import Doorway
from sandboxes.results import CellResult

START_SECONDS = 60.0
"""How long a kernel may take until it says hello; a cold disk is slow."""
ATTEND_SECONDS = 10.0
"""How soon after a cell a kernel begins with its snapshot; background threads may hold it up for a while."""
MAX_UNASKED = 1_000
"""Frames that are taken in while nothing was asked."""
END_SECONDS = 2.0
"""How long a process may take to end once its connection is closed, and a frozen copy to go on."""


class Session:
    """A living kernel. Made by `start`; of no use any more once `alive` is false."""

    def __init__(self, connection: Connection, limits: Limits, doorway: Doorway | None = None) -> None:
        self._process: Process = connection.process
        self._line = KernelLine(connection.control, connection.stdout, connection.stderr, self._take)
        self._limits = limits
        self._doorway = doorway
        if connection.door is not None:
            if doorway is not None:
                doorway.open(connection.door)
            else:
                connection.door.close()
        self._cell: RunningCell | None = None
        self._hello: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._discarded = False
        self._unasked = 0
        self._offer = Offer()

    @classmethod
    async def start(
        cls, start: Start, order: Order, *, limits: Limits, python: str, doorway: Doorway | None = None
    ) -> "Session":
        """Start a kernel and wait for its hello.

        Args:
            start: Starts its process.
            order: What to start.
            limits: What it may use.
            python: The interpreter, to be named if it does not start.
            doorway: The way out of it, which ends with it.

        Raises:
            SandboxUnavailableError: it does not start.
        """
        connection = await start(order)
        session = cls(connection, limits, doorway)
        try:
            await session._greet(python)
        except BaseException:
            await session.close()
            raise
        session._watch()
        return session

    def _watch(self) -> None:
        self._process.exited.add_done_callback(lambda _: self._died())

    def _died(self) -> None:
        """Let go of a process that ended by itself between two cells: its frozen copy is of no use to anybody."""
        if self._cell is None:
            self.discard()

    async def _greet(self, python: str) -> None:
        said = Stream("stderr")
        self._line.listen(stderr=said.capture.add)
        ends = (self._hello, self._process.exited)
        await asyncio.wait(ends, timeout=START_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        self._line.pause()
        if not self._hello.done():
            self._line.drain()
            ended = self._process.exited
            how = f"it ended with exit code {ended.result().code}" if ended.done() else "it did not answer"
            lines = said.capture.text().text.strip().splitlines() or [self._process.why or "it printed nothing"]
            said_why = lines[-1] if lines[0].startswith("Traceback") else lines[0]
            raise SandboxUnavailableError(
                f"A session cannot be started with the Python interpreter {python}: {how} ({said_why[:300]}). "
                "Set STEPWELL_PYTHON to a Python 3.11 or newer, or unset it."
            )

    @property
    def alive(self) -> bool:
        """Whether it can run cells."""
        return self._process.alive and not self._line.broken.done()

    def reached(self) -> tuple[str, ...]:
        """What the way out of it has seen the last cell connect to, whatever that cell did not note itself."""
        return self._doorway.reached() if self._doorway is not None else ()

    def when_gone(self, call: Callable[[], None]) -> None:
        """Have `call` called once its process is gone, whoever ended it."""
        self._process.gone.add_done_callback(lambda _: call())

    async def run(
        self,
        code: str,
        *,
        number: int,
        timeout: float,
        grace: float,
        head: str,
        on_output: OnOutput | None,
        functions: Functions | None = None,
    ) -> CellResult:
        """Run one cell; see `Sandbox.run`. A cancelled cell is interrupted, and killed if that does not end it.

        Raises:
            SandboxLostError: the process had ended before; the cell was not run.
        """
        cell = RunningCell(on_output)
        order = cell.order(code, number=number, head=head)
        if isinstance(order, CellResult):
            return order
        data = self._offer.frame(functions) + order
        cell.calls = Calls(
            functions, lambda header, body: self._line.send(frames.pack({**header, "id": cell.id}, body))
        )
        self._cell = cell
        self._listen(cell)
        self._process.busy(True)
        if self._doorway is not None:
            self._doorway.begin(number)
        rest = self._line.begin_to_send(data)
        try:
            result = await self._follow(cell, timeout=timeout, grace=grace)
        except asyncio.CancelledError:
            await self._stop(cell, grace)
            raise
        finally:
            self._process.busy(False)
            self._cell = None
            try:
                if not await cell.calls.close():
                    self._line.cut("it does not take the answers to its calls")
                if rest is not None and not rest.done():
                    self._line.cut("it did not take the cell")
            except asyncio.CancelledError:
                self.discard()  # half a frame may be on its way
                raise
            finally:
                self._line.pause()
                if rest is not None:
                    rest.cancel()
            if rest is not None:
                await asyncio.wait((rest,))
        if result.variables_kept and not self.alive:
            why = await self._end("it did not go on")
            await self.close()
            result = replace(result, status="killed", note=f"{why}; variables are lost", variables_kept=False)
        result = replace(result, reached=tuple(dict.fromkeys((*result.reached, *self.reached()))))
        return cell.with_output(result)

    async def ask(
        self,
        kind: str,
        content: Mapping[str, Any],
        *,
        answer: str,
        timeout: float,
        grace: float,
        body: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Have the kernel do something of its own: take a snapshot, or restore one. What it prints is let go.

        Returns:
            The content of its answer.

        Raises:
            ProtocolError: `body` is too large.
            SandboxLostError: it ended, or had to be ended because it did not answer.
        """
        cell = self._cell = RunningCell(None, answer)
        self._listen(cell)
        self._process.busy(True)
        try:
            data = json.dumps(body).encode() if body is not None else b""
            order = frames.pack({**content, "type": kind, "id": cell.id}, data)
            await self._line.send(order, within=min(timeout, SEND_SECONDS))
            await self._attended(cell, timeout, grace)
            self._line.drain()
            if not cell.ended.done():
                why = await self._end("it did not answer")
                await self.close()
                raise SandboxLostError(f"The Python process is gone: {why}.")
            return await cell.said()
        except asyncio.CancelledError:
            self.discard()
            raise
        finally:
            self._process.busy(False)
            self._line.pause()
            self._cell = None

    async def _attended(self, cell: RunningCell, timeout: float, grace: float) -> None:
        """Wait until the kernel has done what it was asked, or had to be interrupted.

        A cell that said itself that it had ended may go on, and then nobody attends to what is asked.
        """
        if cell.answer == "snapshot":
            ends = (cell.begun, cell.ended, self._line.broken, self._process.exited)
            await asyncio.wait(ends, timeout=ATTEND_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if not cell.begun.done() and not self._over(cell):
                await self._interrupt(cell, grace, cell.begun)
        if cell.begun.done() or cell.answer != "snapshot" or self._over(cell):
            await self._wait(cell, timeout)
            if not self._over(cell):
                await self._interrupt(cell, grace)

    async def _follow(self, cell: RunningCell, *, timeout: float, grace: float) -> CellResult:
        """Wait for the end of the cell, whichever it is, and say what it was; output aside."""
        await self._wait(cell, timeout)
        late = not self._over(cell)
        if late:
            await self._interrupt(cell, grace)
        self._line.drain()
        if cell.ended.done():
            result = await cell.result(late=late, timeout=timeout)
            note = "" if late else limit_note(result.error, self._limits)
            return replace(result, note=note) if note else result
        began = time.monotonic()
        note = await self._end(f"the cell reached its time limit of {timeout:g} s, did not react to the interrupt")
        if (hello := await self._revived(cell)) is None:
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

    async def _end(self, hanging: str) -> str:
        """End what is left of a kernel that cannot go on, but for a frozen copy.

        Returns:
            Why it cannot: `hanging` if it is merely too late.
        """
        if not self._line.broken.done() and not self._process.exited.done():
            if not self._process.stop():
                self._process.kill()
            await asyncio.wait((self._process.exited,), timeout=END_SECONDS)
            self._line.drain()
            return f"{hanging} and was ended"
        if self._line.garbled and not self._discarded:
            self._process.kill()  # it lives, and would go on
            await asyncio.wait((self._process.exited,), timeout=END_SECONDS)
            self._line.drain()
            return f"the session was ended because {self._line.broken.result()}"
        await asyncio.wait((self._process.exited,), timeout=END_SECONDS)
        self._line.drain()
        if self._discarded:
            return "the sandbox was closed or reset while the cell ran"
        if self._process.exited.done():
            return in_words(self._process.exited.result(), self._limits)
        return f"the session was ended because {self._line.broken.result()}"

    async def _revived(self, cell: RunningCell) -> dict[str, Any] | None:
        """Have a frozen copy go on in the place of a process that ended.

        Returns:
            What it said; None when there is none, or it cannot be trusted with the connection any more.
        """
        ended = self._process.exited
        if self._discarded or self._line.broken.done() or not ended.done() or not ended.result().copy:
            return None
        if (cell.calls is not None and not await cell.calls.close(seconds=0.0)) or self._line.busy:
            return None  # half a frame is on its way, and nobody would know where the next one begins
        self._offer.forget()
        self._line.begin_anew()
        if self._line.broken.done():
            return None
        self._hello = asyncio.get_running_loop().create_future()
        self._process.wake()
        ends = (self._hello, self._line.broken, self._process.exited)
        await asyncio.wait(ends, timeout=END_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        self._watch()
        return self._hello.result() if self._hello.done() else None

    async def _stop(self, cell: RunningCell, grace: float) -> None:
        """End a cell whose task was cancelled; a second cancel while waiting kills at once."""
        try:
            if not self._over(cell):
                await self._interrupt(cell, grace)
            if cell.ended.done():
                await self._line.send(frames.pack({"type": "head", "head": ""}), within=SEND_SECONDS)
                return
        except asyncio.CancelledError:
            self.discard()
            raise
        await self.close()

    async def _interrupt(self, cell: RunningCell, grace: float, enough: "asyncio.Future[None] | None" = None) -> None:
        """Interrupt a cell and wait for its end; twice, for the first is lost on a kernel that had not taken it in.

        Args:
            cell: The cell.
            grace: Seconds that it has to end.
            enough: What will do in place of its end.
        """
        for _ in range(2):
            if not self._over(cell) and (enough is None or not enough.done()):
                self._process.interrupt()
                await self._wait(cell, grace / 2, enough)

    async def _wait(self, cell: RunningCell, timeout: float, enough: "asyncio.Future[None] | None" = None) -> None:
        ends = (cell.ended, self._line.broken, self._process.exited, *((enough,) if enough is not None else ()))
        await asyncio.wait(ends, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        if self._process.exited.done():
            await self._line.read_rest(cell.ended.done)  # its last words were still on the way

    def _over(self, cell: RunningCell) -> bool:
        return cell.ended.done() or self._line.broken.done() or self._process.exited.done()

    def _listen(self, cell: RunningCell) -> None:
        self._line.listen(
            lambda data: cell.take(cell.stdout, data),
            lambda data: cell.take(cell.stderr, data),
        )

    def _take(self, header: dict[str, Any], body: bytes) -> None:
        if header.get("type") == "hello" and not self._hello.done():
            self._hello.set_result(header)
        if self._cell is not None:
            self._cell.hear(header, body)
            return
        self._unasked += 1
        if self._unasked > MAX_UNASKED:
            raise FloodError("it sent messages that nobody asked for")

    def discard(self) -> None:
        """Kill the process and let go of everything, without waiting."""
        self._discarded = True
        self._process.kill()
        self._line.close()

    async def kill(self) -> None:
        """End what it does now; it is of no use any more."""
        self.discard()

    async def close(self) -> None:
        """Kill the process and wait until it is gone."""
        self.discard()
        if self._doorway is not None:
            await self._doorway.close()
        await asyncio.wait((self._process.gone,))
