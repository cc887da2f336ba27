"""Sandboxes of every kind that can run here, and helpers to look at what they did."""

import asyncio
import hashlib
import json
import os
import secrets
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from blockbuster import BlockBuster

from sandboxes.base import Sandbox
from sandboxes.daytona.options import API_URL, Account, Options
from sandboxes.docker.options import DockerOptions
from sandboxes.fake import FakeSandbox
from sandboxes.opening import Sandboxes
from sandboxes.results import CellResult, RestoredSession, SnapshotTaken, Streamed
from tests.daytona.emulator import Emulator
from tests.docker.emulator import EmulatedEngine

Run = Callable[..., Awaitable[CellResult]]
HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def no_blocking_calls() -> Iterator[None]:
    """A sandbox that blocks the event loop fails its test."""
    blockbuster = BlockBuster(scanned_modules="sandboxes")
    blockbuster.activate()
    yield
    blockbuster.deactivate()


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """matplotlib's list of fonts, made once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
async def sandboxes(tmp_path: Path, cache: Path) -> AsyncIterator[Sandboxes]:
    async with Sandboxes(tmp_path / "sandboxes", cache=cache) as opened:
        yield opened


@pytest.fixture(scope="session")
def emulated() -> Iterator[Emulator]:
    """A Daytona for all tests of this process."""
    with Emulator() as emulator:
        yield emulator


@pytest.fixture
def in_daytona(emulated: Emulator) -> Options:
    """How sandboxes there are made: with names of their own for each test."""
    account = Account(api_key=emulated.api_key, api_url=emulated.api_url, target="us")
    return Options(account, prefix=f"test-{secrets.token_hex(4)}")


@pytest.fixture(scope="session")
def engine() -> Iterator[EmulatedEngine]:
    """A container engine for all tests of this process."""
    with EmulatedEngine() as emulated:
        yield emulated


@pytest.fixture
def in_docker(engine: EmulatedEngine) -> DockerOptions:
    """How containers are made there: with names of their own for each test."""
    return engine.options()


LEVELS = ("namespaces", "namespaces-noproc", "bwrap", "landlock", "process")
DAYTONA, DOCKER = "daytona", "docker"
REAL = "the real daytona"
REAL_KEY = os.environ.get("DAYTONA_API_KEY", "")  # before a fixture clears the environment
REAL_PLACE = {"api_url": os.environ.get("DAYTONA_API_URL", API_URL), "target": os.environ.get("DAYTONA_TARGET", "")}
# What asks local sandboxes alone, and why:
# - control groups, deaths (Landlock), zygotes, reach behind isolation: bridged sandboxes have no such part of ours.
# - recovery by a frozen copy, limits of memory, processes and disk: of bridged ones the machine has its own.
# - sleeping, as far as it is seen from this machine's processes and folders; what is heard between two cells.
# - life: STEPWELL_PYTHON is a local interpreter; a bridged sandbox is meant to survive a killed host.
KINDS = [*LEVELS, DAYTONA, DOCKER, *([pytest.param(REAL, marks=pytest.mark.daytona)] if REAL_KEY else [])]


QUICK = "namespaces"
"""The level that `make test` asks everything."""
ASKED_OF_ALL = {
    "test_variables_persist_between_cells": {DOCKER, DAYTONA, *LEVELS},
    "test_a_data_frame_has_text_and_html": {DAYTONA},
    "test_multiprocessing_uses_functions_of_cells": {DAYTONA, *LEVELS},
    "test_the_environment_holds_no_keys": {DAYTONA, *LEVELS},
    "test_changed_files_are_told": {DAYTONA, *LEVELS},
}
"""What it asks other kinds, too. Containers have the bridge that Daytona's sandboxes have."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave what is asked of every kind to `make test-slow`, but for one kind."""
    for item in items:
        if asked_again(item):
            item.add_marker("slow")


def asked_again(item: pytest.Item) -> bool:
    """Whether a test asks a kind of sandbox what `make test` asks another one."""
    if item.path.parent != HERE or not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
        return False
    others: set[str] = {*LEVELS, DAYTONA, DOCKER, REAL} - {QUICK}
    asked = ASKED_OF_ALL.get(item.originalname, set()) if item.path.name == "test_sandbox_cells.py" else set()
    return not (others - asked).isdisjoint(map(str, item.callspec.params.values()))


def in_the_real_one() -> Options:
    """How sandboxes in the real Daytona are made: gone soon, whatever becomes of the tests."""
    account = Account(REAL_KEY, **REAL_PLACE)
    return Options(account, prefix=f"test-{secrets.token_hex(4)}", auto_stop=5, auto_delete=10)


@pytest.fixture(params=KINDS)
async def walled(request: pytest.FixtureRequest, tmp_path: Path, cache: Path) -> AsyncIterator[Sandboxes]:
    """Sandboxes of every level of isolation, and elsewhere."""
    folder = tmp_path / "sandboxes"
    if request.param in (DAYTONA, REAL):
        options = in_the_real_one() if request.param == REAL else request.getfixturevalue("in_daytona")
        async with elsewhere(folder, options) as opened:
            yield opened
        return
    if request.param == DOCKER:
        async with in_containers(folder, request.getfixturevalue("in_docker")) as opened:
            yield opened
        return
    async with Sandboxes(folder, cache=cache, isolation=request.param) as opened:
        yield opened


@asynccontextmanager
async def elsewhere(folder: Path, options: Options) -> AsyncIterator[Sandboxes]:
    """Sandboxes in Daytona, of which nothing is left there afterwards."""
    async with Sandboxes(folder, daytona=options) as opened:
        try:
            yield opened
        finally:
            for one in await opened.elsewhere["daytona"].listed():
                await opened.elsewhere["daytona"].delete(one.thread)


@asynccontextmanager
async def in_containers(folder: Path, options: DockerOptions) -> AsyncIterator[Sandboxes]:
    """Sandboxes in containers, of which nothing is left there afterwards."""
    async with Sandboxes(folder, docker=options) as opened:
        try:
            yield opened
        finally:
            for one in await opened.elsewhere[DOCKER].listed():
                await opened.elsewhere[DOCKER].delete(one.thread)


def opening(kind: str, request: pytest.FixtureRequest, **local: Any) -> AbstractAsyncContextManager[Sandboxes]:
    """Sandboxes for a test.

    Args:
        kind: `local`, or in the emulated Daytona, or in a container of the emulated engine.
        request: The test's.
        local: How those on this machine are made.
    """
    folder: Path = request.getfixturevalue("tmp_path") / "sandboxes"
    if kind == DAYTONA:
        return elsewhere(folder, request.getfixturevalue("in_daytona"))
    if kind == DOCKER:
        return in_containers(folder, request.getfixturevalue("in_docker"))
    return Sandboxes(folder, cache=request.getfixturevalue("cache"), **local)


@pytest.fixture
async def sandbox(walled: Sandboxes, request: pytest.FixtureRequest) -> Sandbox:
    """A sandbox in which code runs."""
    kind = {DAYTONA: DAYTONA, REAL: DAYTONA, DOCKER: DOCKER}.get(request.node.callspec.params["walled"], "local")
    return await walled.open(kind, "contract")


@pytest.fixture
async def own_folder(sandbox: Sandbox, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Where the things of `sandbox` are on this machine: its workspace, its spool."""
    if request.node.callspec.params["walled"] == REAL:
        pytest.skip("it looks into the sandbox's folder from outside")
    if sandbox.kind == "local":
        return tmp_path / "sandboxes" / sandbox.id
    await sandbox.files(".")
    if sandbox.kind == DOCKER:
        engine, made = request.getfixturevalue("engine"), request.getfixturevalue("in_docker")
        volume: Path = engine.home(f"{made.prefix}-{sandbox.id}")
        return volume / "stepwell"
    emulated, options = request.getfixturevalue("emulated"), request.getfixturevalue("in_daytona")
    folder: Path = emulated.home(f"{options.prefix}-{sandbox.id}") / "stepwell"
    return folder


@pytest.fixture(params=["local", DAYTONA, DOCKER, "fake"])
async def any_sandbox(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Sandbox]:
    """A sandbox of any kind, for what does not need code."""
    if request.param == "fake":
        yield FakeSandbox(tmp_path / "fake", "contract")
    else:
        async with opening(request.param, request) as opened:
            yield await opened.open(request.param, "contract")


@pytest.fixture
def run(sandbox: Sandbox) -> Run:
    """Run cells one after the other, numbered from 1."""
    number = 0

    async def run_next(
        code: str, *, timeout: float = 60.0, head: str = "", on_output: Callable[[Streamed], None] | None = None
    ) -> CellResult:
        nonlocal number
        number += 1
        return await sandbox.run(code, number=number, timeout=timeout, head=head, on_output=on_output)

    return run_next


def fine(result: CellResult) -> CellResult:
    """The result, which must be a good one."""
    assert result.status == "ok", (result.status, result.note, result.error and result.error.traceback)
    return result


def printed(result: CellResult) -> str:
    """What a good cell printed."""
    return fine(result).stdout.text


def has_shared_memory(sandbox: Sandbox) -> bool:
    """Landlock cannot give a sandbox shared memory of its own, so there is none, and no locks between processes."""
    return not sandbox.isolation.startswith("Landlock")


class Steps:
    """A session that is put down and taken up again in another process."""

    def __init__(self, sandboxes: Sandboxes, kind: str, folder: Callable[[str], Path]) -> None:
        self._sandboxes = sandboxes
        self._kind = kind
        self._folder = folder
        self.elsewhere = kind != "local"
        """Whether each sandbox takes a second to make."""
        self._opened = 0
        self.number = 0
        self.sandbox: Sandbox
        self.taken = SnapshotTaken("")

    async def open(self) -> None:
        """Begin in a new, empty sandbox."""
        self._opened += 1
        self.sandbox = await self._sandboxes.open(self._kind, f"step-{self._opened}")
        if self.elsewhere:
            await self.sandbox.supplied_blobs()  # makes it, so that its folder is there

    async def run(self, code: str, *, fails: bool = False) -> str:
        """Run a cell, which must be a good one, or one that fails; what it printed."""
        self.number += 1
        result = await self.sandbox.run(textwrap.dedent(code), number=self.number, timeout=100.0)
        assert (result.status == "error") is fails, result
        return result.stdout.text if fails else printed(result)

    async def keep(self, limit: int = 1 << 30) -> SnapshotTaken:
        """Take a snapshot, which must not be refused."""
        self.taken = await self.sandbox.snapshot(limit_bytes=limit)
        assert not self.taken.refused
        return self.taken

    async def take_up(self, lost: tuple[str, ...] = ()) -> RestoredSession:
        """Take a snapshot and restore it in another sandbox, which has its blobs and nothing else."""
        taken = await self.keep()
        assert tuple(one.name for one in taken.lost) == lost, taken.lost
        return await self.take_up_at(taken.id)

    async def take_up_at(self, id: str) -> RestoredSession:
        """Restore a snapshot that was taken in the sandbox of now in another one."""
        spool, given = self.folder("spool"), self.folder("blobs")
        files = await asyncio.to_thread(
            lambda: [path for folder in (spool, given) if folder.is_dir() for path in folder.iterdir()]
        )
        await self.open()
        await self.sandbox.supply_blobs(files)
        return await self.sandbox.restore(id)

    async def rewrite(self, id: str, **changes: object) -> str:
        """Put a snapshot beside one in the sandbox of now whose manifest says something else; its id."""
        return await asyncio.to_thread(self._rewrite, id, changes)

    def _rewrite(self, id: str, changes: dict[str, object]) -> str:
        manifest = json.loads((self.folder("spool") / id).read_bytes())
        written = json.dumps({**manifest, **changes}, sort_keys=True, separators=(",", ":")).encode()
        name = hashlib.sha256(written).hexdigest()
        (self.folder("spool") / name).write_bytes(written)
        return name

    def folder(self, name: str) -> Path:
        """A folder of the sandbox of now."""
        return self._folder(self.sandbox.id) / name


@asynccontextmanager
async def steps_here(folder: Path, cache: Path) -> AsyncIterator[Steps]:
    """A session on this machine."""
    async with Sandboxes(folder, cache=cache) as opened:
        made = Steps(opened, "local", lambda id: folder / id)
        await made.open()
        yield made


@asynccontextmanager
async def steps_elsewhere(folder: Path, options: Options, emulated: Emulator) -> AsyncIterator[Steps]:
    """A session in the emulated Daytona."""
    async with elsewhere(folder, options) as opened:
        made = Steps(opened, DAYTONA, lambda id: emulated.home(f"{options.prefix}-{id}") / "stepwell")
        await made.open()
        yield made


@asynccontextmanager
async def steps_in_containers(folder: Path, options: DockerOptions, engine: EmulatedEngine) -> AsyncIterator[Steps]:
    """A session in a container of the emulated engine."""
    async with in_containers(folder, options) as opened:
        made = Steps(opened, DOCKER, lambda id: engine.home(f"{options.prefix}-{id}") / "stepwell")
        await made.open()
        yield made


@pytest.fixture(params=["local", DAYTONA, DOCKER])
async def steps(request: pytest.FixtureRequest, tmp_path: Path, cache: Path) -> AsyncIterator[Steps]:
    folder = tmp_path / "sandboxes"
    begun: AbstractAsyncContextManager[Steps]
    if request.param == DAYTONA:
        options, emulated = request.getfixturevalue("in_daytona"), request.getfixturevalue("emulated")
        begun = steps_elsewhere(folder, options, emulated)
    elif request.param == DOCKER:
        made, engine = request.getfixturevalue("in_docker"), request.getfixturevalue("engine")
        begun = steps_in_containers(folder, made, engine)
    else:
        begun = steps_here(folder, cache)
    async with begun as made:
        yield made
