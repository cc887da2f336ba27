"""Under a real `langgraph dev`, whose runs have durability "async": kills, cancelling, double texting, dropped streams,
webhooks, MCP and A2A leave a thread whose state and whose sandbox agree."""

import asyncio
import base64
import json
import re
import signal
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import ConflictError

from tests.scripted_model import Call, Plain, Request, ScriptedServer
from tests.serving import DevServer, serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120), pytest.mark.xdist_group("platform")]

WAIT = "import time, pathlib\npathlib.Path('outputs/flag').write_text('x')\ntime.sleep({seconds})\n"
QUESTIONS = {
    "make": ["values = [1]\nopen('outputs/log.txt', 'w').write('a')", "values.append(2)"],
    "spoil": [
        "values.append('spoilt')\nopen('outputs/log.txt', 'w').write('spoilt')",
        WAIT.format(seconds=60),
    ],
    "check": ["assert values == [1, 2], values\nassert open('outputs/log.txt').read() == 'a'"],
    "kill": ["values.append(3)", WAIT.format(seconds=4) + "values.append(4)", "assert values == [1, 2, 3, 4], values"],
    "die": ["values.append(3)", WAIT.format(seconds=13) + "values.append(4)", "assert values == [1, 2, 3, 4], values"],
    "break off": ["values.append(3)", WAIT.format(seconds=60)],
    "after breaking off": ["assert values == [1, 2, 3], values"],
    "long": [f"print({number})\nimport time\ntime.sleep(0.3)" for number in range(6)],
    "file": ["print(open('inputs/prices.csv').read())"],
}
"""The cells of each question."""


def policy(request: Request) -> Plain:
    if request.choice == "submit_review":
        return Call("submit_review", good_enough=True, missing=[])
    question = max(QUESTIONS, key=lambda one: request.text.rfind(f"[{one}]"))
    for number, code in enumerate(QUESTIONS[question], 1):
        mark = f"did {question} {number}."
        if mark not in request.text:
            return Call("run_python", purpose=f"{question} {number}", step=1, code=f"{code}\nprint('{mark}')")
    return Call("submit_answer", answer=f"Answered {question}.", skipped=[])


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedServer]:
    server = ScriptedServer(policy=policy)
    asyncio.run(server.__aenter__())
    yield server
    asyncio.run(server.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, model: ScriptedServer) -> Iterator[DevServer]:
    environment = {"STEPWELL_MODEL": "scripted", "OPENAI_BASE_URL": model.base_url, "STEPWELL_DRAIN_SECONDS": "1"}
    webhooks = {"webhooks": {"url": {"disable_loopback": False, "require_https": False}}}
    with serving(tmp_path_factory.mktemp("platform"), environment, webhooks) as server:
        yield server


@pytest.fixture
async def client(server: DevServer) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=server.url) as client:
        yield client


@pytest.fixture
async def thread(client: LangGraphClient) -> str:
    """A thread on which two cells have run."""
    thread = (await client.threads.create())["thread_id"]
    await client.runs.wait(thread, "stepwell", input=asking("make"))
    return thread


def asking(question: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": f"[{question}]"}]}


async def values_of(client: LangGraphClient, thread: str) -> dict[str, Any]:
    state: Any = await client.threads.get_state(thread)
    values: dict[str, Any] = state["values"]
    return values


async def statuses(client: LangGraphClient, thread: str) -> list[tuple[str, str]]:
    return [(cell["purpose"], cell["status"]) for cell in (await values_of(client, thread))["cells"]]


MADE = [("make 1", "ok"), ("make 2", "ok")]


class Flag:
    """What a cell leaves that waits."""

    def __init__(self, server: DevServer, thread: str) -> None:
        self._file = server.home / "threads" / thread / "workspace" / "outputs" / "flag"

    async def up(self) -> None:
        until = time.monotonic() + 60
        while not self._file.exists():
            assert time.monotonic() < until
            await asyncio.sleep(0.05)


async def idle(client: LangGraphClient, thread: str) -> None:
    until = time.monotonic() + 60
    while (await client.threads.get(thread))["status"] == "busy":
        assert time.monotonic() < until
        await asyncio.sleep(0.1)


async def test_cancelling_interrupts_the_cell_and_keeps_the_variables(
    server: DevServer, client: LangGraphClient, thread: str
) -> None:
    run = await client.runs.create(thread, "stepwell", input=asking("break off"))
    await Flag(server, thread).up()
    await client.runs.cancel(thread, run["run_id"], wait=True)
    assert await statuses(client, thread) == [*MADE, ("break off 1", "ok")]
    await client.runs.wait(thread, "stepwell", input=asking("after breaking off"))
    assert (await statuses(client, thread))[-1] == ("after breaking off 1", "ok")


async def test_rejected_double_texting_leaves_the_run_alone(
    server: DevServer, client: LangGraphClient, thread: str
) -> None:
    run = await client.runs.create(thread, "stepwell", input=asking("kill"))
    await Flag(server, thread).up()
    with pytest.raises(ConflictError):
        await client.runs.create(thread, "stepwell", input=asking("check"), multitask_strategy="reject")
    await client.runs.join(thread, run["run_id"])
    assert await statuses(client, thread) == [*MADE, *((f"kill {number}", "ok") for number in (1, 2, 3))]


async def test_enqueued_double_texting_runs_afterwards_in_order(
    server: DevServer, client: LangGraphClient, thread: str
) -> None:
    await client.runs.create(thread, "stepwell", input=asking("long"))
    await client.runs.wait(thread, "stepwell", input=asking("check"), multitask_strategy="enqueue")
    assert await statuses(client, thread) == [
        *MADE, *((f"long {number}", "ok") for number in range(1, 7)), ("check 1", "ok"),
    ]  # fmt: skip
    answers = [turn["answer"] for turn in (await values_of(client, thread))["turns"]]
    assert answers == ["Answered make.", "Answered long.", "Answered check."]


async def test_interrupting_double_texting_keeps_what_was_finished(
    server: DevServer, client: LangGraphClient, thread: str
) -> None:
    await client.runs.create(thread, "stepwell", input=asking("break off"))
    await Flag(server, thread).up()
    await client.runs.wait(thread, "stepwell", input=asking("after breaking off"), multitask_strategy="interrupt")
    assert await statuses(client, thread) == [*MADE, ("break off 1", "ok"), ("after breaking off 1", "ok")]


async def test_rolled_back_double_texting_brings_the_sandbox_back_too(
    server: DevServer, client: LangGraphClient, thread: str
) -> None:
    await client.runs.create(thread, "stepwell", input=asking("spoil"))
    await Flag(server, thread).up()
    await client.runs.wait(thread, "stepwell", input=asking("check"), multitask_strategy="rollback")
    assert await statuses(client, thread) == [*MADE, ("check 1", "ok")]
    said = [message["content"] for message in (await values_of(client, thread))["messages"]]
    assert not [text for text in said if "spoil" in str(text)]


async def test_a_run_that_is_cancelled_with_rollback_leaves_the_thread_as_it_was(
    server: DevServer, client: LangGraphClient, thread: str
) -> None:
    before = await values_of(client, thread)
    run = await client.runs.create(thread, "stepwell", input=asking("spoil"))
    await Flag(server, thread).up()
    await client.runs.cancel(thread, run["run_id"], wait=True, action="rollback")
    await idle(client, thread)
    assert await values_of(client, thread) == before
    await client.runs.wait(thread, "stepwell", input=asking("check"))
    assert (await statuses(client, thread))[-1] == ("check 1", "ok")


async def test_a_client_that_drops_and_joins_again_misses_nothing(client: LangGraphClient, thread: str) -> None:
    run = await client.runs.create(
        thread, "stepwell", input=asking("long"), stream_mode=["custom"], stream_resumable=True
    )
    seen: list[tuple[str | None, Any]] = []
    dropped: set[str | None] = set()
    last, joins, over = "-1", 0, False
    while not over:
        joins, taken = joins + 1, 0
        over = (await client.runs.get(thread, run["run_id"]))["status"] not in ("pending", "running")
        async for part in client.runs.join_stream(thread, run["run_id"], last_event_id=last):
            last = part.id or last
            # What is sent while a client joins, the platform may give twice: from its store, and as it is sent.
            if part.event == "custom" and (part.id, part.data) not in seen:
                seen.append((part.id, part.data))
                taken += 1
            if taken == 5:
                over = False
                dropped.add(last)
                break  # the connection is dropped
    assert joins > 3
    whole = [
        (part.id, part.data)
        async for part in client.runs.join_stream(thread, run["run_id"], last_event_id="-1")
        if part.event == "custom"
    ]
    assert [data["event"] for _, data in whole].count("cell_finished") == 6
    # The platform gives all events of one millisecond the same id, and goes on behind it.
    missed: list[tuple[str | None, Any]] = []
    for place, one in enumerate(whole):
        if seen[place - len(missed) : place - len(missed) + 1] != [one]:
            missed.append(one)
    assert len(seen) == len(whole) - len(missed)
    assert all(id in dropped for id, _ in missed)


async def test_a_webhook_is_called_when_a_run_is_over(client: LangGraphClient, thread: str) -> None:
    called: list[dict[str, Any]] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            called.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    receiver = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    serving = threading.Thread(target=receiver.serve_forever, args=(0.02,))
    serving.start()
    try:
        address = f"http://127.0.0.1:{receiver.server_address[1]}/done"
        run = await client.runs.create(thread, "stepwell", input=asking("check"), webhook=address)
        await client.runs.join(thread, run["run_id"])
        until = time.monotonic() + 20
        while not called and time.monotonic() < until:
            await asyncio.sleep(0.1)
    finally:
        await asyncio.to_thread(receiver.shutdown)
        receiver.server_close()
        serving.join()
    assert (called[0]["run_id"], called[0]["status"]) == (run["run_id"], "success")
    assert called[0]["values"]["answer"] == "Answered check."


async def rpc(url: str, method: str, params: dict[str, Any]) -> Any:
    headers = {"Accept": "application/json, text/event-stream"}
    body = {"jsonrpc": "2.0", "id": "1", "method": method, "params": params}
    async with httpx.AsyncClient(timeout=120) as http:
        answer = await http.post(url, json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    said = answer.json()
    assert "error" not in said, said
    return said["result"]


async def test_mcp_offers_the_analysis_as_a_tool_with_a_small_result(server: DevServer) -> None:
    tools = (await rpc(f"{server.url}/mcp", "tools/list", {}))["tools"]
    tool = next(one for one in tools if one["name"] == "stepwell")
    assert "Analyses data files" in tool["description"]
    assert set(tool["inputSchema"]["properties"]) >= {"messages", "files"}
    given = {"messages": [{"role": "user", "content": "[make]"}], "files": ["data/sales.csv"]}
    result = await rpc(f"{server.url}/mcp", "tools/call", {"name": "stepwell", "arguments": given})
    text = "".join(part["text"] for part in result["content"])
    assert not result.get("isError")
    assert text.startswith("Answered make."), text
    assert f"]({server.url}/stepwell/threads/" in text
    assert "log.txt?until=" in text
    assert len(text) < 2_000, text
    assert result["structuredContent"]["answer"] == "Answered make."
    assert "log.txt" in [one["name"] for one in result["structuredContent"]["artifacts"]]
    async with httpx.AsyncClient() as anybody:
        file = await anybody.get(re.findall(r"log\.txt`\]\((.*?)\)", text)[0])
    assert file.status_code == 200


async def test_a2a_takes_text_and_file_parts(server: DevServer, client: LangGraphClient) -> None:
    assistant = (await client.assistants.search(graph_id="stepwell"))[0]["assistant_id"]
    table = base64.b64encode(b"item,price\nbread,3\n").decode()
    parts = [
        {"kind": "text", "text": "[file]"},
        {"kind": "file", "file": {"name": "prices.csv", "mimeType": "text/csv", "bytes": table}},
    ]
    message = {"role": "user", "messageId": "1", "parts": parts}
    task = await rpc(f"{server.url}/a2a/{assistant}", "message/send", {"message": message})
    assert task["status"]["state"] == "completed", task
    assert "Answered file." in json.dumps(task)
    values = await values_of(client, task["contextId"])
    assert [one["path"] for one in values["inputs"]] == ["inputs/prices.csv"]
    assert "bread,3" in values["cells"][0]["observation"]
    assert table not in json.dumps(values)  # the content is in the workspace, not once more in every prompt and state


async def test_a2a_comes_back_for_approval(server: DevServer, client: LangGraphClient) -> None:
    assistant = (await client.assistants.search(graph_id="stepwell"))[0]["assistant_id"]
    url = f"{server.url}/a2a/{assistant}"
    message = {"role": "user", "messageId": "1", "parts": [{"kind": "text", "text": "[check]"}]}
    message["parts"] = [{"kind": "text", "text": "[make]"}]
    task = await rpc(url, "message/send", {"message": message, "context": {"approval": "cells"}})
    for number in (2, 3):
        assert task["status"]["state"] == "input-required", task
        decision = {"kind": "data", "data": {"resume": {"verdict": "approve"}}}
        answer = {
            "role": "user", "messageId": str(number), "contextId": task["contextId"], "taskId": task["id"],
            "parts": [decision],
        }  # fmt: skip
        task = await rpc(url, "message/send", {"message": answer})
    assert task["status"]["state"] == "completed", task
    assert await statuses(client, task["contextId"]) == MADE


async def test_what_the_platform_cannot_do_is_as_the_documents_say(server: DevServer, thread: str) -> None:
    """When this fails, mend docs/deployment.md: a newer version can do more."""
    async with httpx.AsyncClient() as http:
        body = {"thread_ids": [thread], "strategy": "keep_latest"}
        pruned = await http.post(f"{server.url}/threads/prune", json=body)
    assert pruned.status_code == 422


async def test_a_thread_that_is_deleted_while_a_cell_runs_is_gone_with_its_run(
    server: DevServer, client: LangGraphClient, thread: str
) -> None:
    await client.runs.create(thread, "stepwell", input=asking("break off"))
    await Flag(server, thread).up()
    await client.threads.delete(thread)
    with closing(sqlite3.connect(server.home / "threads.sqlite")) as database:
        for table in ("checkpoints", "writes"):
            found = database.execute(f"select count(*) from {table} where thread_id = ?", (thread,))
            assert found.fetchone() == (0,)
    assert not (server.home / "threads" / thread).exists()
    assert not (server.home / "artifacts" / thread).exists()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_a_server_that_was_ended_in_a_cell_goes_on_and_no_cell_takes_effect_twice(
    server: DevServer, client: LangGraphClient, thread: str, how: signal.Signals
) -> None:
    """Last in this file: it starts the server again."""
    run = await client.runs.create(thread, "stepwell", input=asking("die"))
    await Flag(server, thread).up()
    if how is signal.SIGKILL:
        await asyncio.sleep(11)  # the in-memory runtime writes its threads and runs down every 10 s, or when it ends
    await asyncio.to_thread(server.end, how)
    await asyncio.to_thread(server.begin)
    async with get_client(url=server.url) as again:
        await again.runs.join(thread, run["run_id"])
        assert await statuses(again, thread) == [*MADE, *((f"die {number}", "ok") for number in (1, 2, 3))]
