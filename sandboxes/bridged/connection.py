"""A request to the bridge, and the connections over which it is heard.

The lines of base64 of a connection become frames; bodies that went by a file are fetched.
"""

import asyncio
import base64
import math
from collections.abc import Awaitable, Callable
from typing import Any

from sandboxes.base import SandboxLostError, SandboxUnavailableError
from sandboxes.inside.bridge.attach import SEPARATOR
from sandboxes.inside.kernel import frames

MAX_HEARD = 64 << 20
"""Characters of one connection: Daytona's client keeps them all. What a session says is bounded to a part of that."""
Frame = tuple[dict[str, Any], bytes]


class Exchange:
    """One request and what comes of it.

    Args:
        n: Its number.
        message: The frame that the bridge is sent.
        take: Called with each frame about it, in order; the last one is of type `over`, or `lost` and `over`.
    """

    def __init__(self, n: int, header: dict[str, Any], body: bytes, take: Callable[[dict[str, Any], bytes], None]):
        self.n = n
        self.header, self.body = header, body
        self._take = take
        self.seen = 0
        self.sent = False
        """Whether it may have arrived."""
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """An error of the sandbox's when nobody knows, or will know, how it ended."""
        self.asked_at = math.inf
        """When it was asked over a connection that was open."""

    def take(self, header: dict[str, Any], body: bytes) -> None:
        """Take a frame in, each once."""
        if header.get("n") != self.n or header.get("seq") != self.seen or self.over.done():
            return
        self.seen += 1
        if not self.begun.done():
            self.begun.set_result(None)
        self._take(header, body)
        if header.get("type") == "over":
            self.over.set_result(None)


class SandboxBusyError(Exception):
    """Another worker holds the sandbox."""

    def __init__(self, who: str, seconds: float) -> None:
        super().__init__(who)
        self.who, self.seconds = who, seconds


class Connection:
    """Reads the lines of one connection. Bodies that went by a file are fetched, and everything stays in order.

    Args:
        deliver: Takes each frame about a request.
        fetch: Fetches the body of one that went by a file.
        gone: Called when the kernel ended by itself.
        noun: What the machine is called.
    """

    def __init__(
        self,
        deliver: Callable[[dict[str, Any], bytes], None],
        fetch: Callable[[str], Awaitable[bytes]],
        gone: Callable[[], None],
        noun: str,
    ) -> None:
        self._deliver, self._fetch, self._gone, self._noun = deliver, fetch, gone, noun
        self._unpacker = frames.Unpacker()
        self._rest = ""
        self.heard = 0
        self._size = 0
        self.refused: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
        self._behind: asyncio.Queue[Frame | None] = asyncio.Queue()
        self._working: asyncio.Task[None] | None = None

    def hear(self, printed: str) -> None:
        """Take in a piece of what `attach` printed; it may end anywhere."""
        self.heard += 1
        self._size += len(printed)
        if self._size > MAX_HEARD:
            self._refuse(ConnectionError("it says more than a session may over one connection"))
            return
        *lines, self._rest = (self._rest + printed).split("\n")
        for line in lines:
            if not line.startswith(SEPARATOR):
                continue  # nothing that the bridge says
            try:
                received = self._unpacker.feed(base64.b64decode(line[1:], validate=True))
            except (ValueError, frames.ProtocolError) as error:
                self._refuse(ConnectionError(f"something other than the bridge wrote to the connection ({error})"))
                return
            for frame in received:
                self._take(frame)

    def _take(self, frame: Frame) -> None:
        header, _ = frame
        if header.get("type") == "taken":
            self._refuse(SandboxBusyError(str(header.get("who", ""))[:200], float(header.get("seconds", 1.0))))
        elif header.get("type") == "lost" and "n" not in header:
            self._refuse(SandboxLostError(f"The session in {self._noun} is lost ({header.get('why', '')})."))
        elif header.get("type") == "gone":
            self._gone()
        elif "file" in header or self._working is not None:
            self._behind.put_nowait(frame)
            if self._working is None:
                self._working = asyncio.get_running_loop().create_task(self._work())
        else:
            self._deliver(*frame)

    async def _work(self) -> None:
        while (frame := await self._behind.get()) is not None:
            header, body = frame
            if "file" in header:
                try:
                    body = await self._fetch(str(header["file"]))
                except SandboxUnavailableError as error:
                    self._refuse(error)
                    return
            self._deliver(header, body)

    def _refuse(self, error: Exception) -> None:
        if not self.refused.done():
            self.refused.set_result(error)

    async def close(self) -> None:
        """Wait for what is still being fetched."""
        if self._working is not None:
            self._behind.put_nowait(None)
            await asyncio.wait((self._working,))
