"""Stands before every route, ours and LangGraph's: finds out who sends a request, or sees that it is this machine."""

import ipaddress
import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from starlette._utils import get_route_path
from starlette.types import ASGIApp, Receive, Scope, Send

from server.bodies import replay_body
from server.page_access import is_page, signs_in, with_cookie
from server.platform import has_thread
from server.routing import LINKED, USER
from server.users import UnknownUserError, User, Users
from stepwell.errors import RefusedError
from storage.signed_links import SIGNATURE, LinkSigner

OPEN = frozenset({"/", "/ok", "/info", "/docs", "/openapi.json", "/stepwell/health", "/stepwell/ready"})
"""Answered without asking who it is: they tell nothing of anybody."""
OPERATORS = ("/metrics", "/stepwell/metrics", "/deploy", "/profile")
"""For operators alone, with everything below them."""
NOBODY = ("/internal",)
"""Routes of the in-memory server for its own tests: they read any thread, and delete all."""
STREAMS = re.compile(r"/threads/([^/]+)/(?:stream|stream/events|runs/[^/]+/stream)/?")
"""LangGraph answers these with 200 before it looks whose the thread is."""
STUDIO = ("https://smith.langchain.com", "https://eu.smith.langchain.com")
FORWARDED = frozenset(
    name.encode()
    for name in (
        "via", "forwarded", "x-real-ip", "x-client-ip", "x-cluster-client-ip", "x-original-for", "x-original-host",
        "x-original-forwarded-for", "x-original-uri", "x-original-url", "x-proxyuser-ip", "x-remote-addr",
        "x-remote-ip", "x-scheme", "x-amzn-trace-id", "x-amz-cf-id", "x-azure-clientip", "x-appengine-user-ip",
        "x-cloud-trace-context", "x-vercel-id", "x-request-start", "true-client-ip", "client-ip", "cdn-loop",
        "proxy-connection", "akamai-origin-hop",
    )
)  # fmt: skip
FORWARDED_BEGINNINGS = tuple(
    f"{name}-".encode()
    for name in ("x-forwarded", "x-envoy", "x-arr", "x-azure", "x-fastly", "cf", "fastly", "fly", "tailscale", "ngrok")
)
"""What proxies, load balancers and tunnels add to a request."""
FILE = re.compile(r"/stepwell/threads/([^/]+)/artifacts/(.+)", re.DOTALL)
"""What a link may lead to."""
READING = ("GET", "HEAD")
OLD_HTTP = ("0.9", "1.0")
"""What browsers and clients do not speak any more, and nginx does to what is behind it unless told otherwise."""
ASKS_NOBODY = (
    "This server asks nobody who they are, so it answers its own machine alone, and nobody through a proxy; for others "
    "set STEPWELL_API_KEYS or STEPWELL_OIDC_ISSUER."
)
REFUSED = 4401
"""The code with which a WebSocket is closed; before it is accepted, that is HTTP's 403."""


class Guard:
    """ASGI middleware.

    Args:
        app: What it stands before.
        users: Who may come in.
        origins: Web pages that are answered, besides Studio's and this machine's, where nobody is asked.
        links: Knows signed links to files, which are opened without a key, and from any page.
    """

    def __init__(
        self, app: ASGIApp, users: Users, origins: tuple[str, ...] = (), links: LinkSigner | None = None
    ) -> None:
        self._app = app
        self._users = users
        self._links = links
        self._origins = frozenset((*STUDIO, *origins))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: D102 - ASGI
        if scope["type"] not in ("http", "websocket") or _within(scope):
            await self._app(scope, receive, send)
            return
        scope = dict(with_cookie(scope))
        headers: dict[bytes, bytes] = dict(scope["headers"])
        user, linked = None, False
        try:
            linked = await self._is_linked(scope, headers)
            if not linked:
                user = await self._let_in(scope, headers)
        except RefusedError as refusal:
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": REFUSED, "reason": str(refusal)[:120]})
            else:
                await refusal.answer()(scope, receive, send)
            return
        if user is None and not linked and scope["type"] == "http" and not signs_in(scope):
            receive = replay_body(b"", receive)  # nobody reads what comes from nobody
        known = {LINKED: True} if linked else {} if user is None else {USER: user}
        await self._app({**scope, **known}, receive, send)

    async def _is_linked(self, scope: Scope, headers: Mapping[bytes, bytes]) -> bool:
        """Whether a request has a signed link to the file that it asks for.

        Raises:
            RefusedError: its link has ended, or was signed for something else.
        """
        given = dict(parse_qsl(scope.get("query_string", b"").decode("latin-1")))
        file = FILE.fullmatch(get_route_path(scope)) if SIGNATURE in given and scope.get("method") in READING else None
        if file is None or self._links is None:
            return False
        try:
            admitted = await self._links.admits(file[1], file[2], given)
        except OSError as error:
            raise RefusedError(503, f"Links to files cannot be checked ({error.strerror or error}).") from None
        if not admitted:
            raise RefusedError(403, "This link to a file has ended, or is not of this server. List the files anew.")
        if not self._users.auth_required:
            self._only_this_machine(scope, headers, from_any_page=True)
        return True

    async def _let_in(self, scope: Scope, headers: Mapping[bytes, bytes]) -> User | None:
        path = get_route_path(scope)
        if _below(path, NOBODY):
            raise RefusedError(404, "Not Found")
        if scope.get("method") == "OPTIONS" and b"access-control-request-method" in headers:
            return None  # a browser asks what it may ask, and shows no key for that
        if not self._users.auth_required:
            self._only_this_machine(scope, headers)
        elif path in OPEN:
            return None
        try:
            user = await self._users.sender(headers)
        except UnknownUserError as error:
            if scope["type"] == "http" and is_page(path):
                return None  # it asks people to sign in
            raise RefusedError(401, str(error), {"WWW-Authenticate": "Bearer"}) from None
        if _below(path, OPERATORS) and not user.operator:
            raise RefusedError(403, "This is for operators of the server alone.")
        streamed = STREAMS.fullmatch(path)
        if streamed and self._users.auth_required and not await has_thread(scope, headers, streamed[1]):
            raise RefusedError(404, "There is no such thread.")
        return user

    def _only_this_machine(self, scope: Scope, headers: Mapping[bytes, bytes], *, from_any_page: bool = False) -> None:
        """Refuse what comes from elsewhere: also through a proxy, from another page, or by a name that leads here.

        Raises:
            RefusedError: it does not come from this machine.
        """
        client = scope.get("client")
        if through := proxied(headers, str(scope.get("http_version", ""))):
            raise RefusedError(403, f"This came through a proxy ({through}). {ASKS_NOBODY}")
        if client is not None and not is_loopback(client[0]):
            raise RefusedError(403, ASKS_NOBODY)
        host = headers.get(b"host", b"localhost").decode("latin-1")
        if not is_loopback(_name_in(f"//{host}")):
            raise RefusedError(403, f"This server is asked for under the name {host[:100]!r}; use localhost.")
        if from_any_page:
            return
        origin = headers.get(b"origin", b"").decode("latin-1")
        if origin and origin not in self._origins and not is_loopback(_name_in(origin)):
            raise RefusedError(403, f"Pages of {origin[:100]} are not answered here; see STEPWELL_ORIGINS.")
        elsewhere = headers.get(b"sec-fetch-site") == b"cross-site" and headers.get(b"sec-fetch-mode") != b"navigate"
        if elsewhere and not origin:
            raise RefusedError(403, "Pages of other sites are not answered here; see STEPWELL_ORIGINS.")


def proxied(headers: Mapping[bytes, bytes], version: str) -> str:
    """The header that shows that a request came through a proxy; empty when there is none."""
    for name in headers:
        if name in FORWARDED or name.startswith(FORWARDED_BEGINNINGS):
            return name.decode("latin-1")[:40]
    return f"HTTP/{version}" if version in OLD_HTTP else ""


def is_loopback(host: str) -> bool:
    """Whether a host name or address is a loopback one."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def _within(scope: Scope) -> bool:
    """Whether one part of the server calls another; no request from outside can claim to."""
    root = scope.get("root_path", "")
    return bool(root == "/noauth" or root.startswith("/noauth/"))


def _below(path: str, roots: tuple[str, ...]) -> bool:
    return any(path == root or path.startswith(f"{root}/") for root in roots)


def _name_in(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""
