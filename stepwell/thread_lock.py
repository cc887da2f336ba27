"""One writer a thread: a lock that is held across processes and released when its holder dies."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from stepwell.thread_error import ThreadError

PATIENCE = 0.3
"""Seconds: `anybody_at_work` in another process holds each lock for a moment only to look."""


@asynccontextmanager
async def alone_on(thread: str, home: Path) -> AsyncIterator[None]:
    """Hold a thread for the time of the block.

    Raises:
        ThreadError: somebody else holds it.
    """
    file = _file(thread, home)
    try:
        await asyncio.to_thread(file.parent.mkdir, parents=True, exist_ok=True)
        lock = FileLock(file, thread_local=False)
        await asyncio.to_thread(lock.acquire, timeout=PATIENCE, poll_interval=0.02)
    except Timeout:
        raise ThreadError(
            f"Thread {thread} is being worked on by another process; wait for it or stop it first."
        ) from None
    except OSError as error:
        raise ThreadError(
            f"The data folder {home} cannot be used ({error.strerror or error}); set STEPWELL_HOME to another one."
        ) from None
    try:
        yield
    finally:
        await asyncio.to_thread(lock.release)


def forget_lock(thread: str, home: Path) -> None:
    """Remove the lock of a thread that is no more."""
    _file(thread, home).unlink(missing_ok=True)


def anybody_at_work(home: Path) -> bool:
    """Whether any thread is held right now."""
    for file in (home / "locks").glob("*.lock"):
        lock = FileLock(file, thread_local=False)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return True
        lock.release()
    return False


def _file(thread: str, home: Path) -> Path:
    return home / "locks" / f"{thread}.lock"
