"""The page for who sits at this machine: which address it has, who may come in, and how it ends."""

import asyncio
import html
import os
import secrets
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, quote

from starlette.applications import Starlette
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from graph.settings import Settings
from stepwell.errors import UsageError
from stepwell.page.app import HEADERS, page_app
from stepwell.page.local import LocalBackend

HOST = "127.0.0.1"
PORT = 8484
"""Tried first when nobody asks for another."""
ENTRY = "/enter"
GRACE = 3
"""Seconds that browsers have to finish what they read when the page ends."""
DOOR = "default-src 'none'; img-src data:; base-uri 'none'; frame-ancestors 'none'"
COOKIE_SECONDS = 30 * 86_400
ENTERED = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Stepwell</title><link rel="icon" href="data:,">
<meta http-equiv="refresh" content="0;url={0}"><p><a href="{0}">Go on to Stepwell</a></p></html>
"""


class Doorkeeper:
    """Lets in who has opened the address that was printed, from this machine and by its own name.

    Args:
        app: What it stands before.
        port: Where it listens.
        say: Tells who started the page an address, when somebody comes without a key.
    """

    def __init__(self, app: ASGIApp, port: int, say: Callable[[str], None] = lambda url: None) -> None:
        self._app = app
        self._hosts = {f"{HOST}:{port}", f"localhost:{port}"}
        self._port = port
        self._cookie = f"stepwell-{port}"
        self._session = secrets.token_urlsafe(32)
        self._key = ""
        self._say = say

    def address(self, path: str = "/") -> str:
        """An address that lets one browser in."""
        self._key = self._key or secrets.token_urlsafe(32)
        return f"http://{HOST}:{self._port}{ENTRY}?key={self._key}&to={quote(path)}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it (ASGI)."""
        if scope["type"] == "http":
            answer = self._answer(scope)
            if answer is not None:
                answer.headers.update({**HEADERS, "Content-Security-Policy": DOOR})
                await answer(scope, receive, send)
                return
        elif scope["type"] != "lifespan":
            return
        await self._app(scope, receive, send)

    def _answer(self, scope: Scope) -> Response | None:
        """What is said at the door; None for who may come in."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if headers.get(b"host", "").lower() not in self._hosts:  # a name of somebody else's that leads here
            return PlainTextResponse(f"This page answers at http://{HOST}:{self._port}/ only.\n", 421)
        if scope["path"] == ENTRY:
            return self._entry(scope, known=self._is_known(headers.get(b"cookie", "")))
        if self._is_known(headers.get(b"cookie", "")):
            return None
        if scope["method"] == "GET" and scope["path"] != "/favicon.ico":
            self._say(self.address())
        sentence = "Open the address that Stepwell has printed in its terminal; it lets one browser in.\n"
        return PlainTextResponse(sentence, 403)

    def _entry(self, scope: Scope, *, known: bool) -> Response:
        asked = parse_qs(scope["query_string"].decode("latin-1"))
        given, to = asked.get("key", [""])[0], asked.get("to", ["/"])[0]
        target = html.escape(to if to.startswith("/") and not to.startswith(("//", "/\\")) else "/")
        if known:  # the address once more, out of the browser's history
            return HTMLResponse(ENTERED.format(target))
        if not self._key or not secrets.compare_digest(given.encode(), self._key.encode()):
            self._say(self.address())
            return PlainTextResponse("This address was used already; Stepwell has printed a new one.\n", 403)
        self._key = ""
        # No redirect: after one from elsewhere, a browser would not send a strict cookie.
        answer = HTMLResponse(ENTERED.format(target))
        answer.set_cookie(self._cookie, self._session, COOKIE_SECONDS, path="/", httponly=True, samesite="strict")
        return answer

    def _is_known(self, header: str) -> bool:
        try:
            found = SimpleCookie(header).get(self._cookie)
        except CookieError:
            return False
        return found is not None and secrets.compare_digest(found.value.encode(), self._session.encode())


def listen(port: int | None) -> socket.socket:
    """A socket on this machine alone: on the port that is asked for, or on any where nobody asks.

    Raises:
        UsageError: the port is taken, or may not be used.
    """
    if port is None:
        with suppress(OSError):
            return _listening(PORT)
    try:
        return _listening(port or 0)
    except OSError as error:
        raise UsageError(f"Port {port or 0} cannot be used ({error.strerror}); choose another --port.") from None


def _listening(port: int) -> socket.socket:
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((HOST, port))
        found.listen()  # so far another that was started at the same time could bind it, too
    except OSError:
        found.close()
        raise
    return found


def _leave(asked: asyncio.Event, number: int) -> None:
    """End, and at once when it is asked for a second time."""
    if asked.is_set():
        os._exit(128 + number)
    asked.set()


async def serve(settings: Settings, listening: socket.socket, path: str, tell: Callable[[str], None]) -> bool:
    """Serve the page until Ctrl-C or SIGTERM; what runs then is paused.

    Args:
        settings: Where threads are kept and what runs them.
        listening: See `listen`.
        path: The page that opens first.
        tell: Called with the address once it answers, and again with a new one for another browser.

    Returns:
        Whether anything ran at its end, and is paused now.
    """
    import uvicorn

    async with LocalBackend(settings) as backend:
        app: Starlette = page_app(lambda request: backend)
        door = Doorkeeper(app, listening.getsockname()[1], say=tell)

        class Server(uvicorn.Server):
            """Leaves signals to us, and says when it answers."""

            @contextmanager
            def capture_signals(self) -> Iterator[None]:
                yield

            async def startup(self, sockets: list[socket.socket] | None = None) -> None:
                await super().startup(sockets)
                tell(door.address(path))

        config = uvicorn.Config(
            door,
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="off",
            timeout_graceful_shutdown=GRACE,
        )
        server = Server(config)
        loop, asked = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, _leave, asked, number)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        waiting = asyncio.create_task(asked.wait())
        try:
            await asyncio.wait([serving, waiting], return_when=asyncio.FIRST_COMPLETED)
            paused = bool(backend.live.going_on())
            await backend.live.close()  # with the runs, the pages that follow them end
            server.should_exit = True
            await serving
        finally:
            waiting.cancel()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(number)
    return paused
