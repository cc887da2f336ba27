"""One writer a thread: a lock that is held across processes and machines, and released when its holder dies.

On one machine it is a file below the data folder. With a database it is one of PostgreSQL's advisory locks, too, which
ends with the connection that holds it.
"""

import asyncio
import os
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock, Timeout

from graph.env_files import make_home
from graph.settings import Settings, SettingsError
from sandboxes.host.tasks import uncancellable

T = TypeVar("T")

POLL_SECONDS = (0.02, 0.5)
"""How often it is tried: at first, and after a while."""
PROCESS_ID = f"{os.getpid()}-{uuid.uuid4()}"
"""Names this process."""


class ThreadHeldError(RuntimeError):
    """Somebody else works on the thread, or the lock cannot be kept; the message says what to do."""


@dataclass(frozen=True, slots=True)
class ThreadHold:
    """A thread that is held."""

    thread: str
    taken_over: bool = False
    """Whether another process has held it since this one did: what this process knows of the thread's sandbox may not
    be so any more."""
    lost: asyncio.Future[None] | None = None
    """Done when somebody else may have taken the thread meanwhile; None when that cannot be."""
    before: str = ""
    """Who held it last, on this machine; empty when nobody did."""

    async def guarded(
        self, stream: AsyncIterator[T], broken_off: asyncio.Future[None] | None = None
    ) -> AsyncIterator[T]:
        """The stream, broken off when the thread is lost.

        Args:
            stream: What the run yields.
            broken_off: Done when the run has to stop for another reason.

        Raises:
            ThreadHeldError: it was lost.
            RunInterruptedError: it had to stop.
        """
        reasons = [reason for reason in (self.lost, broken_off) if reason is not None]
        while True:
            step = asyncio.ensure_future(anext(stream))
            watched: list[asyncio.Future[Any]] = [step, *reasons]
            try:
                await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if stopped := not step.done():
                    await _end(step)
            if self.lost is not None and self.lost.done():
                raise ThreadHeldError(
                    f"The connection to the database that held thread {self.thread} was lost; resume the thread."
                ) from None
            if stopped:
                from graph.drain import RunInterruptedError  # with LangGraph, which a list of threads does without

                raise RunInterruptedError from (None if step.cancelled() else step.exception())
            try:
                part = step.result()
            except StopAsyncIteration:
                return
            yield part


async def _end(step: asyncio.Future[Any]) -> None:
    """Cancel it and wait for its end: while it works on the thread, nobody else may. A further cancel is passed on."""
    cancelled: asyncio.CancelledError | None = None
    while not step.done():
        step.cancel()
        try:
            await asyncio.wait([step])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


@asynccontextmanager
async def hold_thread(
    thread: str, settings: Settings, *, patience: float, holder: str = PROCESS_ID
) -> AsyncIterator[ThreadHold]:
    """Hold a thread for the time of the block.

    Args:
        thread: Its id.
        settings: Where threads are kept.
        patience: Seconds to wait for whoever holds it.
        holder: Who that is; under a name of its own, what this process knows of the thread's sandbox is not so any more
            for whoever holds it next.

    Raises:
        ThreadHeldError: somebody else holds it.
        SettingsError: the data folder or the database cannot be used.
    """
    file = _file(thread, settings.home)
    lock = FileLock(file, thread_local=False)
    try:
        try:
            await asyncio.to_thread(make_home, settings.home)
            await asyncio.to_thread(file.parent.mkdir, exist_ok=True)
            await _acquire(lock, thread, patience)
            before = await uncancellable(asyncio.to_thread(_note_holder, file, holder))
            taken_over = before not in ("", holder)
        except OSError as error:
            reason = error.strerror or error
            raise SettingsError(
                f"The data folder {settings.home} cannot be used ({reason}); set STEPWELL_HOME to another one."
            ) from error
        if url := settings.database_url.get_secret_value():
            from graph.checkpoints.factory import load_postgres

            await asyncio.to_thread(load_postgres)
            from graph.checkpoints.advisory_lock import hold_thread_in_database

            async with hold_thread_in_database(thread, url, patience=patience, holder=holder) as hold:
                yield replace(hold, taken_over=taken_over or hold.taken_over, before=before)
        else:
            yield ThreadHold(thread, taken_over, before=before)
    finally:
        await uncancellable(asyncio.to_thread(lock.release))  # of one that it does not have, nothing comes


async def _acquire(lock: FileLock, thread: str, patience: float) -> None:
    until = asyncio.get_running_loop().time() + patience
    pause, longest = POLL_SECONDS
    while not await uncancellable(
        asyncio.to_thread(_try, lock)
    ):  # a cancelled task leaves its release to `hold_thread`
        if asyncio.get_running_loop().time() >= until:
            raise held_by_another(thread)
        await asyncio.sleep(pause)
        pause = min(1.5 * pause, longest)


def _try(lock: FileLock) -> bool:
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return False
    return True


def _note_holder(file: Path, holder: str) -> str:
    """Write down who holds it; who did before, if anybody did."""
    before = _holder(file)
    if before != holder:
        file.with_suffix(".holder").write_text(holder)
    return before


def _holder(file: Path) -> str:
    note = file.with_suffix(".holder")
    return note.read_text("utf-8", "replace") if note.exists() else ""


def last_holder(thread: str, home: Path) -> str:
    """Who held a thread last, on this machine; empty when nobody did."""
    return _holder(_file(thread, home))


def held_by_another(thread: str) -> ThreadHeldError:
    """What one is told who cannot have a thread."""
    return ThreadHeldError(f"Thread {thread} is being worked on by another process; wait for it or stop it first.")


def forget_lock(thread: str, home: Path) -> None:
    """Remove the lock of a thread that is no more."""
    file = _file(thread, home)
    file.unlink(missing_ok=True)
    file.with_suffix(".holder").unlink(missing_ok=True)


def any_thread_held(home: Path) -> bool:
    """Whether any thread is held right now, on this machine."""
    for file in (home / "locks").glob("*.lock"):
        lock = FileLock(file, thread_local=False)
        if not _try(lock):
            return True
        lock.release()
    return False


def is_thread_held(thread: str, home: Path) -> bool:
    """Whether a thread is held right now, on this machine."""
    file = _file(thread, home)
    if not file.exists():
        return False
    lock = FileLock(file, thread_local=False)
    if not _try(lock):
        return True
    lock.release()
    return False


def _file(thread: str, home: Path) -> Path:
    return home / "locks" / f"{thread}.lock"
