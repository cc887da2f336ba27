"""Asks LangGraph's own routes, in this process and as the user himself: whose a thread is, is decided there alone."""

from collections.abc import AsyncIterator
from typing import Any, cast
from uuid import UUID

import httpx
from starlette.requests import Request

from graph.state import State
from server.routing import RefusedError

CREDENTIALS = ("authorization", "x-api-key")
PAGE = 20
"""Checkpoints that are read at a time; each comes with its whole state."""
NO_THREAD = "There is no such thread."
NOT_FOUND, SERVER_ERROR = 404, 500


class Platform:
    """LangGraph's routes for the sender of one request."""

    def __init__(self, request: Request) -> None:
        self._headers = {name: request.headers[name] for name in CREDENTIALS if name in request.headers}
        self._app = request.app

    async def state(self, thread: str) -> State:
        """The state that a thread is in now.

        Raises:
            RefusedError: there is no such thread, or it is not the sender's.
        """
        return cast("State", (await self._ask("GET", thread, "state")).get("values") or {})

    async def checkpoints(self, thread: str) -> AsyncIterator[dict[str, Any]]:
        """All checkpoints of a thread with their states, newest first.

        Raises:
            RefusedError: there is no such thread, or it is not the sender's.
        """
        await self._ask("GET", thread, "state")  # the history of no thread is an empty one
        before: dict[str, Any] = {}
        while True:
            page = await self._ask("POST", thread, "history", {"limit": PAGE, **before})
            for one in page:
                yield one
            if len(page) < PAGE:
                return
            before = {"before": {"configurable": {"checkpoint_id": page[-1]["checkpoint"]["checkpoint_id"]}}}

    async def _ask(self, method: str, thread: str, what: str, body: dict[str, Any] | None = None) -> Any:
        try:
            path = f"/threads/{UUID(thread)}/{what}"
        except ValueError:
            raise RefusedError(NOT_FOUND, NO_THREAD) from None
        transport = httpx.ASGITransport(app=self._app, raise_app_exceptions=False)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost", headers=self._headers, trust_env=False
        ) as client:
            said = await client.request(method, path, json=body, timeout=None)
        if said.status_code >= SERVER_ERROR:
            raise RefusedError(503, "The server cannot read this thread now; try again.")
        if not said.is_success:
            raise RefusedError(NOT_FOUND, NO_THREAD)
        return said.json()
