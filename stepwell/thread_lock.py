"""One writer a thread: a lock that is held across processes and released when its holder dies."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from stepwell.thread_error import ThreadError


@asynccontextmanager
async def alone_on(thread: str, home: Path) -> AsyncIterator[None]:
    """Hold a thread for the time of the block.

    Raises:
        ThreadError: somebody else holds it.
    """
    file = home / "locks" / f"{thread}.lock"
    try:
        await asyncio.to_thread(file.parent.mkdir, parents=True, exist_ok=True)
        lock = FileLock(file, thread_local=False)
        await asyncio.to_thread(lock.acquire, timeout=0)
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
