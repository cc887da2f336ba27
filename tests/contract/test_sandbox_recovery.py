"""A cell that kills its session costs its own changes, not the variables from before it; limits end as data."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Sandbox
from sandboxes.host.limits import MEGABYTE, Limits
from sandboxes.opening import Sandboxes
from sandboxes.results import CellResult
from storage.blobs import Blobs
from tests.contract.conftest import DAYTONA, LEVELS, fine, opening, printed

FROZEN = 0.3
"""Seconds after which a session has been copied."""
DEATHS = {
    "a signal": "os.kill(os.getpid(), 9)",
    "a crash": "import ctypes; ctypes.string_at(0)",
    "an exit": "os._exit(3)",
    "an abort": "os.abort()",
    "a loop that ignores interrupts": "import signal; signal.signal(2, signal.SIG_IGN)\nwhile True: pass",
}
COPIES = [level for level in LEVELS if level not in ("process", "namespaces-noproc")]
"""Levels at which a session can see that it has one thread, and somebody can wake its copy."""


@pytest.fixture
async def limited(request: pytest.FixtureRequest, tmp_path: Path, cache: Path) -> AsyncIterator[Sandbox]:
    limits = Limits(
        memory=300 * MEGABYTE,
        processes=40,
        file=30 * MEGABYTE,
        workspace=60 * MEGABYTE,
        tmp=20 * MEGABYTE,
        open_files=100,
    )
    level = getattr(request, "param", "namespaces")
    async with Sandboxes(tmp_path / "sandboxes", cache=cache, isolation=level, limits=limits) as opened:
        yield await opened.open("local", "limited")


class Life:
    """Cells with a pause after each, as a model makes."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.number = 0

    async def run(self, code: str, *, head: str = "", timeout: float = 60.0) -> CellResult:
        self.number += 1
        result = await self.sandbox.run(code, number=self.number, timeout=timeout, head=head)
        await asyncio.sleep(FROZEN)
        return result


@pytest.mark.slow
@pytest.mark.parametrize("death", DEATHS)
@pytest.mark.parametrize("level", COPIES)
async def test_a_copy_from_before_the_cell_goes_on(tmp_path: Path, cache: Path, level: str, death: str) -> None:
    async with Sandboxes(tmp_path / "sandboxes", cache=cache, isolation=level) as opened:
        life = Life(await opened.open("local", "dying"))
        fine(await life.run("import os, random\nx = [1]\nrandom.seed(7)", head="one"))
        result = await life.run(f"x.append(2); random.random()\n{DEATHS[death]}", head="two", timeout=1.0)
        assert (result.status, result.recovered, result.variables_kept) == ("killed", "copy", False)
        assert 0 < result.recovery_seconds < 10
        assert "a copy frozen before the cell went on" in result.note
        assert life.sandbox.head == "one"
        again = fine(await life.run("print(x, random.random())", head="two"))
        assert again.stdout.text == "[1] 0.32383276483316237\n"


@pytest.mark.slow
async def test_sessions_die_and_go_on_again_and_again(sandboxes: Sandboxes) -> None:
    life = Life(await sandboxes.open("local", "dying"))
    fine(await life.run("import os\nx = 0", head="0"))
    for number in range(1, 4):
        assert (await life.run("os.kill(os.getpid(), 9)", head="dead")).recovered == "copy"
        assert printed(await life.run("x += 1; print(x)", head=str(number))) == f"{number}\n"


async def test_a_snapshot_can_be_taken_after_it(sandboxes: Sandboxes) -> None:
    life = Life(await sandboxes.open("local", "dying"))
    fine(await life.run("import os\nx = 5", head="one"))
    first = await life.sandbox.snapshot(limit_bytes=1 << 30)
    await asyncio.sleep(FROZEN)
    assert (await life.run("os.kill(os.getpid(), 9)", head="dead")).recovered == "copy"
    assert life.sandbox.head == first.id
    fine(await life.run("y = x + 1", head="two"))
    second = await life.sandbox.snapshot(limit_bytes=1 << 30)
    assert not second.refused
    assert printed(await life.run("print(x, y)")) == "5 6\n"


async def test_figures_are_shown_where_the_cell_shows_them_after_it(sandboxes: Sandboxes) -> None:
    life = Life(await sandboxes.open("local", "drawing"))
    fine(await life.run("import os; import matplotlib.pyplot as plt"))
    assert (await life.run("os.kill(os.getpid(), 9)")).recovered == "copy"
    drawn = fine(await life.run("plt.plot([1]); plt.show(); plt.title('second'); plt.plot([2]); plt.show()"))
    assert [display.text for display in drawn.displays] == ["figure", "figure: second"]


async def test_files_that_the_cell_changed_cost_the_head(sandboxes: Sandboxes) -> None:
    life = Life(await sandboxes.open("local", "dying"))
    fine(await life.run("import os\nx = 5", head="one"))
    result = await life.run("open('outputs/half.csv', 'w').write('1,'); os.kill(os.getpid(), 9)", head="two")
    assert result.recovered == "files"
    assert "it had changed files" in result.note
    assert life.sandbox.head == ""
    assert printed(await life.run("print(x)")) == "5\n"


async def test_so_do_files_beside_the_workspace(sandboxes: Sandboxes) -> None:
    life = Life(await sandboxes.open("local", "dying"))
    fine(await life.run("import os, tempfile\nopen(os.path.expanduser('~/kept'), 'w').close()", head="one"))
    assert (await life.run("os.kill(os.getpid(), 9)", head="two")).recovered == "copy"
    fine(await life.run("import tempfile", head="two"))
    result = await life.run("open(tempfile.gettempdir() + '/half', 'w').close(); os.kill(os.getpid(), 9)", head="two")
    assert result.recovered == "files"


THREAD = "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()"


@pytest.mark.slow
@pytest.mark.parametrize(("code", "pause"), [(THREAD, FROZEN), ("pass", 0.0)])
async def test_a_copy_from_before_an_earlier_cell_does_not_take_over(
    tmp_path: Path, cache: Path, code: str, pause: float
) -> None:
    """There is no newer one of a session that has threads by now, or to which the next cell came at once."""
    async with Sandboxes(tmp_path / "sandboxes", cache=cache, copies=1) as opened:
        sandbox = await opened.open("local", "dying")
        fine(await sandbox.run("import os\nx = [1]", number=1, timeout=60.0, head="one"))
        await sandbox.snapshot(limit_bytes=1 << 30)  # that of a step stays
        await asyncio.sleep(FROZEN)
        fine(await sandbox.run(f"x.append(2); {code}", number=2, timeout=60.0, head="two"))
        await asyncio.sleep(pause)
        result = await sandbox.run("os.kill(os.getpid(), 9)", number=3, timeout=60.0, head="three")
        assert (result.status, result.recovered, sandbox.head) == ("killed", "", "")
        assert result.note.endswith("variables are lost")


async def test_a_session_with_threads_is_not_copied(sandboxes: Sandboxes) -> None:
    life = Life(await sandboxes.open("local", "dying"))
    fine(
        await life.run(
            "import os, threading, time\nthreading.Thread(target=time.sleep, args=[60], daemon=True).start()"
        )
    )
    result = await life.run("os.kill(os.getpid(), 9)")
    assert (result.recovered, result.note.endswith("variables are lost")) == ("", True)


@pytest.mark.parametrize("kind", ["local", DAYTONA])
async def test_children_of_the_dead_are_dead_too(kind: str, request: pytest.FixtureRequest) -> None:
    async with opening(kind, request) as opened:
        life = Life(await opened.open(kind, "dying"))
        here = "import os, tempfile, time\nbeat = tempfile.gettempdir() + '/beat'\n"
        fine(await life.run(here, head="one"))
        code = (
            "child = os.fork()\nif not child:\n    os.setsid()\n    if os.fork(): os._exit(0)\n"
            "    while True: open(beat, 'a').write('x'); time.sleep(0.01)\n"
            "while not os.path.exists(beat): time.sleep(0.01)\nos.kill(os.getpid(), 9)"
        )
        dead = await life.run(code, head="two")
        assert (dead.status, dead.recovered) == ("killed", "files" if kind == "local" else "")  # it made `beat`
        size = here + "print(os.path.getsize(beat))"
        assert printed(await life.run(size)) == printed(await life.run(size))


@pytest.mark.parametrize("kind", ["local", DAYTONA])
async def test_whatever_ends_a_session_the_snapshot_from_before_the_cell_brings_all_of_it_back(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    async with opening(kind, request) as opened:
        life, snapshots = Life(await opened.open(kind, "dying")), SnapshotStore(Blobs.at(str(tmp_path / "store")))
        begin = "import os, random\nx = [1]\nrandom.seed(7)\nopen('outputs/a', 'w').write('before')"
        fine(await life.run(begin, head="one"))
        kept = await snapshots.keep(life.sandbox, [], limit_bytes=1 << 30)
        change = "x.append(2); random.random(); open('outputs/a', 'w').write('after'); open('outputs/b', 'w').close()\n"
        for death in DEATHS.values():
            dead = await life.run(change + death, head="two", timeout=1.0)
            assert (dead.status, dead.variables_kept, life.sandbox.head) == ("killed", False, "")
            back = await snapshots.restore(life.sandbox, kept.snapshot, damaged=set())
            assert back.lost == ()
            said = await life.run("print(x, random.random(), open('outputs/a').read(), os.listdir('outputs'))")
            assert printed(said) == "[1] 0.32383276483316237 before ['a']\n"


async def test_memory_that_daytona_does_not_give_is_an_error_of_the_cell(request: pytest.FixtureRequest) -> None:
    async with opening(DAYTONA, request) as opened:
        life = Life(await opened.open(DAYTONA, "small"))
        little = "import resource\nx = 1\nresource.setrlimit(resource.RLIMIT_AS, (2_000_000_000, -1))"
        fine(await life.run(little, head="one"))
        result = await life.run("y = bytearray(3_000_000_000)", head="two")
        assert result.error is not None
        assert (result.status, result.error.name, life.sandbox.head) == ("error", "MemoryError", "two")
        assert printed(await life.run("print(x)")) == "1\n"


@pytest.mark.parametrize("limited", ["namespaces", "namespaces-noproc", "bwrap", "landlock"], indirect=True)
async def test_one_process_cannot_take_more_memory_than_it_may(limited: Sandbox) -> None:
    life = Life(limited)
    fine(await life.run("import numpy as np\nx = 1", head="one"))
    result = await life.run("y = np.ones(400_000_000)")
    assert result.error is not None
    assert "MemoryError" in result.error.name
    assert result.note.startswith("memory is limited to 300 MB: read in chunks")
    assert printed(await life.run("print(x)")) == "1\n"


@pytest.mark.slow
@pytest.mark.parametrize("limited", ["namespaces", "namespaces-noproc", "bwrap", "landlock"], indirect=True)
@pytest.mark.parametrize("how", ["shared", "children"])
async def test_all_processes_together_cannot_either(limited: Sandbox, how: str) -> None:
    life = Life(limited)
    fine(await life.run("import mmap, os, time\nx = 1", head="one"))
    codes = {
        "shared": "m = mmap.mmap(-1, 2_000_000_000)\nfor at in range(0, 2_000_000_000, 4096): m[at] = 1",
        "children": "for _ in range(8):\n    if not os.fork():\n        y = b'x' * 90_000_000; time.sleep(60)\n"
        "time.sleep(60)",
    }
    result = await life.run(codes[how], timeout=30)
    assert result.status == "killed"
    # Whichever is faster: the watch, which knows how much it was, or a control group.
    assert "memory, and 300 MB are allowed, so it was ended; read in chunks" in result.note


async def test_a_fork_bomb_ends_at_the_limit_of_processes(limited: Sandbox) -> None:
    life = Life(limited)
    result = await life.run("import os, time\nn = 0\nwhile os.fork() or not time.sleep(30): n += 1", timeout=20)
    assert result.status in ("error", "killed")
    assert "40 processes" in result.note
    assert printed(await life.run("print('on')")) == "on\n"


@pytest.mark.slow
async def test_disk_files_and_descriptors_end_at_their_limits(limited: Sandbox) -> None:
    life = Life(limited)
    full = await life.run("open('/tmp/a', 'wb').write(bytes(30_000_000))")
    assert full.note.startswith("/tmp and HOME have room for 20 MB each")
    large = await life.run("open('outputs/a', 'wb').write(bytes(40_000_000))")
    assert large.note.startswith("one file may have 30 MB")
    many = await life.run("files = [open('/dev/null') for _ in range(200)]")
    assert many.note.startswith("a process may have 100 files open")
    code = "import time\nfor n in range(4): open(f'outputs/{n}', 'wb').write(bytes(25_000_000))\ntime.sleep(30)"
    over = await life.run(code, timeout=20)
    assert over.status == "killed"
    assert "and 60 MB are allowed, so the cell was ended; write less" in over.note


@pytest.mark.parametrize(
    "code",
    [
        "for n in range(16): open(f'/stepwell/spool/{n}', 'wb').write(bytes(25_000_000))",
        "open('/stepwell/reached', 'ab').write(bytes(2_000_000))",
    ],
)
async def test_what_is_written_beside_the_workspace_counts_too(limited: Sandbox, code: str) -> None:
    over = await Life(limited).run(f"import time\n{code}\ntime.sleep(60)", timeout=40)
    assert over.status == "killed"
    assert "so the cell was ended; write less" in over.note


@pytest.mark.slow
async def test_a_sandbox_that_may_compute_for_a_second_does_not_longer(tmp_path: Path, cache: Path) -> None:
    async with Sandboxes(tmp_path / "sandboxes", cache=cache, limits=Limits(cpu=2)) as opened:
        sandbox = await opened.open("local", "busy")
        result = await sandbox.run("while True: pass", number=1, timeout=30)
    assert result.status == "killed"
    assert "used up its computing time" in result.note or "was killed from outside" in result.note
