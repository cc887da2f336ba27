"""What cells print: captured whatever prints it, streamed while it runs, bounded."""

import asyncio

import pytest

from sandboxes.base import Sandbox
from sandboxes.opening import Sandboxes
from sandboxes.results import Streamed
from tests.contract.conftest import Run, fine, printed


async def test_streams_are_kept_apart(run: Run) -> None:
    result = fine(await run("import sys\nprint('out')\nprint('err', file=sys.stderr)\nprint('no end', end='')"))
    assert (result.stdout.text, result.stderr.text) == ("out\nno end", "err\n")


async def test_subprocesses_and_c_code_are_captured(run: Run) -> None:
    code = "import subprocess, os\nsubprocess.run(['echo', 'from a process'])\nos.write(1, b'from a descriptor')"
    assert printed(await run(code + ";")) == "from a process\nfrom a descriptor"


async def test_output_is_streamed_while_the_cell_runs(run: Run) -> None:
    seen: list[Streamed] = []
    arrived = asyncio.Event()

    def listen(streamed: Streamed) -> None:
        seen.append(streamed)
        arrived.set()

    code = "import os, subprocess, time\nprint('first')\nwhile not os.path.exists('go'): time.sleep(0.01)\ndisplay(5)"
    running = asyncio.ensure_future(run(code, on_output=listen))
    await asyncio.wait_for(arrived.wait(), 30)
    assert [streamed.text for streamed in seen] == ["first\n"]
    assert not running.done()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    fine(await run("print('é', end='')\ndisplay(5)", on_output=listen))
    assert [(streamed.stream, streamed.text) for streamed in seen[1:]] == [("stdout", "é"), ("display", "")]
    assert seen[-1].display is not None
    assert seen[-1].display.text == "5"


async def test_huge_output_keeps_head_and_tail(run: Run) -> None:
    seen: list[Streamed] = []
    result = fine(await run("for i in range(300_000): print(i, '日')", on_output=seen.append))
    assert result.stdout.head.startswith("0 日\n1 日\n")
    assert result.stdout.tail.endswith("299999 日\n")
    whole = sum(len(f"{i} 日\n".encode()) for i in range(300_000))
    kept = len(result.stdout.head.encode()) + len(result.stdout.tail.encode())
    assert kept + result.stdout.dropped == whole
    assert "\ufffd" not in result.stdout.head + result.stdout.tail
    assert sum(len(streamed.text) for streamed in seen) < 1_000_000


async def test_an_endless_printer_is_interrupted_and_its_variables_kept(run: Run) -> None:
    result = await run("n = 1\nwhile True: print('x' * 1000)", timeout=1.0)
    assert (result.status, result.variables_kept) == ("timeout", True), result.note
    assert result.stdout.dropped > 0
    assert printed(await run("print(n)")) == "1\n"


async def test_closed_and_redirected_streams_come_back(run: Run) -> None:
    fine(await run("import os\nos.close(1); os.close(2)"))
    assert printed(await run("print('again')")) == "again\n"
    fine(await run("import sys, io\nsys.stdout.close(); sys.stderr = io.StringIO()"))
    result = fine(await run("print('again')\nprint('too', file=sys.stderr)"))
    assert (result.stdout.text, result.stderr.text) == ("again\n", "too\n")
    fine(await run("sys.stdout.detach();"))
    assert printed(await run("print('again')")) == "again\n"
    fine(await run("os.dup2(os.open('/dev/null', os.O_WRONLY), 1);"))
    assert printed(await run("print('again')")) == "again\n"


async def test_a_thread_that_prints_between_cells_blocks_nobody(run: Run) -> None:
    code = """
import threading, time
stop = False
def chatter():
    while not stop: print('chatter' * 100)
threading.Thread(target=chatter, daemon=True).start()
"""
    fine(await run(code))
    await asyncio.sleep(0.3)
    # Until it stops, its flood may push what a cell prints into the part that is only counted.
    fine(await run("print('mine')"))
    fine(await run("stop = True; time.sleep(0.2)"))
    assert "mine" in printed(await run("print('mine')"))


async def test_a_grandchild_that_holds_the_pipes_is_not_waited_for(run: Run) -> None:
    result = await asyncio.wait_for(run("import subprocess\np = subprocess.Popen(['sleep', '300'])\nprint('on')"), 30)
    assert result.stdout.text == "on\n"
    died = await asyncio.wait_for(run("import os\nos._exit(3)"), 30)
    assert died.status == "killed"
    assert printed(await run("print('new')")) == "new\n"


async def test_bytes_that_are_no_text_are_shown_as_best_they_can(run: Run) -> None:
    assert printed(await run("import os\nos.write(1, b'a\\xffb');")) == "a\ufffdb"


async def test_two_sandboxes_run_side_by_side(sandbox: Sandbox, walled: Sandboxes) -> None:
    other = await walled.open(sandbox.kind, "other")
    results = await asyncio.gather(
        sandbox.run("x = 'one'\nprint(x)", number=1, timeout=60), other.run("print('x' in dir())", number=1, timeout=60)
    )
    assert [printed(result) for result in results] == ["one\n", "False\n"]


async def test_cells_of_one_sandbox_wait_for_each_other(run: Run) -> None:
    results = await asyncio.gather(*(run(f"x = {i}\nimport time\ntime.sleep(0.05)\nprint(x)") for i in range(4)))
    assert [printed(result) for result in results] == ["0\n", "1\n", "2\n", "3\n"]
