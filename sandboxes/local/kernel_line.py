"""The host's end of what a kernel is connected to: frames both ways over one connection, and its two streams."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

from sandboxes.calls import FloodError
from sandboxes.kernel import frames
from sandboxes.local.pipes import Pipe

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

    async def send(self, data: bytes) -> None:
        """Send frames, one sender after another."""
        async with self._sending:
            try:
                await asyncio.get_running_loop().sock_sendall(self._control, data)
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
            data = self._control.recv(1 << 18)
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

    def begin_anew(self) -> None:
        """Forget what a dead kernel wrote: half a frame may be the last of it."""
        while self._skip():
            continue
        self._unpacker = frames.Unpacker()

    def _skip(self) -> bool:
        try:
            return bool(self._control.recv(1 << 18))
        except OSError:
            return False

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
