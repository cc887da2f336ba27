"""Damage in what is stored of a thread costs that thread alone, which is named; all others stay readable.

Pages that a disk has lost, a file that another program wrote into: what comes back is garbage, and reading it fails
in any way there is. So whatever fails while a thread is read, and is not the storage itself, is damage of that thread.
"""

import errno
import logging
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from langchain_core.runnables import RunnableConfig

from graph.settings import SettingsError

logger = logging.getLogger(__name__)

REPAIR = "`stepwell doctor --repair` keeps what can be read"
CORRUPT = ("malformed", "not a database", "corrupt", "decode")
"""What SQLite says of a damaged file, and of JSON that is none."""
NEVER_FROM_BYTES = (MemoryError, NameError)
"""What no garbage brings about: the machine's, or ours."""
CLOSED = ("Connection closed", "no active connection")
"""What aiosqlite says where a process ends meanwhile; a test holds this against the installed version."""
SHAPE = {"id": str, "channel_values": dict, "channel_versions": dict, "versions_seen": dict}


DISK = {
    errno.ENOSPC: "make room there",
    errno.EDQUOT: "make room there",
    errno.EROFS: "make it writable",
    errno.EIO: "look at the disk",
}
"""Errors that are the disk's, and what to do about them."""
FILE_NUMBERS = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_IOERR: errno.EIO,
}
"""What SQLite's codes are as an error of a file."""
POSTGRES_IS_FULL = "53100"
"""The code of PostgreSQL's `disk_full`."""
OURS = "stepwell:"
"""What the journal's channels begin with."""
MOST_NOT_STORED = 100
_not_stored: dict[str, Exception] = {}
GROWING = frozenset({"messages", "cells", "turns", "inputs", "namespace"})
"""Channels of lists."""


class DamagedThreadError(SettingsError):
    """A thread cannot be read; the message names it and says what to do."""

    def __init__(self, thread: str, reason: str) -> None:
        super().__init__(f"Thread {thread} is damaged and cannot be read ({reason}); {REPAIR}.")
        self.thread = thread


@contextmanager
def reporting_damage(thread: str) -> Iterator[None]:
    """Report whatever fails while a thread is read as damage of that thread.

    Raises:
        DamagedThreadError: it is.
        sqlite3.Error: the storage failed.
    """
    try:
        yield
    except (SettingsError, OSError, *NEVER_FROM_BYTES):
        raise
    except Exception as error:
        if type(error).__module__.partition(".")[0].startswith("psycopg"):
            raise
        if isinstance(error, sqlite3.Error) and not is_corrupt(error):
            raise
        if isinstance(error, ValueError) and str(error) in CLOSED:
            raise
        said = " ".join(str(error).split())[:120]
        raise DamagedThreadError(thread, f"{type(error).__name__}: {said}" if said else type(error).__name__) from error


class DiskError(RuntimeError):
    """A run stopped because a disk is full or fails; the thread can be resumed once the disk works again."""


@contextmanager
def reporting_disk_errors() -> Iterator[None]:
    """Turn a disk's error in the block into a sentence that names no path: the caller may be on another machine.

    Raises:
        DiskError: the disk failed.
    """
    try:
        yield
    except Exception as error:
        number = _number_of(error) or _number_of(error.__cause__)
        if number not in DISK:
            raise
        logger.exception("The disk cannot be used.")
        raise DiskError(disk_problem(OSError(number, os.strerror(number)))) from error


@contextmanager
def recording_store_failure(config: RunnableConfig, writes: Sequence[tuple[str, Any]] = ()) -> Iterator[None]:
    """Remember why something of a thread could not be stored, for the cell that waits for its checkpoint.

    LangGraph stores checkpoints while the next node works, and looks at what came of it when that node has ended. After
    one that could not be stored, or a write to a growing channel, it stores none.

    Args:
        config: Names the thread.
        writes: What is stored, if it is no checkpoint; whoever writes into channels of ours hears of it.
    """
    try:
        yield
    except Exception as error:
        if writes and all(channel.startswith(OURS) for channel, _ in writes):
            raise
        _not_stored[thread_id_in(config)] = error
        if len(_not_stored) > MOST_NOT_STORED:
            _not_stored.pop(next(iter(list(_not_stored))), None)
        raise


def store_failure(config: RunnableConfig) -> Exception | None:
    """The error that this process met in storing something of a thread since its run began; None: no error."""
    return _not_stored.get(thread_id_in(config))


def clear_store_failure(thread: str) -> None:
    """A run of a thread is over."""
    _not_stored.pop(thread, None)


def thread_id_in(config: RunnableConfig) -> str:
    """The id of the thread that is meant; empty: none is."""
    return str((config.get("configurable") or {}).get("thread_id") or "")


def _number_of(error: BaseException | None) -> int | None:
    """Which error of a file it is."""
    if isinstance(error, sqlite3.Error):
        return FILE_NUMBERS.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)  # the kind is the code's first byte
    if getattr(error, "sqlstate", "") == POSTGRES_IS_FULL:
        return errno.ENOSPC
    return error.errno if isinstance(error, OSError) else None


def disk_problem(error: OSError) -> str:
    """The sentence for a disk that is full or fails; empty when the error is another one."""
    if error.errno not in DISK:
        return ""
    where = f" at {error.filename}" if error.filename else ""
    return f"The disk cannot be used{where} ({error.strerror}); {DISK[error.errno]}, then resume the thread."


def is_corrupt(error: sqlite3.Error) -> bool:
    """Whether SQLite says that what it read is garbage."""
    return any(word in str(error) for word in CORRUPT)


def check_checkpoint(checkpoint: Any, metadata: Any) -> None:
    """Check that what was read is a checkpoint.

    Raises:
        ValueError: it is not.
    """
    if not isinstance(checkpoint, dict) or not isinstance(metadata, dict):
        raise ValueError("no checkpoint")
    if wrong := [name for name, kind in SHAPE.items() if not isinstance(checkpoint.get(name), kind)]:
        raise ValueError(f"no checkpoint: {', '.join(wrong)}")


def check_write(channel: str, value: Any) -> None:
    """Check that what was read can have been written into a channel: garbage often reads as a bare number.

    Raises:
        ValueError: it cannot.
    """
    if channel in GROWING and (value is None or isinstance(value, int | float | bytes)):
        raise ValueError(f"what was written into {channel} is none of it")
