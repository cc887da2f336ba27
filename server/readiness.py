"""Whether a server can work: one cell with a figure and a snapshot has run on it, and its folders and store are there.

The trial begins with the server. It also makes ready what the first question would wait for: the process that
sandboxes are forked from, and the model's client.
"""

import asyncio
import gc
import importlib
import logging
import os
import socket
import tempfile
from collections.abc import Awaitable
from pathlib import Path

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from graph.app import blobs, sandboxes, settings, uploads
from graph.settings import Settings
from sandboxes.opening import Sandboxes
from server.routing import response_schema, route
from storage.blobs import BlobError, Blobs

NO_BLOB = "0" * 64
PATIENCE = 5.0
"""Seconds that a look at a folder or the store may take."""
CELL_SECONDS = 120.0
SNAPSHOT_BYTES = 64 << 20
RETRY_SECONDS = 20.0
PREFIX = "ready-"
"""How the name of the sandbox of the trial begins."""
CODE = """\
import matplotlib.pyplot as plt
import pandas as pd

table = pd.DataFrame({"x": [1, 2, 3]})
table.plot()
int(table.x.sum())
"""

logger = logging.getLogger(__name__)


COLLECT_AFTER = 10_000
"""Objects more than there were, until those that are garbage are looked for, which stops everything for a millisecond.
At 700, as in Python 3.11, writing a prompt makes as many for a moment, and most steps waited for such a look."""


def freeze_heap() -> None:
    """Exclude the present objects from garbage collection: going through them stops everything for 150 ms."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, *gc.get_threshold()[1:])


class Readiness:
    """What is known of whether a server can work.

    Args:
        settings: What the operator configured.
        sandboxes: Those of the server.
        blobs: The store of snapshots.
        uploads: The folder of uploads.
    """

    def __init__(self, settings: Settings, sandboxes: Sandboxes, blobs: Blobs, uploads: Path) -> None:
        self._settings = settings
        self._sandboxes = sandboxes
        self._blobs = blobs
        self._uploads = uploads
        self.cells = False
        """Whether a cell has run here."""
        self.problem = ""
        """Why none can; empty while nothing is known."""

    async def checks(self) -> dict[str, bool]:
        """The conditions for the server to work, and whether each holds."""
        names = ("data folder", "uploads", "snapshots")
        found = await asyncio.gather(
            _holds(asyncio.to_thread(_writable, self._settings.home)),
            _holds(asyncio.to_thread(_writable, self._uploads)),
            _holds(self._blobs.has([NO_BLOB])),
        )
        return {**dict(zip(names, found, strict=True)), "cells": self.cells}

    async def run_trial(self) -> None:
        """Run the trial until it has succeeded; the log says why it fails, once for each reason."""
        client = asyncio.create_task(asyncio.to_thread(_import_client, self._settings))
        while reason := await self._trial():
            if reason != self.problem:
                logger.error("No cell can run on this server, so it is not ready: %s", reason)
            self.problem = reason
            await asyncio.sleep(RETRY_SECONDS)
        try:
            await client
        except Exception:  # of any package; who asks for such a model is told so
            logger.exception("The client of the model's endpoint cannot be imported.")
        freeze_heap()
        self.cells, self.problem = True, ""
        logger.info("A cell has run on this server; it is ready.")

    async def _trial(self) -> str:
        """Run a cell as an analysis would.

        Returns:
            Why it failed; empty when it did not.
        """
        reasons = []
        for kind in self._settings.kinds:
            name = f"{PREFIX}{socket.gethostname()[:40].replace('.', '-')}-{os.getpid()}"
            try:
                reason = await self._try_kind(kind, name)
            except Exception as error:  # whatever it is, no cell has run
                reason = str(error) or type(error).__name__
            try:
                await self._sandboxes.remove(name)
            except Exception as error:  # the next try removes it
                logger.warning("The sandbox of the trial stays: %s", error)
            if not reason:
                return ""
            reasons.append(f"{kind}: {reason}")
        return " ".join(reasons)

    async def _try_kind(self, kind: str, name: str) -> str:
        sandbox = await self._sandboxes.open(kind, name)
        result = await sandbox.run(CODE, number=1, timeout=CELL_SECONDS)
        if result.status != "ok":
            error = result.error
            return f"the cell ended with {result.status} ({error.name}: {error.message})." if error else result.status
        if not any(display.path for display in result.displays):
            return "the cell ran, and its figure is missing."
        taken = await sandbox.snapshot(limit_bytes=SNAPSHOT_BYTES)
        return taken.refused


async def _holds(check: Awaitable[object]) -> bool:
    try:
        await asyncio.wait_for(check, PATIENCE)
    except (OSError, TimeoutError, BlobError):
        return False
    return True


def _writable(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        pass


def _import_client(settings: Settings) -> None:
    """Import what takes seconds and would be imported for the first question."""
    if settings.openai_api_key.get_secret_value() or settings.openai_base_url:
        importlib.import_module("models.endpoint")


readiness = Readiness(settings, sandboxes, blobs, uploads.root)


@route(
    "/stepwell/health",
    "GET",
    summary="Whether the process lives",
    responses={200: response_schema()},
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
    responses={200: response_schema(), 503: response_schema(description="It cannot; `checks` says what is wrong.")},
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
