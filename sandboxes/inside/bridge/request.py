"""What the kernel has been asked and has not ended yet, and all that was said about it, for whoever has to hear it."""

import os
import secrets
import time
from typing import Any

from ..kernel import frames

BY_FILE = 192 << 10
"""Bytes of a body above which it goes by a file: a service's stream is for text, and is held in memory."""
TICK_SECONDS = 10.0
START_SECONDS = 60.0
"""How long a kernel may take until it says hello; a cold disk is slow."""


class Request:
    """One request of the host's.

    Args:
        base: The folder of the sandbox's things.
        asked: What the host said of it: its number `n`, the `id` and the type (`answer`) of the frame that ends it,
            its `timeout` and the `grace` of an interrupt in seconds, whether its output is of interest (`quiet`),
            whether a kernel is started for it (`fresh`), and how many seconds the next may follow on the same
            connection (`linger`).
    """

    def __init__(self, base: str, asked: dict[str, Any]) -> None:
        self._out = os.path.join(base, "out")
        self.n = int(asked["n"])
        self.id = str(asked.get("id", ""))
        self.answer = str(asked.get("answer", ""))
        self.grace = float(asked.get("grace", 3.0))
        self.quiet = bool(asked.get("quiet"))
        self.linger = float(asked.get("linger", 0.0))
        self._timeout = float(asked.get("timeout", 60.0))
        self.interrupt_at: float | None = None
        self.again_at: float | None = None
        self.kill_at: float | None = time.monotonic() + START_SECONDS
        self.late = False
        """Whether its time limit came."""
        self.hanging = False
        """Whether it did not react to the interrupt."""
        self.deaf = False
        """Whether it was not taken in."""
        self.over = False
        self.ended_at = 0.0
        self.said_at = time.monotonic()
        self.log: list[bytes] = []
        """All frames about it, in order."""
        if not asked.get("fresh"):
            self.begin()

    def begin(self) -> None:
        """Its time counts from now, unless it was broken off before the kernel was there."""
        if not self.late and self.interrupt_at is None:
            self.interrupt_at, self.kill_at = time.monotonic() + self._timeout, None

    def say(self, kind: str, body: bytes = b"", **more: Any) -> bytes:
        """Put a frame into the log.

        Returns:
            The frame.
        """
        header = {"type": kind, "n": self.n, "seq": len(self.log), **more}
        if len(body) > BY_FILE:
            header["file"], body = self._put(body), b""
        frame = frames.pack(header, body)
        self.log.append(frame)
        self.said_at = time.monotonic()
        return frame

    def tick(self) -> bytes:
        """A frame that only says that all goes on, when nothing was said for long; else nothing."""
        if self.over or time.monotonic() - self.said_at < TICK_SECONDS:
            return b""
        self.said_at = time.monotonic()
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


def packed(kind: str, **said: Any) -> bytes:
    """A frame that belongs to no request."""
    return frames.pack({"type": kind, **said})
