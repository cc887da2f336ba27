"""The faults of the emulated Daytona, seen through the real SDK: what arrives, and what it leaves behind."""

import asyncio
from pathlib import Path

import pytest
from daytona import AsyncDaytona, AsyncSandbox, CreateSandboxFromSnapshotParams, DaytonaError, FileUpload
from daytona.common.errors import (
    DaytonaBadGatewayError,
    DaytonaBadRequestError,
    DaytonaConflictError,
    DaytonaConnectionError,
    DaytonaNotFoundError,
    DaytonaRateLimitError,
    DaytonaTimeoutError,
)

from tests.daytona.clients import until
from tests.daytona.emulator import Emulator
from tests.daytona.faults import (
    BadGateway,
    Closed,
    CutShort,
    Dropped,
    Happens,
    HappensInCell,
    NameTaken,
    OutOfDisk,
    RateLimited,
    Slow,
    SlowAnswer,
    SlowStart,
    StartFails,
    Unanswered,
    Unreached,
)

ONE = CreateSandboxFromSnapshotParams(name="one", labels={"app": "x"})


async def test_a_slow_start_is_waited_for(daytona: AsyncDaytona, emulator: Emulator) -> None:
    fault = emulator.faults.add(SlowStart(seconds=0.5))
    making = asyncio.create_task(daytona.create(ONE))
    await until(lambda: emulator.states() == {"one": "creating"})
    made = await making
    assert (made.state, fault.met) == ("started", 1)
    await made.stop()
    emulator.faults.add(SlowStart(on="start", seconds=0.5))
    starting = asyncio.create_task(made.start())
    await until(lambda: emulator.states() == {"one": "starting"})
    await starting


async def test_a_creation_that_takes_too_long_leaves_a_sandbox_that_is_named(
    daytona: AsyncDaytona, emulator: Emulator
) -> None:
    emulator.faults.add(SlowStart(seconds=3.0))
    with pytest.raises(DaytonaTimeoutError) as caught:
        await daytona.create(ONE, timeout=1)
    assert caught.value.sandbox_id == (await daytona.get("one")).id


@pytest.mark.parametrize("state", ["error", "build_failed"])
async def test_a_start_can_fail(daytona: AsyncDaytona, emulator: Emulator, state: str) -> None:
    emulator.faults.add(StartFails(state="error" if state == "error" else "build_failed", reason="no room"))
    with pytest.raises(DaytonaError, match="entered error state"):
        await daytona.create(ONE)
    found = await daytona.get("one")  # the reason is in the exception only when the SDK polled: no event carries it
    assert (found.state, found.error_reason) == (state, "no room")
    await found.delete(wait=True)


async def test_a_rate_limit_says_in_a_suffixed_header_when_to_come_back(
    daytona: AsyncDaytona, sandbox: AsyncSandbox, emulator: Emulator
) -> None:
    emulator.faults.add(RateLimited(on="create", retry_after=7, throttler="sandbox-create"))
    with pytest.raises(DaytonaRateLimitError) as caught:
        await daytona.create()
    headers = {name.lower(): value for name, value in caught.value.headers.items()}
    assert headers["retry-after-sandbox-create"] == "7"
    assert set(emulator.states()) == {"one"}
    emulator.faults.add(RateLimited(on="exec", times=2))
    for _ in range(2):
        with pytest.raises(DaytonaRateLimitError):
            await sandbox.process.exec("true")
    assert (await sandbox.process.exec("true")).exit_code == 0


async def test_what_the_sdk_tells_of_a_rate_limit_on_bulk_requests(sandbox: AsyncSandbox, emulator: Emulator) -> None:
    emulator.faults.add(RateLimited(on="upload"))
    with pytest.raises(DaytonaError) as up:
        await sandbox.fs.upload_file(b"x", "x")
    assert (type(up.value), up.value.status_code) == (DaytonaError, 429)
    emulator.faults.add(RateLimited(on="download"))
    with pytest.raises(DaytonaError) as down:
        await sandbox.fs.download_file("x")
    assert (type(down.value), down.value.status_code) == (DaytonaError, None)


async def test_a_bad_gateway_carries_nothing_out(sandbox: AsyncSandbox, emulator: Emulator) -> None:
    fault = emulator.faults.add(BadGateway(on="exec", sandbox="one"))
    emulator.faults.add(BadGateway(on="exec", sandbox="another"))
    with pytest.raises(DaytonaBadGatewayError):
        await sandbox.process.exec("touch there")
    assert (await sandbox.process.exec("ls")).result == ""
    assert fault.met == 1


async def test_faults_can_be_skipped_to_and_taken_back(sandbox: AsyncSandbox, emulator: Emulator) -> None:
    emulator.faults.add(BadGateway(on="exec", skip=1))
    await sandbox.process.exec("true")
    with pytest.raises(DaytonaBadGatewayError):
        await sandbox.process.exec("true")
    fault = emulator.faults.add(BadGateway(times=-1))
    for _ in range(2):
        with pytest.raises(DaytonaBadGatewayError):
            await sandbox.process.exec("true")
    emulator.faults.clear()
    await sandbox.process.exec("true")
    assert fault.met == 2


async def test_a_connection_can_end_before_and_after_the_work(sandbox: AsyncSandbox, emulator: Emulator) -> None:
    emulator.faults.add(Unreached(on="exec"))
    with pytest.raises(DaytonaConnectionError):
        await sandbox.process.exec("echo 1 >> there")
    emulator.faults.add(Unanswered(on="exec"))
    with pytest.raises(DaytonaConnectionError):
        await sandbox.process.exec("echo 2 >> there")
    assert (await sandbox.process.exec("cat there")).result == "2\n"


async def test_the_sdk_repeats_some_requests_by_itself(daytona: AsyncDaytona, emulator: Emulator) -> None:
    await daytona.create(ONE)
    fault = emulator.faults.add(Unreached(on="get", times=2))
    assert (await daytona.get("one")).name == "one"
    assert fault.met == 2
    emulator.faults.add(Unanswered(on="delete"))
    with pytest.raises(DaytonaError) as caught:  # the second request finds the first one's work
        await (await daytona.get("one")).delete()
    assert caught.value.status_code in (404, 409)


async def test_slow_requests_and_slow_answers_differ_in_when_they_are_carried_out(
    sandbox: AsyncSandbox, emulator: Emulator
) -> None:
    there = emulator.home("one") / "there"
    for fault, done in ((Slow(on="exec", seconds=0.5), False), (SlowAnswer(on="exec", seconds=0.5), True)):
        emulator.faults.add(fault)
        asked = emulator.counters.requests["exec"]
        running = asyncio.create_task(sandbox.process.exec("touch there"))
        await until(lambda asked=asked: emulator.counters.requests["exec"] > asked)  # type: ignore[misc]
        if done:
            await until(there.exists)
        assert not running.done()
        assert await asyncio.to_thread(there.exists) is done
        await running
        await asyncio.to_thread(there.unlink)


async def test_a_cancelled_creation_leaves_what_the_server_took(daytona: AsyncDaytona, emulator: Emulator) -> None:
    emulator.faults.add(SlowAnswer(on="create", seconds=0.5))
    making = asyncio.create_task(daytona.create(ONE))
    await until(lambda: emulator.states() == {"one": "started"})
    making.cancel()
    with pytest.raises(asyncio.CancelledError):
        await making
    assert (await daytona.get("one")).state == "started"


async def test_another_worker_can_be_faster(daytona: AsyncDaytona, emulator: Emulator) -> None:
    emulator.faults.add(NameTaken())
    with pytest.raises(DaytonaConflictError):
        await daytona.create(ONE)
    theirs = await daytona.get("one")
    assert theirs.labels["app"] == "x"


@pytest.mark.parametrize("what", ["stopped", "archived"])
async def test_a_sandbox_can_be_put_away_under_us(sandbox: AsyncSandbox, emulator: Emulator, what: str) -> None:
    emulator.faults.add(Happens(on="exec", what=what))  # type: ignore[arg-type]
    with pytest.raises(DaytonaError):
        await sandbox.process.exec("true")
    await sandbox.refresh_data()
    assert sandbox.state == what
    await sandbox.start()
    assert (await sandbox.process.exec("true")).exit_code == 0


async def test_a_failed_sandbox_cannot_be_started(sandbox: AsyncSandbox, emulator: Emulator) -> None:
    await emulator.happens("one", "failed")
    with pytest.raises(DaytonaBadRequestError):
        await sandbox.start()
    with pytest.raises(DaytonaBadRequestError):
        await sandbox.recover()
    await sandbox.delete(wait=True)
    assert emulator.states() == {}


async def test_a_start_that_failed_may_be_recovered_from(sandbox: AsyncSandbox, emulator: Emulator) -> None:
    await sandbox.fs.upload_file(b"x", "kept")
    await sandbox.stop()
    emulator.faults.add(StartFails(on="start", recoverable=True))
    with pytest.raises(DaytonaError, match="entered error state"):
        await sandbox.start()
    await sandbox.recover()
    assert await sandbox.fs.download_file("kept") == b"x"


async def test_a_sandbox_can_be_deleted_under_us(sandbox: AsyncSandbox, emulator: Emulator) -> None:
    emulator.faults.add(Happens(on="upload", what="deleted"))
    with pytest.raises(DaytonaError, match="not found") as caught:
        await sandbox.fs.upload_file(b"x", "x")
    assert caught.value.status_code == 404
    with pytest.raises(DaytonaNotFoundError):
        await sandbox.refresh_data()


async def test_contexts_can_be_lost(sandbox: AsyncSandbox, emulator: Emulator) -> None:
    context = await sandbox.code_interpreter.create_context()
    emulator.faults.add(Happens(on="run", what="contexts lost"))
    with pytest.raises(DaytonaConnectionError, match=r"context not found.*1008"):
        await sandbox.code_interpreter.run_code("pass", context=context)
    assert await asyncio.to_thread(emulator.processes, "one") == set()


async def test_a_dropped_websocket_does_not_stop_the_cell(sandbox: AsyncSandbox, emulator: Emulator) -> None:
    context = await sandbox.code_interpreter.create_context()
    fault = emulator.faults.add(Dropped(after_frames=2))
    heard: list[str] = []
    with pytest.raises(DaytonaConnectionError, match="1006"):
        await sandbox.code_interpreter.run_code(
            "import time\nfor n in range(5):\n    print(n)\n    time.sleep(0.1)",
            context=context,
            on_stdout=lambda said: heard.append(said.output),
        )
    assert (heard, fault.met) == (["0\n", "1\n"], 1)
    assert (await sandbox.code_interpreter.run_code("print(n)", context=context)).stdout == "4\n"


@pytest.mark.parametrize("code", [1001, 1008])
async def test_a_websocket_can_be_closed_with_a_code(sandbox: AsyncSandbox, emulator: Emulator, code: int) -> None:
    context = await sandbox.code_interpreter.create_context()
    emulator.faults.add(Closed(code=code, reason="going away"))
    with pytest.raises(DaytonaConnectionError, match=rf"going away \(close code {code}\)"):
        await sandbox.code_interpreter.run_code("import time; time.sleep(0.2); x = 1", context=context)
    assert (await sandbox.code_interpreter.run_code("print(x)", context=context)).stdout == "1\n"


@pytest.mark.parametrize("what", ["stopped", "archived", "deleted", "failed", "contexts lost", "workers killed"])
async def test_things_happen_in_the_middle_of_a_cell(sandbox: AsyncSandbox, emulator: Emulator, what: str) -> None:
    context = await sandbox.code_interpreter.create_context()
    fault = emulator.faults.add(HappensInCell(what=what, after_frames=1))  # type: ignore[arg-type]
    with pytest.raises(DaytonaConnectionError, match=r"1001|1006"):
        await sandbox.code_interpreter.run_code("print('begun')\nimport time\ntime.sleep(100)", context=context)
    assert fault.met == 1
    if what in ("contexts lost", "workers killed"):
        assert emulator.states() == {"one": "started"}
    else:
        left = {"deleted": {}, "failed": {"one": "error"}}.get(what, {"one": what})
        await until(lambda: emulator.states() == left)


async def test_a_full_disk_refuses_an_upload_and_leaves_a_file_cut_short(
    sandbox: AsyncSandbox, emulator: Emulator
) -> None:
    emulator.faults.add(OutOfDisk(after_bytes=6))
    files = [FileUpload(b"12345", "first"), FileUpload(b"12345", "second"), FileUpload(b"12345", "third")]
    with pytest.raises(DaytonaError, match="no space left on device") as caught:
        await sandbox.fs.upload_files(files)
    assert caught.value.status_code == 400
    assert (await sandbox.process.exec("cat first second")).result == "123451"
    await sandbox.fs.upload_files(files)
    assert (await sandbox.process.exec("cat first second third")).result == "12345" * 3


async def test_a_download_can_be_cut_short(sandbox: AsyncSandbox, emulator: Emulator, tmp_path: Path) -> None:
    await sandbox.fs.upload_file(b"x" * 1_000_000, "there")
    emulator.faults.add(CutShort(after_bytes=500_000))
    with pytest.raises(DaytonaConnectionError):
        await sandbox.fs.download_file("there", str(tmp_path / "here"))
    assert len(await sandbox.fs.download_file("there")) == 1_000_000


async def test_a_test_can_let_things_happen_by_itself(sandbox: AsyncSandbox, emulator: Emulator) -> None:
    await emulator.happens("one", "stopped")
    assert emulator.states() == {"one": "stopped"}
    await emulator.happens("one", "deleted")
    assert emulator.states() == {}
