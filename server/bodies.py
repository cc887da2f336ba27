"""Limits what a request may send before anything of it is parsed, for LangGraph's routes and Aegra's as for ours.

A short text of brackets makes millions of objects when it is parsed, and then nobody else is answered for a while. So
its values are counted first: beside the event loop, in pieces, and no further than to the first that is too many.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import parse_qs

from starlette._utils import get_route_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graph.users.policy import RequestLimits
from sandboxes.host.limits import MEGABYTE
from server.platform import INTERNAL_REQUEST
from server.routing import USER
from server.users import User
from stepwell.errors import RefusedError

BODY = "stepwell_body"
"""Where the whole body stands in the scope."""
UPLOADS, PAGE_UPLOADS = "/stepwell/uploads", "/ui/uploads"
IN_THREAD = 100_000
"""Bytes from which a body is looked at outside of the event loop."""
PIECE = 200_000
"""Bytes that are looked at in one call: until it returns, no other thread goes on."""
HELD = 8
"""Bodies of the largest size that one user's requests may have in memory together."""
MAX_DIGITS = 30
NO_BRACKETS = bytes(one for one in range(256) if one not in b"[]{}")
LAST = {"Connection": "close"}
TOO_BIG, TRY_AGAIN = 1009, 1013
"""The codes with which a WebSocket is closed."""


class BodyLimits:
    """ASGI middleware, behind the guard.

    Args:
        app: What parses bodies.
        bodies: What they may have; None: they are not limited.
    """

    def __init__(self, app: ASGIApp, bodies: RequestLimits | None) -> None:
        self._app = app
        self._bodies = bodies
        self._held: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: D102 - ASGI
        bodies = self._bodies
        if bodies is None or scope["type"] not in ("http", "websocket") or _uploads(scope) or INTERNAL_REQUEST in scope:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._app(scope, _watched(receive, send, bodies), send)
        else:
            user = scope.get(USER)
            held = HeldBytes(
                self._held, user.id if isinstance(user, User) else "", int(bodies.megabytes * MEGABYTE) * HELD
            )
            try:
                await self._within_limits(scope, receive, send, bodies, held)
            finally:
                held.release()

    async def _within_limits(
        self, scope: Scope, receive: Receive, send: Send, bodies: RequestLimits, held: "HeldBytes"
    ) -> None:
        try:
            _check_query(scope, bodies)
            body = await _read(scope, receive, bodies, held)
            await _check(scope, body, bodies)
        except RefusedError as refusal:
            await refusal.answer()(scope, receive, send)
            return
        await self._app({**scope, BODY: body}, replay_body(body, receive), send)


class HeldBytes:
    """The bytes of one request's body, among those of all requests of its user that are not answered yet.

    Args:
        all: Of all users.
        user: Whose request it is.
        most: What all of theirs may have together.
    """

    def __init__(self, all: Counter[str], user: str, most: int) -> None:
        self._all = all
        self._user = user
        self._most = most
        self._mine = 0

    def add(self, count: int) -> None:
        """Count bytes that have arrived.

        Raises:
            RefusedError: the user's requests have too many.
        """
        self._mine += count
        self._all[self._user] += count
        if self._all[self._user] > self._most:
            sentence = f"Your requests have more than {self._most:,} bytes together; ask again when one is answered."
            raise RefusedError(429, sentence, {"Retry-After": "5", **LAST})

    def release(self) -> None:
        """Stop counting this request."""
        self._all[self._user] -= self._mine
        if not self._all[self._user]:
            del self._all[self._user]


async def _read(scope: Scope, receive: Receive, bodies: RequestLimits, held: HeldBytes) -> bytes:
    most = int(bodies.megabytes * MEGABYTE)
    too_large = RefusedError(413, f"A request may have {most:,} bytes here, and this one has more.", LAST)
    length = dict(scope["headers"]).get(b"content-length", b"")
    if length.isdigit() and (len(length) > 18 or int(length) > most):
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(bodies.seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise RefusedError(400, "The request broke off.", LAST)
                body += message.get("body", b"")
                if len(body) > most:
                    raise too_large
                held.add(len(message.get("body", b"")))
                if not message.get("more_body", False):
                    return bytes(body)
    except TimeoutError:
        sentence = f"A request has to arrive within {bodies.seconds:g} seconds, and this one has not."
        raise RefusedError(408, sentence, LAST) from None


async def _check(scope: Scope, body: bytes, bodies: RequestLimits) -> None:
    if not body:
        return
    if len(body) > IN_THREAD:
        await asyncio.to_thread(check_cost, body, bodies)
    else:
        check_cost(body, bodies)
    if _searches(scope):
        said = await asyncio.to_thread(json_of, body)  # it costs little, as has just been seen
        asked = said.get("limit") if isinstance(said, dict) else None
        if isinstance(asked, int | float):
            _check_limit(asked, scope, bodies)


def check_cost(body: bytes, bodies: RequestLimits) -> None:
    """Estimate what parsing a JSON text would cost, without parsing it.

    Raises:
        RefusedError: it has too many values, or they lie too deep within one another.
    """
    opened = body.count(b"[") + body.count(b"{")
    if opened <= bodies.depth and opened + body.count(b",") <= bodies.values:
        return
    brackets, values, quotes = bytearray(), 0, 0
    for bare, count in _without_strings(body):
        opened = bare.count(b"[") + bare.count(b"{")
        values += opened + bare.count(b",")
        quotes += count
        brackets += bare.translate(None, delete=NO_BRACKETS)
        # Of each value there are at most two strings, its key and itself, and two brackets.
        if max(values, (quotes - 2) // 4, len(brackets) // 2) > bodies.values:
            raise RefusedError(413, f"A request may have {bodies.values:,} values here, and this one has more.", LAST)
    if _too_deep(bytes(brackets), bodies.depth):
        raise RefusedError(
            413, f"The values of a request may lie {bodies.depth} deep within one another, and these lie deeper.", LAST
        )


def _without_strings(body: bytes) -> Iterator[tuple[bytes, int]]:
    """A JSON text in pieces: of each what stands outside of strings, and how many quotes there are."""
    at, inside = 0, False
    while at < len(body):
        piece = body[at : at + PIECE]
        escapes = (len(piece) - len(piece.rstrip(b"\\"))) % 2 == 1
        if escapes and at + PIECE < len(body):
            piece = piece[:-1]  # with what it escapes
        at += len(piece)
        parts = piece.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        yield b"".join(parts[inside::2]), len(parts) - 1
        inside ^= len(parts) % 2 == 0


def _too_deep(brackets: bytes, most: int) -> bool:
    for _ in range(most):
        if not brackets:
            return False
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    return bool(brackets)  # what is not closed is no JSON either


def _check_query(scope: Scope, bodies: RequestLimits) -> None:
    for name, said in _query(scope):
        if name != "limit":
            continue
        if len(said) > MAX_DIGITS:
            raise RefusedError(422, "The limit of this request is no number that can be answered.")
        with suppress(ValueError):  # of what is no number the server says so; it reads ` +1_000` as one, too
            _check_limit(int(said), scope, bodies)


def _query(scope: Scope) -> Iterator[tuple[str, str]]:
    try:
        asked = parse_qs(scope.get("query_string", b"").decode("latin-1"), max_num_fields=1_000)
    except ValueError:
        raise RefusedError(422, "The query of this request has too many fields.") from None
    for name, values in asked.items():
        for said in values:
            yield name, said


def _check_limit(asked: float, scope: Scope, bodies: RequestLimits) -> None:
    history = get_route_path(scope).rstrip("/").endswith("/history")
    most = bodies.history if history else bodies.listed
    if asked > most:
        raise RefusedError(422, f"A limit of {asked:,} is asked for, and at most {most:,} is answered here.")


def _searches(scope: Scope) -> bool:
    return get_route_path(scope).rstrip("/").endswith(("/search", "/history", "/namespaces", "/versions"))


def _uploads(scope: Scope) -> bool:
    path = get_route_path(scope)
    return path in (UPLOADS, PAGE_UPLOADS) or path.startswith((f"{UPLOADS}/", f"{PAGE_UPLOADS}/"))


def replay_body(body: bytes, receive: Receive) -> Receive:
    """A `receive` that replays a body that has been read, and then passes on what follows."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _watched(receive: Receive, send: Send, bodies: RequestLimits) -> Receive:
    async def watched() -> Message:
        message = await receive()
        if message["type"] != "websocket.receive":
            return message
        said = message.get("bytes") or (message.get("text") or "").encode("utf-8", "surrogatepass")
        try:
            if len(said) > bodies.megabytes * MEGABYTE:
                raise RefusedError(413, "This message is too long.")
            await asyncio.to_thread(check_cost, said, bodies)
        except RefusedError as refusal:
            return await close_websocket(send, TOO_BIG, refusal)
        return message

    return watched


async def close_websocket(send: Send, code: int, refusal: RefusedError) -> Message:
    """Close a WebSocket.

    Returns:
        What whoever listens to it is told.
    """
    reason = str(refusal)[:120]
    await send({"type": "websocket.close", "code": code, "reason": reason})
    return {"type": "websocket.disconnect", "code": code, "reason": reason}


def json_of(body: bytes) -> object:
    """The value of a checked body; None when it is not JSON."""
    try:
        return json.loads(body)
    except ValueError:
        return None
