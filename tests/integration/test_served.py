"""A real `langgraph dev` serves the graph: the playbook analyses a file through `langgraph_sdk`, with no key."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.analyses import write_sales

ROOT = Path(__file__).parents[2]
PACKAGES = ["graph", "nodes", "sandboxes", "storage", "models", "stepwell"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture
async def client(server: str) -> AsyncIterator[LangGraphClient]:
    """A client of that server."""
    async with get_client(url=server) as client:
        yield client


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a server that was started from a copy of the project, so that it writes nothing into ours."""
    project = tmp_path / "project"
    project.mkdir()
    for package in PACKAGES:
        shutil.copytree(ROOT / package, project / package, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("langgraph.json", "pyproject.toml", "README.md", "LICENSE", ".env.example"):
        shutil.copy(ROOT / file, project / file)
    (project / ".env").write_text("")
    write_sales(project / "data" / "sales.csv")
    port = free_port()
    environment = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "STEPWELL_HOME": str(tmp_path / "home"),
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_STRICT_MSGPACK": "true",
    }
    log = tmp_path / "server.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [str(Path(sys.executable).parent / "langgraph"), "dev", "--no-browser", "--no-reload", "--port", str(port)],
            cwd=project, env=environment, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + 120
        while True:
            assert process.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < until, log.read_text()[-3000:]
            try:
                if httpx.get(f"{address}/ok", timeout=2).status_code == 200:
                    break
            except httpx.HTTPError:
                time.sleep(0.3)
        yield address
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


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
