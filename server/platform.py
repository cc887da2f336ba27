"""Asks LangGraph's own routes, in this process and as the user: they alone decide whose a thread is."""

from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import Any, cast
from urllib.parse import quote
from uuid import UUID

import httpx
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from graph.state import State
from stepwell.errors import RefusedError

CREDENTIALS = ("authorization", "x-api-key")
INTERNAL_REQUEST = "stepwell_within"
"""In the scope of a request that the server itself sends for a user."""
PAGE = 20
"""Checkpoints that are read at a time; each comes with its whole state."""
LEFT_BUSY = 30
"""Threads that may be called busy without a run of theirs, as after a crash or when their last run was deleted."""
SECONDS = 300.0
NO_THREAD = "There is no such thread."
NO_RUN = "There is no such run on this thread."
NOT_FOUND, UNPROCESSABLE, SERVER_ERROR = 404, 422, 500


async def has_thread(scope: Scope, headers: Mapping[bytes, bytes], thread: str) -> bool:
    """Whether the sender of a request has a thread of this id.

    Raises:
        RefusedError: the server cannot say now.
    """
    try:
        id = str(UUID(thread))
    except ValueError:
        return False
    async with request_within(scope["app"], credentials_in(headers)) as client:
        found = await client.post("/threads/search", json={"ids": [id], "select": ["thread_id"], "limit": 1})
        if found.status_code == UNPROCESSABLE:  # Aegra: it finds no thread by its id
            return (await client.get(f"/threads/{id}")).is_success
    if found.status_code >= SERVER_ERROR:
        raise RefusedError(503, "The server cannot read this thread now; try again.")
    return found.is_success and [one["thread_id"] for one in found.json()] == [id]


async def count_runs(scope: Scope, most: int) -> int:
    """How many unfinished runs the sender of a request has; counts little further than `most`.

    Raises:
        RefusedError: it cannot be found out now, or so many threads are called busy that it would take too long.
    """
    headers = dict(scope["headers"])
    count = 0
    cannot_count = RefusedError(503, "The server cannot count your runs now; try again.", {"Retry-After": "5"})
    async with request_within(scope["app"], credentials_in(headers)) as client:
        busy: dict[str, Any] = {"status": "busy", "limit": most + LEFT_BUSY}
        found = await client.post("/threads/search", json={**busy, "select": ["thread_id"]})
        if found.status_code == UNPROCESSABLE:  # Aegra
            found = await client.post("/threads/search", json=busy)
        if not found.is_success:
            raise cannot_count
        # A thread may stay busy that has no run any more, as after a crash, and may have several.
        for thread in found.json():
            path = f"/threads/{thread['thread_id']}/runs"
            for status in ("pending", "running"):  # in their order: one that begins meanwhile is in either
                runs = await client.get(path, params={"status": status, "limit": most + 1})
                if not runs.is_success and runs.status_code != NOT_FOUND:  # it may have been deleted since
                    raise cannot_count
                count += len(runs.json()) if runs.is_success else 0
            if count > most:
                return count
        if len(found.json()) >= most + LEFT_BUSY:  # runs of further ones would not be counted
            sentence = (
                "Too many of your threads are busy, most of them without a run; delete those that you need no more."
            )
            raise RefusedError(429, sentence)
    return count


def credentials_in(headers: Mapping[bytes, bytes]) -> dict[str, str]:
    """The headers of a request that say who sends it."""
    return {name: headers[name.encode()].decode("latin-1") for name in CREDENTIALS if name.encode() in headers}


def request_within(app: ASGIApp, credentials: Mapping[str, str], *, internal: bool = True) -> httpx.AsyncClient:
    """An HTTP client of this server itself.

    Args:
        app: The whole server.
        credentials: Headers that say for whom it asks.
        internal: Whether its requests count for nobody; else they are as the user's own.
    """

    async def inside(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, **({INTERNAL_REQUEST: True} if internal else {})}, receive, send)

    transport = httpx.ASGITransport(app=inside, raise_app_exceptions=False)
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

    async def state_and_time(self, thread: str) -> tuple[State, datetime | None]:
        """The state that a thread is in now, and since when.

        Raises:
            RefusedError: there is no such thread, or it is not the sender's.
        """
        answer = await self._ask("GET", thread, "state")
        try:
            when = datetime.fromisoformat(answer.get("created_at") or "")
        except (TypeError, ValueError):
            when = None
        return cast("State", answer.get("values") or {}), when

    async def require_thread(self, thread: str) -> None:
        """Check whose a thread is, without reading its state.

        Raises:
            RefusedError: there is no such thread, or it is not the sender's.
        """
        headers = {name.encode(): value.encode("latin-1") for name, value in self._headers.items()}
        if not await has_thread({"app": self._app}, headers, thread):
            raise RefusedError(NOT_FOUND, NO_THREAD)

    async def require_run(self, thread: str, run: str) -> None:
        """Find out whether a run is one of a thread of the sender's.

        Raises:
            RefusedError: it is not.
        """
        async with request_within(self._app, self._headers) as client:
            found = await client.get(f"/threads/{quote(thread, safe='')}/runs/{quote(run, safe='')}")
        if found.status_code >= SERVER_ERROR:
            raise RefusedError(503, "The server cannot read this thread now; try again.")
        if not found.is_success:
            raise RefusedError(found.status_code if found.status_code == UNPROCESSABLE else NOT_FOUND, NO_RUN)

    async def cancel_runs(self, thread: str) -> None:
        """Cancel the sender's runs on a thread that have not ended, and wait for them; no such thread has none."""
        try:
            path = f"/threads/{UUID(thread)}/runs"
        except ValueError:
            return
        async with request_within(self._app, self._headers) as client:
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
        async with request_within(self._app, self._headers) as client:
            response = await client.request(method, path, json=body)
        if response.status_code >= SERVER_ERROR:
            raise RefusedError(503, "The server cannot read this thread now; try again.")
        if not response.is_success:
            raise RefusedError(NOT_FOUND, NO_THREAD)
        return response.json()
