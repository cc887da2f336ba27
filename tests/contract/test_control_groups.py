"""Where control groups can be had, memory is limited at once and for all processes together; no group stays behind."""

import asyncio
import os
from pathlib import Path

import pytest

from sandboxes.local import control_groups
from sandboxes.local.limits import MEGABYTE, Limits
from sandboxes.local.processes import Ending, in_words
from sandboxes.opening import Sandboxes
from tests.contract.conftest import printed

LIMITS = Limits(memory=300 * MEGABYTE)
POPULATE_WRITE = 23
"""Fills a mapping in one system call."""
SWARM = """
import os, time
for _ in range(6):
    if not os.fork():
        held = bytearray(250_000_000)
        for at in range(0, len(held), 4096): held[at] = 1
        time.sleep(30)
time.sleep(30)
"""


def groups() -> list[str]:
    """Our groups, of this process."""
    return [str(path) for path in Path("/sys/fs/cgroup").rglob(f"stepwell-{os.getpid()}-*")]


@pytest.fixture(autouse=True)
def can_be_had() -> None:
    if not control_groups.available():
        pytest.skip("no control group can be had here: neither root nor a delegated one")


@pytest.mark.parametrize("level", ["namespaces", "bwrap", "landlock"])
async def test_a_swarm_ends_at_the_limit_and_no_group_is_left(tmp_path: Path, cache: Path, level: str) -> None:
    async with Sandboxes(tmp_path / "sandboxes", cache=cache, isolation=level, limits=LIMITS) as opened:
        sandbox = await opened.open("local", "grouped")
        printed(await sandbox.run("x = 1", number=1, timeout=60, head="one"))
        assert await asyncio.to_thread(groups)
        await asyncio.sleep(0.3)
        result = await sandbox.run(SWARM, number=2, timeout=20)
        assert result.status == "killed" or result.status == "timeout"
        assert printed(await sandbox.run("print(1)", number=3, timeout=60)) == "1\n"
    for _ in range(100):
        if not await asyncio.to_thread(groups):
            return
        await asyncio.sleep(0.05)
    raise AssertionError(groups())


async def test_the_system_ends_what_takes_memory_faster_than_anybody_looks(tmp_path: Path, cache: Path) -> None:
    async with Sandboxes(tmp_path / "sandboxes", cache=cache, limits=LIMITS) as opened:
        sandbox = await opened.open("local", "grouped")
        printed(await sandbox.run("x = 1", number=1, timeout=60))
        await asyncio.sleep(0.3)
        at_once = f"import mmap\nm = mmap.mmap(-1, 900_000_000)\nm.madvise({POPULATE_WRITE})"
        result = await sandbox.run(at_once, number=2, timeout=20)
        assert result.status == "killed"
        assert "memory" in result.note
        assert printed(await sandbox.run("print(x)", number=3, timeout=60)) == "1\n"


def test_what_was_not_measured_is_not_told() -> None:
    assert in_words(Ending(-9, "memory"), LIMITS).startswith("the cell needed more memory, and 315 MB are allowed")
