"""Deleting a thread over HTTP: nothing of it is left but blobs, only its owner can, and runs of it end first."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.http_world import World

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.xdist_group("http")]


def asked(client: httpx.Client, place: str, **more: Any) -> dict[str, Any]:
    """Ask about a small table, with one cell; what the run gives back."""
    file = client.post("/stepwell/uploads?name=a.csv", content=b"a,b\n1,2\n3,4\n").json()["file"]
    given = {"messages": [{"role": "user", "content": "What stands out?"}], "files": [file]}
    run = {"assistant_id": "stepwell", "input": given, "context": {"max_cells": 1}, **more}
    answer = client.post(f"{place}/runs/wait", json=run)
    answer.raise_for_status()
    said: dict[str, Any] = answer.json()
    return said


def left(world: World, thread: str) -> set[str]:
    """Where below the data folder something is called after a thread; whose its id is, is remembered on purpose."""
    home = world.served.home
    found = {str(Path(folder).relative_to(home)) for folder, names, files in os.walk(home)
             if any(name.startswith(thread) for name in [*names, *files])}  # fmt: skip
    return {one for one in found if not one.startswith("owners")}


def active(world: World) -> float:
    lines = world.operator.get("/stepwell/metrics").text.splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("stepwell_sandboxes{"))


def test_a_deleted_thread_leaves_no_workspace_no_files_and_no_sandbox_and_only_its_owner_deletes_it(
    world: World,
) -> None:
    before = active(world)
    thread = world.alice.post("/threads", json={}).json()["thread_id"]
    asked(world.alice, f"/threads/{thread}")
    assert left(world, thread) == {"threads", "artifacts", "locks"}
    assert active(world) == before + 1
    for other in (world.bob, world.operator):
        assert other.delete(f"/threads/{thread}").status_code == 404
    assert world.bob.post("/threads/prune", json={"thread_ids": [thread]}).status_code in (200, 404)
    assert left(world, thread) == {"threads", "artifacts", "locks"}
    assert world.alice.get(f"/stepwell/threads/{thread}/artifacts/answer.md").status_code == 200
    assert world.alice.delete(f"/threads/{thread}").status_code == 204
    assert left(world, thread) == set()
    assert active(world) == before
    assert world.alice.get(f"/stepwell/threads/{thread}/steps").status_code == 404
    assert world.alice.delete(f"/threads/{thread}").status_code == 404


def test_a_run_without_a_thread_leaves_its_published_files_alone(world: World) -> None:
    before = active(world)
    said = asked(world.alice, "")
    thread = said["artifacts"][0]["url"].partition("/stepwell/threads/")[2].partition("/")[0]
    files = [world.served.home / "artifacts" / thread / one["name"] for one in said["artifacts"]]
    assert {"answer.md", "analysis.py"} <= {file.name for file in files}
    assert all(file.exists() for file in files)
    until = time.monotonic() + 60
    while left(world, thread) != {"artifacts"} or active(world) != before:  # a little after the answer
        assert time.monotonic() < until
        time.sleep(0.1)
    assert all(file.exists() for file in files)


def test_the_tree_of_steps_is_read_without_the_states_of_all_checkpoints(world: World) -> None:
    log = world.served.log
    read = log.stat().st_size
    steps = world.alice.get(f"/stepwell/threads/{world.thread}/steps").json()["steps"]
    assert len(steps) > 5
    said = log.read_bytes()[read:]
    assert b"/threads/search" in said  # whose it is
    assert b"/history" not in said


def test_threads_that_are_deleted_at_once_take_no_others_with_them(world: World) -> None:
    made = [
        (who, who.post("/threads", json={}).json()["thread_id"]) for _ in range(12) for who in (world.alice, world.bob)
    ]
    gone, kept = made[::3], [one for number, one in enumerate(made) if number % 3]
    with ThreadPoolExecutor(len(gone)) as pool:
        answers = list(pool.map(lambda one: one[0].delete(f"/threads/{one[1]}").status_code, gone))
    assert answers == [204] * len(gone)
    assert [who.get(f"/threads/{thread}").status_code for who, thread in gone] == [404] * len(gone)
    assert [who.get(f"/threads/{thread}").status_code for who, thread in kept] == [200] * len(kept)
