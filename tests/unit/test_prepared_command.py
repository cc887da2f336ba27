"""Commands of tests that are forked from a process that has imported: they are as those that start anew."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.prepared_command import PreparedCommand

pytestmark = pytest.mark.slow
COMMAND = [sys.executable, "-c", "from stepwell.command import main; main()"]


@pytest.fixture(scope="module")
def prepared() -> Iterator[PreparedCommand]:
    made = PreparedCommand()
    yield made
    made.close()


def test_it_is_the_real_command_and_each_has_its_own_folder_and_environment(
    prepared: PreparedCommand, tmp_path: Path
) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "STEPWELL_HOME": str(tmp_path / "home")}
    for words, more in (
        (("show", "last"), {}),
        (("run", "q", "gone.csv"), {"STEPWELL_MODEL_TIMEOUT": "soon"}),
        (("-h",), {}),
    ):
        real = subprocess.run([*COMMAND, *words], cwd=tmp_path, env=env | more, capture_output=True, text=True)
        forked = prepared.run(words, cwd=tmp_path, env=env | more)
        assert (forked.returncode, forked.stdout, forked.stderr) == (real.returncode, real.stdout, real.stderr)


def test_one_that_takes_longer_is_killed_and_the_next_runs(prepared: PreparedCommand, tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "STEPWELL_HOME": str(tmp_path / "home")}
    with pytest.raises(subprocess.TimeoutExpired):
        prepared.run(("ui", "--no-browser"), cwd=tmp_path, env=env, timeout=0)  # it never ends by itself
    assert prepared.run(("--version",), cwd=tmp_path, env=env).returncode == 0


def test_an_interrupt_of_all_ends_the_command_alone(prepared: PreparedCommand, tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "STEPWELL_HOME": str(tmp_path / "home")}
    assert prepared.run(("--version",), cwd=tmp_path, env=env).returncode == 0
    os.kill(prepared.pid, signal.SIGINT)
    assert prepared.run(("--version",), cwd=tmp_path, env=env).returncode == 0


@pytest.mark.parametrize(
    ("number", "to_forked"), [(signal.SIGTERM, False), (signal.SIGKILL, False), (signal.SIGKILL, True)]
)
def test_a_command_and_who_stands_for_it_end_together(
    prepared: PreparedCommand, tmp_path: Path, number: signal.Signals, to_forked: bool
) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "STEPWELL_HOME": str(tmp_path / "home")}
    command = prepared.command("ui", "--no-browser", note=tmp_path / "pid")
    with subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        pid = int((tmp_path / "pid").read_text())
        os.kill(pid if to_forked else process.pid, number)
        process.wait()
        assert (process.returncode < 0) == (number == signal.SIGKILL)
        if number == signal.SIGTERM or to_forked:
            with pytest.raises(ProcessLookupError):
                os.kill(pid, 0)
        process.stdout.read()  # to the end: nobody has it any more
