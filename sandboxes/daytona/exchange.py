"""One request to the bridge, as the host knows it: how far it has been heard, and whether it is over."""

import asyncio
import math
from collections.abc import Callable
from typing import Any


class Exchange:
    """One request and what comes of it.

    Args:
        n: Its number.
        message: All that the bridge is told of it: a frame.
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
