"""The emulator of Daytona, seen through the real SDK: what each endpoint does, and what is left in the end."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest
from daytona import (
    AsyncDaytona,
    AsyncSandbox,
    CreateSandboxFromImageParams,
    CreateSandboxFromSnapshotParams,
    DaytonaConfig,
    DaytonaError,
    ListSandboxesQuery,
    Resources,
    SandboxState,
)
from daytona.common.errors import (
    DaytonaAuthenticationError,
    DaytonaBadRequestError,
    DaytonaConflictError,
    DaytonaConnectionError,
    DaytonaNotFoundError,
)

from tests.daytona.clients import client_of, until
from tests.daytona.emulator import Emulator
from tests.daytona.faults import SlowStart


async def test_a_sandbox_is_made_as_asked_and_found_by_id_and_by_name(daytona: AsyncDaytona) -> None:
    made = await daytona.create(
        CreateSandboxFromSnapshotParams(
            name="one",
            snapshot="daytona-medium",
            labels={"app": "x"},
            env_vars={"A": "b"},
            auto_stop_interval=5,
            auto_delete_interval=60,
            domain_allow_list="example.org",
        )
    )
    assert made.state == "started"
    for name in (made.id, "one"):
        found = await daytona.get(name)
        assert (found.id, found.snapshot, found.labels["app"]) == (made.id, "daytona-medium", "x")
        assert (found.auto_stop_interval, found.auto_delete_interval) == (5, 60)
        assert found.domain_allow_list == "example.org"
    assert (await made.process.exec("echo $A")).result == "b\n"


async def test_a_sandbox_from_an_image_is_built_first_and_has_the_resources_asked_for(
    daytona: AsyncDaytona, emulator: Emulator
) -> None:
    emulator.faults.add(SlowStart(seconds=0.3))
    making = asyncio.create_task(
        daytona.create(
            CreateSandboxFromImageParams(name="one", image="python:3.13", resources=Resources(cpu=2, memory=4, disk=5))
        )
    )
    seen = set()
    while not making.done():
        seen |= set(emulator.states().values())
        await asyncio.sleep(0.02)
    made = await making
    assert {"pending_build", "building_snapshot", "creating"} <= seen
    assert (made.cpu, made.memory, made.disk) == (2, 4, 5)


async def test_bad_orders_are_refused(daytona: AsyncDaytona, sandbox: AsyncSandbox, emulator: Emulator) -> None:
    with pytest.raises(DaytonaConflictError, match="already exists"):
        await daytona.create(CreateSandboxFromSnapshotParams(name="one"))
    with pytest.raises(DaytonaBadRequestError, match="Snapshot nothing not found"):
        await daytona.create(CreateSandboxFromSnapshotParams(snapshot="nothing"))
    for networks in ("example.org", "10.0.0.0/33", ",".join(f"10.0.{n}.0/24" for n in range(11))):
        with pytest.raises(DaytonaBadRequestError, match="allow list"):
            await daytona.create(CreateSandboxFromSnapshotParams(network_allow_list=networks))
    with pytest.raises(DaytonaNotFoundError):
        await daytona.get("nobody")
    with pytest.raises(DaytonaBadRequestError):
        await sandbox.start()
    with pytest.raises(DaytonaBadRequestError):
        await sandbox.archive()
    assert set(emulator.states()) == {"one"}


async def test_a_bad_key_is_refused_everywhere(sandbox: AsyncSandbox, emulator: Emulator) -> None:
    async with client_of(emulator, key="wrong") as stranger:
        with pytest.raises(DaytonaAuthenticationError):
            await stranger.create()
        with pytest.raises(DaytonaAuthenticationError):
            await stranger.get("one")


async def test_a_list_is_filtered_by_labels_and_states_and_comes_in_pages(daytona: AsyncDaytona) -> None:
    for number in range(5):
        await daytona.create(CreateSandboxFromSnapshotParams(name=f"n{number}", labels={"even": str(number % 2 == 0)}))
    await (await daytona.get("n4")).stop()

    async def names(query: ListSandboxesQuery) -> list[str]:
        return [found.name async for found in daytona.list(query)]

    assert await names(ListSandboxesQuery(limit=2)) == ["n0", "n1", "n2", "n3", "n4"]
    assert await names(ListSandboxesQuery(labels={"even": "True"}, limit=2)) == ["n0", "n2", "n4"]
    assert await names(ListSandboxesQuery(labels={"even": "True", "more": "x"})) == []
    assert await names(ListSandboxesQuery(states=[SandboxState.STOPPED])) == ["n4"]


async def test_labels_intervals_and_network_rules_can_be_changed(daytona: AsyncDaytona, sandbox: AsyncSandbox) -> None:
    await sandbox.set_labels({"only": "this"})
    await sandbox.set_autostop_interval(7)
    await sandbox.set_auto_archive_interval(8)
    await sandbox.set_auto_delete_interval(9)
    await sandbox.set_ttl(10)
    await sandbox.update_network_settings(network_block_all=True)
    await sandbox.refresh_activity()
    found = await daytona.get("one")
    assert found.labels == {"only": "this"}
    assert (found.auto_stop_interval, found.auto_archive_interval, found.auto_delete_interval) == (7, 8, 9)
    assert found.network_block_all is True


async def test_files_outlive_stop_and_archive_and_processes_do_not(
    daytona: AsyncDaytona, sandbox: AsyncSandbox, emulator: Emulator
) -> None:
    context = await sandbox.code_interpreter.create_context()
    await sandbox.code_interpreter.run_code("open('kept', 'w').write('x')", context=context)
    await sandbox.process.exec("setsid sleep 1000 >/dev/null 2>&1 & env -i setsid sleep 1000 >/dev/null 2>&1 &")
    assert len(await asyncio.to_thread(emulator.processes, "one")) == 3
    await sandbox.stop()
    assert sandbox.state == "stopped"
    assert await asyncio.to_thread(emulator.processes, "one") == set()
    with pytest.raises(DaytonaBadRequestError, match="Is the Sandbox started"):
        await sandbox.process.exec("true")
    with pytest.raises(DaytonaError, match="400") as caught:
        await sandbox.fs.download_file("kept")
    assert caught.value.status_code is None  # a refused bulk download has no class of its own
    with pytest.raises(DaytonaError, match="400") as caught:
        await sandbox.code_interpreter.run_code("1", context=context)
    assert caught.value.status_code is None  # nor a refused handshake
    await sandbox.archive()
    await until(lambda: emulator.states() == {"one": "archived"})
    with pytest.raises(DaytonaNotFoundError, match="container not found"):
        await sandbox.process.exec("true")
    again = await daytona.get("one")
    await again.start()
    assert await again.fs.download_file("kept") == b"x"
    assert await again.code_interpreter.list_contexts() == []
    with pytest.raises(DaytonaConnectionError, match=r"context not found.*1008"):
        await again.code_interpreter.run_code("1", context=context)


async def test_deleting_leaves_nothing_and_frees_the_name(
    daytona: AsyncDaytona, sandbox: AsyncSandbox, emulator: Emulator
) -> None:
    await sandbox.code_interpreter.create_context()
    await sandbox.process.exec("mkdir -p shut/in; touch shut/in/file; chmod 0 shut/in shut")
    home, processes = emulator.home("one"), await asyncio.to_thread(emulator.processes, "one")
    assert processes
    await sandbox.delete(wait=True)
    assert emulator.states() == {}
    assert not await asyncio.to_thread(home.exists)
    assert not [pid for pid in processes if await asyncio.to_thread(alive, pid)]
    with pytest.raises(DaytonaNotFoundError):
        await daytona.get("one")
    await daytona.create(CreateSandboxFromSnapshotParams(name="one"))


async def test_a_change_of_state_refuses_another(daytona: AsyncDaytona, emulator: Emulator) -> None:
    emulator.faults.add(SlowStart(seconds=1.0))
    making = asyncio.create_task(daytona.create(CreateSandboxFromSnapshotParams(name="one")))
    await until(lambda: bool(emulator.states()))
    with pytest.raises(DaytonaConflictError, match="state change in progress"):
        await (await daytona.get("one")).delete()
    made = await making
    assert made.state == "started"
    await made.delete(wait=True)


async def test_the_clock_stops_archives_and_deletes(daytona: AsyncDaytona, emulator: Emulator) -> None:
    await daytona.create(CreateSandboxFromSnapshotParams(name="idle", auto_stop_interval=15))
    await daytona.create(CreateSandboxFromSnapshotParams(name="never", auto_stop_interval=0))
    await daytona.create(CreateSandboxFromSnapshotParams(name="short", ttl_minutes=30))
    await daytona.create(CreateSandboxFromSnapshotParams(name="gone", auto_delete_interval=60))
    await emulator.advance(minutes=14)
    assert set(emulator.states().values()) == {"started"}
    await emulator.advance(minutes=2)
    assert emulator.states() == {"idle": "stopped", "never": "started", "short": "stopped", "gone": "stopped"}
    await emulator.advance(minutes=60)
    assert emulator.states() == {"idle": "stopped", "never": "started"}
    await emulator.advance(minutes=7 * 24 * 60)
    assert emulator.states() == {"idle": "archived", "never": "started"}


async def test_use_keeps_a_sandbox_from_being_idle(sandbox: AsyncSandbox, emulator: Emulator) -> None:
    await emulator.advance(minutes=10)
    await sandbox.process.exec("true")
    await emulator.advance(minutes=10)
    assert emulator.states() == {"one": "started"}
    running = asyncio.create_task(sandbox.code_interpreter.run_code("import time; time.sleep(0.5); print('through')"))
    await until(lambda: emulator.counters.requests["run"] == 1)
    await emulator.advance(minutes=60)
    assert (await running).stdout == "through\n"
    assert emulator.states() == {"one": "started"}


async def test_a_cell_without_its_client_keeps_nothing_awake(sandbox: AsyncSandbox, emulator: Emulator) -> None:
    running = asyncio.create_task(sandbox.code_interpreter.run_code("print('begun')\nwhile True: pass"))
    await until(lambda: emulator.counters.frames == 1)
    running.cancel()
    await asyncio.wait([running])
    async with asyncio.timeout(20):
        while emulator.states() != {"one": "stopped"}:  # at first the server may not have seen that the client left
            await emulator.advance(minutes=20)
            await asyncio.sleep(0.01)


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


async def test_closing_leaves_neither_processes_nor_files() -> None:
    emulator = Emulator()
    await asyncio.to_thread(emulator.start)
    async with client_of(emulator) as daytona:
        sandbox = await daytona.create(CreateSandboxFromSnapshotParams(name="one"))
        context = await sandbox.code_interpreter.create_context()
        running = asyncio.create_task(sandbox.code_interpreter.run_code("while True: pass", context=context))
        await until(lambda: emulator.counters.requests["run"] == 1)
        home, processes = emulator.home("one"), await asyncio.to_thread(emulator.processes, "one")
        await asyncio.to_thread(emulator.close)
        with pytest.raises(DaytonaConnectionError):
            await running
    assert processes
    assert not [pid for pid in processes if await asyncio.to_thread(alive, pid)]
    assert not await asyncio.to_thread(home.parent.parent.exists)


async def test_it_serves_on_its_own_and_ends_with_its_standard_input() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.daytona.serve", "--key", "mine"),
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    told = json.loads(await process.stdout.readline())
    async with AsyncDaytona(DaytonaConfig(**told, target="us")) as daytona, aiohttp.ClientSession() as session:
        made = await daytona.create(CreateSandboxFromSnapshotParams(name="one"))
        home = Path(await made.get_work_dir())
        async with session.get(told["api_url"].removesuffix("/api") + "/counters") as answer:
            assert (await answer.json())["requests"]["create"] == 1
    process.stdin.close()
    assert await process.wait() == 0
    assert not await asyncio.to_thread(home.exists)


async def test_of_many_that_create_one_name_one_succeeds(daytona: AsyncDaytona, emulator: Emulator) -> None:
    made = await asyncio.gather(
        *(daytona.create(CreateSandboxFromSnapshotParams(name="one")) for _ in range(5)), return_exceptions=True
    )
    assert sum(isinstance(one, AsyncSandbox) for one in made) == 1
    assert sum(isinstance(one, DaytonaConflictError) for one in made) == 4
    assert set(emulator.states()) == {"one"}


async def test_it_can_be_closed_while_states_change() -> None:
    async with Emulator(start_seconds=1000, stop_seconds=1000) as emulator, client_of(emulator) as daytona:
        making = asyncio.create_task(daytona.create(CreateSandboxFromSnapshotParams(name="rising")))
        await until(lambda: emulator.states() == {"rising": "creating"})
        making.cancel()
        await asyncio.wait([making])


async def test_it_can_be_closed_while_a_sandbox_is_deleted() -> None:
    async with Emulator() as emulator, client_of(emulator) as daytona:
        made = await daytona.create(CreateSandboxFromSnapshotParams(name="one"))
        await made.process.exec("mkdir many; cd many; seq 3000 | xargs touch")
        await made.delete()
