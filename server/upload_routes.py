"""Routes for inputs: uploaded in one request, or resumably in several, as tus 1.0.0 says (https://tus.io/protocols)."""

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from graph.app import uploads
from server.routing import Json, RefusedError, external_path, path_parameter, response_schema, route, sender
from server.users import User
from storage.uploads import (
    BusyUploadError,
    NoRoomError,
    NoSuchUploadError,
    Upload,
    UploadError,
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


TUS = {"Tus-Resumable": "1.0.0"}
PIECE_TYPE = "application/offset+octet-stream"
MAX_DIGITS = 15
LAST = {"Connection": "close"}
"""With an answer that comes before the request's end."""
STATUS: dict[type[UploadError], int] = {
    NoSuchUploadError: 404,
    BusyUploadError: 423,
    WrongOffsetError: 409,
    UploadTooLargeError: 413,
    UploadTypeError: 415,
    NoRoomError: 507,
}
SAID: Json = {
    "type": "object",
    "required": ["id", "name", "size", "offset", "complete", "file"],
    "properties": {
        "id": {"type": "string"},
        "name": {"type": "string"},
        "size": {"type": ["integer", "null"]},
        "offset": {"type": "integer", "description": "Bytes that have arrived."},
        "complete": {"type": "boolean"},
        "file": {"type": "string", "description": "What names it among the `files` of a run's input."},
    },
}
UPLOAD_ID = path_parameter("upload_id", "The upload's id.")
BODY: Json = {"content": {PIECE_TYPE: {"schema": {"type": "string", "format": "binary"}}}}


def _header(name: str, description: str, schema: Json, *, required: bool = False) -> Json:
    return {"name": name, "in": "header", "required": required, "schema": schema, "description": description}


@route(
    "/stepwell/uploads",
    "POST",
    summary="Upload an input, or begin to",
    parameters=[
        {
            "name": "name",
            "in": "query",
            "required": False,
            "schema": {"type": "string"},
            "description": "What the file is called; needed unless `Upload-Metadata` says it.",
        },
        _header("Upload-Length", "The file's bytes: it comes in pieces, by PATCH.", {"type": "integer", "minimum": 0}),
        _header("Upload-Defer-Length", "`1`: a later piece says with `Upload-Length` how long it is.", {"enum": ["1"]}),
        _header("Upload-Metadata", "As tus says: `filename` and its value in base64.", {"type": "string"}),
    ],
    body={"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}},
    responses={201: response_schema(schema=SAID, description="It has begun, or is complete.")},
    refusals=[400, 408, 412, 413, 415, 423, 507],
    tag="Stepwell: uploads",
)
async def create_upload(request: Request) -> Response:
    """Without `Upload-Length` or `Upload-Defer-Length` the body is the whole file."""
    user = sender(request)
    _check(request)
    length, deferred = request.headers.get("upload-length"), request.headers.get("upload-defer-length")
    if deferred is not None and (deferred != "1" or length is not None):
        raise RefusedError(400, "Send `Upload-Defer-Length: 1`, or Upload-Length, not both.", LAST)
    whole = length is None and deferred is None
    size = _number("Upload-Length", length) if length is not None else _content_length(request) if whole else None
    upload = await _refusing(uploads.create(user.id, _name(request), size))
    if whole or _kind(request) == PIECE_TYPE:
        try:
            upload = await _receive(request, user, upload.id, 0, last=whole)
        except (RefusedError, ClientDisconnect):
            if whole:  # nobody was told what it is called, so nobody can go on with it
                await uploads.remove(user.id, upload.id)
            raise
    elif upload.size == 0:
        upload = await _refusing(uploads.look(user.id, upload.id))
    return JSONResponse(
        _shown(upload), 201, {**_told(upload), "Location": external_path(request, f"/stepwell/uploads/{upload.id}")}
    )


@route(
    "/stepwell/uploads",
    "OPTIONS",
    summary="What resumable uploads can do here",
    responses={204: {"description": "In headers, as tus says."}},
    tag="Stepwell: uploads",
)
async def about_uploads(request: Request) -> Response:
    """For clients of tus."""
    sender(request)
    headers = {
        **TUS,
        "Tus-Version": "1.0.0",
        "Tus-Extension": "creation,creation-with-upload,creation-defer-length,termination",
        "Tus-Max-Size": str(uploads.max_bytes),
    }
    return Response(status_code=204, headers=headers)


@route(
    "/stepwell/uploads",
    "GET",
    summary="List your uploads",
    responses={
        200: response_schema(
            schema={
                "type": "object",
                "required": ["uploads"],
                "properties": {"uploads": {"type": "array", "items": SAID}},
            }
        )
    },
    tag="Stepwell: uploads",
)
async def list_uploads(request: Request) -> Response:
    """Newest first."""
    return JSONResponse({"uploads": [_shown(one) for one in await uploads.all(sender(request).id)]})


@route(
    "/stepwell/uploads/{upload_id}",
    "GET",
    summary="See how far an upload is",
    parameters=[UPLOAD_ID],
    responses={200: response_schema(schema=SAID)},
    refusals=[404],
    tag="Stepwell: uploads",
)
async def get_upload(request: Request) -> Response:
    """With HEAD the same in headers: `Upload-Offset` is where the next piece begins."""
    upload = await _refusing(uploads.look(sender(request).id, request.path_params["upload_id"]))
    return JSONResponse(_shown(upload), 200, {**_told(upload), "Cache-Control": "no-store"})


@route(
    "/stepwell/uploads/{upload_id}",
    "PATCH",
    summary="Send the next piece of an upload",
    parameters=[
        UPLOAD_ID,
        _header("Upload-Offset", "Where the piece begins.", {"type": "integer", "minimum": 0}, required=True),
        _header("Upload-Length", "The file's bytes, where that was deferred.", {"type": "integer", "minimum": 0}),
    ],
    body=BODY,
    responses={204: {"description": "It has arrived; `Upload-Offset` is where the next one begins."}},
    refusals=[400, 404, 408, 409, 412, 413, 415, 423, 507],
    tag="Stepwell: uploads",
)
async def continue_upload(request: Request) -> Response:
    """What arrives before the connection breaks is kept."""
    user = sender(request)
    _check(request)
    if _kind(request) != PIECE_TYPE:
        raise RefusedError(415, f"A piece has the content type {PIECE_TYPE}.", LAST)
    offset = request.headers.get("upload-offset")
    if offset is None:
        raise RefusedError(400, "Say with Upload-Offset where the piece begins.", LAST)
    length = request.headers.get("upload-length")
    size = _number("Upload-Length", length) if length is not None else None
    begins = _number("Upload-Offset", offset)
    upload = await _receive(request, user, request.path_params["upload_id"], begins, last=False, size=size)
    return Response(status_code=204, headers=_told(upload))


@route(
    "/stepwell/uploads/{upload_id}",
    "DELETE",
    summary="Remove an upload",
    parameters=[UPLOAD_ID],
    responses={204: {"description": "It is gone; analyses that took it in keep what they have."}},
    refusals=[404],
    tag="Stepwell: uploads",
)
async def remove_upload(request: Request) -> Response:
    """It counts no longer towards what its user may upload."""
    await _refusing(uploads.remove(sender(request).id, request.path_params["upload_id"]))
    return Response(status_code=204, headers=TUS)


async def _receive(
    request: Request, user: User, id: str, offset: int, *, last: bool, size: int | None = None
) -> Upload:
    try:
        async with uploads.open_writer(user.id, id, offset) as receiver:
            if size is not None:
                await receiver.announce(size)
            await receive(request.stream(), receiver)
            if last:
                await receiver.mark_complete()
        return await uploads.look(user.id, id)
    except UploadError as error:
        raise _refusal(error) from None
    except TimeoutError as error:
        raise RefusedError(408, str(error), LAST) from None


async def _refusing(doing: Any) -> Any:
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
