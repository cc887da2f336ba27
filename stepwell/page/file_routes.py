"""Files: the page's own, uploads, figures, published files with a preview, exports."""

import asyncio
import codecs
import csv
import io
import re
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, cast, get_args
from urllib.parse import quote

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from graph.state import Input
from stepwell.exports.archive import published
from stepwell.exports.beside import PICTURES
from stepwell.exports.export import Format
from stepwell.exports.file_response import FileResponse
from stepwell.exports.markdown import prose
from stepwell.exports.pictures import picture_type
from stepwell.exports.served_files import INLINE, SAFE, disposition
from stepwell.page.backend import NothingFoundError
from stepwell.page.rendering import ASSET_TYPES, asset, backend_of, base_of, page, policy_of
from stepwell.page.shown_thread import Addresses
from stepwell.page.upload_remarks import remark_on
from stepwell.page.variables import NOTHING, TABLE_FILES, Missing
from stepwell.tus import TusUploads
from storage.artifacts import mime_of
from storage.published_files import PublishedFile

Open = Callable[[], AbstractAsyncContextManager[PublishedFile]]
UPLOADS = "/uploads"
UPLOAD = f"{UPLOADS}/{{upload}}"
PREVIEW = 200_000
"""Bytes of a text that a preview shows."""
ROWS, COLUMNS = 200, 50
SEPARATORS = {"text/csv": ",", "text/tab-separated-values": "\t"}
SHOWN_TEXT = ("text/", "application/json", "application/jsonl", "application/x-ipynb+json")
FORMS = {"text/markdown": "prose", "text/x-python": "code"}
"""How texts of these types are shown."""
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


def _uploads_of_sender(request: Request) -> TusUploads:
    uploads, user = backend_of(request).upload_place()
    return TusUploads(uploads, user, f"{base_of(request)}{UPLOADS}")


async def create_upload(request: Request) -> Response:
    """Begins an upload, or takes a whole file."""
    return await _uploads_of_sender(request).create(request)


async def about_uploads(request: Request) -> Response:
    """What clients of tus ask first."""
    return _uploads_of_sender(request).about()


async def get_upload(request: Request) -> Response:
    """How far it is."""
    return await _uploads_of_sender(request).look(request.path_params["upload"])


async def continue_upload(request: Request) -> Response:
    """Takes the next piece."""
    return await _uploads_of_sender(request).go_on(request, request.path_params["upload"])


async def remove_upload(request: Request) -> Response:
    """Removes it."""
    return await _uploads_of_sender(request).remove(request.path_params["upload"])


async def get_remark(request: Request) -> Response:
    """What is wrong with an upload that is complete, as plain text; empty when nothing shows."""
    uploads, user = backend_of(request).upload_place()
    content, upload = await asyncio.to_thread(uploads.content, user, request.path_params["upload"])
    return PlainTextResponse(await remark_on(content, upload.name))


async def get_figure(request: Request) -> Response:
    """A figure as it was after a cell."""
    asked = request.path_params
    step = request.query_params.get("step", "")
    data = await backend_of(request).figure(asked["thread"], asked["cell"], asked["path"], step=step)
    return Response(data, headers={**SAFE, "Cache-Control": "private, max-age=60"}, media_type=picture_type(data))


async def get_artifact(request: Request) -> Response:
    """A published file; with `?download=1` never shown by the browser itself."""
    name = request.path_params["name"]
    backend = backend_of(request)
    return _sent(request, name, partial(backend.artifact, request.path_params["thread"], name))


async def get_step_file(request: Request) -> Response:
    """A file of the workspace as it was at a step."""
    asked, backend = request.path_params, backend_of(request)
    return _sent(request, asked["path"], partial(backend.step_file, asked["thread"], asked["step"], asked["path"]))


def _sent(request: Request, name: str, open: Open) -> Response:
    pdf = {"Content-Security-Policy": PDF_POLICY, "X-Frame-Options": "SAMEORIGIN"} if mime_of(name) == PDF else {}
    return FileResponse(request, name, open, inline=INLINE | {PDF}, more=pdf)


async def get_input(request: Request) -> Response:
    """A file that the user brought; with `?download=1` never shown by the browser itself."""
    path = request.path_params["path"]
    open = partial(backend_of(request).input_file, request.path_params["thread"], path)
    return _sent(request, path.rpartition("/")[2], open)


async def preview(request: Request) -> Response:
    """A published file as far as the page can show it, with a link to download it."""
    thread, name = request.path_params["thread"], request.path_params["name"]
    raw = f"{base_of(request)}/threads/{thread}/artifacts/{quote(name)}"
    open = partial(backend_of(request).artifact, thread, name)
    rows_at = await _rows_at(request, thread, name) if name.lower().endswith(TABLE_FILES) else ""
    return await _preview(request, name, raw, open, rows_at=rows_at)


async def _rows_at(request: Request, thread: str, name: str) -> str:
    """Where the rows of a published table are read: at the step that wrote it; empty where there is none."""
    view = await backend_of(request).thread(thread)
    one = next((one for one in published(view.state) if one["name"] == name), None)
    if one is None or one["cell"] not in view.steps:
        return ""
    path = one.get("path") or (name if name.startswith("outputs/") else f"outputs/{name}")
    return f"{base_of(request)}/threads/{thread}/steps/{view.steps[one['cell']]}/variables/{quote(path)}"


async def preview_input(request: Request) -> Response:
    """A file that the user brought: what its profile says, and its beginning."""
    thread, path = request.path_params["thread"], request.path_params["path"]
    inputs = (await backend_of(request).thread(thread)).state.get("inputs") or []
    one = next((one for one in inputs if one["path"] == path), None)
    if one is None:
        raise NothingFoundError("This thread has no such input.")
    raw = f"{base_of(request)}/threads/{thread}/input-files/{quote(path)}"
    open = partial(backend_of(request).input_file, thread, path, beginning=PREVIEW)
    return await _preview(request, path, raw, open, one)


async def _preview(
    request: Request, name: str, raw: str, open: Open, input: Input | None = None, rows_at: str = ""
) -> Response:
    kind = mime_of(name)
    shown = "picture" if kind in PICTURES else "pdf" if kind == PDF else "none"
    values: dict[str, Any] = {"kind": shown, "text": "", "prose": "", "rows": [], "cut": False, "rows_at": rows_at}
    is_text = kind.startswith(SHOWN_TEXT)
    if input is not None and not is_text:
        size = input["size"]  # opening it restores a session
    else:
        async with open() as file:
            size = file.size
            if is_text:
                values |= await _text(file, kind)
    thread = request.path_params["thread"]
    if values["kind"] == "prose":
        there = Addresses(base_of(request), await backend_of(request).thread(thread)) if input is None else None
        values["prose"] = await asyncio.to_thread(_prose, values["text"], there)
    answer = await page(request, "file.html.jinja", thread=thread, name=name, size=size, raw=raw, input=input, **values)
    if kind == PDF:
        answer.headers["Content-Security-Policy"] = f"{policy_of(request)}; object-src 'self'; frame-src 'self'"
    return answer


async def _text(file: PublishedFile, kind: str) -> dict[str, Any]:
    """The beginning of a text, as a table where it is one."""
    read = [piece async for piece in file.pieces(0, min(file.size, PREVIEW))]
    text = decoded(b"".join(read))
    values: dict[str, Any] = {"kind": "text", "text": text, "cut": file.size > PREVIEW}
    if kind in SEPARATORS:
        separator = _separator(text, SEPARATORS[kind])
        rows, cut = await asyncio.to_thread(table_rows, text, separator, whole=file.size <= PREVIEW)
        values |= {"kind": "table", "rows": rows, "cut": cut} if rows else {}
    elif kind in FORMS:
        values["kind"] = FORMS[kind]
    return values


def _prose(text: str, there: Addresses | None) -> Markup:
    """Markdown as HTML, with the pictures and files of its thread where it is one of the thread's own."""
    made = prose(text, picture=there.picture, link=there.link) if there is not None else prose(text)
    return Markup(made)  # noqa: S704 - it was made harmless


def decoded(data: bytes) -> str:
    """The beginning of a text: UTF-16 where it says so, UTF-8, or else as Windows writes in the west of Europe."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    try:
        return codecs.getincrementaldecoder("utf-8-sig")().decode(data)  # the last character may be cut
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _separator(text: str, usual: str) -> str:
    """What parts the columns of a table: in lands where numbers have a decimal comma, files have semicolons."""
    first = text.partition("\n")[0]
    return max((usual, ";", "\t", "|"), key=first.count) if first else usual


def table_rows(text: str, separator: str, *, whole: bool) -> tuple[list[list[str]], bool]:
    """The first rows of a table as text, and whether there are more; none when it cannot be read as one."""
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    rows: list[list[str]] = []
    try:
        for row in lines:
            if len(rows) > ROWS:
                return rows[:-1], True
            rows.append([Missing(one) if rows and one.strip() in NOTHING else one for one in row[:COLUMNS]])
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
    Route(UPLOADS, create_upload, methods=["POST"]),
    Route(UPLOADS, about_uploads, methods=["OPTIONS"]),
    Route(UPLOAD, get_upload),
    Route(UPLOAD, continue_upload, methods=["PATCH"]),
    Route(UPLOAD, remove_upload, methods=["DELETE"]),
    Route(f"{UPLOAD}/remark", get_remark),
    Route("/threads/{thread}/figures/{cell:int}/{path:path}", get_figure),
    Route("/threads/{thread}/artifacts/{name:path}", get_artifact),
    Route("/threads/{thread}/files/{name:path}", preview),
    Route("/threads/{thread}/inputs/{path:path}", preview_input),
    Route("/threads/{thread}/input-files/{path:path}", get_input),
    Route("/threads/{thread}/steps/{step}/files/{path:path}", get_step_file),
    Route("/threads/{thread}/export", export),
]
