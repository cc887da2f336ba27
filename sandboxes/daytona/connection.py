"""One connection to the bridge: lines of base64 become frames, and bodies that went by a file are fetched."""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from sandboxes.base import SandboxLostError, SandboxUnavailableError
from sandboxes.inside.bridge.attach import SEPARATOR
from sandboxes.inside.kernel import frames

if TYPE_CHECKING:
    from daytona import OutputMessage

MAX_HEARD = 64 << 20
"""Characters of one connection: the client keeps them all. What a session says is bounded to a part of that."""
Frame = tuple[dict[str, Any], bytes]


class TakenError(Exception):
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
    """

    def __init__(
        self,
        deliver: Callable[[dict[str, Any], bytes], None],
        fetch: Callable[[str], Awaitable[bytes]],
        gone: Callable[[], None],
    ) -> None:
        self._deliver, self._fetch, self._gone = deliver, fetch, gone
        self._unpacker = frames.Unpacker()
        self._rest = ""
        self.heard = 0
        self._size = 0
        self.refused: asyncio.Future[Exception] = asyncio.get_running_loop().create_future()
        self._behind: asyncio.Queue[Frame | None] = asyncio.Queue()
        self._working: asyncio.Task[None] | None = None

    def hear(self, message: "OutputMessage") -> None:
        """Take in what the context printed."""
        self.heard += 1
        self._size += len(message.output)
        if self._size > MAX_HEARD:
            self._refuse(ConnectionError("it says more than a session may over one connection"))
            return
        *lines, self._rest = (self._rest + message.output).split("\n")
        for line in lines:
            if not line.startswith(SEPARATOR):
                continue  # nothing that the bridge says
            try:
                said = self._unpacker.feed(base64.b64decode(line[1:], validate=True))
            except (ValueError, frames.ProtocolError) as error:
                self._refuse(ConnectionError(f"something other than the bridge wrote to the connection ({error})"))
                return
            for frame in said:
                self._take(frame)

    def _take(self, frame: Frame) -> None:
        header, _ = frame
        if header.get("type") == "taken":
            self._refuse(TakenError(str(header.get("who", ""))[:200], float(header.get("seconds", 1.0))))
        elif header.get("type") == "lost" and "n" not in header:
            self._refuse(SandboxLostError(f"The session in the Daytona sandbox is lost ({header.get('why', '')})."))
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
