"""How a command goes through its runs: exit codes, decisions, signals, and sentences instead of tracebacks."""

import asyncio
import io
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from rich.console import Console

from graph.events import ApprovalAsked, CellStarted, Event, Failed, Finished, Started
from graph.settings import SettingsError
from sandboxes.base import NoSuchSandboxError
from stepwell.cli.command_options import named_files
from stepwell.cli.exits import (
    FAILED,
    FINISHED,
    MISUSED,
    PAUSED,
    PIPE_BROKEN,
    UNREAD,
    WAITING,
    run_command,
)
from stepwell.cli.foreground import Begin, Foreground
from stepwell.cli.plain_view import PlainView
from stepwell.cli.run import ask
from stepwell.errors import ThreadError, UsageError
from stepwell.runs import Decision, Run
from storage.artifacts import StorageError
from storage.blobs import BlobError

THREAD = "0b8e5a52-7a5e-4c0e-9a43-0c7d3f3c1a11"
ASKED = ApprovalAsked(THREAD, 1, "Count", "print(1)")
DONE = Finished(THREAD, "42")


def test_an_edited_plan_is_shown_as_it_is_followed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "1. Load all\\n\\n- Count twice\\n" > "$1"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(editor))
    monkeypatch.setattr("sys.stdin", io.StringIO("e\n"))
    console = Console(file=io.StringIO(), width=80)
    decision = ask(console, ApprovalAsked(THREAD, 1, "", "", plan=["Load", "Count"]))
    assert decision is not None
    assert (decision.verdict, decision.plan) == ("edit", True)
    shown = cast(io.StringIO, console.file).getvalue()
    assert shown.endswith("The plan is now:\n    1. Load all\n    2. Count twice\n")


class ScriptedRun:
    """A run that tells what it was given; a function among the events is called when its turn comes."""

    thread = THREAD

    def __init__(self, *script: Event | Callable[[], object]) -> None:
        self.script = script
        self.ended = False

    async def __aiter__(self) -> AsyncIterator[Event]:
        try:
            for item in self.script:
                if isinstance(item, Event):
                    yield item
                else:
                    item()
                    await asyncio.sleep(30 if item is interrupt else 0)
        finally:
            await asyncio.sleep(0)  # ending takes awaits too: a sandbox is closed here
            self.ended = True


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def begins(run: ScriptedRun) -> Begin:
    async def begin() -> Run:
        return cast("Run", run)

    return begin


def never(thread: str, decision: Decision) -> Begin:
    raise AssertionError(f"nothing was to be decided on {thread}: {decision}")


def conduct(run: ScriptedRun, *, options: tuple[str, ...] = ()) -> tuple[int, str]:
    result = io.StringIO()
    return Foreground(options=options).conduct(begins(run), never, PlainView(result, result)), result.getvalue()


def test_a_finished_run_exits_with_0() -> None:
    run = ScriptedRun(Started(THREAD, "q"), DONE)
    code, written = conduct(run)
    assert code == FINISHED
    assert "42" in written
    assert run.ended


def test_an_answer_about_files_of_which_none_could_be_read_has_its_own_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    unread = replace(DONE, none_read=True)
    code, written = conduct(ScriptedRun(Started(THREAD, "q"), unread))
    assert code == UNREAD == 4, "the number is documented"
    assert "42" in written
    assert "none of the files given with the question could be read" in capsys.readouterr().err
    cells = Foreground(about_files=False)  # of a notebook: they read the files themselves
    view = PlainView(io.StringIO(), None)
    assert cells.conduct(begins(ScriptedRun(Started(THREAD, "q"), unread)), never, view) == FINISHED


def test_a_failed_run_says_why_and_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    code, _ = conduct(ScriptedRun(Failed(THREAD, "The key is wrong.")), options=("--artifacts", "my out"))
    assert code == FAILED
    said = capsys.readouterr().err.splitlines()
    assert said == ["error: The key is wrong.", f"go on with: stepwell resume {THREAD[:8]} --artifacts 'my out'"]


def test_a_waiting_cell_that_nobody_can_decide_on_is_shown_with_the_commands(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert conduct(ScriptedRun(ASKED))[0] == WAITING
    said = capsys.readouterr().err
    for part in ("    print(1)", f"stepwell resume {THREAD[:8]} --approve-cell", "--edit FILE", "--reject "):
        assert part in said


def test_decisions_are_passed_on_until_the_end() -> None:
    decisions = [Decision("approve"), Decision("reject", remark="no plots")]
    asked: list[ApprovalAsked] = []
    passed: list[Decision] = []

    def ask(cell: ApprovalAsked) -> Decision:
        asked.append(cell)
        return decisions[len(asked) - 1]

    def go_on(thread: str, decision: Decision) -> Begin:
        assert thread == THREAD
        passed.append(decision)
        return begins(ScriptedRun(ASKED) if len(passed) == 1 else ScriptedRun(DONE))

    result = io.StringIO()
    code = Foreground(ask=ask).conduct(begins(ScriptedRun(ASKED)), go_on, PlainView(result, None))
    assert (code, passed, asked) == (FINISHED, decisions, [ASKED, ASKED])


def test_a_cell_may_be_left_waiting(capsys: pytest.CaptureFixture[str]) -> None:
    result = io.StringIO()
    assert Foreground(ask=lambda _: None).conduct(begins(ScriptedRun(ASKED)), never, PlainView(result, None)) == WAITING
    assert "--approve-cell" in capsys.readouterr().err


def test_ctrl_c_pauses_and_waits_for_the_run_to_end(capsys: pytest.CaptureFixture[str]) -> None:
    run = ScriptedRun(Started(THREAD, "q"), CellStarted(1, "Count", ""), interrupt, DONE)
    code, written = conduct(run)
    assert code == PAUSED
    assert run.ended
    assert "pausing" in written
    assert "42" not in written
    assert capsys.readouterr().err == f"paused; go on with: stepwell resume {THREAD[:8]}\n"


def test_signals_are_as_they_were_after_a_run() -> None:
    libraries = signal.signal(signal.SIGINT, signal.default_int_handler)  # one that other tests load has its own
    try:
        before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
        conduct(ScriptedRun(Started(THREAD, "q"), interrupt))
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before
    finally:
        signal.signal(signal.SIGINT, libraries)


def test_a_closed_pipe_ends_the_run_too() -> None:
    class Closed(io.StringIO):
        def write(self, text: str, /) -> int:
            raise BrokenPipeError

    run = ScriptedRun(Started(THREAD, "q"), DONE)
    with pytest.raises(BrokenPipeError):
        Foreground().conduct(begins(run), never, PlainView(Closed(), Closed()))
    assert run.ended


def test_a_second_ctrl_c_quits_at_once() -> None:
    program = """
        import asyncio, sys
        from graph.events import Started
        from stepwell.cli.foreground import Foreground
        from stepwell.cli.plain_view import PlainView

        class StuckRun:
            thread = "t"
            async def __aiter__(self):
                yield Started("t", "q")
                while True:
                    try:
                        await asyncio.sleep(60)
                    except asyncio.CancelledError:
                        print("stuck", flush=True)

        async def begin():
            return StuckRun()

        Foreground().conduct(begin, None, PlainView(sys.stdout, sys.stdout))
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            assert "thread t" in process.stdout.readline()
            process.send_signal(signal.SIGINT)
            assert "pausing" in process.stdout.readline()
            assert "stuck" in process.stdout.readline()
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == PAUSED
        finally:
            process.kill()


@pytest.mark.parametrize("mistake", [SettingsError("Set X."), ThreadError("No thread."), UsageError("No file.")])
def test_mistakes_are_one_sentence(mistake: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> int:
        raise mistake

    assert run_command(work) == MISUSED
    assert capsys.readouterr().err == f"error: {mistake}\n"


@pytest.mark.parametrize(
    "failure", [NoSuchSandboxError("No sandbox."), BlobError("It is gone."), StorageError("No room there.")]
)
def test_what_failed_is_one_sentence(failure: Exception, capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> int:
        raise failure

    assert run_command(work) == FAILED
    assert capsys.readouterr().err == f"error: {failure}\n"


def test_our_own_errors_are_one_sentence_unless_debugging(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def work() -> int:
        raise RuntimeError("two\nlines \x1b[2J")

    monkeypatch.delenv("STEPWELL_DEBUG", raising=False)
    assert run_command(work) == FAILED
    expected = "internal error: RuntimeError: two lines (set STEPWELL_DEBUG=1 for the traceback)\n"
    assert capsys.readouterr().err == expected
    monkeypatch.setenv("STEPWELL_DEBUG", "1")
    with pytest.raises(RuntimeError):
        run_command(work)


def test_a_closed_pipe_ends_the_command_quietly() -> None:
    program = (
        "import sys; from stepwell.cli.exits import run_command; "
        "sys.exit(run_command(lambda: print('x' * 100_000) or 0))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(30) == PIPE_BROKEN


def test_named_files_become_absolute_and_globs_are_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv", "odd[1].csv", "more/c.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    here = str(tmp_path)
    assert named_files(["a.csv", "?.csv"]) == [f"{here}/a.csv", f"{here}/b.csv"]
    assert named_files(["odd[1].csv"]) == [f"{here}/odd[1].csv"]
    assert named_files(["**/c.csv", "more"]) == [f"{here}/more/c.csv", f"{here}/more"]
    assert named_files(["https://example.org/*.csv"]) == ["https://example.org/*.csv"]


@pytest.mark.parametrize(
    "name", ["missing.csv", "*.parquet", "", "pipe", "dangling", "hollow", "~nobody-of-that-name/a.csv"]
)
def test_a_file_that_cannot_be_taken_is_named_in_one_sentence(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "hollow" / "in it").mkdir(parents=True)
    with pytest.raises(UsageError) as problem:
        named_files([name])
    assert (name or "empty") in str(problem.value)
    assert "\n" not in str(problem.value)
