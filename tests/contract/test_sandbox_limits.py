"""Limits and deaths: interrupted first with variables kept, killed later, always told as what they are."""

import asyncio
from pathlib import Path

import pytest

from sandboxes.base import Sandbox, SandboxLostError
from sandboxes.results import CellResult
from tests.contract.conftest import Run, fine, printed

GRACE = 60.0
"""No test may wait longer than this for anything."""
STUBBORN = """
import time
while True:
    try:
        print('on')
        time.sleep(600)
    except KeyboardInterrupt: pass
"""


async def test_a_cell_is_interrupted_at_its_time_limit(run: Run) -> None:
    for code in (
        "while True: pass",
        "import time\ntime.sleep(600)",
        "import asyncio\nawait asyncio.sleep(600)",
        "import asyncio\nasyncio.run(asyncio.sleep(600))",
        "import subprocess\nsubprocess.run(['sleep', '600'])",
        "class Slow:\n    def __repr__(self):\n        while True: pass\nSlow()",
    ):
        fine(await run("x = 1"))
        result = await run(code, timeout=0.5, head="late")
        assert (result.status, result.variables_kept) == ("timeout", True), code
        assert result.note == "interrupted at its time limit of 0.5 s; variables are kept"
        assert result.error is not None
        assert result.error.name in ("KeyboardInterrupt", "CancelledError"), code
        assert printed(await run("print(x)")) == "1\n"


async def test_the_time_of_the_first_cell_counts_from_when_its_session_is_there(run: Run) -> None:
    late = await run("while True: pass", timeout=0.02)
    assert late.status == "timeout", late.note


@pytest.mark.slow
async def test_a_cell_that_goes_on_after_the_interrupt_is_killed(run: Run, sandbox: Sandbox) -> None:
    fine(await run("x = 1", head="one"))
    result = await run(STUBBORN, timeout=0.5, head="two")
    assert (result.status, result.variables_kept) == ("killed", False)
    assert "did not react to the interrupt and was ended; " in result.note
    assert result.stdout.text == "on\non\n"
    await is_told(result, run, sandbox)


async def is_told(result: CellResult, run: Run, sandbox: Sandbox) -> None:
    """Whether it is said what became of the variable `x` that the cell before the one that ended had made.

    Where the machine is slow there was an idle moment between the cells, and a copy was frozen in it.
    """
    copied = result.recovered == "copy"
    assert ("variables are lost" in result.note) is not copied
    assert sandbox.head == ("one" if copied else "")
    assert printed(await run("print('x' in dir())")) == f"{copied}\n"


async def test_a_cell_that_ignores_interrupts_is_killed_and_the_next_one_is_not(run: Run) -> None:
    ignoring = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    assert (await run(ignoring + "while True: pass", timeout=0.5)).status == "killed"
    fine(await run(ignoring))
    assert (await run("while True: pass", timeout=0.5)).status == "timeout"


STANDS_STILL = """
import os, subprocess, sys
still = '''
import os, signal, sys, time
time.sleep(0.5)
os.kill(int(sys.argv[1]), signal.SIGSTOP)
open("outputs/stands", "w").close()
while not os.path.exists("outputs/go"): time.sleep(0.01)
os.kill(int(sys.argv[1]), signal.SIGCONT)
'''
held = subprocess.Popen([sys.executable, "-c", still, str(os.getpid())], start_new_session=True)
"""


@pytest.mark.slow
async def test_a_cell_is_interrupted_that_was_not_taken_in_before_its_time_was_over(
    run: Run, sandbox: Sandbox, tmp_path: Path
) -> None:
    """As where a machine is so busy that the kernel stands still: the interrupt comes when there is no cell yet."""
    fine(await run(STANDS_STILL))
    async with asyncio.timeout(GRACE):
        while not await sandbox.files("outputs"):
            await asyncio.sleep(0.05)
    running = asyncio.ensure_future(run("while True: pass", timeout=0.5))
    await asyncio.sleep(1.0)
    (tmp_path / "go").touch()
    await sandbox.put(tmp_path / "go", "outputs/go")
    result = await running
    assert (result.status, result.variables_kept) == ("timeout", True), result.note
    assert printed(await run("print(held.wait())")) == "0\n"


async def test_a_cell_that_ends_after_swallowing_the_interrupt_is_late(run: Run) -> None:
    result = await run("import time\ntry: time.sleep(600)\nexcept KeyboardInterrupt: x = 'saved'", timeout=0.5)
    assert (result.status, result.variables_kept, result.error) == ("timeout", True, None)
    assert printed(await run("print(x)")) == "saved\n"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import os\nos._exit(3)", "exit code 3"),
        ("import ctypes\nctypes.string_at(0)", "segmentation fault"),
        ("import os\nos.kill(os.getpid(), 9)", "memory"),
        ("import os\nos.abort()", "SIGABRT"),
        ("import os\nos.kill(os.getpid(), 15)", "SIGTERM"),
    ],
    ids=["_exit", "segfault", "sigkill", "abort", "sigterm"],
)
async def test_a_dead_process_is_reported_as_what_it_is(run: Run, sandbox: Sandbox, code: str, words: str) -> None:
    fine(await run("x = 1", head="one"))
    result = await asyncio.wait_for(run("print('before')\n" + code, head="two"), GRACE)
    assert (result.status, result.variables_kept, result.error) == ("killed", False, None)
    assert words in result.note
    assert result.stdout.text == "before\n"
    await is_told(result, run, sandbox)


@pytest.mark.parametrize(
    "junk",
    ["b'\\xff' * 100", "b'\\0\\0\\0\\2\\0\\0\\0\\0[]'", "b'\\0\\0\\0\\1\\0\\0\\0\\0{'"],
    ids=["lengths", "not an object", "not json"],
)
async def test_junk_on_the_connection_ends_the_session(run: Run, junk: str) -> None:
    code = f"""
import os, socket, stat
for fd in range(3, 4096):
    try:
        if stat.S_ISSOCK(os.fstat(fd).st_mode): os.write(fd, {junk})
    except OSError: pass
import time
time.sleep(600)
"""
    result = await asyncio.wait_for(run(code), GRACE)
    assert (result.status, result.variables_kept) == ("killed", False)
    assert "connection" in result.note
    assert printed(await run("print('new')")) == "new\n"


async def test_made_up_frames_of_other_cells_are_ignored(run: Run) -> None:
    code = """
import json, os, stat, struct
def frame(header, body):
    h, b = json.dumps(header).encode(), json.dumps(body).encode()
    return struct.pack('!II', len(h), len(b)) + h + b
data = frame({'type': 'done', 'id': 'guess'}, {'status': 'ok'}) + frame({'type': 'x'}, 1) + frame({'id': []}, [])
for fd in range(3, 4096):
    try:
        if stat.S_ISSOCK(os.fstat(fd).st_mode): os.write(fd, data)
    except OSError: pass
print('honest')
"""
    assert printed(await run(code)) == "honest\n"
    assert printed(await run("print('next')")) == "next\n"


@pytest.mark.slow
async def test_closing_every_descriptor_ends_the_session(run: Run) -> None:
    result = await asyncio.wait_for(run("import os, time\nos.closerange(0, 4096)\ntime.sleep(600)"), GRACE)
    assert (result.status, result.variables_kept) == ("killed", False)
    assert printed(await run("print('new')")) == "new\n"


async def test_a_cancelled_cell_is_interrupted(run: Run, sandbox: Sandbox) -> None:
    fine(await run("x = 1", head="one"))
    assert sandbox.head == "one"
    started = asyncio.Event()
    code = "x = 2\nprint('on')\nwhile True: pass"
    task = asyncio.ensure_future(run(code, head="two", on_output=lambda streamed: started.set()))
    await asyncio.wait_for(started.wait(), GRACE)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, GRACE)
    assert sandbox.head == ""
    assert printed(await run("print(x)")) == "2\n"


async def test_a_second_cancel_kills_at_once(run: Run, sandbox: Sandbox) -> None:
    started = asyncio.Event()
    task = asyncio.ensure_future(run(STUBBORN, head="two", on_output=lambda streamed: started.set()))
    await asyncio.wait_for(started.wait(), GRACE)
    task.cancel()
    await asyncio.sleep(0.2)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 1.0)
    assert sandbox.head == ""
    assert printed(await run("print('new')")) == "new\n"


@pytest.mark.slow
async def test_a_cancelled_cell_that_goes_on_is_killed(run: Run, sandbox: Sandbox) -> None:
    fine(await run("x = 1"))
    started = asyncio.Event()
    task = asyncio.ensure_future(run(STUBBORN, on_output=lambda streamed: started.set()))
    await asyncio.wait_for(started.wait(), GRACE)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, GRACE)
    assert printed(await run("print('x' in dir())")) == "False\n"


async def test_a_cell_that_is_too_large_is_an_error_and_nothing_is_lost(run: Run) -> None:
    fine(await run("x = 1"))
    result = await run("#" * (33 << 20))
    assert result.status == "error"
    assert result.error is not None
    assert "32,000,000 bytes" in result.error.message
    assert printed(await run("print(x)")) == "1\n"


async def test_a_large_cell_runs(run: Run) -> None:
    assert printed(await run("x = '" + "é" * 4_000_000 + "'\nprint(len(x))")) == "4000000\n"


async def test_closing_while_the_session_starts_runs_nothing(run: Run, sandbox: Sandbox) -> None:
    task = asyncio.ensure_future(run("open('outputs/ran.txt', 'w').close()"))
    await asyncio.sleep(0.001)
    await asyncio.wait_for(sandbox.close(), GRACE)
    with pytest.raises(SandboxLostError):
        await task
    assert await sandbox.files("outputs") == []
