"""Sandboxes work in a program that has opened more files than `select` can deal with, as a busy server has."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.conftest import LEVELS

PROGRAM = """
import asyncio, os, resource, sys
from pathlib import Path
from sandboxes.opening import Sandboxes

MANY = 1_100
resource.setrlimit(resource.RLIMIT_NOFILE, (4_096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(MANY)]

async def main(folder, cache, isolation):
    async with Sandboxes(folder / "s", cache=cache, isolation=isolation) as sandboxes:
        sandbox = await sandboxes.open("local", "thread")
        result = await sandbox.run(
            "import pyarrow; t = pyarrow.table({'a': [1]}).group_by('a').aggregate([('a', 'sum')])",
            number=1, timeout=60.0, head="1" * 64,
        )
        assert result.status == "ok", result
        taken = await sandbox.snapshot(limit_bytes=1 << 30)
        looked = await sandbox.look(taken.id, always=True, proved="", seconds=20.0, max_bytes=1 << 30)
        async with sandbox.trial() as trial:
            spool = folder / "s" / sandbox.id / "spool"
            await trial.supply_blobs(await asyncio.to_thread(lambda: list(spool.glob("?" * 64))))
            found = await trial.compare(taken.id, known=[], seconds=20.0)
        print(looked.state, looked.why, found.differs, found.refused)

asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
"""


@pytest.mark.parametrize("level", ["namespaces", *(pytest.param(one, marks=pytest.mark.slow) for one in LEVELS[1:])])
def test_a_program_with_many_open_files_has_sandboxes(tmp_path: Path, cache: Path, level: str) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), str(cache), level]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120.0, check=False)
    assert (done.stdout.split(), done.stderr) == (["done", "()"], "")
