"""A server whose users share it fairly: one with fifty runs holds up nobody, and nobody asks for more than they may."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import UnprocessableEntityError

from bench.analysing import analyse
from tests.serving import DevServer, serving, with_keys

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.xdist_group("fair turns")]

RUNS, ASKED = 3, 50
POLICY = f"""
[limits]
cell_timeout = 600.0

[quotas]
runs = {RUNS}
wait_seconds = 600.0

[bodies]
values = 2_000
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[DevServer, dict[str, str]]]:
    """A server with fewer workers than Bob has runs, and the keys of its users."""
    folder = tmp_path_factory.mktemp("fair-turns")
    settings, keys = with_keys(folder / "settings", "alice", "bob")
    (folder / "settings" / "policy.toml").write_text(POLICY)
    settings["STEPWELL_POLICY"] = str(folder / "settings" / "policy.toml")
    settings["STEPWELL_MAX_SANDBOXES"] = "4"
    with serving(folder, settings, jobs=RUNS + 1) as served:
        yield served, keys


@pytest.fixture
async def alice(world: tuple[DevServer, dict[str, str]]) -> AsyncIterator[LangGraphClient]:
    """A client with her key."""
    served, keys = world
    async with get_client(url=served.url, api_key=keys["alice"], timeout=600) as client:
        yield client


@pytest.fixture
async def bob(world: tuple[DevServer, dict[str, str]]) -> AsyncIterator[LangGraphClient]:
    """A client with his key."""
    served, keys = world
    limits = httpx.Limits(max_connections=None)
    async with get_client(url=served.url, api_key=keys["bob"], timeout=600) as client:
        client.http.client._transport = httpx.AsyncHTTPTransport(limits=limits)  # all of his wait at once
        client.http.client.base_url = httpx.URL(served.url)
        yield client


async def under_way(client: LangGraphClient) -> list[str]:
    """The threads of a user, once for each run that is queued or at work; some stay busy a little longer."""
    found = await client.threads.search(status="busy", limit=100)
    return [
        run["thread_id"]
        for thread in found
        for run in await client.runs.list(thread["thread_id"])
        if run["status"] in ("pending", "running")
    ]


async def test_fifty_runs_of_one_user_do_not_hold_up_the_first_of_another(
    alice: LangGraphClient, bob: LangGraphClient
) -> None:
    before = await analyse(alice, "alice", 1)
    assert not before.verdict
    threads = [(await bob.threads.create())["thread_id"] for _ in range(ASKED)]
    question = {"messages": [{"role": "user", "content": "What stands out?"}]}
    upload = await bob.http.client.post("/stepwell/uploads", params={"name": "a.csv"}, content=b"a,b\n1,2\n" * 100)
    given: dict[str, Any] = {**question, "files": [upload.json()["file"]]}
    begun = [asyncio.create_task(bob.runs.create(one, "stepwell", input=given)) for one in threads]
    async with asyncio.timeout(300):
        while sum(one.done() for one in begun) < RUNS:
            await asyncio.sleep(0.1)
    hers = asyncio.create_task(analyse(alice, "alice", 2))
    most = 0
    while not hers.done():
        most = max(most, len(await under_way(bob)))
        await asyncio.wait([hers], timeout=0.5)
    seen = await hers
    waiting = sum(not one.done() for one in begun)
    for one in begun:
        one.cancel()
    await asyncio.gather(*begun, return_exceptions=True)
    for thread in await under_way(bob):
        await bob.threads.delete(thread)
    assert not seen.verdict, seen.verdict
    assert most == RUNS
    # All of hers is done before a fourth of his was even begun: hers did not wait for his turn.
    assert waiting > ASKED * 3 // 4


async def test_a_knob_above_its_bound_or_mistyped_is_refused_when_it_is_asked_for(bob: LangGraphClient) -> None:
    thread = (await bob.threads.create())["thread_id"]
    for knobs, words in (
        ({"cell_timeout": 601}, "cell_timeout is 601, and at most 600"),
        ({"aproval": "cells"}, "did you mean approval?"),
        ({"max_cells": "many"}, "max_cells cannot be 'many'"),
        ({"model": "langsmith:x"}, "only playbook may be used"),
    ):
        for config in (None, {"configurable": knobs}):
            given: dict[str, Any] = {"config": config} if config else {"context": knobs}
            for asking in (
                bob.runs.create(thread, "stepwell", input={}, **given),
                bob.runs.create(None, "stepwell", input={}, **given),
                bob.assistants.create("stepwell", **given),
            ):
                with pytest.raises(UnprocessableEntityError, match=words.replace("?", r"\?")):
                    await asking
    assert await bob.runs.list(thread) == []


async def test_what_would_take_the_server_long_to_parse_is_refused(
    world: tuple[DevServer, dict[str, str]], bob: LangGraphClient
) -> None:
    thread = (await bob.threads.create())["thread_id"]
    http = bob.http.client
    bomb = b'{"values": {"messages": [' + b",".join([b"[]"] * 100_000) + b"]}}"
    answer = await http.post(f"/threads/{thread}/state", content=bomb)
    assert (answer.status_code, "2,000 values" in answer.json()["detail"]) == (413, True)
    deep = await http.post(f"/threads/{thread}/runs", content=b'{"input": ' + b"[" * 500 + b"]" * 500 + b"}")
    assert (deep.status_code, "deep" in deep.json()["detail"]) == (413, True)
    listed = await http.post(f"/threads/{thread}/history", content=json.dumps({"limit": 101}))
    assert listed.status_code == 422


async def test_what_a_thread_keeps_counts_until_it_is_deleted(
    world: tuple[DevServer, dict[str, str]], alice: LangGraphClient
) -> None:
    seen = await analyse(alice, "alice", 3)
    assert not seen.verdict

    def kept() -> dict[str, Any]:
        said = [json.loads(one.read_text()) for one in (world[0].home / "quotas").glob("*.json")]
        return {thread: sizes for one in said for thread, sizes in one["threads"].items()}

    sizes = (await asyncio.to_thread(kept))[seen.thread]
    assert sizes["published"] == sum(len(content) for content in seen.files.values())
    assert sizes["snapshots"] > 1_000
    await alice.threads.delete(seen.thread)
    assert seen.thread not in await asyncio.to_thread(kept)
