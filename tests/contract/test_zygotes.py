"""Sandboxes that one zygote forked share nothing but its packages; zygotes are renewed, and none stays behind."""

import asyncio
import contextlib
import gc
import os
import resource
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandboxes.base import SandboxUnavailableError
from sandboxes.host import tasks, workspace
from sandboxes.host.processes import Order, StartedProcess
from sandboxes.local.isolation import IsolationConfig, IsolationRequest
from sandboxes.local.isolation_choice import choose
from sandboxes.local.zygote import ZygotePool
from sandboxes.local.zygote_process import StartInZygote
from sandboxes.opening import Sandboxes
from tests.contract.conftest import printed


async def test_two_sandboxes_draw_different_numbers(sandboxes: Sandboxes) -> None:
    code = "import random, numpy, secrets\nprint(random.random(), numpy.random.rand(), secrets.token_hex(8))"
    drawn = []
    for name in ("one", "two", "three"):
        sandbox = await sandboxes.open("local", name)
        drawn += printed(await sandbox.run(code, number=1, timeout=60)).split()
    assert len(set(drawn)) == 9


async def test_what_one_changes_in_a_package_the_next_does_not_see(sandboxes: Sandboxes) -> None:
    first = await sandboxes.open("local", "first")
    printed(await first.run("import pandas, sys\npandas.x = 1; sys.modules['extra'] = pandas", number=1, timeout=60))
    second = await sandboxes.open("local", "second")
    seen = await second.run(
        "import pandas, sys\nprint(hasattr(pandas, 'x'), 'extra' in sys.modules)", number=1, timeout=60
    )
    assert printed(seen) == "False False\n"


async def test_what_is_rehearsed_while_a_sandbox_waits_is_not_seen_in_it(sandboxes: Sandboxes) -> None:
    """Neither names nor lines of it, and no package that the zygote had not imported."""
    code = """
import gc, linecache, os, sys
state = sys.modules["stepwell_kernel.snapshots.session_state.interpreter_state"]
print(sorted(set(sys.modules) - state.imported()))
print("REHEARSED" in os.environ, "rehearsed" in globals(), "<cell 0>" in linecache.cache, end=" ")
import pandas
print(sum(type(one) is pandas.DataFrame for one in gc.get_objects()))
"""
    await sandboxes.open("local", "first")  # the pool is filled meanwhile
    await asyncio.sleep(1.0)
    sandbox = await sandboxes.open("local", "second")
    assert printed(await sandbox.run(code, number=1, timeout=60)) == "[]\nFalse False False 0\n"


async def test_threads_in_a_folder_that_sandboxes_see_are_hidden_from_each_other(cache: Path) -> None:
    """As when the data folder lies in the environment that cells run in; and one right below `/tmp` hides nothing."""
    for place in (Path(sys.prefix) / f"stepwell-test-{os.getpid()}", Path(f"/tmp/stepwell-test-{os.getpid()}")):
        try:
            async with Sandboxes(place / "threads", cache=cache) as opened:
                other = await opened.open("local", "other")
                printed(await other.run("open('outputs/secret.txt', 'w').write('x')", number=1, timeout=60))
                secret = place / "threads" / "other" / "workspace" / "outputs" / "secret.txt"
                code = f"import os, tempfile\ntempfile.TemporaryFile()\nprint(os.path.exists({str(secret)!r}))"
                sandbox = await opened.open("local", "curious")
                assert printed(await sandbox.run(code, number=1, timeout=60)) == "False\n"
                assert not (await sandbox.snapshot(limit_bytes=1 << 20)).refused
        finally:
            await asyncio.to_thread(shutil.rmtree, place)


@pytest.fixture
async def config(cache: Path) -> IsolationConfig:
    return await asyncio.to_thread(choose, IsolationRequest("", cache))


def order(folder: Path) -> dict[str, Any]:
    """A sandbox that waits for nobody: it begins in the system's own folder and ends when its connection does."""
    places = {"workspace": folder / "workspace", "inputs": folder / "workspace" / "inputs"}
    for place in places.values():
        place.mkdir(parents=True, exist_ok=True)
    return {
        "workspace": "/workspace",
        "environment": {"PATH": "/usr/bin"},
        "folders": {name: (str(place), True) for name, place in places.items()},
        "hidden": [],
        "kernel": {},
    }


@pytest.mark.slow
def test_a_zygote_is_renewed_and_the_old_one_ends_with_its_last_sandbox(
    config: IsolationConfig, tmp_path: Path
) -> None:
    pool = ZygotePool(max_forks=2)
    try:
        first = pool.begin(config, order(tmp_path / "1"))
        old = first.zygote
        second = pool.begin(config, order(tmp_path / "2"))
        third = pool.begin(config, order(tmp_path / "3"))
        assert old is second.zygote
        assert old is not third.zygote
        assert old is not None
        for ready in (first, second):
            assert old.alive
            pool.ended(ready)
            ready.close()
        until = time.monotonic() + 10
        while old.alive and time.monotonic() < until:
            time.sleep(0.01)
        assert not old.alive
        pool.ended(third)
        third.close()
    finally:
        pool.close()


def test_a_zygote_without_packages_ends_with_the_session_that_wanted_it(
    config: IsolationConfig, tmp_path: Path
) -> None:
    pool, bare = ZygotePool(), replace(config, bare=True)
    try:
        pool.start(bare)
        pool.refill(bare)
        only = pool.begin(bare, order(tmp_path / "1"))
        zygote = only.zygote
        assert zygote is not None
        pool.refill_later(bare)
        pool.ended(only)
        only.close()
        zygote._process.wait()
    finally:
        pool.close()


@pytest.mark.slow
def test_a_zygote_that_died_is_replaced(config: IsolationConfig, tmp_path: Path) -> None:
    pool = ZygotePool()
    try:
        first = pool.begin(config, order(tmp_path / "1"))
        assert first.zygote is not None
        first.zygote._process.kill()
        first.zygote._process.wait()
        second = pool.begin(config, order(tmp_path / "2"))
        assert second.zygote is not None
        assert second.zygote.alive
        for ready in (first, second):
            ready.close()
    finally:
        pool.close()


@pytest.mark.slow
def test_a_start_for_which_descriptors_are_wanting_costs_no_other_sandbox(
    config: IsolationConfig, tmp_path: Path
) -> None:
    pool = ZygotePool()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    first = pool.begin(config, order(tmp_path / "first"))
    zygote = first.zygote
    said = order(tmp_path / "others")
    try:
        assert zygote is not None
        before, refused = descriptors(), 0
        for free in range(14):
            resource.setrlimit(resource.RLIMIT_NOFILE, (before + 40, limits[1]))
            taken = all_descriptors()
            try:
                for _ in range(free):
                    os.close(taken.pop())
                ready = pool.begin(config, said)
            except SandboxUnavailableError:
                refused += 1
                continue
            finally:
                for descriptor in taken:
                    os.close(descriptor)
                resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            ready.close()
            pool.ended(ready)
        assert refused > 5
        assert zygote.alive
        last = pool.begin(config, said)
        assert last.zygote is zygote
        last.close()
        pool.ended(last)
        assert descriptors() <= before
    finally:
        first.close()
        pool.close()


def all_descriptors() -> list[int]:
    """Every descriptor that can still be had."""
    taken: list[int] = []
    while True:
        try:
            taken.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            return taken


@pytest.mark.skipif(
    not os.access("/sys/fs/cgroup/pids/cgroup.procs", os.W_OK), reason="no control group for processes can be made here"
)
def test_a_fork_that_is_refused_costs_no_other_sandbox(config: IsolationConfig, tmp_path: Path) -> None:
    pool = ZygotePool()
    group = Path(f"/sys/fs/cgroup/pids/stepwell-test-{os.getpid()}")
    with contextlib.ExitStack() as opened:
        opened.callback(pool.close)
        first = pool.begin(config, order(tmp_path / "first"))
        opened.callback(first.close)
        assert first.zygote is not None
        outer = first.zygote._process.pid
        inner = Path(f"/proc/{outer}/task/{outer}/children").read_text().split()
        group.mkdir()
        (group / "cgroup.procs").write_text(inner[0])
        (group / "pids.max").write_text("1")
        for number in range(3):
            ready = pool.begin(config, order(tmp_path / str(number)))
            ready.init.settimeout(10)
            with contextlib.suppress(ConnectionResetError):
                assert ready.init.recv(1_000) == b"", "nobody was forked"
            ready.close()
            pool.ended(ready)
        (group / "pids.max").write_text("max")
        last = pool.begin(config, order(tmp_path / "last"))
        opened.callback(last.close)
        assert last.zygote is first.zygote
        assert first.zygote.alive
    until = time.monotonic() + 10
    while group.exists() and time.monotonic() < until:
        with contextlib.suppress(OSError):
            group.rmdir()


def made(folder: Path) -> Path:
    """A sandbox's folder."""
    workspace.make_all(folder, folder.parent / "cache")
    return folder


async def leave(connection: StartedProcess) -> None:
    connection.process.kill()
    await connection.process.gone
    for end in (connection.control, connection.stdout, connection.stderr):
        end.close()
    await asyncio.sleep(0.05)


def test_a_sandbox_that_ends_while_its_event_loop_is_closed_is_no_error(
    config: IsolationConfig, tmp_path: Path
) -> None:
    complaints: list[dict[str, Any]] = []
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda _, said: complaints.append(said))
    try:
        connection = loop.run_until_complete(StartInZygote(config)(Order(made(tmp_path / "1"))))
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.run_until_complete(leave(connection))
    finally:
        loop.close()
    gc.collect()
    assert complaints == []


async def test_a_start_that_is_cancelled_leaves_nothing_behind(config: IsolationConfig, tmp_path: Path) -> None:
    await leave(await StartInZygote(config)(Order(await asyncio.to_thread(made, tmp_path / "first"))))
    before = await asyncio.to_thread(descriptors)
    cancelled = 0
    for number in range(8):
        folder = await asyncio.to_thread(made, tmp_path / str(number))
        starting = asyncio.ensure_future(StartInZygote(config)(Order(folder)))
        await asyncio.sleep(0.001 * number)
        starting.cancel()
        await asyncio.wait((starting,))
        cancelled += starting.cancelled()
        if not starting.cancelled():
            await leave(starting.result())
    assert cancelled
    async with asyncio.timeout(20):
        while await asyncio.to_thread(descriptors) > before:
            await asyncio.sleep(0.01)


def descriptors() -> int:
    """How many this process has open, once the next sandbox is ready."""
    tasks.wait()
    return len(list(Path("/proc/self/fd").iterdir()))
