"""The journal: which cell was started and which has finished, kept beside the checkpoints.

A checkpoint is written after `execute` has returned. Without a journal, a process that is killed between the end of a
cell and that checkpoint would run the cell a second time. So *started* is written before the cell runs and *finished*,
with everything that `execute` returns, before it returns. Both are keyed by the task (which LangGraph derives from the
checkpoint that the task starts from, so it is the same after a crash) and by the cell's code (which an update of that
very task may change).

The entries are pending writes of tasks that do not exist, on the checkpoint that the cell starts from. LangGraph hands
a task's own pending writes back to it and passes over all others, so they are in no channel and in no state. They lie
where the checkpoints lie, whichever saver that is, survive as long, are seen by every worker, and go when the thread
goes.
"""

import asyncio
import hashlib
import json
import uuid
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import messages_from_dict, messages_to_dict
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, PendingWrite
from langgraph.runtime import Runtime

from graph.checkpoints.damage import store_failure, thread_id_in
from graph.state import CallRecord
from sandboxes.functions import Call, Raised, Returned

STARTED = "stepwell:started"
FINISHED = "stepwell:finished"
CALLING = "stepwell:calling"
CALLED = "stepwell:called"
"""Names of channels that no graph has."""
CHECKPOINT_SECONDS = 60.0
"""How long a cell waits for the checkpoint that it starts from to be stored."""
SAVER = "__pregel_checkpointer"
DURABILITY = "__pregel_durability"
"""Where LangGraph 1.2 keeps them in the config of a task; a test holds this against the installed version."""


class JournalError(RuntimeError):
    """The storage cannot take checkpoints; the message says what was not begun because of that."""


@dataclass(frozen=True, slots=True)
class CallEntry:
    """What the journal says of one call of a host function."""

    index: int
    """Which of the cell's calls it was, in the order in which they began; goes on when the cell runs again."""
    name: str
    digest: str
    """Of its name and its arguments."""
    outcome: Returned | Raised | None = None
    """None when it was begun and nobody wrote down its end."""


def digest_of(call: Call) -> str:
    """What names a call of a function with these arguments."""
    return hashlib.sha256(b"\0".join((call.name.encode("utf-8", "replace"), call.arguments))).hexdigest()


@dataclass(frozen=True, slots=True)
class CellEntry:
    """What the journal says of one cell."""

    head: str
    """The `head` that the cell was to lead to."""
    sandbox: str
    """Where the sandbox keeps its note of what the cell reaches (`Reached.sandbox`)."""
    purpose: str
    result: Mapping[str, Any] | None = None
    """What `execute` returned; None when it was started and nobody wrote down its end."""
    calls: tuple[CallEntry, ...] = ()
    """The calls of host functions that it made, those aside that can be repeated."""
    confined: bool = False
    """Whether code in its sandbox could not reach outside (`Reached.confined`)."""


class Journal:
    """The journal of one cell.

    Args:
        saver: Keeps the checkpoints.
        config: Names the checkpoint that the cell starts from.
        task: The id of the task.
        code: The cell's code.
    """

    def __init__(self, saver: BaseCheckpointSaver[Any], config: RunnableConfig, task: str, code: str) -> None:
        self._saver = saver
        self._config = config
        self._task = task
        key = f"{task}:{hashlib.sha256(code.encode('utf-8', 'replace')).hexdigest()}"
        self._key = key
        self.thread = thread_id_in(config)
        """The thread whose cell it is."""
        self._started, self._finished = (str(uuid.uuid5(uuid.NAMESPACE_OID, f"{key}:{what}")) for what in (0, 1))

    async def look(self) -> CellEntry | None:
        """What is known of this cell; None when it was never started. Waits until its checkpoint is stored.

        Until then a crash would lose the checkpoint, and with it the name of the task.

        Raises:
            JournalError: the checkpoint does not come.
            Exception: what the storage met when it was to be stored.
        """
        writes = (await self._stored()).pending_writes or []
        kept = {task: value for task, channel, value in writes if channel in (STARTED, FINISHED)}
        if self._started not in kept:
            return None
        return _entry(kept[self._started], kept.get(self._finished), calls_in(writes, self._started))

    async def _stored(self) -> CheckpointTuple:
        try:
            async with asyncio.timeout(CHECKPOINT_SECONDS):
                pause = 0.001
                while (found := await self._saver.aget_tuple(self._config)) is None:
                    if (failure := store_failure(self._config)) is not None:
                        raise failure
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, 0.1)
        except TimeoutError as error:
            raise JournalError(
                f"The checkpoint before this cell was not stored within {CHECKPOINT_SECONDS:g} s, so the cell was not "
                "started. Look at the storage of the checkpoints, then resume the thread."
            ) from error
        return found

    async def started(self, entry: CellEntry) -> None:
        """Write down that the cell starts."""
        value = {
            "task": self._task, "head": entry.head, "sandbox": entry.sandbox, "purpose": entry.purpose,
            "confined": entry.confined,
        }  # fmt: skip
        await self._saver.aput_writes(self._config, [(STARTED, value)], self._started)

    async def record_call_start(self, call: CallEntry) -> None:
        """Write down that a call begins."""
        value = {"cell": self._started, "index": call.index, "name": call.name, "digest": call.digest}
        await self._saver.aput_writes(self._config, [(CALLING, value)], self._call(call.index, 0))

    async def record_call_end(self, call: CallEntry) -> None:
        """Write down how a call ended, with what it gave."""
        outcome = call.outcome
        value: dict[str, Any] = {"cell": self._started, "index": call.index}
        if isinstance(outcome, Returned):
            value["value"] = await asyncio.to_thread(zlib.compress, outcome.value, 1)
        elif isinstance(outcome, Raised):
            value |= {"message": outcome.message, "kind": outcome.kind}
        await self._saver.aput_writes(self._config, [(CALLED, value)], self._call(call.index, 1))

    def _call(self, index: int, what: int) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self._key}:call {index}:{what}"))

    def record(self, calls: int) -> CallRecord:
        """Where the calls are found that the cell has made here, if it is ended now and runs again later."""
        return CallRecord(checkpoint=_id_of(self._config), cell=self._started, calls=calls)

    async def earlier(self, records: Iterable[CallRecord]) -> tuple[CallEntry, ...] | None:
        """The calls that the cell made before it was ended at a call; None when some are not to be found any more."""
        found: list[CallEntry] = []
        for record in records:
            if record["checkpoint"] == _id_of(self._config) or not record["calls"]:
                continue
            at = {**self._config["configurable"], "checkpoint_id": record["checkpoint"]}
            stored = await self._saver.aget_tuple({"configurable": at})
            calls = calls_in(stored.pending_writes or [], record["cell"]) if stored is not None else ()
            if len(calls) < record["calls"]:
                return None
            found += calls
        return tuple(found)

    async def finished(self, result: Mapping[str, Any], earlier: Iterable[CallRecord] = ()) -> None:
        """Write down that the cell has finished, and what `execute` returns: JSON shapes, and messages.

        Args:
            result: What `execute` returns.
            earlier: Where calls are that it made before it was ended at a call.
        """
        value = {**_packed(result), "cell": self._started, "earlier": [record["cell"] for record in earlier]}
        await self._saver.aput_writes(self._config, [(FINISHED, value)], self._finished)


def journal_of(config: RunnableConfig | None, runtime: Runtime[Any], code: str) -> Journal | None:
    """The journal of the cell that this task is to run.

    Returns:
        None when the run keeps no checkpoints on the way: then nothing of it can be resumed either.
    """
    named = _checkpoint(config, runtime)
    if named is None or runtime.execution_info is None:
        return None
    saver, at = named
    return Journal(saver, at, runtime.execution_info.task_id, code)


async def interrupted_cells(config: RunnableConfig | None, runtime: Runtime[Any]) -> list[CellEntry]:
    """Cells that were broken off before the question that this task takes up, and are passed over.

    A question that is asked after a crash begins a new task; the one that was broken off is never resumed.
    """
    named = _checkpoint(config, runtime)
    if named is None:
        return []
    saver, at = named
    found = await saver.aget_tuple(at)
    while found is not None and found.parent_config:
        found = await saver.aget_tuple(found.parent_config)
        if found is not None and found.metadata.get("source", "loop") == "loop":
            return _unfinished(found.pending_writes or [])
    return []


async def recorded_calls(
    saver: BaseCheckpointSaver[Any], config: RunnableConfig
) -> dict[tuple[int, str], tuple[CallEntry, ...]]:
    """The calls of all cells on the way to a checkpoint, by the number and the code of the cell.

    Those aside that can be repeated. A thread that was forked from another does not have the other's.
    """
    found: dict[tuple[int, str], tuple[CallEntry, ...]] = {}
    wanted: dict[str, tuple[int, str]] = {}  # entries of cells that finished at a later checkpoint
    at: RunnableConfig | None = config
    while at is not None and (stored := await saver.aget_tuple(at)) is not None:
        writes = stored.pending_writes or []
        for _, channel, value in writes:
            if channel == FINISHED and isinstance(value, dict):
                earlier, calls = value.get("earlier") or [], calls_in(writes, value.get("cell", ""))
                if not (earlier or calls):
                    continue
                cell = (_unpacked(value) or {})["cells"][0]
                wanted |= dict.fromkeys(earlier, (cell["number"], cell["code"]))
                if calls:
                    found.setdefault((cell["number"], cell["code"]), calls)
        for one in [one for one in wanted if any(id == one for id, _, _ in writes)]:
            key = wanted.pop(one)
            found[key] = (*calls_in(writes, one), *found.get(key, ()))
        at = stored.parent_config
    return found


def _unfinished(writes: list[PendingWrite]) -> list[CellEntry]:
    ended = {task for task, channel, _ in writes if not channel.startswith("__")}
    cells = [(id, value) for id, channel, value in writes if channel == STARTED and isinstance(value, dict)]
    return [_entry(value, None, calls_in(writes, id)) for id, value in cells if value.get("task") not in ended]


def calls_in(writes: list[PendingWrite], cell: str) -> tuple[CallEntry, ...]:
    """The calls of a cell that are among the pending writes of its checkpoint, in their order."""
    ours = [(channel, value) for _, channel, value in writes if isinstance(value, dict) and value.get("cell") == cell]
    ended = {value["index"]: _outcome(value) for channel, value in ours if channel == CALLED}
    begun = sorted((value for channel, value in ours if channel == CALLING), key=lambda value: int(value["index"]))
    return tuple(
        CallEntry(value["index"], value["name"], value["digest"], ended.get(value["index"])) for value in begun
    )


def _id_of(config: RunnableConfig) -> str:
    return str(config["configurable"]["checkpoint_id"])


def _outcome(value: Mapping[str, Any]) -> Returned | Raised:
    if "value" in value:
        return Returned(zlib.decompress(value["value"]))
    return Raised(value["message"], value["kind"])


def _checkpoint(
    config: RunnableConfig | None, runtime: Runtime[Any]
) -> tuple[BaseCheckpointSaver[Any], RunnableConfig] | None:
    """The saver, and the checkpoint that the present task starts from."""
    known = (config or {}).get("configurable") or {}
    saver, info = known.get(SAVER), runtime.execution_info
    if not isinstance(saver, BaseCheckpointSaver) or info is None or not info.thread_id:
        return None
    if known.get(DURABILITY) == "exit":
        return None
    namespace = str(known.get("checkpoint_ns") or "").rpartition("|")[0]
    at = {"thread_id": info.thread_id, "checkpoint_ns": namespace, "checkpoint_id": info.checkpoint_id}
    run = {"run_id": info.run_id} if info.run_id else {}  # what a run wrote goes with it when it is rolled back
    return saver, {"configurable": at, "metadata": run}


def _packed(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result for the journal. The snapshot is named in the open, where `gc` looks for names."""
    plain = {**result, "messages": messages_to_dict(result.get("messages") or [])}
    snapshot = (result.get("sandbox") or {}).get("snapshot", "")
    return {"snapshot": snapshot, "packed": zlib.compress(json.dumps(plain).encode(), 1)}


def _unpacked(kept: Any) -> Mapping[str, Any] | None:
    if not isinstance(kept, dict) or not isinstance(kept.get("packed"), bytes):
        return None
    plain = json.loads(zlib.decompress(kept["packed"]))
    return {**plain, "messages": messages_from_dict(plain["messages"])}


def _entry(started: Any, finished: Any, calls: tuple[CallEntry, ...]) -> CellEntry:
    said = started if isinstance(started, dict) else {}
    return CellEntry(
        head=str(said.get("head", "")),
        sandbox=str(said.get("sandbox", "")),
        purpose=str(said.get("purpose", "")),
        confined=said.get("confined") is True,
        result=_unpacked(finished),
        calls=calls,
    )
