"""Files for a question, sent while people type: resumably, as tus says, by the page's script or any other client."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from stepwell.page.rendering import backend_of, base_of
from stepwell.tus import TusUploads

PLACE = "/uploads"


def _of_sender(request: Request) -> TusUploads:
    uploads, user = backend_of(request).upload_place()
    return TusUploads(uploads, user, f"{base_of(request)}{PLACE}")


async def create_upload(request: Request) -> Response:
    """Begins an upload, or takes a whole file."""
    return await _of_sender(request).create(request)


async def about_uploads(request: Request) -> Response:
    """What clients of tus ask first."""
    return _of_sender(request).about()


async def get_upload(request: Request) -> Response:
    """How far it is."""
    return await _of_sender(request).look(request.path_params["upload"])


async def continue_upload(request: Request) -> Response:
    """Takes the next piece."""
    return await _of_sender(request).go_on(request, request.path_params["upload"])


async def remove_upload(request: Request) -> Response:
    """Removes it."""
    return await _of_sender(request).remove(request.path_params["upload"])


ONE = f"{PLACE}/{{upload}}"
routes = [
    Route(PLACE, create_upload, methods=["POST"]),
    Route(PLACE, about_uploads, methods=["OPTIONS"]),
    Route(ONE, get_upload),
    Route(ONE, continue_upload, methods=["PATCH"]),
    Route(ONE, remove_upload, methods=["DELETE"]),
]
