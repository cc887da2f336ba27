"""Clients of the bridge: connections, requests, and messages that are uploaded while a request runs."""

import os
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Literal

from ..kernel import frames
from .supervision import interrupt_waits

BY_FILE = 192 << 10
"""Bytes of a body above which it goes by a file: a service's stream is for text, and is held in memory."""
TICK_SECONDS = 10.0
START_SECONDS = 60.0
"""How long a kernel may take until it says hello; a cold disk is slow."""


class HostRequest:
    """One request of the host's.

    Args:
        base: The folder of the sandbox's things.
        header: What the host asks: its number `n`, the `id` and the type (`answer`) of the frame that ends it,
            its `timeout` and the `grace` of an interrupt in seconds, whether its output is of interest (`quiet`),
            whether a kernel is started for it (`fresh`), and how many seconds the next may follow on the same
            connection (`linger`).
    """

    def __init__(self, base: str, header: dict[str, Any]) -> None:
        self._out = os.path.join(base, "out")
        self.n = int(header["n"])
        self.id = str(header.get("id", ""))
        self.answer = str(header.get("answer", ""))
        self.grace = float(header.get("grace", 3.0))
        self.quiet = bool(header.get("quiet"))
        self.linger = float(header.get("linger", 0.0))
        self._timeout = float(header.get("timeout", 60.0))
        self._waits: Iterator[float] = iter(())
        """The seconds to wait after the interrupts that are left."""
        self._due = time.monotonic() + START_SECONDS
        """When it is interrupted next, or killed."""
        self._limited = False
        """Whether its time limit counts already."""
        self.late = False
        """Whether its time limit came."""
        self.ignored_interrupt = False
        """Whether it did not react to the interrupts."""
        self.unresponsive = False
        """Whether the kernel did not read it."""
        self.done = False
        self.ended_at = 0.0
        self.last_sent = time.monotonic()
        self.log: list[bytes] = []
        """All frames about it, in order."""
        if not header.get("fresh"):
            self.begin()

    def begin(self) -> None:
        """Start its time limit now, unless it was interrupted before the kernel was there."""
        if not self._limited:
            self._interrupt_at(time.monotonic() + self._timeout)

    def interrupt(self, grace: float | None) -> None:
        """Interrupt it now."""
        self.grace = self.grace if grace is None else grace
        self._interrupt_at(time.monotonic())

    def _interrupt_at(self, due: float) -> None:
        self._limited, self._due, self._waits = True, due, iter(interrupt_waits(self.grace))

    def due_action(self, now: float) -> Literal["", "interrupt", "kill"]:
        """What has to be done now for its time limit."""
        if now < self._due:
            return ""
        if (wait := next(self._waits, None)) is None:
            self.ignored_interrupt = True
            return "kill"
        self.late, self._due = True, now + wait
        return "interrupt"

    def add(self, kind: str, body: bytes = b"", **more: Any) -> bytes:
        """Put a frame into the log.

        Returns:
            The frame.
        """
        header = {"type": kind, "n": self.n, "seq": len(self.log), **more}
        if len(body) > BY_FILE:
            header["file"], body = self._put(body), b""
        frame = frames.pack(header, body)
        self.log.append(frame)
        self.last_sent = time.monotonic()
        return frame

    def tick(self) -> bytes:
        """A keep-alive frame, if nothing was sent for long; else nothing."""
        if self.done or time.monotonic() - self.last_sent < TICK_SECONDS:
            return b""
        self.last_sent = time.monotonic()
        return frames.pack({"type": "tick", "n": self.n})

    def _put(self, body: bytes) -> str:
        os.makedirs(self._out, exist_ok=True)
        name = secrets.token_hex(16)
        with open(os.path.join(self._out, name), "xb") as writing:
            writing.write(body)
        return name


def note(base: str) -> list[str]:
    """The lines of the note on what the last cell reached."""
    try:
        with open(os.path.join(base, "reached"), "rb") as reading:
            return reading.read(16_384).decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def packed(kind: str, **fields: Any) -> bytes:
    """A frame that belongs to no request."""
    return frames.pack({"type": kind, **fields})


class BridgeClient:
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
        """The frames that it sent; it is closed when it hung up, or sent something else."""
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
        """Whether something is still to be sent to it."""
        return bool(self._out) and not self.closed

    def send(self, data: bytes = b"", *, last: bool = False) -> None:
        """Send what can be sent without blocking, and keep the rest; hang up after the last."""
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


FOLDER = "inbox"


class Inbox:
    """The folder in which messages arrive.

    Args:
        base: The folder of the sandbox's things.
    """

    def __init__(self, base: str) -> None:
        self._folder = os.path.join(base, FOLDER)
        os.makedirs(self._folder, exist_ok=True)
        self._taken: set[str] = set()
        """Names of what was taken: an upload whose answer was lost may be made again."""

    def clear(self) -> None:
        """Somebody else writes from now on: what is there, whole or not, is discarded."""
        self._taken.clear()
        for name in os.listdir(self._folder):
            with suppress(OSError):
                os.unlink(os.path.join(self._folder, name))

    def take(self) -> list[frames.Frame]:
        """The messages that have arrived whole, in the order of their names; they are removed."""
        taken: list[frames.Frame] = []
        for name in sorted(os.listdir(self._folder)):
            path = os.path.join(self._folder, name)
            try:
                message = _whole(path)
            except (OSError, frames.ProtocolError):
                message = ({}, b"")  # not from the host
            if message is None:
                break  # it is still being written, and those after it wait for it
            with suppress(OSError):
                os.unlink(path)
            if name not in self._taken:
                self._taken.add(name)
                taken.append(message)
        return taken


def _whole(path: str) -> frames.Frame | None:
    """The message in a file; None when it is not all there."""
    with open(path, "rb") as reading:
        start = reading.read(frames.LENGTHS.size)
        if len(start) < frames.LENGTHS.size:
            return None
        head, body = frames.LENGTHS.unpack(start)
        frames.check_lengths(head, body)
        if os.fstat(reading.fileno()).st_size < frames.LENGTHS.size + head + body:
            return None
        return frames.read_header(reading.read(head)), reading.read(body)
