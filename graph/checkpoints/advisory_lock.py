"""The lock of a thread in a PostgreSQL database; importing this needs the extra `postgres`."""

import asyncio
import hashlib
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg

from graph.checkpoints.postgres_saver import CONNECT_SECONDS, unusable, watched
from graph.checkpoints.thread_lock import POLL_SECONDS, PROCESS_ID, ThreadHold, held_by_another

LOOK_SECONDS = 5.0
"""How often the holder looks whether its connection is still there."""
ANSWER_SECONDS = 10.0
"""How long the database may take to answer that; then somebody else may have the thread."""

Connection = psycopg.AsyncConnection[tuple[object, ...]]


@asynccontextmanager
async def hold_thread_in_database(
    thread: str, url: str, *, patience: float, holder: str = PROCESS_ID
) -> AsyncIterator[ThreadHold]:
    """Hold a thread for the time of the block; a connection of its own holds it. The tables must be there.

    Raises:
        ThreadHeldError: somebody else holds it.
        SettingsError: the database cannot be used.
    """
    try:
        connection = await psycopg.AsyncConnection.connect(
            watched(url), autocommit=True, connect_timeout=int(CONNECT_SECONDS)
        )
    except psycopg.Error as error:
        raise unusable(error) from None
    watch: asyncio.Task[None] | None = None
    try:
        await _acquire(connection, thread, patience)
        watch = asyncio.create_task(_until_lost(connection))
        yield ThreadHold(thread, await _note_holder(connection, thread, holder), watch)
    finally:
        if watch is not None:
            watch.cancel()
            await asyncio.wait([watch])
        await connection.close()


async def _acquire(connection: Connection, thread: str, patience: float) -> None:
    key = int.from_bytes(hashlib.sha256(f"stepwell thread {thread}".encode()).digest()[:8], signed=True)
    until = asyncio.get_running_loop().time() + patience
    pause, longest = POLL_SECONDS
    try:
        while True:
            row = await (await connection.execute("select pg_try_advisory_lock(%s)", (key,))).fetchone()
            if row is not None and row[0]:
                return
            if asyncio.get_running_loop().time() >= until:
                raise held_by_another(thread)
            await asyncio.sleep(pause)
            pause = min(1.5 * pause, longest)
    except psycopg.Error as error:
        raise unusable(error) from None


async def _note_holder(connection: Connection, thread: str, holder: str) -> bool:
    """Write down who holds it; whether another one did before."""
    try:
        found = await connection.execute("select holder from stepwell_holders where thread_id = %s", (thread,))
        row = await found.fetchone()
        if row is None or row[0] != holder:
            await connection.execute(
                "insert into stepwell_holders values (%s, %s) "
                "on conflict (thread_id) do update set holder = excluded.holder",
                (thread, holder),
            )
    except psycopg.Error as error:
        raise unusable(error) from None
    return row is not None and row[0] != holder


async def _until_lost(connection: Connection) -> None:
    """Look at the connection until it is lost."""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        look = asyncio.ensure_future(connection.execute("select 1"))
        try:
            await asyncio.wait([look], timeout=ANSWER_SECONDS)
        finally:
            if not look.done():
                _hang_up(connection)  # cancelling it would wait for the database, too
                await asyncio.wait([look])
        if look.exception() is not None:
            return


def _hang_up(connection: Connection) -> None:
    with socket.socket(fileno=os.dup(connection.fileno())) as its:
        its.shutdown(socket.SHUT_RDWR)
