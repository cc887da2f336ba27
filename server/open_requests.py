"""The open requests, so that a server that shuts down can close those that wait for a paused run.

A web server that is asked to end waits for its open connections; a client that waits for a run waits for the server.
Somebody has to hang up.
"""

import asyncio
import re

from starlette._utils import get_route_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from stepwell.errors import RefusedError

WAITING = re.compile(
    r"/runs/(?:wait|stream)|/threads/[^/]+/runs/(?:wait|stream|[^/]+/(?:join|stream))"
    r"|/threads/[^/]+/stream(?:/events)?|/mcp|/a2a/.+|/ui/threads/[^/]+/events"
)
"""Answered when a run is over, or as long as there is one."""


class OpenRequest:
    """A request that is being answered."""

    def __init__(self, scope: Scope) -> None:
        self.waits = scope["type"] == "websocket" or WAITING.fullmatch(get_route_path(scope).rstrip("/")) is not None
        self.let_go = False
        task = asyncio.current_task()
        assert task is not None
        self.task = task
        """What answers it."""

    def cancel(self) -> None:
        """Stop answering it."""
        if not self.let_go:
            self.let_go = True
            self.task.cancel()


class Connections:
    """The open requests of a server."""

    def __init__(self) -> None:
        self._open: set[OpenRequest] = set()

    def middleware(self, app: ASGIApp) -> ASGIApp:
        """Middleware that registers each request."""

        async def watched(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] not in ("http", "websocket"):
                await app(scope, receive, send)
                return
            started = False

            async def sending(message: Message) -> None:
                nonlocal started
                started = True
                await send(message)

            one = OpenRequest(scope)
            self._open.add(one)
            try:
                await app(scope, receive, sending)
            except asyncio.CancelledError:
                if not one.let_go:
                    raise
                one.task.uncancel()  # what was cancelled is the answer, not the task
                if not started and scope["type"] == "http":
                    sentence = "This server is being restarted; ask again."
                    await RefusedError(503, sentence, {"Retry-After": "5"}).answer()(scope, receive, send)
            finally:
                self._open.discard(one)

        return watched

    async def let_go(self, seconds: float) -> None:
        """Close those that wait for runs, and all others when this time is up."""
        for one in tuple(self._open):
            if one.waits:
                one.cancel()
        if answering := [one.task for one in self._open]:
            await asyncio.wait(answering, timeout=seconds)
        for one in tuple(self._open):
            one.cancel()
