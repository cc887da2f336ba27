"""Checkpoints in a SQLite file, with the operations that LangGraph's own saver for it lacks."""

import asyncio
import json
import re
import sqlite3
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP, ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.serde.types import ERROR, _DeltaSnapshot
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from graph.checkpoints import given_up as giving_up
from graph.checkpoints import labels as labelling
from graph.checkpoints.damage import (
    DamagedThreadError,
    check_checkpoint,
    check_write,
    reporting_damage,
)
from graph.checkpoints.given_up import GivenUp, given_up_in, rows_of
from graph.checkpoints.labels import Change, Labels, labels_in
from graph.checkpoints.order import MADE, advance_ids_past
from graph.checkpoints.saver import COPIED, CheckpointRow, Saver, ThreadHead, WrittenRow, run_of
from graph.checkpoints.summaries import HEAD, KEPT, NEWEST, TABLE, WRITTEN, mark_of
from graph.checkpoints.task_writes import (
    ABOUT_A_TASK,
    COUNTERS,
    SUCCESSOR,
    Link,
    all_but_newest,
    deletable,
)
from sandboxes.host.tasks import uncancellable

HASH = re.compile(rb"[0-9a-f]{64}")
OURS = """
create table if not exists stepwell_write_runs (
    thread_id text not null,
    checkpoint_ns text not null,
    checkpoint_id text not null,
    task_id text not null,
    idx integer not null,
    run_id text not null,
    primary key (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, run_id)
);
create table if not exists stepwell_owners (thread_id text primary key, owner text not null);
create index if not exists stepwell_checkpoints_newest on checkpoints (checkpoint_id);
create index if not exists stepwell_write_runs_run on stepwell_write_runs (run_id);
create index if not exists stepwell_checkpoints_run
    on checkpoints (json_extract(cast(metadata as text), '$.run_id'));
"""
"""Which run wrote what: a run that is rolled back takes along what it wrote on checkpoints of the runs before it."""
ALL_TABLES = ("checkpoints", "writes", "stepwell_write_runs")
KEY = "thread_id, checkpoint_ns, checkpoint_id, task_id, idx"
NO_CHILD = (
    " and not exists (select 1 from checkpoints c where c.thread_id = r.thread_id and "
    "c.checkpoint_ns = r.checkpoint_ns and c.parent_checkpoint_id = r.checkpoint_id)"
)
SAME = " and ".join(f"o.{name} = r.{name}" for name in KEY.split(", "))
NO_OTHER_RUN = f" and not exists (select 1 from stepwell_write_runs o where o.run_id <> r.run_id and {SAME})"  # noqa: S608
AT = "thread_id = ? and checkpoint_ns = ? and checkpoint_id = ?"
LEFT_BY_BROKEN_OFF = (
    f"delete from writes where {AT} and task_id = ? and idx >= 0 "  # noqa: S608 - ours
    f"and exists (select 1 from writes where {AT} and task_id = ? and idx = {WRITES_IDX_MAP[ERROR]}) "
    f"and not exists (select 1 from writes where {AT} and task_id = ? and channel like '{SUCCESSOR}%')"
)
"""What earlier versions kept of a task that was broken off as it ended: it must not mix with what it writes now."""


class SqliteSaver(Saver, AsyncSqliteSaver):
    """Checkpoints in one SQLite file, which several processes may use at the same time."""

    _has_all_tables = False

    async def setup(self) -> None:
        """Make the tables that are missing."""
        if self._has_all_tables:
            return
        await AsyncSqliteSaver.setup(self)
        async with self.lock, self.conn.executescript(f"{OURS}{TABLE}{giving_up.TABLE}{labelling.TABLE};"):
            await self.conn.commit()
        newest = await self._rows("select max(checkpoint_id) from checkpoints")
        advance_ids_past(str(newest[0][0] or ""))  # so that a new thread is the newest one
        self._has_all_tables = True

    async def _put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, versions: ChannelVersions
    ) -> RunnableConfig:
        # One that was begun and not committed would lock all others out.
        return await uncancellable(AsyncSqliteSaver.aput(self, config, checkpoint, metadata, versions))

    async def _put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> None:
        await uncancellable(self._commit_writes(config, writes, task_id, task_path))

    async def _commit_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> None:
        await self.setup()
        at = config["configurable"]
        named = (str(at["thread_id"]), str(at.get("checkpoint_ns", "")), str(at["checkpoint_id"]), task_id)
        if task_path and any(channel not in ABOUT_A_TASK for channel, _ in writes):  # the journal names no path
            async with self.lock:  # committed with what takes its place
                await self.conn.execute(LEFT_BY_BROKEN_OFF, named * 3)
        if run := run_of(config):
            places = [WRITES_IDX_MAP.get(channel, place) for place, (channel, _) in enumerate(writes)]
            async with self.lock:  # committed with what it is about; alone it would do no harm
                await self.conn.executemany(
                    "insert or ignore into stepwell_write_runs values (?, ?, ?, ?, ?, ?)",
                    [(*named, place, run) for place in places],
                )
        await AsyncSqliteSaver.aput_writes(self, config, writes, task_id, task_path)

    async def claim(self, thread: str, owner: str) -> bool:
        """See `Saver`."""
        async with self._changing():
            await self.conn.execute(
                "insert or ignore into stepwell_owners select ?, ? "
                "where not exists (select 1 from checkpoints where thread_id = ?)",
                (thread, owner, thread),
            )
            found = await self._rows("select owner from stepwell_owners where thread_id = ?", thread)
        return found == [(owner,)]

    async def delete_checkpoints(self, threads: Sequence[str]) -> None:
        """See `Saver`."""
        async with self._changing():
            await self._delete_threads(threads)

    async def adelete_for_runs(self, run_ids: Iterable[str]) -> None:
        """Remove what these runs left: their checkpoints, and what they wrote on checkpoints of others.

        A checkpoint that a later one of another run is rebuilt from stays.
        """
        runs = [str(run) for run in run_ids]
        async with self._changing():
            for run in runs:
                rows = await self._rows(
                    "select thread_id, checkpoint_ns, checkpoint_id from checkpoints "  # noqa: S608 - ours
                    "where json_extract(cast(metadata as text), '$.run_id') = ? "
                    f"and json_extract(cast(metadata as text), '$.{COPIED}') is null", run,
                )  # fmt: skip
                doomed: dict[tuple[str, str], list[str]] = {}
                for thread, namespace, id in rows:
                    doomed.setdefault((thread, namespace), []).append(id)
                for (thread, namespace), ids in doomed.items():
                    links = await self._links(thread, namespace)
                    await self._delete_checkpoints(thread, namespace, deletable(ids, links))
                await self._delete_writes_of(run)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all of a thread's checkpoints, and what was written on them, to a thread that has none yet."""
        source, target = str(source_thread_id), str(target_thread_id)
        columns = "checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, value"
        async with self._changing():
            await self.conn.execute(
                "insert into checkpoints select ?, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, "  # noqa: S608 - ours
                f"checkpoint, cast(json_set(cast(metadata as text), '$.{COPIED}', thread_id) as blob) "
                "from checkpoints where thread_id = ?",
                (target, source),
            )
            await self.conn.execute(
                f"insert into writes (thread_id, {columns}) select ?, {columns} from writes where thread_id = ?",  # noqa: S608 - ours
                (target, source),
            )
        await self.copy_given_up(source, target)

    async def _keep_latest(self, threads: Sequence[str]) -> None:
        async with self._changing():
            for thread in threads:
                found = await self._rows("select distinct checkpoint_ns from checkpoints where thread_id = ?", thread)
                for (namespace,) in found:
                    gone = all_but_newest(await self._links(thread, namespace))
                    await self._delete_checkpoints(thread, namespace, gone)

    async def newest_threads(self, *, limit: int) -> list[ThreadHead]:
        """See `Saver`."""
        return [ThreadHead(str(thread), str(head)) for thread, head in await self._rows(NEWEST, limit)]

    async def mark(self, thread: str) -> str:
        """See `Saver`."""
        head = await self._rows(HEAD, thread)
        return mark_of(head[0], await self._rows(WRITTEN, thread, head[0][0])) if head else ""

    async def keep_summary(self, thread: str, mark: str, summary: str) -> None:
        """See `Saver`."""
        # A list is made without it, too: nothing may fail because a disk is full.
        with suppress(sqlite3.Error):
            async with self._changing():
                await self.conn.execute(
                    "insert or replace into stepwell_summaries values (?, ?, ?)", (thread, mark, summary)
                )

    async def kept_summary(self, thread: str) -> str | None:
        """See `Saver`."""
        rows = await self._rows(KEPT, thread)
        return str(rows[0][1]) if rows and rows[0][0] == await self.mark(thread) else None

    async def labels(self) -> dict[str, Labels]:
        """See `Saver`."""
        return labels_in(await self._rows(labelling.ALL))

    async def change_labels(self, thread: str, change: Change) -> bool:
        """See `Saver`."""
        async with self._changing():
            if not await self.has(thread):
                return False
            new = change(await self.labels())
            await self.conn.execute("delete from stepwell_labels where thread_id = ?", (thread,))
            if new:
                await self.conn.execute("insert into stepwell_labels values (?, ?, ?)", new.row(thread))
        return True

    async def newest_metadata(self, thread: str, key: str) -> str | None:
        """See `Saver`."""
        query = (
            "select json_extract(cast(metadata as text), ?) as kept from checkpoints where thread_id = ? "
            "and checkpoint_ns = '' and kept is not null order by checkpoint_id desc limit 1"
        )
        with reporting_damage(thread):
            rows = await self._rows(query, f'$."{key}"', thread)
        return str(rows[0][0]) if rows else None

    async def change_metadata(self, thread: str, key: str, text: str) -> bool:
        """See `Saver`."""
        query = (
            "update checkpoints set metadata = cast(json_set(cast(metadata as text), ?, ?) as blob) "
            "where thread_id = ? "
            "and checkpoint_ns = '' and checkpoint_id = (select max(checkpoint_id) from checkpoints where "
            "thread_id = ? and checkpoint_ns = '')"
        )
        async with self._changing(), self.conn.execute(query, (f'$."{key}"', text, thread, thread)) as cursor:
            return cursor.rowcount > 0

    async def _newest(self, thread: str, namespace: str) -> str:
        query = "select max(checkpoint_id) from checkpoints where thread_id = ? and checkpoint_ns = ?"
        return str((await self._rows(query, thread, namespace))[0][0] or "")

    async def has(self, thread: str) -> bool:
        """See `Saver`."""
        query = " union all ".join(f"select 1 from {table} where thread_id = ?" for table in ALL_TABLES)  # noqa: S608 - ours
        return bool(await self._rows(f"{query} limit 1", *[thread] * len(ALL_TABLES)))

    async def _task_paths(self, thread: str, namespace: str, checkpoint: str) -> dict[str, str]:
        query = f"select distinct task_id, task_path from writes where {AT}"  # noqa: S608 - ours
        return {str(task): str(path or "") for task, path in await self._rows(query, thread, namespace, checkpoint)}

    async def _forget(self, thread: str, checkpoint: str) -> None:
        async with self._changing():
            await self._delete_checkpoints(thread, "", {checkpoint})

    async def threads_beginning_with(self, prefix: str) -> list[str]:
        """See `Saver`."""
        pattern = prefix.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        query = "select distinct thread_id from checkpoints where thread_id like ? escape '\\' limit 10"
        return [str(thread) for (thread,) in await self._rows(query, pattern)]

    async def hashes_by_thread(self, thread: str = "") -> dict[str, set[str]]:
        """See `Saver`."""
        found: dict[str, set[str]] = {}
        chosen = " where thread_id = ?" if thread else ""
        for query in (
            f"select thread_id, checkpoint from checkpoints{chosen}",  # noqa: S608 - both are ours
            f"select thread_id, value from writes{chosen}",  # noqa: S608
        ):
            async with self.conn.execute(query, (thread,) if thread else ()) as cursor:
                async for its, value in cursor:
                    data = value.encode() if isinstance(value, str) else bytes(value or b"")
                    found.setdefault(str(its), set()).update(match.decode() for match in HASH.findall(data))
        return found

    async def given_up(self, thread: str) -> dict[str, GivenUp]:
        """See `Saver`."""
        return given_up_in(await self._rows(giving_up.OF_THREAD, thread))

    async def all_given_up(self) -> dict[str, dict[str, GivenUp]]:
        """See `Saver`."""
        found: dict[str, dict[str, GivenUp]] = {}
        for thread, *row in await self._rows("select * from stepwell_given_up"):
            found.setdefault(str(thread), {}).update(given_up_in([row]))
        return found

    async def give_up(self, thread: str, given: Mapping[str, GivenUp]) -> None:
        """See `Saver`."""
        async with self._changing():
            await self.conn.executemany(giving_up.ADD, rows_of(thread, given))

    async def take_back(self, thread: str, snapshots: Sequence[str]) -> None:
        """See `Saver`."""
        async with self._changing():
            await self.conn.executemany(giving_up.REMOVE, [(thread, snapshot) for snapshot in snapshots])

    async def copy_given_up(self, source: str, target: str) -> None:
        """See `Saver`."""
        async with self._changing():
            await self.conn.execute(giving_up.COPY, (target, source))

    async def checkpoint_rows(self, thread: str) -> list[CheckpointRow]:
        """See `Saver`."""
        query = (
            "select checkpoint_id, parent_checkpoint_id, metadata from checkpoints where thread_id = ? "
            "and checkpoint_ns = '' order by checkpoint_id"
        )
        found = []
        with reporting_damage(thread):
            for id, parent, metadata in await self._rows(query, thread):
                said = readable_metadata(metadata)
                counted = frozenset(said.get(COUNTERS) or {})
                source, made = str(said.get("source") or ""), str(said.get(MADE) or "")
                found.append(CheckpointRow(str(id), str(parent or ""), source, counted, made))
        return found

    async def written_rows(self, thread: str, *, values: Sequence[str], names: Sequence[str]) -> list[WrittenRow]:
        """See `Saver`."""
        wanted = [*values, *names]
        query = (
            "select checkpoint_id, task_path, task_id, idx, channel, type, value from writes where thread_id = ? "  # noqa: S608 - only question marks
            f"and checkpoint_ns = '' and channel in ({', '.join('?' * len(wanted))})"
        )
        with reporting_damage(thread):
            return [
                WrittenRow(
                    str(id), str(path or ""), str(task), int(place), str(channel),
                    self.serde.loads_typed((kind, value)) if channel in values else None,
                )
                for id, path, task, place, channel, kind, value in await self._rows(query, thread, *wanted)
            ]  # fmt: skip

    async def unreadable_threads(self) -> set[str]:
        """See `Saver`."""
        found: set[str] = set()
        for query in (
            "select thread_id, type, checkpoint, metadata, '' from checkpoints",
            "select thread_id, type, value, null, channel from writes",
        ):
            async with self.conn.execute(query) as cursor:
                while rows := list(await cursor.fetchmany(200)):
                    found |= await asyncio.to_thread(self._unreadable, rows)
        return found

    def _unreadable(self, rows: list[Any]) -> set[str]:
        found: set[str] = set()
        for thread, kind, value, metadata, channel in rows:
            try:
                with reporting_damage(str(thread)):
                    held = self.serde.loads_typed((kind, value))
                    if channel:
                        check_write(channel, held)
                    else:
                        check_checkpoint(held, readable_metadata(metadata))
            except DamagedThreadError as error:
                found.add(error.thread)
        return found

    @asynccontextmanager
    async def _changing(self) -> AsyncIterator[None]:
        """All changes of the block, or none; no other process writes meanwhile."""
        await self.setup()
        async with self.lock:
            try:
                if not self.conn.in_transaction:
                    await self.conn.execute("begin immediate")
                yield
            except BaseException:
                await self.conn.rollback()
                raise
            await self.conn.commit()

    async def _rows(self, query: str, *arguments: Any) -> list[Any]:
        async with self.conn.execute(query, arguments) as cursor:
            return list(await cursor.fetchall())

    async def _links(self, thread: str, namespace: str) -> dict[str, Link]:
        query = (
            "select checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata from checkpoints "
            "where thread_id = ? and checkpoint_ns = ?"
        )
        found = {}
        async with self.conn.execute(query, (thread, namespace)) as cursor:
            async for id, parent, kind, checkpoint, metadata in cursor:
                values = self.serde.loads_typed((kind, checkpoint)).get("channel_values") or {}
                whole = frozenset(name for name, value in values.items() if isinstance(value, _DeltaSnapshot))
                partly = frozenset(readable_metadata(metadata).get(COUNTERS) or {})
                found[str(id)] = Link(str(parent or ""), whole, partly)
        return found

    async def _delete_threads(self, threads: Sequence[str]) -> None:
        for table in (*ALL_TABLES, "stepwell_summaries", "stepwell_labels", "stepwell_given_up"):
            await self.conn.executemany(
                f"delete from {table} where thread_id = ?",  # noqa: S608 - ours
                [(thread,) for thread in threads],
            )

    async def _delete_checkpoints(self, thread: str, namespace: str, ids: set[str]) -> None:
        named = [(thread, namespace, id) for id in sorted(ids)]
        for table in ALL_TABLES:
            await self.conn.executemany(f"delete from {table} where {AT}", named)  # noqa: S608 - ours
        await self.conn.execute(
            "update checkpoints set parent_checkpoint_id = null where thread_id = ? and checkpoint_ns = ? and "
            "parent_checkpoint_id not in (select checkpoint_id from checkpoints where thread_id = ? and "
            "checkpoint_ns = ?)", (thread, namespace, thread, namespace),
        )  # fmt: skip

    async def _delete_writes_of(self, run: str) -> None:
        """Remove what a run wrote, where no other run wrote it, too, and no checkpoint came of it that stays."""
        for table, others in (("writes", True), ("stepwell_write_runs", False)):
            mine = " and run_id = ?" if table == "stepwell_write_runs" else ""
            await self.conn.execute(
                f"delete from {table} where ({KEY}) in (select {KEY} from stepwell_write_runs r where run_id = ?"  # noqa: S608 - ours
                f"{NO_OTHER_RUN if others else ''}{NO_CHILD}){mine}", (run, run) if mine else (run,),
            )  # fmt: skip


def readable_metadata(metadata: Any) -> dict[str, Any]:
    """What a checkpoint's metadata says."""
    said = json.loads(metadata) if metadata else {}
    return said if isinstance(said, dict) else {}
