"""A graph that works on a thread only while nobody else does, whatever the server that runs it enforces."""

import math
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateUpdate

from graph.checkpoints import open_checkpoints
from graph.context import Context
from graph.settings import Settings
from graph.state import FinalOutput, StartInput, State
from graph.thread_lock import holding
from sandboxes.opening import Sandboxes

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
        compiled: What LangGraph's own class takes.
    """

    def __init__(self, *, settings: Settings, sandboxes: Sandboxes, tables: Tables, **compiled: Any) -> None:
        super().__init__(**compiled)
        self.settings = settings
        self.sandboxes = sandboxes
        self.tables = tables

    @classmethod
    def around(
        cls,
        graph: CompiledStateGraph[State, Context, StartInput, FinalOutput],
        settings: Settings,
        sandboxes: Sandboxes,
    ) -> "GuardedGraph":
        """The same graph, guarded."""
        compiled = {name: value for name, value in vars(graph).items() if name != "__orig_class__"}
        return cls(settings=settings, sandboxes=sandboxes, tables=Tables(settings), **compiled)

    async def astream(self, input: Any, config: RunnableConfig | None = None, **others: Any) -> AsyncIterator[Any]:
        """Run the graph, see `Pregel.astream`; waits until nobody else works on the thread.

        Raises:
            ThreadHeldError: the connection to the database that held the thread was lost.
        """
        thread = thread_in(config)
        if not thread:
            async for part in super().astream(input, config, **others):
                yield part
            return
        await self.tables.make()
        async with holding(thread, self.settings, patience=math.inf) as hold:
            if hold.taken_over:
                await self.sandboxes.close(thread)
            async with aclosing(super().astream(input, config, **others)) as stream:  # type: ignore[type-var]  # a generator
                async for part in hold.guarded(stream):
                    yield part

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
