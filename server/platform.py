"""Asks LangGraph's own routes, in this process and as the user himself: whose a thread is, is decided there alone."""

from collections.abc import AsyncIterator, Mapping
from typing import Any, cast
from urllib.parse import quote
from uuid import UUID

import httpx
from starlette.requests import Request
from starlette.types import ASGIApp, Scope

from graph.state import State
from server.routing import RefusedError

CREDENTIALS = ("authorization", "x-api-key")
PAGE = 20
"""Checkpoints that are read at a time; each comes with its whole state."""
SECONDS = 300.0
NO_THREAD = "There is no such thread."
NOT_FOUND, UNPROCESSABLE, SERVER_ERROR = 404, 422, 500


async def has_thread(scope: Scope, headers: Mapping[bytes, bytes], thread: str) -> bool:
    """Whether the sender of a request has a thread of this id."""
    credentials = {name: headers[name.encode()].decode("latin-1") for name in CREDENTIALS if name.encode() in headers}
    try:
        id = str(UUID(thread))
    except ValueError:
        return False
    async with _within(scope["app"], credentials) as client:
        found = await client.post("/threads/search", json={"ids": [id], "select": ["thread_id"], "limit": 1})
        if found.status_code == UNPROCESSABLE:  # Aegra: it finds no thread by its id
            return (await client.get(f"/threads/{id}")).is_success
    return found.is_success and [one["thread_id"] for one in found.json()] == [id]


def _within(app: ASGIApp, credentials: Mapping[str, str]) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    return httpx.AsyncClient(
        transport=transport, base_url="http://localhost", headers=credentials, trust_env=False, timeout=SECONDS
    )


class Platform:
    """LangGraph's routes for the sender of one request."""

    def __init__(self, request: Request) -> None:
        self._headers = {name: request.headers[name] for name in CREDENTIALS if name in request.headers}
        self._app = request.app

    async def state(self, thread: str, checkpoint: str = "") -> State:
        """The state that a thread is in now, or was in at a checkpoint.

        Raises:
            RefusedError: there is no such thread, or it is not the sender's.
        """
        what = f"state/{quote(checkpoint, safe='')}" if checkpoint else "state"
        return cast("State", (await self._ask("GET", thread, what)).get("values") or {})

    async def end_runs(self, thread: str) -> None:
        """Cancel the sender's runs on a thread that have not ended, and wait for them; no such thread has none."""
        try:
            path = f"/threads/{UUID(thread)}/runs"
        except ValueError:
            return
        async with _within(self._app, self._headers) as client:
            for status in ("pending", "running"):
                found = await client.get(path, params={"status": status, "limit": 1_000})
                for run in found.json() if found.is_success else []:
                    await client.post(f"{path}/{run['run_id']}/cancel", params={"wait": "true"})

    async def checkpoints(self, thread: str) -> AsyncIterator[dict[str, Any]]:
        """All checkpoints of a thread with their states, newest first; none when it is not the sender's.

        Raises:
            RefusedError: they cannot be read now.
        """
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
        async with _within(self._app, self._headers) as client:
            said = await client.request(method, path, json=body)
        if said.status_code >= SERVER_ERROR:
            raise RefusedError(503, "The server cannot read this thread now; try again.")
        if not said.is_success:
            raise RefusedError(NOT_FOUND, NO_THREAD)
        return said.json()
