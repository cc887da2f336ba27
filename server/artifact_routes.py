"""Routes of a thread's published files: the list, and each file."""

from functools import partial
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from graph.app import artifacts, links
from graph.state import Artifact
from server.file_response import FILE, RangeFileResponse
from server.routing import LINKED, THREAD, external_path, path_parameter, response_schema, route, sender
from server.step_routes import newest_values
from stepwell.errors import RefusedError
from stepwell.exports.archive import published
from storage.published_files import open_published

LISTED = {
    "type": "object",
    "required": ["artifacts"],
    "properties": {
        "artifacts": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "size", "sha256", "mime", "cell", "figure", "href", "link"],
                "properties": {
                    "name": {"type": "string"},
                    "size": {"type": "integer"},
                    "sha256": {"type": "string"},
                    "mime": {"type": "string"},
                    "cell": {"type": "integer", "description": "The cell that last wrote it; 0: Stepwell itself."},
                    "figure": {"type": "boolean"},
                    "href": {"type": "string", "description": "Where it is, below this server's address."},
                    "link": {
                        "type": "string",
                        "description": "The same with a signature: for some days a browser opens it without a key.",
                    },
                },
            },
        }
    },
}
DOWNLOAD = {
    "name": "download",
    "in": "query",
    "required": False,
    "schema": {"type": "boolean"},
    "description": "Have it saved and not shown.",
}


@route(
    "/stepwell/threads/{thread_id}/artifacts",
    "GET",
    summary="List a thread's published files",
    parameters=[THREAD],
    responses={200: response_schema(schema=LISTED)},
    refusals=[404, 503],
    tag="Stepwell: files",
)
async def list_artifacts(request: Request) -> Response:
    """The files of the thread's newest state."""
    sender(request)
    thread = request.path_params["thread_id"]
    values = await newest_values(request, thread)
    return JSONResponse({"artifacts": [await _shown(request, thread, one) for one in published(values)]})


@route(
    "/stepwell/threads/{thread_id}/artifacts/{name:path}",
    "GET",
    summary="Download a published file",
    parameters=[THREAD, path_parameter("name", "The file's name, as listed; `/` between its parts."), DOWNLOAD],
    responses=FILE,
    refusals=[404, 416, 503],
    tag="Stepwell: files",
)
async def get_artifact(request: Request) -> Response:
    """One file, or a part of it. Only what the thread has published is found, by its exact name.

    Whoever has a signed link to it needs no key: the name was published when it was signed.
    """
    thread, name = request.path_params["thread_id"], request.path_params["name"]
    if request.scope.get(LINKED):
        return RangeFileResponse(request, name, partial(open_published, artifacts, thread, name))
    sender(request)
    values = await newest_values(request, thread)
    if all(one["name"] != name for one in published(values)):
        raise RefusedError(404, "This thread has published no file of that name.")
    return RangeFileResponse(request, name, partial(open_published, artifacts, thread, name))


async def _shown(request: Request, thread: str, one: Artifact) -> dict[str, Any]:
    href = external_path(request, f"/stepwell/threads/{thread}/artifacts/{quote(one['name'])}")
    return {
        "name": one["name"],
        "size": one["size"],
        "sha256": one["sha256"],
        "mime": one["mime"],
        "cell": one["cell"],
        "figure": one["name"].startswith("figures/"),
        "href": href,
        "link": f"{href}?{await links.query(thread, one['name'])}",
    }
