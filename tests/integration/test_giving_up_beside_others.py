"""Giving up snapshots beside processes that work, killed at each of its writes, and by a server itself."""

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

from graph.checkpoints.factory import open_checkpoints
from graph.events import SessionRestored
from graph.settings import Settings
from graph.wiring import make_blobs
from stepwell.cleanup import gc
from stepwell.forks import fork_thread
from stepwell.steps import read_log
from tests.analyses import only
from tests.integration.test_giving_up import BIG, LAST, check_whole, gone_steps, make_old, next_cell, run_cells
from tests.other_process import ROOT, environment, wait_for_file
from tests.serving import serving

pytestmark = pytest.mark.slow

WAITS = (
    "import pathlib, time\npathlib.Path('outputs/flag').touch()\nuntil = time.monotonic() + 60\n"
    "while time.monotonic() < until and not pathlib.Path('outputs/go').exists(): time.sleep(0.05)\n"
)


def begin(settings: Settings, program: str, *arguments: str) -> "subprocess.Popen[str]":
    """A program in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        env=environment(settings, ""),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


async def end(process: "subprocess.Popen[str]") -> str:
    """Wait until a process has ended well; what it said."""
    said, _ = await asyncio.to_thread(process.communicate)
    assert process.returncode == 0, said
    return said


ONE_CELL = """
import asyncio, sys
from stepwell.runs import Run
from tests.analyses import follow
asyncio.run(follow(Run(sys.argv[1], code=sys.argv[2])))
"""


async def test_a_running_analysis_of_another_process_keeps_what_it_stands_on(settings: Settings) -> None:
    settings = settings.model_copy(update={"isolation": "process"})  # the cell has to see the file that lets it go on
    busy, idle = [await run_cells(settings, f"x = {n}", "y = 1", "z = 1") for n in (1, 2)]
    make_old(settings)
    process = await asyncio.to_thread(begin, settings, ONE_CELL, busy, WAITS)
    flag = await wait_for_file(settings.home / "threads", "*/workspace/outputs/flag")
    swept = await gc(rules=LAST, settings=settings)
    assert (swept.given_up, swept.busy) == (2, 1)
    flag.with_name("go").touch()
    await end(process)
    assert [await gone_steps(settings, one) for one in (busy, idle)] == [[], ["1", "2"]]
    await check_whole(settings)
    assert only(await next_cell(settings, busy, "assert x == 1"), SessionRestored)[0].cells == 0


LIVE_SESSION = """
import asyncio, pathlib, sys, time
from graph.settings import read_settings
from stepwell.services import open_services
from tests.integration.test_giving_up import BIG, run_cells

async def main():
    settings = read_settings()
    flag = settings.home / "flag"
    async with open_services(settings) as services:
        thread = await run_cells(settings, BIG.format(1), BIG.format(2), services=services)
        flag.write_text(thread)
        until = time.monotonic() + 60
        while time.monotonic() < until and not flag.with_name("go").exists():
            await asyncio.sleep(0.05)
        await run_cells(settings, BIG.format(1), thread=thread, services=services)

asyncio.run(main())
"""


async def test_a_live_session_of_another_process_writes_again_what_is_gone(settings: Settings) -> None:
    process = await asyncio.to_thread(begin, settings, LIVE_SESSION)
    flag = await wait_for_file(settings.home, "flag")
    make_old(settings)
    swept = await gc(rules=LAST, settings=settings)
    assert swept.given_up == 1
    assert swept.removed_bytes > 300_000
    flag.with_name("go").touch()
    await end(process)
    thread = await asyncio.to_thread(flag.read_text)
    await check_whole(settings)
    events = await next_cell(settings, thread, "assert (big == np.random.default_rng(1).random(50_000)).all()")
    assert only(events, SessionRestored)[0].cells == 0


KILLED_AT_EACH_WRITE = """
import asyncio, functools, os, pathlib, shutil, signal, sqlite3, sys
from graph.settings import Settings
from stepwell.cleanup import gc
from stepwell.retention import Rules

FILES = ("os.rename", "os.remove", "os.link", "os.utime")
STATEMENTS = ("insert", "delete", "update", "commit", "begin")

def sweep(home, nth):
    seen = 0
    def tick():
        nonlocal seen
        seen += 1
        if seen == nth:
            os.kill(os.getpid(), signal.SIGKILL)
    def said(statement):
        if statement.lower().startswith(STATEMENTS):
            tick()
    def hear(event, arguments):
        if event in FILES and str(home / "blobs") in str(arguments[0]):
            tick()
    class Traced(sqlite3.Connection):
        def __init__(self, *arguments, **named):
            super().__init__(*arguments, **named)
            self.set_trace_callback(said)
    sqlite3.connect = functools.partial(sqlite3.connect, factory=Traced)
    sys.addaudithook(hear)
    asyncio.run(gc(rules=Rules(keep_last=1), settings=Settings(home=home)))
    os._exit(0)

home = pathlib.Path(sys.argv[1])
for nth in range(1, 1_000):
    copy = home.with_name(f"killed-{nth}")
    shutil.copytree(home, copy)
    child = os.fork()
    if not child:
        sweep(copy, nth)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        assert os.WEXITSTATUS(status) == 0
        break
"""


def files_in(settings: Settings) -> set[str]:
    return {file.name for file in (settings.home / "blobs").glob("??/*")}


async def rows_in(settings: Settings) -> dict[str, set[str]]:
    async with open_checkpoints(settings) as saver:
        return {thread: set(its) for thread, its in (await saver.all_given_up()).items()}


async def snapshots_in(settings: Settings) -> set[str]:
    """The snapshots that the steps of all threads name."""
    async with open_checkpoints(settings) as saver:
        threads = [head.thread for head in await saver.newest_threads(limit=100)]
    cells = [step.cell for thread in threads for step in (await read_log(thread, settings))[1].steps]
    return {cell.get("snapshot", "") for cell in cells if cell is not None} - {""}


async def check_said(settings: Settings) -> None:
    """No thread names a snapshot that is gone and that it has not given up."""
    async with open_checkpoints(settings) as saver:
        named, given = await saver.hashes_by_thread(), await saver.all_given_up()
    snapshots = await snapshots_in(settings)
    there = await make_blobs(settings).has(snapshots)
    for one, names in named.items():
        its = {name for name in names if name in snapshots}
        assert its - there <= given.get(one, {}).keys()


async def test_killed_at_any_write_it_leaves_steps_that_are_whole_or_said_to_be_given_up(settings: Settings) -> None:
    thread = await run_cells(settings, BIG.format(1), BIG.format(2), BIG.format(3))
    await fork_thread(thread, step=2, new_turn=True, settings=settings)
    await run_cells(settings, "x = 1", "x = 2")
    make_old(settings)
    said = await end(await asyncio.to_thread(begin, settings, KILLED_AT_EACH_WRITE, str(settings.home)))
    homes = sorted(settings.home.parent.glob("killed-*"), key=lambda one: int(one.name.removeprefix("killed-")))
    assert len(homes) > 15, said
    whole = settings.model_copy(update={"home": homes.pop()})  # the last one came to its end
    files, rows = files_in(whole), await rows_in(whole)
    assert {len(its) for its in rows.values()} == {1, 2}
    begun = 0
    for home in homes:
        left = settings.model_copy(update={"home": home})
        begun += bool(await rows_in(left)) and files_in(left) != files
        await check_whole(left)
        await check_said(left)
        await gc(rules=LAST, settings=left)
        assert (files_in(left), await rows_in(left)) == (files, rows), home.name
    assert begun > 3  # some were killed in the middle


async def test_a_server_makes_room_by_its_settings(settings: Settings, tmp_path: Path) -> None:
    own = settings.model_copy(update={"home": tmp_path / "served" / "home"})
    thread = await run_cells(own, "x = 1", "x = 2", "x = 3")
    make_old(own)
    with serving(tmp_path / "served", settings={"STEPWELL_GC_KEEP_LAST": "1", "STEPWELL_GC_OLDER_THAN": "30d"}):
        until = time.monotonic() + 120
        while await gone_steps(own, thread) != ["1", "2"]:
            assert time.monotonic() < until, (tmp_path / "served" / "server.log").read_text()[-3000:]
            await asyncio.sleep(0.2)
    assert "2 snapshots were given up" in (tmp_path / "served" / "server.log").read_text()
    await check_whole(own)
    assert only(await next_cell(own, thread, "assert x == 3"), SessionRestored)[0].cells == 0
