"""The API without `await`: one event loop for all threads, Ctrl-C, forks, and the interpreter's end."""

import asyncio
import contextvars
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

import stepwell
from graph.settings import Settings
from stepwell.cell_sessions import CellRun
from tests import process_table
from tests.other_process import environment

ASKED = contextvars.ContextVar("ASKED", default="nothing")


def in_thread(work: Callable[[], object]) -> None:
    """Do something in another thread, and raise here what it raises."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]


async def asked() -> str:
    return ASKED.get()


def shown(ran: CellRun) -> str:
    assert ran.cell is not None
    return str(ran.cell["observation"])


def test_what_one_call_has_opened_is_used_by_others_of_any_thread(settings: Settings) -> None:
    def price(article: str) -> str:
        """What an article costs."""
        return f"{article} costs {stepwell.wait(asked())}"  # in a thread of its own, so it may wait, too

    ASKED.set("3 euros")
    with stepwell.wait(stepwell.open_cell_sessions(settings=settings, functions=[price])) as sessions:
        ran = stepwell.wait(sessions.run("n = 41\nprice('tea')"))
        again: list[CellRun] = []
        in_thread(lambda: again.append(stepwell.wait(sessions.run("n + 1", session=ran.session))))
    assert "tea costs 3 euros" in shown(ran)
    assert "42" in shown(again[0])
    assert again[0].restored is None
    assert [step.name for step in stepwell.wait(stepwell.log(ran.session, settings=settings))][-2:] == ["1", "2"]
    *cells, end = stepwell.wait(stepwell.replay(ran.session, settings=settings))
    assert len(cells) == 2
    assert isinstance(end, stepwell.ReplayEnd)


def test_an_exception_has_its_own_traceback_and_context_variables_are_the_callers() -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise LookupError(ASKED.get())

    ASKED.set("a question")
    with pytest.raises(LookupError, match="a question") as raised:
        stepwell.wait(fail())
    assert raised.traceback[-1].name == "fail"
    with pytest.raises(stepwell.ThreadError, match="is empty"):
        stepwell.wait(stepwell.run(" "))
    with pytest.raises(SystemExit):
        stepwell.wait(leaving())
    assert stepwell.wait(asked()) == "a question"  # the event loop has gone on


async def leaving() -> None:
    raise SystemExit(3)


def test_one_task_enters_and_leaves_and_a_loop_that_is_left_closes_its_items() -> None:
    tasks: list[asyncio.Task[Any] | None] = []

    @asynccontextmanager
    async def entered() -> AsyncIterator[int]:
        async with asyncio.timeout(60):  # only a task that has entered this can leave it
            tasks.append(asyncio.current_task())
            try:
                yield 1
            finally:
                tasks.append(asyncio.current_task())

    async def count() -> AsyncIterator[int]:
        async with entered():
            yield 1
            yield 2
            yield 3

    with pytest.raises(ZeroDivisionError), stepwell.wait(entered()):
        1 / 0  # noqa: B018
    for number in stepwell.wait(count()):
        if number == 2:
            break
    with closing(stepwell.wait(count())) as numbers:
        assert next(numbers) == 1
    assert tasks[0::2] == tasks[1::2]
    assert len(set(tasks)) == 3


def test_what_cannot_be_waited_for_is_refused() -> None:
    async def within() -> str:
        return stepwell.wait(asked())

    async def of_another_loop() -> None:
        stepwell.wait(asyncio.get_running_loop().create_future())

    with pytest.raises(RuntimeError, match="use `await` there"):
        stepwell.wait(within())
    with pytest.raises(RuntimeError, match="of another event loop"):
        asyncio.run(of_another_loop())
    with pytest.raises(TypeError, match="nothing of type function"):
        stepwell.wait(asked)  # type: ignore[call-overload]


SCRIPT = """
import asyncio, os, threading
import stepwell

begun = threading.Event()

def say(text: str) -> None:
    \"\"\"Tell the program.\"\"\"
    print(text, flush=True)
    begun.set()

LONG = "import time\\nsay('begun')\\ntime.sleep(600)"
entered = stepwell.wait(stepwell.open_cell_sessions(functions=[say]))
sessions = entered.__enter__()
session = stepwell.wait(sessions.run("n = 41")).session
try:
    stepwell.wait(sessions.run(LONG, session=session))
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(stepwell.wait(sessions.run("n", session=session)).cell["observation"], flush=True)
if not os.fork():
    print("child", stepwell.wait(asyncio.sleep(0, 42)), flush=True)
    os._exit(0)
print("ended", os.wait()[1], flush=True)
print(stepwell.wait(sessions.run("n + 2", session=session)).cell["observation"], flush=True)
begun.clear()
threading.Thread(target=lambda: stepwell.wait(sessions.run(LONG, session=session)), daemon=True).start()
begun.wait()
print("leaving", flush=True)
"""


def program(source: str, settings: Settings, folder: Path) -> "subprocess.Popen[str]":
    """Begin a program whose input stays open."""
    return subprocess.Popen(
        [sys.executable, "-c", source],
        env=environment(settings, "http://127.0.0.1:9"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
    )


@pytest.fixture
def script(settings: Settings, tmp_path: Path) -> "Iterator[subprocess.Popen[str]]":
    with program(SCRIPT, settings, tmp_path) as process:
        yield process
        process.kill()


@pytest.mark.slow
def test_ctrl_c_pauses_a_fork_has_a_loop_of_its_own_and_the_end_leaves_nothing(
    script: subprocess.Popen[str],
) -> None:
    assert script.stdout is not None
    assert script.stdout.readline() == "begun\n"
    begun = process_table.descendants(script.pid)
    assert len(begun) > 1
    os.kill(script.pid, signal.SIGINT)
    said, errors = script.communicate(timeout=120)
    lines = said.splitlines()
    assert lines[0] == "interrupted", (said, errors)
    assert "41" in "\n".join(lines[: lines.index("ended 0")]), (said, errors)
    assert "child 42" in lines
    assert "43" in said
    assert lines[-2:] == ["begun", "leaving"]
    assert script.returncode == 0, errors
    assert process_table.living(begun) == set()


FORKING = """
import os, sys
import stepwell

with stepwell.wait(stepwell.open_cell_sessions()) as sessions:
    stepwell.wait(sessions.run("n = 41"))
    child = os.fork()
    if child:
        print(child, flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow
def test_a_forked_process_does_not_keep_the_sandboxes_of_its_killed_parent(settings: Settings, tmp_path: Path) -> None:
    with program(FORKING, settings, tmp_path) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        try:
            others = process_table.descendants(process.pid) - {process.pid, child}
            assert others
            process.kill()
            while process_table.living(others):
                assert process_table.living({child})
        finally:
            os.kill(child, signal.SIGKILL)
