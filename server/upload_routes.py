"""Routes for inputs: uploaded in one request, or resumably in several, as tus says."""

from starlette.requests import Request
from starlette.responses import Response

from graph.app import uploads
from server.routing import Json, external_path, path_parameter, response_schema, route, sender
from stepwell.tus import PIECE_TYPE, TusUploads

PLACE = "/stepwell/uploads"
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
    return await _of_sender(request).create(request)


@route(
    "/stepwell/uploads",
    "OPTIONS",
    summary="What resumable uploads can do here",
    responses={204: {"description": "In headers, as tus says."}},
    tag="Stepwell: uploads",
)
async def about_uploads(request: Request) -> Response:
    """For clients of tus."""
    return _of_sender(request).about()


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
    return await _of_sender(request).all()


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
    return await _of_sender(request).look(request.path_params["upload_id"])


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
    return await _of_sender(request).go_on(request, request.path_params["upload_id"])


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
    return await _of_sender(request).remove(request.path_params["upload_id"])


def _of_sender(request: Request) -> TusUploads:
    return TusUploads(uploads, sender(request).id, external_path(request, PLACE))
