"""Where checkpoints live: one SQLite file in the user's data folder, or a PostgreSQL database for several machines."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiosqlite
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from graph.checkpoints.damage import REPAIR, is_corrupt
from graph.checkpoints.data_folder import LOCAL, refuses_locks
from graph.checkpoints.saver import Saver
from graph.checkpoints.sqlite_saver import SqliteSaver
from graph.env_files import make_home
from graph.settings import Settings, SettingsError
from storage.missing_packages import install_command


def note_database(settings: Settings, identity: str) -> None:
    """Write the name of the database's checkpoints, which is the same on all machines."""
    file = settings.blob_owner
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"the database {identity}")


def checkpoints_file(home: Path) -> Path:
    """The SQLite file below a data folder."""
    return home / "threads.sqlite"


def load_postgres() -> None:
    """Import what PostgreSQL needs, which reads the disk.

    Raises:
        SettingsError: the extra `postgres` is not installed.
    """
    try:
        from graph.checkpoints import postgres_saver
    except ImportError as error:
        raise SettingsError(
            f"STEPWELL_DATABASE_URL needs packages that are not installed ({error}): "
            f"run {install_command('stepwell[postgres]')}."
        ) from None
    assert postgres_saver


def plain_values() -> JsonPlusSerializer:
    """Reads back JSON values and LangChain's own messages only: a class in a checkpoint is not rebuilt."""
    return JsonPlusSerializer(allowed_msgpack_modules=None)


@asynccontextmanager
async def open_checkpoints(settings: Settings) -> AsyncIterator[Saver]:
    """Open the checkpoints of these settings, making what is missing.

    Raises:
        SettingsError: the data folder cannot be written, the file is not a database, or the database cannot be used.
    """
    if url := settings.database_url.get_secret_value():
        await asyncio.to_thread(load_postgres)
        from graph.checkpoints.postgres_saver import open_postgres

        async with open_postgres(url, plain_values()) as distant:
            await asyncio.to_thread(make_home, settings.home)
            await asyncio.to_thread(note_database, settings, await distant.identity())
            async with _settling(distant):
                yield distant
        return
    async with _open_sqlite(settings.home) as saver, _settling(saver):
        yield saver


@asynccontextmanager
async def _settling(saver: Saver) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await saver.holds.leave()


@asynccontextmanager
async def _open_sqlite(home: Path) -> AsyncIterator[SqliteSaver]:
    file = checkpoints_file(home)
    try:
        await asyncio.to_thread(make_home, home)
        connection = await aiosqlite.connect(file)
        # Where text is garbage, it is that of one row; reading it must not end the reading of all others.
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
    except (OSError, aiosqlite.Error) as error:
        raise SettingsError(
            f"The data folder {home} cannot be used ({_reason(error)}); set STEPWELL_HOME to a writable folder."
        ) from None
    try:
        saver = SqliteSaver(connection, serde=plain_values())
        try:
            await saver.setup()
        except aiosqlite.Error as error:
            raise SettingsError(
                f"The checkpoints in {file} cannot be opened ({error}); "
                + (f"{REPAIR}, or move the file away." if is_corrupt(error) else await _advice(error, home))
            ) from None
        try:
            yield saver
        except aiosqlite.Error as error:
            raise SettingsError(
                f"The checkpoints in {file} cannot be read or written ({error}); "
                + (f"{REPAIR}." if is_corrupt(error) else _what_to_do(error))
            ) from None
    finally:
        await connection.close()


async def _advice(error: aiosqlite.Error, home: Path) -> str:
    """What to do where SQLite fails and its file is sound."""
    if await asyncio.to_thread(refuses_locks, home):
        return f"files there cannot be locked: {LOCAL}."
    return _what_to_do(error)


def _what_to_do(error: aiosqlite.Error) -> str:
    if "locked" in str(error):
        return "another process has been writing to it for seconds; try again, or end that process."
    return "if the disk is full, make room there."


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error)
