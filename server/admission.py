"""Lets runs begin in turn: each user has so many at a time, and a further one waits until one of theirs has ended.

The platform's workers take runs in the order in which they were made, so a user with many would have them all. Here
theirs wait before they are made, where they hold up nobody. Which runs a user has is asked of the platform each time,
so it is right after a restart, too, and with several servers on one database; of requests that come to two servers in
the same instant, each may let one in too many.
"""

import asyncio
import contextlib
import re
import time
import weakref
from collections import Counter
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any

from starlette._utils import get_route_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graph.users.consumption import Consumption, Meter, QuotaError
from graph.users.policy import Policy, Quotas
from server.bodies import BODY, LAST, TRY_AGAIN, close_websocket, json_of, replay_body
from server.platform import INTERNAL_REQUEST, count_runs
from server.routing import USER
from server.users import User
from stepwell.errors import RefusedError

RUNS = re.compile(r"/runs(?:/stream|/wait)?|/threads/[^/]+/runs(?:/stream|/wait)?")
BATCH = "/runs/batch"
COMMANDS = re.compile(r"/threads/[^/]+/(?:commands|stream/events)")
OTHERS = re.compile(r"/mcp/?|/a2a/[^/]+")
METHODS = frozenset(
    {
        "run.start", "input.respond", "tools/call", "message/send", "message/stream", "SendMessage",
        "SendStreamingMessage",
    }
)  # fmt: skip
"""Of those that these routes take, what begins a run."""
LOOK_SECONDS = 0.5
SEEN_SECONDS = 2.0
"""When a run has been made at the latest, if its answer takes longer: then the platform knows of it."""


class Admission:
    """ASGI middleware, behind the guard and the limits of bodies.

    Args:
        app: What makes runs.
        policy: How many each user may have; None: any number.
        consumption: What users have used up.
    """

    def __init__(self, app: ASGIApp, policy: Policy | None, consumption: Consumption) -> None:
        self._app = app
        self._policy = policy
        self._consumption = consumption
        self._turns: weakref.WeakValueDictionary[str, asyncio.Lock] = weakref.WeakValueDictionary()
        self._giving_back: set[asyncio.Task[None]] = set()
        self._waiting: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: D102 - ASGI
        user = scope.get(USER)
        if self._policy is None or not isinstance(user, User) or INTERNAL_REQUEST in scope:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._app(scope, self._admitting(scope, user, receive, send), send)
        elif count := begun_by(scope["method"], get_route_path(scope), await said_in_scope(scope)):
            await self._begin(scope, receive, send, user, count)
        else:
            await self._app(scope, receive, send)

    async def _begin(self, scope: Scope, receive: Receive, send: Send, user: User, count: int) -> None:
        made = asyncio.Event()

        async def sending(message: Message) -> None:
            made.set()
            await send(message)

        async def beginning() -> None:
            self._give_back(await self._turn(scope, user.id, count), made)

        try:
            try:
                await _unless_gone(beginning(), receive)
            except RefusedError as refusal:
                await refusal.answer()(scope, receive, send)
                return
            await self._app(scope, replay_body(scope[BODY], receive), sending)
        finally:
            made.set()

    def _admitting(self, scope: Scope, user: User, receive: Receive, send: Send) -> Receive:
        async def admitting() -> Message:
            message = await receive()
            said = message.get("text") or message.get("bytes")
            if message["type"] != "websocket.receive" or not said:
                return message
            command = await asyncio.to_thread(json_of, said.encode() if isinstance(said, str) else said)
            if begun_by("POST", get_route_path(scope), command):
                try:
                    turn = await self._turn(scope, user.id, 1)
                except RefusedError as refusal:
                    return await close_websocket(send, TRY_AGAIN, refusal)
                self._give_back(turn, asyncio.Event())
            return message

        return admitting

    def _give_back(self, turn: asyncio.Lock, made: asyncio.Event) -> None:
        """Let the user's next run in when this one was made: its answer begins, or was awaited long enough."""

        async def wait() -> None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SEEN_SECONDS):
                    await made.wait()
            turn.release()

        task = asyncio.create_task(wait())
        self._giving_back.add(task)
        task.add_done_callback(self._giving_back.discard)

    async def _turn(self, scope: Scope, user: str, count: int) -> asyncio.Lock:
        """Wait until the user may begin this many more runs.

        Returns:
            Held, so that no other run of theirs is admitted until it is released.

        Raises:
            RefusedError: it took too long, or too many wait, or there is nothing left that a run could use.
        """
        assert self._policy is not None
        quotas = self._policy.of(user).quotas
        if count > quotas.runs:
            sentence = f"You ask for {count:,} runs at once, and may have {quotas.runs:,} at a time."
            raise RefusedError(422, sentence)
        if self._waiting[user] > quotas.waiting_runs:
            raise _too_many(quotas)
        self._waiting[user] += 1
        turn = self._turns.get(user) or asyncio.Lock()
        self._turns[user] = turn
        until = time.monotonic() + quotas.wait_seconds
        try:
            async with asyncio.timeout(quotas.wait_seconds):
                await turn.acquire()
            try:
                await self._check_left(user, quotas)
                while await count_runs(scope, quotas.runs) + count > quotas.runs:
                    if time.monotonic() >= until:
                        raise _too_many(quotas)
                    await asyncio.sleep(LOOK_SECONDS)
            except BaseException:
                turn.release()
                raise
        except TimeoutError:
            raise _too_many(quotas) from None
        finally:
            self._waiting[user] -= 1
            if not self._waiting[user]:
                del self._waiting[user]
        return turn

    async def _check_left(self, user: str, quotas: Quotas) -> None:
        meter = Meter(self._consumption, user, "", quotas)
        try:
            await meter.begin()
        except QuotaError as error:
            raise RefusedError(507, str(error)) from None
        if sentence := meter.used_up():
            now = datetime.now(UTC)
            left = 86_400 - (now.hour * 3_600 + now.minute * 60 + now.second)
            raise RefusedError(429, sentence, {"Retry-After": str(left)})


def begun_by(method: str, path: str, said: Any) -> int:
    """How many runs a request begins.

    Args:
        method: Of HTTP.
        path: As LangGraph's servers and Aegra have it.
        said: The body.
    """
    if method != "POST":
        return 0
    path = path.rstrip("/")
    if RUNS.fullmatch(path):
        return 1
    if path == BATCH:
        return len(said) if isinstance(said, list) else 0
    if COMMANDS.fullmatch(path) or OTHERS.fullmatch(path):
        several = said if isinstance(said, list) else [said]
        return sum(isinstance(one, dict) and one.get("method") in METHODS for one in several)
    return 0


async def said_in_scope(scope: Scope) -> Any:
    """The parsed body of a request, where that decides whether it begins a run."""
    path = get_route_path(scope).rstrip("/")
    asked = path == BATCH or COMMANDS.fullmatch(path) or OTHERS.fullmatch(path)
    return await asyncio.to_thread(json_of, scope.get(BODY, b"")) if asked else None


async def _unless_gone(work: Coroutine[Any, Any, None], receive: Receive) -> None:
    """Do something that a client waits for, unless the client hangs up.

    Raises:
        RefusedError: they have gone meanwhile, so it was broken off.
    """

    async def gone() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    working, leaving = asyncio.create_task(work), asyncio.create_task(gone())
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.wait((working, leaving))
    if working.cancelled():
        raise RefusedError(400, "The request broke off.", LAST)
    working.result()


def _too_many(quotas: Quotas) -> RefusedError:
    sentence = (
        f"You have {quotas.runs:,} runs, and may have no more at a time; this one waited, and was not begun. "
        "Ask again when one has ended."
    )
    return RefusedError(429, sentence, {"Retry-After": "10"})
