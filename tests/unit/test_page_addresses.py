"""Where the page says that it is: behind a proxy with a name and a prefix of its own, and without one."""

import socket

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from server.page_access import PAGE, PageAccess, sign_in_routes
from server.users import UnknownUserError, User, Users
from stepwell.errors import UsageError
from stepwell.page import this_machine
from stepwell.page.app import page_app
from stepwell.page.backend import Backend
from stepwell.page.this_machine import listen

KEY = "sw_right"
OWN = {"Sec-Fetch-Site": "same-origin"}
ELSEWHERE = [
    "//elsewhere.example",
    "/\\elsewhere.example",
    "https://elsewhere.example",
    "javascript:alert(1)",
    "",
    "x",
    "/sign-in",
    '/"><b>',
]
REFUSED = [("sw_wrong", "not known"), ("sw_old", "valid until"), ("", "Give the key"), ("é", "Give the key")]


class OneKey:
    """Knows one key."""

    async def authenticate(self, credential: str) -> User | None:
        if credential == "sw_old":
            raise UnknownUserError("This key was valid until 2026-01-01.")
        return User("key:ann") if credential == KEY else None


def client(public_url: str = "") -> httpx.AsyncClient:
    """A client of the page as a server mounts it, reached under the address of a machine behind the proxy."""
    users = Users((OneKey(),))

    def no_backend(request: object) -> Backend:
        raise AssertionError("nobody was let in")

    page = page_app(
        no_backend, more=sign_in_routes(users, secure=public_url.startswith("https:")), public_url=public_url
    )
    app = Starlette(routes=[Mount(PAGE, PageAccess(page, users))])
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://10.0.0.5:2024")


@pytest.mark.parametrize(
    ("public_url", "base", "host"),
    [
        ("", "/ui", "10.0.0.5:2024"),
        ("https://data.example", "/ui", "data.example"),
        ("https://data.example/tools/stepwell/", "/tools/stepwell/ui", "data.example"),
    ],
)
async def test_links_and_policy_follow_the_public_address(public_url: str, base: str, host: str) -> None:
    async with client(public_url) as browser:
        sent = await browser.get("/ui/threads/x?a=1&b=/c")
        assert sent.headers["location"] == f"{base}/sign-in?to=/threads/x%3Fa%3D1%26b%3D/c"
        page = await browser.get("/ui/sign-in", params={"to": "/threads/x?a=1"})
        assert f'action="{base}/sign-in"' in page.text
        assert f"script-src {host}{base}/assets/" in page.headers["content-security-policy"]
        assert 'value="/threads/x?a=1"' in page.text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://data.example"}, 200),
        ({"Origin": "https://data.example"}, 200),  # a browser that says no more, behind a proxy that changes the host
        ({"Origin": "http://10.0.0.5:2024"}, 200),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "https://data.example"}, 403),
        ({"Origin": "https://elsewhere.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": ""}, 403),
        ({}, 403),
    ],
)
async def test_only_the_page_itself_signs_in(headers: dict[str, str], status: int) -> None:
    async with client("https://data.example") as browser:
        answer = await browser.post("/ui/sign-in", data={"key": KEY}, headers=headers)
        assert answer.status_code == status
        assert ("set-cookie" in answer.headers) == (status == 200)


async def test_the_cookie_is_of_the_page_alone_and_of_https() -> None:
    async with client("https://data.example/tools") as browser:
        answer = await browser.post(
            "/ui/sign-in", data={"key": KEY, "to": "/new"}, headers={"Origin": "https://data.example"}
        )
        parts = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")}
        assert {f"stepwell-key={KEY}", "path=/tools/ui", "httponly", "secure", "samesite=lax"} <= parts
        assert not any(part.startswith(("max-age", "expires")) for part in parts)
        assert "url=/tools/ui/new" in answer.text


@pytest.mark.parametrize("to", ELSEWHERE)
async def test_nobody_is_sent_elsewhere(to: str) -> None:
    async with client() as browser:
        answer = await browser.post(
            "/ui/sign-in", data={"key": KEY, "to": to}, headers={"Sec-Fetch-Site": "same-origin"}
        )
        assert answer.status_code == 200
        assert "elsewhere" not in answer.text
        assert "javascript" not in answer.text
        assert "<b>" not in answer.text
        assert 'content="0;url=/ui/' in answer.text


@pytest.mark.parametrize(("key", "words"), REFUSED)
async def test_a_key_that_is_not_taken_is_told_why(key: str, words: str) -> None:
    async with client() as browser:
        answer = await browser.post("/ui/sign-in", data={"key": key}, headers=OWN)
        assert answer.status_code == 401
        assert words in answer.text
        assert "set-cookie" not in answer.headers


def test_of_two_that_are_started_together_each_has_its_port(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", 0))
        taken = other.getsockname()[1]
        monkeypatch.setattr(this_machine, "PORT", taken)
        with listen(None) as found:  # the other has bound it, and does not listen yet
            assert found.getsockname()[1] == taken
            with pytest.raises(OSError, match="Address already in use"):
                other.listen()
            with listen(None) as third:
                assert third.getsockname()[1] != taken
            with pytest.raises(UsageError, match=f"Port {taken} cannot be used"):
                listen(taken)
