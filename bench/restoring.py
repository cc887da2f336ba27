"""Two questions of their own: what a cell costs that changes nothing, and what restoring much data costs."""

import asyncio
import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

from bench.ours import LIMIT, restore_warm, run_cell
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.opening import Sandboxes
from storage.blobs import Blobs

FRAME = """
import numpy as np
import pandas as pd
df = pd.DataFrame(np.random.default_rng(0).normal(size=({rows}, 8)), columns=list("abcdefgh"))
"""
REPEATS = 12


@dataclass(frozen=True, slots=True)
class Idle:
    """Seconds to keep a cell that changed nothing, with a frame alive; medians."""

    frame_bytes: int
    host: float
    inside: float


@dataclass(frozen=True, slots=True)
class Large:
    """Seconds to restore one large frame, and to read its blobs."""

    frame_bytes: int
    read_disk: float
    """Reading all blobs once, after the page cache was told to forget them."""
    read_memory: float
    """The same from the page cache."""
    restore_disk: float
    """From the store, forgotten by the page cache, to a session that has the variable: a new process, imports, all."""
    kernel: float
    """The kernel's part: blobs in its folder and in the page cache, packages imported."""


async def idle(folder: Path, size: int) -> Idle:
    """Keep cells that change nothing.

    Args:
        folder: A new folder.
        size: Bytes of the frame that is alive.
    """
    snapshots = SnapshotStore(Blobs.at(str(folder / "blobs")))
    seconds, inside = [], []
    async with Sandboxes(folder / "threads") as sandboxes:
        sandbox = await sandboxes.open("local", "idle")
        await run_cell(sandbox, FRAME.format(rows=size // 64), 1)
        await snapshots.keep(sandbox, [], limit_bytes=LIMIT)
        for number in range(2, 2 + REPEATS):
            await run_cell(sandbox, "print(df.shape)", number)
            began = time.perf_counter()
            kept = await snapshots.keep(sandbox, [], limit_bytes=LIMIT)
            seconds.append(time.perf_counter() - began)
            inside.append(kept.seconds)
    return Idle(size, statistics.median(seconds[1:]), statistics.median(inside[1:]))


async def large(folder: Path, size: int) -> Large:
    """Restore one large frame.

    Args:
        folder: A new folder.
        size: Bytes of the frame.
    """
    store = folder / "blobs"
    snapshots = SnapshotStore(Blobs.at(str(store)))
    async with Sandboxes(folder / "threads") as sandboxes:
        sandbox = await sandboxes.open("local", "large")
        await run_cell(sandbox, FRAME.format(rows=size // 64), 1)
        kept = await snapshots.keep(sandbox, [], limit_bytes=LIMIT)
        if not kept.snapshot:
            raise RuntimeError(kept.why_not)
        await sandbox.close()
        await asyncio.to_thread(forget, store)
        read_disk = await asyncio.to_thread(read, store)
        read_memory = await asyncio.to_thread(read, store)
        await asyncio.to_thread(forget, store)
        other = await sandboxes.open("local", "other")
        began = time.perf_counter()
        await snapshots.restore(other, kept.snapshot, damaged=set())
        restore_disk = time.perf_counter() - began
        kernel = await restore_warm(other, ("numpy", "pandas"), kept.snapshot)
    return Large(size, read_disk, read_memory, restore_disk, kernel)


def forget(folder: Path) -> None:
    """Ask the page cache to let go of files, which are on disk already."""
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


def read(folder: Path) -> float:
    """Seconds to read all files of a folder, one after the other, into one piece of memory."""
    target = bytearray(8 << 20)
    began = time.perf_counter()
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb", buffering=0) as file:
                while file.readinto(target):
                    continue
    return time.perf_counter() - began
