"""The host's end of what a kernel is connected to: frames both ways over one connection, and its two streams."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

from sandboxes.calls import FloodError
from sandboxes.kernel import frames
from sandboxes.local.pipes import Pipe

READ_SIZE = 1 << 18
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
        self._unpacker = frames.Unpacker()
        self._sending = asyncio.Lock()
        self.broken: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Why it cannot be used any more."""
        self.garbled = False
        """Whether something came over it that no kernel says."""

    @property
    def busy(self) -> bool:
        """Whether something is being sent."""
        return self._sending.locked()

    async def send(self, data: bytes, *, within: float | None = None) -> None:
        """Send frames, one sender after another.

        Args:
            data: The frames.
            within: Seconds after which a kernel that does not read them is given up; None: a cell may keep it busy.
        """
        try:
            async with asyncio.timeout(within), self._sending:
                await asyncio.get_running_loop().sock_sendall(self._control, data)
        except TimeoutError:
            self.cut("it does not take what it is told")
        except OSError:
            self.cut("it closed its connection to Stepwell")

    def listen(
        self, stdout: Callable[[bytes], None] | None = None, stderr: Callable[[bytes], None] | None = None
    ) -> None:
        """Take in what comes from now on."""
        if stdout is not None:
            self._stdout.listen(stdout)
        if stderr is not None:
            self._stderr.listen(stderr)
        asyncio.get_running_loop().add_reader(self._control, self.read)

    def pause(self) -> None:
        """Leave what comes from now on where it is."""
        self._stdout.pause()
        self._stderr.pause()
        if self._control.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._control)

    def drain(self) -> None:
        """Take in what is in the streams now."""
        self._stdout.drain()
        self._stderr.drain()

    def read(self) -> bool:
        """Take in the frames that have come; false when there are none."""
        try:
            data = self._control.recv(READ_SIZE)
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            data = b""
        if not data:
            self.cut("it closed its connection to Stepwell")
            return False
        try:
            for header, body in self._unpacker.feed(data):
                self._take(header, body)
        except frames.ProtocolError as error:
            self.garbled = True
            self.cut(f"something other than the session wrote to its connection ({error})")
        except FloodError as error:
            self.garbled = True
            self.cut(str(error))
        return True

    def read_rest(self, enough: Callable[[], bool]) -> None:
        """Take in the frames that a dead kernel had sent, until it is enough."""
        for _ in range(REST_READS):
            if enough() or self.broken.done() or not self.read():
                return
        self._written_by_others()

    def begin_anew(self) -> None:
        """Forget what a dead kernel wrote: half a frame may be the last of it."""
        for _ in range(REST_READS):
            if not self._skip():
                self._unpacker = frames.Unpacker()
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

    def cut(self, why: str) -> None:
        """Use it no more."""
        if not self.broken.done():
            self.broken.set_result(why)
        if self._control.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._control)

    def close(self) -> None:
        """Let go of all of it."""
        self.cut("it was ended")
        self.pause()
        self._stdout.close()
        self._stderr.close()
        self._control.close()
