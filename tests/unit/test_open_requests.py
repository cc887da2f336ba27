"""A server that ends hangs up on who waits for a run; other requests may be answered until the time is up."""

import asyncio
from typing import Any

import pytest

from server.open_requests import Connections


class Asked:
    """A request, and what is sent for it; its answer waits for `may_end`."""

    def __init__(self, connections: Connections, path: str, *, begins: bool = False) -> None:
        self.sent: list[Any] = []
        self.may_end = asyncio.Event()
        self._begins = begins
        scope = {"type": "http", "path": path, "root_path": "", "method": "GET", "headers": []}
        answering: Any = connections.middleware(self._app)(scope, self._receive, self._send)
        self.task = asyncio.create_task(answering)

    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        if self._begins:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        await self.may_end.wait()
        await send({"type": "answered"})

    async def _receive(self) -> Any:
        raise AssertionError("nothing is read")

    async def _send(self, message: Any) -> None:
        self.sent.append(message)


@pytest.mark.parametrize(
    "path",
    [
        "/threads/t/runs/wait", "/threads/t/runs/r/join", "/threads/t/runs/r/stream", "/threads/t/stream",
        "/runs/stream", "/threads/t/stream/events", "/mcp/", "/a2a/x",
    ],
)  # fmt: skip
async def test_who_waits_for_a_run_is_told_to_ask_again(path: str) -> None:
    connections = Connections()
    waiting, begun = Asked(connections, path), Asked(connections, path, begins=True)
    await asyncio.sleep(0)
    await connections.let_go(30)
    await waiting.task
    await begun.task
    assert waiting.sent[0]["status"] == 503
    assert (b"retry-after", b"5") in waiting.sent[0]["headers"]
    assert [message["type"] for message in begun.sent] == ["http.response.start"], "a cut answer must not look whole"


@pytest.mark.parametrize(
    "path", ["/threads/t/runs", "/threads/search", "/stepwell/uploads", "/threads/t/runs/r/cancel"]
)
async def test_other_requests_are_answered_while_there_is_time(path: str) -> None:
    connections = Connections()
    quick, slow = Asked(connections, path), Asked(connections, path)
    await asyncio.sleep(0)
    letting_go = asyncio.create_task(connections.let_go(0.3))
    await asyncio.sleep(0)
    quick.may_end.set()
    await letting_go
    await slow.task
    assert [message["type"] for message in quick.sent] == ["answered"]
    assert slow.sent[0]["status"] == 503


async def test_a_request_that_is_cancelled_by_others_is_cancelled() -> None:
    one = Asked(Connections(), "/threads/t/runs/wait")
    await asyncio.sleep(0)
    one.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await one.task
    assert one.sent == []
