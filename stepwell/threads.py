"""Threads as people look them up: listed, found by a few characters, read."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import cast

from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateSnapshot

from graph.checkpoints.damage import DamagedThreadError, reporting_damage
from graph.checkpoints.factory import open_checkpoints
from graph.checkpoints.labels import Labels
from graph.checkpoints.order import time_named
from graph.checkpoints.saver import Saver
from graph.context import Context
from graph.settings import Settings, settings_or_default
from graph.state import FinalOutput, StartInput, State
from graph.wiring import make_blobs, make_sandboxes, wire
from sandboxes.opening import Sandboxes
from stepwell.errors import ThreadError
from stepwell.labels import threads_named
from stepwell.thread_summaries import (
    ALL_THREADS,
    ANY,
    ThreadFilter,
    ThreadStatus,
    ThreadSummary,
    kept_or_read,
    status_of,
    updated_at,
)
from storage.artifacts import Artifacts

MIN_PREFIX = 4


@dataclass(frozen=True, slots=True)
class ThreadDetail:
    """A thread at its newest checkpoint."""

    id: str
    state: State
    status: ThreadStatus
    updated: datetime
    next: tuple[str, ...]
    """The nodes that run next; empty when it is finished."""
    labels: Labels = field(default_factory=Labels)
    """What it is called."""
    running: bool = False
    """Whether a program works on it now, as far as whoever shows it has found out."""


async def list_threads(
    *, limit: int = 20, wanted: ThreadFilter = ANY, settings: Settings | None = None
) -> list[ThreadSummary]:
    """The newest threads, newest first, with their names and tags.

    Args:
        limit: At most so many.
        wanted: Which ones.
        settings: Where threads are kept; None reads the environment.
    """
    settings = await settings_or_default(settings)
    summaries: list[ThreadSummary] = []
    async with open_graph(settings) as (graph, _):
        saver = saver_of(graph)
        labels = await saver.labels()
        for head in await saver.newest_threads(limit=ALL_THREADS if wanted else limit):
            try:
                with reporting_damage(head.thread):
                    summary = await kept_or_read(saver, graph, head.thread)
            except DamagedThreadError as error:
                when = time_named(head.checkpoint) or datetime.now(UTC)
                summary = ThreadSummary(head.thread, str(error), "damaged", turns=0, cells=0, updated=when)
            summary = summary.with_labels(labels.get(head.thread))
            summaries += [summary] if wanted.matches(summary) else []
            if len(summaries) == limit:
                break
    return summaries


async def read_thread(thread: str, settings: Settings | None = None) -> ThreadDetail:
    """A thread's state.

    Raises:
        ThreadError: there is no such thread.
    """
    async with open_graph(await settings_or_default(settings)) as (graph, _):
        with reporting_damage(thread):
            snapshot = await graph.aget_state({"configurable": {"thread_id": thread}})
        labels = (await saver_of(graph).labels()).get(thread, Labels())
    if snapshot.created_at is None:
        raise ThreadError(f"There is no thread {thread}; `stepwell threads` lists them.")
    return _detail(thread, snapshot, labels)


async def find_thread(prefix: str, settings: Settings | None = None) -> str:
    """The full id of the thread that has this name or begins with these characters, or of the newest one for `last`.

    A name goes before the beginning of an id.

    Raises:
        ThreadError: there is none, or more than one.
    """
    async with open_checkpoints(await settings_or_default(settings)) as saver:
        return await find_thread_in(saver, prefix)


async def find_thread_in(saver: Saver, prefix: str) -> str:
    """As `find_thread`, in checkpoints that are open.

    Raises:
        ThreadError: there is none, or more than one.
    """
    if prefix == "last":
        newest = await saver.newest_threads(limit=1)
        if not newest:
            raise ThreadError("There are no threads yet; start one with: stepwell run QUESTION FILE")
        return newest[0].thread
    if named := threads_named(prefix, await saver.labels()):
        if len(named) > 1:
            raise ThreadError(f"Several threads are called {prefix}: {', '.join(named)}; give the id of one.")
        return named[0]
    if len(prefix) < MIN_PREFIX:
        raise ThreadError(
            f"No thread is called {prefix!r}, and for an id it is too short: give its first {MIN_PREFIX} "
            "characters or more, or a name."
        )
    found = await saver.threads_beginning_with(prefix)
    if not found:
        raise ThreadError(f"No thread is called {prefix}, and no id begins so; `stepwell threads` lists them.")
    if len(found) > 1 and prefix not in found:
        raise ThreadError(f"{prefix} is ambiguous: {', '.join(found)}.")
    return prefix if prefix in found else found[0]


Graph = CompiledStateGraph[State, Context, StartInput, FinalOutput]


def saver_of(graph: Graph) -> Saver:
    """The checkpoints of a graph that `open_graph` gave."""
    return cast("Saver", graph.checkpointer)


@asynccontextmanager
async def open_graph(settings: Settings) -> AsyncIterator[tuple[Graph, Sandboxes]]:
    """The graph over the checkpoints of these settings, and its sandboxes, for looking and for writing State."""
    async with open_checkpoints(settings) as saver, make_sandboxes(settings) as sandboxes:
        artifacts = await asyncio.to_thread(Artifacts.at, settings.artifacts)
        builder = wire(settings, sandboxes, artifacts=artifacts, blobs=make_blobs(settings), input_roots=None)
        yield builder.compile(checkpointer=saver, name="stepwell"), sandboxes


def _detail(thread: str, snapshot: StateSnapshot, labels: Labels) -> ThreadDetail:
    return ThreadDetail(
        id=thread,
        state=cast("State", snapshot.values),
        status=status_of(snapshot),
        updated=updated_at(snapshot),
        next=snapshot.next,
        labels=labels,
    )
