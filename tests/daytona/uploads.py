"""The toolbox's bulk upload: many files in one multipart body, written while it comes.

The body is taken apart by the parser that the SDK uses. aiohttp's own reader turns warnings off and on while it works,
which is for the whole process, and so nothing for a thread beside a test.
"""

import asyncio
import errno
import io
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web
from python_multipart.multipart import MultipartParser, parse_options_header

from tests.daytona.answers import RefusedError
from tests.daytona.faults import OutOfDisk
from tests.daytona.files import go_says, place_of
from tests.daytona.sandbox import SANDBOX, EmulatedSandbox
from tests.daytona.world import WORLD

FIELD = re.compile(r"files\[(\d+)\]\.(path|file)")


async def upload(request: web.Request) -> web.Response:
    """Many files in one multipart body, each with a field for its path before it."""
    sandbox, world = request[SANDBOX], request.app[WORLD]
    full = world.faults.take("transfer", "upload", sandbox.id, sandbox.name)
    room = min((one.after_bytes for one in full if isinstance(one, OutOfDisk)), default=None)
    taking = _Taking(sandbox, room)
    try:
        async for event, value in _events(request):
            await taking.take(event, value)
    finally:
        await taking.close()
    world.counters.uploaded_files += len(taking.written)
    world.counters.uploaded_bytes += sum(one["bytes"] for one in taking.written)
    if taking.errors:
        return web.json_response({"errors": taking.errors}, status=400)
    return web.json_response({"files": taking.written})


@dataclass
class _Taking:
    """Takes the parts of a body in."""

    sandbox: EmulatedSandbox
    room: int | None
    """Bytes until the disk is full."""
    written: list[dict[str, Any]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    _paths: dict[str, str] = field(default_factory=dict)
    _text: bytearray | None = None
    """What has come of a field that holds a path."""
    _number: str = ""
    _file: io.BufferedWriter | None = None
    _size: int = 0

    async def take(self, event: str, value: bytes) -> None:
        """Take the next piece of the body."""
        try:
            if event == "begin":
                await self._begin(value.decode())
            elif event == "data":
                await self._data(value)
            else:
                await self._end()
        except (RefusedError, OSError) as error:
            path = self._paths.get(self._number, "")
            message = error.message if isinstance(error, RefusedError) else go_says("write", path, error)
            self.errors.append(f"{path}: {message}")
            await self.close()

    async def close(self) -> None:
        """Close the file that is open."""
        if self._file is not None:
            file, self._file = self._file, None
            await asyncio.to_thread(file.close)

    async def _begin(self, name: str) -> None:
        field = FIELD.fullmatch(name)
        if field is None:
            return
        self._number = field[1]
        if field[2] == "path":
            self._text = bytearray()
            return
        if self._number not in self._paths:
            raise RefusedError(400, f"files[{self._number}] has no path before it")
        target = place_of(self.sandbox, self._paths[self._number], writing=True)
        self._file = await asyncio.to_thread(_create, target)
        self._size = 0

    async def _data(self, data: bytes) -> None:
        if self._text is not None:
            self._text += data
        elif self._file is not None:
            if self.room is not None and len(data) > self.room:
                await asyncio.to_thread(self._file.write, data[: self.room])
                self.room = 0
                raise OSError(errno.ENOSPC, "")
            await asyncio.to_thread(self._file.write, data)
            self._size += len(data)
            self.room = None if self.room is None else self.room - len(data)

    async def _end(self) -> None:
        if self._text is not None:
            self._paths[self._number] = self._text.decode()
            self._text = None
        elif self._file is not None:
            await self.close()
            self.written.append({"path": self._paths[self._number], "bytes": self._size})


def _create(target: Path) -> io.BufferedWriter:
    target.parent.mkdir(parents=True, exist_ok=True)
    return target.open("wb")


async def _events(request: web.Request) -> AsyncIterator[tuple[str, bytes]]:
    """`begin` with the name of a part, `data` with bytes of it, and `end`.

    Raises:
        RefusedError: it is no multipart body.
    """
    kind, options = parse_options_header(request.headers.get("Content-Type", ""))
    if kind != b"multipart/form-data" or b"boundary" not in options:
        raise RefusedError(400, "request Content-Type isn't multipart/form-data")
    events: list[tuple[str, bytes]] = []
    header = [b"", b""]

    def on_field(data: bytes, start: int, end: int) -> None:
        header[0] += data[start:end]

    def on_value(data: bytes, start: int, end: int) -> None:
        header[1] += data[start:end]

    def on_header() -> None:
        if header[0].lower() == b"content-disposition":
            events.append(("begin", parse_options_header(header[1])[1].get(b"name", b"")))
        header[:] = [b"", b""]

    parser = MultipartParser(
        options[b"boundary"],
        callbacks={
            "on_header_field": on_field,
            "on_header_value": on_value,
            "on_header_end": on_header,
            "on_part_data": lambda data, start, end: events.append(("data", data[start:end])),
            "on_part_end": lambda: events.append(("end", b"")),
        },
    )
    async for chunk in request.content.iter_any():
        parser.write(chunk)
        for event in events:
            yield event
        events.clear()
    parser.finalize()
