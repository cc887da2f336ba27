"""Idle sandboxes sleep and are woken with all that they had; a cap on live ones makes the rest wait."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Protocol

import pytest

from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Sandbox, SandboxLostError
from sandboxes.bridged.sandbox import BridgedSandbox
from sandboxes.daytona.client import Clients
from sandboxes.daytona.machine import DaytonaMachine
from sandboxes.daytona.options import Options
from sandboxes.host import tasks
from sandboxes.host.session_pool import Evictable, SessionPool
from sandboxes.local import LocalSandbox
from sandboxes.local.isolation import IsolationRequest
from sandboxes.local.isolation_choice import choose
from sandboxes.opening import Sandboxes
from sandboxes.results import RestoredSession
from storage.blobs import Blobs
from tests.contract.conftest import DAYTONA, printed

LIMIT = 1 << 30


class Sleeping(Sandbox, Protocol):
    """A sandbox that can be put to sleep."""

    @property
    def evictable(self) -> Evictable: ...

    async def sleep(self) -> None: ...


Make = Callable[[str, SessionPool], Awaitable[Sleeping]]


class House:
    """Sandboxes with few places, and a store for their snapshots."""

    def __init__(self, folder: Path, make: Make) -> None:
        self.snapshots = SnapshotStore(Blobs.at(str(folder / "store")))
        self.folder = folder / "threads"
        self._make = make
        self._opened: list[Sleeping] = []
        self.kept: dict[str, str] = {}
        """By sandbox, its newest snapshot."""

    async def open(self, id: str, pool: SessionPool) -> Sleeping:
        sandbox = await self._make(id, pool)
        self._opened.append(sandbox)
        return sandbox

    async def cell(self, sandbox: Sandbox, code: str, *, keep: bool = True) -> str:
        """Run a good cell, and keep the step unless told otherwise; what it printed."""
        said = printed(await sandbox.run(code, number=1, timeout=100.0, head="after"))
        if keep:
            kept = await self.snapshots.keep(sandbox, [], limit_bytes=LIMIT)
            assert not kept.why_not, kept.why_not
            self.kept[sandbox.id] = kept.snapshot
        return said

    async def wake(self, sandbox: Sandbox) -> RestoredSession:
        """Bring a sandbox to its newest snapshot."""
        return await self.snapshots.restore(sandbox, self.kept[sandbox.id], damaged=set())

    async def close(self) -> None:
        for sandbox in self._opened:
            await sandbox.close()


def make_here(folder: Path, cache: Path, isolation: str) -> Make:
    """Makes sandboxes of this machine."""

    async def make(id: str, pool: SessionPool) -> Sleeping:
        config = await asyncio.to_thread(choose, IsolationRequest("", cache, isolation))
        sandbox = await asyncio.to_thread(LocalSandbox, folder, id, config, pool=pool)
        await sandbox.open()
        return sandbox

    return make


def make_there(clients: Clients, options: Options) -> Make:
    """Makes sandboxes in Daytona, which go when they are closed."""

    async def make(id: str, pool: SessionPool) -> Sleeping:
        return BridgedSandbox(DaytonaMachine(clients, options, id), id, pool=pool, keep=False)

    return make


@pytest.fixture(params=["", "process", DAYTONA])
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    if request.param == DAYTONA:
        options: Options = request.getfixturevalue("in_daytona")
        clients = Clients(options.account)
        made = House(tmp_path, make_there(clients, options))
        yield made
        await made.close()
        await clients.close()
    else:
        made = House(tmp_path, make_here(tmp_path / "threads", request.getfixturevalue("cache"), request.param))
        yield made
        await made.close()


seen_from_outside = pytest.mark.parametrize("house", ["", "process"], indirect=True)
"""Not in Daytona: the test looks at processes, descriptors and folders of this machine."""
seen_at_once = seen_from_outside
"""Not in Daytona: nobody is connected between two cells, so the next request tells; and places there are a thousand."""


async def until(what: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not what():
            await asyncio.sleep(0.005)


async def descriptors() -> int:
    """How many this process has open, once nothing is on its way, such as a sandbox that is made ready for the next."""
    await until(lambda: asyncio.all_tasks() == {asyncio.current_task()})
    await asyncio.to_thread(tasks.wait)
    return len(list(Path("/proc/self/fd").iterdir()))


def sleepers(word: str) -> int:
    """How many programs run on this machine with a word in their arguments."""
    found = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found += word in (entry / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
            except OSError:
                continue
    return found


MAKE = """
import os
x = [1]
y = x
open('outputs/a.txt', 'w').write('kept')
os.system('sleep {} > /dev/null 2>&1 &') and None
"""
"""A process of which Python knows nothing: one that it knows is named as lost, and its session does not sleep."""


@seen_from_outside
async def test_an_idle_session_sleeps_and_is_woken_with_all_it_had(house: House) -> None:
    pool = SessionPool(capacity=2, sleep_after=0.01)
    sandbox = await house.open("one", pool)
    await house.cell(sandbox, "1", keep=False)
    await sandbox.reset()
    before = await descriptors()
    child = f"{uuid.uuid4().int % 10**8 + 10**6}.5"
    await house.cell(sandbox, MAKE.format(child), keep=False)
    await until(lambda: sleepers(child) == 1)
    await house.cell(sandbox, "z = 1")
    await until(lambda: pool.count == 0)
    await pool.close()
    assert sandbox.head == ""
    await until(lambda: sleepers(child) == 0)
    assert await descriptors() == before
    assert sorted(path.name for path in (house.folder / "one").iterdir()) == ["home", "reached", "workspace"]
    assert [file.path for file in await sandbox.files("outputs")] == ["outputs/a.txt"]
    back = await house.wake(sandbox)
    assert back.woken
    assert set(back.restored) >= {"x", "y"}
    assert sandbox.head == house.kept["one"]
    look = "y.append(2)\nprint(x, open('outputs/a.txt').read(), z)"
    assert await house.cell(sandbox, look, keep=False) == "[1, 2] kept 1\n"
    await pool.close()


async def test_waking_at_another_snapshot_is_no_mere_waking(house: House) -> None:
    sandbox = await house.open("one", SessionPool(capacity=1))
    await house.cell(sandbox, "x = 1")
    first = house.kept["one"]
    await sandbox.sleep()
    assert (await house.wake(sandbox)).woken
    assert not (await house.wake(sandbox)).woken  # it was awake
    await house.cell(sandbox, "x = 2")
    await sandbox.sleep()
    assert sandbox.head == ""
    assert not (await house.snapshots.restore(sandbox, first, damaged=set())).woken


async def test_a_session_whose_state_is_not_stored_stays_awake(house: House) -> None:
    pool = SessionPool(capacity=1, sleep_after=0.01, step_gap=0)
    sandbox = await house.open("one", pool)
    await house.cell(sandbox, "x = 1", keep=False)
    await asyncio.sleep(0.1)
    assert sandbox.head == "after"
    taken = await sandbox.snapshot(limit_bytes=LIMIT)
    await asyncio.sleep(0.1)
    assert sandbox.head == taken.id  # nobody has taken it out of the spool
    await house.cell(sandbox, "x += 1\nprint(x)", keep=False)
    await asyncio.sleep(0.1)
    assert await house.cell(sandbox, "print(x)") == "2\n"
    await until(lambda: pool.count == 0)
    await pool.close()


async def test_running_in_a_sleeping_sandbox_is_refused_and_not_begun_empty(house: House) -> None:
    pool = SessionPool(capacity=1, sleep_after=0.01)
    sandbox = await house.open("one", pool)
    await house.cell(sandbox, "x = 1")
    await until(lambda: pool.count == 0)
    with pytest.raises(SandboxLostError, match="put to sleep"):
        await sandbox.run("print('x' in dir())", number=2, timeout=60)
    await pool.close()


@seen_from_outside
async def test_a_sandbox_that_works_is_never_put_to_sleep(house: House, tmp_path: Path) -> None:
    pool = SessionPool(capacity=1, step_gap=0)
    sandbox, other = await house.open("one", pool), await house.open("two", pool)
    await house.cell(sandbox, "x = 1")
    await house.wake(sandbox)
    program = tmp_path / "program"
    program.mkdir()
    (program / "__main__.py").write_text(
        "import os, time\nwhile not os.path.exists('outputs/go'): time.sleep(0.01)\nprint('done')\n"
    )
    beside = asyncio.ensure_future(sandbox.run_program(program, [], timeout=60))
    await asyncio.sleep(0)
    waiting = asyncio.ensure_future(house.cell(other, "print('other')"))
    await asyncio.sleep(0.3)
    assert sandbox.head == house.kept["one"]
    assert not waiting.done()
    (house.folder / "one" / "workspace" / "outputs" / "go").touch()
    assert (await beside).stdout == "done\n"
    assert await waiting == "other\n"
    assert sandbox.head == ""
    await pool.close()


async def test_places_are_limited_and_given_in_order(house: House) -> None:
    pool = SessionPool(capacity=2, step_gap=0)
    sandboxes = [await house.open(f"s{number}", pool) for number in range(6)]
    most = 0

    async def work(number: int) -> str:
        nonlocal most
        said = await house.cell(sandboxes[number], f"x = {number}\nprint(x)")
        most = max(most, pool.count)
        return said

    assert await asyncio.gather(*(work(number) for number in range(6))) == [f"{number}\n" for number in range(6)]
    assert most == 2
    assert sum(sandbox.head != "" for sandbox in sandboxes) == 2
    for number in (0, 5, 3):
        if not sandboxes[number].head:
            await house.wake(sandboxes[number])
        assert await house.cell(sandboxes[number], "print(x)") == f"{number}\n"
        assert pool.count == 2
    await pool.close()


@seen_at_once
@pytest.mark.parametrize("end", ["os._exit, [3]", "os.kill, [os.getpid(), 9]"])
async def test_a_session_that_dies_between_two_cells_gives_its_place_back(house: House, end: str) -> None:
    pool = SessionPool(capacity=1)
    one, two = await house.open("one", pool), await house.open("two", pool)
    await house.cell(one, f"import os, threading\nthreading.Timer(0.5, {end}).start()", keep=False)
    assert await house.cell(two, "print(2)", keep=False) == "2\n"
    assert one.head == ""
    with pytest.raises(SandboxLostError, match="between two cells"):
        await house.cell(one, "print(1)")


async def test_a_cell_that_waits_can_be_cancelled_or_closed(house: House) -> None:
    pool = SessionPool(capacity=1)
    one, two, three = [await house.open(name, pool) for name in ("one", "two", "three")]
    await house.cell(one, "x = 1", keep=False)
    second = asyncio.ensure_future(house.cell(two, "1"))
    third = asyncio.ensure_future(house.cell(three, "1"))
    await asyncio.sleep(0.05)
    assert pool.waiting == 2
    second.cancel()
    await asyncio.wait((second,))
    assert second.cancelled()
    await three.close()
    with pytest.raises(SandboxLostError, match="closed or reset while it waited"):
        await third
    assert (pool.count, pool.waiting) == (1, 0)
    await one.close()
    assert pool.count == 0
    assert await house.cell(two, "print(2)", keep=False) == "2\n"


async def test_what_a_snapshot_lacks_is_not_given_up_for_mere_time(house: House) -> None:
    pool = SessionPool(capacity=1, sleep_after=0.01, step_gap=0)
    one, two = await house.open("one", pool), await house.open("two", pool)
    await house.cell(one, "x = (n for n in range(3))\nprint(next(x))")
    await asyncio.sleep(0.1)
    assert one.evictable == "under pressure"
    assert await house.cell(two, "print(2)") == "2\n"
    assert one.head == ""
    back = await house.wake(one)
    assert [lost.name for lost in back.lost] == ["x"]
    await pool.close()


async def test_everything_ends_when_all_are_closed(tmp_path: Path, cache: Path) -> None:
    async with Sandboxes(tmp_path / "before", cache=cache) as opened:  # the parent of sandboxes stays
        await (await opened.open("local", "first")).run("1", number=1, timeout=60)
    before = await descriptors()
    child = f"{uuid.uuid4().int % 10**8 + 10**6}.5"
    async with Sandboxes(tmp_path / "threads", cache=cache, sleep_after=0.01, max_live=2) as opened:
        snapshots = SnapshotStore(Blobs.at(str(tmp_path / "store")))
        for number in range(4):
            sandbox = await opened.open("local", f"s{number}")
            printed(await sandbox.run(MAKE.format(child), number=1, timeout=60))
            assert (await snapshots.keep(sandbox, [], limit_bytes=LIMIT)).snapshot
        await until(lambda: sleepers(child) > 0)
    await until(lambda: sleepers(child) == 0)
    assert await descriptors() == before
