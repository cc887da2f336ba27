"""Keeps checkpoints in the order in which they were made, whatever the clock does.

LangGraph names a checkpoint by the time (RFC 9562, version 6) and takes the greatest name as the newest. When the
clock is set back, or a thread goes on at a machine whose clock is behind, new checkpoints would lie before old ones:
cells would run, and nobody would find them. LangGraph's names grow within one process. So before a process names a
checkpoint it is told the newest one that there is, and goes on from there, however far in the future that lies.

The time when a checkpoint was really made is noted beside it where its name says another.
"""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata
from langgraph.checkpoint.base import id as naming

MADE = "stepwell_made"
"""In the metadata of a checkpoint: when it was made, where its name says otherwise."""
NEWEST_NAMED = "_last_v6_timestamp"
"""Where LangGraph keeps the time of the newest name that it gave; a test holds this against the installed version."""
EPOCH = datetime(1582, 10, 15, tzinfo=UTC)
TOLERATED = timedelta(seconds=2)
LATEST = datetime(4000, 1, 1, tzinfo=UTC)
"""A name that says a later time is garbage; nothing goes on from there, where names end."""


def advance_ids_past(checkpoint: str) -> None:
    """Have all checkpoints that this process names from now on come after this one."""
    ticks = _ticks(checkpoint)
    newest = getattr(naming, NEWEST_NAMED)
    named = time_named(checkpoint)
    if ticks is not None and named is not None and named < LATEST and (newest is None or newest < ticks):
        setattr(naming, NEWEST_NAMED, ticks)


def with_time(checkpoint: Checkpoint, metadata: CheckpointMetadata) -> CheckpointMetadata:
    """The metadata, with the time when the checkpoint was made if its name does not say it."""
    named = time_named(checkpoint["id"])
    try:
        made = datetime.fromisoformat(checkpoint["ts"])
    except (KeyError, ValueError):
        return metadata
    if named is None or made.tzinfo is None or abs(named - made) <= TOLERATED:
        return metadata
    noted: Any = {**metadata, MADE: checkpoint["ts"]}
    return noted  # type: ignore[no-any-return]


def time_made(checkpoint: str, noted: str = "") -> datetime | None:
    """When a checkpoint was made; None when nothing says it.

    Args:
        checkpoint: Its name.
        noted: What its metadata has for `MADE`.
    """
    try:
        return datetime.fromisoformat(noted)
    except ValueError:
        return time_named(checkpoint)


def time_named(checkpoint: str) -> datetime | None:
    """The time that a checkpoint's name holds; None when it is no name of this kind."""
    ticks = _ticks(checkpoint)
    try:
        return EPOCH + timedelta(microseconds=ticks // 10) if ticks is not None else None
    except OverflowError:
        return None


def _ticks(checkpoint: str) -> int | None:
    try:
        name = UUID(checkpoint)
    except ValueError:
        return None
    if name.version != 6:
        return None
    return (name.time_low << 28) | (name.time_mid << 12) | (name.time_hi_version & 0x0FFF)
