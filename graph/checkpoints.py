"""Where checkpoints live: one SQLite file in the user's data folder."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiosqlite
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from graph.settings import SettingsError

HASH = re.compile(rb"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class ThreadHead:
    """A thread and its newest checkpoint."""

    thread: str
    checkpoint: str


def checkpoints_file(home: Path) -> Path:
    """The SQLite file below a data folder."""
    return home / "threads.sqlite"


@asynccontextmanager
async def open_checkpoints(home: Path) -> AsyncIterator[AsyncSqliteSaver]:
    """Open the checkpoints of a data folder, making both when they are missing.

    Only JSON values and LangChain's own messages are read back: a class in a checkpoint is not rebuilt.

    Raises:
        SettingsError: the folder cannot be written, or the file is not a database.
    """
    file = checkpoints_file(home)
    try:
        await asyncio.to_thread(home.mkdir, parents=True, exist_ok=True)
        connection = await aiosqlite.connect(file)
    except (OSError, aiosqlite.Error) as error:
        raise SettingsError(
            f"The data folder {home} cannot be used ({_reason(error)}); set STEPWELL_HOME to a writable folder."
        ) from None
    try:
        saver = AsyncSqliteSaver(connection, serde=JsonPlusSerializer(allowed_msgpack_modules=None))
        try:
            await saver.setup()
        except aiosqlite.Error as error:
            raise SettingsError(
                f"The checkpoints in {file} cannot be opened ({error}); move the file away or set STEPWELL_HOME."
            ) from None
        try:
            yield saver
        except aiosqlite.Error as error:
            raise SettingsError(
                f"The checkpoints in {file} cannot be read or written ({error}); if the disk is full, make room there; "
                "if the file is damaged, move it away or set STEPWELL_HOME."
            ) from None
    finally:
        await connection.close()


async def newest_threads(saver: AsyncSqliteSaver, *, limit: int) -> list[ThreadHead]:
    """The threads whose newest checkpoints are newest, newest first. Checkpoint ids grow with time."""
    query = (
        "select thread_id, max(checkpoint_id) as head from checkpoints where checkpoint_ns = '' "
        "group by thread_id order by head desc limit ?"
    )
    async with saver.conn.execute(query, (limit,)) as cursor:
        return [ThreadHead(str(thread), str(head)) async for thread, head in cursor]


async def newest_metadata(saver: AsyncSqliteSaver, thread: str, key: str) -> str | None:
    """A text that a run left in the metadata of its checkpoints: the newest, since forks are made without it."""
    query = (
        "select json_extract(cast(metadata as text), ?) as kept from checkpoints where thread_id = ? "
        "and checkpoint_ns = '' and kept is not null order by checkpoint_id desc limit 1"
    )
    async with saver.conn.execute(query, (f'$."{key}"', thread)) as cursor:
        row = await cursor.fetchone()
    return str(row[0]) if row else None


async def change_metadata(saver: AsyncSqliteSaver, thread: str, key: str, text: str) -> bool:
    """Leave a text in the metadata of a thread's newest checkpoint, which is what its next run goes by.

    Returns:
        False when the thread has no checkpoint.
    """
    query = (
        "update checkpoints set metadata = cast(json_set(cast(metadata as text), ?, ?) as blob) where thread_id = ? "
        "and checkpoint_ns = '' and checkpoint_id = (select max(checkpoint_id) from checkpoints where thread_id = ? "
        "and checkpoint_ns = '')"
    )
    async with saver.lock, saver.conn.execute(query, (f'$."{key}"', text, thread, thread)) as cursor:
        changed = cursor.rowcount
    await saver.conn.commit()
    return changed > 0


async def threads_beginning_with(saver: AsyncSqliteSaver, prefix: str) -> list[str]:
    """The ids of threads that begin with these characters, at most ten."""
    pattern = prefix.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    query = "select distinct thread_id from checkpoints where thread_id like ? escape '\\' limit 10"
    async with saver.conn.execute(query, (pattern,)) as cursor:
        return [str(thread) async for (thread,) in cursor]


async def hashes_named(saver: AsyncSqliteSaver, thread: str = "") -> set[str]:
    """Every SHA-256 that a checkpoint or a pending write of any thread mentions, in all branches.

    Read from the stored bytes and not from their meaning, so that a state that this version does not understand still
    keeps what it names. What merely looks like a hash is among them; that keeps too much, never too little.

    Args:
        saver: The checkpoints.
        thread: Only this one; empty: all.
    """
    found: set[str] = set()
    chosen = " where thread_id = ?" if thread else ""
    for query in (f"select checkpoint from checkpoints{chosen}", f"select value from writes{chosen}"):  # noqa: S608 - both are ours
        async with saver.conn.execute(query, (thread,) if thread else ()) as cursor:
            async for (value,) in cursor:
                data = value.encode() if isinstance(value, str) else bytes(value or b"")
                found.update(match.decode() for match in HASH.findall(data))
    return found


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error)
