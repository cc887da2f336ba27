"""Checkpoints in PostgreSQL, for several machines, with the operations that LangGraph's own saver for it lacks."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

import psycopg
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP, ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import ERROR
from psycopg import AsyncCursor
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow, dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from graph.checkpoints import given_up as giving_up
from graph.checkpoints import labels as labelling
from graph.checkpoints.given_up import GivenUp, given_up_in, rows_of
from graph.checkpoints.labels import Change, Labels, labels_in
from graph.checkpoints.order import MADE, advance_ids_past
from graph.checkpoints.saver import COPIED, CheckpointRow, Saver, ThreadHead, WrittenRow, run_of
from graph.checkpoints.summaries import KEPT, TABLE, mark_of
from graph.checkpoints.task_writes import (
    ABOUT_A_TASK,
    COUNTERS,
    SUCCESSOR,
    Link,
    all_but_newest,
    deletable,
)
from graph.settings import SettingsError

HASH = re.compile(rb"[0-9a-f]{64}")
OURS = (
    """create table if not exists stepwell_write_runs (
        thread_id text not null,
        checkpoint_ns text not null,
        checkpoint_id text not null,
        task_id text not null,
        idx integer not null,
        run_id text not null,
        primary key (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, run_id)
    )""",
    "create index if not exists stepwell_write_runs_run on stepwell_write_runs (run_id)",
    "create table if not exists stepwell_owners (thread_id text primary key, owner text not null)",
    "create table if not exists stepwell_holders (thread_id text primary key, holder text not null)",
    "create table if not exists stepwell_identity (id uuid not null)",
    "insert into stepwell_identity select gen_random_uuid() where not exists (select 1 from stepwell_identity)",
    "create index if not exists stepwell_checkpoints_newest on checkpoints (checkpoint_id)",
    "create index if not exists stepwell_checkpoints_run on checkpoints ((metadata ->> 'run_id'))",
    TABLE,
    giving_up.TABLE,
    labelling.TABLE,
)
"""Which run wrote what: a run that is rolled back takes along what it wrote on checkpoints of the runs before it."""
ALL_TABLES = ("checkpoints", "checkpoint_writes", "stepwell_write_runs")
KEY = ("thread_id", "checkpoint_ns", "checkpoint_id", "task_id", "idx")
NO_CHILD = (
    " and not exists (select 1 from checkpoints c where c.thread_id = r.thread_id and "
    "c.checkpoint_ns = r.checkpoint_ns and c.parent_checkpoint_id = r.checkpoint_id)"
)
SAME = " and ".join(f"o.{name} = r.{name}" for name in KEY)
NO_OTHER_RUN = f" and not exists (select 1 from stepwell_write_runs o where o.run_id <> r.run_id and {SAME})"  # noqa: S608
GARBAGE = """
delete from checkpoint_blobs b where b.thread_id = %(thread)s and b.checkpoint_ns = %(namespace)s and not exists (
    select 1 from checkpoints c where c.thread_id = b.thread_id and c.checkpoint_ns = b.checkpoint_ns
    and c.checkpoint -> 'channel_versions' ->> b.channel = b.version
)"""
LINKS = f"""
select checkpoint_id, parent_checkpoint_id, metadata -> '{COUNTERS}' as counted, array(
    select v.key from jsonb_each(c.checkpoint -> 'channel_values') v where v.value = 'true'::jsonb and exists (
        select 1 from checkpoint_blobs b where b.thread_id = c.thread_id and b.checkpoint_ns = c.checkpoint_ns
        and b.channel = v.key and b.version = c.checkpoint -> 'channel_versions' ->> v.key
    )
) as whole
from checkpoints c where thread_id = %s and checkpoint_ns = %s
"""  # noqa: S608 - a full copy of a growing channel is marked by `true`, with a blob behind it


HEAD = (
    "select checkpoint_id, checkpoint::text from checkpoints where thread_id = %s and checkpoint_ns = '' "
    "order by checkpoint_id desc limit 1"
)
WRITTEN = (
    "select task_id, task_path, idx, channel, type, blob from checkpoint_writes where thread_id = %s "
    "and checkpoint_ns = '' and checkpoint_id = %s order by task_id, idx"
)
KEEP = (
    "insert into stepwell_summaries values (%s, %s, %s) "
    "on conflict (thread_id) do update set mark = excluded.mark, summary = excluded.summary"
)
AT = "thread_id = %s and checkpoint_ns = %s and checkpoint_id = %s"
LEFT_BY_BROKEN_OFF = (
    f"delete from checkpoint_writes where {AT} and task_id = %s and idx >= 0 "  # noqa: S608 - ours
    f"and exists (select 1 from checkpoint_writes where {AT} and task_id = %s and idx = {WRITES_IDX_MAP[ERROR]}) "
    f"and not exists (select 1 from checkpoint_writes where {AT} and task_id = %s "
    f"and starts_with(channel, '{SUCCESSOR}'))"
)
"""What earlier versions kept of a task that was broken off as it ended: it must not mix with what it writes now."""


class PostgresSaver(Saver, AsyncPostgresSaver):
    """Checkpoints in a PostgreSQL database, which processes on several machines may use at the same time."""

    async def setup(self) -> None:
        """Make the tables that are missing; one process at a time may do this."""
        await AsyncPostgresSaver.setup(self)
        async with self._cursor() as cursor:
            for statement in OURS:
                await cursor.execute(statement)
        newest = await self._rows("select max(checkpoint_id) as newest from checkpoints")
        advance_ids_past(str(newest[0]["newest"] or ""))  # so that a new thread is the newest one

    async def _put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, versions: ChannelVersions
    ) -> RunnableConfig:
        return await AsyncPostgresSaver.aput(self, config, checkpoint, metadata, versions)

    async def _put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> None:
        at = config["configurable"]
        named = (str(at["thread_id"]), str(at.get("checkpoint_ns", "")), str(at["checkpoint_id"]), task_id)
        if task_path and any(channel not in ABOUT_A_TASK for channel, _ in writes):  # the journal names no path
            async with self._cursor() as cursor:  # gone by itself, the task is still one that was broken off
                await cursor.execute(cast("Any", LEFT_BY_BROKEN_OFF), named * 3)
        if run := run_of(config):
            places = [WRITES_IDX_MAP.get(channel, place) for place, (channel, _) in enumerate(writes)]
            async with self._cursor(pipeline=True) as cursor:  # without what it is about it would do no harm
                await cursor.executemany(
                    "insert into stepwell_write_runs values (%s, %s, %s, %s, %s, %s) on conflict do nothing",
                    [(*named, place, run) for place in places],
                )
        await AsyncPostgresSaver.aput_writes(self, config, writes, task_id, task_path)

    async def claim(self, thread: str, owner: str) -> bool:
        """See `Saver`."""
        insert = (
            "insert into stepwell_owners select %s, %s "
            "where not exists (select 1 from checkpoints where thread_id = %s) on conflict do nothing"
        )
        async with self._cursor() as cursor:  # each by itself: of two who insert at once, both then see the first
            await cursor.execute(insert, (thread, owner, thread))
            await cursor.execute("select owner from stepwell_owners where thread_id = %s", (thread,))
            found = await cursor.fetchone()
        return found is not None and found["owner"] == owner

    async def delete_checkpoints(self, threads: Sequence[str]) -> None:
        """See `Saver`."""
        async with self._changing() as cursor:
            await _delete_threads(cursor, threads)

    async def adelete_for_runs(self, run_ids: Iterable[str]) -> None:
        """Remove what these runs left: their checkpoints, and what they wrote on checkpoints of others.

        A checkpoint that a later one of another run is rebuilt from stays.
        """
        for run in [str(run) for run in run_ids]:
            async with self._changing() as cursor:
                query = (
                    "select thread_id, checkpoint_ns, array_agg(checkpoint_id) as ids from checkpoints "  # noqa: S608 - ours
                    f"where metadata ->> 'run_id' = %s and not metadata ? '{COPIED}' group by thread_id, checkpoint_ns"
                )
                for row in await _fetched(cursor, query, run):
                    thread, namespace = row["thread_id"], row["checkpoint_ns"]
                    gone = deletable(row["ids"], await _links(cursor, thread, namespace))
                    await _delete_checkpoints(cursor, thread, namespace, gone)
                await _delete_writes_of(cursor, run)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all of a thread's checkpoints, and what was written on them, to a thread that has none yet."""
        source, target = str(source_thread_id), str(target_thread_id)
        async with self._changing() as cursor:
            await cursor.execute(
                "insert into checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, "  # noqa: S608 - ours
                "checkpoint, metadata) select %s, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, "
                f"checkpoint, metadata || jsonb_build_object('{COPIED}', thread_id) from checkpoints "
                "where thread_id = %s",
                (target, source),
            )
            for columns, table in (
                ("checkpoint_ns, channel, version, type, blob", "checkpoint_blobs"),
                ("checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, blob", "checkpoint_writes"),
            ):
                query = (
                    f"insert into {table} (thread_id, {columns}) select %s, {columns} from {table} where thread_id = %s"  # noqa: S608 - ours
                )
                await cursor.execute(cast("Any", query), (target, source))
        await self.copy_given_up(source, target)

    async def _keep_latest(self, threads: Sequence[str]) -> None:
        async with self._changing() as cursor:
            query = "select distinct thread_id, checkpoint_ns from checkpoints where thread_id = any(%s)"
            for row in await _fetched(cursor, query, list(threads)):
                thread, namespace = row["thread_id"], row["checkpoint_ns"]
                gone = all_but_newest(await _links(cursor, thread, namespace))
                await _delete_checkpoints(cursor, thread, namespace, gone)

    async def identity(self) -> str:
        """Names the database, however it is reached."""
        return str((await self._rows("select id from stepwell_identity"))[0]["id"])

    async def newest_threads(self, *, limit: int) -> list[ThreadHead]:
        """See `Saver`."""
        query = (
            "select thread_id, max(checkpoint_id) as head from checkpoints where checkpoint_ns = '' "
            "group by thread_id order by head desc limit %s"
        )
        return [ThreadHead(row["thread_id"], row["head"]) for row in await self._rows(query, limit)]

    async def mark(self, thread: str) -> str:
        """See `Saver`."""
        head = await self._rows(HEAD, thread)
        if not head:
            return ""
        written = await self._rows(WRITTEN, thread, head[0]["checkpoint_id"])
        return mark_of(head[0].values(), (row.values() for row in written))

    async def keep_summary(self, thread: str, mark: str, summary: str) -> None:
        """See `Saver`."""
        with suppress(psycopg.Error):  # a list is made without it, too
            async with self._changing() as cursor:
                await cursor.execute(KEEP, (thread, mark, summary.replace("\x00", "")))

    async def kept_summary(self, thread: str) -> str | None:
        """See `Saver`."""
        rows = await self._rows(KEPT.replace("?", "%s"), thread)
        return str(rows[0]["summary"]) if rows and rows[0]["mark"] == await self.mark(thread) else None

    async def labels(self) -> dict[str, Labels]:
        """See `Saver`."""
        return labels_in(row.values() for row in await self._rows(labelling.ALL))

    async def change_labels(self, thread: str, change: Change) -> bool:
        """See `Saver`."""
        async with self._changing() as cursor:
            # First, since what is seen afterwards is what there is once others are done.
            await cursor.execute("lock table stepwell_labels in share row exclusive mode")
            if not await _fetched(cursor, "select 1 from checkpoints where thread_id = %s limit 1", thread):
                return False
            new = change(labels_in(row.values() for row in await _fetched(cursor, labelling.ALL)))
            await cursor.execute("delete from stepwell_labels where thread_id = %s", (thread,))
            if new:
                await cursor.execute("insert into stepwell_labels values (%s, %s, %s)", new.row(thread))
        return True

    async def newest_metadata(self, thread: str, key: str) -> str | None:
        """See `Saver`."""
        query = (
            "select metadata ->> %s as kept from checkpoints where thread_id = %s and checkpoint_ns = '' "
            "and metadata ? %s order by checkpoint_id desc limit 1"
        )
        rows = await self._rows(query, key, thread, key)
        return str(rows[0]["kept"]) if rows else None

    async def change_metadata(self, thread: str, key: str, text: str) -> bool:
        """See `Saver`."""
        query = (
            "update checkpoints set metadata = metadata || jsonb_build_object(%s::text, %s::text) where thread_id = %s "
            "and checkpoint_ns = '' and checkpoint_id = (select max(checkpoint_id) from checkpoints where "
            "thread_id = %s and checkpoint_ns = '')"
        )
        async with self._changing() as cursor:
            await cursor.execute(query, (key, text, thread, thread))
            return cursor.rowcount > 0

    async def _newest(self, thread: str, namespace: str) -> str:
        query = "select max(checkpoint_id) as newest from checkpoints where thread_id = %s and checkpoint_ns = %s"
        return str((await self._rows(query, thread, namespace))[0]["newest"] or "")

    async def has(self, thread: str) -> bool:
        """See `Saver`."""
        query = " union all ".join(f"select 1 from {table} where thread_id = %s" for table in ALL_TABLES)  # noqa: S608 - ours
        return bool(await self._rows(f"{query} limit 1", *[thread] * len(ALL_TABLES)))

    async def _task_paths(self, thread: str, namespace: str, checkpoint: str) -> dict[str, str]:
        query = f"select distinct task_id, task_path from checkpoint_writes where {AT}"  # noqa: S608 - ours
        found = await self._rows(query, thread, namespace, checkpoint)
        return {str(row["task_id"]): str(row["task_path"] or "") for row in found}

    async def _forget(self, thread: str, checkpoint: str) -> None:
        async with self._changing() as cursor:
            await _delete_checkpoints(cursor, thread, "", {checkpoint})

    async def threads_beginning_with(self, prefix: str) -> list[str]:
        """See `Saver`."""
        query = "select distinct thread_id from checkpoints where starts_with(thread_id, %s) limit 10"
        return [row["thread_id"] for row in await self._rows(query, prefix)]

    async def hashes_by_thread(self, thread: str = "") -> dict[str, set[str]]:
        """See `Saver`."""
        found: dict[str, set[str]] = {}
        for column, table in (
            ("convert_to(checkpoint::text, 'UTF8')", "checkpoints"),
            ("blob", "checkpoint_blobs"),
            ("blob", "checkpoint_writes"),
        ):
            query = f"select thread_id, {column} as stored from {table}" + (" where thread_id = %s" if thread else "")  # noqa: S608 - ours
            async with self._cursor() as cursor:
                async for row in cursor.stream(query, (thread,) if thread else (), size=100):
                    names = found.setdefault(row["thread_id"], set())
                    names.update(match.decode() for match in HASH.findall(row["stored"] or b""))
        return found

    async def given_up(self, thread: str) -> dict[str, GivenUp]:
        """See `Saver`."""
        rows = await self._rows(giving_up.OF_THREAD.replace("?", "%s"), thread)
        return given_up_in(list(row.values()) for row in rows)

    async def all_given_up(self) -> dict[str, dict[str, GivenUp]]:
        """See `Saver`."""
        found: dict[str, dict[str, GivenUp]] = {}
        for row in await self._rows("select thread_id, snapshot, given_up_at, rule from stepwell_given_up"):
            thread, *said = row.values()
            found.setdefault(thread, {}).update(given_up_in([said]))
        return found

    async def give_up(self, thread: str, given: Mapping[str, GivenUp]) -> None:
        """See `Saver`."""
        async with self._changing() as cursor:
            await cursor.executemany(giving_up.ADD.replace("?", "%s"), rows_of(thread, given))

    async def take_back(self, thread: str, snapshots: Sequence[str]) -> None:
        """See `Saver`."""
        async with self._changing() as cursor:
            gone = [(thread, snapshot) for snapshot in snapshots]
            await cursor.executemany(giving_up.REMOVE.replace("?", "%s"), gone)

    async def copy_given_up(self, source: str, target: str) -> None:
        """See `Saver`."""
        async with self._changing() as cursor:
            await cursor.execute(giving_up.COPY.replace("?", "%s"), (target, source))

    async def checkpoint_rows(self, thread: str) -> list[CheckpointRow]:
        """See `Saver`."""
        query = (
            f"select checkpoint_id, parent_checkpoint_id, metadata ->> 'source' as source, "  # noqa: S608 - ours
            f"metadata -> '{COUNTERS}' as counted, metadata ->> '{MADE}' as made "
            "from checkpoints where thread_id = %s and checkpoint_ns = '' "
            "order by checkpoint_id"
        )
        return [
            CheckpointRow(
                id=row["checkpoint_id"],
                parent=row["parent_checkpoint_id"] or "",
                source=row["source"] or "",
                counted=frozenset(row["counted"] or {}),
                made=row["made"] or "",
            )
            for row in await self._rows(query, thread)
        ]

    async def written_rows(self, thread: str, *, values: Sequence[str], names: Sequence[str]) -> list[WrittenRow]:
        """See `Saver`."""
        query = (
            "select checkpoint_id, task_path, task_id, idx, channel, type, blob from checkpoint_writes "
            "where thread_id = %s and checkpoint_ns = '' and channel = any(%s)"
        )
        return [
            WrittenRow(
                row["checkpoint_id"], row["task_path"] or "", row["task_id"], row["idx"], row["channel"],
                self.serde.loads_typed((row["type"], row["blob"])) if row["channel"] in values else None,
            )
            for row in await self._rows(query, thread, [*values, *names])
        ]  # fmt: skip

    @asynccontextmanager
    async def _changing(self) -> AsyncIterator[AsyncCursor[DictRow]]:
        """All changes of the block, or none, on one picture of the database."""
        async with self._cursor() as cursor, cursor.connection.transaction():
            await cursor.execute("set transaction isolation level repeatable read")
            yield cursor

    async def _rows(self, query: str, *arguments: Any) -> list[DictRow]:
        async with self._cursor() as cursor:
            return await _fetched(cursor, query, *arguments)


async def _fetched(cursor: AsyncCursor[DictRow], query: str, *arguments: Any) -> list[DictRow]:
    await cursor.execute(cast("Any", query), arguments)
    return await cursor.fetchall()


async def _links(cursor: AsyncCursor[DictRow], thread: str, namespace: str) -> dict[str, Link]:
    return {
        row["checkpoint_id"]: Link(
            row["parent_checkpoint_id"] or "", frozenset(row["whole"]), frozenset(row["counted"] or {})
        )
        for row in await _fetched(cursor, LINKS, thread, namespace)
    }


async def _delete_threads(cursor: AsyncCursor[DictRow], threads: Sequence[str]) -> None:
    others = ("checkpoint_blobs", "stepwell_holders", "stepwell_summaries", "stepwell_labels", "stepwell_given_up")
    for table in (*ALL_TABLES, *others):
        await cursor.execute(cast("Any", f"delete from {table} where thread_id = any(%s)"), (list(threads),))  # noqa: S608 - ours


async def _delete_checkpoints(cursor: AsyncCursor[DictRow], thread: str, namespace: str, ids: set[str]) -> None:
    if not ids:
        return
    for table in ALL_TABLES:
        await cursor.execute(
            cast("Any", f"delete from {table} where thread_id = %s and checkpoint_ns = %s and checkpoint_id = any(%s)"),  # noqa: S608 - ours
            (thread, namespace, sorted(ids)),
        )
    await cursor.execute(
        "update checkpoints set parent_checkpoint_id = null where thread_id = %s and checkpoint_ns = %s "
        "and parent_checkpoint_id = any(%s)", (thread, namespace, sorted(ids)),
    )  # fmt: skip
    await cursor.execute(GARBAGE, {"thread": thread, "namespace": namespace})


async def _delete_writes_of(cursor: AsyncCursor[DictRow], run: str) -> None:
    """Remove what a run wrote, where no other run wrote it, too, and no checkpoint came of it that stays."""
    key = ", ".join(KEY)
    for table, others in (("checkpoint_writes", True), ("stepwell_write_runs", False)):
        mine = " and run_id = %s" if table == "stepwell_write_runs" else ""
        query = (
            f"delete from {table} where ({key}) in (select {key} from stepwell_write_runs r where run_id = %s"  # noqa: S608 - ours
            f"{NO_OTHER_RUN if others else ''}{NO_CHILD}){mine}"
        )
        await cursor.execute(cast("Any", query), (run, run) if mine else (run,))


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
