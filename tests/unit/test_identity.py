"""Who a run is for is the server's word: what a request says elsewhere is refused, by the routes and by the graph."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command, Send, StateUpdate
from langgraph_sdk import Auth

from graph.settings import Settings, SettingsError, read_settings
from graph.users.edited_state import EditError, check_edit, named_in
from graph.users.identity import Identity, IdentityError, identity_in, without_unknown_keys
from nodes.restoration.manifests import NotRestoredError
from server.auth import check_calls_elsewhere, check_config, check_crons, cron_of
from server.crons import has_owner
from stepwell.snapshot_manifest import read_manifest
from storage.artifacts import Artifacts
from storage.blobs import BlobMissingError, Blobs

HERS, MINE, RUN = "11111111-2222-4333-8444-555555555555", "thread-of-mine", "run-of-mine"
HASH, OTHER = "a" * 64, "b" * 64


@dataclass
class Authenticated:
    """What a server makes of a user, and no request can hold."""

    identity: str


def served(**more: Any) -> Any:
    """A config as a server starts a run with it."""
    configurable = {"thread_id": MINE, "run_id": RUN, "langgraph_auth_user": Authenticated("key:bob")}
    return {"run_id": RUN, "metadata": {"thread_id": MINE}, **more, "configurable": configurable}


def test_what_the_server_says_is_taken() -> None:
    assert identity_in(served(), users=True) == Identity(MINE, RUN, "key:bob")
    assert identity_in(served(interrupt_before=["plan"]), users=True).thread == MINE
    assert identity_in({"configurable": {}}) == Identity()
    assert identity_in(None) == Identity()


@pytest.mark.parametrize(
    "config",
    [
        served(thread_id=HERS),
        served(langgraph_auth_user_id="key:alice"),
        served(langgraph_auth_user={"identity": "key:alice"}),
        served(checkpoint_ns="x"),
        served(run_id=HERS),
        served(metadata={"thread_id": HERS}),
        served(metadata={"run_id": HERS}),
        served(metadata={"langgraph_auth_user_id": "key:alice"}),
        served(metadata={"stepwell_owner": "key:alice"}),
        {**served(), "configurable": {**served()["configurable"], "langgraph_auth_user_id": "key:alice"}},
        {**served(), "configurable": {**served()["configurable"], "user_id": "key:alice"}},
        {**served(), "configurable": {**served()["configurable"], "langgraph_auth_user": {"identity": "key:alice"}}},
        {**served(), "configurable": {**served()["configurable"], "langgraph_auth_user": Authenticated("local")}},
        {**served(), "configurable": {"thread_id": MINE, "run_id": RUN}},
    ],
)
def test_whatever_names_somebody_else_or_nobody_is_refused(config: Any) -> None:
    with pytest.raises(IdentityError) as caught:
        identity_in(config, users=True)
    assert HERS not in str(caught.value)
    assert "alice" not in str(caught.value)


def test_a_context_that_names_another_thread_is_refused() -> None:
    with pytest.raises(IdentityError, match="context"):
        identity_in(served(), {"thread_id": HERS}, users=True)


def test_what_is_read_goes_by_the_servers_word_whatever_was_stored_beside_it() -> None:
    assert without_unknown_keys(served(thread_id=HERS)) == served()


@pytest.mark.parametrize("below", ["", "kwargs", "payload", "params"])
@pytest.mark.parametrize(
    "said",
    [
        {"config": {"thread_id": HERS}},
        {"config": {"nonsense": 1}},
        {"config": {"run_id": HERS}},
        {"config": {"configurable": {"thread_id": HERS}}},
        {"config": {"configurable": {"langgraph_auth_user_id": "key:alice"}}},
        {"config": {"metadata": {"run_id": HERS}}},
        {"metadata": {"thread_id": HERS}},
        {"context": {"thread_id": HERS}},
        {"checkpoint": {"thread_id": HERS}},
    ],
)
def test_a_request_that_names_somebody_else_is_refused(said: Any, below: str) -> None:
    value = {below: said} if below else said
    with pytest.raises(Auth.exceptions.HTTPException) as caught:
        check_config(value, Identity(MINE, RUN, "key:bob"))
    assert caught.value.status_code == 422
    assert HERS not in str(caught.value.detail)
    check_config({"config": {"configurable": {"thread_id": MINE}, "tags": ["a"]}}, Identity(MINE, RUN, "key:bob"))


def settings(**more: Any) -> Settings:
    return Settings(api_keys=Path("/keys"), **more)


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://hooks.example.org/stepwell/1", True),
        ("https://HOOKS.example.org/stepwell/", True),
        ("http://10.0.0.7:8080/in/x", True),
        ("https://hooks.example.org/other", False),
        ("https://hooks.example.org/stepwell/../other", False),
        ("https://hooks.example.org/stepwell/%2e%2e/other", False),
        ("http://hooks.example.org/stepwell/1", False),
        ("https://hooks.example.org:8443/stepwell/1", False),
        ("https://hooks.example.org@evil.example.net/stepwell/1", False),
        ("https://evil.example.net/https://hooks.example.org/stepwell/", False),
        ("https://hooks.example.org.evil.example.net/stepwell/1", False),
        ("http://10.0.0.8:8080/in/x", False),
        ("http://169.254.169.254/", False),
        ("http://[fd00::2]/", False),
        ("/noauth/threads", False),
        ("", True),
    ],
)
def test_webhooks_go_where_the_operator_lets_them(url: str, allowed: bool) -> None:
    named = settings(webhooks="https://hooks.example.org/stepwell/, http://10.0.0.7:8080/in")
    for value in ({"webhook": url}, {"kwargs": {"webhook": url}}, {"payload": {"webhook": url}}):
        check_calls_elsewhere(value, Settings())  # without users it is the operator's own
        if allowed:
            check_calls_elsewhere(value, named)
            continue
        with pytest.raises(Auth.exceptions.HTTPException, match="STEPWELL_WEBHOOKS"):
            check_calls_elsewhere(value, named)


@pytest.mark.parametrize("webhooks", ["*", "https://", "ftp://host/", "https://a@host/", "hooks.example.org"])
def test_where_webhooks_may_go_names_its_host(monkeypatch: pytest.MonkeyPatch, webhooks: str) -> None:
    monkeypatch.setenv("STEPWELL_WEBHOOKS", webhooks)
    with pytest.raises(SettingsError, match="STEPWELL_WEBHOOKS"):
        read_settings()


def test_crons_are_off_where_there_are_users_and_each_is_somebodys() -> None:
    check_crons(Settings())
    check_crons(settings(crons=True))
    with pytest.raises(Auth.exceptions.HTTPException, match="STEPWELL_CRONS"):
        check_crons(settings())
    assert cron_of({"kwargs": {"config": {"configurable": {"cron_id": "1"}}}}) == "1"
    assert cron_of({"kwargs": {"config": {}}, "config": None}) == ""
    assert [has_owner(user) for user in ("key:alice", "local", "", None)] == [True, False, False, False]


@pytest.mark.parametrize(
    "edit",
    [
        {"sandbox": {"snapshot": OTHER}},
        {"cells": [{"snapshot": HASH}, {"snapshot": OTHER}]},
        {"inputs": [{"sha256": OTHER}]},
        Command(update={"cells": [{"snapshot": OTHER}]}),
        Command(update=[("sandbox", {"snapshot": OTHER})]),
        Command(goto=[Send("execute", {"sandbox": {"snapshot": OTHER}})]),
        [[StateUpdate({"cells": [{"snapshot": OTHER}]}, "execute")]],
        [[StateUpdate({"x": [({"sandbox": {"snapshot": OTHER}}, "execute")]}, "__copy__")]],
    ],
)
def test_an_edit_names_what_the_thread_has(edit: Any) -> None:
    has = {"cells": [{"snapshot": HASH}], "inputs": [{"sha256": HASH}], "answer": f"Its hash is {OTHER}."}
    assert OTHER in {name for _, name in named_in(edit)}
    with pytest.raises(EditError):
        check_edit(named_in(edit), has)
    check_edit(named_in(edit), has, {"cells": [{"snapshot": OTHER}], "inputs": [{"sha256": OTHER}]})
    check_edit(named_in({"cells": [{"snapshot": HASH}], "question": OTHER}), has)


@pytest.mark.parametrize(
    "has",
    [
        {"files": [{"snapshot": OTHER}, {"cells": [{"snapshot": OTHER}]}]},
        {"files": {"snapshot": OTHER}},
        {"cells": [{"snapshot": HASH, "code": {"snapshot": OTHER}}]},
        {"artifacts": [{"sha256": OTHER}]},
        {"inputs": [{"sha256": OTHER}]},
    ],
    ids=["a question's files", "no list of files", "deep in a cell", "a published file", "an input"],
)
def test_what_a_request_or_a_cell_has_written_is_no_snapshot_of_the_thread(has: Any) -> None:
    for edit in ({"cells": [{"snapshot": OTHER}]}, {"sandbox": {"snapshot": OTHER}}):
        with pytest.raises(EditError):
            check_edit(named_in(edit), has)


def test_an_edit_names_no_other_sandbox_than_the_threads() -> None:
    has = {"sandbox": {"kind": "local", "id": "mine", "snapshot": HASH}}
    for edit in ({"sandbox": {"kind": "daytona", "id": "hers"}}, [["sandbox", {"kind": "daytona", "id": "hers"}]]):
        with pytest.raises(EditError):
            check_edit(named_in(edit), has)
    check_edit(named_in({"sandbox": {"kind": "daytona", "id": "mine", "snapshot": HASH}}), has)


def test_no_two_edits_together_name_another_sandbox() -> None:
    first = {"sandbox": {"id": "hers", "snapshot": ""}}
    check_edit(named_in(first), {})
    with pytest.raises(EditError):
        check_edit(named_in({"sandbox": {"kind": "local", "id": "hers", "snapshot": ""}}), first)


async def test_a_manifest_leads_to_what_it_was_handed_over_with_and_to_nothing_else(tmp_path: Path) -> None:
    blobs = Blobs.at(str(tmp_path / "blobs"), shown="the store")
    own, hers = [await added(blobs, tmp_path, text) for text in (b"own", b"hers")]
    variables: Any = {"order": [], "units": []}
    told, manifest = set(), dict[str, Any]()
    for chunk in (hers, OTHER):
        manifest = {
            "format": 1, "blobs": [own], "packs": [], "modules": {}, "python": "3", "packages": {},
            "variables": variables, "files": {"outputs/stolen": {"size": 4, "chunks": [chunk]}},
        }  # fmt: skip
        snapshot = await added(blobs, tmp_path, json.dumps(manifest).encode())
        with pytest.raises(NotRestoredError) as caught:
            await read_manifest(blobs, snapshot)
        told.add(str(caught.value))
    assert len(told) == 1, "whether somebody has it is told"
    kept = await added(blobs, tmp_path, json.dumps({**manifest, "blobs": [own, OTHER]}).encode())
    assert (await read_manifest(blobs, kept)).files["outputs/stolen"].chunks == (OTHER,)
    with pytest.raises(BlobMissingError) as missing:
        await blobs.read(OTHER, max_bytes=10)
    assert str(tmp_path) not in str(missing.value)


async def added(blobs: Blobs, folder: Path, content: bytes) -> str:
    name = hashlib.sha256(content).hexdigest()
    (folder / name).write_bytes(content)
    await blobs.add_file(folder / name, name)
    return name


async def test_an_artifact_of_a_server_with_users_names_the_servers_route(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("1")
    route = "/stepwell/threads/{thread}/artifacts/{name}"
    artifacts = Artifacts.at(str(tmp_path / "artifacts"), route=route, hidden=True)
    url = await artifacts.publish("t", "figures/a b.png", file)
    assert url == artifacts.address("t", "figures/a b.png") == "/stepwell/threads/t/artifacts/figures/a%20b.png"
    assert (tmp_path / "artifacts" / "t" / "figures" / "a b.png").exists()
    assert str(tmp_path) not in artifacts.shown("t")
