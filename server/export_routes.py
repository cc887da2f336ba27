"""The route that hands out a thread as a file: an archive, a report or a notebook."""

from contextlib import AbstractAsyncContextManager
from typing import cast, get_args

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from graph.app import artifacts, blobs
from graph.state import Artifact
from server.platform import Platform
from server.routing import THREAD, route, sender
from stepwell.errors import RefusedError, ThreadError
from stepwell.exports.export import Exporter, Format
from stepwell.exports.served_files import SAFE, disposition
from storage.published_files import PublishedFile, open_published

TYPES: dict[Format, str] = {
    "zip": "application/zip",
    "html": "text/html; charset=utf-8",
    "ipynb": "application/x-ipynb+json",
}
FORMAT = {
    "name": "format",
    "in": "query",
    "required": False,
    "schema": {"type": "string", "enum": list(TYPES), "default": "zip"},
    "description": "An archive with all of it, a report in one HTML file, or a Jupyter notebook.",
}


@route(
    "/stepwell/threads/{thread_id}/export",
    "GET",
    summary="Download a thread as an archive, a report or a notebook",
    parameters=[THREAD, FORMAT],
    responses={
        200: {
            "description": "The file.",
            "content": {
                TYPES["zip"]: {"schema": {"type": "string", "format": "binary"}},
                "text/html": {"schema": {"type": "string"}},
                TYPES["ipynb"]: {"schema": {"type": "object"}},
            },
        }
    },
    refusals=[404, 409, 422, 503],
    tag="Stepwell: files",
)
async def export(request: Request) -> Response:
    """Made while it is sent. An archive has the other two, the code and the published files in it."""
    sender(request)
    thread = request.path_params["thread_id"]
    given = request.query_params.get("format", "zip")
    if given not in get_args(Format):
        raise RefusedError(422, "There is no such format; give zip, html or ipynb.")
    form = cast("Format", given)
    state, updated = await Platform(request).state_and_time(thread)

    def opener(one: Artifact) -> AbstractAsyncContextManager[PublishedFile]:
        return open_published(artifacts, thread, one["name"])

    exporter = Exporter(thread, state, blobs=blobs, opener=opener, updated=updated)
    try:
        if form != "zip":
            exporter.require_question()
    except ThreadError as error:
        raise RefusedError(409, str(error)) from None
    headers = {**SAFE, "Content-Disposition": disposition(f"stepwell-{thread[:8]}.{form}", inline=False)}
    return StreamingResponse(exporter.pieces(form), 200, headers, TYPES[form])
