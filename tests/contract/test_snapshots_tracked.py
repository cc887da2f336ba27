"""Steps with large buffers are what they were, whether writes to memory are tracked or not."""

import asyncio
from pathlib import Path

import pytest

from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Sandbox
from sandboxes.opening import Sandboxes
from storage.blobs import Blobs
from tests.contract.conftest import fine, printed

COPIES = 2
FROZEN = 0.3
"""Seconds after which a session has been copied."""
MAKE = """
import gc, hashlib, mmap, os, threading, numpy as np
x = np.random.default_rng(1).integers(1, 255, 8 << 20, "u1")
held = bytearray(x[:3 << 20].tobytes())
whole = x.copy()
part = whole[5000:-5000]
def sums(): return [hashlib.sha256(one).hexdigest() for one in (x, held, whole, part)]
"""
WRITES = (
    "pass",
    "pass",
    "x[4_000_001] += 1",
    "file = open('/dev/urandom', 'rb', buffering=0); file.readinto(memoryview(held)[2_000_000:2_000_100]); del file",
    "thread = threading.Thread(target=part.__setitem__, args=(3_000_000, 9)); thread.start(); thread.join()",
    "del thread; np.sort(x[:100_000]).tofile('a.bin'); x[7_000_000:7_100_000].sort()",
    "pid = os.fork()\nif pid == 0: os._exit(0)\nx[10] += 1; os.waitpid(pid, 0); held[1_000_000] ^= 1",
    "held.extend(b'more' * 100); x = x[::-1].copy()",
    "pass",
    "whole[6_000_000] += 1",
)
CLOSE = """
for number in range(3, 4096):
    try: name = os.readlink(f"/proc/self/fd/{number}")
    except OSError: continue
    if "userfaultfd" in name or name.endswith("/pagemap"): os.close(number)
"""


async def session(sandbox: Sandbox, store: SnapshotStore, *, before: str = "") -> list[tuple[str, str]]:
    """Run cells that write in many ways, and keep each step: its snapshot, and what it had."""
    steps = []
    for number, code in enumerate((MAKE, *WRITES), 1):
        fine(await sandbox.run(code + "\n" + before, number=number, timeout=60.0))
        had = printed(await sandbox.run("print(sums())", number=0, timeout=60.0))
        kept = await store.keep(sandbox, [], limit_bytes=1 << 30)
        assert kept.snapshot, kept.why_not
        steps.append((kept.snapshot, had))
    return steps


@pytest.mark.parametrize("before", ["", CLOSE], ids=["tracked", "not tracked"])
async def test_each_step_comes_back_as_it_was(tmp_path: Path, cache: Path, before: str) -> None:
    store = SnapshotStore(Blobs.at(str(tmp_path / "blobs")))
    async with Sandboxes(tmp_path / "s", cache=cache) as opened:
        steps = await session(await opened.open("local", "first"), store, before=before)
    async with Sandboxes(tmp_path / "other", cache=cache) as opened:
        other = await opened.open("local", "second")
        for snapshot, had in steps:
            await store.restore(other, snapshot, damaged=set())
            assert printed(await other.run("print(sums())", number=0, timeout=60.0)) == had


async def test_a_copy_that_was_woken_keeps_what_it_changes(tmp_path: Path, cache: Path) -> None:
    store = SnapshotStore(Blobs.at(str(tmp_path / "blobs")))
    async with Sandboxes(tmp_path / "s", cache=cache, copies=COPIES) as opened:
        sandbox = await opened.open("local", "first")
        steps = await session(sandbox, store)
        await asyncio.sleep(FROZEN)
        fine(await sandbox.run("x[4_000_001] += 1", number=50, timeout=60.0))
        assert (await store.keep(sandbox, [], limit_bytes=1 << 30)).snapshot != steps[-1][0]
        await store.restore(sandbox, steps[-1][0], damaged=set())
        kept = ""
        for number in (51, 52, 53):
            fine(await sandbox.run("x[5_000_001] += 1", number=number, timeout=60.0))
            kept = (await store.keep(sandbox, [], limit_bytes=1 << 30)).snapshot
        had = printed(await sandbox.run("print(sums())", number=0, timeout=60.0))
    async with Sandboxes(tmp_path / "other", cache=cache) as opened:
        other = await opened.open("local", "second")
        await store.restore(other, kept, damaged=set())
        assert printed(await other.run("print(sums())", number=0, timeout=60.0)) == had
