"""What a request may send is looked at before anything of it is parsed."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as some
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.types import Message
from starlette.websockets import WebSocket, WebSocketDisconnect

from graph.users.policy import RequestLimits
from server.bodies import HELD, PIECE, BodyLimits, check_cost
from server.routing import USER
from server.users import User
from stepwell.errors import RefusedError

SMALL = RequestLimits(megabytes=0.1, values=100, depth=8, seconds=5, listed=50, history=10)


async def length(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


async def echo(socket: WebSocket) -> None:
    await socket.accept()
    with contextlib.suppress(WebSocketDisconnect):
        while True:
            await socket.send_text(await socket.receive_text())


def behind(bodies: RequestLimits | None) -> Starlette:
    routes = [Route("/{rest:path}", length, methods=["GET", "POST", "PATCH"]), WebSocketRoute("/socket", echo)]
    return Starlette(routes=routes, middleware=[Middleware(BodyLimits, bodies=bodies)])


async def sent(
    content: Any = b"", path: str = "/threads/t/state", bodies: RequestLimits | None = SMALL, method: str = "POST"
) -> httpx.Response:
    transport = httpx.ASGITransport(app=behind(bodies))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as asking:
        return await asking.request(method, path, content=content)


CODE = json.dumps({"input": {"code": "x = [1, 2, 3, {'a': [[[[]]]]}]\\" * 1_000}}).encode()


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"", 200, ""),
        (b'{"a": [1, 2, 3]}', 200, ""),
        (CODE, 200, ""),
        (b"not json, which the platform says", 200, ""),
        (b'"' + b"x" * 99_000 + b'"', 200, ""),
        (b'"' + b"x" * 100_000 + b'"', 413, "100,000 bytes"),
        (b"[" + b",".join([b"[]"] * 101) + b"]", 413, "100 values"),
        (b"[" + b"1," * 101 + b"1]", 413, "100 values"),
        (b"[" * 9 + b"]" * 9, 413, "8 deep"),
        (b"[" * 8 + b"]" * 8, 200, ""),
        (b'{"a":' * 9 + b"1" + b"}" * 9, 413, "8 deep"),
        (b"[" * 60, 413, "8 deep"),
        (b'["' + b'\\"' * 40_000, 200, ""),
        (b'["' + b"[" * 200 + b'"]', 200, ""),
        (b"[" * 9 + b'""' * 300, 413, "100 values"),
        (b"[" * 9 + b"]" * 300, 413, "100 values"),
    ],
    ids=range(16),
)
async def test_a_body_that_costs_too_much_is_refused_unparsed(body: bytes, status: int, words: str) -> None:
    answer = await sent(body)
    assert answer.status_code == status, answer.text
    if status == 200:
        assert answer.text == str(len(body))
    else:
        assert words in answer.json()["detail"]


async def pieces(count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b"x" * 1_000


async def test_a_body_of_unknown_length_is_cut_off_when_it_is_too_long() -> None:
    read = 0

    async def counted() -> AsyncIterator[bytes]:
        nonlocal read
        async for piece in pieces(100_000):
            read += len(piece)
            yield piece

    assert (await sent(counted())).status_code == 413
    assert read <= 200_000
    assert (await sent(pieces(50))).text == "50000"


async def test_a_body_that_does_not_arrive_is_given_up() -> None:
    async def stuck() -> AsyncIterator[bytes]:
        yield b"["
        await asyncio.get_running_loop().create_future()

    answer = await sent(stuck(), bodies=SMALL.model_copy(update={"seconds": 0.05}))
    assert answer.status_code == 408


@pytest.mark.parametrize("path", ["/stepwell/uploads?name=a.csv", "/stepwell/uploads/abc"])
async def test_uploads_have_limits_of_their_own(path: str) -> None:
    assert (await sent(b"x" * 200_000, path)).text == "200000"
    assert (await sent(b"x" * 200_000, "/stepwell/uploadsx")).status_code == 413


async def test_without_a_policy_nothing_is_limited() -> None:
    assert (await sent(b"[" * 200_000, bodies=None)).text == "200000"


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/threads/search", {"limit": 50}, 200),
        ("POST", "/threads/search", {"limit": 51}, 422),
        ("POST", "/threads/t/history", {"limit": 11}, 422),
        ("GET", "/threads/t/history?limit=10", None, 200),
        ("GET", "/threads/t/history?limit=11", None, 422),
        ("GET", "/threads/t/runs?limit=51", None, 422),
        ("GET", "/threads/t/history?limit=%2B11", None, 422),
        ("GET", "/threads/t/history?limit=1_1", None, 422),
        ("GET", "/threads/t/history?limit=%2011", None, 422),
        ("GET", "/threads/t/history?limit=%EF%BC%91%EF%BC%91", None, 422),
        ("GET", f"/threads/t/history?limit={'0' * 40}11", None, 422),
        ("GET", "/threads/t/history?limit=%2B10", None, 200),
        ("GET", "/threads/t/history?limit=ten", None, 200),
        ("POST", "/threads/t/history", b'{"l\\u0069mit": 11}', 422),
        ("POST", "/threads/t/history", b'{"limit": 1.1e1}', 422),
        ("POST", "/threads/search", b'{"metadata": {"limit": 51}}', 200),
        ("POST", "/threads/t/runs", {"input": {"limit": 10**9}}, 200),
    ],
)
async def test_nobody_asks_for_more_than_is_listed(method: str, path: str, body: Any, status: int) -> None:
    content = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else b""
    assert (await sent(content, path, method=method)).status_code == status


async def test_what_one_user_sends_at_the_same_time_is_limited_together() -> None:
    app = BodyLimits(PlainTextResponse("done"), SMALL)
    whole, statuses = asyncio.Event(), dict[str, list[int]]()
    given = HELD + 2

    async def ask(user: str) -> None:
        async def receive() -> Message:
            if left:
                return {"type": "http.request", "body": left.pop(), "more_body": True}
            await whole.wait()
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.setdefault(user, []).append(message["status"])

        left = [b"x" * 99_000]
        scope = {"type": "http", "method": "POST", "path": "/threads", "headers": [], USER: User(user)}
        await app(scope, receive, send)

    async with asyncio.TaskGroup() as group:
        bobs = [group.create_task(ask("bob")) for _ in range(given)]
        group.create_task(ask("alice"))
        while not any(one.done() for one in bobs):
            await asyncio.sleep(0)
        whole.set()
    assert sorted(statuses["bob"]) == [200] * (given - 2) + [429] * 2
    assert statuses["alice"] == [200]
    await ask("bob")
    assert statuses["bob"][-1] == 200  # what is answered counts no more


def test_messages_of_a_socket_have_the_same_limits() -> None:
    with TestClient(behind(SMALL)) as client, client.websocket_connect("/socket") as socket:
        socket.send_text('{"id": 1}')
        assert socket.receive_text() == '{"id": 1}'
        socket.send_text("[" * 101)
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_text()
        assert (closed.value.code, "100 values" in str(closed.value.reason)) == (1009, True)


@pytest.mark.parametrize("before", range(6))
@pytest.mark.parametrize("escaped", [rb"\\", rb"\"", rb"\\\"", rb"\\\\"])
def test_a_string_is_one_wherever_it_is_cut(before: int, escaped: bytes) -> None:
    body = b'["' + b"x" * (PIECE - 2 - before) + escaped + b"[" * 200 + b'"' + b",[1]" * 49
    check_cost(body + b"]", SMALL)
    with pytest.raises(RefusedError, match="100 values"):
        check_cost(body + b",1,1]", SMALL)


JSON: Any = some.recursive(
    some.none() | some.integers() | some.text(alphabet='a"\\[]{},:é', max_size=20),
    lambda inner: some.lists(inner, max_size=6) | some.dictionaries(some.text(max_size=3), inner, max_size=6),
    max_leaves=80,
)


def depth_of(value: Any) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + max(map(depth_of, value), default=0) if isinstance(value, list) else 0


def values_of(value: Any) -> int:
    if isinstance(value, dict):
        value = list(value.values())
    return 1 + sum(map(values_of, value)) if isinstance(value, list) else 1


@pytest.mark.slow
@given(JSON)
def test_the_count_is_right_to_a_factor_of_two_and_the_depth_exactly(value: Any) -> None:
    text = json.dumps(value).encode()
    depth, values = depth_of(value), values_of(value)
    check_cost(text, RequestLimits(depth=max(depth, 8), values=max(2 * values, 100)))
    if depth > 8:
        with pytest.raises(RefusedError):
            check_cost(text, RequestLimits(depth=8, values=100_000))
    if values > 200:
        with pytest.raises(RefusedError):
            check_cost(text, RequestLimits(depth=1_000, values=100))
