"""Inputs uploaded over HTTP: in one request, or resumably in several, as tus 1.0.0 says (https://tus.io/protocols)."""

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from stepwell.errors import RefusedError
from storage.uploads import (
    BusyUploadError,
    NoRoomError,
    NoSuchUploadError,
    Upload,
    UploadError,
    Uploads,
    UploadTooLargeError,
    UploadTypeError,
    UploadWriter,
    WrongOffsetError,
)

IDLE_SECONDS = 30.0
"""How long the next bytes may take."""
SLOWEST = 1_000
"""Bytes a second, from when `IDLE_SECONDS` have passed on: one who sends less holds a connection, and no more."""
BUFFER = 1 << 20
TUS = {"Tus-Resumable": "1.0.0"}
PIECE_TYPE = "application/offset+octet-stream"
MAX_DIGITS = 15
LAST = {"Connection": "close"}
"""With an answer that comes before the request's end."""
Found = TypeVar("Found")
STATUS: dict[type[UploadError], int] = {
    NoSuchUploadError: 404,
    BusyUploadError: 423,
    WrongOffsetError: 409,
    UploadTooLargeError: 413,
    UploadTypeError: 415,
    NoRoomError: 507,
}


async def receive(
    stream: AsyncIterator[bytes], receiver: UploadWriter, *, idle: float = IDLE_SECONDS, slowest: float = SLOWEST
) -> None:
    """Write what arrives; what has arrived before an error is kept.

    Args:
        stream: The body.
        receiver: The upload.
        idle: Seconds that the next bytes may take.
        slowest: Bytes a second that must arrive on the whole, once `idle` seconds have passed.

    Raises:
        TimeoutError: the sender is too slow; the message is a sentence for them.
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


@dataclass(frozen=True, slots=True)
class TusUploads:
    """Answers requests about one user's uploads. All methods raise `RefusedError`.

    Args:
        uploads: Where they are.
        user: Whose they are.
        place: The path below which each has its address, as the sender has to ask for it.
    """

    uploads: Uploads
    user: str
    place: str

    async def create(self, request: Request) -> Response:
        """Begin an upload; without `Upload-Length` or `Upload-Defer-Length` the body is the whole file."""
        _check(request)
        length, deferred = request.headers.get("upload-length"), request.headers.get("upload-defer-length")
        if deferred is not None and (deferred != "1" or length is not None):
            raise RefusedError(400, "Send `Upload-Defer-Length: 1`, or Upload-Length, not both.", LAST)
        whole = length is None and deferred is None
        size = _number("Upload-Length", length) if length is not None else _content_length(request) if whole else None
        upload = await _refusing(self.uploads.create(self.user, _name(request), size))
        if whole or _kind(request) == PIECE_TYPE:
            try:
                upload = await self._receive(request, upload.id, 0, last=whole)
            except (RefusedError, ClientDisconnect):
                if whole:  # nobody was told what it is called, so nobody can go on with it
                    await self.uploads.remove(self.user, upload.id)
                raise
        elif upload.size == 0:
            upload = await _refusing(self.uploads.look(self.user, upload.id))
        return JSONResponse(_shown(upload), 201, {**_told(upload), "Location": f"{self.place}/{upload.id}"})

    def about(self) -> Response:
        """What resumable uploads can do here, in headers."""
        headers = {
            **TUS,
            "Tus-Version": "1.0.0",
            "Tus-Extension": "creation,creation-with-upload,creation-defer-length,termination",
            "Tus-Max-Size": str(self.uploads.max_bytes),
        }
        return Response(status_code=204, headers=headers)

    async def all(self) -> Response:
        """All of them, newest first."""
        return JSONResponse({"uploads": [_shown(one) for one in await self.uploads.all(self.user)]})

    async def look(self, upload: str) -> Response:
        """How far one is."""
        found = await _refusing(self.uploads.look(self.user, upload))
        return JSONResponse(_shown(found), 200, {**_told(found), "Cache-Control": "no-store"})

    async def go_on(self, request: Request, upload: str) -> Response:
        """Take the next piece; what arrives before the connection breaks is kept."""
        _check(request)
        if _kind(request) != PIECE_TYPE:
            raise RefusedError(415, f"A piece has the content type {PIECE_TYPE}.", LAST)
        offset = request.headers.get("upload-offset")
        if offset is None:
            raise RefusedError(400, "Say with Upload-Offset where the piece begins.", LAST)
        length = request.headers.get("upload-length")
        size = _number("Upload-Length", length) if length is not None else None
        begins = _number("Upload-Offset", offset)
        reached = await self._receive(request, upload, begins, last=False, size=size)
        return Response(status_code=204, headers=_told(reached))

    async def remove(self, upload: str) -> Response:
        """Remove one."""
        await _refusing(self.uploads.remove(self.user, upload))
        return Response(status_code=204, headers=TUS)

    async def _receive(self, request: Request, id: str, offset: int, *, last: bool, size: int | None = None) -> Upload:
        try:
            async with self.uploads.open_writer(self.user, id, offset) as receiver:
                if size is not None:
                    await receiver.announce(size)
                await receive(request.stream(), receiver)
                if last:
                    await receiver.mark_complete()
            return await self.uploads.look(self.user, id)
        except UploadError as error:
            raise _refusal(error) from None
        except TimeoutError as error:
            raise RefusedError(408, str(error), LAST) from None


async def _refusing(doing: Awaitable[Found]) -> Found:
    try:
        return await doing
    except UploadError as error:
        raise _refusal(error) from None


def _refusal(error: UploadError) -> RefusedError:
    headers = {**LAST, **TUS}
    if isinstance(error, WrongOffsetError):
        headers["Upload-Offset"] = str(error.offset)
    return RefusedError(STATUS.get(type(error), 400), str(error), headers)


def _check(request: Request) -> None:
    if request.headers.get("tus-resumable", TUS["Tus-Resumable"]) != TUS["Tus-Resumable"]:
        raise RefusedError(412, "Only version 1.0.0 of tus is spoken here.", {"Tus-Version": "1.0.0", **LAST})
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise RefusedError(415, "Send the file's bytes as they are, without Content-Encoding.", LAST)


def _content_length(request: Request) -> int | None:
    length = request.headers.get("content-length")
    return _number("Content-Length", length) if length is not None else None


def _kind(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS):
        raise RefusedError(400, f"{name} has to be a number of bytes.", LAST)
    return int(text)


def _name(request: Request) -> str:
    for pair in request.headers.get("upload-metadata", "").split(","):
        key, _, value = pair.strip().partition(" ")
        if key == "filename":
            try:
                return base64.b64decode(value.strip(), validate=True).decode("utf-8")
            except (binascii.Error, UnicodeDecodeError):
                raise RefusedError(400, "The filename in Upload-Metadata has to be UTF-8 in base64.", LAST) from None
    name = request.query_params.get("name", "")
    if not name:
        raise RefusedError(400, "Say what the file is called: ?name=sales.csv", LAST)
    return name


def _told(upload: Upload) -> dict[str, str]:
    return {
        **TUS,
        "Upload-Offset": str(upload.offset),
        **({"Upload-Defer-Length": "1"} if upload.size is None else {"Upload-Length": str(upload.size)}),
    }


def _shown(upload: Upload) -> dict[str, Any]:
    return {
        "id": upload.id,
        "name": upload.name,
        "size": upload.size,
        "offset": upload.offset,
        "complete": upload.complete,
        "file": upload.spec,
    }
