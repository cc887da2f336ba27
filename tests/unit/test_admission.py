"""Runs of a user begin in turn, so many at a time; of the others nobody waits for that."""

import asyncio
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Message

from graph.settings import Settings
from graph.users.consumption import Consumption
from graph.users.policy import Policy, PolicyFile, Quotas
from server.admission import Admission, begun_by
from server.bodies import BodyLimits
from server.routing import USER
from server.users import User

SETTINGS = Settings()


class Platform:
    """What Stepwell asks of a server: it makes runs, lists busy threads and runs; a test ends them."""

    def __init__(self, folder: Path, *, aegra: bool = False, **quotas: Any) -> None:
        self.runs: dict[str, list[str]] = {}
        self.made: list[str] = []
        self.aegra = aegra
        self.stuck = 1
        self.status = 200
        """Of an answer that lists runs."""
        policy = Policy(PolicyFile.model_validate({"quotas": quotas}), SETTINGS)
        self.consumption = Consumption(folder)
        self.app = Starlette(
            routes=[
                Route("/threads/search", self.search, methods=["POST"]),
                Route("/threads/{id}/runs", self.list, methods=["GET"]),
                Route("/threads/{id}/runs", self.make, methods=["POST"]),
                Route("/{rest:path}", self.other, methods=["POST"]),
            ]
        )
        admission = Admission(self.app, policy, self.consumption)
        self.stack = BodyLimits(admission, policy.bodies)

    async def search(self, request: Request) -> Response:
        asked = await request.json()
        if self.aegra and "select" in asked:
            return JSONResponse({}, 422)
        user = request.headers["x-api-key"]
        busy = [one for one, ended in self.runs.items() if one.startswith(user) and ended]
        stuck = [f"{user}-stuck-{number}" for number in range(self.stuck)]
        return JSONResponse([{"thread_id": one} for one in [*stuck, *busy]][: asked["limit"]])

    async def list(self, request: Request) -> Response:
        if self.status != 200:
            return JSONResponse({}, self.status)
        wanted = request.query_params["status"]
        return JSONResponse([{} for one in self.runs.get(request.path_params["id"], []) if one == wanted])

    async def make(self, request: Request) -> Response:
        id = request.path_params["id"]
        self.runs.setdefault(id, []).append("running" if not self.runs.get(id) else "pending")
        self.made.append(id)
        return JSONResponse({})

    async def other(self, request: Request) -> Response:
        self.made.append(request.url.path)
        return JSONResponse({})

    def has_made(self, count: int) -> bool:
        return len(self.made) == count

    def end(self, thread: str) -> None:
        del self.runs[thread]

    async def ask(self, user: str, path: str, body: Any = None) -> httpx.Response:
        async def named(scope: Any, receive: Any, send: Any) -> None:
            # The app that the server asks is the one that stands before all routes.
            await self.stack({**scope, USER: User(user), "app": self.app}, receive, send)

        transport = httpx.ASGITransport(app=named)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://localhost", headers={"X-Api-Key": user}
        ) as asking:
            return await asking.post(path, json=body)

    def begin(self, user: str, thread: str) -> asyncio.Task[httpx.Response]:
        return asyncio.create_task(self.ask(user, f"/threads/{user}-{thread}/runs", {}))


async def until(what: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not what():
            await asyncio.sleep(0.01)


async def test_threads_that_are_called_busy_without_a_run_hide_no_runs(tmp_path: Path) -> None:
    """Who deletes a run that was to begin later leaves its thread busy, as often as they like."""
    platform = Platform(tmp_path, runs=2, wait_seconds=0.0)
    platform.stuck = 20
    answers = [(await platform.begin("bob", str(number))).status_code for number in range(3)]
    assert answers == [200, 200, 429]
    platform.runs.clear()
    platform.stuck = 200
    refused = await platform.begin("bob", "another")
    assert (refused.status_code, "delete those" in refused.json()["detail"]) == (429, True)


@pytest.mark.parametrize("aegra", [False, True])
async def test_a_further_run_waits_for_one_of_its_user_and_nobody_else_does(tmp_path: Path, aegra: bool) -> None:
    platform = Platform(tmp_path, aegra=aegra, runs=2)
    bobs = [platform.begin("bob", str(number)) for number in range(6)]
    await until(lambda: len(platform.made) == 2)
    assert (await platform.begin("alice", "hers")).status_code == 200
    assert platform.made == ["bob-0", "bob-1", "alice-hers"]
    for number in range(4):
        platform.end(f"bob-{number}")
        await until(partial(platform.has_made, 4 + number))
    assert [(await one).status_code for one in bobs] == [200] * 6
    assert platform.made == ["bob-0", "bob-1", "alice-hers", "bob-2", "bob-3", "bob-4", "bob-5"]


async def test_runs_that_are_queued_on_one_thread_count_each(tmp_path: Path) -> None:
    platform = Platform(tmp_path, runs=2, wait_seconds=0.05)
    answers = [await platform.ask("bob", "/threads/bob-t/runs", {}) for _ in range(3)]
    assert [one.status_code for one in answers] == [200, 200, 429]
    assert answers[2].headers["retry-after"] == "10"
    assert "You have 2 runs" in answers[2].json()["detail"]
    platform.end("bob-t")
    assert (await platform.ask("bob", "/threads/bob-t/runs", {})).status_code == 200


async def test_of_those_that_wait_there_are_only_so_many(tmp_path: Path) -> None:
    platform = Platform(tmp_path, runs=1, waiting_runs=2, wait_seconds=30)
    first = platform.begin("bob", "0")
    assert (await first).status_code == 200
    waiting = [platform.begin("bob", str(number)) for number in range(1, 6)]
    await until(lambda: sum(one.done() for one in waiting) == 2)
    assert [one.result().status_code for one in waiting if one.done()] == [429, 429]
    for number in range(3):
        platform.end(f"bob-{number}")
        await until(partial(platform.has_made, number + 2))
    assert {(await one).status_code for one in waiting[:3]} == {200}


async def test_who_hangs_up_while_waiting_gives_the_turn_on(tmp_path: Path) -> None:
    platform = Platform(tmp_path, runs=1)
    assert (await platform.begin("bob", "0")).status_code == 200
    second, third = platform.begin("bob", "1"), platform.begin("bob", "2")
    await asyncio.sleep(0.05)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    platform.end("bob-0")
    assert (await third).status_code == 200
    assert platform.made == ["bob-0", "bob-2"]


async def test_who_has_gone_while_waiting_begins_nothing(tmp_path: Path) -> None:
    """A server says that to whoever reads on, and cancels nothing."""
    platform = Platform(tmp_path, runs=1)
    assert (await platform.begin("bob", "0")).status_code == 200
    messages: list[Message] = [{"type": "http.disconnect"}, {"type": "http.request", "body": b"{}", "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if len(messages) > 1 else messages[0]

    async def send(message: Message) -> None:
        pass

    headers = [(b"x-api-key", b"bob")]
    scope = {"type": "http", "method": "POST", "path": "/threads/bob-1/runs", "headers": headers, USER: User("bob")}
    gone = asyncio.create_task(platform.stack({**scope, "query_string": b"", "app": platform.app}, receive, send))
    last = platform.begin("bob", "2")
    await asyncio.sleep(0.05)
    platform.end("bob-0")
    await gone
    assert (await last).status_code == 200
    assert platform.made == ["bob-0", "bob-2"]


@pytest.mark.parametrize(("status", "answered"), [(500, 503), (403, 503), (404, 200)])
async def test_runs_that_cannot_be_counted_are_not_taken_for_none(tmp_path: Path, status: int, answered: int) -> None:
    platform = Platform(tmp_path, runs=2)
    platform.status = status
    assert (await platform.begin("bob", "0")).status_code == answered


async def test_who_has_used_up_the_day_or_the_disk_is_told_so_at_once(tmp_path: Path) -> None:
    platform = Platform(tmp_path, tokens_a_day=10, disk_mb=1)
    await platform.consumption.add("bob", "t", 6, 6, 0, None)
    await platform.consumption.add("carol", "t", 0, 0, 2_000_000, None)
    bob, carol = await platform.begin("bob", "0"), await platform.begin("carol", "0")
    assert (bob.status_code, "tokens of today" in bob.json()["detail"]) == (429, True)
    assert 0 < int(bob.headers["retry-after"]) <= 86_400
    assert (carol.status_code, "delete threads" in carol.json()["detail"]) == (507, True)
    assert (await platform.begin("alice", "0")).status_code == 200


async def test_a_batch_has_no_more_than_may_run(tmp_path: Path) -> None:
    platform = Platform(tmp_path, runs=2)
    assert (await platform.ask("bob", "/runs/batch", [{}, {}])).status_code == 200
    assert (await platform.ask("bob", "/runs/batch", [{}, {}, {}])).status_code == 422


START, LIST = {"id": 1, "method": "run.start"}, {"jsonrpc": "2.0", "method": "tools/list"}


@pytest.mark.parametrize(
    ("method", "path", "body", "count"),
    [
        ("POST", "/runs", {}, 1),
        ("POST", "/runs/stream", {}, 1),
        ("POST", "/runs/wait", {}, 1),
        ("POST", "/runs/batch", [{}, {}, {}], 3),
        ("POST", "/threads/t/runs", {}, 1),
        ("POST", "/threads/t/runs/", {}, 1),
        ("POST", "/threads/t/runs/stream", {}, 1),
        ("POST", "/threads/t/runs/wait", {}, 1),
        ("POST", "/threads/t/commands", START, 1),
        ("POST", "/threads/t/commands", {"id": 1, "method": "subscription.subscribe"}, 0),
        ("POST", "/threads/t/stream/events", START, 1),
        ("POST", "/mcp", {"jsonrpc": "2.0", "method": "tools/call"}, 1),
        ("POST", "/mcp/", [{"method": "tools/call"}] * 2, 2),
        ("POST", "/mcp", LIST, 0),
        ("POST", "/a2a/stepwell", {"method": "message/send"}, 1),
        ("POST", "/a2a/stepwell", {"method": "message/stream"}, 1),
        ("POST", "/a2a/stepwell", {"method": "SendMessage"}, 1),
        ("POST", "/a2a/stepwell", {"method": "SendStreamingMessage"}, 1),
        ("POST", "/a2a/stepwell", {"method": "tasks/get"}, 0),
        ("POST", "/a2a/stepwell", {"method": "GetTask"}, 0),
        ("GET", "/threads/t/runs", None, 0),
        ("POST", "/threads/t/runs/r/cancel", {}, 0),
        ("POST", "/runs/cancel", {}, 0),
        ("POST", "/threads/search", {}, 0),
        ("DELETE", "/threads/t/runs/r", None, 0),
    ],
)
def test_what_begins_a_run_is_known(method: str, path: str, body: Any, count: int) -> None:
    assert begun_by(method, path, json.loads(json.dumps(body))) == count


def test_the_defaults_leave_room_for_others() -> None:
    assert Quotas().runs < 10  # what langgraph-api works on at a time unless it is told otherwise
