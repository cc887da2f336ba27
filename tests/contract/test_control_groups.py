"""Where control groups can be had, memory is limited at once and for all processes together; no group stays behind."""

import asyncio
import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sandboxes.host import tasks
from sandboxes.host.limits import MEGABYTE, Ending, Limits, in_words
from sandboxes.local import control_groups
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


def groups(process: int = 0) -> list[str]:
    """The groups of a process, ours by default; those of others go while one looks, which `rglob` does not bear."""
    prefix = f"stepwell-{process or os.getpid()}-"
    walked = os.walk("/sys/fs/cgroup")
    return [str(Path(path, name)) for path, names, _ in walked for name in names if name.startswith(prefix)]


@pytest.fixture(autouse=True)
def can_be_had() -> None:
    if not control_groups.available():
        pytest.skip("no control group can be had here: neither root nor a delegated one")


@pytest.mark.parametrize("level", ["namespaces", "bwrap", "landlock"])
async def test_a_swarm_ends_at_the_limit_and_no_group_is_left(tmp_path: Path, cache: Path, level: str) -> None:
    async with Sandboxes(tmp_path / "sandboxes", cache=cache, isolation=level, limits=LIMITS) as opened:
        sandbox = await opened.open("local", "grouped")
        printed(await sandbox.run("x = 1", number=1, timeout=60, head="one"))
        await asyncio.to_thread(tasks.wait)
        had = set(await asyncio.to_thread(groups))
        await asyncio.sleep(0.3)
        result = await sandbox.run(SWARM, number=2, timeout=20)
        assert result.status == "killed" or result.status == "timeout"
        assert printed(await sandbox.run("print(1)", number=3, timeout=60)) == "1\n"
    assert had
    async with asyncio.timeout(10):
        while had <= set(await asyncio.to_thread(groups)):
            await asyncio.sleep(0.02)


@pytest.mark.slow
@pytest.mark.parametrize("level", ["namespaces", "bwrap", "landlock"])
def test_a_program_that_ends_leaves_no_group(tmp_path: Path, cache: Path, level: str) -> None:
    code = f"""
import asyncio
from pathlib import Path
from sandboxes.host import tasks
from sandboxes.opening import Sandboxes
async def main():
    opened = Sandboxes(Path({str(tmp_path)!r}), cache=Path({str(cache)!r}), isolation={level!r})
    sandbox = await opened.open("local", "left")
    await sandbox.run("x = 1", number=1, timeout=60)
    tasks.wait()
    ours = f"stepwell-{{os.getpid()}}-"
    print(sum(name.startswith(ours) for _, names, _ in os.walk("/sys/fs/cgroup") for name in names))
import os
print(os.getpid())
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    pid, count = map(int, done.stdout.split())
    assert count
    assert groups(pid) == []


def test_groups_of_a_process_that_was_killed_are_removed_by_the_next(tmp_path: Path) -> None:
    gone = subprocess.Popen(["/bin/true"])
    gone.wait()
    place = control_groups._place()
    assert place is not None
    left, recent = (place / f"stepwell-{gone.pid}-{name}" for name in ("left", "recent"))
    for folder in (left, recent):
        folder.mkdir()
    try:
        os.utime(left, (time.time() - 1_000,) * 2)
        control_groups._sweep(place)
        assert not left.exists()
        assert recent.exists()
    finally:
        for folder in (left, recent):
            with contextlib.suppress(FileNotFoundError):
                folder.rmdir()


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


def test_what_memory_cost_its_life_does_not_explain_a_later_death() -> None:
    group = control_groups.new_group(64 * MEGABYTE)
    assert group is not None
    swallows = (
        f"import mmap, os, sys\nos.write(int(sys.argv[1]), b'0')\nmmap.mmap(-1, 500_000_000).madvise({POPULATE_WRITE})"
    )

    def dies() -> None:
        door = group.take_join_fd()
        try:
            done = subprocess.run([sys.executable, "-c", swallows, str(door)], pass_fds=[door])
        finally:
            os.close(door)
        assert done.returncode == -9

    try:
        assert not group.overrun()
        dies()
        assert group.overrun()
        group.note()
        assert not group.overrun()
        dies()
        assert group.overrun()
    finally:
        group.remove()
    assert group.overrun(), "what was read last holds when the group is gone"


async def test_all_of_a_sandbox_is_in_its_group_and_sees_no_other(tmp_path: Path, cache: Path) -> None:
    """It enters while its root is put together; what it forks comes after that."""
    async with Sandboxes(tmp_path / "sandboxes", cache=cache, isolation="namespaces") as opened:
        sandbox = await opened.open("local", "grouped")
        seen = """
lines = [line.strip().split(':') for line in open('/proc/self/cgroup')]
print({path for number, controllers, path in lines if number == '0' or 'memory' in controllers.split(',')})
"""
        assert printed(await sandbox.run(seen, number=1, timeout=60)) == "{'/'}\n"
        await asyncio.sleep(0.3)
        inside = [len(Path(group, "cgroup.procs").read_text().split()) for group in await asyncio.to_thread(groups)]
        assert max(inside) >= 3, "its first process, the runner and its frozen copy"


def test_waiting_early_leaves_a_process_in_its_group() -> None:
    group = control_groups.new_group(64 * MEGABYTE)
    assert group is not None
    door = group.take_join_fd()
    enter = "import os, sys\nos.write(int(sys.argv[1]), b'0')\nprint(flush=True)\nsys.stdin.read()"
    command = [sys.executable, "-c", enter, str(door)]
    with subprocess.Popen(command, pass_fds=[door], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as inside:
        os.close(door)
        assert inside.stdout is not None
        inside.stdout.readline()
        place = control_groups._place()
        assert place is not None
        for process in (inside.pid, 1):
            had = Path("/proc", str(process), "cgroup").read_text()
            own = control_groups.own_group(process)
            assert own is None or str(process) in own.read_text().split()
            if own is not None:
                control_groups.wait_early(own, process)
            assert Path("/proc", str(process), "cgroup").read_text() == had
        assert control_groups.own_group(inside.pid) is None, "it is in one below"
        control_groups.wait_early(place / "gone", inside.pid)  # what cannot be done is left
        assert inside.stdin is not None
        inside.stdin.close()
    group.remove()


def test_what_was_not_measured_is_not_told() -> None:
    assert in_words(Ending(-9, "memory"), LIMITS).startswith("the cell needed more memory, and 300 MB are allowed")
