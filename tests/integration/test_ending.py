"""What tests start ends with them, whatever ends them."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg
import pytest

from tests import RUN_FOLDER, process_table

ROOT = Path(__file__).parents[2]
STARTS = """
import os, signal
from tests.postgres_server import running_postgres
with running_postgres() as server:
    print(server.url, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""

LEAVES = """
import os, pathlib, signal, subprocess, tempfile
from tests.serving import DevServer

def sleeper(folder):
    return subprocess.Popen(["sleep", "1000"], start_new_session=True, stdout=subprocess.DEVNULL)

def server(folder):
    server = DevServer(folder)
    server.begin()
    return server

def test_it_starts_something_and_is_killed(tmp_path):
    left, started = tempfile.mkdtemp(), {started}(tmp_path / "started")
    pathlib.Path(__file__).with_name("left").write_text(f"{{started.pid}} {{left}}")
    subprocess.Popen(["kill", "-KILL", *map(str, {killed})])
    signal.pause()
"""


def connect_until_refused(url: str) -> None:
    while True:
        psycopg.connect(url).close()


@pytest.mark.skipif(sys.platform != "linux", reason="only /proc says where a process works, and since when")
def test_a_shell_that_stands_in_the_folder_of_a_run_is_not_ended(tmp_path: Path) -> None:
    """What the run started is, whether it has the run's variable or only works there."""
    folder = tmp_path / "run"
    folder.mkdir()
    plain = {name: value for name, value in os.environ.items() if name != "TMPDIR"}

    def sleeper(*before: str, stdin: int = subprocess.DEVNULL, **variables: str) -> subprocess.Popen[bytes]:
        place = tmp_path if variables else folder
        return subprocess.Popen([*before, "sleep", "1000"], cwd=place, env={**plain, **variables}, stdin=stdin)

    earlier, tick = sleeper(), 0
    while tick <= process_table.began(earlier.pid):
        with sleeper() as probe:
            tick = process_table.began(probe.pid)
            probe.kill()
    command = [sys.executable, "-m", "tests.keeper", str(folder)]
    keeper = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE)
    ours, theirs = os.openpty()
    shell = sleeper("setsid", "--ctty", stdin=theirs)
    try:
        while not process_table.has_terminal(shell.pid):
            os.sched_yield()
        marked, working = sleeper(TMPDIR=str(folder)), sleeper("env", "--ignore-environment")
        keeper.communicate()
        assert [marked.wait(), working.wait()] == [-signal.SIGKILL, -signal.SIGKILL]
        assert process_table.living({earlier.pid, shell.pid}) == {earlier.pid, shell.pid}
    finally:
        for one in (earlier, shell):
            one.kill()
            one.wait()
        os.close(ours)
        os.close(theirs)
    assert not folder.exists()


@pytest.mark.slow
def test_a_database_server_ends_with_a_worker_that_is_killed() -> None:
    run = Path(tempfile.mkdtemp(dir=os.environ[RUN_FOLDER]))
    run.chmod(0o711)
    environment = {**os.environ, RUN_FOLDER: str(run)}
    done = subprocess.run([sys.executable, "-c", STARTS], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    assert done.returncode == -signal.SIGKILL
    with pytest.raises(psycopg.OperationalError):
        connect_until_refused(done.stdout.strip())
    (left,) = run.iterdir()
    assert left.name.startswith("stepwell-postgres-"), "which goes with the folder of the run"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workers", "killed", "started"),
    [
        pytest.param([], "[os.getpid()]", "sleeper", id="the tests"),
        pytest.param(["-n", "1"], "[os.getpid(), os.getppid()]", "server", id="workers, and who has them"),
    ],
)
def test_nothing_is_left_of_a_run_that_is_killed(workers: list[str], killed: str, started: str, tmp_path: Path) -> None:
    (tmp_path / "test_leaving.py").write_text(LEAVES.format(killed=killed, started=started))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.conftest", *workers]
    command += ["-c", str(ROOT / "pyproject.toml"), "test_leaving.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DEBUG_TEMPROOT": str(tmp_path)}
    # Its output ends when nobody holds it any more, and the keeper does.
    done = subprocess.run(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE)
    assert done.returncode == -signal.SIGKILL
    pid, folder = (tmp_path / "left").read_text().split()
    assert process_table.living({int(pid)}) == set()
    assert not Path(folder).parent.exists()
