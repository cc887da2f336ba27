"""Without users a server answers its own machine alone; with users it asks everybody who he is."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.types import Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from server.api_keys import ApiKeys, line_of, new_key
from server.guard import Guard
from server.page_access import COOKIE
from server.routing import USER
from server.users import Users


async def who(request: Request) -> Response:
    user = request.scope.get(USER)
    return PlainTextResponse(user.id if user is not None else "nobody")


async def never(socket: WebSocket) -> None:
    raise AssertionError("it came in")


def behind(users: Users) -> Starlette:
    return Starlette(
        routes=[Route("/{rest:path}", who, methods=["GET", "POST", "OPTIONS"]), WebSocketRoute("/socket", never)],
        middleware=[Middleware(Guard, users=users, origins=("https://ours.example.org",))],
    )


async def asked(
    users: Users, path: str = "/threads", *, client: str = "127.0.0.1", method: str = "GET", **headers: str
) -> httpx.Response:
    transport = httpx.ASGITransport(app=behind(users), client=(client, 1))
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost:2024") as asking:
        return await asking.request(method, path, headers=named)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"host": "127.0.0.1:2024"},
        {"host": "[::1]:2024"},
        {"host": "stepwell.localhost"},
        {"origin": "https://smith.langchain.com"},
        {"origin": "https://ours.example.org"},
        {"origin": "http://localhost:3000"},
        {"origin": "http://127.0.0.1:3000"},
        {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"},
        {"sec_fetch_site": "same-origin"},
    ],
)
async def test_without_users_this_machine_is_answered(headers: dict[str, str]) -> None:
    answer = await asked(Users(()), **headers)
    assert (answer.status_code, answer.text) == (200, "local")


@pytest.mark.parametrize("client", ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"])
async def test_without_users_every_address_of_this_machine_is_answered(client: str) -> None:
    assert (await asked(Users(()), client=client)).status_code == 200


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({"client": "10.0.0.7"}, "STEPWELL_API_KEYS"),
        ({"client": "172.17.0.1"}, "STEPWELL_API_KEYS"),
        ({"client": "::ffff:10.0.0.7"}, "STEPWELL_API_KEYS"),
        ({"client": "testclient"}, "STEPWELL_API_KEYS"),
        ({"x_forwarded_for": "127.0.0.1"}, "STEPWELL_API_KEYS"),
        ({"forwarded": "for=127.0.0.1"}, "STEPWELL_API_KEYS"),
        ({"x_real_ip": "127.0.0.1"}, "STEPWELL_API_KEYS"),
        *(
            ({name: value}, "proxy")
            for name, value in {
                "via": "1.1 proxy",
                "x_forwarded_host": "stepwell.example.org",
                "x_forwarded_proto": "https",
                "x_forwarded_port": "443",
                "x_forwarded_server": "a",
                "x_forwarded_prefix": "/a",
                "cf_ray": "1",
                "cf_connecting_ip": "192.0.2.1",
                "true_client_ip": "192.0.2.1",
                "x_client_ip": "192.0.2.1",
                "x_cluster_client_ip": "192.0.2.1",
                "x_original_url": "/a",
                "cdn_loop": "cloudflare",
                "x_amzn_trace_id": "Root=1",
                "x_envoy_external_address": "192.0.2.1",
                "fly_client_ip": "192.0.2.1",
                "fastly_client_ip": "192.0.2.1",
                "x_azure_ref": "a",
                "tailscale_user_login": "a",
                "x_scheme": "https",
            }.items()
        ),
        ({"host": "evil.example.org"}, "use localhost"),
        ({"host": "localhost.evil.org"}, "use localhost"),
        ({"host": "127.0.0.1.evil.org"}, "use localhost"),
        ({"host": ""}, "use localhost"),
        ({"origin": "https://evil.example.org"}, "STEPWELL_ORIGINS"),
        ({"origin": "https://smith.langchain.com.evil.org"}, "STEPWELL_ORIGINS"),
        ({"origin": "http://smith.langchain.com"}, "STEPWELL_ORIGINS"),
        ({"origin": "null"}, "STEPWELL_ORIGINS"),
        ({"sec_fetch_site": "cross-site", "sec_fetch_mode": "no-cors"}, "STEPWELL_ORIGINS"),
    ],
)
async def test_without_users_nobody_else_is_answered(headers: dict[str, str], words: str) -> None:
    for path in ("/threads", "/docs", "/stepwell/uploads"):
        answer = await asked(Users(()), path, **headers)
        assert answer.status_code == 403
        assert words in answer.json()["detail"]


async def test_without_users_what_nginx_passes_on_as_it_comes_is_refused() -> None:
    """It adds no header, names the server as its own upstream, and speaks HTTP/1.0."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request"}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1:2024"), (b"connection", b"close")]
    scope = {"type": "http", "method": "GET", "path": "/threads", "headers": headers, "client": ("127.0.0.1", 1)}
    for version, status in (("1.0", 403), ("1.1", 200), ("2", 200)):
        sent.clear()
        await behind(Users(()))({**scope, "http_version": version, "query_string": b""}, receive, send)
        assert sent[0]["status"] == status, (version, sent)


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Users, str, str]:
    """Users with a file of keys, Alice's key, and an operator's."""
    alice, operator = new_key(), new_key()
    file = tmp_path / "keys"
    file.write_text(f"{line_of('alice', alice)}\n{line_of('root', operator, operator=True)}\n")
    return Users((ApiKeys(file),)), alice, operator


async def test_with_users_who_shows_a_key_is_that_user_from_anywhere(keys: tuple[Users, str, str]) -> None:
    users, alice, _ = keys
    for shown in ({"authorization": f"Bearer {alice}"}, {"x_api_key": alice}, {"authorization": f"bearer  {alice} "}):
        answer = await asked(users, client="10.0.0.7", host="example.org", origin="https://any.org", **shown)
        assert (answer.status_code, answer.text) == (200, "key:alice")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer sw_wrong"},
        {"authorization": "Basic {alice}"},
        {"authorization": "{alice}"},
        {"x_auth_scheme": "langsmith"},
        {"cookie": "key={alice}"},
        {"authorization": "Basic x", "x_api_key": "{alice}"},
    ],
)
async def test_with_users_who_shows_none_is_refused_also_from_this_machine(
    keys: tuple[Users, str, str], headers: dict[str, str]
) -> None:
    users, alice, _ = keys
    for path in ("/threads", "/uix", "/ui-x/a", "/x/ui/a", "/ok/", "/OK", "/stepwell/uploads", "/stepwell/health/x"):
        answer = await asked(users, path, **{name: value.format(alice=alice) for name, value in headers.items()})
        assert answer.status_code == 401, path
        assert answer.headers["www-authenticate"] == "Bearer"


async def test_the_page_asks_people_to_sign_in_and_alone_takes_its_cookie(keys: tuple[Users, str, str]) -> None:
    users, alice, _ = keys
    cookie = f"other=1; {COOKIE}={alice}"
    for path in ("/ui", "/ui/", "/ui/threads/x"):
        assert (await asked(users, path)).text == "nobody"
        assert (await asked(users, path, cookie=f"{COOKIE}=sw_wrong")).text == "nobody"
        assert (await asked(users, path, cookie=f'{COOKIE}="{alice}; x')).text == "nobody"
        assert (await asked(users, path, cookie=cookie)).text == "key:alice"
        assert (await asked(users, path, cookie=cookie, authorization="Bearer sw_wrong")).text == "nobody"
    for path in ("/threads", "/uix", "/stepwell/uploads", "/", "//ui/x"):
        answer = await asked(users, path, cookie=cookie)
        assert answer.text == "nobody" if path == "/" else answer.status_code == 401, path
    assert (await asked(Users(()), "/ui/x", client="10.0.0.7", cookie=cookie)).status_code == 403


async def test_health_is_told_to_all_metrics_to_operators_and_internal_routes_to_nobody(
    keys: tuple[Users, str, str],
) -> None:
    users, alice, operator = keys
    for path in ("/ok", "/stepwell/health", "/stepwell/ready", "/openapi.json"):
        assert (await asked(users, path)).status_code == 200
    for path in ("/metrics", "/metrics/", "/stepwell/metrics", "/deploy", "/deploy/1/stream"):
        assert (await asked(users, path, x_api_key=alice)).status_code == 403
        assert (await asked(users, path, x_api_key=operator)).status_code == 200
    for who_asks in (users, Users(())):
        assert (await asked(who_asks, "/internal/truncate", method="POST", x_api_key=operator)).status_code == 404


async def test_nothing_is_read_of_what_comes_from_nobody(keys: tuple[Users, str, str]) -> None:
    users, alice, _ = keys
    read: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        read.append((await Request(scope, receive).body()).decode())

    async def receive() -> Message:
        return {"type": "http.request", "body": b"a long text", "more_body": False}

    async def send(message: Message) -> None:
        raise AssertionError(message)

    for headers in ([], [(b"x-api-key", alice.encode())]):
        scope = {"type": "http", "method": "POST", "path": "/ok" if not headers else "/threads", "headers": headers}
        await Guard(app, users)(scope, receive, send)
    assert read == ["", "a long text"]


async def test_a_browser_may_ask_what_it_may_ask(keys: tuple[Users, str, str]) -> None:
    users, _, _ = keys
    preflight = {"origin": "https://any.org", "access_control_request_method": "POST"}
    assert (await asked(users, method="OPTIONS", **preflight)).status_code == 200
    assert (await asked(users, method="OPTIONS")).status_code == 401


async def test_a_web_socket_is_closed_before_it_opens(keys: tuple[Users, str, str]) -> None:
    users, _, _ = keys
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    for chosen, client in ((users, "127.0.0.1"), (Users(()), "10.0.0.7")):
        scope = {"type": "websocket", "path": "/socket", "headers": [(b"host", b"localhost")], "client": (client, 1)}
        await behind(chosen)(scope, receive, send)
        assert [one["type"] for one in sent] == ["websocket.close"]
        sent.clear()
