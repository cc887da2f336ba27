"""What one user has on a server, and every route of it with what another user would send there."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.serving import DevServer

CANARY = "canary-7b1f"
"""In everything of Alice's that has a text."""
SENTENCE = {"role": "user", "content": f"What stands out in {CANARY}?"}
REFUSED = (401, 403, 404)


@dataclass(frozen=True)
class Case:
    """A request that names something of Alice's, or that could tell of it."""

    method: str
    path: str
    body: Any = None
    query: Mapping[str, str] = field(default_factory=dict)
    lists: bool = False
    """Whether it may be answered to anybody, with what is his own alone."""
    streams: bool = False
    """Whether its answer does not end by itself."""
    headers: Mapping[str, str] = field(default_factory=dict)
    taken: bool = False
    """Whether it would make something of an id that there is, which the server answers with a conflict."""
    unusable: bool = False
    """Whether the in-memory server refuses it to everybody."""

    @property
    def name(self) -> str:
        """How the OpenAPI document lists it."""
        return f"{self.method} {self.path}"


def cases() -> list[Case]:
    """Every route with an id of Alice's in it, or in its body; what removes things comes last."""
    asked: dict[str, Any] = {"assistant_id": "stepwell", "input": {}}
    a2a = {"accept": "application/json", "content-type": "application/json"}
    mcp = {**a2a, "accept": "application/json, text/event-stream"}
    message = {"role": "user", "parts": [{"kind": "text", "text": "and?"}], "messageId": "1", "contextId": "{thread}"}
    return [
        Case(
            "post",
            "/assistants",
            {"graph_id": "stepwell", "assistant_id": "{assistant}", "if_exists": "do_nothing"},
            taken=True,
        ),
        Case("post", "/assistants/search", {"limit": 100}, lists=True),
        Case("post", "/assistants/search", {"metadata": {"stepwell_owner": "key:alice"}}, lists=True),
        Case("post", "/assistants/count", {"metadata": {"stepwell_owner": "key:alice"}}, lists=True),
        Case("get", "/assistants/{assistant}"),
        Case("get", "/assistants/{assistant}/graph"),
        Case("get", "/assistants/{assistant}/subgraphs"),
        Case("get", "/assistants/{assistant}/subgraphs/plan", unusable=True),
        Case("get", "/assistants/{assistant}/schemas"),
        Case("post", "/assistants/{assistant}/versions", {}, lists=True),
        Case("patch", "/assistants/{assistant}", {"name": f"taken {CANARY}"}),
        Case("post", "/assistants/{assistant}/latest", {"version": 1}),
        Case("post", "/threads", {"thread_id": "{thread}", "if_exists": "do_nothing"}),
        Case("post", "/threads/search", {"limit": 100}, lists=True),
        Case("post", "/threads/search", {"ids": ["{thread}"]}, lists=True),
        Case("post", "/threads/search", {"metadata": {"stepwell_owner": "key:alice"}}, lists=True),
        Case("post", "/threads/count", {"metadata": {"stepwell_owner": "key:alice"}}, lists=True),
        Case("get", "/threads/{thread}"),
        Case("get", "/threads/{thread}/storage"),
        Case("get", "/threads/{thread}/state"),
        Case("get", "/threads/{thread}/state/{checkpoint}"),
        Case("post", "/threads/{thread}/state/checkpoint", {"checkpoint": {"checkpoint_id": "{checkpoint}"}}),
        Case("get", "/threads/{thread}/history"),
        Case("post", "/threads/{thread}/history", {"limit": 10}),
        Case("post", "/threads/{thread}/state", {"values": {"answer": "taken"}}),
        Case("post", "/threads/{thread}/copy", taken=True),
        Case("patch", "/threads/{thread}", {"metadata": {"stepwell_owner": "key:bob"}}),
        Case("get", "/threads/{thread}/stream", streams=True),
        Case("post", "/threads/{thread}/stream/events", {"channels": ["values"]}, streams=True),
        Case("post", "/threads/{thread}/commands", {"id": 1, "method": "run.start", "params": asked}),
        Case("get", "/threads/{thread}/runs", lists=True),
        Case("get", "/threads/{thread}/runs/{run}"),
        Case("get", "/threads/{thread}/runs/{run}/join"),
        Case("get", "/threads/{thread}/runs/{run}/stream", streams=True),
        Case("post", "/threads/{parked}/runs/{waiting}/cancel"),
        Case("post", "/threads/{thread}/runs", asked),
        Case("post", "/threads/{thread}/runs", {**asked, "if_not_exists": "create"}),
        Case("post", "/threads/{thread}/runs/stream", asked, streams=True),
        Case("post", "/threads/{thread}/runs/wait", asked),
        Case("post", "/threads/{thread}/runs/crons", {**asked, "schedule": "0 0 1 1 *"}),
        Case("post", "/runs", {**asked, "assistant_id": "{assistant}"}),
        Case("post", "/runs/stream", {**asked, "assistant_id": "{assistant}"}, streams=True),
        Case("post", "/runs/wait", {**asked, "assistant_id": "{assistant}"}),
        Case("post", "/runs/batch", [{**asked, "assistant_id": "{assistant}"}]),
        Case("post", "/runs/crons", {**asked, "assistant_id": "{assistant}", "schedule": "0 0 1 1 *"}),
        Case("post", "/runs/crons/search", {"thread_id": "{thread}"}, lists=True),
        Case("post", "/runs/crons/search", {"assistant_id": "{assistant}"}, lists=True),
        Case("post", "/runs/crons/search", {}, lists=True),
        Case("post", "/runs/crons/count", {"thread_id": "{thread}"}, lists=True),
        Case("get", "/runs/crons/{cron}"),
        Case("patch", "/runs/crons/{cron}", {"enabled": False}),
        Case("put", "/store/items", {"namespace": ["key:alice", "notes"], "key": "a", "value": {"text": "taken"}}),
        Case("get", "/store/items", query={"namespace": "key:alice.notes", "key": "a"}),
        Case("post", "/store/items/search", {"namespace_prefix": ["key:alice"]}),
        Case("post", "/store/items/search", {"namespace_prefix": []}, lists=True),
        Case("post", "/store/namespaces", {"prefix": ["key:alice"]}),
        Case("post", "/store/namespaces", {"suffix": ["notes"]}, lists=True),
        Case("post", "/a2a/{assistant}", rpc("message/send", {"message": message}), headers=a2a),
        Case("post", "/a2a/stepwell", rpc("message/send", {"message": message}), headers=a2a),
        Case("post", "/a2a/stepwell", rpc("tasks/get", {"id": "{run}", "contextId": "{thread}"}), headers=a2a),
        Case("post", "/a2a/stepwell", rpc("tasks/cancel", {"id": "{run}", "contextId": "{thread}"}), headers=a2a),
        Case("get", "/a2a/{assistant}/.well-known/agent-card.json"),
        Case("get", "/a2a/{assistant}/.well-known/agent.json"),
        Case("get", "/.well-known/agent-card.json", query={"assistant_id": "{assistant}"}),
        Case("post", "/mcp", rpc("tools/list", {}), lists=True, headers=mcp),
        Case("post", "/mcp", rpc("tools/call", {"name": f"helper_{CANARY}", "arguments": {}}), headers=mcp),
        Case("get", "/stepwell/uploads", lists=True),
        Case("get", "/stepwell/uploads/{upload}"),
        Case("head", "/stepwell/uploads/{upload}"),
        Case(
            "patch",
            "/stepwell/uploads/{upload}",
            b"taken",
            headers={"upload-offset": "0", "content-type": "application/offset+octet-stream"},
        ),
        Case("get", "/stepwell/threads/{thread}/artifacts"),
        Case("get", "/stepwell/threads/{thread}/artifacts/answer.md"),
        Case("get", "/stepwell/threads/{thread}/export"),
        Case("get", "/stepwell/threads/{thread}/steps"),
        Case("get", "/stepwell/threads/{thread}/steps/1"),
        Case("get", "/stepwell/threads/{thread}/steps/head/files/figures/cell-004-1.png"),
        # What removes things
        Case("delete", "/stepwell/uploads/{upload}"),
        Case("delete", "/store/items", {"namespace": ["key:alice", "notes"], "key": "a"}),
        Case("delete", "/runs/crons/{cron}"),
        Case("post", "/runs/cancel", {"thread_id": "{parked}", "run_ids": ["{another}"]}),
        Case("delete", "/threads/{thread}/runs/{run}"),
        Case("post", "/threads/prune", {"thread_ids": ["{parked}"]}, lists=True),
        Case("delete", "/threads/{thread}"),
        Case("delete", "/assistants/{assistant}"),
    ]


TELL_NOTHING = {
    "get /", "get /ok", "get /info", "get /docs", "get /openapi.json", "get /stepwell/health", "get /stepwell/ready",
}  # fmt: skip
"""Answered to everybody: they know of no user."""
FOR_OPERATORS = {"get /metrics", "get /deploy", "post /deploy", "get /deploy/{}/stream", "get /stepwell/metrics"}
FOR_NOBODY = {"post /internal/truncate", "get /internal/debug/thread/{}"}
OF_NOBODY = {
    "post /stepwell/uploads",  # makes something new, and names nothing that is there
    "options /stepwell/uploads",
    "get /a2a/{}", "delete /a2a/{}", "get /mcp", "delete /mcp", "get /mcp/", "post /mcp/", "delete /mcp/",
    "post /ui/{}",  # there is no interface of ours
}  # fmt: skip


def rpc(method: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A request of JSON-RPC."""
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": dict(parameters)}


def filled(value: Any, ids: Mapping[str, str]) -> Any:
    """The same with ids in place of `{name}`."""
    match value:
        case str():
            for name, id in ids.items():
                value = value.replace(f"{{{name}}}", id)
            return value
        case dict():
            return {key: filled(one, ids) for key, one in value.items()}
        case list():
            return [filled(one, ids) for one in value]
        case _:
            return value


def send(client: httpx.Client, case: Case, ids: Mapping[str, str]) -> tuple[int, str]:
    """Send a case; what comes back, of a stream the beginning."""
    body = filled(case.body, ids)
    given: dict[str, Any] = {"content": body} if isinstance(body, bytes) else {"json": body} if body is not None else {}
    given["params"] = filled(dict(case.query), ids)
    timeout = httpx.Timeout(60, read=3 if case.streams else 60)
    with client.stream(
        case.method.upper(), filled(case.path, ids), headers=case.headers, timeout=timeout, **given
    ) as answer:
        text = ""
        try:
            for piece in answer.iter_text():
                text += piece
                if case.streams and len(text) > 2_000:
                    break
        except httpx.ReadTimeout:
            assert case.streams, case
        return answer.status_code, text


def client_of(served: DevServer, key: str = "") -> httpx.Client:
    """A client with a user's key."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx.Client(base_url=served.url, headers=headers, timeout=httpx.Timeout(60, read=60))


def furnish(alice: httpx.Client, table: bytes) -> dict[str, str]:
    """Give Alice one of everything; returns their ids."""
    ids: dict[str, str] = {}
    upload = alice.post("/stepwell/uploads", params={"name": f"{CANARY}.csv"}, content=table).json()
    ids["upload"] = upload["id"]
    ids["file"] = upload["file"]
    assistant = {
        "graph_id": "stepwell",
        "name": f"helper {CANARY}",
        "description": CANARY,
        "context": {"language": "English"},
        "metadata": {"note": CANARY},
    }
    ids["assistant"] = alice.post("/assistants", json=assistant).json()["assistant_id"]
    ids["thread"] = alice.post("/threads", json={"metadata": {"note": CANARY}}).json()["thread_id"]
    given = {"assistant_id": "stepwell", "input": {"messages": [SENTENCE], "files": [ids["file"]]}}
    run = alice.post(f"/threads/{ids['thread']}/runs", json=given).json()
    ids["run"] = run["run_id"]
    alice.get(f"/threads/{ids['thread']}/runs/{ids['run']}/join").raise_for_status()
    # Some that wait for an hour, so that there is something to cancel.
    ids["parked"] = alice.post("/threads", json={}).json()["thread_id"]
    for name in ("waiting", "another"):
        parked = alice.post(f"/threads/{ids['parked']}/runs", json={**given, "after_seconds": 3_600}).json()
        ids[name] = parked["run_id"]
    state = alice.get(f"/threads/{ids['thread']}/state").json()
    assert CANARY in state["values"]["answer"], state
    ids["snapshot"] = state["values"]["cells"][-1]["snapshot"]
    ids["blob"] = next(one["sha256"] for one in state["values"]["artifacts"] if one["cell"])
    assert len(ids["snapshot"]) == len(ids["blob"]) == 64
    ids["checkpoint"] = state["checkpoint"]["checkpoint_id"]
    cron = {"assistant_id": "stepwell", "schedule": "0 0 1 1 *", "input": {"messages": [SENTENCE]}}
    ids["cron"] = alice.post(f"/threads/{ids['thread']}/runs/crons", json=cron).json()["cron_id"]
    item = {"namespace": ["key:alice", "notes"], "key": "a", "value": {"text": CANARY}}
    alice.put("/store/items", json=item).raise_for_status()
    return ids


def kinds(ids: Mapping[str, str]) -> dict[str, str]:
    """What another user may try to name, by kind."""
    names = ("thread", "run", "checkpoint", "assistant", "cron", "upload", "file", "snapshot", "blob")
    return {**{name: ids[name] for name in names}, "owner": "key:alice"}


def without_links(answer: Any) -> Any:
    """What was answered but for the links in it: these change with the hour."""
    if isinstance(answer, dict):
        return {name: without_links(value) for name, value in answer.items() if name != "link"}
    return [without_links(one) for one in answer] if isinstance(answer, list) else answer


def possessions(alice: httpx.Client, ids: Mapping[str, str]) -> Iterator[Any]:
    """All that Alice has, as the server tells it."""
    yield alice.get(f"/threads/{ids['thread']}").json()
    yield alice.get(f"/threads/{ids['thread']}/state").json()
    yield alice.post(f"/threads/{ids['thread']}/history", json={"limit": 100}).json()
    yield alice.get(f"/threads/{ids['thread']}/runs").json()
    yield alice.get(f"/threads/{ids['parked']}/runs").json()
    yield alice.get(f"/assistants/{ids['assistant']}").json()
    yield alice.get(f"/runs/crons/{ids['cron']}").json()
    yield alice.get("/store/items", params={"namespace": "key:alice.notes", "key": "a"}).json()
    yield alice.get("/stepwell/uploads").json()
    yield alice.get(f"/stepwell/threads/{ids['thread']}/artifacts/answer.md").text
    yield alice.get(f"/stepwell/threads/{ids['thread']}/steps").json()
    yield without_links(alice.get(f"/stepwell/threads/{ids['thread']}/artifacts").json())
    yield alice.post("/runs/crons/search", json={"limit": 100}).json()
    yield alice.post("/threads/search", json={"limit": 100}).json()
    yield alice.post("/assistants/search", json={"limit": 100}).json()
