"""The page as an ASGI application that can stand alone or be mounted into another one."""

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graph.context import KnobError
from graph.settings import SettingsError
from sandboxes.base import SandboxError
from stepwell.errors import RefusedError, ThreadError, UsageError
from stepwell.page import file_routes, run_routes, step_routes, thread_routes
from stepwell.page.backend import NothingFoundError
from stepwell.page.forms import FormError
from stepwell.page.rendering import BackendOf, page, policy_of, public_host
from storage.artifacts import StorageError
from storage.blobs import BlobError
from storage.published_files import NoSuchArtifactError
from storage.uploads import UploadError

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with `no-referrer` browsers do not say where a form comes from
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""What every answer has, unless it says otherwise itself."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
STATUSES: Mapping[type[Exception], int] = {
    NothingFoundError: 404,
    NoSuchArtifactError: 404,
    FormError: 422,
    KnobError: 422,
    UsageError: 422,
    UploadError: 422,
    ThreadError: 409,
    SettingsError: 409,
    SandboxError: 503,
    StorageError: 503,
    BlobError: 503,
}
"""What is said in one sentence, and with which status of HTTP."""


def page_app(backend: BackendOf, *, more: Sequence[Route] = (), public_url: str = "") -> Starlette:
    """The page.

    Args:
        backend: Whose threads a request sees; whoever mounts the page has found out who sends it.
        more: Further routes, of whoever mounts it.
        public_url: Where browsers find what the page is mounted at; empty: where requests say.
    """
    ours = (thread_routes, run_routes, step_routes, file_routes)
    routes: list[Route] = [*more, *(route for one in ours for route in one.routes)]
    app = Starlette(
        routes=routes,
        middleware=[Middleware(SafePage)],
        exception_handlers={
            **dict.fromkeys(STATUSES, _told),
            RefusedError: _refused,
            404: _not_found,
            405: _not_found,
            Exception: _broken,
        },
    )
    app.state.backend_of = backend
    app.state.public_url = public_url
    return app


async def _told(request: Request, error: Exception) -> Response:
    status = next(status for kind, status in STATUSES.items() if isinstance(error, kind))
    if isinstance(error, NoSuchArtifactError):
        return await page(request, "error.html.jinja", status, sentence="There is no such file any more.", thread="")
    thread = request.path_params.get("thread", "") if request.method == "POST" else ""
    return await page(request, "error.html.jinja", status, sentence=str(error), thread=thread)


async def _refused(request: Request, error: Exception) -> Response:
    """What no person looks at: an upload, a part of a file."""
    assert isinstance(error, RefusedError)
    return error.answer()


async def _broken(request: Request, error: Exception) -> Response:
    sentence = f"Something went wrong inside Stepwell ({type(error).__name__}); its terminal or log says more."
    return await page(request, "error.html.jinja", 500, sentence=sentence, thread="")


async def _not_found(request: Request, error: Exception) -> Response:
    return await page(request, "error.html.jinja", 404, sentence="There is no such page.", thread="")


class SafePage:
    """Sees that what changes something comes from the page itself, and that a browser runs nothing but the page's own.

    Args:
        app: What comes after it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it (ASGI)."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        request = Request(scope)
        headers = {**HEADERS, "Content-Security-Policy": policy_of(request)}

        async def send_safe(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name.lower() for name, _ in message["headers"]}
                added = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
                message["headers"] = [*message["headers"], *(one for one in added if one[0] not in given)]
            await send(message)

        if request.method not in SAFE_METHODS and not is_own(request):
            refusal = Response("This request does not come from the page itself.\n", 403, media_type="text/plain")
            await refusal(scope, receive, send_safe)
            return
        await self._app(scope, receive, send_safe)


def is_own(request: Request) -> bool:
    """Whether a request comes from a page of the same origin, as far as the browser says."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None and site != "same-origin":
        return False
    if origin is None:
        return site is not None
    try:
        named = urlsplit(origin).netloc
    except ValueError:
        return False
    return bool(named) and named in (request.headers.get("host", ""), public_host(request))
