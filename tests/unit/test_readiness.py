"""A server is ready once a cell with a figure and a snapshot has run on it, and says why none can."""

import asyncio
import gc
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from graph.settings import Settings
from graph.wiring import make_blobs, make_sandboxes
from sandboxes.opening import Sandboxes
from server.readiness import PREFIX, Readiness
from tests.daytona.elsewhere import in_emulator
from tests.daytona.emulator import Emulator
from tests.serving import serving

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    """What the tests froze is thawed for one, and frozen again: each collection would go through it, for a second."""
    thresholds = gc.get_threshold()
    gc.unfreeze()
    yield
    gc.freeze()
    gc.set_threshold(*thresholds)


def readiness_of(settings: Settings, sandboxes: Sandboxes) -> Readiness:
    return Readiness(settings, sandboxes, make_blobs(settings), settings.home / "uploads")


def collections_while(make: Callable[[], list[object]]) -> int:
    """How often garbage is looked for while something makes objects that stay."""
    gc.collect()
    started: list[str] = []
    gc.callbacks.append(note := lambda phase, _: started.append(phase))
    made = make()
    gc.callbacks.remove(note)
    assert made
    return started.count("start")


def left(settings: Settings) -> list[str]:
    return [path.name for path in (settings.home / "threads").glob(f"{PREFIX}*")]


async def test_it_is_ready_once_a_cell_has_run_and_leaves_nothing_behind(settings: Settings) -> None:
    async with make_sandboxes(settings) as sandboxes:
        readiness = readiness_of(settings, sandboxes)
        assert await readiness.checks() == {"data folder": True, "uploads": True, "snapshots": True, "cells": False}
        await readiness.run_trial()
        assert all((await readiness.checks()).values())
        assert await asyncio.to_thread(left, settings) == []
        assert sandboxes.counts == {"active": 0, "sleeping": 0, "waiting": 0}
        assert gc.get_freeze_count() > 0  # no collection goes through all that was imported again
        assert collections_while(lambda: [{} for _ in range(5_000)]) == 0  # as many as a long prompt has
        assert collections_while(lambda: [{} for _ in range(50_000)]) > 0


def broken_python(folder: Path) -> str:
    python = folder / "python"
    python.write_text("#!/bin/sh\nexit 3\n")
    python.chmod(0o755)
    return str(python)


async def test_where_no_cell_can_run_it_is_known_why_and_tried_again(settings: Settings, tmp_path: Path) -> None:
    broken = settings.model_copy(update={"python": await asyncio.to_thread(broken_python, tmp_path)})
    async with make_sandboxes(broken) as sandboxes:
        readiness = readiness_of(broken, sandboxes)
        proving = asyncio.create_task(readiness.run_trial())
        while not readiness.problem:
            await asyncio.sleep(0.05)
        assert broken.python in readiness.problem
        assert (await readiness.checks())["cells"] is False
        assert not proving.done()  # what is missing may come
        proving.cancel()
        await asyncio.wait([proving])


@pytest.mark.slow
async def test_where_no_cell_can_run_here_it_may_run_in_daytona_for_whoever_has_a_token(
    settings: Settings, tmp_path: Path
) -> None:
    broken = settings.model_copy(update={"python": await asyncio.to_thread(broken_python, tmp_path)})
    async with Emulator() as emulated:
        account = {"daytona_jwt_token": SecretStr(emulated.api_key), "daytona_organization_id": "ours"}
        there = in_emulator(broken, emulated).model_copy(update={"daytona_api_key": SecretStr(""), **account})
        async with make_sandboxes(there) as sandboxes:
            readiness = readiness_of(there, sandboxes)
            await readiness.run_trial()
            assert readiness.cells
            assert emulated.states() == {}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.xdist_group("readiness")
def test_a_server_on_which_no_cell_can_run_is_not_ready_and_its_log_says_why(tmp_path: Path) -> None:
    with serving(tmp_path / "server", {"STEPWELL_PYTHON": broken_python(tmp_path)}) as served:
        while b"No cell can run on this server, so it is not ready: local: " not in served.log.read_bytes():
            assert httpx.get(f"{served.url}/stepwell/health").status_code == 200
            time.sleep(0.1)
        answer = httpx.get(f"{served.url}/stepwell/ready")
        assert (answer.status_code, answer.json()["checks"]["cells"]) == (503, False)
        assert httpx.get(f"{served.url}/stepwell/health").status_code == 200
