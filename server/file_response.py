"""How the server's routes hand over a file: as the page does, but refusals are JSON, and other pages may show it."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from server.routing import LINKED, Json
from stepwell.errors import RefusedError
from stepwell.exports.file_response import FileResponse
from storage.artifacts import StorageError
from storage.published_files import NoSuchArtifactError, PublishedFile

FILE: dict[int, Json] = {
    200: {
        "description": "The file.",
        "content": {"*/*": {"schema": {"type": "string", "format": "binary"}}},
        "headers": {"ETag": {"schema": {"type": "string"}}, "Accept-Ranges": {"schema": {"type": "string"}}},
    },
    206: {
        "description": "The part that `Range` asks for.",
        "content": {"*/*": {"schema": {"type": "string", "format": "binary"}}},
    },
    304: {"description": "The caller has it already (`If-None-Match`)."},
}


class RangeFileResponse(FileResponse):
    """See `FileResponse`; nothing is raised before the answer has begun.

    Args:
        request: What asks for it; with a signed link it may come from any page.
        name: What it is called.
        open: Opens it.
        known: Its size and version, where it need not be opened for these.
    """

    def __init__(
        self,
        request: Request,
        name: str,
        open: Callable[[], AbstractAsyncContextManager[PublishedFile]],
        known: tuple[int, str] | None = None,
    ) -> None:
        from_any_page = {"Cross-Origin-Resource-Policy": "cross-origin"} if request.scope.get(LINKED) else {}
        super().__init__(request, name, open, known, more=from_any_page)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: D102 - ASGI
        try:
            await super().__call__(scope, receive, send)
        except NoSuchArtifactError:
            await RefusedError(404, "There is no such file.").answer()(scope, receive, send)
        except StorageError as error:
            if self.begun:
                raise  # the connection ends before all has come, which is how the reader knows
            await RefusedError(503, str(error)).answer()(scope, receive, send)
        except RefusedError as refusal:
            await refusal.answer()(scope, receive, send)
