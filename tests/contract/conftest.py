"""Sandboxes of every kind that can run here, and helpers to look at what they did."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from blockbuster import BlockBuster

from sandboxes.base import CellResult, Sandbox, Streamed
from sandboxes.fake import FakeSandbox
from sandboxes.opening import Sandboxes

Run = Callable[..., Awaitable[CellResult]]


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


@pytest.fixture(params=["local"])
async def sandbox(request: pytest.FixtureRequest, sandboxes: Sandboxes) -> Sandbox:
    """A sandbox in which code runs."""
    return await sandboxes.open(request.param, "contract")


@pytest.fixture(params=["local", "fake"])
async def any_sandbox(request: pytest.FixtureRequest, sandboxes: Sandboxes, tmp_path: Path) -> Sandbox:
    """A sandbox of any kind, for what does not need code."""
    if request.param == "fake":
        return FakeSandbox(tmp_path / "fake", "contract")
    return await sandboxes.open(request.param, "contract")


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
