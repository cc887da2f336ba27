"""Opening the checkpoints in a PostgreSQL database; importing this needs the extra `postgres`."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
from langgraph.checkpoint.serde.base import SerializerProtocol
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from graph.checkpoints.postgres_saver import PostgresSaver
from graph.settings import SettingsError

CONNECT_SECONDS = 15.0
SETUP_LOCK = 0x5374657077656C6C
"""The advisory lock that is held while tables are made."""
SETUP_SECONDS = 60.0
WATCHED = {"keepalives_idle": "5", "keepalives_interval": "5", "keepalives_count": "3", "tcp_user_timeout": "15000"}
"""A machine that is gone says nothing: without these an operation would wait for it for a quarter of an hour, and one
that holds a thread would not learn that another machine may have it by now. What the URL says goes before."""
CONNECTIONS = 4
"""Of one process, at most."""

Pool = AsyncConnectionPool[psycopg.AsyncConnection[DictRow]]


@asynccontextmanager
async def open_postgres(
    url: str, serde: SerializerProtocol, *, patience: float = CONNECT_SECONDS
) -> AsyncIterator[PostgresSaver]:
    """Open the checkpoints in a database, making the tables that are missing.

    Args:
        url: Of the database.
        serde: Reads and writes values.
        patience: Seconds that an operation waits for a database that has gone away, as for a restart.

    Raises:
        SettingsError: the database cannot be used.
    """
    try:
        url = watched(url)
        await _set_up(url, serde)
        async with Pool(
            url,
            kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row},
            min_size=1,
            max_size=CONNECTIONS,
            timeout=patience,
            check=Pool.check_connection,
            open=False,
        ) as pool:
            yield PostgresSaver(pool, serde=serde)
    except (psycopg.Error, PoolTimeout) as error:
        raise unusable(error) from None


async def _set_up(url: str, serde: SerializerProtocol) -> None:
    """Make the tables. Polled for, because an index that is made waits for whoever waits in the database."""
    try:
        async with asyncio.timeout(SETUP_SECONDS):
            await _set_up_in_turn(url, serde)
    except TimeoutError:
        reason = f"its tables could not be made within {SETUP_SECONDS:g} s; does another process hold them?"
        raise unusable(TimeoutError(reason)) from None


async def _set_up_in_turn(url: str, serde: SerializerProtocol) -> None:
    async with (
        await psycopg.AsyncConnection.connect(
            url, autocommit=True, prepare_threshold=0, row_factory=dict_row, connect_timeout=int(CONNECT_SECONDS)
        ) as connection,
    ):
        while True:
            answer = await connection.execute("select pg_try_advisory_lock(%s) as mine", (SETUP_LOCK,))
            if (row := await answer.fetchone()) is not None and row["mine"]:
                break
            await asyncio.sleep(0.1)
        await PostgresSaver(connection, serde=serde).setup()  # the lock ends with the connection


def watched(url: str) -> str:
    """The same database, with connections that notice when it is gone.

    Raises:
        psycopg.Error: this is no URL of a database.
    """
    given = conninfo_to_dict(url)
    return make_conninfo(url, **{name: value for name, value in WATCHED.items() if name not in given})


def unusable(error: Exception) -> SettingsError:
    """What the operator is told when the database cannot be used."""
    reason = " ".join(str(error).split())[:300] or type(error).__name__
    return SettingsError(f"The database of STEPWELL_DATABASE_URL cannot be used ({reason}).")
