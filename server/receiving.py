"""Writes a request's body to an upload while it arrives, and waits for a slow sender only so long."""

import asyncio
from collections.abc import AsyncIterator

from starlette.requests import ClientDisconnect

from storage.uploads import Receiver

IDLE_SECONDS = 30.0
"""How long the next bytes may take."""
SLOWEST = 1_000
"""Bytes a second, from when `IDLE_SECONDS` have passed on: one who sends less holds a connection, and no more."""
BUFFER = 1 << 20


async def receive(
    stream: AsyncIterator[bytes], receiver: Receiver, *, idle: float = IDLE_SECONDS, slowest: float = SLOWEST
) -> None:
    """Write what arrives; what has arrived before an error is kept.

    Args:
        stream: The body.
        receiver: The upload.
        idle: Seconds that the next bytes may take.
        slowest: Bytes a second that must arrive on the whole, once `idle` seconds have passed.

    Raises:
        TimeoutError: the sender is too slow; the message is a sentence for him.
        ClientDisconnect: the connection broke.
        UploadError: it is too large, or there is no room for it.
    """
    clock = asyncio.get_running_loop().time
    began, arrived, held = clock(), 0, bytearray()
    body = aiter(stream)
    try:
        while True:
            try:
                piece = await asyncio.wait_for(anext(body), idle)
            except StopAsyncIteration:
                break
            except TimeoutError:
                raise TimeoutError(f"Nothing came for {idle:g} seconds; resume the upload.") from None
            arrived += len(piece)
            held += piece
            passed = clock() - began
            if passed > idle and arrived < slowest * (passed - idle):
                raise TimeoutError(f"Less than {slowest:g} bytes a second came; resume the upload.")
            if len(held) >= BUFFER:
                data, held = bytes(held), bytearray()
                await receiver.write(data)
    except (TimeoutError, ClientDisconnect):
        await receiver.write(bytes(held))
        raise
    await receiver.write(bytes(held))
