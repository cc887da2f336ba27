"""Files: the page's own, uploads, figures, published files with a preview, exports."""

import asyncio
import csv
import io
import re
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any, cast, get_args

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from stepwell.amounts import size_text
from stepwell.exports.export import Format
from stepwell.exports.pictures import picture_type
from stepwell.exports.served_files import INLINE, SAFE, content_type, disposition
from stepwell.page.backend import NothingFoundError
from stepwell.page.rendering import ASSET_TYPES, asset, backend_of, page, policy_of
from stepwell.page.shown_thread import PICTURES
from storage.artifacts import mime_of
from storage.published_files import PublishedFile
from storage.uploads import UploadError

PREVIEW = 200_000
"""Bytes of a text that a preview shows."""
ROWS, COLUMNS = 200, 50
SEPARATORS = {"text/csv": ",", "text/tab-separated-values": "\t"}
SHOWN_TEXT = ("text/", "application/json", "application/jsonl", "application/x-ipynb+json")
PDF = "application/pdf"
PDF_POLICY = "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; frame-ancestors 'self'"
"""A browser's own viewer shows it in the page; in a sandbox it would refuse to."""
BETWEEN, TITLE = re.compile(r"[\W_]+"), 60
"""What parts words, and how many characters of a question the name of a download begins with."""
EXPORTS: dict[Format, str] = {
    "zip": "application/zip",
    "html": "text/html; charset=utf-8",
    "ipynb": "application/x-ipynb+json",
}


async def get_asset(request: Request) -> Response:
    """A stylesheet or a script of the page."""
    name = request.path_params["name"]
    if name not in ASSET_TYPES:
        raise NothingFoundError("There is no such file.")
    data = await asyncio.to_thread(asset, name)
    return Response(data, headers={"Cache-Control": "max-age=31536000, immutable"}, media_type=ASSET_TYPES[name])


async def put_upload(request: Request) -> Response:
    """Takes a file as the body of the request."""
    length = request.headers.get("content-length", "")
    size = int(length) if length.isdecimal() and len(length) < 16 else None
    try:
        taken = await backend_of(request).upload(request.query_params.get("name", ""), request.stream(), size=size)
    except UploadError as error:
        return JSONResponse({"detail": str(error)}, 422, {"Connection": "close"})
    shown = {"file": taken.file, "name": taken.name, "size": taken.size, "shown": size_text(taken.size)}
    return JSONResponse(shown, 201)


async def get_figure(request: Request) -> Response:
    """A figure as it was after a cell."""
    asked = request.path_params
    step = request.query_params.get("step", "")
    data = await backend_of(request).figure(asked["thread"], asked["cell"], asked["path"], step=step)
    return Response(data, headers={**SAFE, "Cache-Control": "private, max-age=60"}, media_type=picture_type(data))


async def get_artifact(request: Request) -> Response:
    """A published file; with `?download=1` never shown by the browser itself."""
    name = request.path_params["name"]
    return await _sent(request, name, backend_of(request).artifact(request.path_params["thread"], name))


async def get_step_file(request: Request) -> Response:
    """A file of the workspace as it was at a step."""
    asked = request.path_params
    return await _sent(
        request, asked["path"], backend_of(request).step_file(asked["thread"], asked["step"], asked["path"])
    )


async def _sent(request: Request, name: str, opening: AbstractAsyncContextManager[PublishedFile]) -> Response:
    kind = mime_of(name)
    download = request.query_params.get("download", "") not in ("", "0")
    inline = not download and (kind in INLINE or kind == PDF)
    headers = {
        **SAFE,
        "Content-Type": content_type(kind),
        "Content-Disposition": disposition(name, inline=inline),
        **({"Content-Security-Policy": PDF_POLICY, "X-Frame-Options": "SAMEORIGIN"} if kind == PDF else {}),
    }
    file = await opening.__aenter__()
    headers["Content-Length"] = str(file.size)

    async def pieces() -> AsyncIterator[bytes]:
        try:
            async for piece in file.pieces(0, file.size):
                yield piece
        finally:
            await opening.__aexit__(None, None, None)

    return StreamingResponse(pieces(), 200, headers)


async def preview(request: Request) -> Response:
    """A published file as far as the page can show it, with a link to download it."""
    thread, name = request.path_params["thread"], request.path_params["name"]
    kind = mime_of(name)
    values: dict[str, Any] = {"kind": "none", "text": "", "rows": [], "cut": False}
    async with backend_of(request).artifact(thread, name) as file:
        if kind in PICTURES:
            values["kind"] = "picture"
        elif kind == PDF:
            values["kind"] = "pdf"
        elif kind.startswith(SHOWN_TEXT):
            read = [piece async for piece in file.pieces(0, min(file.size, PREVIEW))]
            text = b"".join(read).decode("utf-8", "replace")
            values |= {"kind": "text", "text": text, "cut": file.size > PREVIEW}
            if kind in SEPARATORS:
                rows, cut = await asyncio.to_thread(_rows, text, SEPARATORS[kind], whole=file.size <= PREVIEW)
                values |= {"kind": "table", "rows": rows, "cut": cut} if rows else {}
            elif kind == "text/markdown":
                values["kind"] = "prose"
        size = file.size
    answer = await page(request, "file.html.jinja", thread=thread, name=name, size=size, **values)
    if kind == PDF:
        answer.headers["Content-Security-Policy"] = f"{policy_of(request)}; object-src 'self'; frame-src 'self'"
    return answer


def _rows(text: str, separator: str, *, whole: bool) -> tuple[list[list[str]], bool]:
    """The first rows of a table as text, and whether there are more; none when it cannot be read as one."""
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    rows: list[list[str]] = []
    try:
        for row in lines:
            if len(rows) > ROWS:
                return rows[:-1], True
            rows.append(row[:COLUMNS])
    except csv.Error:
        return [], False
    return (rows, False) if whole else (rows[:-1], True)


async def export(request: Request) -> Response:
    """A thread, or a step of it, as a file to hand on."""
    thread, step = request.path_params["thread"], request.query_params.get("step", "")
    given = request.query_params.get("format", "html")
    if given not in get_args(Format):
        raise NothingFoundError("There is no such format: html, ipynb or zip can be had.")
    form = cast("Format", given)
    exporter = await backend_of(request).exporter(thread, step)
    title = BETWEEN.sub("-", exporter.require_question())[:TITLE].strip("-") or "stepwell"
    name = f"{title}-{thread[:8]}{'-' + step if step else ''}.{form}"
    headers = {**SAFE, "Content-Disposition": disposition(name, inline=False)}
    return StreamingResponse(exporter.pieces(form), 200, headers, EXPORTS[form])


routes = [
    Route("/assets/{name}", get_asset),
    Route("/uploads", put_upload, methods=["PUT"]),
    Route("/threads/{thread}/figures/{cell:int}/{path:path}", get_figure),
    Route("/threads/{thread}/artifacts/{name:path}", get_artifact),
    Route("/threads/{thread}/files/{name:path}", preview),
    Route("/threads/{thread}/steps/{step}/files/{path:path}", get_step_file),
    Route("/threads/{thread}/export", export),
]
