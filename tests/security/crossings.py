"""Every id of one user's in every field of every route, as another user would send it; made from OpenAPI documents."""

import asyncio
import itertools
import json
import re
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

Json = dict[str, Any]

METHODS = ("get", "post", "put", "patch", "delete")
AT_ONCE = 10
READ_SECONDS = 60.0
STREAM_SECONDS = 1.5
"""How long a stream that does not end is read."""
MOST_READ = 200_000
REFUSED = 422
"""For its shape, before anything is looked for; then there is nothing to compare with an unknown id's answer."""
CONTENTS = ("snapshot", "blob")
"""These are refused with the same status after the thread's state was looked at."""
POLICY = """
[quotas]
runs = 100
waiting_runs = 100_000
requests_a_minute = 1_000_000
megabytes_a_minute = 1_000_000
"""
"""For a server on which one user sends thousands of requests."""
NAMES: Mapping[str, tuple[str, ...]] = {
    "thread": ("thread_id", "checkpoint_thread_id"),
    "run": ("run_id",),
    "checkpoint": ("checkpoint_id",),
    "assistant": ("assistant_id",),
    "cron": ("cron_id",),
    "owner": ("langgraph_auth_user_id", "stepwell_owner", "user_id"),
}
"""Under which keys an id may be believed where any key may stand."""
OPEN = ("config", "metadata", "context", "checkpoint", "input", "values", "params", "value", "filter")
"""Fields that are objects with keys of one's own choice."""
TELLING = re.compile(rf"id$|ids$|namespace|key|before|files|command|{'|'.join(OPEN)}")
"""Fields that may name something or hold something that does."""
RUN_AT_ONCE = ("/runs/stream", "/runs/wait", "/runs/batch", "post /runs")
"""The same fields as `POST /threads/{}/runs` has; what merely describes a run is not tried on each of them."""
SAME = ("/threads/{}/runs/stream", " /runs/stream", " /runs/wait", "/runs/batch", "post /runs")
"""Of these, only what is refused before a run begins, and edits of State: the rest takes a second each, and
`POST /threads/{}/runs/wait` has it."""
PLAIN = (*SAME, "/threads/prune")
"""Without headers that name something: the last would remove the sender's own."""
LEFT_OUT = {
    # LangGraph's in-memory server takes any text for the end of a cron, and its scheduler breaks down over it.
    "patch /runs/crons/{} end_time", "post /runs/crons end_time", "post /threads/{}/runs/crons end_time",
    "post /threads/count values", "post /threads/search values",  # it cannot filter by these (500)
    "patch /threads/{}/runs/{} status",  # Aegra knows few, and breaks down over any other (500)
}  # fmt: skip
LIKE_ANOTHER = {
    "post /runs", "post /runs/stream", "post /runs/wait", "post /threads/{}/runs/stream", "post /threads/{}/runs/wait",
    "post /threads/{}/commands", "post /threads/{}/stream/events",
}  # fmt: skip
"""They begin a run as `POST /threads/{}/runs` does, from the same fields; that one is enough where runs take long."""
DESTRUCTIVE = ("delete /", "post /threads/prune", "post /runs/cancel", "post /threads/{}/runs/{}/cancel")
EDITS = ("post /threads/{}/state", "patch /assistants/{}")
"""Of one thread or assistant: two at once would keep each other waiting, or one of them breaks a server down."""
ALONE = (*EDITS, *DESTRUCTIVE)
ENDLESS = ("get /threads/{}/stream", "post /threads/{}/stream/events", "get /threads/{}/runs/{}/stream")
NOT_OURS = re.compile(r"/(internal|deploy|metrics|docs|ui|health|live|ready|redoc|ok|info|openapi\.json|profile)\b|^/$")
TOGETHER: Mapping[str, tuple[str, ...]] = {"post /runs/cancel": ("thread_id", "run_ids")}
"""Fields that a request needs besides those that its document says it must have."""
TRIES = 3
"""For requests over which a server breaks down now and then."""
MAKES = {
    "post /threads thread_id", "post /assistants assistant_id", "put /store/items namespace",
    "post /threads metadata.stepwell_owner",
}  # fmt: skip
"""What is made under an id of one's own choice cannot be made under somebody else's; such ids cannot be guessed."""
LABELS = re.compile(
    r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}|[0-9a-f]{64}|key:\w+|\d{4}-\d\d-\d\dT[\d:.+Z]+"
)


@dataclass(frozen=True)
class Operation:
    """A route and a method, with the fields that a request of it may have."""

    method: str
    path: str
    queries: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    """Of a body that is an object, or of the objects in one that is a list."""
    required: tuple[str, ...] = ()
    many: bool = False

    @property
    def name(self) -> str:
        """Whatever its parameters are called."""
        return f"{self.method} {re.sub(r'{[^}]*}', '{}', self.path)}"

    @property
    def parameters(self) -> tuple[str, ...]:
        """Of the path."""
        return tuple(re.findall(r"{([^}:]*)[^}]*}", self.path))


@dataclass(frozen=True)
class Sent:
    """A request with an id in one place."""

    operation: Operation
    place: str
    kind: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


def operations(*documents: Json) -> list[Operation]:
    """The operations of OpenAPI documents; of the same one in several, the one that says most."""
    found: dict[str, Operation] = {}
    for document in documents:
        for path, methods in document["paths"].items():
            shared = methods.get("parameters", [])
            for method, said in methods.items():
                if method in METHODS and not NOT_OURS.search(path):
                    one = _operation(document, method, path, said, shared)
                    before = found.get(one.name)
                    if before is None or len(one.fields) + len(one.queries) > len(before.fields) + len(before.queries):
                        found[one.name] = one
    return sorted(found.values(), key=lambda one: (one.name.startswith(DESTRUCTIVE), one.name))


def _operation(document: Json, method: str, path: str, said: Json, shared: list[Json]) -> Operation:
    parameters = [_resolved(document, one) for one in [*shared, *said.get("parameters", [])]]
    schema: Json = {}
    for content, one in _resolved(document, said.get("requestBody", {})).get("content", {}).items():
        if content == "application/json":
            schema = _resolved(document, one.get("schema", {}))
    many = schema.get("type") == "array"
    if many:
        schema = _resolved(document, schema.get("items", {}))
    properties, required = _properties(document, schema)
    queries = tuple(str(one["name"]) for one in parameters if one.get("in") == "query")
    return Operation(method, path, queries, tuple(properties), tuple(required), many)


def _resolved(document: Json, said: Json) -> Json:
    while "$ref" in said:
        at: Any = document
        for part in said["$ref"].removeprefix("#/").split("/"):
            at = at[part]
        said = at
    return said


def _properties(document: Json, schema: Json) -> tuple[dict[str, None], list[str]]:
    found = dict.fromkeys(schema.get("properties", {}))
    required = list(schema.get("required", []))
    for part in ("allOf", "anyOf", "oneOf"):
        each = [_properties(document, _resolved(document, one)) for one in schema.get(part, [])]
        for more, _ in each:
            found |= more
        needed = [names for _, names in each]
        if part == "oneOf":  # shapes that shut each other out: the one that names most
            needed = sorted(needed, key=len)[-1:]
        required += itertools.chain(*needed)
    return found, required


class Requests:
    """Makes the requests.

    Args:
        own: By what a field or a parameter is called, what the sender has or means.
    """

    def __init__(self, own: Mapping[str, Any]) -> None:
        self._own = own
        self._busy = itertools.cycle(own["busy"])

    def all(self, operation: Operation, kind: str, id: str) -> Iterator[Sent]:
        """One request for each place of an operation that can hold an id."""
        plain = self._path(operation, {})
        for name in operation.parameters:
            yield self._sent(operation, f"path.{name}", kind, self._path(operation, {name: id}), {})
        if operation.name.startswith("delete /") and not operation.fields:
            return  # elsewhere it would only delete the sender's own
        for name in operation.queries:
            yield self._sent(operation, f"query.{name}", kind, plain, {name: id})
        if operation.fields or operation.method == "post":
            for place, body in self._bodies(operation, kind, id):
                yield self._sent(operation, place, kind, plain, {}, body)
        for name in ("x-thread-id", "x-user-id", "langgraph-auth-user-id", "x-forwarded-user"):
            if operation.method == "post" and kind in ("thread", "owner") and not operation.name.endswith(PLAIN):
                yield self._sent(operation, f"header.{name}", kind, plain, {}, headers={name: id})

    def _sent(
        self,
        operation: Operation,
        place: str,
        kind: str,
        path: str,
        query: Mapping[str, str],
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Sent:
        if body is None and operation.method in ("post", "put", "patch"):
            body = self.base(operation)
        if operation.many and body is not None:
            body = [body]
        store = {"namespace": ".".join(self._own["namespace"]), "key": self._own["key"]}
        needed = {name: store[name] for name in operation.queries if name in store}
        return Sent(operation, place, kind, path, {**needed, **query}, body, headers or {})

    def base(self, operation: Operation) -> Json:
        """A body that is taken, of as little as it needs."""
        runs = "assistant_id" in operation.required and "runs" in operation.path
        more = ("input",) if runs else tuple({"namespace_prefix"} & {*operation.fields})
        needed = (*operation.required, *more, *TOGETHER.get(operation.name, ()))
        return {name: self._own[name] for name in needed if name in self._own}

    def _bodies(self, operation: Operation, kind: str, id: str) -> Iterator[tuple[str, Json]]:
        base = self.base(operation)
        runs = operation.name.endswith(RUN_AT_ONCE)
        for name in operation.fields:
            place = f"{operation.name} {name}"
            if place in LEFT_OUT or (place in MAKES and not name.startswith(kind)):
                continue
            if (runs and not name.endswith("_id")) or (kind != "thread" and not TELLING.search(name)):
                continue
            # It is looked at when the request is taken; the run that it asks for need not begin.
            later = {"after_seconds": 3_600} if "after_seconds" in operation.fields and not runs else {}
            yield name, {**base, **later, name: id}
            if name.endswith("s") or "namespace" in name:
                yield f"{name}[]", {**base, **later, name: [id]}
        yield from self._named(operation, base, kind, id)
        if kind == "file" and "input" in operation.fields:
            yield "input.files", {**base, "input": {"messages": self._own["messages"], "files": [id]}}
        if kind in ("snapshot", "blob"):
            yield from self._states(operation, base, id)

    def _named(self, operation: Operation, base: Json, kind: str, id: str) -> Iterator[tuple[str, Json]]:
        """In each object that has keys of one's own choice, under each key that might be believed."""
        user = {"identity": id, "permissions": []}
        said: list[tuple[str, Any]] = [(key, id) for key in NAMES.get(kind, ())]
        said += [("langgraph_auth_user", user)] if kind == "owner" else []
        for key, value in said:
            for name in OPEN:
                if name not in operation.fields or f"{operation.name} {name}" in LEFT_OUT:
                    continue
                if name == "config" or not operation.name.endswith(SAME):
                    yield f"{name}.{key}", {**base, name: {**_object(base.get(name)), key: value}}
            for part in ("configurable", "metadata"):
                config = {part: {key: value}}
                if "config" in operation.fields:
                    yield f"config.{part}.{key}", {**base, "config": config}
                if "params" in operation.fields:
                    params = {**_object(base.get("params")), "config": config}
                    yield f"params.config.{part}.{key}", {**base, "params": params}
            if "params" in operation.fields:
                params = {**_object(base.get("params")), "config": {key: value}}
                yield f"params.config.{key}", {**base, "params": params}

    def _states(self, operation: Operation, base: Json, id: str) -> Iterator[tuple[str, Json]]:
        """Edits of State that name what another's snapshot holds."""
        cell = {"number": 1, "turn": 1, "step": 0, "purpose": "", "thought": "", "code": "", "status": "ok"} | {
            "observation": "", "error": "", "seconds": 0.0, "files": [], "figures": [], "snapshot": id,
        }  # fmt: skip
        states: dict[str, Json] = {
            "cells": {"cells": [cell]},
            "sandbox": {"sandbox": {"kind": "local", "id": self._own["thread_id"], "snapshot": id}},
            "inputs": {"inputs": [{"path": "inputs/a", "source": "a", "size": 1, "sha256": id, "abstract": ""}]},
        }
        for name, state in states.items():
            if "as_node" in operation.fields:
                yield f"values.{name}", {**base, "values": state}
                yield f"values.{name} as execute", {**base, "values": state, "as_node": "execute"}
            if "supersteps" in operation.fields:
                steps = [{"updates": [{"values": state, "as_node": "execute"}]}]
                graph = {"metadata": {"graph_id": "stepwell"}}
                yield f"supersteps.{name}", {**base, **graph, "supersteps": steps}
            if "command" in operation.fields:
                bare = {key: value for key, value in base.items() if key != "input"}
                yield f"command.update.{name}", {**bare, "command": {"update": state}}
                yield f"command.goto.{name}", {**bare, "command": {"goto": {"node": "upload", "input": state}}}

    def _path(self, operation: Operation, given: Mapping[str, str]) -> str:
        # Runs go on while other requests are sent, and an edit of a thread at work is refused.
        busy = operation.method == "post" and re.search(r"/(runs|commands)\b", operation.path)
        own = {**self._own, "namespace": "plan", **({"thread_id": next(self._busy)} if busy else {})}
        if operation.path.startswith("/assistants/"):
            own["assistant_id"] = own["own_assistant"]  # a graph's name is none of an assistant there
        names = {name: str(given.get(name, own.get(name, "none"))) for name in operation.parameters}
        return re.sub(r"{([^}:]*)[^}]*}", lambda found: names[found[1]], operation.path)


def _object(value: object) -> Json:
    return dict(value) if isinstance(value, dict) else {}


@dataclass(frozen=True)
class Answer:
    """What came back, of a stream that does not end the beginning."""

    status: int
    text: str

    @property
    def likeness(self) -> tuple[int, str]:
        """What another answer has to equal that is said of something else."""
        return self.status, LABELS.sub("…", self.text) if self.status >= 400 else ""


async def ask(client: httpx.AsyncClient, sent: Sent) -> Answer:
    """Send a request."""
    endless = sent.operation.name in ENDLESS
    most = STREAM_SECONDS if endless else READ_SECONDS
    # On a connection of its own: one that was left in the middle of a stream is not used again.
    headers = {"accept": "application/json, text/event-stream", "connection": "close", **sent.headers}
    given: Json = {} if sent.body is None else {"json": sent.body}
    text = ""
    async with client.stream(
        sent.operation.method.upper(), sent.path, params=sent.query, headers=headers, timeout=READ_SECONDS, **given
    ) as answer:
        try:
            async with asyncio.timeout(most):
                async for piece in answer.aiter_text():
                    text += piece
                    if len(text) > MOST_READ:
                        break
        except TimeoutError:
            assert endless, sent
        return Answer(answer.status_code, text)


@dataclass(frozen=True)
class Comparison:
    """Sends requests that name what another has, and finds out what is wrong with the answers."""

    client: httpx.AsyncClient
    names: frozenset[str]
    """What they name; the sender is told again what they have put into something of their own."""
    told: tuple[str, ...]
    """What no answer may hold that was not in the request itself."""
    breaks_down: bool = False
    """Whether the server breaks down over some requests by itself, whatever they name, and has words for each value."""
    taken: set[str] = field(default_factory=set)
    """Operations of which a request was not refused for its shape, or for the id in its path alone."""

    async def wrong(self, one: Sent, twin: Sent) -> str:
        """What is wrong with the answer to a request, and to the same one that names what nobody has; or nothing."""
        answer = await ask(self.client, one)
        said = json.dumps([one.path, dict(one.query), one.body, dict(one.headers)])
        text = answer.text
        for name in sorted(self.names, key=len, reverse=True):  # an upload's file has the upload's id in it
            text = text.replace(name, "")
        if shown := [word for word in self.told if word in text and word not in said]:
            return f"{_line(one)} is told {shown}: {answer.status} {answer.text[:300]}"
        if answer.status != REFUSED and not (one.operation.fields and one.place.startswith("path.")):
            self.taken.add(one.operation.name)
        broken = answer.status >= 500 and answer.status != 501
        if broken and not self.breaks_down:
            return f"{_line(one)} breaks the server: {answer.status} {answer.text[:300]}"
        if f"{one.operation.name} {one.place.removesuffix('[]')}" in MAKES:
            return ""
        if answer.status == REFUSED and one.kind not in CONTENTS:
            return ""
        if self.breaks_down:
            return await self._wrong_on_one_that_breaks_down(one, twin, answer)
        other = await ask(self.client, twin)
        if answer.likeness != other.likeness:
            return f"{_line(one)} is answered {answer.likeness}, and an unknown one {other.likeness}"[:600]
        return ""

    async def _wrong_on_one_that_breaks_down(self, one: Sent, twin: Sent, answer: Answer) -> str:
        """The same where a server has words for each value, breaks down now and then, and makes unknown threads."""
        other = await ask(self.client, twin)
        for _ in range(TRIES):
            empty = one.operation.name.endswith("/history") and (other.status, other.text) == (200, "[]")
            # A thread that nobody has is made for whoever names it; another's is refused all the same.
            made = one.kind == "thread" and answer.status in (403, 404) and other.status < 300
            if answer.status == other.status or empty or made:
                return ""
            answer, other = await ask(self.client, one), await ask(self.client, twin)
        return f"{_line(one)} is answered {answer}, and an unknown one {other}"[:900]

    async def all_wrong(self, pairs: list[tuple[Sent, Sent]], at_once: int) -> list[str]:
        """The same of many, some at once."""
        turns = asyncio.Semaphore(at_once)

        async def one(pair: tuple[Sent, Sent]) -> str:
            async with turns:
                return await self.wrong(*pair)

        return [found for found in await asyncio.gather(*map(one, pairs)) if found]


def crossings(
    client: httpx.Client,
    found: list[Operation],
    own: Mapping[str, Any],
    others: Mapping[str, str],
    told: list[str],
    *,
    breaks_down: bool = False,
) -> tuple[int, list[str]]:
    """Send every request with another's id, and again with one that nobody has.

    Args:
        client: The sender's.
        found: The operations.
        own: What the sender has.
        others: By kind, what the other has.
        told: What no answer may hold that was not in the request itself.
        breaks_down: Whether the server breaks down over some requests by itself, whatever they name; then only the
            status counts.

    Returns:
        How many places were tried, and what is wrong with the answers.
    """
    making = Requests(own)
    unknown = {kind: _unknown(id) for kind, id in others.items()}
    pairs = [
        (one, twin)
        for operation in found
        for kind, id in others.items()
        for one, twin in zip(making.all(operation, kind, id), making.all(operation, kind, unknown[kind]), strict=True)
    ]
    calm = [pair for pair in pairs if not pair[0].operation.name.startswith(ALONE)]
    last = [pair for pair in pairs if pair[0].operation.name.startswith(ALONE)]

    async def sending() -> list[str]:
        async with httpx.AsyncClient(base_url=client.base_url, headers=client.headers) as asking:
            names = frozenset([*others.values(), *unknown.values()])
            comparison = Comparison(asking, names, tuple(told), breaks_down)
            wrong = await comparison.all_wrong(calm, AT_ONCE) + await comparison.all_wrong(last, 1)
        idle = {one.operation.name for one, _ in pairs} - comparison.taken
        return [*wrong, *(f"{name} was refused for its shape, however it was sent" for name in sorted(idle))]

    return len(pairs), asyncio.run(sending())


def own_things(
    client: httpx.Client, user: str, table: bytes, question: str = "What stands out?", busy_threads: int = AT_ONCE
) -> Json:
    """Give the sender one of everything, and say by which name a request would name it."""
    thread = client.post("/threads", json={}).json()["thread_id"]
    busy = [client.post("/threads", json={}).json()["thread_id"] for _ in range(busy_threads)]
    file = client.post("/stepwell/uploads", params={"name": "own.csv"}, content=table).json()
    messages = [{"role": "user", "content": question}]
    asked = {"assistant_id": "stepwell", "input": {"messages": messages, "files": [file["file"]]}}
    client.post(f"/threads/{thread}/runs/wait", json=asked).raise_for_status()
    run = client.get(f"/threads/{thread}/runs").json()[0]["run_id"]
    state = client.get(f"/threads/{thread}/state").json()
    assistant = client.post("/assistants", json={"graph_id": "stepwell", "name": "own"}).json()["assistant_id"]
    cron = {"assistant_id": "stepwell", "schedule": "0 0 1 1 *", "input": {}, "enabled": False}
    client.post("/runs/crons", json=cron).raise_for_status()
    crons = client.post("/runs/crons/search", json={}).json()
    item = {"namespace": [user, "notes"], "key": "a", "value": {"text": "own"}}
    client.put("/store/items", json=item).raise_for_status()
    checkpoint = state["checkpoint"]["checkpoint_id"]
    return {
        **item, "thread_id": thread, "busy": busy, "run_id": run, "checkpoint_id": checkpoint, "schedule": "0 0 1 1 *",
        "assistant_id": "stepwell", "graph_id": "stepwell", "cron_id": crons[0]["cron_id"], "upload_id": file["id"],
        "step": "1", "name": "answer.md", "path": "figures/cell-004-1.png", "input": {}, "messages": messages,
        "namespace_prefix": [user], "values": {"notices": []}, "version": 1,
        "checkpoint": {"checkpoint_id": checkpoint},
        "thread_ids": [thread], "run_ids": [run], "channels": ["values"], "method": "run.start", "id": 1,
        "status": "interrupted", "params": {"assistant_id": "stepwell", "input": {}}, "own_assistant": assistant,
    }  # fmt: skip


def with_room(folder: Path, more: str = "") -> dict[str, str]:
    """The setting with which nobody is sent away for asking too much.

    Args:
        folder: For the file of the policy.
        more: What it is to say besides.
    """
    (folder / "policy.toml").write_text(POLICY + more)
    return {"STEPWELL_POLICY": str(folder / "policy.toml")}


def runs_over(client: httpx.Client, own: Mapping[str, Any]) -> None:
    """Wait until no run of the sender's goes on; those that were asked for later are cancelled."""
    for thread in (*own["busy"], own["thread_id"]):
        for status in ("pending", "running"):
            found = client.get(f"/threads/{thread}/runs", params={"status": status, "limit": 1_000})
            for run in found.json() if found.is_success else ():
                client.post(f"/threads/{thread}/runs/{run['run_id']}/cancel", params={"wait": "true"})


def _unknown(id: str) -> str:
    """An id of the same look that nobody has."""
    if re.fullmatch(r"[0-9a-f]{64}", id):
        return uuid.uuid4().hex * 2
    if re.fullmatch(r"[0-9a-f]{32}", id):
        return uuid.uuid4().hex
    if id.startswith("upload:"):
        return f"upload:{uuid.uuid4().hex}/{id.partition('/')[2]}"
    if id.startswith("key:"):
        return "key:alicf"
    try:
        uuid.UUID(id)
    except ValueError:
        return id[:-1] + "_"
    return str(uuid.uuid4())


def _line(sent: Sent) -> str:
    return f"{sent.operation.name} with another's {sent.kind} at {sent.place}"
