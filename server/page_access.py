"""Who may see the page at `/ui`: people sign in with their key, which a cookie of that path holds from then on."""

import html
import re
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import quote, urlsplit

from starlette._utils import get_route_path
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from server.routing import USER
from server.users import UnknownUserError, User, Users
from stepwell.page.app import HEADERS
from stepwell.page.forms import form_of, text_of
from stepwell.page.rendering import NAME, base_of, page

PAGE = "/ui"
COOKIE = "stepwell-key"
SIGN_IN, SIGN_OUT = "/sign-in", "/sign-out"
CREDENTIAL = re.compile(r"[\w.~+/=-]{1,3900}", re.ASCII)
"""What a cookie can hold."""
MOST = 20_000
"""Bytes of the form."""
OPEN = (SIGN_IN, "/assets/")
DOOR = "default-src 'none'; img-src data:; base-uri 'none'; frame-ancestors 'none'"
SIGNED_IN = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Stepwell</title><link rel="icon" href="data:,">
<meta http-equiv="refresh" content="0;url={0}"><p><a href="{0}">Go on to Stepwell</a></p></html>
"""


def is_page(path: str) -> bool:
    """Whether a path is the page's."""
    return path == PAGE or path.startswith(f"{PAGE}/")


def signs_in(scope: Scope) -> bool:
    """Whether a request brings a key to sign in with."""
    return scope.get("method") == "POST" and get_route_path(scope) == PAGE + SIGN_IN


def with_cookie(scope: Scope) -> Scope:
    """A request to the page, with the key of its cookie where other clients send theirs; no other route takes it."""
    headers: list[tuple[bytes, bytes]] = list(scope["headers"])
    given = dict(headers)
    if scope["type"] != "http" or not is_page(get_route_path(scope)) or b"authorization" in given:
        return scope
    key = _key_in(given.get(b"cookie", b""))
    if not key or b"x-api-key" in given:
        return scope
    return {**scope, "headers": [*headers, (b"authorization", f"Bearer {key}".encode())]}


def _key_in(cookies: bytes) -> str:
    try:
        found = SimpleCookie(cookies.decode("latin-1")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None and CREDENTIAL.fullmatch(found.value) else ""


class PageAccess:
    """Sends who is not signed in to the form for that; mounted at `PAGE`, behind the guard.

    Args:
        app: The page.
        users: Who may come in.
    """

    def __init__(self, app: Starlette, users: Users) -> None:
        self._app = app
        self._users = users

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: D102 - ASGI
        if scope["type"] != "http":
            return
        path, user = get_route_path(scope), scope.get(USER)
        if not isinstance(user, User) and not path.startswith(OPEN):
            answer: Response
            if scope["method"] in ("GET", "HEAD"):
                to = quote(path + (f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else ""))
                answer = RedirectResponse(f"{base_of(Request({**scope, 'app': self._app}))}{SIGN_IN}?to={to}", 303)
            else:
                answer = PlainTextResponse("Sign in again: this key is not taken any more.\n", 401)
            answer.headers.update({**HEADERS, "Content-Security-Policy": DOOR})
            await answer(scope, receive, send)
            return
        name = user.id.partition(":")[2] or user.id if isinstance(user, User) and self._users.auth_required else ""
        await self._app({**scope, NAME: name, SERVER: scope["app"]}, receive, send)


SERVER = "stepwell_server"
"""In the scope of a request to the page: the whole server."""


def sign_in_routes(users: Users, *, secure: bool) -> list[Route]:
    """The form, what it sends, and signing out.

    Args:
        users: Who may come in.
        secure: Whether browsers reach the server by HTTPS alone.
    """

    async def show(request: Request) -> Response:
        return await _form(request, _target(request.query_params.get("to", "")))

    async def sign_in(request: Request) -> Response:
        async with form_of(request, most=MOST) as form:
            key, to = text_of(form, "key").strip(), _target(text_of(form, "to"))
        problem = await _problem(users, key)
        if problem:
            return await _form(request, to, problem)
        base = base_of(request)
        # No redirect: after one from elsewhere, a browser would not send the cookie.
        answer = HTMLResponse(SIGNED_IN.format(html.escape(base + to)))
        answer.headers["Content-Security-Policy"] = DOOR
        answer.set_cookie(
            COOKIE, key, path=base, httponly=True, samesite="lax", secure=secure or request.url.scheme == "https"
        )
        return answer

    async def sign_out(request: Request) -> Response:
        answer = RedirectResponse(f"{base_of(request)}{SIGN_IN}", 303)
        answer.delete_cookie(COOKIE, path=base_of(request), httponly=True, samesite="lax")
        return answer

    return [
        Route(SIGN_IN, show, methods=["GET"]),
        Route(SIGN_IN, sign_in, methods=["POST"]),
        Route(SIGN_OUT, sign_out, methods=["POST"]),
    ]


async def _problem(users: Users, key: str) -> str:
    """Why nobody is let in by a key; empty: somebody is."""
    if not CREDENTIAL.fullmatch(key):
        return "Give the key that the operator of this server has made for you."
    headers: Mapping[bytes, bytes] = {b"authorization": f"Bearer {key}".encode()}
    try:
        await users.sender(headers)
    except UnknownUserError as error:
        return str(error)
    return ""


async def _form(request: Request, to: str, problem: str = "") -> Response:
    return await page(request, "sign_in.html.jinja", 401 if problem else 200, to=to, problem=problem)


def _target(given: str) -> str:
    """Where to go on: a path of the page, and nothing else."""
    parts = urlsplit(given) if len(given) < MOST else urlsplit("")
    plain = given.startswith("/") and not given.startswith(("//", "/\\")) and not parts.netloc and "\n" not in given
    return given if plain and not given.startswith(SIGN_IN) else "/"
