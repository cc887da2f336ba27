"""Deleting a thread over HTTP: its runs are ended first, and what it has published is removed with it."""

import asyncio
import contextlib
import logging
import re

from starlette._utils import get_route_path
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from server.checkpoints import opened
from server.platform import Platform
from storage.artifacts import Artifacts, StorageError

THREAD = re.compile(r"/threads/([0-9a-fA-F-]{36})/?")
DELETED = (200, 204)
"""What LangGraph's servers and Aegra say."""
PATIENCE = 30.0
"""Seconds that runs may take to end; then the thread is deleted all the same."""

logger = logging.getLogger(__name__)


class Forgetting:
    """Middleware of ASGI, behind the guard.

    Args:
        app: What deletes threads, and says whether it has.
        artifacts: Where published files are.
    """

    def __init__(self, app: ASGIApp, artifacts: Artifacts) -> None:
        self._app = app
        self._artifacts = artifacts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: D102 - ASGI
        asked = scope["type"] == "http" and scope["method"] == "DELETE" and THREAD.fullmatch(get_route_path(scope))
        if not asked:
            await self._app(scope, receive, send)
            return
        thread = asked[1].lower()

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] in DELETED:
                await opened.deleted(thread)
                await self._remove(thread)
            await send(message)

        # A run that goes on would keep writing to a thread that is no more.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await Platform(Request(scope)).end_runs(thread)
        await self._app(scope, receive, sending)

    async def _remove(self, thread: str) -> None:
        try:
            await self._artifacts.remove(thread)
        except StorageError as error:  # the thread is deleted already
            logger.warning("Published files of a deleted thread stay: %s", error, extra={"thread_id": thread})
