"""Files on their way through `exec`: the host's end of `sandboxes/inside/bridge/copying.py`.

A file is its chunks, each after its length. What comes out of a container is believed in nothing but that: a chunk that
is longer than any of ours is an error.
"""

import asyncio
from functools import cache
from pathlib import Path
from typing import IO

from sandboxes.inside import PROGRAMS
from sandboxes.inside.bridge.copying import CHUNK, LENGTH, MISSING


@cache
def program() -> str:
    """The source of the other end. Blocks."""
    return (PROGRAMS / "bridge" / "copying.py").read_text("utf-8")


async def write(writer: asyncio.StreamWriter, data: bytes, moved: list[int]) -> None:
    """Send some bytes of a file, and count them."""
    for start in range(0, len(data), CHUNK):
        chunk = data[start : start + CHUNK]
        writer.write(LENGTH.pack(len(chunk)) + chunk)
        await writer.drain()
        moved[0] += len(chunk)


async def write_file(writer: asyncio.StreamWriter, source: str, moved: list[int]) -> None:
    """Send a file of this machine.

    Raises:
        OSError: it cannot be read.
    """

    def opened() -> IO[bytes]:
        return Path(source).open("rb")

    reading = await asyncio.to_thread(opened)
    try:
        while chunk := await asyncio.to_thread(reading.read, CHUNK):
            await write(writer, chunk, moved)
    finally:
        await asyncio.to_thread(reading.close)


async def read_length(reader: asyncio.StreamReader) -> int:
    """The length of the next chunk, 0 at the end of the file, or `MISSING`.

    Raises:
        ValueError: it is not one.
        asyncio.IncompleteReadError: the other end has ended.
    """
    length: int = LENGTH.unpack(await reader.readexactly(LENGTH.size))[0]
    if length != MISSING and length > CHUNK:
        raise ValueError("something other than our program answers")
    return length


async def read_file(reader: asyncio.StreamReader, length: int, target: Path | None, moved: list[int]) -> bytes | None:
    """Take a file in; what it holds where no target is given.

    Raises:
        ValueError: a length is not one.
        asyncio.IncompleteReadError: the other end has ended.
    """
    if target is None:
        kept = bytearray()
        while length:
            kept += await reader.readexactly(length)
            moved[0] += length
            length = await read_length(reader)
        return bytes(kept)
    writing = await asyncio.to_thread(target.open, "wb")
    try:
        while length:
            await asyncio.to_thread(writing.write, await reader.readexactly(length))
            moved[0] += length
            length = await read_length(reader)
    finally:
        await asyncio.to_thread(writing.close)
    return None
