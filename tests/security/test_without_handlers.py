"""A server whose authorization lets everything through: the graph itself still works for the server's word alone."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.security.two_users import CANARY, SENTENCE, client_of
from tests.serving import DevServer, with_keys

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.xdist_group("without handlers")]

BARE = """
from langgraph_sdk import Auth
from server.auth import authenticate

auth = Auth()
auth.authenticate(authenticate)
"""
"""Says who sends a request, and looks at nothing else."""
Json = dict[str, Any]


@dataclass(frozen=True)
class World:
    """The server, its users, and what Alice has."""

    alice: httpx.Client
    bob: httpx.Client
    thread: str
    run: str
    file: str
    snapshot: str
    blob: str

    def state(self) -> tuple[Any, Any]:
        """All that is kept of Alice's thread."""
        return (
            self.alice.get(f"/threads/{self.thread}/state").json(),
            self.alice.post(f"/threads/{self.thread}/history", json={"limit": 100}).json(),
        )


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder: Path = tmp_path_factory.mktemp("without-handlers")
    settings, keys = with_keys(folder / "settings", "alice", "bob")
    server = DevServer(folder, settings, {"auth": {"path": "./bare_auth.py:auth", "disable_studio_auth": True}})
    (server.project / "bare_auth.py").write_text(BARE)
    try:
        server.begin()
        with client_of(server, keys["alice"]) as alice, client_of(server, keys["bob"]) as bob:
            table = (server.project / "data" / "sales.csv").read_bytes()
            file = alice.post("/stepwell/uploads", params={"name": f"{CANARY}.csv"}, content=table).json()["file"]
            thread = alice.post("/threads", json={}).json()["thread_id"]
            asked = {"assistant_id": "stepwell", "input": {"messages": [SENTENCE], "files": [file]}}
            alice.post(f"/threads/{thread}/runs/wait", json=asked).raise_for_status()
            run = alice.get(f"/threads/{thread}/runs").json()[0]["run_id"]
            values = alice.get(f"/threads/{thread}/state").json()["values"]
            assert CANARY in values["answer"]
            snapshot = values["cells"][-1]["snapshot"]
            blob = next(one["sha256"] for one in values["artifacts"] if one["cell"])
            yield World(alice, bob, thread, run, file, snapshot, blob)
    finally:
        server.end()


def asked(bob: httpx.Client, **more: Any) -> str:
    """What a run of Bob's on a thread of his own tells him."""
    thread = bob.post("/threads", json={}).json()["thread_id"]
    body = {"assistant_id": "stepwell", "input": {"messages": [{"role": "user", "content": "And?"}]}, **more}
    return bob.post(f"/threads/{thread}/runs/stream", json=body).text


def test_a_run_that_names_somebody_else_is_refused_by_the_graph(world: World) -> None:
    before = world.state()
    hers, alice = {"thread_id": world.thread}, {"langgraph_auth_user_id": "key:alice"}
    user = {"langgraph_auth_user": {"identity": "key:alice", "permissions": []}}
    refused: list[Json] = [
        hers, alice, user, {"user_id": "key:alice"}, {"checkpoint_ns": "x"}, {"nonsense": 1},
        {"configurable": {"user_id": "key:alice"}}, {"metadata": {"stepwell_owner": "key:alice"}},
    ]  # fmt: skip
    for config in refused:
        for mode in (["values"], ["events"]):
            told = asked(world.bob, config=config, stream_mode=mode)
            assert "IdentityError" in told, (config, mode, told[:500])
            assert CANARY not in told, (config, mode)
    # LangGraph takes these away by itself, so nobody else is named.
    for config in ({"metadata": hers}, {"metadata": {"run_id": world.run}}, {"configurable": hers}):
        assert CANARY not in asked(world.bob, config=config)
    assert world.state() == before


def test_an_assistant_that_names_somebody_else_is_refused_when_it_runs(world: World) -> None:
    before = world.state()
    for config in ({"thread_id": world.thread}, {"langgraph_auth_user_id": "key:alice"}):
        made = world.bob.post("/assistants", json={"graph_id": "stepwell", "config": config}).json()
        told = asked(world.bob, assistant_id=made["assistant_id"])
        assert "IdentityError" in told, told[:500]
        assert CANARY not in told
    assert world.state() == before


def test_whose_upload_it_is_says_the_server(world: World) -> None:
    given = {"messages": [{"role": "user", "content": "What is in it?"}], "files": [world.file]}
    for configurable in (
        {},
        {"langgraph_auth_user_id": "key:alice"},
        {"langgraph_auth_user": {"identity": "key:alice"}},
    ):
        told = asked(world.bob, input=given, config={"configurable": configurable})
        assert "InputError" in told, told[:500]
        assert CANARY not in told.replace(world.file, "")


def test_an_edit_of_state_names_only_what_the_thread_has(world: World) -> None:
    cell = {"number": 1, "turn": 1, "step": 0, "purpose": "", "thought": "", "code": "", "status": "ok"} | {
        "observation": "", "error": "", "seconds": 0.0, "files": [], "figures": [], "snapshot": world.snapshot,
    }  # fmt: skip
    brought = {"path": "inputs/a", "source": "a", "size": 1, "sha256": world.blob, "abstract": "", "problem": ""}
    edits: list[Json] = [
        {"cells": [cell]},
        {"sandbox": {"kind": "local", "id": "x", "snapshot": world.snapshot}},
        {"inputs": [brought]},
    ]
    for edit in edits:
        for command in ({"update": edit}, {"goto": {"node": "execute", "input": edit}}):
            told = asked(world.bob, input=None, command=command)
            assert "EditError" in told, (command, told[:500])
        thread = world.bob.post("/threads", json={"metadata": {"graph_id": "stepwell"}}).json()["thread_id"]
        refused = world.bob.post(f"/threads/{thread}/state", json={"values": edit})
        assert (refused.status_code, "the thread does not have" in refused.json()["detail"]) == (422, True)
        made = {
            "metadata": {"graph_id": "stepwell"},
            "supersteps": [{"updates": [{"values": edit, "as_node": "plan"}]}],
        }
        assert world.bob.post("/threads", json=made).status_code == 422
        assert world.bob.get(f"/threads/{thread}/state").json()["values"] == {}


def test_what_a_question_names_is_not_what_the_thread_has(world: World) -> None:
    """The files of a question are any JSON, and stand in State before a node looks at them."""
    thread = world.bob.post("/threads", json={"metadata": {"graph_id": "stepwell"}}).json()["thread_id"]
    given = {"messages": [{"role": "user", "content": "?"}], "files": [{"snapshot": world.snapshot}]}
    asked = {"assistant_id": "stepwell", "input": given, "interrupt_before": ["plan"]}
    world.bob.post(f"/threads/{thread}/runs/wait", json=asked).raise_for_status()
    assert world.bob.get(f"/threads/{thread}/state").json()["values"]["files"] == given["files"]
    cell = {"number": 1, "turn": 1, "step": 0, "purpose": "", "thought": "", "code": "", "status": "ok"} | {
        "observation": "", "error": "", "seconds": 0.0, "files": [], "figures": [], "snapshot": world.snapshot,
    }  # fmt: skip
    edit = {"values": {"cells": [cell]}, "as_node": "execute"}
    assert not world.bob.post(f"/threads/{thread}/state", json=edit).is_success
    assert world.bob.get(f"/threads/{thread}/state").json()["values"]["cells"] == []


def test_ones_own_state_may_be_edited_with_what_it_has(world: World) -> None:
    copy = world.alice.post(f"/threads/{world.thread}/copy").json()["thread_id"]
    values = world.alice.get(f"/threads/{copy}/state").json()["values"]
    edit = {"cells": values["cells"][-1:], "sandbox": values["sandbox"], "inputs": values["inputs"]}
    world.alice.post(f"/threads/{copy}/state", json={"values": edit}).raise_for_status()
    again = world.alice.get(f"/threads/{copy}/state").json()["values"]
    assert len(again["cells"]) == len(values["cells"]) + 1, json.dumps(again)[:500]
