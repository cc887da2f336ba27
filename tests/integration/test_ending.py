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

def test_it_starts_something_and_is_killed():
    left = tempfile.mkdtemp()
    started = subprocess.Popen(["sleep", "1000"], start_new_session=True, stdout=subprocess.DEVNULL)
    pathlib.Path(__file__).with_name("left").write_text(f"{{started.pid}} {{left}}")
    os.kill({killed}, signal.SIGKILL)
"""


def connect_until_refused(url: str) -> None:
    while True:
        psycopg.connect(url).close()


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


@pytest.mark.parametrize(("workers", "killed"), [((), "os.getpid()"), (("-n", "1"), "os.getppid()")], ids=["", "-n"])
def test_nothing_is_left_of_tests_that_are_killed(workers: tuple[str, ...], killed: str, tmp_path: Path) -> None:
    """Neither where the tests run in the process that is killed, nor where they run in a worker of it."""
    (tmp_path / "test_leaving.py").write_text(LEAVES.format(killed=killed))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.conftest", *workers]
    command += ["-c", str(ROOT / "pyproject.toml"), "test_leaving.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    # Its output ends when nobody holds it any more, and the keeper does.
    done = subprocess.run(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE)
    assert done.returncode == -signal.SIGKILL
    started, folder = (tmp_path / "left").read_text().split()
    assert int(started) not in process_table.living()
    assert not Path(folder).parent.exists()
