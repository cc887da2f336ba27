"""Three Aegra servers on one PostgreSQL, one Valkey (Redis' protocol) and one S3-compatible server.

Their queue is shared, and lets two runs of one thread run at the same time; our own lock does not.
"""

import asyncio
import contextlib
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client

from tests.aegra import AegraServer, found_python, installed, running_valkey
from tests.integration.test_several_servers import asking, environment, policy, running_store
from tests.load_of_counts import Counts
from tests.postgres_server import running_postgres
from tests.scripted_model import ScriptedServer
from tests.security.crossings import LIKE_ANOTHER, crossings, operations, own_things, runs_over, with_room
from tests.security.two_users import CANARY, without_links
from tests.serving import ROOT, with_keys

pytestmark = [
    pytest.mark.slow,
    pytest.mark.aegra,
    pytest.mark.timeout(600),  # of which nearly all is for the installation, once
    pytest.mark.xdist_group("aegra"),
    pytest.mark.filterwarnings("ignore:Request failed, attempting reconnect"),
]

TIMES = {
    "LEASE_DURATION_SECONDS": "5",
    "HEARTBEAT_INTERVAL_SECONDS": "2",
    "REAPER_INTERVAL_SECONDS": "1",
    "WORKER_DRAIN_TIMEOUT": "1",
    "STEPWELL_DRAIN_SECONDS": "3",
}


POLICY = """
[users."key:carol".quotas]
runs = 1
wait_seconds = 300.0
"""


class World:
    """The servers, and two users."""

    def __init__(self, servers: list[AegraServer], keys: dict[str, str]) -> None:
        self.servers = servers
        self.keys = keys
        self.urls = [server.url for server in servers]

    def headers(self, user: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.keys[user]}"}


@pytest.fixture(scope="module")
def python() -> Path:
    """The Python of an environment that has Aegra."""
    found = found_python()
    if not found:
        pytest.skip("Aegra needs Python 3.12 or newer, and this machine has none; AEGRA_PYTHON can name one")
    return installed(found)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory, python: Path) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("keys")
    settings, keys = with_keys(folder, "alice", "bob", "carol")
    settings |= with_room(folder, POLICY)
    model = ScriptedServer(policy=policy)
    asyncio.run(model.__aenter__())
    with contextlib.ExitStack() as stack:
        stack.callback(lambda: asyncio.run(model.__aexit__(None, None, None)))
        postgres, redis = stack.enter_context(running_postgres()), stack.enter_context(running_valkey())
        store, aws = stack.enter_context(running_store())
        # Without walls, so that what cells do outside can be counted.
        shared = {**environment(postgres, store, model), **aws, **settings, **TIMES, "STEPWELL_ISOLATION": "process"}
        shared |= {"REDIS_URL": redis, "STEPWELL_CRONS": "true", "CRON_MAX_PER_USER": "100000"}
        made = [AegraServer(tmp_path_factory.mktemp(f"aegra-{number}"), python, shared) for number in range(3)]
        for server in made:
            stack.callback(server.end)
        made[0].begin()  # it makes Aegra's tables, which two at once cannot
        with ThreadPoolExecutor() as starting:
            list(starting.map(AegraServer.begin, made[1:]))
        yield World(made, keys)


NAMES = """
import inspect
from pydantic_settings import BaseSettings
import aegra_api.settings as settings
classes = [one for one in vars(settings).values() if inspect.isclass(one) and issubclass(one, BaseSettings)]
print(*sorted({name for one in classes for name in one.model_fields}))
"""


def test_the_list_of_aegras_variables_is_what_it_reads(python: Path) -> None:
    """tests/unit/test_deployment_files.py takes the list for this."""
    said = subprocess.run([python, "-c", NAMES], capture_output=True, text=True, check=True).stdout
    assert said.split() == (ROOT / "tests/aegra_variables.txt").read_text().split()


async def test_two_questions_at_once_on_two_servers_are_answered_one_after_the_other(world: World) -> None:
    key = world.keys["alice"]
    async with (
        get_client(url=world.urls[0], api_key=key) as one,
        get_client(url=world.urls[1], api_key=key) as two,
    ):
        thread = (await one.threads.create())["thread_id"]
        asked: Any = [("short", one, "enqueue"), ("other", two, "interrupt")]
        runs = []
        for question, client, strategy in asked:
            run = await client.runs.create(thread, "stepwell", input=asking(question), multitask_strategy=strategy)
            runs.append(run["run_id"])
        for run in runs:
            await one.runs.join(thread, run)
        values: Any = (await two.threads.get_state(thread))["values"]
    assert [cell["status"] for cell in values["cells"]] == ["ok", "ok"]
    assert sorted(turn["answer"] for turn in values["turns"]) == ["Answered other.", "Answered short."]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/threads/{thread}", None),
        ("PATCH", "/threads/{thread}", {"metadata": {"a": "b"}}),
        ("GET", "/threads/{thread}/state", None),
        ("POST", "/threads/{thread}/state", {"values": {"question": "mine"}}),
        ("POST", "/threads/{thread}/history", {"limit": 1}),
        ("GET", "/threads/{thread}/runs", None),
        ("POST", "/threads/{thread}/runs", {"assistant_id": "stepwell", "input": asking("other")}),
        ("POST", "/threads/{thread}/runs/wait", {"assistant_id": "stepwell", "input": asking("other")}),
        ("POST", "/threads/{thread}/runs/stream", {"assistant_id": "stepwell", "input": asking("other")}),
        ("GET", "/threads/{thread}/runs/{run}", None),
        ("GET", "/threads/{thread}/runs/{run}/join", None),
        ("GET", "/threads/{thread}/runs/{run}/stream", None),
        ("POST", "/threads/{thread}/runs/{run}/cancel", None),
        ("DELETE", "/threads/{thread}/runs/{run}", None),
        ("POST", "/threads/{thread}/stream/events", {"channels": ["values"]}),
        ("GET", "/store/items?namespace=key:alice&key=a", None),
        ("PUT", "/store/items", {"namespace": ["key:alice"], "key": "a", "value": {"b": 1}}),
        ("GET", "/stepwell/threads/{thread}/steps", None),
        ("GET", "/stepwell/threads/{thread}/steps/1", None),
        ("GET", "/stepwell/threads/{thread}/artifacts", None),
        ("GET", "/stepwell/threads/{thread}/export", None),
        ("GET", "/stepwell/metrics", None),
        ("DELETE", "/threads/{thread}", None),
    ],
)
async def test_another_users_thread_is_not_to_be_had(world: World, method: str, path: str, body: Any) -> None:
    thread, run = await finished_thread(world)
    async with httpx.AsyncClient(base_url=world.urls[1], timeout=30) as http:
        place = path.format(thread=thread, run=run)
        refused = await http.request(method, place, json=body, headers=world.headers("bob"))
        assert refused.status_code in (403, 404) or refused.json() == [], (refused.status_code, refused.text[:300])
        assert "Answered" not in refused.text
        nobody = await http.request(method, place, json=body)
        assert nobody.status_code == 401, nobody.text[:300]
        found = await http.post("/threads/search", json={}, headers=world.headers("bob"))
        assert thread not in found.text
        own = await http.get(f"/threads/{thread}/state", headers=world.headers("alice"))
        assert own.json()["values"]["answer"] == "Answered other."


@pytest.mark.timeout(1_800)  # some thousand requests, on a machine that may be busy
def test_an_id_of_anothers_in_any_field_of_any_route_leads_to_nothing(world: World) -> None:
    with (
        httpx.Client(base_url=world.urls[0], headers=world.headers("alice"), timeout=60) as alice,
        httpx.Client(base_url=world.urls[0], headers=world.headers("bob"), timeout=60) as bob,
    ):
        ids, has = furnished(alice)
        own = own_things(bob, "key:bob", b"a,b\n1,2\n", "[short]", busy_threads=2)
        before = [without_links(alice.request(*one).json()) for one in has]
        found = [one for one in operations(bob.get("/openapi.json").json()) if one.name not in LIKE_ANOTHER]
        tried, wrong = crossings(bob, found, own, ids, [CANARY], breaks_down=True)
        assert tried >= 1_000
        runs_over(bob, own)
        assert not wrong, f"{len(wrong)} of {tried}:\n" + "\n".join(wrong[:40])
        assert [without_links(alice.request(*one).json()) for one in has] == before


def furnished(alice: httpx.Client) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Give Alice one of everything: their ids by kind, and requests that show all of it."""
    upload = alice.post("/stepwell/uploads", params={"name": "hers.csv"}, content=f"a,b\n{CANARY},2\n".encode()).json()
    about = {"graph_id": "stepwell", "name": CANARY, "metadata": {"note": CANARY}}
    assistant = alice.post("/assistants", json=about).json()["assistant_id"]
    thread = alice.post("/threads", json={"metadata": {"note": CANARY}}).json()["thread_id"]
    asked = {"messages": [{"role": "user", "content": f"[other] {CANARY}"}]}
    alice.post(f"/threads/{thread}/runs/wait", json={"assistant_id": "stepwell", "input": asked}).raise_for_status()
    run = alice.get(f"/threads/{thread}/runs").json()[0]["run_id"]
    state = alice.get(f"/threads/{thread}/state").json()
    assert CANARY in str(state["values"])
    cron = {"assistant_id": "stepwell", "schedule": "0 0 1 1 *", "input": asked, "enabled": False}
    alice.post("/runs/crons", json=cron).raise_for_status()
    item = {"namespace": ["key:alice", "notes"], "key": "a", "value": {"text": CANARY}}
    alice.put("/store/items", json=item).raise_for_status()
    ids = {
        "thread": thread, "run": run, "assistant": assistant, "upload": upload["id"], "file": upload["file"],
        "checkpoint": state["checkpoint"]["checkpoint_id"], "owner": "key:alice",
        "cron": alice.post("/runs/crons/search", json={}).json()[0]["cron_id"],
        "snapshot": state["values"]["cells"][-1]["snapshot"],
        "blob": next(one["sha256"] for one in state["values"]["artifacts"] if one["cell"]),
    }  # fmt: skip
    has = [
        ("GET", f"/threads/{thread}"), ("GET", f"/threads/{thread}/state"), ("GET", f"/threads/{thread}/history"),
        ("GET", f"/threads/{thread}/runs"), ("GET", f"/assistants/{assistant}"), ("GET", "/stepwell/uploads"),
        ("GET", f"/stepwell/threads/{thread}/steps"), ("GET", f"/stepwell/threads/{thread}/artifacts"),
        ("GET", "/store/items?namespace=key:alice.notes&key=a"), ("POST", "/runs/crons/search"),
    ]  # fmt: skip
    return ids, has


async def test_our_routes_answer_the_owner_on_every_server(world: World) -> None:
    thread, _ = await finished_thread(world)
    for url in world.urls:
        async with httpx.AsyncClient(base_url=url, headers=world.headers("alice"), timeout=30) as http:
            steps = (await http.get(f"/stepwell/threads/{thread}/steps")).json()["steps"]
            assert [step["purpose"] for step in steps if step.get("purpose")] == ["other 1"], steps
            listed = (await http.get(f"/stepwell/threads/{thread}/artifacts")).json()["artifacts"]
            assert "both.txt" in [one["name"] for one in listed]
            assert (await http.get(f"/stepwell/threads/{thread}/artifacts/both.txt")).text == "other "
            async with asyncio.timeout(120):
                while (await http.get("/stepwell/ready")).status_code != 200:  # its first cell may still run
                    await asyncio.sleep(0.2)


async def test_runs_of_a_user_begin_in_turn_on_every_server(world: World) -> None:
    async with contextlib.AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(get_client(url=url, api_key=world.keys["carol"], timeout=300))
            for url in world.urls[:2]
        ]
        threads = [(await clients[0].threads.create())["thread_id"] for _ in range(4)]
        states: list[Any] = []
        run: dict[str, Any] = {}
        for number, thread in enumerate(threads):
            client = clients[number % 2]
            run = dict(await client.runs.create(thread, "stepwell", input=asking("other")))
            # It was made when the one before, on the other server, had ended.
            states += [(await client.threads.get_state(one))["next"] for one in threads[:number]]
        await clients[0].runs.join(threads[-1], run["run_id"])
        values: Any = [(await clients[0].threads.get_state(thread))["values"] for thread in threads]
    assert states == [[]] * 6
    assert [one["answer"] for one in values] == ["Answered other."] * 4


ASK: dict[str, Any] = {"assistant_id": "stepwell", "input": asking("other")}


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("/threads/{thread}/runs", {**ASK, "context": {"aproval": "cells"}}, 422, "approval?"),
        ("/threads/{thread}/runs/wait", {**ASK, "context": {"cell_timeout": 1e8}}, 422, "at most"),
        ("/runs/wait", {**ASK, "config": {"configurable": {"max_cells": "x"}}}, 422, "max_cells"),
        ("/assistants", {"graph_id": "stepwell", "context": {"model": "langsmith:x"}}, 422, "model is"),
        ("/threads/{thread}/state", {"values": {"messages": [[]] * 150_000}}, 413, "100,000 values"),
        ("/threads/{thread}/history", {"limit": 101}, 422, "at most 100"),
    ],
)
async def test_what_may_not_be_asked_for_is_refused(
    world: World, path: str, body: Any, status: int, words: str
) -> None:
    async with httpx.AsyncClient(base_url=world.urls[1], headers=world.headers("carol"), timeout=60) as http:
        thread = (await http.post("/threads", json={})).json()["thread_id"]
        refused = await http.post(path.format(thread=thread), json=body)
    assert (refused.status_code, words in refused.text) == (status, True), refused.text[:300]


finished: list[tuple[str, str]] = []


async def finished_thread(world: World) -> tuple[str, str]:
    """A thread of alice's with one answer, and its run."""
    if not finished:
        async with get_client(url=world.urls[0], api_key=world.keys["alice"]) as client:
            thread = (await client.threads.create())["thread_id"]
            run = await client.runs.create(thread, "stepwell", input=asking("other"))
            await client.runs.join(thread, run["run_id"])
            finished.append((thread, run["run_id"]))
    return finished[0]


async def test_servers_are_killed_and_restarted_under_load_and_nothing_is_lost_or_done_twice(world: World) -> None:
    """One is killed; then all three, that one too, are asked to end and started again, one after the other."""
    async with Counts(queue_is_shared=True, api_key=world.keys["alice"]) as counts:
        analyses = [
            asyncio.create_task(counts.analysis(number, world.urls[number % 3], world.urls[(number + 1) % 3]))
            for number in range(9)
        ]
        await counts.reach(asked=9, held=5)
        await asyncio.to_thread(world.servers[0].end, signal.SIGKILL)
        await asyncio.to_thread(world.servers[0].begin)
        for server in world.servers[1:]:
            assert await asyncio.to_thread(server.ends_when_asked, 30)
            await asyncio.to_thread(server.begin)
        counts.release()
        states = await asyncio.gather(*analyses)
    counts.check(states)
    logs = [Path(server.log).read_text() for server in world.servers]
    assert "A run is paused" in "".join(logs[1:]), "nothing was interrupted: that is no test"
