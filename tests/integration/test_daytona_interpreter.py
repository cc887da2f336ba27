"""The emulator's interpreter contexts, seen through the real SDK: the limits that the real worker is known to have."""

import asyncio
import os

import pytest
from daytona import AsyncSandbox, CreateSandboxFromSnapshotParams
from daytona.common.errors import (
    DaytonaBadRequestError,
    DaytonaConnectionError,
    DaytonaNotFoundError,
    DaytonaTimeoutError,
)
from daytona_toolbox_api_client_async import InterpreterContext

from tests.daytona.clients import client_of, until
from tests.daytona.emulator import Emulator

pytestmark = pytest.mark.slow


@pytest.fixture
async def context(sandbox: AsyncSandbox) -> InterpreterContext:
    return await sandbox.code_interpreter.create_context()


async def run(sandbox: AsyncSandbox, code: str, context: InterpreterContext | None, timeout: int = 20) -> str:
    """Run a cell, which must be a good one; what it printed."""
    done = await sandbox.code_interpreter.run_code(code, context=context, timeout=timeout)
    assert done.error is None, done.error
    return done.stdout


async def test_a_context_keeps_names_and_shares_none(sandbox: AsyncSandbox, context: InterpreterContext) -> None:
    other = await sandbox.code_interpreter.create_context(cwd="/")
    await run(sandbox, "x = 1", context)
    await run(sandbox, "x = 2", other)
    await run(sandbox, "x = 3", None)
    show = "import os; print(x, __name__, os.getcwd())"
    assert await run(sandbox, show, context) == f"1 __main__ {await sandbox.get_work_dir()}\n"
    assert await run(sandbox, show, other) == "2 __main__ /\n"
    assert await run(sandbox, "print(x)", None) == "3\n"
    listed = await sandbox.code_interpreter.list_contexts()
    assert {one.id for one in listed} == {context.id, other.id}  # the default one is not listed
    with pytest.raises(DaytonaBadRequestError):
        await sandbox.code_interpreter.create_context(cwd="/nowhere")


async def test_output_comes_in_frames_and_errors_have_no_source(
    sandbox: AsyncSandbox, context: InterpreterContext
) -> None:
    heard: list[str] = []
    code = "import sys, time\nprint('a')\nsys.stderr.write('e')\nprint('b', end='')\n1 / 0"
    done = await sandbox.code_interpreter.run_code(
        code, context=context, on_stdout=lambda said: heard.append(said.output), envs={"A": "b"}
    )
    assert (heard, done.stdout, done.stderr) == (["a\n", "b"], "a\nb", "e")
    assert done.error is not None
    assert (done.error.name, done.error.value) == ("ZeroDivisionError", "division by zero")
    assert done.error.traceback == (
        'Traceback (most recent call last):\n  File "<string>", line 5, in <module>\n'
        "ZeroDivisionError: division by zero\n"
    )
    assert await run(sandbox, "'a value'; import os; print(os.environ.get('A'))", context) == "None\n"


async def test_leaving_looks_like_success(sandbox: AsyncSandbox, context: InterpreterContext) -> None:
    assert await run(sandbox, "import sys; x = 1; print('a'); sys.exit(3)", context) == "a\n"
    assert await run(sandbox, "print(x)", context) == "1\n"


async def test_a_time_limit_interrupts_and_keeps_the_names(sandbox: AsyncSandbox, context: InterpreterContext) -> None:
    heard: list[str] = []
    await run(sandbox, "x = 1", context)
    with pytest.raises(DaytonaTimeoutError):
        await sandbox.code_interpreter.run_code(
            "import time\nprint('begun')\ntime.sleep(100)",
            context=context,
            timeout=1,
            on_stdout=lambda said: heard.append(said.output),
        )
    assert heard == ["begun\n"]
    assert await run(sandbox, "print(x)", context) == "1\n"


async def test_code_that_does_not_stop_is_killed_and_the_next_cell_begins_with_nothing(
    sandbox: AsyncSandbox, context: InterpreterContext
) -> None:
    stubborn = """
        import time
        x = 1
        while True:
            try:
                time.sleep(100)
            except KeyboardInterrupt:
                pass
    """
    with pytest.raises(DaytonaTimeoutError):
        await run(sandbox, "if True:" + stubborn, context, timeout=1)
    assert await run(sandbox, "print('x' in globals())", context) == "False\n"


async def test_a_signal_from_a_command_interrupts_and_keeps_the_names(
    sandbox: AsyncSandbox, context: InterpreterContext, emulator: Emulator
) -> None:
    pid = (await run(sandbox, "import os; x = 1; print(os.getpid())", context)).strip()
    await sandbox.process.exec(f"kill -INT {pid}")  # while nothing runs: nothing
    begun = emulator.counters.frames
    running = asyncio.create_task(run(sandbox, "print('begun'); import time; time.sleep(100)", context))
    await until(lambda: emulator.counters.frames > begun)
    await sandbox.process.exec(f"kill -INT {pid}")
    with pytest.raises(DaytonaTimeoutError):
        await running
    with pytest.raises(DaytonaTimeoutError):  # the same exception for a cell that raises it itself
        await run(sandbox, "raise KeyboardInterrupt", context)
    assert await run(sandbox, "print(x)", context) == "1\n"


async def test_cells_wait_for_each_other_and_contexts_do_not(
    sandbox: AsyncSandbox, context: InterpreterContext, emulator: Emulator
) -> None:
    first = asyncio.create_task(run(sandbox, "import time; time.sleep(1); order = ['first']", context))
    await until(lambda: emulator.counters.requests["run"] == 1)
    second = asyncio.create_task(run(sandbox, "order.append('second')", context))
    await until(lambda: emulator.counters.requests["run"] == 2)
    third = asyncio.create_task(run(sandbox, "print(order)", context))
    other = await sandbox.code_interpreter.create_context()
    await run(sandbox, "pass", other)
    assert not first.done()
    assert await third == "['first', 'second']\n"
    await asyncio.gather(first, second)


async def test_a_client_that_leaves_does_not_stop_the_code(
    sandbox: AsyncSandbox, context: InterpreterContext, emulator: Emulator
) -> None:
    running = asyncio.create_task(run(sandbox, "print('begun'); import time; time.sleep(1); x = 1", context))
    await until(lambda: emulator.counters.frames == 1)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await run(sandbox, "print(x)", context) == "1\n"  # it had to wait


async def test_descriptor_1_is_the_pipe_of_the_protocol(sandbox: AsyncSandbox, context: InterpreterContext) -> None:
    code = "import os, subprocess\nsubprocess.run(['echo', 'lost'])\nos.write(1, b'lost too\\n')\nprint('seen')"
    assert await run(sandbox, code, context) == "seen\n"
    with pytest.raises(DaytonaTimeoutError):  # no newline: the end of the cell is lost with it, and the names
        await run(sandbox, "x = 1; import subprocess; subprocess.run(['printf', 'no newline'])", context, timeout=1)


@pytest.mark.parametrize(
    ("code", "kept"),
    [("input()", True), ("print('x' * 1_200_000)", False), ("print('測' * 175_000)", False)],
    ids=["input", "a long line", "a long line of wide characters"],
)
async def test_what_the_worker_cannot_do_hangs_until_the_time_limit(
    sandbox: AsyncSandbox, context: InterpreterContext, code: str, kept: bool
) -> None:
    await run(sandbox, "x = 1", context)
    with pytest.raises(DaytonaTimeoutError):
        await run(sandbox, code, context, timeout=1)
    assert await run(sandbox, "print('x' in globals())", context) == f"{kept}\n"


async def test_a_line_below_the_limit_goes_through(sandbox: AsyncSandbox, context: InterpreterContext) -> None:
    assert len(await run(sandbox, "print('x' * 1_000_000)", context)) == 1_000_001


async def test_a_dead_worker_jams_its_context(sandbox: AsyncSandbox, context: InterpreterContext) -> None:
    with pytest.raises(DaytonaConnectionError, match=r"worker process ended.*1001"):
        await run(sandbox, "import os; print('last words'); os._exit(1)", context)
    for _ in range(2):
        with pytest.raises(DaytonaTimeoutError):
            await run(sandbox, "print('never')", context, timeout=1)
    fresh = await sandbox.code_interpreter.create_context()
    assert await run(sandbox, "print('again')", fresh) == "again\n"


async def test_the_end_of_a_worker_is_seen_while_a_child_of_it_lives(
    sandbox: AsyncSandbox, context: InterpreterContext
) -> None:
    with pytest.raises(DaytonaConnectionError, match="1001"):
        await run(sandbox, "import os, subprocess; subprocess.Popen(['sleep', '1000']); os._exit(1)", context)


async def test_a_deleted_context_leaves_no_process(
    sandbox: AsyncSandbox, context: InterpreterContext, emulator: Emulator
) -> None:
    await run(sandbox, "import subprocess; subprocess.Popen(['sleep', '1000'], start_new_session=True)", context)
    running = asyncio.create_task(run(sandbox, "import time; time.sleep(100)", context))
    await until(lambda: emulator.counters.requests["run"] == 2)
    await sandbox.code_interpreter.delete_context(context)
    with pytest.raises(DaytonaConnectionError, match="1001"):
        await running
    assert await asyncio.to_thread(emulator.processes, "one") == set()
    with pytest.raises(DaytonaConnectionError, match=rf"context not found: {context.id}.*1008"):
        await run(sandbox, "pass", context)
    with pytest.raises(DaytonaNotFoundError):
        await sandbox.code_interpreter.delete_context(context)


@pytest.mark.parametrize("spare", [False, True])
async def test_what_has_a_session_of_its_own_may_be_spared_until_the_sandbox_stops(spare: bool) -> None:
    async with Emulator(spare_sessions=spare) as emulator, client_of(emulator) as daytona:
        sandbox = await daytona.create(CreateSandboxFromSnapshotParams(name="one"))
        context = await sandbox.code_interpreter.create_context()
        start = "import subprocess; p = subprocess.Popen(['sleep', '1000'], start_new_session={}); print(p.pid)"
        await run(sandbox, start.format(False), context)
        pid = int(await run(sandbox, start.format(True), context))
        await sandbox.code_interpreter.delete_context(context)
        assert await asyncio.to_thread(emulator.processes, "one") == ({pid} if spare else set())
        await sandbox.stop()
        assert await asyncio.to_thread(emulator.processes, "one") == set()


async def test_a_client_that_does_not_listen_is_sent_away(
    sandbox: AsyncSandbox, context: InterpreterContext, emulator: Emulator
) -> None:
    slow = asyncio.Event()

    def stall(_: object) -> None:
        if not slow.is_set():
            slow.set()
            import time

            time.sleep(2.5)  # the whole event loop of the client stands still

    with pytest.raises(DaytonaConnectionError, match=r"slow consumer.*1008"):
        await sandbox.code_interpreter.run_code(
            "line = 'x' * 16_000\nfor _ in range(3_000): print(line)", context=context, on_stdout=stall
        )


async def test_many_lines_go_through_to_a_client_that_listens(
    sandbox: AsyncSandbox, context: InterpreterContext
) -> None:
    said = await run(sandbox, "for n in range(20_000): print(n)", context)
    assert said.splitlines() == [str(n) for n in range(20_000)]


async def test_no_setting_of_this_process_reaches_the_sandbox(
    sandbox: AsyncSandbox, context: InterpreterContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert os.environ["STEPWELL_HOME"]
    show = "import os; print([name for name in os.environ if name.startswith('STEPWELL')])"
    assert await run(sandbox, show, context) == "[]\n"
    assert "STEPWELL" not in (await sandbox.process.exec("env")).result
