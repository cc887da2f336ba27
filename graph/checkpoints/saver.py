"""What Stepwell asks of a store of checkpoints, beyond what LangGraph does."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)

from graph.checkpoints.damage import (
    OURS,
    check_checkpoint,
    check_write,
    recording_store_failure,
    reporting_damage,
    thread_id_in,
)
from graph.checkpoints.given_up import GivenUp
from graph.checkpoints.holds import Holds
from graph.checkpoints.labels import Change, Labels
from graph.checkpoints.order import advance_ids_past, with_time
from graph.checkpoints.task_writes import interrupted_tasks, is_last, whole_writes, without_values_of

COPIED = "stepwell_copied_from"
"""In the metadata of a copied checkpoint: the thread that it came from. It does not belong to its run any more."""


@dataclass(frozen=True, slots=True)
class ThreadHead:
    """A thread and its newest checkpoint."""

    thread: str
    checkpoint: str


@dataclass(frozen=True, slots=True)
class CheckpointRow:
    """What is known of a checkpoint without loading its state."""

    id: str
    parent: str
    """Empty for the first."""
    source: str
    """`input`, `loop`, `update` or `fork`."""
    counted: frozenset[str]
    """The growing channels that it has no full copy of."""
    made: str = ""
    """When it was made, where its id says otherwise."""


@dataclass(frozen=True, slots=True)
class WrittenRow:
    """What a task wrote into a channel, at the checkpoint that it started from."""

    checkpoint: str
    path: str
    task: str
    place: int
    channel: str
    value: Any


class Saver(BaseCheckpointSaver[str], ABC):
    """A store of checkpoints: all of LangGraph's operations, and queries over many threads without their states.

    Checkpoint ids grow within a thread that one process at a time works on, whatever the clock does: who reads a
    checkpoint names the next ones after the newest of its thread.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # Made now, since LangGraph copies savers (`with_allowlist`), and all copies store the same threads.
        self.holds = Holds()
        """The checkpoints that wait for a snapshot."""

    on_delete: Callable[[str], None] | None = None
    """Called with each thread that is to be deleted, in the place of deleting it: whoever opened this calls
    `delete_checkpoints`, and removes what else there is of the thread."""

    @abstractmethod
    async def newest_threads(self, *, limit: int) -> list[ThreadHead]:
        """The most recently changed threads, the newest first."""

    async def mark(self, thread: str) -> str:
        """What tells this end of a thread from another one, for `keep_summary`; empty where no summaries are kept."""
        return ""

    async def keep_summary(self, thread: str, mark: str, summary: str) -> None:
        """Keep the text that a list of threads has for a thread.

        Args:
            thread: The thread.
            mark: Its end, taken before its state was read.
            summary: The text.
        """

    async def kept_summary(self, thread: str) -> str | None:
        """The text that was kept for this end of the thread; None: there is none, or the thread has gone on."""
        return None

    @abstractmethod
    async def labels(self) -> dict[str, Labels]:
        """The names and tags of all threads that have any."""

    @abstractmethod
    async def change_labels(self, thread: str, change: Change) -> bool:
        """Change what a thread is called; nobody else changes a label meanwhile.

        Args:
            thread: Its full id.
            change: See `Change`.

        Returns:
            False when there is no such thread.
        """

    @abstractmethod
    async def newest_metadata(self, thread: str, key: str) -> str | None:
        """A text that a run left in the metadata of its checkpoints: the newest, since forks are made without it."""

    @abstractmethod
    async def change_metadata(self, thread: str, key: str, text: str) -> bool:
        """Leave a text in the metadata of a thread's newest checkpoint, which is what its next run goes by.

        Returns:
            False when the thread has no checkpoint.
        """

    @abstractmethod
    async def threads_beginning_with(self, prefix: str) -> list[str]:
        """The ids of threads that begin with these characters, at most ten."""

    @abstractmethod
    async def hashes_by_thread(self, thread: str = "") -> dict[str, set[str]]:
        """Every SHA-256 that a checkpoint or a pending write of a thread mentions, in all branches, by thread.

        Read from the stored bytes and not from their meaning, so that a state that this version does not understand
        still keeps what it names. What merely looks like a hash is among them; that keeps too much, never too little.

        Args:
            thread: Only this one; empty: all.
        """

    async def referenced_hashes(self, thread: str = "") -> set[str]:
        """Every SHA-256 that a thread mentions and has not given up, see `hashes_by_thread`.

        Args:
            thread: Only this one; empty: all.
        """
        named = await self.hashes_by_thread(thread)
        given = await self.all_given_up()
        return {name for one, names in named.items() for name in names - given.get(one, {}).keys()}

    @abstractmethod
    async def given_up(self, thread: str) -> dict[str, GivenUp]:
        """The snapshots that a thread does without."""

    @abstractmethod
    async def all_given_up(self) -> dict[str, dict[str, GivenUp]]:
        """The same for all threads that gave up any."""

    @abstractmethod
    async def give_up(self, thread: str, given: Mapping[str, GivenUp]) -> None:
        """Have a thread do without these snapshots from now on."""

    @abstractmethod
    async def take_back(self, thread: str, snapshots: Sequence[str]) -> None:
        """Have a thread need these snapshots again."""

    @abstractmethod
    async def copy_given_up(self, source: str, target: str) -> None:
        """Have a fork do without what its thread does without.

        Only after its checkpoints are stored: whoever removes blobs looks at checkpoints after these rows, and finds
        either that the fork needs a snapshot, or that it knows better.
        """

    @abstractmethod
    async def checkpoint_rows(self, thread: str) -> list[CheckpointRow]:
        """A thread's checkpoints, the oldest first."""

    @abstractmethod
    async def written_rows(self, thread: str, *, values: Sequence[str], names: Sequence[str]) -> list[WrittenRow]:
        """What was written into some channels of a thread.

        Args:
            thread: The thread.
            values: Channels whose values are wanted.
            names: Channels of which it is enough to know that something was written; the value is None.
        """

    @abstractmethod
    async def claim(self, thread: str, owner: str) -> bool:
        """Make a thread somebody's, unless it is somebody else's, or has checkpoints and is nobody's.

        It is remembered beyond the thread, whose files may outlive it.

        Returns:
            Whether the thread is the owner's now.
        """

    @abstractmethod
    async def delete_checkpoints(self, threads: Sequence[str]) -> None:
        """Remove the checkpoints of threads, and all that was written on them."""

    async def read_growing_channels(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Read what growing channels are rebuilt from, see `aget_delta_channel_history`.

        LangGraph's server wraps a saver in an adapter that passes on what it does not know, and that has an
        `aget_delta_channel_history` of its own, which reads each earlier checkpoint whole. This name passes.
        """
        return await self.aget_delta_channel_history(config=config, channels=channels)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Keep a checkpoint; later, if its thread waits for a snapshot."""
        metadata = with_time(checkpoint, metadata)

        async def put() -> RunnableConfig:
            with recording_store_failure(config):
                return await self._put(config, checkpoint, metadata, new_versions)

        if not self.holds.defers(config, put):
            return await put()
        at = config["configurable"]
        named = {"thread_id": at["thread_id"], "checkpoint_ns": at.get("checkpoint_ns", "")}
        return {"configurable": {**named, "checkpoint_id": checkpoint["id"]}}

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a task wrote, and which run it belongs to; of one that was broken off, only that it was.

        Later, if its thread waits for a snapshot; the journal does not wait.
        """

        async def put() -> None:
            with recording_store_failure(config, writes):
                await self._put_writes(config, whole_writes(writes), task_id, task_path)

        ours = all(channel.startswith(OURS) for channel, _ in writes)
        if ours or not self.holds.defers(config, put):
            await put()

    @abstractmethod
    async def _put(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, versions: ChannelVersions
    ) -> RunnableConfig:
        """Store a checkpoint."""

    @abstractmethod
    async def _put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> None:
        """Store what a task wrote."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """A checkpoint, without what was written by a node that was broken off as it ended.

        Raises:
            DamagedThreadError: it cannot be read.
        """
        await self.holds.wait(thread_id_in(config))
        with reporting_damage(str((config.get("configurable") or {}).get("thread_id"))):
            found = await super().aget_tuple(config)
            if found is None:
                return None
            check_checkpoint(found.checkpoint, found.metadata)
        at = found.config["configurable"]
        named = (str(at["thread_id"]), str(at.get("checkpoint_ns", "")), str(at["checkpoint_id"]))
        asked_for = (config.get("configurable") or {}).get("checkpoint_id")
        advance_ids_past(await self._newest(*named[:2]) if asked_for else named[2])
        if doubtful := interrupted_tasks(found.pending_writes):
            paths = await self._task_paths(*named)
            unfinished = {task for task in doubtful if not is_last(paths.get(task, ""))}
            return found._replace(pending_writes=without_values_of(found.pending_writes, unfinished))
        return found

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """What growing channels are rebuilt from.

        Raises:
            DamagedThreadError: it cannot be read.
        """
        with reporting_damage(str((config.get("configurable") or {}).get("thread_id"))):
            found = await super().aget_delta_channel_history(config=config, channels=channels)
            for channel, history in found.items():
                for write in history["writes"]:
                    check_write(channel, write[2])
            return found

    async def unreadable_threads(self) -> set[str]:
        """Threads of which something is stored that cannot be read, so that nobody knows what they need."""
        return set()

    @abstractmethod
    async def has(self, thread: str) -> bool:
        """Whether there is anything of a thread, readable or not."""

    async def discard_false_end(self, thread: str) -> bool:
        """Discard the end of a thread that was stored for a node that was interrupted as it ended.

        Earlier versions took such a node as done, and the thread as finished without an answer. It runs again.

        Returns:
            Whether there was such an end.
        """
        head = await self.aget_tuple({"configurable": {"thread_id": thread, "checkpoint_ns": ""}})
        if head is None or head.parent_config is None or head.metadata.get("source", "loop") != "loop":
            return False
        with reporting_damage(thread):
            before = await super().aget_tuple(head.parent_config)
        doubtful = interrupted_tasks(before.pending_writes) if before is not None else set()
        id = str(head.parent_config["configurable"]["checkpoint_id"])
        paths = await self._task_paths(thread, "", id) if doubtful else {}
        if not any(not is_last(paths.get(task, "")) for task in doubtful):
            return False
        await self._forget(thread, head.checkpoint["id"])
        return True

    @abstractmethod
    async def _newest(self, thread: str, namespace: str) -> str:
        """The newest checkpoint of a thread; empty when it has none."""

    @abstractmethod
    async def _task_paths(self, thread: str, namespace: str, checkpoint: str) -> dict[str, str]:
        """The path of each task that wrote at a checkpoint."""

    @abstractmethod
    async def _forget(self, thread: str, checkpoint: str) -> None:
        """Remove one checkpoint."""

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete a thread; where `on_delete` is set, have that do it."""
        if self.on_delete is not None:
            self.on_delete(str(thread_id))
        else:
            await self.delete_checkpoints([str(thread_id)])

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Forget the past of threads.

        Args:
            thread_ids: The threads.
            strategy: `keep_latest` keeps in each namespace the newest checkpoint and those that its growing channels
                are rebuilt from; `delete` (also `delete_all`) keeps nothing.

        Raises:
            ValueError: there is no such strategy.
        """
        if strategy not in ("keep_latest", "delete", "delete_all"):
            raise ValueError(f"There is no strategy {strategy!r}; there are keep_latest and delete.")
        threads = [str(thread) for thread in thread_ids]
        if strategy == "keep_latest":
            await self._keep_latest(threads)
            return
        for thread in threads:
            await self.adelete_thread(thread)

    @abstractmethod
    async def _keep_latest(self, threads: Sequence[str]) -> None:
        """Forget all but the newest checkpoint of each namespace, and what that is rebuilt from."""

    async def channel_values(self, thread: str, checkpoint: str = "") -> dict[str, Any]:
        """What a checkpoint itself holds; growing channels only where it has a full copy.

        Args:
            thread: The thread.
            checkpoint: Its id; empty: the thread's newest.
        """
        at: RunnableConfig = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
        if checkpoint:
            at["configurable"]["checkpoint_id"] = checkpoint
        found = await self.aget_tuple(at)
        return dict(found.checkpoint.get("channel_values") or {}) if found is not None else {}


def run_of(config: RunnableConfig) -> str:
    """The run that writes; empty when it has no name, as those of the command have none."""
    for place in (config.get("configurable"), config.get("metadata")):
        if (run := (place or {}).get("run_id")) is not None:
            return str(run)
    return str(config.get("run_id") or "")
