"""A real `langgraph dev` serves the graph: the playbook analyses a file through `langgraph_sdk`, with no key."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.analyses import write_sales
from tests.serving import serving

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
async def client(server: str) -> AsyncIterator[LangGraphClient]:
    """A client of that server."""
    async with get_client(url=server) as client:
        yield client


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a server without users."""
    with serving(tmp_path) as served:
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
    assert (schemas["context_schema"] or {})["properties"]["model"]["title"] == "Model"
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
    result = await client.runs.wait(thread, "stepwell", input=asking("And units by region?"))
    assert set(result) == {"answer", "artifacts", "concerns"}
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
