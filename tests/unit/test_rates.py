"""Each user may send so much in a minute, and nobody pays for another."""

import contextlib
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.types import ASGIApp
from starlette.websockets import WebSocket, WebSocketDisconnect

from graph.settings import Settings
from graph.users.policy import Policy, PolicyFile
from server.rates import MOST_USERS, RateLimiter
from server.routing import USER
from server.users import User

SETTINGS = Settings()


async def length(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


async def echo(socket: WebSocket) -> None:
    await socket.accept()
    with contextlib.suppress(WebSocketDisconnect):
        while True:
            await socket.send_text(await socket.receive_text())


class Served:
    """A route behind the rates, for users who say their names, at a time that a test decides."""

    def __init__(self, **quotas: Any) -> None:
        policy = Policy(PolicyFile.model_validate({"quotas": quotas}), SETTINGS)
        self.now = 0.0
        routes = [Route("/", length, methods=["GET", "POST"]), WebSocketRoute("/socket", echo)]
        self.rates = RateLimiter(Starlette(routes=routes), policy, clock=lambda: self.now)

    def named(self, user: str) -> ASGIApp:
        async def named(scope: Any, receive: Any, send: Any) -> None:
            await self.rates({**scope, USER: User(user)}, receive, send)

        return named

    async def ask(self, user: str, content: bytes = b"") -> httpx.Response:
        transport = httpx.ASGITransport(app=self.named(user))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as asking:
            return await asking.post("/", content=content)


async def test_requests_of_a_user_are_counted_and_come_back_with_time() -> None:
    served = Served(requests_a_minute=6)
    assert [(await served.ask("bob")).status_code for _ in range(7)] == [200] * 6 + [429]
    refused = await served.ask("bob")
    assert refused.headers["retry-after"] == "10"
    assert "in 10 seconds" in refused.json()["detail"]
    assert (await served.ask("alice")).status_code == 200
    served.now += 10
    assert [(await served.ask("bob")).status_code for _ in range(2)] == [200, 429]
    served.now += 3_600
    assert [(await served.ask("bob")).status_code for _ in range(7)] == [200] * 6 + [429]


async def test_bytes_of_a_user_are_counted_as_they_arrive() -> None:
    served = Served(megabytes_a_minute=1)
    assert (await served.ask("bob", b"x" * 2_000_000)).status_code == 200
    refused = await served.ask("bob")
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "60")
    assert (await served.ask("alice", b"x")).status_code == 200
    served.now += 60
    assert (await served.ask("bob")).status_code == 200


@pytest.mark.parametrize(
    ("quotas", "message"),
    [({"requests_a_minute": 3}, "x"), ({"megabytes_a_minute": 1}, "x" * 600_000)],
    ids=["requests", "bytes"],
)
def test_messages_of_a_socket_count_as_requests(quotas: dict[str, Any], message: str) -> None:
    served = Served(**quotas)
    with TestClient(served.named("bob")) as client, client.websocket_connect("/socket") as socket:
        for _ in range(2):
            socket.send_text(message)
            assert socket.receive_text() == message
        socket.send_text(message)
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_text()
        assert (closed.value.code, "in a minute" in str(closed.value.reason)) == (1013, True)


async def test_users_who_are_gone_are_forgotten() -> None:
    served = Served(requests_a_minute=1)
    for number in range(MOST_USERS + 10):
        served.rates._bucket(f"user-{number}", served.rates._policy.of("").quotas)  # type: ignore[union-attr]
    assert len(served.rates._buckets) == MOST_USERS
