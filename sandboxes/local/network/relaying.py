"""Passes bytes on between two connections, no faster than the slower one takes them: memory stays flat."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sandboxes.local.network.heads import HOP_BY_HOP, BadRequestError, passing_names, read_head, written

CHUNK = 1 << 16
"""Bytes that are passed on at a time."""
SIZE_LINE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(;[\x20-\x7e\t]*)?\r\n")
STATUS = re.compile(r"HTTP/1\.[01] ([1-5][0-9]{2})( .*)?")
MAX_TRAILERS = 50
MAX_LINE = 4_096
"""Bytes of the line before a chunk, and of a trailer."""


@dataclass(slots=True)
class Tally:
    """The bytes that went either way."""

    sent: int = 0
    """To the host."""
    received: int = 0
    """From it."""


class BrokenReplyError(Exception):
    """What the host sent is no reply."""


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


async def copy(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, count: Callable[[int], None], idle: Idle
) -> None:
    """Pass on until the reader's end, and then say to the other side that nothing more comes this way."""
    while data := await reader.read(CHUNK):
        await pass_on(data, writer, count, idle)
    end_of(writer)


async def pass_on(data: bytes, writer: asyncio.StreamWriter, count: Callable[[int], None], idle: Idle) -> None:
    """Write something, and wait until the other side has taken so much that there is room for more."""
    idle.moved()
    writer.write(data)
    await writer.drain()
    count(len(data))
    idle.moved()


def end_of(writer: asyncio.StreamWriter) -> None:
    """Close one direction of a connection; the other stays open."""
    if writer.can_write_eof() and not writer.transport.is_closing():
        writer.write_eof()


async def both(*ways: Awaitable[None]) -> None:
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


async def copy_body(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    length: int | None,
    count: Callable[[int], None],
    idle: Idle,
) -> None:
    """Pass on the body of a request, and nothing that comes after it.

    Raises:
        BadRequestError: it comes in chunks that are none, or breaks off.
    """
    if length is not None:
        while length:
            data = await reader.read(min(length, CHUNK))
            if not data:
                raise BadRequestError("its body breaks off")
            length -= len(data)
            await pass_on(data, writer, count, idle)
        return
    while size := await _chunk_size(reader):
        await pass_on(b"%x\r\n" % size, writer, count, idle)
        await copy_body(reader, writer, size, count, idle)
        if await _line(reader) != b"\r\n":
            raise BadRequestError("a chunk of its body does not end where it should")
        await pass_on(b"\r\n", writer, count, idle)
    for _ in range(MAX_TRAILERS):  # trailers are for the next hop only, unless both agreed on more
        if await _line(reader) == b"\r\n":
            await pass_on(b"0\r\n\r\n", writer, count, idle)
            return
    raise BadRequestError("its body has too many trailers")


async def copy_reply(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, count: Callable[[int], None], idle: Idle
) -> None:
    """Pass on the reply of a host to one request, without what was meant for us, up to the end of the connection.

    Raises:
        BrokenReplyError: it is not one.
    """
    while True:
        try:
            first, headers = read_head(await reader.readuntil(b"\r\n\r\n"))
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, BadRequestError):
            raise BrokenReplyError("it sent no reply that could be read") from None
        status = STATUS.fullmatch(first)
        if status is None or status[1] == "101":
            raise BrokenReplyError("it sent no reply that could be read")
        left_out = (HOP_BY_HOP | passing_names(headers)) - {"transfer-encoding", "content-length"}
        kept = [(name, value) for name, value in headers if name.lower() not in left_out]
        last = not status[1].startswith("1")
        await pass_on(written(first, [*kept, ("Connection", "close")] if last else kept), writer, count, idle)
        if last:
            return await copy(reader, writer, count, idle)


async def _chunk_size(reader: asyncio.StreamReader) -> int:
    found = SIZE_LINE.fullmatch(await _line(reader))
    if found is None:
        raise BadRequestError("a chunk of its body has no size")
    return int(found[1], 16)


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        line = await reader.readuntil(b"\r\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        raise BadRequestError("its body breaks off") from None
    if len(line) > MAX_LINE:
        raise BadRequestError("a line of its body is too long")
    return line
