"""Passes bytes on between two connections, no faster than the slower one takes them: memory stays flat.

A body is read by one `h11.Connection` and written anew by another, so nobody behind the proxy sees how it was framed
before: sizes of chunks in odd spellings, extensions and trailers end here.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

import h11

from sandboxes.local.network.http_head import BadRequestError, BrokenReplyError, RequestHead, read_reply
from sandboxes.local.network.resolver import Streams

CHUNK = 1 << 16
"""Bytes that are passed on at a time."""


@dataclass(slots=True)
class Tally:
    """The bytes that went either way."""

    sent: int = 0
    """To the host."""
    received: int = 0
    """From it."""

    def add_sent(self, count: int) -> None:
        """Count bytes to the host."""
        self.sent += count

    def add_received(self, count: int) -> None:
        """Count bytes from the host."""
        self.received += count


class Idle:
    """Ends what is inside when nothing has been passed on for some time: `async with idle.watched(): …`.

    Raises:
        TimeoutError: from the block.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._scope = asyncio.timeout(seconds)

    def watched(self) -> asyncio.Timeout:
        """The block."""
        return self._scope

    def moved(self) -> None:
        """Something was passed on."""
        if not self._scope.expired():
            self._scope.reschedule(asyncio.get_running_loop().time() + self._seconds)


async def tunnel(client: Streams, server: Streams, tally: Tally, idle: Idle) -> None:
    """Pass bytes on both ways without looking at them, until both sides have ended."""
    client[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    await _both(
        _copy(client[0], server[1], tally.add_sent, idle),
        _copy(server[0], client[1], tally.add_received, idle),
    )


async def exchange(request: RequestHead, client: Streams, server: Streams, tally: Tally, idle: Idle) -> None:
    """Send a request to its host and pass on the reply, each as h11 writes it anew: nothing comes before or after.

    Raises:
        BadRequestError: the body of the request is not one.
        BrokenReplyError: what the host sent is no reply.
    """
    assert request.message is not None
    host = h11.Connection(h11.CLIENT)
    server[1].write(host.send(request.message))
    await _both(
        _send_body(request.client, client[0], host, server[1], tally.add_sent, idle),
        _copy_reply(host, server[0], request.client, client[1], tally.add_received, idle),
    )


def end_of(writer: asyncio.StreamWriter) -> None:
    """Close one direction of a connection; the other stays open."""
    if writer.can_write_eof() and not writer.transport.is_closing():
        writer.write_eof()


async def _send_body(
    source: h11.Connection,
    reader: asyncio.StreamReader,
    sink: h11.Connection,
    writer: asyncio.StreamWriter,
    count: Callable[[int], None],
    idle: Idle,
) -> None:
    """Pass on the body of a request, and nothing that comes after it."""
    try:
        with suppress(ConnectionError):  # a host may reply, and take in no more; its reply is what counts then
            await _forward(source, reader, sink, writer, count, idle)
    except h11.RemoteProtocolError as error:
        raise BadRequestError(f"its body breaks off or is not one: {error}") from None


async def _copy_reply(
    source: h11.Connection,
    reader: asyncio.StreamReader,
    sink: h11.Connection,
    writer: asyncio.StreamWriter,
    count: Callable[[int], None],
    idle: Idle,
) -> None:
    """Pass on the reply to one request, without what was meant for us."""
    last = False
    while not last:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            raise BrokenReplyError("it sent no reply that could be read") from None
        reply = read_reply(head, source)
        last = isinstance(reply, h11.Response)
        if last or sink.their_http_version != b"1.0":  # HTTP/1.0 knows no interim replies
            await _pass_on(sink.send(reply), writer, count, idle)
    try:
        await _forward(source, reader, sink, writer, count, idle)
    except h11.RemoteProtocolError:
        raise BrokenReplyError("its reply breaks off") from None


async def _forward(
    source: h11.Connection,
    reader: asyncio.StreamReader,
    sink: h11.Connection,
    writer: asyncio.StreamWriter,
    count: Callable[[int], None],
    idle: Idle,
) -> None:
    """Pass on the body of a message, up to its end.

    Raises:
        h11.RemoteProtocolError: it breaks off, or is not framed as it should be.
    """
    ended = False
    while not ended:
        data: list[bytes] = []
        try:
            ended = _take(source, data)
        finally:  # what came before a fault is passed on, too
            if data:
                await _pass_on(sink.send(h11.Data(data=b"".join(data))), writer, count, idle)
        if not ended:
            source.receive_data(await reader.read(CHUNK))
    if end := sink.send(h11.EndOfMessage()):  # without trailers: they are for the next hop only
        await _pass_on(end, writer, count, idle)


def _take(source: h11.Connection, data: list[bytes]) -> bool:
    """Take what has come of a body; whether that was the rest of it."""
    while (event := source.next_event()) is not h11.NEED_DATA:
        if isinstance(event, h11.EndOfMessage):
            return True
        assert isinstance(event, h11.Data)
        data.append(event.data)
    return False


async def _copy(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, count: Callable[[int], None], idle: Idle
) -> None:
    """Pass on until the reader's end, and then say to the other side that nothing more comes this way."""
    while data := await reader.read(CHUNK):
        await _pass_on(data, writer, count, idle)
    end_of(writer)


async def _pass_on(data: bytes, writer: asyncio.StreamWriter, count: Callable[[int], None], idle: Idle) -> None:
    """Write something, and wait until the other side has taken so much that there is room for more."""
    idle.moved()
    writer.write(data)
    await writer.drain()
    count(len(data))
    idle.moved()


async def _both(*ways: Awaitable[None]) -> None:
    """Both directions at once, until both have ended; when one breaks the other is given up.

    Raises:
        OSError, TimeoutError, BadRequestError, BrokenReplyError: what broke first.
    """
    tasks = [asyncio.ensure_future(way) for way in ways]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
