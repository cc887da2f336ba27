"""The served graph: it holds the lock of the thread that it works on, and works for the user whom the server names."""

import logging
import math
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint, CheckpointTuple
from langgraph.errors import GraphDrained
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, StateSnapshot, StateUpdate

from graph.checkpoints.damage import clear_store_failure, recording_store_failure, reporting_disk_errors
from graph.checkpoints.factory import open_checkpoints
from graph.checkpoints.holds import Holds
from graph.checkpoints.order import advance_ids_past
from graph.checkpoints.saver import Saver
from graph.checkpoints.task_writes import Write, whole_writes
from graph.checkpoints.thread_lock import hold_thread
from graph.context import Context, parse_context
from graph.drain import Drain, RunInterruptedError
from graph.settings import Settings
from graph.state import FinalOutput, StartInput, State
from graph.users.consumption import Consumption, Meter, current_meter
from graph.users.edited_state import check_edit, named_in
from graph.users.identity import LOCAL, Identity, IdentityError, identity_in, unknown_key, without_unknown_keys
from graph.users.policy import Policy
from sandboxes.host.session_pool import Owner, owner
from sandboxes.opening import Sandboxes

FITTED = "_stepwell_fitted"


def adapt_saver(checkpointer: object) -> None:
    """Have a saver that is not ours keep no half of what a node wrote, and name checkpoints in their order.

    Why it could not store a checkpoint is noted.

    An adapter around ours gets no more than its way to read growing channels: its own reads one whole checkpoint for
    each that came before, for each state of a thread's history, which is seconds for a thread of a hundred cells.
    """
    if not isinstance(checkpointer, BaseCheckpointSaver) or isinstance(checkpointer, Saver):
        return
    read = getattr(checkpointer, "read_growing_channels", None)
    if read is not None:
        checkpointer.aget_delta_channel_history = read  # type: ignore[method-assign]
    elif FITTED not in vars(checkpointer):
        setattr(checkpointer, FITTED, True)
        _fit(checkpointer)


def _fit(checkpointer: BaseCheckpointSaver[Any]) -> None:
    store, put = checkpointer.aput, checkpointer.aput_writes
    get, listed = checkpointer.aget_tuple, checkpointer.alist

    async def aput(config: RunnableConfig, checkpoint: Checkpoint, *others: Any) -> RunnableConfig:
        with recording_store_failure(config):
            return await store(config, checkpoint, *others)

    async def aput_writes(config: RunnableConfig, writes: Sequence[Write], task_id: str, task_path: str = "") -> None:
        with recording_store_failure(config, writes):
            await put(config, whole_writes(writes), task_id, task_path)

    async def aget_tuple(config: RunnableConfig) -> CheckpointTuple | None:
        found = newest = await get(config)
        if found is None:
            return None
        at = found.config["configurable"]
        if (config.get("configurable") or {}).get("checkpoint_id"):
            thread = {"thread_id": at["thread_id"], "checkpoint_ns": at.get("checkpoint_ns", "")}
            async for one in listed({"configurable": thread}, limit=1):
                newest = one
        advance_ids_past(str((newest or found).config["configurable"]["checkpoint_id"]))
        return found

    checkpointer.aput = aput  # type: ignore[assignment,method-assign]
    checkpointer.aput_writes = aput_writes  # type: ignore[method-assign]
    checkpointer.aget_tuple = aget_tuple  # type: ignore[method-assign]


logger = logging.getLogger(__name__)

EDIT_PATIENCE = 5.0
"""Seconds that an edit of State waits for a run; a run waits as long as it takes."""


class Tables:
    """Our tables in the database: made once, also where a server brings a saver of its own, which does not make them.

    Args:
        settings: Where threads are kept.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._made = not settings.database_url.get_secret_value()

    async def make(self) -> None:
        """Make those that are missing, and note whose blobs are stored."""
        if not self._made:
            async with open_checkpoints(self._settings):
                self._made = True


@dataclass(frozen=True, slots=True)
class RunAccount:
    """On whose account a run works."""

    owner: Owner
    meter: Meter | None

    def use(self) -> None:
        """Say so to what is called from here.

        To be called again after each part of the stream: LangGraph's servers ask for each in a task of its own, which
        has a context of its own. For the same reason nothing is reset.
        """
        owner.set(self.owner)
        current_meter.set(self.meter)

    async def counted(self, parts: AsyncIterator[Any]) -> AsyncGenerator[Any, None]:
        """The parts of a run's stream; what the run uses up is written down meanwhile, and however it ends."""
        try:
            async for part in parts:
                if self.meter is not None:
                    await self.meter.flush()
                yield part
                self.use()
        finally:
            await self.flush()

    async def flush(self) -> None:
        """Write down what was counted."""
        if self.meter is not None:
            await self.meter.flush(now=True)


class LockedGraph(CompiledStateGraph[State, Context, StartInput, FinalOutput]):
    """The compiled graph; each run and each edit of State holds the lock of its thread.

    It does not rely on what a server lets through: see `graph.users.identity` and `graph.users.edited_state`.

    Args:
        settings: Where threads are kept.
        sandboxes: Of this process; what they know of a thread is forgotten when another process has worked on it.
        tables: Those of the settings; the same ones in each copy that a server makes of the graph.
        draining: How this process ends.
        consumption: What users have used up.
        policy: What users may ask for; None: whatever they like.
        compiled: What LangGraph's own class takes.
    """

    def __init__(
        self,
        *,
        settings: Settings,
        sandboxes: Sandboxes,
        tables: Tables,
        draining: Drain,
        consumption: Consumption,
        policy: Policy | None = None,
        **compiled: Any,
    ) -> None:
        super().__init__(**compiled)
        adapt_saver(self.checkpointer)
        self.settings = settings
        self.sandboxes = sandboxes
        self.tables = tables
        self.draining = draining
        self.consumption = consumption
        self.policy = policy

    @classmethod
    def around(
        cls,
        graph: CompiledStateGraph[State, Context, StartInput, FinalOutput],
        settings: Settings,
        sandboxes: Sandboxes,
        draining: Drain | None = None,
        policy: Policy | None = None,
    ) -> "LockedGraph":
        """The same graph, locked."""
        compiled = {name: value for name, value in vars(graph).items() if name != "__orig_class__"}
        return cls(
            settings=settings,
            sandboxes=sandboxes,
            tables=Tables(settings),
            draining=draining or Drain(),
            consumption=Consumption.of(settings),
            policy=policy,
            **compiled,
        )

    async def astream(self, input: Any, config: RunnableConfig | None = None, **others: Any) -> AsyncIterator[Any]:
        """Run the graph, see `Pregel.astream`; waits until nobody else works on the thread.

        When the process ends, a run that is not over gives its thread back and yields no more, until it is cancelled.

        Raises:
            EditError: the command that it begins with names contents that the thread does not have.
            IdentityError: it names another thread, run or user than the server.
            ThreadHeldError: the connection to the database that held the thread was lost.
            KnobError: a knob of the run is unknown, or is more than its user may ask for.
            QuotaError: its user's threads keep all that they may.
            DiskError: a disk is full, or takes and gives nothing any more.
        """
        identity = identity_in(config, others.get("context"), users=self.settings.has_users)
        thread, config = identity.thread or "", without_unknown_keys(config)
        await self._check_edit(config, input if isinstance(input, Command) else None)
        others["context"], account = await self._allowed(identity, others.get("context"))
        if not thread:
            parts = super().astream(input, config, **others)
            with reporting_disk_errors():
                async with aclosing(parts) as stream, aclosing(account.counted(stream)) as counted:  # type: ignore[type-var]  # a generator
                    async for part in counted:
                        yield part
            return
        if self.draining.begun:
            await self.draining.paused()
        with reporting_disk_errors():
            async with aclosing(self._held(thread, input, config, account, others)) as parts:
                async for part in parts:
                    yield part

    async def _held(
        self, thread: str, input: Any, config: RunnableConfig | None, account: RunAccount, others: dict[str, Any]
    ) -> AsyncGenerator[Any, None]:
        """The parts of a run's stream, once nobody else works on its thread."""
        await self.tables.make()
        async with hold_thread(thread, self.settings, patience=math.inf) as hold:
            with self.draining.track_run() as work:
                if not self.draining.begun:  # while it waited for the thread
                    if hold.taken_over:
                        await self.sandboxes.close(thread)
                    input, config = await self._as_left(thread, input, config, taken_over=hold.taken_over)
                    # A run that keeps no checkpoints cannot go on elsewhere: it has all the time there is.
                    if self.checkpointer and others.get("control") is None:
                        others["control"] = work.control
                    parts, holds = super().astream(input, config, **others), self._holds
                    if hold.lost is not None and holds is not None:
                        hold.lost.add_done_callback(lambda _: holds.abandon(thread))
                    try:
                        guarded = hold.guarded(parts, work.broken_off)
                        async with aclosing(parts), aclosing(account.counted(guarded)) as counted:  # type: ignore[type-var]  # a generator
                            async for part in counted:
                                yield part
                        if holds is not None:  # it has ended where a node was to follow that waits, as at a breakpoint
                            await holds.settle(thread)
                        return
                    except (GraphDrained, RunInterruptedError):
                        logger.info("A run is paused, since this server ends.", extra={"thread_id": thread})
                    finally:
                        if holds is not None:
                            await holds.leave(thread)
                            await account.flush()  # what a snapshot added that was stored only now
                        clear_store_failure(thread)
        await self.draining.paused()

    @property
    def _holds(self) -> Holds | None:
        """What waits for snapshots, where a saver of ours keeps the checkpoints."""
        found = getattr(self.checkpointer, "holds", None)
        return found if isinstance(found, Holds) else None

    async def _allowed(self, identity: Identity, given: object) -> tuple[Context, "RunAccount"]:
        """The knobs of a run as they hold for its user, and on whose account it works from now on."""
        if self.policy is None:
            account = RunAccount(Owner(), None)
            account.use()
            return parse_context(given), account
        user = identity.user or LOCAL
        allowance = self.policy.of(user)
        context = allowance.knobs(given)
        meter = Meter(self.consumption, user, identity.thread or "", allowance.quotas)
        await meter.begin()
        account = RunAccount(Owner(user, allowance.quotas.sandboxes), meter)
        account.use()
        most = min(context.max_snapshot_bytes, meter.room)
        return context.model_copy(update={"max_snapshot_bytes": most}), account

    def astream_events(self, input: Any, config: RunnableConfig | None = None, **others: Any) -> Any:
        """Run the graph, see `Pregel.astream_events`, which would come to `astream` with a config that it has changed.

        Raises:
            IdentityError: as `astream`.
        """
        identity = identity_in(config, others.get("context"), users=self.settings.has_users)
        config = without_unknown_keys(config)
        if identity.run:  # LangChain makes one up otherwise, which would be another than the server's
            config["run_id"] = UUID(identity.run)
        return super().astream_events(input, config, **others)

    async def aget_state(self, config: RunnableConfig, **others: Any) -> StateSnapshot:
        """A thread's state, see `Pregel.aget_state`; keys that LangGraph does not know name no other thread."""
        return await super().aget_state(without_unknown_keys(config), **others)

    async def aget_state_history(self, config: RunnableConfig, **others: Any) -> AsyncIterator[StateSnapshot]:
        """A thread's states, see `Pregel.aget_state_history`; the same as for `aget_state`."""
        async for one in super().aget_state_history(without_unknown_keys(config), **others):
            yield one

    async def _check_edit(self, config: RunnableConfig, edit: object) -> None:
        """See that an edit names only what its thread has.

        Raises:
            EditError: it names something else.
        """
        if not self.settings.has_users or not (named := named_in(edit)):
            return
        known: list[Any] = []
        if isinstance(self.checkpointer, BaseCheckpointSaver):
            at = config.get("configurable") or {}
            head = {key: value for key, value in at.items() if key != "checkpoint_id"}
            for place in (at, head):
                known.append((await super().aget_state({"configurable": place})).values)
        check_edit(named, *known)

    async def _as_left(
        self, thread: str, input: Any, config: RunnableConfig | None, *, taken_over: bool
    ) -> tuple[Any, RunnableConfig | None]:
        """The input for a run that began before, in this process or another, and goes on: it brings nothing new.

        Its question, or its decision on a cell, is in the thread already, and somebody else may have gone on since.
        LangGraph would ask it once more then, or fork the thread from the checkpoint that it named once more.
        """
        whole = ensure_config(config)
        run, again = whole["metadata"].get("run_id"), whole["metadata"].get("run_attempt", 1) > 1
        if not run or not (taken_over or again) or not isinstance(self.checkpointer, BaseCheckpointSaver):
            return input, config
        its = self.checkpointer.alist(
            {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}, filter={"run_id": str(run)}, limit=1
        )
        if not [one async for one in its]:
            return input, config
        named = {key: value for key, value in whole["configurable"].items() if key != "checkpoint_id"}
        return None, {**whole, "configurable": named}

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """Edit State, see `Pregel.abulk_update_state`; `aupdate_state` comes here, too.

        Raises:
            EditError: it names contents that the thread does not have.
            IdentityError: the config has keys that LangGraph would copy over the server's.
            ThreadHeldError: somebody works on the thread.
            DiskError: a disk is full, or takes and gives nothing any more.
        """
        if problem := unknown_key(config):
            raise IdentityError(problem)
        thread = str((config.get("configurable") or {}).get("thread_id") or "")
        await self._check_edit(config, supersteps)
        if not thread:
            return await super().abulk_update_state(config, supersteps)
        with reporting_disk_errors():
            await self.tables.make()
            async with hold_thread(thread, self.settings, patience=EDIT_PATIENCE):
                return await super().abulk_update_state(config, supersteps)
