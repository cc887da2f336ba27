"""Two users of one server: on every route, ours and LangGraph's, each meets what is his own and nothing else."""

import asyncio
import json
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import langgraph_api  # type: ignore[import-untyped]
import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import empty_checkpoint
from langgraph_sdk import get_client
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from graph.checkpoints.factory import open_checkpoints
from graph.settings import Settings
from tests.security.crossings import crossings, operations, own_things, runs_over, with_room
from tests.security.two_users import (
    CANARY,
    FOR_NOBODY,
    FOR_OPERATORS,
    OF_NOBODY,
    REFUSED,
    TELL_NOTHING,
    Case,
    cases,
    client_of,
    filled,
    furnish,
    kinds,
    possessions,
    rpc,
    send,
)
from tests.serving import DevServer, serving, with_keys

CONFLICT, NOT_OFFERED = 409, 501

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.xdist_group("two users")]


@dataclass(frozen=True)
class World:
    """The server, its users, and the ids of what Alice has."""

    served: DevServer
    alice: httpx.Client
    bob: httpx.Client
    operator: httpx.Client
    stranger: httpx.Client
    ids: dict[str, str]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("two-users")
    settings, keys = with_keys(folder / "settings", "alice", "bob", "operator")
    settings |= {**with_room(folder), "STEPWELL_CRONS": "true"}
    with serving(folder, settings) as served:
        alice, bob, operator, stranger = (
            client_of(served, keys.get(name, "")) for name in ("alice", "bob", "operator", "")
        )
        with alice, bob, operator, stranger:
            ids = furnish(alice, (served.project / "data" / "sales.csv").read_bytes())
            yield World(served, alice, bob, operator, stranger, ids)


def in_the_document(path: str) -> str:
    """A path as it is, whatever its parameters are called."""
    return re.sub(r"\{[^}]*\}", "{}", path)


def test_the_table_has_every_route_of_the_server(world: World) -> None:
    document = world.stranger.get("/openapi.json").json()
    there = {
        f"{method} {in_the_document(path)}"
        for path, methods in document["paths"].items()
        for method in methods
        if method in ("get", "post", "put", "patch", "delete")
    }
    asked = set()
    for case in cases():
        wanted = f"{case.method} {in_the_document(case.path)}"
        matching = [one for one in there if re.fullmatch(re.escape(one).replace(r"\{\}", ".+"), wanted)]
        assert matching or case.method == "head", case
        asked |= set(matching)
    assert there - asked - TELL_NOTHING - FOR_OPERATORS - FOR_NOBODY - OF_NOBODY == set()


def test_nothing_is_answered_to_somebody_unknown(world: World) -> None:
    for case in cases():
        status, text = send(world.stranger, case, world.ids)
        assert status == 401, (case, status, text)
        assert CANARY not in text
    for key in ("sw_wrong", "x", "é", "x" * 20_000):
        headers = {b"authorization": b"Bearer " + key.encode(), b"x-auth-scheme": b"langsmith"}
        assert world.stranger.get("/threads/" + world.ids["thread"], headers=headers).status_code in (400, 401)


def test_what_is_anothers_is_refused_on_every_route_and_stays_as_it_is(world: World) -> None:
    before = list(possessions(world.alice, world.ids))
    told = [*world.ids.values(), CANARY]
    wrong = []
    for case in cases():
        status, text = send(world.bob, case, world.ids)
        known = [one for one in told if one in text and one not in named_in(case, world.ids)]
        refused = case.lists or status in (*REFUSED, NOT_OFFERED) or is_rpc_error(text)
        refused = refused or (case.taken and status == CONFLICT)
        broken = status >= 500 and status != NOT_OFFERED
        counted = case.path.endswith("/count") and text.strip() != "0"
        if broken or known or not refused or counted:
            wrong.append((case, status, text[:300]))
    assert not wrong, "\n".join(map(str, wrong))
    assert list(possessions(world.alice, world.ids)) == before


@pytest.mark.timeout(900)  # some thousand requests, on a machine that may be busy
def test_an_id_of_anothers_in_any_field_of_any_route_leads_to_nothing(world: World) -> None:
    packaged = json.loads((Path(langgraph_api.__file__).parents[1] / "openapi.json").read_text())
    found = operations(packaged, world.stranger.get("/openapi.json").json())
    own = own_things(world.bob, "key:bob", (world.served.project / "data" / "sales.csv").read_bytes())
    before = list(possessions(world.alice, world.ids))
    tried, wrong = crossings(world.bob, found, own, kinds(world.ids), [CANARY])
    assert tried >= 1_000
    runs_over(world.bob, own)
    assert not wrong, f"{len(wrong)} of {tried}:\n" + "\n".join(wrong[:40])
    assert list(possessions(world.alice, world.ids)) == before


def test_a_run_of_anothers_is_not_deleted_as_one_of_ones_own_thread(world: World) -> None:
    before = list(possessions(world.alice, world.ids))
    mine = world.bob.post("/threads", json={}).json()["thread_id"]
    for run in (world.ids["run"], world.ids["waiting"], world.ids["run"].replace("-", "")):
        refused = world.bob.delete(f"/threads/{mine}/runs/{run}")
        unknown = world.bob.delete(f"/threads/{mine}/runs/{uuid.uuid4()}")
        assert (refused.status_code, refused.text) == (404, unknown.text)
    assert list(possessions(world.alice, world.ids)) == before
    later = {"assistant_id": "stepwell", "input": {}, "after_seconds": 3_600}
    own = world.bob.post(f"/threads/{mine}/runs", json=later).json()["run_id"]
    assert world.bob.delete(f"/threads/{mine}/runs/{own}").status_code == 204
    assert world.bob.get(f"/threads/{mine}/runs/{own}").status_code == 404


def test_agents_and_tools_ask_as_the_user_who_shows_the_key(world: World) -> None:
    message = {"role": "user", "parts": [{"kind": "text", "text": "What can you do?"}], "messageId": "1"}
    headers = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    agent = world.bob.post("/assistants/search", json={"metadata": {"created_by": "system"}}).json()[0]["assistant_id"]
    asked = world.bob.post(f"/a2a/{agent}", json=rpc("message/send", {"message": message}), headers=headers)
    assert asked.json().get("result", {}).get("status", {}).get("state") == "completed", asked.text[:900]
    arguments = {"messages": [{"role": "user", "content": "What can you do?"}]}
    called = world.bob.post(
        "/mcp", json=rpc("tools/call", {"name": "stepwell", "arguments": arguments}), headers=headers
    )
    assert "answer" in called.text, called.text
    assert not is_rpc_error(called.text), called.text


def test_operators_routes_are_for_operators_and_internal_ones_for_nobody(world: World) -> None:
    for path in ("/metrics", "/stepwell/metrics", "/deploy"):
        assert world.bob.get(path).status_code == 403
        assert world.stranger.get(path).status_code == 401
    for who in (world.bob, world.operator, world.stranger):
        assert who.post("/internal/truncate").status_code == 404
        assert who.get(f"/internal/debug/thread/{world.ids['thread']}").status_code == 404
    assert world.operator.get(f"/threads/{world.ids['thread']}").status_code == 404


def test_nobody_makes_himself_the_owner_of_something_or_the_server(world: World) -> None:
    hers = {"metadata": {"stepwell_owner": "key:alice"}}
    assert world.bob.post("/threads", json=hers).status_code == 422
    made = world.bob.post("/threads", json={"metadata": {"a": "b"}}).json()
    assert made["metadata"]["stepwell_owner"] == "key:bob"
    thread = made["thread_id"]
    assert world.bob.patch(f"/threads/{thread}", json=hers).status_code == 422
    for body in (
        {"graph_id": "stepwell", "metadata": {"created_by": "system"}},
        {"graph_id": "stepwell", "metadata": {"stepwell_owner": "key:alice", "created_by": "system"}},
    ):
        assert world.bob.post("/assistants", json=body).status_code in (403, 422)
    system = world.bob.post("/assistants/search", json={"metadata": {"created_by": "system"}}).json()[0]
    assert world.bob.patch(f"/assistants/{system['assistant_id']}", json={"name": "mine"}).status_code == 404
    assert world.bob.delete(f"/assistants/{system['assistant_id']}").status_code == 404
    run = {"assistant_id": "stepwell", "input": {}, "metadata": {"stepwell_owner": "key:alice"}}
    for metadata in (run, {**run, "metadata": {}, "config": {"metadata": {"stepwell_owner": "key:alice"}}}):
        assert world.bob.post(f"/threads/{thread}/runs", json=metadata).status_code == 422
    started = world.bob.post(f"/threads/{thread}/runs", json={**run, "metadata": {}}).json()
    assert started["metadata"]["stepwell_owner"] == "key:bob"
    assert world.bob.get(f"/threads/{thread}").json()["metadata"]["stepwell_owner"] == "key:bob"
    spoofed = {
        "configurable": {"langgraph_auth_user_id": "key:alice", "langgraph_auth_user": {"identity": "key:alice"}}
    }
    given = {"messages": [{"role": "user", "content": "What is in it?"}], "files": [world.ids["file"]]}
    world.bob.post(f"/threads/{thread}/runs/wait", json={"assistant_id": "stepwell", "input": given, "config": spoofed})
    state = world.bob.get(f"/threads/{thread}/state").json()
    assert "no upload of yours" in str(state["tasks"]), state["tasks"]
    assert not state["values"].get("inputs")


def test_a_removed_threads_files_are_nobody_elses(world: World) -> None:
    mine = "11111111-2222-4333-8444-555555555555"
    assert world.alice.post("/threads", json={"thread_id": mine}).status_code == 200
    assert world.alice.delete(f"/threads/{mine}").status_code == 204
    assert world.bob.post("/threads", json={"thread_id": mine}).status_code == 404
    run = {"assistant_id": "stepwell", "input": {}, "if_not_exists": "create"}
    assert world.bob.post(f"/threads/{mine}/runs", json=run).status_code == 404
    assert world.alice.post("/threads", json={"thread_id": mine}).status_code == 200


async def test_a_thread_of_another_server_or_of_the_command_on_the_same_checkpoints_is_nobodys_to_make(
    world: World,
) -> None:
    """Servers on one database have lists of threads of their own, and each would think that an id is new."""
    others, mine, run = str(uuid.uuid4()), str(uuid.uuid4()), {"assistant_id": "stepwell", "input": {}}
    commands = str(uuid.uuid4())
    settings = await asyncio.to_thread(partial(Settings, home=world.served.home))
    assert world.bob.post("/threads", json={"thread_id": mine}).status_code == 200
    async with open_checkpoints(settings) as saver:
        assert await saver.claim(others, "another server's word for Alice")
        assert not await saver.claim(mine, "another server's word for Alice")
        at: RunnableConfig = {"configurable": {"thread_id": commands, "checkpoint_ns": ""}}
        await saver.aput(at, empty_checkpoint(), {"source": "input"}, {})
    for thread in (others, commands, others.upper()):
        assert world.bob.post("/threads", json={"thread_id": thread}).status_code == 404
        said = world.bob.post(f"/threads/{thread}/runs", json={**run, "if_not_exists": "create"})
        assert said.status_code == 404
        assert world.bob.get(f"/threads/{thread}/state").status_code == 404


def test_files_of_the_server_itself_are_no_inputs(world: World) -> None:
    for file, word in (
        ("data/sales.csv", "outside"),
        (".env", "outside"),
        ("/etc/passwd", "outside"),
        ("~/keys", "outside"),
        (str(world.served.home / "uploads"), "outside"),
        ("upload:../../keys", "no upload of yours"),
        (f"upload:{world.ids['upload']}/../../x", "no upload of yours"),
        ("http://127.0.0.1:1/", "STEPWELL_INPUT_URLS"),
        ("s3://bucket/x", "STEPWELL_INPUT_URLS"),
        ("file:///etc/passwd", "cannot be fetched"),
    ):
        given = {"messages": [{"role": "user", "content": "Look"}], "files": [file]}
        thread = world.bob.post("/threads", json={}).json()["thread_id"]
        world.bob.post(f"/threads/{thread}/runs/wait", json={"assistant_id": "stepwell", "input": given})
        state = world.bob.get(f"/threads/{thread}/state").json()
        assert word in str(state["tasks"]), (file, state["tasks"])


def test_a_web_socket_opens_to_the_threads_owner_alone(world: World) -> None:
    url = f"{world.served.url.replace('http', 'ws')}/threads/{world.ids['thread']}/stream/events"
    for who in (world.bob, world.operator, world.stranger):
        shown = {name: who.headers[name] for name in ("authorization",) if name in who.headers}
        with pytest.raises(InvalidStatus) as refused, connect(url, additional_headers=shown):
            pass
        assert refused.value.response.status_code == 403
    with connect(url, additional_headers={"authorization": world.alice.headers["authorization"]}):
        pass


async def test_two_users_at_once_get_each_their_own_answer(world: World) -> None:
    async def asks(who: httpx.Client, word: str) -> tuple[str, str]:
        key = who.headers["authorization"].removeprefix("Bearer ")
        async with get_client(url=world.served.url, api_key=key) as client:
            table = "fruit,amount\n" + "".join(f"{word}{number % 3},{number}\n" for number in range(30))
            sent = await asyncio.to_thread(
                who.post, "/stepwell/uploads", params={"name": "fruit.csv"}, content=table.encode()
            )
            thread = (await client.threads.create())["thread_id"]
            given = {"messages": [{"role": "user", "content": f"Which {word} is it?"}], "files": [sent.json()["file"]]}
            told = ""
            async for part in client.runs.stream(thread, "stepwell", input=given, stream_mode=["custom", "updates"]):
                told += str(part.data)
            state: Any = await client.threads.get_state(thread)
            return told, state["values"]["answer"]

    (for_alice, alices), (for_bob, bobs) = await asyncio.gather(asks(world.alice, "apple"), asks(world.bob, "banana"))
    for mine, others, texts in (("apple", "banana", (for_alice, alices)), ("banana", "apple", (for_bob, bobs))):
        assert all(mine in text for text in texts)
        assert not any(others in text for text in texts)


def test_every_request_of_the_table_is_answered_to_its_owner(world: World) -> None:
    for case in cases():
        status, text = send(world.alice, case, world.ids)
        if not case.unusable:
            assert status not in REFUSED, (case, status, text)


def is_rpc_error(text: str) -> bool:
    """Whether JSON-RPC says in it that the request was refused."""
    try:
        said = json.loads(text)
    except ValueError:
        return False
    return isinstance(said, dict) and (bool(said.get("error")) or bool((said.get("result") or {}).get("isError")))


def named_in(case: Case, ids: Mapping[str, str]) -> str:
    """What Bob himself named in a request: it may be said back to him."""
    return json.dumps([filled(one, ids) for one in (case.path, dict(case.query), str(case.body))])
