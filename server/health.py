"""Routes for whoever watches the server: whether it lives, and whether it can work."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from graph.app import blobs, sandboxes, settings, uploads
from server.readiness import Readiness
from server.routing import answered, route

readiness = Readiness(settings, sandboxes, blobs, uploads.root)


@route(
    "/stepwell/health",
    "GET",
    summary="Whether the process lives",
    responses={200: answered()},
    tag="Stepwell: operation",
    open_to_all=True,
)
async def health(request: Request) -> Response:
    """Restart it when this is not answered."""
    return JSONResponse({"ok": True})


@route(
    "/stepwell/ready",
    "GET",
    summary="Whether it can work",
    responses={200: answered(), 503: answered(description="It cannot; `checks` says what is wrong.")},
    tag="Stepwell: operation",
    open_to_all=True,
)
async def ready(request: Request) -> Response:
    """Send it no requests while this says 503.

    No cell has run on it yet, a folder cannot be written, or the store of snapshots is away. The log says why no cell
    can run.
    """
    checks = await readiness.checks()
    ok = all(checks.values())
    return JSONResponse({"ok": ok, "checks": checks}, 200 if ok else 503)
