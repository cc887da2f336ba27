"""How much each user may send in a minute: requests, and bytes of their bodies. Each process counts for itself."""

import math
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graph.checkpoints.damage import DiskError
from graph.checkpoints.thread_lock import ThreadHeldError
from graph.users.edited_state import EditError
from graph.users.identity import IdentityError
from graph.users.policy import Policy, Quotas
from sandboxes.host.limits import MEGABYTE
from server.bodies import TRY_AGAIN, close_websocket
from server.platform import INTERNAL_REQUEST
from server.routing import USER
from server.users import User
from stepwell.errors import RefusedError

STATUSES: Mapping[type[Exception], int] = {EditError: 422, IdentityError: 422, ThreadHeldError: 409, DiskError: 507}

Handler = Callable[[Request, Exception], Awaitable[Response]]


def refusal(error: BaseException | None) -> RefusedError | None:
    """The refusal behind an error or one of its causes; None when the graph refused nothing."""
    while error is not None:
        for kind, status in STATUSES.items():
            if isinstance(error, kind):
                return RefusedError(status, str(error))
        error = error.__cause__
    return None


async def answer(request: Request, error: Exception) -> Response:
    """Answer with the reason of a refusal and its status.

    Raises:
        Exception: the error itself, when it is none of the graph's refusals.
    """
    refused = refusal(error)
    if refused is None:
        raise error
    return refused.answer()


handlers: Mapping[type[Exception], Handler] = dict.fromkeys(STATUSES, answer)
"""For Starlette's `exception_handlers`."""


MOST_USERS = 10_000
"""Users who are remembered; of more, those who have sent nothing for longest are forgotten."""
SECONDS = 60.0


@dataclass(slots=True)
class TokenBucket:
    """What is left of a user's minute: it fills up steadily, and holds as much as a minute brings."""

    requests: float
    bytes: float
    since: float

    def fill(self, quotas: Quotas, now: float) -> None:
        """Add what has accrued since the last time."""
        minutes = (now - self.since) / SECONDS
        self.requests = min(self.requests + minutes * quotas.requests_a_minute, quotas.requests_a_minute)
        most = quotas.megabytes_a_minute * MEGABYTE
        self.bytes = min(self.bytes + minutes * most, most)
        self.since = now

    def wait(self, quotas: Quotas) -> float:
        """Seconds until one more request is allowed; 0: now."""
        for_requests = (1 - self.requests) / quotas.requests_a_minute
        for_bytes = -self.bytes / (quotas.megabytes_a_minute * MEGABYTE)
        return max(for_requests, for_bytes, 0.0) * SECONDS


class RateLimiter:
    """ASGI middleware, behind the guard.

    Args:
        app: What answers.
        policy: What users may send; None: as much as they like.
        clock: Seconds that only grow.
    """

    def __init__(self, app: ASGIApp, policy: Policy | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._policy = policy
        self._clock = clock
        self._buckets: OrderedDict[str, TokenBucket] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: D102 - ASGI
        user = scope.get(USER)
        counts = scope["type"] in ("http", "websocket") and INTERNAL_REQUEST not in scope
        if self._policy is None or not isinstance(user, User) or not counts:
            await self._app(scope, receive, send)
            return
        quotas = self._policy.of(user.id).quotas
        if scope["type"] == "websocket":
            await self._app(scope, self._counted(receive, send, user.id, quotas), send)
            return
        bucket = self._bucket(user.id, quotas)
        if seconds := bucket.wait(quotas):
            await _refusal(seconds).answer()(scope, receive, send)
            return
        bucket.requests -= 1

        async def receiving() -> Message:
            message = await receive()
            # A body may take more than is left, and the next request waits for that: nobody knows its end before.
            bucket.bytes -= len(message.get("body", b""))
            return message

        await self._app(scope, receiving, send)

    def _counted(self, receive: Receive, send: Send, user: str, quotas: Quotas) -> Receive:
        """What receives messages of a WebSocket: each counts as a request, the one that opens it, too."""

        async def counted() -> Message:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                return message
            bucket = self._bucket(user, quotas)
            if seconds := bucket.wait(quotas):
                return await close_websocket(send, TRY_AGAIN, _refusal(seconds))
            bucket.requests -= 1
            bucket.bytes -= len(message.get("bytes") or (message.get("text") or "").encode("utf-8", "surrogatepass"))
            return message

        return counted

    def _bucket(self, user: str, quotas: Quotas) -> TokenBucket:
        now = self._clock()
        bucket = self._buckets.get(user)
        if bucket is None:
            bucket = TokenBucket(quotas.requests_a_minute, quotas.megabytes_a_minute * MEGABYTE, now)
            self._buckets[user] = bucket
            if len(self._buckets) > MOST_USERS:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(user)
        bucket.fill(quotas, now)
        return bucket


def _refusal(seconds: float) -> RefusedError:
    after = math.ceil(seconds)
    sentence = f"You send more than you may in a minute; go on in {after} second{'s' if after > 1 else ''}."
    return RefusedError(429, sentence, {"Retry-After": str(after), "Connection": "close"})
