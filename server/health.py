"""Routes for whoever watches the server: whether it lives, and whether it can work."""

import asyncio
import tempfile
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from graph.app import blobs, settings, uploads
from server.routing import answered, route
from storage.blobs import BlobError

NO_BLOB = "0" * 64
PATIENCE = 5.0
"""Seconds a check may take."""


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
    """Send it no requests while this says 503: a folder cannot be written, or the store of snapshots is away."""
    names = ("data folder", "uploads", "snapshots")
    found = await asyncio.gather(
        _checked(asyncio.to_thread(_writable, settings.home)),
        _checked(asyncio.to_thread(_writable, uploads.root)),
        _checked(blobs.has([NO_BLOB])),
    )
    return JSONResponse({"ok": all(found), "checks": dict(zip(names, found, strict=True))}, 200 if all(found) else 503)


async def _checked(check: object) -> bool:
    try:
        await asyncio.wait_for(check, PATIENCE)  # type: ignore[arg-type]  # something to wait for
    except (OSError, TimeoutError, BlobError):
        return False
    return True


def _writable(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        pass
