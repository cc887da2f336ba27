"""Where checkpoints live: one SQLite file in the user's data folder."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiosqlite
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from graph.settings import SettingsError


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


async def threads_beginning_with(saver: AsyncSqliteSaver, prefix: str) -> list[str]:
    """The ids of threads that begin with these characters, at most ten."""
    pattern = prefix.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
    query = "select distinct thread_id from checkpoints where thread_id like ? escape '\\' limit 10"
    async with saver.conn.execute(query, (pattern,)) as cursor:
        return [str(thread) async for (thread,) in cursor]


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error)
