"""Threads in PostgreSQL and blobs on an S3-compatible server: any machine goes on with any thread, one at a time.

A machine here is a process with a data folder of its own: no file is shared but through the database and the server.
"""

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

import stepwell
from graph.events import CellFinished, Event, Failed, Finished, SessionRestored
from graph.settings import Settings
from stepwell.cleanup import delete, gc
from stepwell.forks import fork_thread
from stepwell.runs import resume, start
from stepwell.threads import list_threads, read_thread
from tests.analyses import follow, last, only, with_model
from tests.crashing import THREAD
from tests.integration.test_blobs_on_s3 import Store, environment_of
from tests.integration.test_blobs_on_s3 import store as store  # a fixture
from tests.integration.test_giving_up import BIG, LAST, gone_steps, next_cell, run_cells
from tests.integration.test_resume import ending
from tests.other_process import wait_for_file
from tests.postgres_server import PostgresServer
from tests.scripted_model import Call, Scripted, ScriptedServer
from tests.steady_model import steady

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("postgres")]

PLAN: Scripted = Call("submit_plan", steps=["Count"])
FLAG = "import pathlib, time\npathlib.Path('outputs/flag').touch()\ntime.sleep({0})\n"
WAITS = (
    "import pathlib, time\npathlib.Path('outputs/flag').touch()\nuntil = time.monotonic() + 60\n"
    "while time.monotonic() < until and not pathlib.Path('inputs/go').exists(): time.sleep(0.05)\n"
)


class Machines:
    """Machines that share a database and a store."""

    def __init__(self, settings: Settings, database: str, store: Store) -> None:
        shared = {
            "database_url": SecretStr(database),
            "blobs": store.url,
            "artifacts": f"s3://{store.bucket}/artifacts",
        }
        self._settings = settings.model_copy(update=shared)
        self._database = database
        self._begun: list[subprocess.Popen[str]] = []
        self.model = ""
        self.isolation = "process"

    def __getitem__(self, name: str) -> Settings:
        """The settings of the machine of that name."""
        settings = self._settings.model_copy(update={"home": self._settings.home / name, "isolation": self.isolation})
        return with_model(settings, self.model) if self.model else settings

    def environment(self, name: str) -> dict[str, str]:
        return {**environment_of(self[name]), "STEPWELL_DATABASE_URL": self._database}

    def begin(self, name: str, *arguments: str) -> "subprocess.Popen[str]":
        """Begin the command on a machine."""
        line = [sys.executable, "-c", "from stepwell.command import main; main()", *arguments]
        begun = subprocess.Popen(
            line, env=self.environment(name), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._begun.append(begun)
        return begun

    def end(self) -> None:
        """End what a failed test left."""
        for process in self._begun:
            if process.poll() is None:
                process.kill()
            process.communicate()

    async def run(self, name: str, *arguments: str) -> list[dict[str, Any]]:
        """Run the command on a machine; what it told."""
        process = await asyncio.to_thread(self.begin, name, *arguments, "--json")
        out, errors = await asyncio.to_thread(process.communicate)
        assert process.returncode == 0, errors
        return [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def machines(settings: Settings, postgres: PostgresServer, store: Store) -> Iterator[Machines]:
    made = Machines(settings, postgres.new_database(), store)
    yield made
    made.end()


def cell(number: int, code: str = "") -> Call:
    """A cell that keeps a variable and adds a line to a file."""
    own = f"x{number} = {number}\nopen('outputs/log.txt', 'a').write('{number}\\n')\n"
    return Call("run_python", purpose=f"count {number}", step=1, code=own + code)


async def finished(process: "subprocess.Popen[str]") -> tuple[str, str]:
    return await asyncio.to_thread(process.communicate)


async def test_each_machine_goes_on_where_another_stopped_with_variables_files_and_inputs(
    machines: Machines, tmp_path: Path
) -> None:
    table = tmp_path / "prices.csv"
    table.write_text("item,price\nbread,3\n")
    look = "assert x1 == 1\nassert 'bread' in open('inputs/prices.csv').read()\n"
    look += "assert open('outputs/log.txt').read() == '1\\n2\\n'"
    again = "assert x1 + x2 == 3\nassert open('outputs/log.txt').read() == '1\\n2\\n3\\n'"
    script = [PLAN, cell(1), *ending(), PLAN, cell(2, look), *ending(), PLAN, cell(3, again), *ending()]
    async with ScriptedServer(script) as server:
        machines.model = server.base_url
        thread = last(await follow(start("Count", files=[table], settings=machines["one"])), Finished).thread
        table.unlink()
        for name in ("two", "one"):
            last(await follow(start("And now?", thread=thread, settings=machines[name])), Finished)
    for name in ("one", "two", "three"):
        assert [one.id for one in await list_threads(settings=machines[name])] == [thread]
    told = (await read_thread(thread, machines["three"])).state
    assert [one["status"] for one in told["cells"]] == ["ok", "ok", "ok"], told["cells"][-1]["error"]
    log = await machines.run("three", "log", thread)
    assert len(log) == 3


async def test_only_one_machine_works_on_a_thread_at_a_time(machines: Machines) -> None:
    async with ScriptedServer([PLAN, cell(1), *ending(), PLAN, cell(2, WAITS), *ending()]) as server:
        machines.model = server.base_url
        thread = last(await follow(start("Count", settings=machines["one"])), Finished).thread
        working = await asyncio.to_thread(machines.begin, "one", "ask", thread, "More")
        flag = await wait_for_file(machines["one"].home / "threads", "*/workspace/outputs/flag")
        refused = await asyncio.to_thread(machines.begin, "two", "ask", thread, "Me too")
        _, errors = await finished(refused)
        (flag.parents[1] / "inputs" / "go").touch()
        assert refused.returncode == 2
        assert "is being worked on by another process" in errors
        _, errors = await finished(working)
        assert working.returncode == 0, errors


async def gone_on_with_after_a_kill(machines: Machines) -> list[Event]:
    """Kill machine one in the cell that raises the flag, and have machine two go on."""
    killed = await asyncio.to_thread(machines.begin, "one", "run", "Count")
    await wait_for_file(machines["one"].home / "threads", "*/workspace/outputs/flag")
    killed.send_signal(signal.SIGKILL)
    await finished(killed)
    thread = (await list_threads(settings=machines["two"]))[0].id
    return await follow(resume(thread, settings=machines["two"]))


async def test_what_a_killed_machine_was_at_is_gone_on_with_on_another_and_nothing_is_applied_twice(
    machines: Machines,
) -> None:
    last_one = "assert open('outputs/log.txt').read() == '1\\n3\\n', open('outputs/log.txt').read()"
    script = [PLAN, cell(1), cell(2, FLAG.format(60)), cell(3, last_one), *ending()]
    async with ScriptedServer(script) as server:
        machines.model = server.base_url
        events = await gone_on_with_after_a_kill(machines)
    # Whether the broken-off cell had reached outside stands on the other machine: it is not run again, and it is said.
    assert [event.cell["status"] for event in only(events, CellFinished)] == ["unknown", "ok"]
    assert (only(events, SessionRestored)[0].from_cell, only(events, SessionRestored)[0].cells) == (1, 0)
    assert last(events, Finished).answer == "Done."


async def test_a_cell_that_could_not_reach_outside_runs_again_on_another_machine(machines: Machines) -> None:
    machines.isolation = ""  # the best that works here
    script = [PLAN, cell(1), cell(2, FLAG.format(5)), cell(3), *ending()]
    async with ScriptedServer(script) as server:
        machines.model = server.base_url
        events = await gone_on_with_after_a_kill(machines)
    assert [event.cell["status"] for event in only(events, CellFinished)] == ["ok", "ok"]
    assert await fetched(last(events, Finished), "log.txt") == "1\n2\n3\n"


@pytest.mark.parametrize("point", ["finished", "returned"])
async def test_a_cell_that_had_finished_before_the_kill_is_not_run_on_the_other_machine(
    machines: Machines, point: str
) -> None:
    async with ScriptedServer(policy=steady([cell(1), cell(2), cell(3)])) as server:
        machines.model = server.base_url
        line = [sys.executable, "-m", "tests.crashing", point, "async"]
        killed = await asyncio.to_thread(subprocess.run, line, env=machines.environment("one"), capture_output=True)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        events = await follow(resume(THREAD, settings=machines["two"]))
    assert isinstance(events[-1], Finished)
    state = (await read_thread(THREAD, machines["three"])).state
    assert [one["status"] for one in state["cells"]] == ["ok", "ok", "ok"]
    assert (await fetched(events[-1], "log.txt")) == "1\n2\n3\n"


async def fetched(finished: Finished, name: str) -> str:
    import fsspec

    url = next(one["url"] for one in finished.artifacts if one["name"] == name)
    return await asyncio.to_thread(lambda: str(fsspec.open(url, "r").open().read()))


async def test_a_run_whose_hold_on_the_thread_is_lost_stops_and_can_be_resumed(
    machines: Machines, postgres: PostgresServer
) -> None:
    async with ScriptedServer([PLAN, cell(1, WAITS), cell(1, FLAG.format(0)), *ending()]) as server:
        machines.model = server.base_url
        run = start("Count", settings=machines["one"])
        working = asyncio.create_task(follow(run))
        flag = await wait_for_file(machines["one"].home / "threads", "*/workspace/outputs/flag")
        await asyncio.to_thread(postgres.hang_up)
        stopped = last(await working, Failed)
        assert "was lost; resume the thread" in stopped.error
        (flag.parents[1] / "inputs" / "go").touch()
        server.script.pop(0)
        replaced = machines["one"]
        events = await follow(resume(run.thread, settings=replaced))
    assert isinstance(events[-1], Finished)


async def test_the_command_pauses_on_sigterm_and_another_machine_goes_on_at_once(machines: Machines) -> None:
    async with ScriptedServer([PLAN, cell(1), cell(2, FLAG.format(60)), cell(3), *ending()]) as server:
        machines.model = server.base_url
        paused = await asyncio.to_thread(machines.begin, "one", "run", "Count")
        await wait_for_file(machines["one"].home / "threads", "*/workspace/outputs/flag")
        before = time.monotonic()
        paused.send_signal(signal.SIGTERM)
        _, errors = await finished(paused)
        assert paused.returncode == 128 + signal.SIGTERM, errors
        assert time.monotonic() - before < 30
        thread = (await list_threads(settings=machines["two"]))[0].id
        events = await follow(resume(thread, settings=machines["two"]))
    assert isinstance(events[-1], Finished)


async def test_gc_and_delete_see_what_every_machine_names(machines: Machines) -> None:
    keep = "import numpy as np\ndata = np.random.default_rng({0}).random(50_000)\nprint(data.sum())"
    script: list[Scripted] = []
    for seed in (1, 2):
        script += [PLAN, cell(1, keep.format(seed)), *ending()]
    async with ScriptedServer(script) as server:
        machines.model = server.base_url
        first = last(await follow(start("Count", settings=machines["one"])), Finished).thread
        second = last(await follow(start("Count", settings=machines["two"])), Finished).thread
    machines.model = ""
    assert (await gc(settings=machines["three"], grace=-1)).removed == 0
    await delete(first, settings=machines["two"])  # others may be at work: what it held is left to gc
    assert [one.id for one in await list_threads(settings=machines["one"])] == [second]
    assert (await gc(settings=machines["one"], grace=-1)).removed > 0
    assert (await gc(settings=machines["one"], grace=-1)).removed == 0
    async with ScriptedServer([PLAN, cell(2, "assert len(data) == 50_000"), *ending()]) as server:
        machines.model = server.base_url
        events = await follow(start("Check", thread=second, settings=machines["three"]))
    assert [event.cell["status"] for event in only(events, CellFinished)] == ["ok"]


async def test_what_one_machine_gives_up_is_said_on_all_and_what_is_kept_goes_on_anywhere(machines: Machines) -> None:
    thread = await run_cells(machines["one"], BIG.format(1), BIG.format(2), BIG.format(3))
    fork = await fork_thread(thread, step=2, new_turn=True, settings=machines["two"])
    counted = await gc(rules=LAST, dry_run=True, settings=machines["three"], grace=-1)
    swept = await gc(rules=LAST, settings=machines["two"], grace=-1)
    assert swept == counted
    assert swept.given_up == 3
    assert swept.removed_bytes > 300_000
    assert [await gone_steps(machines["three"], one) for one in (thread, fork)] == [["1", "2"], ["1"]]
    for one, seed in ((thread, 3), (fork, 2)):
        check = f"assert (big == np.random.default_rng({seed}).random(50_000)).all()"
        assert only(await next_cell(machines["three"], one, check), SessionRestored)[0].cells == 0
    async with stepwell.at(f"{thread}@1", settings=machines["one"]) as session:
        assert session.receipt.given_up.startswith("The snapshot of step 1 was given up on")
        assert (await session.run("print(len(big))")).stdout.head == "50000\n"
