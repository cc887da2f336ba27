"""What takes seconds to start and several modules use: servers (groups `http`, `chat`), a database (`postgres`)."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from daytona import AsyncDaytona, AsyncSandbox, CreateSandboxFromSnapshotParams

from graph.checkpoints.factory import open_checkpoints
from graph.checkpoints.saver import Saver
from graph.settings import Settings
from tests.daytona import clients
from tests.daytona.emulator import Emulator
from tests.integration.http_world import CANARY, Collector, World, ask
from tests.postgres_server import PostgresServer, in_database, running_postgres
from tests.prepared_command import PREPARED
from tests.scripted_model import ScriptedServer
from tests.security.two_users import client_of
from tests.serving import DevServer, serving, with_keys

if TYPE_CHECKING:
    from playwright.async_api import Browser


@pytest.fixture(scope="session", autouse=True)
def ended_commands() -> Iterator[None]:
    """What the commands of tests are forked from ends with the tests."""
    yield
    PREPARED.close()


@pytest.fixture(scope="session")
def collector() -> Iterator[Collector]:
    collector = Collector()

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            collector.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Taking)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    collector.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield collector
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory, collector: Collector) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("http")
    settings, keys = with_keys(folder / "settings", "alice", "bob", "operator")
    settings |= {
        "STEPWELL_MAX_INPUT_BYTES": "3000000",
        "STEPWELL_UPLOAD_USER_MB": "50",
        "LOG_JSON": "true",
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_BSP_SCHEDULE_DELAY": "200",
    }
    with serving(folder, settings) as served:
        alice, bob, operator = (client_of(served, keys[name]) for name in ("alice", "bob", "operator"))
        with alice, bob, operator:
            table = (served.project / "data" / "sales.csv").read_bytes().replace(b"north", CANARY.encode())
            file = alice.post("/stepwell/uploads", params={"name": "sales.csv"}, content=table).json()["file"]
            thread = alice.post("/threads", json={}).json()["thread_id"]
            ask(alice, thread, "What stands out?", file)
            yield World(served, alice, bob, operator, keys, thread, collector)


@pytest.fixture
async def model() -> AsyncIterator[ScriptedServer]:
    """An endpoint whose script a test writes."""
    async with ScriptedServer() as server:
        yield server


@pytest.fixture(scope="session")
def shared_endpoint() -> Iterator[ScriptedServer]:
    """An endpoint for servers that several tests use."""
    server = ScriptedServer()
    asyncio.run(server.__aenter__())
    yield server
    asyncio.run(server.__aexit__(None, None, None))


@pytest.fixture
def endpoint(shared_endpoint: ScriptedServer) -> Iterator[ScriptedServer]:
    """That endpoint, with the script of one test."""
    with shared_endpoint.for_one_test():
        yield shared_endpoint


@pytest.fixture(scope="session")
def chat_server(shared_endpoint: ScriptedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    """A server without users whose model is at `shared_endpoint`, for the group `chat`."""
    environment = {"STEPWELL_MODEL": "scripted", "OPENAI_BASE_URL": shared_endpoint.base_url, "OPENAI_API_KEY": "none"}
    with serving(tmp_path_factory.mktemp("chat"), environment) as server:
        yield server


@pytest.fixture(scope="session")
def page_sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of chat pages and what they are built with, for the group `chat`."""
    from tests.chat_pages import installed

    return installed(tmp_path_factory.mktemp("pages") / "browser")


@pytest.fixture
async def browser() -> AsyncIterator["Browser"]:
    """A headless browser of a test's own."""
    from tests.chat_pages import chromium

    async with chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A database server, for modules of the group `postgres`."""
    with running_postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, settings: Settings) -> Settings:
    """Settings with each kind of store of checkpoints."""
    if request.param == "sqlite":
        return settings
    return in_database(settings, request.getfixturevalue("postgres").new_database())


@pytest.fixture
async def saver(store: Settings) -> AsyncIterator[Saver]:
    """That store."""
    async with open_checkpoints(store) as saver:
        yield saver


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    """The emulator of Daytona."""
    async with Emulator(grace_seconds=0.3) as emulator:
        yield emulator


@pytest.fixture
async def daytona(emulator: Emulator) -> AsyncIterator[AsyncDaytona]:
    """The real SDK that speaks to it."""
    async with clients.client_of(emulator) as client:
        yield client


@pytest.fixture
async def sandbox(daytona: AsyncDaytona) -> AsyncSandbox:
    """A sandbox there, as the SDK has it."""
    return await daytona.create(CreateSandboxFromSnapshotParams(name="one"))
