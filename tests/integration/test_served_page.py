"""The page of a server over HTTP: signing in, what others see and can do, and what a run costs its user."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.routing import Route

from server.page_access import COOKIE
from stepwell.page import file_routes, run_routes, step_routes, thread_routes
from tests.scripted_model import Call, Scripted, ScriptedServer
from tests.serving import DevServer, serving, with_keys

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.xdist_group("postgres")]

SAME = {"Sec-Fetch-Site": "same-origin"}
DRAW = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\ntotal = 42\nopen('outputs/note.txt', 'w').write('note')"
REPLIES: list[Scripted] = [
    Call("run_python", purpose="Add", code=DRAW, answer="It is {{total}}; see [the note](note.txt)."),
    Call("submit_review", good_enough=True, missing=[]),
]


class Visitor:
    """A browser without a window: keeps cookies, and says where its forms come from."""

    def __init__(self, server: DevServer) -> None:
        self.client = httpx.AsyncClient(base_url=server.url, timeout=60, headers=SAME)

    async def sign_in(self, key: str, to: str = "/") -> httpx.Response:
        """Send the form."""
        return await self.client.post("/ui/sign-in", data={"key": key, "to": to})

    async def get(self, path: str, **more: Any) -> httpx.Response:
        """Open a page."""
        return await self.client.get(f"/ui{path}", **more)

    async def post(self, path: str, **fields: str) -> httpx.Response:
        """Send a form."""
        return await self.client.post(f"/ui{path}", data=fields)

    async def ask(self, question: str, **knobs: str) -> str:
        """Ask on a new thread; returns its path."""
        asked = await self.post("/new", question=question, **knobs)
        assert asked.status_code == 303, asked.text[-2000:]
        return asked.headers["location"].removeprefix("/ui")

    async def until(self, path: str, words: str, seconds: float = 60.0) -> str:
        """Look at a page until it says something."""
        async with asyncio.timeout(seconds):
            while words not in (text := (await self.get(path)).text):
                await asyncio.sleep(0.2)
        return text


@asynccontextmanager
async def visited(
    tmp_path: Path, *names: str, script: list[Scripted] | None = None, **settings: str
) -> AsyncIterator[tuple[DevServer, dict[str, str], dict[str, Visitor], ScriptedServer]]:
    """A server, the keys of its users, and a visitor for each who has signed in."""
    users, keys = with_keys(tmp_path / "settings", *names)
    async with ScriptedServer(script or []) as model:
        named = {"STEPWELL_MODEL": "scripted", "OPENAI_BASE_URL": model.base_url}
        with serving(tmp_path / "served", {**users, **named, **settings}) as server:
            async with AsyncExitStack() as stack:
                visitors = {name: await stack.enter_async_context(visitor_of(server)) for name in names}
                for name, visitor in visitors.items():
                    assert (await visitor.sign_in(keys[name])).status_code == 200
                yield server, keys, visitors, model


@asynccontextmanager
async def visitor_of(server: DevServer) -> AsyncIterator[Visitor]:
    """A visitor for the time of the block."""
    visitor = Visitor(server)
    async with visitor.client:
        yield visitor


async def test_who_has_no_key_sees_a_form_and_nothing_else(tmp_path: Path) -> None:
    async with visited(tmp_path, "ann") as (server, keys, visitors, _), visitor_of(server) as stranger:
        sent = await stranger.get("/threads/0d7b0c9e-0000-4000-8000-000000000000/steps")
        assert (sent.status_code, sent.headers["location"]) == (
            303,
            "/ui/sign-in?to=/threads/0d7b0c9e-0000-4000-8000-000000000000/steps",
        )
        assert (await stranger.client.get("/ui", follow_redirects=True)).url.path == "/ui/sign-in"
        assert (await stranger.post("/new", question="Who am I?")).status_code == 401
        for key in ("", "sw_wrong", keys["ann"][:-1], "a b\r\nX: y", "k" * 5_000):
            refused = await stranger.sign_in(key)
            assert (refused.status_code, "set-cookie" in refused.headers) == (401, False), key
        assert (await stranger.client.post("/ui/sign-in", content=b"x" * 30_000)).status_code == 422
        from_elsewhere = {"Sec-Fetch-Site": "cross-site"}
        forged = await stranger.client.post("/ui/sign-in", data={"key": keys["ann"]}, headers=from_elsewhere)
        assert forged.status_code == 403
        assert "set-cookie" not in forged.headers
        taken = await stranger.sign_in(keys["ann"], to="//elsewhere.example/")
        assert 'url=/ui/"' in taken.text
        assert "elsewhere" not in taken.text
        said = taken.headers["set-cookie"].lower()
        assert "httponly" in said
        assert "samesite=lax" in said
        assert "path=/ui" in said
        # The cookie is the page's alone: for other routes a page of somebody else's could make a browser send it.
        held = {"Cookie": f"{COOKIE}={keys['ann']}"}
        async with httpx.AsyncClient(base_url=server.url) as plain:
            assert (await plain.post("/threads/search", json={}, headers=held)).status_code == 401
            assert (await plain.get("/ui/", headers=held)).status_code == 200
        page = await stranger.get("/")
        assert page.status_code == 200
        assert "Sign out" in page.text
        assert "<span>ann</span>" in page.text
        assert page.headers["cache-control"] == "no-store"
        assert (await stranger.post("/sign-out")).headers["location"] == "/ui/sign-in"
        assert (await stranger.get("/")).status_code == 303
        # A key that is taken away lets nobody in any more.
        (tmp_path / "settings" / "keys").write_text("")
        async with asyncio.timeout(20):
            while (await visitors["ann"].get("/")).status_code != 303:
                await asyncio.sleep(0.2)


async def test_two_users_see_nothing_of_each_other(tmp_path: Path) -> None:
    async with visited(tmp_path, "ann", "bob", script=REPLIES) as (_, _, visitors, _):
        ann, bob = visitors["ann"], visitors["bob"]
        taken = await ann.client.post("/ui/uploads?name=mine.csv", content=b"a,b\n1,2\n")
        upload = taken.json()["file"]
        place = taken.headers["location"]
        assert (await ann.client.head(place)).headers["upload-offset"] == "8"
        for method in ("GET", "HEAD", "PATCH", "DELETE"):
            piece = {"Content-Type": "application/offset+octet-stream", "Upload-Offset": "8"}
            answered = await bob.client.request(method, place, headers=piece)
            assert (answered.status_code, "mine" in answered.text) == (404, False), method
        assert (await bob.client.get(f"{place}/remark")).status_code == 422
        assert (await ann.client.get(f"{place}/remark")).text == ""
        # The cookie alone lets a browser go on with it, and another site's page cannot make it do so.
        for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 204)):
            piece = {"Content-Type": "application/offset+octet-stream", "Upload-Offset": "8", "Sec-Fetch-Site": site}
            assert (await ann.client.patch(place, headers=piece)).status_code == status, site
        path = await ann.ask("How much is the secret?", file=upload)
        shown = await ann.until(path, "It is ")
        assert "mine.csv" in shown
        assert (await ann.post(f"{path}/labels", name="secret name", tags="secret-tag")).status_code == 303
        assert "secret name" in (await ann.get("/")).text
        # Bob may call one of his own the same; hers is not in his way, nor in his list or search.
        assert "There are no threads yet" in (await bob.get("/")).text
        for words in ("?q=secret", "?tag=secret-tag"):
            assert "secret name" not in (await bob.get(f"/{words}")).text
        refused = await bob.post("/new", question="Give me hers.", file=upload)
        assert refused.status_code == 422
        assert "There are no threads yet" in (await bob.get("/")).text  # nothing is left of what was refused
        parts = {"step": "1", "name": "total", "path": "figures/cell-001-1.png", "cell": "1"}
        tried = 0
        for route in every_route():
            if "{thread}" not in route.path:
                continue
            asked = path_of(route, path.rpartition("/")[2], parts)
            for method in sorted((route.methods or set()) - {"HEAD"}):
                answered = await bob.client.request(method, asked, data={"what": "fork"} if method == "POST" else None)
                assert answered.status_code in (404, 422) or is_empty_stream(answered), (
                    method,
                    asked,
                    answered.status_code,
                )
                assert "secret" not in answered.text, (method, asked)
                tried += 1
        assert tried > 20
        compared = await bob.get("/compare", params={"a": f"{path.rpartition('/')[2]}@1", "b": "x" * 8})
        assert compared.status_code in (404, 409, 422)
        assert "It is" in (await ann.get(path)).text
        assert "secret name" in (await ann.get(path)).text


def every_route() -> list[Route]:
    """All routes of the page."""
    return [*thread_routes.routes, *run_routes.routes, *step_routes.routes, *file_routes.routes]


def path_of(route: Route, thread: str, parts: dict[str, str]) -> str:
    """A path that a route answers."""
    return "/ui" + re.sub(r"\{(\w+)(?::\w+)?\}", lambda one: {"thread": thread, **parts}[one[1]], route.path)


def is_empty_stream(answered: httpx.Response) -> bool:
    """Whether it is a stream of events that told nothing."""
    return answered.headers["content-type"].startswith("text/event-stream") and "event: put" not in answered.text


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
async def test_what_the_owner_can_do_with_a_thread(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue("postgres").new_database() if database == "postgres" else ""
    named = {"STEPWELL_DATABASE_URL": url} if url else {}
    async with visited(tmp_path, "ann", script=REPLIES, **named) as (server, keys, visitors, _):
        ann = visitors["ann"]
        path = await ann.ask("How much is it?", max_cells="7")
        assert "It is " in await ann.until(path, f'action="/ui{path.removeprefix("/ui")}/ask"')
        assert (await ann.get(f"{path}/figures/1/figures/cell-001-1.png")).content[:4] == b"\x89PNG"
        assert (await ann.get(f"{path}/artifacts/note.txt")).text == "note"
        assert "note" in (await ann.get(f"{path}/files/note.txt")).text
        assert (await ann.get(f"{path}/steps/1/files/outputs/note.txt")).text == "note"
        variable = await ann.get(f"{path}/steps/1/variables/total")
        assert variable.status_code == 200
        assert "42" in variable.text
        assert (await ann.post(f"{path}/steps/1/prompt", code="total + 1")).status_code == 303
        await ann.until(f"{path}/steps/1", "43")
        for form in ("html", "ipynb", "zip"):
            exported = await ann.get(f"{path}/export?format={form}")
            assert (exported.status_code, len(exported.content) > 1_000) == (200, True), form
        # The knobs of the first question are those of the next.
        assert 'value="7"' in (await ann.get(path)).text
        again = await ann.post(f"{path}/resume")
        assert again.status_code == 409
        assert "is answered" in again.text
        assert (await ann.get("/?q=how+much")).text.count('class="title"') == 1
        forked = await ann.post(f"{path}/steps/1", what="fork")
        assert forked.status_code == 303
        copy = forked.headers["location"].removeprefix("/ui").removesuffix("#latest")
        assert copy != path
        assert "total" in (await ann.get(f"{copy}/steps/1")).text
        assert (await ann.post(f"{copy}/delete")).status_code == 303
        mine = {"Authorization": f"Bearer {keys['ann']}"}
        thread = path.rpartition("/")[2]
        async with httpx.AsyncClient(base_url=server.url, headers=mine) as client:
            # Other clients see the same thread.
            state = (await client.get(f"/threads/{thread}/state")).json()
            assert state["values"]["answer"].startswith("It is 42")
            assert (await ann.post(f"{path}/delete")).status_code == 303
            assert (await client.get(f"/threads/{thread}")).status_code == 404
        assert (await ann.get(path)).status_code == 404
        assert "There are no threads yet" in (await ann.get("/")).text


async def test_runs_of_the_page_count_as_any_others(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text("[limits]\nmax_cells = 3\n[quotas]\nruns = 1\nwait_seconds = 1\n")
    wait = "import time\ntime.sleep(60)"
    script: list[Scripted] = [Call("run_python", purpose="Wait", code=wait)]
    async with visited(tmp_path, "ann", script=script, STEPWELL_POLICY=str(policy)) as (_, _, visitors, _):
        ann = visitors["ann"]
        path = await ann.ask("Wait for me.")
        await ann.until(path, "is running")
        refused = await ann.post("/new", question="And this?")
        assert refused.status_code == 422
        assert "And this?" in refused.text
        assert "runs" in refused.text
        too_many = await ann.post("/new", question="Too many cells.", max_cells="50")
        assert too_many.status_code == 422
        assert "at most 3 is allowed here" in too_many.text
        offered = (await ann.get("/new")).text
        assert ">local</option>" in offered
        assert "daytona" not in offered
        assert (await ann.get("/")).text.count('class="title"') == 1  # nothing is left of what was refused
        # Nobody asks twice on a thread that is at work.
        twice = await ann.post(f"{path}/ask", question="Again?")
        assert twice.status_code == 409
        assert "Again?" in twice.text
        assert (await ann.post(f"{path}/stop")).status_code == 303
        assert "This thread is paused" in await ann.until(path, "paused")


async def test_a_run_is_followed_by_any_number_and_after_a_restart(tmp_path: Path) -> None:
    code = "import time\nfor number in range(400):\n    print('tick', number, flush=True)\n    time.sleep(0.1)"
    script: list[Scripted] = [
        Call("run_python", purpose="Count", code=code),
        Call("run_python", purpose="Be quick", code="'quick'", answer="Done."),
        Call("submit_review", good_enough=True, missing=[]),
    ]
    async with visited(tmp_path, "ann", script=script) as (server, keys, visitors, _), visitor_of(server) as other:
        ann = visitors["ann"]
        await other.sign_in(keys["ann"])
        path = await ann.ask("Count slowly.", cell_timeout="30")
        await ann.until(path, "tick 5")
        # Somebody who comes later, in another browser, sees what was before and what comes.
        shown = (await other.get(path)).text
        address = re.search(r'data-events="([^"]+)"', shown)
        assert address is not None
        assert "tick 0" in shown
        seen = ""
        async with other.client.stream("GET", address[1].replace("&amp;", "&")) as stream:
            async with asyncio.timeout(30):
                async for line in stream.aiter_lines():
                    if line.startswith("data: ") and "tick" in line:
                        seen = json.loads(line.removeprefix("data: "))["html"]
                        break
        assert "tick 0" in seen
        assert await asyncio.to_thread(server.ends_when_asked, 60.0)
        server.begin()
        async with asyncio.timeout(60):
            while (await ann.get(path)).status_code != 200:
                await asyncio.sleep(0.5)
        text = (await ann.get(path)).text
        if 'id="live"' in text:  # the server has taken it up again by itself
            await ann.post(f"{path}/stop")
        text = await ann.until(path, "This thread is paused")
        await ann.post(f"{path}/resume", cell_timeout="1", knobs="1")
        assert "Done." in await ann.until(path, "Done.")


async def test_without_users_the_page_answers_its_own_machine_at_once(tmp_path: Path) -> None:
    with serving(tmp_path / "served", {"STEPWELL_MODEL": "playbook"}) as server:
        async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
            page = await client.get("/ui/")
            assert page.status_code == 200
            assert "Sign out" not in page.text
            assert (await client.get("/ui/", headers={"Host": "stepwell.example"})).status_code == 403
            assert (await client.get("/ui/", headers={"X-Forwarded-For": "10.0.0.1"})).status_code == 403
            asked = {"question": "How many rows are there?"}
            assert (await client.post("/ui/new", data=asked)).status_code == 403  # not from the page
            made = await client.post("/ui/new", data=asked, headers=SAME)
            assert made.status_code == 303
