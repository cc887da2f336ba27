"""A server's disk that is full ends a run with one sentence, and the thread goes on once there is room."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.chaos.faults import fill, make_room
from tests.serving import DevServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.xdist_group("full disk served")]

MOUNTED = """
mount -t tmpfs -o size=64m,mode=700 none "$1" || exit 77
shift
exec "$@"
"""
TRIES = 5
"""A run may be over before its events have come and the disk is full."""
QUESTION: dict[str, Any] = {"messages": [{"role": "user", "content": "What stands out?"}], "files": ["data/sales.csv"]}


@dataclass(frozen=True)
class Served:
    """A server, and its home as it is to be seen from here."""

    server: DevServer
    home: Path


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server whose home is a small disk of its own."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("there is no program `unshare` to mount a small disk with")
    folder = tmp_path_factory.mktemp("full-disk")
    (folder / "home").mkdir()
    own = [unshare, "-m" if os.geteuid() == 0 else "-rm", "sh", "-c", MOUNTED, "sh", str(folder / "home")]
    server = DevServer(folder, {"STEPWELL_ISOLATION": "process"}, started_by=own)
    try:
        try:
            server.begin()
        except AssertionError:
            said = server.log.read_text()
            if "mount:" in said or "unshare:" in said:
                pytest.skip(f"a small disk cannot be mounted here: {said.strip()[:200]}")
            raise
        yield Served(server, Path(f"/proc/{server.pid}/root{folder}/home"))
    finally:
        server.end()


async def ended_by_a_full_disk(client: LangGraphClient, home: Path, cells: int, left: int) -> tuple[str, str]:
    """Fill the disk while a run goes on: the thread, and what the run failed with; nothing if it was over by then."""
    thread = (await client.threads.create())["thread_id"]
    ended, failed = 0, ""
    try:
        if not cells:
            await asyncio.to_thread(fill, home, left)
        async for part in client.runs.stream(thread, "stepwell", input=QUESTION, stream_mode=["custom"]):
            data: Any = part.data
            if part.event == "custom" and data.get("event") == "cell_finished":
                ended += 1
                if ended == cells:
                    await asyncio.to_thread(fill, home, left)
            if part.event == "error":
                failed = str(data)
    finally:
        make_room(home)
    return thread, failed


@pytest.mark.parametrize("left", [0, 30_000])
@pytest.mark.parametrize("cells", [0, 1, 3])
async def test_a_run_without_room_ends_with_a_sentence_and_goes_on_once_there_is_some(
    served: Served, cells: int, left: int
) -> None:
    async with get_client(url=served.server.url) as client:
        tries = [await ended_by_a_full_disk(client, served.home, cells, left)]
        while cells and not tries[-1][1] and len(tries) < TRIES:
            tries.append(await ended_by_a_full_disk(client, served.home, cells, left))
        thread, failed = tries[-1]
        assert "No space left" in failed or "room" in failed, failed
        assert "Traceback" not in failed
        begun = (await client.threads.get_state(thread))["values"].get("cells")  # type: ignore[union-attr]
        await client.runs.wait(thread, "stepwell", input=None if begun else QUESTION)
        values: Any = (await client.threads.get_state(thread))["values"]
        assert "playbook" in values["answer"]
        assert values["artifacts"]
        assert all("space" in cell["error"] or cell["status"] == "ok" for cell in values["cells"]), values["cells"]
        numbers = [cell["number"] for cell in values["cells"]]
        assert numbers == sorted(set(numbers))


async def test_what_is_wrong_with_a_question_is_told_to_whoever_asked(served: Served) -> None:
    async with get_client(url=served.server.url) as client:
        thread = (await client.threads.create())["thread_id"]
        asked = {"messages": QUESTION["messages"], "files": ["data/none.csv"]}
        told: list[Any] = [part async for part in client.runs.stream(thread, "stepwell", input=asked)]
        assert [part.data["message"] for part in told if part.event == "error"] == ["data/none.csv does not exist."]
