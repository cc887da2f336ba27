"""`stepwell shell` and the commands about steps, as people start them: on a terminal and in pipes."""

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.integration.test_command import COMMAND, PATIENCE, Desk, FinishedThread, Terminal, make_desk
from tests.prepared_command import PREPARED

pytestmark = [pytest.mark.xdist_group("shell"), pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> FinishedThread:
    desk = make_desk(tmp_path_factory.mktemp("shell"))
    temporary = desk.folder / "tmp"
    temporary.mkdir()
    desk.variables = {"TMPDIR": str(temporary)}
    events = desk.events("run", "What does this table hold?", "sales.csv")
    return FinishedThread(desk, str(events[0]["thread"]), events)


def left_behind(desk: Desk) -> list[Path]:
    return [path for path in (desk.folder / "tmp").iterdir() if path.name.startswith("stepwell-")]


def piped(desk: Desk, code: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        PREPARED.command("shell", *words),
        cwd=desk.folder,
        env=desk.environment,
        input=code,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


@pytest.mark.slow
def test_a_cell_from_a_pipe_runs_at_the_step(finished: FinishedThread) -> None:
    done = piped(finished.desk, "def rows(frame):\n    return len(frame)\nprint('here')\nrows(df)\n", "last@3")
    assert (done.returncode, done.stdout, done.stderr) == (0, "here\n300\n", "")
    failed = piped(finished.desk, "nothing_of_that_name", "last@3")
    assert failed.returncode == 1
    assert "NameError" in failed.stderr
    assert left_behind(finished.desk) == []


def test_figures_and_files_are_kept_where_asked(finished: FinishedThread) -> None:
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nopen('outputs/x.txt', 'w').write('x');"
    done = piped(finished.desk, code, "last@2", "--keep", "kept")
    assert done.returncode == 0, done.stderr
    said = re.findall(r"(?:figure saved|kept): (.+)", done.stderr)
    assert sorted(Path(path).suffix for path in said) == [".png", ".txt"]
    assert all((finished.desk.folder / path).is_file() for path in said)
    assert "x.txt" not in finished.desk.command("show", "last@3").stdout


@pytest.mark.slow
def test_a_prompt_of_several_lines_that_ctrl_c_interrupts_and_ctrl_d_leaves(finished: FinishedThread) -> None:
    before = finished.desk.command("log", "last").stdout
    terminal = Terminal(finished.desk, "shell", "last@3")
    terminal.wait_for("step 3 of thread .*>>> ")
    terminal.press("for word in ['a', 'b']:\n")
    terminal.wait_for(r"\.\.\. ")
    terminal.press("    print(word * 3)\n")
    terminal.wait_for(r"\.\.\. ")
    terminal.press("\n")
    terminal.wait_for("aaa\r?\nbbb\r?\n.*>>> ")
    terminal.press("mine = 41\n")
    terminal.wait_for(">>> ")
    terminal.press("import time; print('wait' + 'ing', flush=True); time.sleep(600)\n")
    terminal.wait_for("waiting\r?\n")
    terminal.press("\x03")
    terminal.wait_for("interrupted.*>>> ")
    terminal.press("mine + 1\n")
    terminal.wait_for("42\r?\n.*>>> ")
    terminal.press("half a line")
    terminal.wait_for("half a line")
    terminal.wait_until_it_reads()
    terminal.press("\x03")  # by itself: a terminal drops what was typed before and not yet read
    terminal.wait_for(">>> ")
    terminal.press("import os; os._exit(3)\n")
    terminal.wait_for("the session is at step 3 again.*>>> ")
    terminal.press("len(df)\n")
    terminal.wait_for("300\r?\n.*>>> ")
    terminal.press("\x04")
    assert terminal.exit_code() == 0
    assert left_behind(finished.desk) == []
    assert finished.desk.command("log", "last").stdout == before
    assert "mine + 1" in (finished.desk.home / "shell_history").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_shell_that_is_ended_leaves_nothing_behind(number: signal.Signals, finished: FinishedThread) -> None:
    process = subprocess.Popen(
        [*COMMAND, "shell", "last@2"],
        cwd=finished.desk.folder,
        env=finished.desk.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write("import time; print('begun', flush=True); time.sleep(600)")
            process.stdin.close()
            assert process.stdout.readline() == "begun\n"
            process.send_signal(number)
            assert process.wait(PATIENCE) != 0
        finally:
            process.kill()
    assert left_behind(finished.desk) == []


@pytest.mark.slow
def test_a_step_is_shown_and_the_tree_drawn(finished: FinishedThread) -> None:
    desk = finished.desk
    shown = desk.command("show", "last@2").stdout
    assert shown.startswith(f"thread {finished.id} at step 2")
    for part in ("Variables:\n", "\n  | ", "- df: DataFrame", "inputs/sales.csv", "It comes back from its snapshot."):
        assert part in shown
    data = json.loads(desk.command("show", "last@2", "--json").stdout)
    assert (data["id"], data["parent"], data["number"]) == ("2", "1", 2)
    assert {row["name"] for row in data["namespace"]} <= set(data["names"])
    branched = desk.command("fork", "last@2", "--here")
    assert branched.stdout == f"{finished.id}\n"
    assert "its answer and analysis.py replace those there" in branched.stderr
    done = desk.command("resume", "last", "--quiet")
    assert done.returncode == 0, done.stderr
    rows = [line.split("\t") for line in desk.command("log", "last").stdout.splitlines()]
    assert [row[5] for row in rows if row[0] == "3b"] == ["2"]
    assert [row[0][-1] for row in rows if row[8] == "here"] == ["b"]
    newest = desk.command("log", "last", "--limit", "1")
    assert newest.stdout.count("\n") == 1
    assert f"{len(rows) - 1} earlier steps are left out" in newest.stderr
    terminal = Terminal(desk, "log", "last")
    assert terminal.exit_code() == 0
    assert re.search(r"├─ . 3b  .*← here.*3  ", re.sub(r"\x1b\[[\d;]*m", "", terminal.written), re.DOTALL)


def test_a_fork_in_the_thread_at_an_answer_asks_its_question_no_more(finished: FinishedThread) -> None:
    desk = finished.desk
    forked = desk.command("fork", "last@turn1", "--here")
    assert (forked.returncode, forked.stdout) == (0, f"{finished.id}\n"), forked.stderr
    assert f'go on with: stepwell ask {finished.id[:8]} "…"' in forked.stderr
    resumed = desk.command("resume", "last")
    assert resumed.returncode == 2
    assert "is finished" in resumed.stderr


@pytest.mark.slow
def test_diff_and_verified_replay(finished: FinishedThread) -> None:
    difference = finished.desk.command("diff", "last@1", "last@2")
    assert difference.returncode == 0, difference.stderr
    assert "cells in common: 1" in difference.stdout
    done = finished.desk.command("replay", "last@2", "--verify")
    assert (done.returncode, done.stderr) == (0, "")
    assert "variables: " in done.stdout
    assert done.stdout.endswith("the replay gives the same\n")


@pytest.mark.parametrize("words", [("shell", "last@99"), ("fork", "last@99", "--here"), ("show", "last@x")])
def test_a_wrong_step_is_one_sentence_and_exit_code_2(words: tuple[str, ...], finished: FinishedThread) -> None:
    done = finished.desk.command(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert left_behind(finished.desk) == []
    assert [folder.name for folder in (finished.desk.home / "threads").iterdir()] == [finished.id]
