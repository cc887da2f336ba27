"""Whoever is connected to the bridge: a context that prints what it is sent, or a command that asks something."""

import socket
from contextlib import suppress

from ..kernel import frames


class Viewer:
    """One connection.

    Args:
        connection: Accepted; made not to block.
    """

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self.connection = connection
        self._unpacker = frames.Unpacker()
        self._out = bytearray()
        self._last = False
        self.closed = False

    def read(self) -> list[frames.Frame]:
        """What it says; it is closed when it hung up or talks nonsense."""
        try:
            data = self.connection.recv(1 << 18)
            if data:
                return self._unpacker.feed(data)
        except (BlockingIOError, InterruptedError):
            return []
        except (OSError, frames.ProtocolError):
            pass
        self.close()
        return []

    @property
    def waiting(self) -> bool:
        """Whether something is on its way to it."""
        return bool(self._out) and not self.closed

    def send(self, data: bytes = b"", *, last: bool = False) -> None:
        """Send what goes without waiting, and keep the rest; hang up after the last."""
        self._out += data
        self._last = self._last or last
        try:
            while self._out:
                del self._out[: self.connection.send(memoryview(self._out)[: 1 << 16])]
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self._last = True
            self._out.clear()
        if self._last:
            self.close()

    def close(self) -> None:
        """Hang up."""
        self.closed = True
        with suppress(OSError):
            self.connection.close()
