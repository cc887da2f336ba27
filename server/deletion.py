"""Deleting over HTTP: a thread with all that it published, when its runs have ended; a run as one of its own thread."""

import asyncio
import contextlib
import logging
import re
from uuid import UUID

from starlette._utils import get_route_path
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graph.users.consumption import Consumption
from server.checkpoints import open_savers
from server.platform import NOT_FOUND, Platform
from server.routing import USER
from server.users import User
from stepwell.errors import RefusedError
from storage.artifacts import Artifacts, StorageError

THREAD = re.compile(r"/threads/([^/]+)/?")
RUN = re.compile(r"/threads/([^/]+)/runs/([^/]+)/?")
DELETED = (200, 204)
"""What LangGraph's servers and Aegra say."""
PATIENCE = 30.0
"""Seconds that runs may take to end; then the thread is deleted all the same."""

logger = logging.getLogger(__name__)


class Deletion:
    """ASGI middleware, behind the guard.

    Args:
        app: What deletes threads, and says whether it has.
        artifacts: Where published files are.
        consumption: What its user's threads keep.
    """

    def __init__(self, app: ASGIApp, artifacts: Artifacts, consumption: Consumption) -> None:
        self._app = app
        self._artifacts = artifacts
        self._consumption = consumption

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: D102 - ASGI
        path = get_route_path(scope) if scope["type"] == "http" and scope["method"] == "DELETE" else ""
        if run := RUN.fullmatch(path):
            await self._delete_run(run[1], run[2], scope, receive, send)
            return
        thread = thread_in(path)
        if not thread:
            await self._app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start" and (
                message["status"] in DELETED or (message["status"] == NOT_FOUND and await self._counted(scope, thread))
            ):
                await open_savers.deleted(thread)
                await self._remove(thread)
                if isinstance(user := scope.get(USER), User):
                    await self._consumption.forget(user.id, thread)
            await send(message)

        # A run that goes on would keep writing to a thread that is no more.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await Platform(Request(scope)).cancel_runs(thread)
        await self._app(scope, receive, sending)

    async def _delete_run(self, thread: str, run: str, scope: Scope, receive: Receive, send: Send) -> None:
        # LangGraph's in-memory server looks whose the thread is, and removes the checkpoints of whatever run is named
        # before it finds out that the run is another thread's.
        try:
            await Platform(Request(scope)).require_run(thread, run)
        except RefusedError as refusal:
            await refusal.answer()(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _counted(self, scope: Scope, thread: str) -> bool:
        """Whether the thread still counts for the sender, as that of a stateless run does, which ended with the run."""
        user = scope.get(USER)
        return isinstance(user, User) and thread in (await self._consumption.look(user.id)).threads

    async def _remove(self, thread: str) -> None:
        try:
            await self._artifacts.remove(thread)
        except StorageError as error:  # the thread is deleted already
            logger.warning("Published files of a deleted thread stay: %s", error, extra={"thread_id": thread})


def thread_in(path: str) -> str:
    """The id of the thread that a path names, as it is stored; LangGraph takes it without dashes, too."""
    try:
        return str(UUID(asked[1])) if (asked := THREAD.fullmatch(path)) else ""
    except ValueError:
        return ""
