"""Agents over HTTP: the Model Context Protocol for users with keys, each with sessions of their own.

A user's threads, snapshots and files lie in a data folder of their own, so that no name or id of another user's leads
anywhere.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from graph.context import Context
from graph.settings import Settings, SettingsError
from graph.wiring import make_pool
from sandboxes.host.session_pool import Owner, owner
from server.users import UnknownUserError, Users
from stepwell.mcp_server.client_sessions import ClientSessions, open_client_sessions
from stepwell.mcp_server.server import make_server

SENDER = "stepwell.user"
"""Where a request's scope has who makes it."""
MOST_USERS_OPEN = 1_000


class UserSessions:
    """The sessions of each user, opened when they first come.

    Args:
        settings: The server's.
        context: The knobs of cells.
        roots: Folders that clients may name files in.
    """

    def __init__(self, settings: Settings, context: Context | None, roots: Sequence[Path]) -> None:
        self._settings = settings
        self._context = context
        self._roots = roots
        self._opened: dict[str, ClientSessions] = {}
        self._stack = AsyncExitStack()
        self._turn = asyncio.Lock()
        self._pool = make_pool(settings)

    async def of(self, call: Any) -> ClientSessions:
        """The sessions of who makes this call."""
        user: str = call.request_context.request.scope[SENDER].id
        owner.set(Owner(user))  # of the task of this call: users take turns where sessions wait for places
        async with self._turn:
            if user not in self._opened:
                if len(self._opened) >= MOST_USERS_OPEN:
                    raise SettingsError("Too many users at a time; start the server again.")
                home = self._settings.home / "users" / hashlib.sha256(user.encode()).hexdigest()[:32]
                settings = self._settings.model_copy(
                    update={"home": home, "artifacts": str(home / "artifacts"), "blobs": ""}
                )
                self._opened[user] = await self._stack.enter_async_context(
                    open_client_sessions(
                        settings, context=self._context, roots=self._roots, served=True, pool=self._pool
                    )
                )
            return self._opened[user]

    async def close(self) -> None:
        """Close the sessions of all users."""
        await self._stack.aclose()
        await self._pool.close()


class McpGuard:
    """Lets in who has a key, and notes who they are.

    Args:
        app: What it stands before.
        users: Knows keys.
    """

    def __init__(self, app: ASGIApp, users: Users) -> None:
        self._app = app
        self._users = users

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            user = await self._users.sender(dict(scope["headers"]))
        except UnknownUserError as error:
            refused = JSONResponse({"error": str(error)}, 401, {"WWW-Authenticate": "Bearer"})
            await refused(scope, receive, send)
            return
        await self._app({**scope, SENDER: user}, receive, send)


@asynccontextmanager
async def mcp_app(
    settings: Settings, *, host: str, roots: Sequence[Path] = (), context: Context | None = None
) -> AsyncIterator[ASGIApp]:
    """The application, for the time of the block.

    Args:
        settings: The server's; keys and tokens are taken as by the LangGraph server.
        host: Where it listens.
        roots: Folders that clients may name files in.
        context: The knobs of cells.

    Raises:
        SettingsError: nobody has a key, or threads lie in a database, which users would share.
    """
    users = Users.of(settings)
    if not users.auth_required:
        raise SettingsError(
            "Over HTTP agents need keys: make one with `python -m server.keys add NAME`, and set STEPWELL_API_KEYS to "
            "its file (or STEPWELL_OIDC_ISSUER)."
        )
    if settings.database_url.get_secret_value():
        raise SettingsError("Over HTTP each user has a data folder of their own: unset STEPWELL_DATABASE_URL for it.")
    sessions = UserSessions(settings, context, roots)
    server = make_server(sessions.of)
    app: Starlette = server.streamable_http_app(host=host, stateless_http=True)
    try:
        async with app.router.lifespan_context(app):
            yield McpGuard(app, users)
    finally:
        await sessions.close()


async def serve(
    settings: Settings, host: str, port: int, roots: Sequence[Path] = (), *, context: Context | None = None
) -> None:
    """Serve until Ctrl-C or SIGTERM; see `mcp_app`."""
    import uvicorn

    async with mcp_app(settings, host=host, roots=roots, context=context) as app:
        config = uvicorn.Config(
            app,
            host=host,
            port=port,
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=3,
        )
        await uvicorn.Server(config).serve()
