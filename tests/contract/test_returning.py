"""Going back to one of the last steps wakes its frozen copy: all variables, its files, and within all limits."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from nodes.restoration.manifests import NotRestoredError
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import KeepsSteps, Sandbox, SandboxError
from sandboxes.host.limits import MEGABYTE, Limits
from sandboxes.opening import Sandboxes
from sandboxes.results import CellResult, RestoredSession
from storage.blobs import Blobs
from tests.contract.conftest import fine, printed
from tests.process_table import descendants, end

COPIES = 2
NO_LIMITS = Limits()
FROZEN = 0.3
"""Seconds after which a session has been copied."""
SHARED = (
    (
        "f = open('outputs/log', 'w'); f.write('1'); f.flush()",
        "f.write('2'); f.flush()",
        "open('outputs/log').read(), f.tell(), os.path.samestat(os.fstat(f.fileno()), os.stat('outputs/log'))",
        "('1', 1, True)",
    ),
    (
        "open('outputs/rows', 'w').write('0123456789' * 9_000); f = open('outputs/rows'); f.read(5)",
        "f.read(50_000)",
        "f.read(3), len(f.read())",
        "('567', 89992)",
    ),
    (
        "f = np.memmap('outputs/map', dtype='i8', mode='w+', shape=(9,)); f[:] = 1",
        "f[:] = 7",
        "int(f.sum()), int(np.fromfile('outputs/map', 'i8').sum())",
        "(9, 9)",
    ),
    (
        "f = sqlite3.connect('outputs/db'); f.execute('create table t (x)')",
        "f.execute('insert into t values (1)'); f.commit()",
        "f.execute('select * from t').fetchall()",
        "[]",
    ),
    ("f = mmap.mmap(-1, 10)", "f[:3] = b'abc'", "f[:3]", "lost"),
    ("f = socket.socketpair()", "f[0].send(b'1')", "f[1].recv(1)", "lost"),
    ("f = subprocess.Popen(['sleep', '100'])", "f.kill(); f.wait()", "f.poll()", "lost"),
)  # fmt: skip
"""What a copy would share with the session: how it is made, changed and shown, and what is shown."""
LEVELS = ["namespaces", pytest.param("bwrap", marks=pytest.mark.slow), pytest.param("landlock", marks=pytest.mark.slow)]
GENERATOR = "left = (number for number in range(9)); rows = []"
"""A generator cannot be pickled: only a copy has it."""


class Thread:
    """A session whose steps are kept, with a pause after each, as a model makes."""

    def __init__(self, sandbox: Sandbox, store: SnapshotStore) -> None:
        self.sandbox, self.store = sandbox, store
        self.steps: list[str] = []

    async def run(self, code: str) -> CellResult:
        head = f"{len(self.steps) + 1:064d}"
        return await self.sandbox.run(code, number=len(self.steps) + 1, timeout=60.0, head=head)

    async def step(self, code: str, *, pause: float = FROZEN) -> str:
        fine(await self.run(code))
        kept = await self.store.keep(self.sandbox, [], limit_bytes=1 << 30)
        assert kept.snapshot, kept.why_not
        self.steps.append(kept.snapshot)
        await asyncio.sleep(pause)
        return kept.snapshot

    async def back(self, snapshot: str) -> RestoredSession:
        restored = await self.store.restore(self.sandbox, snapshot, damaged=set())
        assert self.sandbox.head == snapshot
        return restored


@asynccontextmanager
async def thread(
    folder: Path, cache: Path, *, level: str = "namespaces", limits: Limits = NO_LIMITS
) -> AsyncIterator[Thread]:
    async with Sandboxes(folder / "s", cache=cache, isolation=level, limits=limits, copies=COPIES) as opened:
        yield Thread(await opened.open("local", "thread"), SnapshotStore(Blobs.at(str(folder / "blobs"))))


@pytest.mark.parametrize("level", LEVELS)
async def test_variables_files_and_random_state_are_those_of_the_step(tmp_path: Path, cache: Path, level: str) -> None:
    async with thread(tmp_path, cache, level=level) as life:
        await life.step(GENERATOR)
        second = await life.step(
            "import random; random.seed(7); rows.append(next(left)); open('outputs/a', 'w').write('one')"
        )
        third = await life.step(
            "rows.append(next(left)); random.random()\n"
            "open('outputs/a', 'w').write('two'); open('outputs/b', 'w').write('b')"
        )
        back = await life.back(second)
        assert back.lost == ()
        assert {"left", "rows"} <= set(back.restored)
        seen = "import os; print(rows, next(left), os.listdir('outputs'), open('outputs/a').read(), random.random())"
        assert printed(await life.run(seen)) == "[0] 1 ['a'] one 0.32383276483316237\n"
        assert (await life.back(third)).lost == ()
        assert printed(await life.run("import os; print(rows, next(left), sorted(os.listdir('outputs')))")) == (
            "[0, 1] 2 ['a', 'b']\n"
        )


async def test_arrays_that_came_from_the_store_are_those_of_the_step(tmp_path: Path, cache: Path) -> None:
    """Their memory is of the session alone: what it writes there, its copies must not see."""
    async with thread(tmp_path, cache) as life:
        first = await life.step("import numpy as np; kept = np.zeros(3 << 20); small = np.zeros(10_000)")
        await life.sandbox.reset()
        await life.back(first)
        second = await life.step("rows = []")
        await life.step("kept += 5; small += 5")
        await life.back(second)
        assert printed(await life.run("print(kept.sum(), small.sum())")) == "0.0 0.0\n"


async def test_earlier_steps_than_stay_come_from_the_store(tmp_path: Path, cache: Path) -> None:
    async with thread(tmp_path, cache) as life:
        first = await life.step(GENERATOR)
        for number in range(COPIES + 1):
            await life.step(f"rows.append({number})")
        restored = await life.back(first)
        assert [one.name for one in restored.lost] == ["left"]
        assert printed(await life.run("print(rows)")) == "[]\n"


async def test_steps_of_another_branch_stay_too(tmp_path: Path, cache: Path) -> None:
    async with thread(tmp_path, cache) as life:
        first = await life.step(GENERATOR)
        second = await life.step("rows.append('one branch'); open('outputs/a', 'w').write('1')")
        await life.back(first)
        await life.step("rows.append('another')")
        assert (await life.back(second)).lost == ()
        assert printed(await life.run("print(rows, next(left), open('outputs/a').read())")) == "['one branch'] 0 1\n"


@pytest.mark.parametrize("level", LEVELS[:2])  # behind Landlock a copy cannot count its threads, and makes no other
async def test_many_branches_begin_at_one_step_though_nobody_waits(tmp_path: Path, cache: Path, level: str) -> None:
    """What each writes, into variables, arrays and files, shows in no other; the step stays in memory all the time."""
    async with thread(tmp_path, cache, level=level) as life:
        first = await life.step(
            f"import numpy as np; {GENERATOR}; kept = np.zeros(3 << 20); open('outputs/a', 'w').close()"
        )
        await life.step("rows.append('origin'); kept += 9; open('outputs/a', 'a').write('origin')")
        for number in range(1, 5):
            back = await life.back(first)
            assert back.lost == (), f"branch {number}: the generator is in a copy only"
            branch = f"rows.append({number}); kept += {number}; open('outputs/a', 'a').write('{number}')"
            await life.step(branch, pause=0.0)
            seen = printed(await life.run("print(rows, kept.min(), kept.max(), open('outputs/a').read(), next(left))"))
            assert seen == f"[{number}] {number}.0 {number}.0 {number} 0\n"


async def test_a_step_that_came_from_the_store_can_be_gone_back_to_in_memory(tmp_path: Path, cache: Path) -> None:
    async with thread(tmp_path, cache) as life:
        first = await life.step("import os; rows = [1]")
        await life.sandbox.reset()
        await life.back(first)
        sandbox = "os.stat('/proc/self/ns/pid').st_ino"
        started = printed(await life.run(f"rows.append(2); print({sandbox})")).strip()
        await life.back(first)
        assert printed(await life.run(f"print(rows, {sandbox})")) == f"[1] {started}\n", "no new one was started"


async def test_what_a_step_lacks_that_came_from_the_store_is_named_each_time(tmp_path: Path, cache: Path) -> None:
    async with thread(tmp_path, cache) as life:
        first = await life.step(GENERATOR)
        await life.sandbox.reset()
        for _ in range(2):
            assert [one.name for one in (await life.back(first)).lost] == ["left"]
            fine(await life.run("rows.append(1)"))


@pytest.mark.slow
async def test_what_a_cell_starts_right_after_going_back_is_left_alone(tmp_path: Path, cache: Path) -> None:
    """Giving back the memory of what was ended takes a while; that must end nothing of the new session."""
    async with thread(tmp_path, cache) as life:
        first = await life.step("import subprocess; held = None")
        fine(await life.run("held = bytearray(b'1' * 400_000_000)"))
        assert (await life.back(first)).lost == ()
        started = (
            "child = subprocess.Popen(['cat'], stdin=subprocess.PIPE); sum(range(20_000_000))\n"
            "child.stdin.close(); print(child.wait(), held)"
        )
        assert printed(await life.run(started)) == "0 None\n"


async def test_after_a_death_the_copies_of_earlier_steps_are_still_there(tmp_path: Path, cache: Path) -> None:
    async with thread(tmp_path, cache) as life:
        first = await life.step(GENERATOR)
        second = await life.step("import os; rows.append(1)")
        assert (await life.run("os.kill(os.getpid(), 9)")).recovered == "copy"
        assert life.sandbox.head == second
        assert (await life.back(first)).lost == ()
        assert printed(await life.run("print(rows, next(left))")) == "[] 0\n"


async def test_a_copy_that_was_killed_is_no_loss(tmp_path: Path, cache: Path) -> None:
    async with thread(tmp_path, cache) as life:
        first = await life.step(GENERATOR)
        await life.step("import os, signal; rows.append(1)")
        # Every other process of the sandbox but its first, and this one.
        fine(
            await life.run(
                "own = (1, os.getpid())\n"
                "[os.kill(int(one), 9) for one in os.listdir('/proc') if one.isdigit() and int(one) not in own]"
            )
        )
        assert [one.name for one in (await life.back(first)).lost] == ["left"]
        assert printed(await life.run("print(rows)")) == "[]\n"


@pytest.mark.slow
async def test_copies_give_way_to_a_cell_that_needs_their_memory(tmp_path: Path, cache: Path) -> None:
    limits = Limits(memory=600 * MEGABYTE)
    async with thread(tmp_path, cache, limits=limits) as life:
        first = await life.step(GENERATOR)
        await life.step("held = bytearray(b'1' * 120_000_000)")
        await life.step("held = bytearray(b'2' * 120_000_000)")
        grown = (
            "import time\nheld = None; more = bytearray(300_000_000)\n"
            "for at in range(0, len(more), 4096): more[at] = 1\ntime.sleep(0.5)\nprint(len(more))"
        )
        assert printed(await life.run(grown)) == "300000000\n"
        assert [one.name for one in (await life.back(first)).lost] in ([], ["left"])


async def test_copies_end_with_their_sandbox(tmp_path: Path, cache: Path) -> None:
    async with thread(tmp_path, cache) as life:
        for number in range(COPIES + 2):
            await life.step(f"x = {number}")
        counted = "import os; print(sum(one.isdigit() for one in os.listdir('/proc')))"
        assert printed(await life.run(counted)) == f"{COPIES + 3}\n", "init, the session, its standby, the copies"
        assert len(await asyncio.to_thread(in_sandboxes)) >= COPIES + 1
        await life.sandbox.close()
        assert await asyncio.to_thread(in_sandboxes) == set()


def in_sandboxes() -> set[int]:
    """The processes of this one that work in a workspace."""
    found = set()
    for pid in descendants(os.getpid()):
        with suppress(OSError):
            if Path(f"/proc/{pid}/cwd").readlink().name == "workspace":
                found.add(pid)
    return found


async def test_a_session_with_threads_is_restored_from_the_store(tmp_path: Path, cache: Path) -> None:
    async with thread(tmp_path, cache) as life:
        first = await life.step("rows = [1]")
        await life.step(
            "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start(); rows.append(2)"
        )
        assert isinstance(life.sandbox, KeepsSteps)
        await life.back(first)
        assert printed(await life.run("print(rows, 'threading' in globals())")) == "[1] False\n"


async def test_a_cancelled_return_leaves_a_sandbox_that_works(tmp_path: Path, cache: Path) -> None:
    async with thread(tmp_path, cache) as life:
        first = await life.step("rows = [1]")
        await life.step("rows.append(2)")
        going = asyncio.create_task(life.back(first))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        going.cancel()
        with pytest.raises(asyncio.CancelledError):
            await going
        await life.back(first)
        assert printed(await life.run("print(rows)")) == "[1]\n"


async def test_a_session_that_was_killed_with_its_copies_comes_from_the_store(tmp_path: Path, cache: Path) -> None:
    async with thread(tmp_path, cache) as life:
        first = await life.step(GENERATOR)
        await life.step("rows.append(1)")
        await asyncio.to_thread(lambda: end(in_sandboxes()))
        restored = await life.back(first)
        assert [one.name for one in restored.lost] == ["left"]
        assert printed(await life.run("print(rows)")) == "[]\n"


@pytest.mark.slow
async def test_a_copy_that_is_killed_while_it_takes_over_is_no_loss(tmp_path: Path, cache: Path) -> None:
    async with thread(tmp_path, cache) as life:
        first = await life.step("rows = [1]; open('outputs/a', 'w').write('one')")
        for _ in range(3):
            await life.step("rows.append(2); open('outputs/a', 'w').write('two')", pause=0.0)
            going = asyncio.create_task(life.store.restore(life.sandbox, first, damaged=set()))
            await asyncio.to_thread(lambda: end(in_sandboxes()))
            with suppress(SandboxError, NotRestoredError):  # what restored it from the store was killed, too
                await going
            await life.back(first)  # it may have been killed once it had taken over
            assert printed(await life.run("print(rows, open('outputs/a').read())")) == "[1] one\n"


@pytest.mark.slow
async def test_what_a_copy_would_share_comes_from_the_store(tmp_path: Path, cache: Path) -> None:
    """Files, pipes, memory and children are the same for a session and its copies: later cells change them in both."""
    async with thread(tmp_path, cache) as life:
        await life.step("import os, mmap, socket, sqlite3, subprocess; import numpy as np")
        for made, changed, shown, expected in SHARED:
            step = await life.step(made)
            await life.step(changed)
            lost = (await life.back(step)).lost
            seen = printed(await life.run(f"print(({shown}) if 'f' in globals() else 'lost')"))
            assert (seen, [one.name for one in lost]) == (f"{expected}\n", ["f"] * (expected == "lost")), made
            await life.step("f = None")


@pytest.mark.slow
async def test_a_killed_cell_leaves_nothing_that_its_copy_took_over(tmp_path: Path, cache: Path) -> None:
    """Links, folders, permissions and contents with the same size and time are changes, too."""
    shown = "os.listdir('outputs'), os.readlink('link'), os.stat('a').st_mode & 0o777, open('a').read()"
    async with thread(tmp_path, cache) as life:
        step = await life.step("import os; os.symlink('a', 'link'); open('a', 'w').write('aa'); os.utime('a', (5, 5))")
        before = printed(await life.run(f"print({shown})"))
        for change in (
            "os.makedirs('outputs/new')",
            "os.remove('link'); os.symlink('b', 'link')",
            "os.chmod('a', 0o600)",
            "open('a', 'r+').write('bb'); os.utime('a', (5, 5))",
        ):
            await life.back(step)
            await asyncio.sleep(FROZEN)
            assert (await life.run(f"{change}; os.kill(os.getpid(), 9)")).recovered == "files", change
            await life.back(step)
            assert printed(await life.run(f"print({shown})")) == before, change


async def test_files_that_could_not_be_kept_are_named_again(tmp_path: Path, cache: Path) -> None:
    async with thread(tmp_path, cache) as life:
        step = await life.step("import os; os.symlink('/etc', 'outputs/out'); left = (n for n in 'ab')")
        await life.step("os.remove('outputs/out')")
        assert [(one.name, one.type) for one in (await life.back(step)).lost] == [("outputs/out", "file")]
        assert printed(await life.run("print(next(left), os.listdir('outputs'))")) == "a []\n"
