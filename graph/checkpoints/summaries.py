"""Summaries of threads, kept beside their checkpoints so that a list of threads need not load any state.

A summary is believed only while what it was made from is there: the newest checkpoint, and what was written at it. It
is read without LangGraph, whose import takes longer than all the rest of listing threads.
"""

import hashlib
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

TABLE = """
create table if not exists stepwell_summaries (
    thread_id text primary key, mark text not null, summary text not null
);
"""
NEWEST = (
    "select thread_id, max(checkpoint_id) as head from checkpoints where checkpoint_ns = '' "
    "group by thread_id order by head desc limit ?"
)
HEAD = (
    "select checkpoint_id, type, checkpoint from checkpoints where thread_id = ? and checkpoint_ns = '' "
    "order by checkpoint_id desc limit 1"
)
WRITTEN = (
    "select task_id, task_path, idx, channel, type, value from writes where thread_id = ? and checkpoint_ns = '' "
    "and checkpoint_id = ? order by task_id, idx"
)
KEPT = "select mark, summary from stepwell_summaries where thread_id = ?"


def mark_of(head: Iterable[Any], written: Iterable[Iterable[Any]]) -> str:
    """What tells one end of a thread from another.

    Args:
        head: The row of its newest checkpoint.
        written: The rows of what was written at that.
    """
    digest = hashlib.sha256()
    for row in (head, *written):
        for value in row:
            data = value if isinstance(value, bytes) else str(value).encode(errors="surrogateescape")
            digest.update(f"{type(value).__name__} {len(data)} ".encode())
            digest.update(data)
        digest.update(b"\n")
    return digest.hexdigest()


def kept_summaries(file: Path, *, limit: int) -> list[str] | None:
    """The summaries of the most recently changed threads, the newest first.

    Args:
        file: The SQLite file of checkpoints.
        limit: At most so many.

    Returns:
        None when one is missing or not of today, or when the file is missing or cannot be read: the states must be
        read then, and say what is wrong.
    """
    try:
        with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=rw", uri=True)) as connection:
            connection.execute("begin")  # one view for all queries
            threads = [thread for thread, _ in connection.execute(NEWEST, (limit,))]
            found = [_kept(connection, thread) for thread in threads]
    except sqlite3.Error:
        return None
    told = [summary for summary in found if summary is not None]
    return told if len(told) == len(threads) else None


def _kept(connection: sqlite3.Connection, thread: str) -> str | None:
    kept = connection.execute(KEPT, (thread,)).fetchone()
    head = connection.execute(HEAD, (thread,)).fetchone()
    if kept is None or head is None:
        return None
    mark, summary = kept
    return str(summary) if mark == mark_of(head, connection.execute(WRITTEN, (thread, head[0]))) else None
