"""What tests start ends with them, whatever ends them."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg
import pytest

from tests import RUN_FOLDER

ROOT = Path(__file__).parents[2]
STARTS = """
import os, signal
from tests.postgres_server import running_postgres
with running_postgres() as server:
    print(server.url, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
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
