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


class Ears:
    """Calls what reads a descriptor when something has come; only while they are open."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._number = self._selector.fileno()
        self._open = False

    def add(self, descriptor: int, read: Callable[[], Any]) -> None:
        """Hear of one more descriptor."""
        self._selector.register(descriptor, selectors.EVENT_READ, read)

    def drop(self, descriptor: int) -> None:
        """Hear of it no more; it has to be open still."""
        with suppress(KeyError):
            self._selector.unregister(descriptor)

    def open(self) -> None:
        """Listen; without effect once all of it is closed."""
        if not self._open and self._number >= 0:
            self._open = True
            asyncio.get_running_loop().add_reader(self._number, self._hear)

    def pause(self) -> None:
        """Leave what comes from now on where it is."""
        if self._open:
            self._open = False
            asyncio.get_running_loop().remove_reader(self._number)

    def close(self) -> None:
        """Let go of all descriptors."""
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
"""How long frames are taken in before others get their turn, if there are so many."""
MAX_HEADER = 8_192
"""Bytes of a header; those of kernels have a few hundred."""
REST_READS = 16
"""Reads after which a connection that is still not empty is written to by somebody who lives: it holds less."""
SEND_SECONDS = 10.0
"""How long a kernel that waits for orders may take to read one."""

Take = Callable[[dict[str, Any], bytes], None]


class KernelLine:
    """One connection to a kernel. It is read only while somebody listens.

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
        """Whether frames may have come that are not taken in yet."""
        self._next: asyncio.Handle | None = None
        self._sending = asyncio.Lock()
        self._rest = b""
        """What is left of a frame that was begun; it comes before all others."""
        self._ears = Ears()
        self._ears.add(control.fileno(), self.read)
        for pipe in (stdout, stderr):
            if not pipe.ended.done():
                self._ears.add(pipe.fileno(), partial(self._hear, pipe))
        self.broken: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Why it cannot be used any more."""
        self.garbled = False
        """Whether something came over it that no kernel says."""

    @property
    def busy(self) -> bool:
        """Whether something is being sent."""
        return self._sending.locked() or bool(self._rest)

    def begin_to_send(self, data: bytes) -> asyncio.Future[None] | None:
        """Send frames as far as they are taken at once.

        Returns:
            What sends the rest of them, if there is any.
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
            self.cut("it does not take what it is told")
        except OSError:
            self._closed()

    def listen(
        self, stdout: Callable[[bytes], None] | None = None, stderr: Callable[[bytes], None] | None = None
    ) -> None:
        """Take in what comes from now on."""
        self._stdout.take, self._stderr.take = stdout, stderr
        self._ears.open()
        if self._more:
            self._go_on_soon()

    def pause(self) -> None:
        """Leave what comes from now on where it is."""
        self._stdout.take = self._stderr.take = None
        self._ears.pause()
        if self._next is not None:
            self._next.cancel()
            self._next = None

    def _hear(self, pipe: Pipe) -> None:
        pipe.read()
        if pipe.ended.done():
            self._ears.drop(pipe.fileno())

    def drain(self) -> None:
        """Take in what is in the streams now."""
        self._stdout.drain()
        self._stderr.drain()

    def read(self) -> bool:
        """Take in frames that have come, for a few milliseconds at most; false when there are none."""
        if self._next is not None:
            return True
        if not self._more and not self._receive():
            return False
        self._take_in()
        if self._more:
            self._go_on_soon()
        return True

    def _receive(self) -> bool:
        """Take what has come out of the connection; false when that is nothing."""
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
            self.garbled = True
            self.cut(f"something other than the session wrote to its connection ({error})")
        except FloodError as error:
            self.garbled = True
            self.cut(str(error))
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
        """Take in the frames that a dead kernel had sent, until it is enough."""
        for _ in range(REST_READS):
            while self._more and not enough() and not self.broken.done():
                self._take_in()
                await asyncio.sleep(0)
            if enough() or self.broken.done() or not self._receive():
                return
        self._written_by_others()

    def begin_anew(self) -> None:
        """Forget what a dead kernel wrote: half a frame may be the last of it."""
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
        self.garbled = True
        self.cut("something other than the session writes to its connection")

    def _closed(self) -> None:
        self.cut("it closed its connection to Stepwell")

    def cut(self, why: str) -> None:
        """Use it no more."""
        if not self.broken.done():
            self.broken.set_result(why)
        self._more = False
        if self._control.fileno() >= 0:
            self._ears.drop(self._control.fileno())

    def close(self) -> None:
        """Let go of all of it."""
        self.cut("it was ended")
        self.pause()
        self._ears.close()
        self._stdout.close()
        self._stderr.close()
        self._control.close()
