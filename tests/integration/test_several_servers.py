"""Three LangGraph servers with data folders of their own on one PostgreSQL and one S3-compatible server: whichever is
asked goes on with a thread, one at a time."""

import asyncio
import os
import secrets
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.integration.test_blobs_on_s3 import Store, configured
from tests.load_of_counts import Counts, next_count
from tests.postgres_server import PostgresServer, running_postgres
from tests.scripted_model import Call, Plain, Request, ScriptedServer
from tests.serving import DevServer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180), pytest.mark.xdist_group("servers")]

WAIT = "import time, pathlib\npathlib.Path('outputs/flag').touch()\ntime.sleep({0})\n"
LOG = "open('outputs/log.txt', 'a').write('{0}\\n')\nx{0} = {0}\n"
QUESTIONS = {
    "begin": [LOG.format(1), WAIT.format(8) + LOG.format(2), LOG.format(3) + "assert x1 == 1"],
    "short": [WAIT.format(2) + "open('outputs/both.txt', 'a').write('short ')"],
    "other": ["open('outputs/both.txt', 'a').write('other ')"],
}


UNKNOWN = 2
"""The cell in which a server is killed."""


def policy(request: Request) -> Plain:
    if request.choice == "submit_review":
        return Call("submit_review", good_enough=True, missing=[])
    if (counting := next_count(request)) is not None:
        return counting
    question = max(QUESTIONS, key=lambda one: request.text.rfind(f"[{one}]"))
    for number, code in enumerate(QUESTIONS[question], 1):
        mark = f"did {question} {number}."
        unknown = number == UNKNOWN and "broken off before it ended" in request.text
        if mark not in request.text and not unknown:
            return Call("run_python", purpose=f"{question} {number}", step=1, code=f"{code}\nprint('{mark}')")
    return Call("submit_answer", answer=f"Answered {question}.", skipped=[])


@contextmanager
def running_store() -> Iterator[tuple[Store, dict[str, str]]]:
    """An S3-compatible server with a bucket, and what another process needs to use it."""
    s3fs = pytest.importorskip("s3fs")
    store = Store(0, f"servers-{secrets.token_hex(4)}")  # what is in one of moto's is in all of a process
    store.begin()
    with pytest.MonkeyPatch.context() as patch, configured(store.endpoint, patch):
        s3fs.S3FileSystem().mkdir(store.bucket)
        yield store, {name: value for name, value in os.environ.items() if name.startswith(("AWS_", "FSSPEC_"))}
    store.end()


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[DevServer]]:
    model = ScriptedServer(policy=policy)
    asyncio.run(model.__aenter__())
    with running_postgres() as postgres, running_store() as (store, keys):
        shared = environment(postgres, store, model)
        made = [DevServer(tmp_path_factory.mktemp(f"server-{number}"), {**shared, **keys}) for number in range(3)]
        try:
            with ThreadPoolExecutor() as starting:
                list(starting.map(DevServer.begin, made))
            yield made
        finally:
            for server in made:
                server.end()
    asyncio.run(model.__aexit__(None, None, None))


def environment(postgres: PostgresServer, store: Store, model: ScriptedServer) -> dict[str, str]:
    return {
        "STEPWELL_DATABASE_URL": postgres.new_database(),
        "STEPWELL_BLOBS": store.url,
        "STEPWELL_ARTIFACTS": f"s3://{store.bucket}/artifacts",
        "STEPWELL_MODEL": "scripted",
        "OPENAI_BASE_URL": model.base_url,
    }


def asking(question: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": f"[{question}]"}]}


async def open_thread(client: LangGraphClient, thread: str) -> None:
    """Each server has a list of threads of its own; what is in them is in the database."""
    await client.threads.create(thread_id=thread, if_exists="do_nothing", metadata={"graph_id": "stepwell"})


async def flag_of(server: DevServer, thread: str) -> Path:
    flag = server.home / "threads" / thread / "workspace" / "outputs" / "flag"
    until = time.monotonic() + 60
    while not flag.exists():
        assert time.monotonic() < until
        await asyncio.sleep(0.05)
    return flag


async def cells_of(client: LangGraphClient, thread: str) -> list[tuple[str, str]]:
    state: Any = await client.threads.get_state(thread)
    return [(cell["purpose"], cell["status"]) for cell in state["values"]["cells"]]


async def test_two_servers_that_are_asked_at_once_work_one_after_the_other(servers: list[DevServer]) -> None:
    async with get_client(url=servers[0].url) as one, get_client(url=servers[1].url) as two:
        thread = (await one.threads.create())["thread_id"]
        await open_thread(two, thread)
        first = await one.runs.create(thread, "stepwell", input=asking("short"))
        await flag_of(servers[0], thread)
        await two.runs.wait(thread, "stepwell", input=asking("other"))
        await one.runs.join(thread, first["run_id"])
        assert await cells_of(one, thread) == [("short 1", "ok"), ("other 1", "ok")]
        state: Any = await two.threads.get_state(thread)
    assert [turn["answer"] for turn in state["values"]["turns"]] == ["Answered short.", "Answered other."]
    published = next(one for one in state["values"]["artifacts"] if one["name"] == "both.txt")
    assert published["size"] == len("short other ")


async def test_what_a_killed_server_was_at_is_finished_by_another_and_by_a_third(servers: list[DevServer]) -> None:
    async with get_client(url=servers[0].url) as one, get_client(url=servers[2].url) as three:
        thread = (await one.threads.create())["thread_id"]
        await one.runs.create(thread, "stepwell", input=asking("begin"))
        await flag_of(servers[0], thread)
        await asyncio.to_thread(servers[0].end, signal.SIGKILL)
        await open_thread(three, thread)
        await three.runs.wait(thread, "stepwell", input=None)
        assert await cells_of(three, thread) == [("begin 1", "ok"), ("begin 2", "ok"), ("begin 3", "ok")]
    async with get_client(url=servers[1].url) as two:
        await open_thread(two, thread)
        await two.runs.wait(thread, "stepwell", input=asking("other"))
        assert (await cells_of(two, thread))[-1] == ("other 1", "ok")
        state: Any = await two.threads.get_state(thread)
    published = next(one for one in state["values"]["artifacts"] if one["name"] == "log.txt")
    assert published["size"] == len("1\n2\n3\n")


@pytest.mark.filterwarnings("ignore:Request failed, attempting reconnect")  # the client, which is what is tried here
async def test_servers_that_are_restarted_in_turn_lose_nothing_and_do_nothing_twice(servers: list[DevServer]) -> None:
    """Last in this file: the servers go on without walls, so that what cells do outside can be counted."""
    rolled = servers[:2]
    for server in rolled:
        await asyncio.to_thread(server.end)
    without_walls: dict[str, Any] = {"STEPWELL_ISOLATION": "process", "STEPWELL_DRAIN_SECONDS": "4"}
    await asyncio.gather(*(asyncio.to_thread(partial(server.begin, **without_walls)) for server in rolled))
    async with Counts() as counts:
        analyses = [
            asyncio.create_task(counts.analysis(number, rolled[number % 2].url, rolled[1 - number % 2].url))
            for number in range(8)
        ]
        await counts.reach(asked=8, held=4)
        for server in rolled:
            assert await asyncio.to_thread(server.ends_when_asked, 25)
            await asyncio.to_thread(server.begin)
        counts.release()
        states = await asyncio.gather(*analyses)
        logs = [server.log.read_text() for server in rolled]
    counts.check(states)
    assert all("A run is paused" in log for log in logs), "nothing was interrupted on one of them: that is no test"
