"""Threads and runs over LangGraph's own routes, in this process and as the user: begun, followed, stopped, listed."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from urllib.parse import urlencode
from uuid import uuid4

from langgraph_sdk.sse import BytesLineDecoder, SSEDecoder
from starlette.types import ASGIApp, Message

from graph.events import Event, is_event, read_event
from server.platform import INTERNAL_REQUEST, SERVER_ERROR, request_within
from stepwell.errors import ThreadError
from stepwell.runs import CONTEXT_KEY, MAX_SUPERSTEPS

ASSISTANT = "stepwell"
GOING_ON = ("pending", "running")
FROM_START = b"-1"
"""After which event a stream goes on that is wanted whole."""
WAITING = 64
"""Pieces of a stream that may wait to be read."""


@dataclass(frozen=True, slots=True)
class PlatformThread:
    """A thread as LangGraph lists it."""

    id: str
    busy: bool
    updated: datetime


@dataclass(frozen=True, slots=True)
class PlatformRun:
    """A run as LangGraph lists it."""

    id: str
    status: str
    created: datetime

    @property
    def goes_on(self) -> bool:
        """Whether it has not ended."""
        return self.status in GOING_ON

    @classmethod
    def of(cls, run: Mapping[str, Any]) -> Self:
        """Read one."""
        return cls(str(run["run_id"]), str(run["status"]), datetime.fromisoformat(run["created_at"]))


class PlatformRuns:
    """Threads and runs of the sender of a request.

    Args:
        app: The whole server.
        credentials: Headers that say who sends the request.
    """

    def __init__(self, app: ASGIApp, credentials: Mapping[str, str]) -> None:
        self._app = app
        self._credentials = credentials

    async def threads(self, limit: int, offset: int = 0) -> list[PlatformThread]:
        """The threads that changed last, newest first."""
        asked = {
            "limit": limit,
            "offset": offset,
            "sort_by": "updated_at",
            "sort_order": "desc",
            "select": ["thread_id", "status", "updated_at"],
        }
        found = await self._ask("POST", "/threads/search", asked)
        return [
            PlatformThread(str(one["thread_id"]), one["status"] == "busy", datetime.fromisoformat(one["updated_at"]))
            for one in found
        ]

    async def make_thread(self) -> str:
        """Make a thread with nothing in it; returns its id."""
        asked = {"thread_id": str(uuid4()), "metadata": {"graph_id": ASSISTANT}}
        return str((await self._ask("POST", "/threads", asked))["thread_id"])

    async def newest_run(self, thread: str) -> PlatformRun | None:
        """The run that was made last, if there is one."""
        found = await self._ask("GET", f"/threads/{thread}/runs?limit=1")
        return PlatformRun.of(found[0]) if found else None

    async def begin(
        self, thread: str, given: Mapping[str, Any], knobs: Mapping[str, Any], kept_knobs: str
    ) -> PlatformRun:
        """Begin a run, as a request of the user's own: it waits for its turn and counts.

        Args:
            thread: Its thread.
            given: `input` or `command`.
            knobs: Its context.
            kept_knobs: The same as its checkpoints keep it.

        Raises:
            ThreadError: it is refused.
        """
        asked = {
            "assistant_id": ASSISTANT,
            **given,
            "context": dict(knobs),
            "config": {"recursion_limit": MAX_SUPERSTEPS, "metadata": {CONTEXT_KEY: kept_knobs}},
            "stream_mode": ["custom"],
            "stream_resumable": True,
            "multitask_strategy": "reject",
            "durability": "sync",
        }
        return PlatformRun.of(await self._ask("POST", f"/threads/{thread}/runs", asked, internal=False))

    async def cancel(self, thread: str, run: str) -> None:
        """Stop a run, and wait for its end; one that has ended stays as it is."""
        with suppress(ThreadError):
            await self._ask("POST", f"/threads/{thread}/runs/{run}/cancel?wait=true")

    async def delete(self, thread: str) -> None:
        """Delete a thread with all that it keeps."""
        await self._ask("DELETE", f"/threads/{thread}")

    async def events(self, thread: str, run: str) -> AsyncIterator[Event]:
        """The events of a run, from its beginning until its end."""
        lines, parts = BytesLineDecoder(), SSEDecoder()
        path, query = f"/threads/{thread}/runs/{run}/stream", urlencode({"stream_mode": "custom"})
        async with aclosing(self._streamed(path, query)) as pieces:  # type: ignore[type-var]  # an async generator
            async for piece in pieces:
                for line in lines.decode(piece):
                    part = parts.decode(bytes(line))
                    if part is not None and part.event == "custom" and is_event(part.data):
                        yield read_event(part.data)

    async def _ask(self, method: str, path: str, body: Any = None, *, internal: bool = True) -> Any:
        async with request_within(self._app, self._credentials, internal=internal) as client:
            response = await client.request(method, path, json=body)
        if response.status_code >= SERVER_ERROR and not internal:
            raise ThreadError(_detail(response.content) or "The server cannot begin a run now; try again.")
        if response.status_code >= SERVER_ERROR:
            raise ThreadError("The server cannot read its threads now; try again.")
        if not response.is_success:
            raise ThreadError(_detail(response.content) or f"The server has refused this ({response.status_code}).")
        return response.json() if response.content else None

    async def _streamed(self, path: str, query: str) -> AsyncIterator[bytes]:
        """The body of an answer while it comes; nothing where the answer is a refusal."""
        coming: asyncio.Queue[Message | None] = asyncio.Queue(WAITING)
        asked, over = False, asyncio.Event()

        async def receive() -> Message:
            nonlocal asked
            if asked:
                await over.wait()
                return {"type": "http.disconnect"}
            asked = True
            return {"type": "http.request", "body": b"", "more_body": False}

        async def answer() -> None:
            try:
                await self._app(scope, receive, coming.put)
            finally:
                await coming.put(None)

        headers = {"host": "localhost", "accept": "text/event-stream", **self._credentials}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [
                *((name.encode(), value.encode("latin-1")) for name, value in headers.items()),
                (b"last-event-id", FROM_START),
            ],
            "server": ("localhost", None),
            "client": ("127.0.0.1", 0),
            INTERNAL_REQUEST: True,
        }
        task = asyncio.create_task(answer())
        try:
            while (message := await coming.get()) is not None:
                if message["type"] == "http.response.start" and message["status"] != 200:
                    return
                if message["type"] == "http.response.body" and message.get("body"):
                    yield message["body"]
        finally:
            over.set()
            task.cancel()
            await asyncio.wait([task])


def _detail(content: bytes) -> str:
    """The sentence of a refusal."""
    try:
        payload = json.loads(content)
    except ValueError:
        return ""
    detail = payload.get("detail") if isinstance(payload, dict) else None
    return detail if isinstance(detail, str) else ""
