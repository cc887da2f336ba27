"""A real `langgraph dev` serves the graph: the playbook analyses a file through `langgraph_sdk`, with no key."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.analyses import write_sales
from tests.serving import serving

pytestmark = [pytest.mark.timeout(300), pytest.mark.xdist_group("served")]


@pytest.fixture
async def client(server: str) -> AsyncIterator[LangGraphClient]:
    """A client of that server."""
    async with get_client(url=server) as client:
        yield client


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server without users."""
    with serving(tmp_path_factory.mktemp("served")) as served:
        yield served.url


def asking(text: str, *files: str) -> dict[str, Any]:
    """The input of a run."""
    return {"messages": [{"role": "user", "content": text}], **({"files": list(files)} if files else {})}


async def values_of(client: LangGraphClient, thread: str) -> dict[str, Any]:
    """The state of a thread at which nothing is left to do."""
    state = await client.threads.get_state(thread)
    assert state["next"] == []
    assert isinstance(state["values"], dict)
    return state["values"]


async def test_an_analysis_streams_and_a_further_question_goes_on(client: LangGraphClient) -> None:
    assistants = await client.assistants.search(graph_id="stepwell")
    schemas = await client.assistants.get_schemas(assistants[0]["assistant_id"])
    assert set((schemas["input_schema"] or {})["properties"]) == {"messages", "files"}
    form = (schemas["input_schema"] or {})["properties"]
    assert (form["files"]["title"], form["messages"]["title"]) == ("Files", "Messages")
    assert form["files"]["description"]
    thread = (await client.threads.create())["thread_id"]
    seen: dict[str, list[object]] = {}
    async for part in client.runs.stream(
        thread,
        "stepwell",
        input=asking("What stands out?", "data/sales.csv"),
        stream_mode=["messages", "updates", "custom"],
    ):
        seen.setdefault(part.event.split("/")[0], []).append(part.data)
    assert "error" not in seen, seen["error"]
    custom = [data["event"] for data in seen["custom"] if isinstance(data, dict)]
    assert {"input", "plan", "cell_started", "output", "cell_finished", "published"} <= set(custom)
    updated = {node for data in seen["updates"] if isinstance(data, dict) for node in data}
    assert {"plan", "generate", "execute", "check_final", "upload"} <= updated
    assert seen["messages"]
    first = await values_of(client, thread)
    assert "playbook" in first["answer"]
    calls = [call for message in first["messages"] for call in message.get("tool_calls") or []]
    assert [call["args"]["purpose"] for call in calls] == [cell["purpose"] for cell in first["cells"]]
    results = [message for message in first["messages"] if message["type"] == "tool"]
    assert [(one["tool_call_id"], one["name"]) for one in results] == [(one["id"], one["name"]) for one in calls]
    result = await client.runs.wait(thread, "stepwell", input=asking("And units by region?"))
    assert set(result) == {"messages", "ui", "answer", "artifacts", "concerns"}
    second = await values_of(client, thread)
    assert len(second["cells"]) > len(first["cells"])
    assert len(second["turns"]) == 2


async def test_files_outside_the_allowed_folders_are_refused(client: LangGraphClient, tmp_path: Path) -> None:
    secret = write_sales(tmp_path / "secret" / "sales.csv")
    for file, word in (
        (str(secret), "outside"),
        ("../../secret/sales.csv", "outside"),
        ("file:///etc/passwd", "cannot be fetched"),
    ):
        thread = (await client.threads.create())["thread_id"]
        run = await client.runs.create(thread, "stepwell", input=asking("Look", file))
        await client.runs.join(thread, run["run_id"])
        state = await client.threads.get_state(thread)
        assert word in str(state["tasks"][0]["error"]), state["tasks"]


async def test_studio_has_a_title_and_a_node_for_every_knob_and_draws_the_edges_that_there_are(
    client: LangGraphClient,
) -> None:
    assistant = (await client.assistants.search(graph_id="stepwell"))[0]["assistant_id"]
    graph: Any = await client.assistants.get_graph(assistant)
    nodes = {str(node["id"]) for node in graph["nodes"]} - {"__start__", "__end__"}
    edges = {(edge["source"], edge["target"]) for edge in graph["edges"]}
    assert nodes == {"plan", "approve_plan", "generate", "approve", "approve_call", "execute", "check_final", "upload"}
    assert len(edges) == 25
    knobs = ((await client.assistants.get_schemas(assistant))["context_schema"] or {})["properties"]
    for name, knob in knobs.items():
        assert knob["title"], name
        assert knob["description"].endswith((".", "`")), name
        assert set(knob["langgraph_nodes"]) <= nodes, name
        assert knob["langgraph_nodes"], name
    assert {name for name, knob in knobs.items() if knob.get("langgraph_type") == "prompt"} == {
        "instructions",
        "review_instructions",
    }
    assert knobs["approval"]["enum"] == ["none", "cells"]


async def test_an_interrupt_says_in_what_shape_it_is_answered(client: LangGraphClient) -> None:
    thread = (await client.threads.create())["thread_id"]
    context: Any = {"approval": "cells", "max_cells": 2}
    asked: Any = await client.runs.wait(
        thread, "stepwell", input=asking("What stands out?", "data/sales.csv"), context=context
    )
    interrupt = asked["__interrupt__"][0]
    shape = interrupt["response_schema"]
    assert shape["properties"]["verdict"]["enum"] == ["approve", "edit", "reject"]
    assert shape["required"] == ["verdict"]
    assert interrupt["value"]["code"]
    answer = {"verdict": "reject", "remark": "Not now."}
    await client.runs.wait(thread, "stepwell", command={"resume": answer}, context=context)
    state: Any = await client.threads.get_state(thread)
    assert state["values"]["cells"][0]["status"] == "rejected"
