"""A graph that works on a thread only while nobody else does, whatever the server that runs it enforces."""

import logging
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import GraphDrained
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateUpdate

from graph.checkpoints import open_checkpoints
from graph.context import Context
from graph.draining import BrokenOffError, Draining
from graph.settings import Settings
from graph.state import FinalOutput, StartInput, State
from graph.thread_lock import holding
from sandboxes.opening import Sandboxes

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


class GuardedGraph(CompiledStateGraph[State, Context, StartInput, FinalOutput]):
    """The compiled graph; each run and each edit of State holds the lock of its thread.

    Args:
        settings: Where threads are kept.
        sandboxes: Of this process; what they know of a thread is forgotten when another process has worked on it.
        tables: Those of the settings; the same ones in each copy that a server makes of the graph.
        draining: How this process ends.
        compiled: What LangGraph's own class takes.
    """

    def __init__(
        self, *, settings: Settings, sandboxes: Sandboxes, tables: Tables, draining: Draining, **compiled: Any
    ) -> None:
        super().__init__(**compiled)
        self.settings = settings
        self.sandboxes = sandboxes
        self.tables = tables
        self.draining = draining

    @classmethod
    def around(
        cls,
        graph: CompiledStateGraph[State, Context, StartInput, FinalOutput],
        settings: Settings,
        sandboxes: Sandboxes,
        draining: Draining | None = None,
    ) -> "GuardedGraph":
        """The same graph, guarded."""
        compiled = {name: value for name, value in vars(graph).items() if name != "__orig_class__"}
        ends = draining or Draining()
        return cls(settings=settings, sandboxes=sandboxes, tables=Tables(settings), draining=ends, **compiled)

    async def astream(self, input: Any, config: RunnableConfig | None = None, **others: Any) -> AsyncIterator[Any]:
        """Run the graph, see `Pregel.astream`; waits until nobody else works on the thread.

        When the process ends, a run that is not over gives its thread back and yields no more, until it is cancelled.

        Raises:
            ThreadHeldError: the connection to the database that held the thread was lost.
        """
        thread = thread_in(config)
        if not thread:
            async for part in super().astream(input, config, **others):
                yield part
            return
        if self.draining.begun:
            await self.draining.paused()
        await self.tables.make()
        async with holding(thread, self.settings, patience=math.inf) as hold:
            with self.draining.at_work() as work:
                if not self.draining.begun:  # while it waited for the thread
                    if hold.taken_over:
                        await self.sandboxes.close(thread)
                    input, config = await self._as_left(thread, input, config, taken_over=hold.taken_over)
                    # A run that keeps no checkpoints cannot go on elsewhere: it has all the time there is.
                    if self.checkpointer and others.get("control") is None:
                        others["control"] = work.control
                    parts = super().astream(input, config, **others)
                    try:
                        async with aclosing(parts) as stream:  # type: ignore[type-var]  # a generator
                            async for part in hold.guarded(stream, work.broken_off):
                                yield part
                        return
                    except (GraphDrained, BrokenOffError):
                        logger.info("A run is paused, since this server ends.", extra={"thread_id": thread})
        await self.draining.paused()

    async def _as_left(
        self, thread: str, input: Any, config: RunnableConfig | None, *, taken_over: bool
    ) -> tuple[Any, RunnableConfig | None]:
        """What a run is to go on with that has begun before, in this process or another: with nothing new.

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
            ThreadHeldError: somebody works on the thread.
        """
        thread = thread_in(config)
        if not thread:
            return await super().abulk_update_state(config, supersteps)
        await self.tables.make()
        async with holding(thread, self.settings, patience=EDIT_PATIENCE):
            return await super().abulk_update_state(config, supersteps)


def thread_in(config: RunnableConfig | None) -> str:
    """The thread that a config names; empty when it names none."""
    return str((ensure_config(config).get("configurable") or {}).get("thread_id") or "")
