"""How a sandbox begins and ends: names, heads, programs beside the session, and no survivors."""

import asyncio
import contextlib
import random
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from sandboxes.base import Sandbox, SandboxLostError, SandboxUnavailableError
from sandboxes.host.programs import describe_environment
from sandboxes.opening import Sandboxes
from sandboxes.results import CellResult
from tests.contract.conftest import LEVELS, Run, fine, printed

MARK = """
import ctypes, os, subprocess, sys
ctypes.CDLL(None).prctl(15, {mark!r}.encode(), 0, 0, 0)
subprocess.Popen(['sleep', '600.{mark}'])
"""
"""Names the session's process and starts a child; process numbers differ inside and outside."""


def marked(mark: str) -> int:
    """How many processes of this machine bear a mark and do not merely wait to be buried."""
    count = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            name, _, rest = (folder / "stat").read_text().partition("(")[2].rpartition(")")
            there = name == mark or (folder / "cmdline").read_text().split("\0")[1:2] == [f"600.{mark}"]
            count += there and rest.split()[0] != "Z"
    return count


def gone(mark: str, *, left: int = 0) -> bool:
    """Whether all are gone within a few seconds, or as many are there as are said to be."""
    deadline = time.monotonic() + 10
    while marked(mark) != left:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture
def mark() -> str:
    return str(random.randrange(10**8, 10**9))


async def test_it_says_what_it_is(any_sandbox: Sandbox) -> None:
    assert any_sandbox.kind in ("local", "daytona", "docker", "fake")
    assert any_sandbox.id == "contract"
    assert any_sandbox.head == ""
    assert any_sandbox.isolation


async def test_the_same_name_is_the_same_sandbox(walled: Sandboxes, sandbox: Sandbox) -> None:
    first, second = await asyncio.gather(walled.open(sandbox.kind, "one"), walled.open(sandbox.kind, "one"))
    assert first is second
    assert first is not sandbox
    await walled.close("one")
    assert await walled.open(sandbox.kind, "one") is not first


async def test_kinds_and_names_are_checked(sandboxes: Sandboxes) -> None:
    with pytest.raises(ValueError, match=r"no sandbox of kind 'moon'\. Kinds: .*local"):
        await sandboxes.open("moon", "one")
    for name in ("", "..", "a/b", "a" * 65, "a\n"):
        with pytest.raises(ValueError, match="does not name a sandbox"):
            await sandboxes.open("local", name)


async def test_files_outlive_the_session_and_variables_do_not(walled: Sandboxes, sandbox: Sandbox, run: Run) -> None:
    fine(await run("x = 1\nopen('outputs/a.txt', 'w').write('kept')", head="one"))
    await walled.close(sandbox.id)
    assert sandbox.head == ""
    again = await walled.open(sandbox.kind, sandbox.id)
    assert again.head == ""
    code = "print(open('outputs/a.txt').read(), 'x' in dir())"
    assert printed(await again.run(code, number=1, timeout=60)) == "kept False\n"


async def test_the_head_follows_the_cells(sandbox: Sandbox, run: Run) -> None:
    fine(await run("x = 1", head="one"))
    assert sandbox.head == "one"
    assert (await run("1 / 0", head="two")).status == "error"
    assert sandbox.head == "two"
    fine(await run("1"))
    assert sandbox.head == ""


async def test_a_closed_sandbox_runs_nothing(any_sandbox: Sandbox) -> None:
    await any_sandbox.close()
    with pytest.raises(SandboxLostError):
        await any_sandbox.run("1", number=1, timeout=10)


async def test_closing_ends_a_running_cell_and_its_children(sandbox: Sandbox, run: Run, mark: str) -> None:
    began = asyncio.Event()
    code = MARK.format(mark=mark) + "print('on', flush=True)\nwhile True: pass"
    task = asyncio.ensure_future(run(code, on_output=lambda _: began.set()))
    await asyncio.wait_for(began.wait(), 60)
    assert await asyncio.to_thread(gone, mark, left=2)
    await sandbox.close()
    result: CellResult = await asyncio.wait_for(task, 10)
    assert (result.status, result.variables_kept) == ("killed", False)
    assert result.note == "the sandbox was closed or reset while the cell ran; variables are lost"
    assert await asyncio.to_thread(gone, mark)


async def test_a_process_that_dies_between_cells_is_lost_not_silently_replaced(sandbox: Sandbox, run: Run) -> None:
    end = "import os, threading\nx = 1\nthreading.Timer(0.1, os._exit, [3]).start()"
    fine(await run(end, head="one"))
    await asyncio.sleep(0.5)
    assert sandbox.head == ""
    with pytest.raises(SandboxLostError, match="between two cells"):
        await run("print(x)")
    assert printed(await run("print('x' in dir())")) == "False\n"


async def test_a_process_that_dies_while_something_else_is_asked_of_it_is_not_silently_replaced(
    sandbox: Sandbox, run: Run
) -> None:
    fine(
        await run(
            "import copyreg, os, string\nhere = os.getpid()\n"
            "copyreg.pickle(string.Template, lambda one: os.kill(here, 9))\nx = string.Template('x')",
            head="one",
        )
    )
    with pytest.raises(SandboxLostError):
        await sandbox.snapshot(limit_bytes=1 << 30)
    with pytest.raises(SandboxLostError, match="between two cells"):
        await sandbox.snapshot(limit_bytes=1 << 30)  # not one of a session that has nothing
    with pytest.raises(SandboxLostError, match="between two cells"):
        await run("print(x)")
    assert printed(await run("print('x' in dir())")) == "False\n"


@pytest.mark.slow
async def test_interrupts_between_cells_are_ignored(run: Run) -> None:
    fine(await run("import os, signal, threading"))
    for _ in range(5):
        fine(await run("threading.Timer(0.02, os.kill, [os.getpid(), signal.SIGINT]).start()"))
        await asyncio.sleep(0.5)
        assert printed(await run("print('on')")) == "on\n"


@pytest.mark.parametrize("python", ["/nowhere/bin/python", "/bin/true", "no-such-python"])
@pytest.mark.parametrize("level", ["", "process"])
async def test_a_bad_interpreter_is_named(tmp_path: Path, python: str, level: str) -> None:
    async with Sandboxes(tmp_path / "sandboxes", python=python, isolation=level) as opened:
        with pytest.raises(SandboxUnavailableError, match=f"{python}.*STEPWELL_PYTHON"):
            await (await opened.open("local", "bad")).run("1", number=1, timeout=10)


@pytest.mark.parametrize("level", ["", "process"])
async def test_an_interpreter_that_fails_says_why(tmp_path: Path, level: str) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'unknown option -P' >&2\nexit 2\n")
    python.chmod(0o755)
    async with Sandboxes(tmp_path / "sandboxes", python=str(python), isolation=level) as opened:
        with pytest.raises(SandboxUnavailableError, match=r"exit code 2 .*unknown option -P.*3\.11"):
            await (await opened.open("local", "bad")).run("1", number=1, timeout=10)


HOST = """
import asyncio, sys
from pathlib import Path
from sandboxes.opening import Sandboxes
async def main():
    opened = Sandboxes(Path(sys.argv[1]), isolation=sys.argv[2])
    sandbox = await opened.open('local', 'orphan')
    code = sys.argv[3] + '''
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('on')
sum(1 for _ in iter(int, 1))
'''
    await sandbox.run(code, number=1, timeout=600, on_output=lambda s: print(s.text, end='', flush=True))
asyncio.run(main())
"""


@pytest.mark.parametrize("level", LEVELS)
async def test_nothing_survives_a_killed_host(tmp_path: Path, level: str, mark: str) -> None:
    def check() -> bool:
        command = [sys.executable, "-c", textwrap.dedent(HOST), str(tmp_path), level, MARK.format(mark=mark)]
        root = Path(__file__).resolve().parents[2]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as host:
            assert host.stdout is not None
            try:
                assert host.stdout.readline() == "on\n"
                assert gone(mark, left=2)
            finally:
                host.kill()
        return gone(mark)

    assert await asyncio.to_thread(check)


def test_it_works_in_a_loop_that_is_not_in_the_main_thread(tmp_path: Path) -> None:
    results: list[CellResult] = []

    async def main() -> None:
        async with Sandboxes(tmp_path / "sandboxes") as opened:
            sandbox = await opened.open("local", "threaded")
            results.append(await sandbox.run("print(1)", number=1, timeout=60))
            results.append(await sandbox.run("while True: pass", number=2, timeout=0.3))

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    thread.join()
    assert [result.status for result in results] == ["ok", "timeout"]


async def test_a_program_runs_beside_the_session(sandbox: Sandbox, run: Run, tmp_path: Path) -> None:
    fine(await run("open('x.txt', 'w').write('seen')"))
    program = tmp_path / "program"
    program.mkdir()
    (program / "session.py").write_text("NAME = 'mine'\n")
    (program / "__main__.py").write_text(
        "import sys\nfrom .session import NAME\nprint(NAME, open('x.txt').read(), sys.argv[1:])\n"
        "if '--fail' in sys.argv: sys.exit('went wrong')\n"
        "if '--wait' in sys.argv: import time; time.sleep(600)\n"
        "if '--much' in sys.argv: print('x' * 9_000_000)\n"
    )
    result = await sandbox.run_program(program, ["--lifeline", "-x", "y"], timeout=60)
    assert (result.status, result.stdout) == ("ok", "mine seen ['--lifeline', '-x', 'y']\n")
    failed = await sandbox.run_program(program, ["--fail"], timeout=60)
    assert (failed.status, failed.stderr) == ("error", "went wrong\n")
    slow = await sandbox.run_program(program, ["--wait"], timeout=1)
    assert slow.status == "timeout"
    assert len((await sandbox.run_program(program, ["--much"], timeout=60)).stdout.encode()) == 4_000_000
    missing = await sandbox.run_program(tmp_path / "none", [], timeout=60)
    assert missing.status == "error"


async def test_the_environment_is_described(sandbox: Sandbox) -> None:
    described = await describe_environment(sandbox)
    assert described["python"] == sys.version.split()[0]
    assert {"pandas", "numpy", "matplotlib"} <= set(described["packages"])
    assert {"IPAexGothic", "NanumGothic"} <= set(described["fonts"])
    assert len(set(described["fonts"])) == len(described["fonts"])
