"""Folders for a moment, in the system's place for temporary files: removed after use, also by others after a kill.

Whoever uses one holds a lock on it, which ends with the process. What nobody holds was left by a process that was
killed, and the next one with the same purpose removes it.
"""

import asyncio
import contextlib
import fcntl
import functools
import os
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sandboxes.host.workspace import remove

FRESH_SECONDS = 60.0
"""A folder as young as this may have been made by somebody who does not hold it yet."""


@contextmanager
def held_folder(purpose: str) -> Iterator[Path]:
    """A folder for the time of the block. Blocks.

    Args:
        purpose: A word that its name has, by which what a killed process left is found.

    Raises:
        OSError: it cannot be made.
    """
    held = _Held.make(purpose)
    try:
        yield held.path
    finally:
        held.remove()


@asynccontextmanager
async def scratch_folder(purpose: str) -> AsyncIterator[Path]:
    """The same in an event loop; nothing stays when the task is cancelled.

    Args:
        purpose: As for `held_folder`.

    Raises:
        OSError: it cannot be made.
    """
    making = asyncio.ensure_future(asyncio.to_thread(_Held.make, purpose))
    try:
        held = await asyncio.shield(making)
    except asyncio.CancelledError:
        await asyncio.wait([making])
        if making.exception() is None:
            await asyncio.to_thread(making.result().remove)
        raise
    try:
        yield held.path
    finally:
        await asyncio.shield(asyncio.to_thread(held.remove))


@dataclass(frozen=True, slots=True)
class _Held:
    path: Path
    descriptor: int

    @classmethod
    def make(cls, purpose: str) -> "_Held":
        place, prefix = tempfile.gettempdir(), f"stepwell-{purpose}-"
        _sweep(place, prefix)
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        return cls(path, descriptor)

    def remove(self) -> None:
        with contextlib.suppress(OSError):  # what is left of it, the next one sweeps
            remove(self.path)
        os.close(self.descriptor)


@functools.cache
def _sweep(place: str, prefix: str) -> None:
    """Remove, once in each process, what others of this user left that were killed."""
    for left in Path(place).glob(f"{prefix}*"):
        try:
            descriptor = os.open(left, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue  # it is gone, or is no folder
        try:
            status = os.fstat(descriptor)
            if status.st_uid != os.geteuid() or time.time() - status.st_mtime < FRESH_SECONDS:
                continue
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove(left)
        except OSError:
            continue  # somebody uses it, or it cannot be removed
        finally:
            os.close(descriptor)
