"""The host end of what a kernel is connected to: frames both ways over one connection, and its two streams."""

import asyncio
import selectors
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from sandboxes.host.calls import FloodError
from sandboxes.host.descriptors import Pipe
from sandboxes.inside.kernel import frames


class FdGroup:
    """Calls what reads a descriptor when something has come; only while they are open."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._number = self._selector.fileno()
        self._open = False

    def add(self, descriptor: int, read: Callable[[], Any]) -> None:
        """Call `read` when a descriptor becomes readable."""
        self._selector.register(descriptor, selectors.EVENT_READ, read)

    def drop(self, descriptor: int) -> None:
        """Remove a descriptor; it must not be closed yet."""
        with suppress(KeyError):
            self._selector.unregister(descriptor)

    def open(self) -> None:
        """Watch the descriptors; without effect after `close`."""
        if not self._open and self._number >= 0:
            self._open = True
            asyncio.get_running_loop().add_reader(self._number, self._hear)

    def pause(self) -> None:
        """Leave what comes from now on unread."""
        if self._open:
            self._open = False
            asyncio.get_running_loop().remove_reader(self._number)

    def close(self) -> None:
        """Remove all descriptors."""
        self.pause()
        if self._number >= 0:
            self._number = -1
            self._selector.close()

    def _hear(self) -> None:
        for key, _ in self._selector.select(0):
            if not self._open:
                return
            key.data()


READ_SIZE = 1 << 18
TURN_SECONDS = 0.002
"""How long frames are processed before the event loop gets its turn."""
MAX_HEADER = 8_192
"""Bytes of a header; those of kernels have a few hundred."""
REST_READS = 16
"""A connection holds less than so many reads; one that is still not empty has a living writer."""
SEND_SECONDS = 10.0
"""How long a kernel without a cell may take to read a request."""

Take = Callable[[dict[str, Any], bytes], None]


class KernelConnection:
    """One connection to a kernel. It is read only between `listen` and `pause`.

    Args:
        control: The connection, non-blocking.
        stdout: Where its standard output comes.
        stderr: Where its errors come.
        take: Called with each frame; a `FloodError` that it raises breaks the line.
    """

    def __init__(self, control: socket.socket, stdout: Pipe, stderr: Pipe, take: Take) -> None:
        self._control = control
        self._stdout, self._stderr = stdout, stderr
        self._take = take
        self._unpacker = frames.Unpacker(MAX_HEADER)
        self._more = False
        """Whether frames may have come that are not processed yet."""
        self._next: asyncio.Handle | None = None
        self._sending = asyncio.Lock()
        self._rest = b""
        """What is left of a frame that was begun; it comes before all others."""
        self._fds = FdGroup()
        self._fds.add(control.fileno(), self.read)
        for pipe in (stdout, stderr):
            if not pipe.ended.done():
                self._fds.add(pipe.fileno(), partial(self._hear, pipe))
        self.broken: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Why it cannot be used any more."""
        self.protocol_error = False
        """Whether something came over it that no kernel sends."""

    @property
    def busy(self) -> bool:
        """Whether something is being sent."""
        return self._sending.locked() or bool(self._rest)

    def send_now(self, data: bytes) -> asyncio.Future[None] | None:
        """Send what of the frames can be sent without waiting.

        Returns:
            The task that sends the rest, if there is any.
        """
        sent = 0
        try:
            if not self.busy:
                sent = self._control.send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            self._closed()
            return None
        self._rest += data[sent:]
        return asyncio.ensure_future(self.send(b"")) if self._rest else None

    async def send(self, data: bytes, *, within: float | None = None) -> None:
        """Send frames, one sender after another.

        Args:
            data: The frames.
            within: Seconds after which a kernel that does not read them is given up; None: a cell may keep it busy.
        """
        try:
            async with asyncio.timeout(within), self._sending:
                data, self._rest = self._rest + data, b""
                await asyncio.get_running_loop().sock_sendall(self._control, data)
        except TimeoutError:
            self.break_off("it does not take what it is told")
        except OSError:
            self._closed()

    def listen(
        self, stdout: Callable[[bytes], object] | None = None, stderr: Callable[[bytes], object] | None = None
    ) -> None:
        """Read what comes from now on."""
        self._stdout.take, self._stderr.take = stdout, stderr
        self._fds.open()
        if self._more:
            self._go_on_soon()

    def pause(self) -> None:
        """Leave what comes from now on unread."""
        self._stdout.take = self._stderr.take = None
        self._fds.pause()
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _hear(self, pipe: Pipe) -> None:
        pipe.read()
        if pipe.ended.done():
            self._fds.drop(pipe.fileno())

    def drain(self) -> None:
        """Read what is in the streams now."""
        self._stdout.drain()
        self._stderr.drain()

    def read(self) -> bool:
        """Process frames that have come, for a few milliseconds at most; false if there are none."""
        if self._next is not None:
            return True
        if not self._more and not self._receive():
            return False
        self._take_in()
        if self._more:
            self._go_on_soon()
        return True

    def _receive(self) -> bool:
        """Receive what has come; false if nothing has."""
        try:
            data = self._control.recv(READ_SIZE)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            data = b""
        if not data:
            self._closed()
            return False
        self._unpacker.add(data)
        self._more = True
        return True

    def _take_in(self) -> None:
        until = time.perf_counter() + TURN_SECONDS
        try:
            while (frame := self._unpacker.take()) is not None:
                self._take(*frame)
                if time.perf_counter() > until:
                    return
        except frames.ProtocolError as error:
            self.protocol_error = True
            self.break_off(f"something other than the session wrote to its connection ({error})")
        except FloodError as error:
            self.protocol_error = True
            self.break_off(str(error))
        self._more = False

    def _go_on_soon(self) -> None:
        if self._next is None:
            self._next = asyncio.get_running_loop().call_soon(self._go_on)

    def _go_on(self) -> None:
        self._next = None
        if self._more and not self.broken.done():
            self._take_in()
            if self._more:
                self._go_on_soon()

    async def read_rest(self, enough: Callable[[], bool]) -> None:
        """Process the frames that a dead kernel had sent, until `enough` says so."""
        for _ in range(REST_READS):
            while self._more and not enough() and not self.broken.done():
                self._take_in()
                await asyncio.sleep(0)
            if enough() or self.broken.done() or not self._receive():
                return
        self._written_by_others()

    def resync(self) -> None:
        """Drop what a dead kernel wrote, which may end with half a frame."""
        for _ in range(REST_READS):
            if not self._skip():
                self._unpacker, self._more = frames.Unpacker(MAX_HEADER), False
                return
        self._written_by_others()

    def _skip(self) -> bool:
        try:
            return bool(self._control.recv(READ_SIZE))
        except OSError:
            return False

    def _written_by_others(self) -> None:
        self.protocol_error = True
        self.break_off("something other than the session writes to its connection")

    def _closed(self) -> None:
        self.break_off("it closed its connection to Stepwell")

    def break_off(self, why: str) -> None:
        """Do not use it any more, and note why."""
        if not self.broken.done():
            self.broken.set_result(why)
        self._more = False
        if self._control.fileno() >= 0:
            self._fds.drop(self._control.fileno())

    def close(self) -> None:
        """Close the connection and the streams."""
        self.break_off("it was ended")
        self.pause()
        self._fds.close()
        self._stdout.close()
        self._stderr.close()
        self._control.close()
