"""The threads of a data folder as the page reads them: lists, states, steps, variables, files; nothing is run here."""

import ast
import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from langgraph.types import StateSnapshot

from graph.checkpoints.damage import DamagedThreadError, reporting_damage
from graph.checkpoints.given_up import without_given_up
from graph.checkpoints.labels import Labels
from graph.checkpoints.order import time_named
from graph.checkpoints.saver import Saver
from graph.checkpoints.step_tree import StepTree
from graph.context import Context, stored_context
from graph.events import ApprovalAsked
from graph.settings import Settings
from graph.state import Artifact, Cell, State
from graph.wiring import make_blobs
from nodes.budget import tokens_spent
from nodes.restoration.manifests import NotRestoredError
from sandboxes.host.scratch import scratch_folder
from sandboxes.inside.kernel.snapshots.storing.blobs import CHUNK
from sandboxes.opening import ID
from stepwell.comparison import Difference, compare
from stepwell.errors import ThreadError
from stepwell.exports.archive import published, published_opener
from stepwell.exports.pictures import Pictures
from stepwell.labels import rename, tag
from stepwell.page.backend import NothingFoundError, Running, ThreadLine, ThreadView
from stepwell.page.step_sessions import StepSessions, TriedCode, fetch_there
from stepwell.page.variables import VariablePage, VariableWindow, read_window
from stepwell.restored_step import RestoredStep, at
from stepwell.runs import CONTEXT_KEY, ending_of, is_at_question
from stepwell.snapshot_manifest import read_manifest
from stepwell.step_detail import StepDetail, show_step
from stepwell.steps import STEP, answer_after, read_steps, state_at_step
from stepwell.thread_summaries import (
    ThreadFilter,
    ThreadStatus,
    ThreadSummary,
    kept_or_read,
    last_question,
    status_of,
    updated_at,
)
from stepwell.threads import Graph, open_graph, saver_of
from storage.blobs import BlobError
from storage.published_files import FileBeginning, NoSuchArtifactError, PublishedFile, StoredFile, is_plain, open_local

if TYPE_CHECKING:
    from stepwell.exports.export import Exporter

MOST_ERROR = 2_000
SPENDING_KEPT = 10_000
"""Threads of which it is remembered what they took."""
EXCEPTION = re.compile(r"\w+\((.*)\)", re.DOTALL)
"""How a checkpoint keeps an exception: as its `repr`."""


class KeptThreads:
    """The reading half of a `Backend`; use with `async with`.

    Whoever asks may see the thread: that is found out before.

    Args:
        settings: Where threads are kept.
        views: How many threads are remembered as they were read last.
    """

    def __init__(self, settings: Settings, *, views: int = 8) -> None:
        self.settings = settings
        self.sessions = StepSessions(self.session)
        self._stack = AsyncExitStack()
        self._graph: Graph | None = None
        self._remembered = views
        self._spending: dict[str, tuple[str, tuple[int, float, float | None]]] = {}
        self._views: dict[tuple[str, str], ThreadView] = {}
        self._trees: dict[str, tuple[str, StepTree]] = {}

    async def __aenter__(self) -> Self:
        self._graph, _ = await self._stack.enter_async_context(open_graph(self.settings))
        self._stack.push_async_callback(self.sessions.close)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    @property
    def graph(self) -> Graph:
        """The graph, for reading."""
        assert self._graph is not None, "used inside `async with` only"
        return self._graph

    @property
    def saver(self) -> Saver:
        """The checkpoints."""
        return saver_of(self.graph)

    def session(self, step: str) -> AbstractAsyncContextManager[RestoredStep]:
        """A Python session at a step, named `THREAD@STEP`."""
        return at(step, settings=self.settings)

    async def summary(self, thread: str, checkpoint: str = "") -> ThreadSummary:
        """A thread in short; a damaged one says so.

        Args:
            thread: Its id.
            checkpoint: Its newest one, which tells the time of a damaged one.
        """
        try:
            with reporting_damage(thread):
                return await kept_or_read(self.saver, self.graph, thread)
        except DamagedThreadError as error:
            when = time_named(checkpoint) or datetime.now(UTC)
            return ThreadSummary(thread, str(error), "damaged", turns=0, cells=0, updated=when)

    async def line(self, said: ThreadSummary, wanted: ThreadFilter, running: Running) -> ThreadLine:
        """A thread for the list."""
        tokens, seconds, cost = await self._spent(said)
        origin, _, step = said.fork_of.partition("@")
        return ThreadLine(
            said.id,
            said.title,
            said.status,
            running,
            said.turns,
            said.cells,
            said.updated,
            name=said.name,
            tags=said.tags,
            tokens=tokens,
            seconds=seconds,
            cost=cost,
            found=wanted.excerpt(said),
            fork_of=(origin, step) if origin else None,
            origin_kept=bool(origin and await self.saver.mark(origin)),
        )

    async def _spent(self, said: ThreadSummary) -> tuple[int, float, float | None]:
        """Tokens, seconds of cells, and what the tokens cost."""
        if said.status == "damaged":
            return 0, 0.0, None
        mark = await self.saver.mark(said.id)
        before = self._spending.get(said.id)
        if before is None or before[0] != mark:
            with reporting_damage(said.id):
                state = (await self.graph.aget_state({"configurable": {"thread_id": said.id}})).values
            seconds = sum(cell["seconds"] for cell in state.get("cells") or [])
            before = mark, (sum(tokens_spent(cast("State", state))), seconds, self._cost(cast("State", state)))
            self._spending[said.id] = before
            while len(self._spending) > SPENDING_KEPT:
                del self._spending[next(iter(self._spending))]
        return before[1]

    def _cost(self, state: State) -> float | None:
        prices = self.settings.price_list
        return prices.cost(*tokens_spent(state)) if prices is not None else None

    async def mark(self, thread: str) -> str:
        """Another one when the thread has changed; empty when nothing of it is kept."""
        mark = await self.saver.mark(thread)
        given_up = len(await self.saver.given_up(thread)) if mark else 0
        return f"{mark}-{given_up}" if given_up else mark

    async def view(self, thread: str, step: str, mark: str) -> ThreadView:
        """A thread as it is kept, where it is now or at a step; `mark` is what it is at.

        Raises:
            ThreadError: there is no such thread or step.
        """
        view = self._views.pop((thread, step), None)
        if view is None or view.mark != mark:
            view = await (self._read_at(thread, step, mark) if step else self._read(thread, mark))
        self._views[thread, step] = view
        while len(self._views) > self._remembered:
            del self._views[next(iter(self._views))]
        return view

    async def require_answered(self, thread: str) -> None:
        """See that a further question can be asked.

        Raises:
            ThreadError: the last one is not answered yet.
        """
        if is_at_question(await self.graph.aget_state({"configurable": {"thread_id": thread}})):
            raise ThreadError("This thread is still at its last question; go on with that first, or fork.")

    async def waits_for(self, thread: str) -> dict[str, Any] | None:
        """What a thread asks a decision about; None when it waits for none.

        Raises:
            ThreadError: its last question is answered.
        """
        snapshot = await self.graph.aget_state({"configurable": {"thread_id": thread}})
        if not snapshot.tasks:
            raise ThreadError("The last question of this thread is answered; ask another one.")
        return dict(snapshot.interrupts[0].value) if snapshot.interrupts else None

    async def labels(self, thread: str) -> Labels:
        """What its user calls a thread."""
        return (await self.saver.labels()).get(thread, Labels())

    async def _read(self, thread: str, mark: str) -> ThreadView:
        with reporting_damage(thread):
            snapshot = await self.graph.aget_state({"configurable": {"thread_id": thread}})
        if snapshot.created_at is None:
            raise ThreadError(f"There is no thread {thread}.")
        state, status = await self._shown(thread, cast("State", snapshot.values)), status_of(snapshot)
        asked = ending_of(thread, snapshot, 0.0) if status == "waiting" else None
        return ThreadView(
            thread,
            state if state.get("question") else State(**{**state, "question": last_question(state)}),
            status,
            "",
            updated_at(snapshot),
            mark,
            steps=await self._steps_by_cell(thread, mark, ""),
            context=await self.context(thread),
            cost=self._cost(state),
            asked=asked if isinstance(asked, ApprovalAsked) else None,
            answer=state.get("answer") or "" if status == "finished" else "",
            error=_error_of(snapshot, status),
        )

    async def _read_at(self, thread: str, step: str, mark: str) -> ThreadView:
        place = await state_at_step(self.graph, thread, step)
        when = place.step.when or datetime.now(UTC)
        return ThreadView(
            thread,
            await self._shown(thread, place.state),
            "finished" if place.ended else "paused",
            "",
            when,
            mark,
            step=place.step.name,
            steps=await self._steps_by_cell(thread, mark, place.step.name),
            context=await self.context(thread),
            cost=self._cost(place.state),
            answer=await answer_after(self.graph, place),
        )

    async def _shown(self, thread: str, state: State) -> State:
        """The state without the snapshots that were given up: nothing can be shown of them."""
        cells = without_given_up(state.get("cells") or [], await self.saver.given_up(thread))
        return State(**{**state, "cells": cells})

    async def context(self, thread: str) -> Context:
        """The knobs of its last run."""
        return stored_context(await self.saver.newest_metadata(thread, CONTEXT_KEY))

    async def _steps_by_cell(self, thread: str, mark: str, step: str) -> dict[int, str]:
        tree = await self._tree(thread, mark)
        end = tree.named(step) if step else tree.head
        return {one.number: one.name for one in tree.line(end)} if end is not None else {}

    async def _tree(self, thread: str, mark: str) -> StepTree:
        before = self._trees.get(thread)
        if before is None or before[0] != mark:
            before = self._trees[thread] = (mark, await read_steps(self.saver, thread))
            while len(self._trees) > self._remembered:
                del self._trees[next(iter(self._trees))]
        return before[1]

    async def steps(self, thread: str) -> StepTree:
        """See `Backend`."""
        check_names(thread)
        return await self._tree(thread, await self.mark(thread))

    async def step(self, thread: str, step: str) -> StepDetail:
        """See `Backend`."""
        check_names(thread, step)
        return await show_step(f"{thread}@{step}", self.settings)

    async def variable(self, thread: str, step: str, name: str, window: VariableWindow) -> VariablePage:
        """See `Backend`."""
        check_names(thread, step)
        return await self.read_variable(self.sessions, thread, step, name, window)

    async def read_variable(
        self, sessions: StepSessions, thread: str, step: str, name: str, window: VariableWindow
    ) -> VariablePage:
        """A part of a variable as it was at a step, read in one of these sessions."""
        place = await state_at_step(self.graph, thread, step)
        mark = place.state["sandbox"]["snapshot"]  # the same name may stand for another step one day
        return await sessions.use(f"{thread}@{step}", mark, partial(read_window, name=name, window=window))

    async def try_out(self, thread: str, step: str, code: str) -> None:
        """See `Backend`."""
        check_names(thread, step)
        await self.sessions.try_out(f"{thread}@{step}", code)

    async def tried(self, thread: str, step: str) -> tuple[TriedCode, ...]:
        """See `Backend`."""
        return self.sessions.tried(f"{thread}@{step}")

    async def stop_trying(self, thread: str, step: str) -> None:
        """See `Backend`."""
        await self.sessions.stop(f"{thread}@{step}")

    async def compare(self, one: tuple[str, str], other: tuple[str, str]) -> Difference:
        """See `Backend`."""
        for thread, step in (one, other):
            check_names(thread, step)
        return await compare((one[0], one[1] or None), (other[0], other[1] or None), self.settings)

    async def label(self, thread: str, name: str, tags: Sequence[str]) -> None:
        """See `Backend`."""
        check_names(thread)
        before = await self.labels(thread)
        if name != before.name:
            await rename(thread, name, settings=self.settings)
        await tag(thread, *(one for one in tags if not before.tagged(one)), settings=self.settings)
        gone = [one for one in before.tags if not Labels(tags=tuple(tags)).tagged(one)]
        await tag(thread, *gone, remove=True, settings=self.settings)

    def forget(self, thread: str) -> None:
        """Remember nothing of a thread that is no more."""
        self._spending.pop(thread, None)
        self._trees.pop(thread, None)

    async def drawn(self, view: ThreadView, cell: int, path: str) -> bytes:
        """A figure as it was after a cell of what is shown.

        Raises:
            NothingFoundError: there is none.
        """
        live = view.progress.cells if view.progress is not None else []
        found = next((one for one in [*live, *(view.state.get("cells") or [])] if one["number"] == cell), None)
        if found is None or path not in found["figures"]:
            raise NothingFoundError("This cell drew no such figure.")
        opener = published_opener(self.settings, view.id)
        data = await Pictures(make_blobs(self.settings), opener, published(view.state)).of_cell(found, path)
        if not data:
            raise NothingFoundError("This figure is no longer kept.")
        return data

    @asynccontextmanager
    async def artifact(self, thread: str, name: str) -> AsyncIterator[PublishedFile]:
        """See `Backend`."""
        check_names(thread)
        view = await self.view(thread, "", await self.mark(thread))
        found = next((one for one in published(view.state) if one["name"] == name), None)
        if found is None:
            raise NothingFoundError("This thread has published no file of that name.")
        opener = await asyncio.to_thread(published_opener, self.settings, thread)
        async with AsyncExitStack() as stack:
            try:
                file = await stack.enter_async_context(opener(found))
            except NoSuchArtifactError:  # it was published to a place of that run's own
                file = await self._from_snapshot(view.state, found)
            yield file

    async def _from_snapshot(self, state: State, one: Artifact) -> PublishedFile:
        """A published file as it was after the cell that wrote it.

        Raises:
            NoSuchArtifactError: it is not kept there.
        """
        cell = next((cell for cell in state.get("cells") or [] if cell["number"] == one["cell"]), None)
        for path in (one.get("path") or "", one["name"], f"outputs/{one['name']}"):
            try:
                return await self._kept_file([cell] if cell is not None else [], path)
            except NothingFoundError:
                continue
        raise NoSuchArtifactError(one["name"])

    @asynccontextmanager
    async def step_file(self, thread: str, step: str, path: str) -> AsyncIterator[PublishedFile]:
        """See `Backend`."""
        check_names(thread, step)
        place = await state_at_step(self.graph, thread, step)
        yield await self._kept_file(place.state.get("cells") or [], path)

    @asynccontextmanager
    async def input_file(self, thread: str, path: str, *, beginning: int = 0) -> AsyncIterator[PublishedFile]:
        """See `Backend`."""
        check_names(thread)
        async with self.input_from(self.sessions, thread, path, beginning=beginning) as file:
            yield file

    @asynccontextmanager
    async def input_from(
        self, sessions: StepSessions, thread: str, path: str, *, beginning: int = 0
    ) -> AsyncIterator[PublishedFile]:
        """An input of a thread: from the store where it is kept there, otherwise taken out of one of these sessions."""
        place = await state_at_step(self.graph, thread, None)
        one = next((one for one in place.state.get("inputs") or [] if one["path"] == path), None)
        if one is None:
            raise NothingFoundError("This thread has no such input.")
        if 0 < beginning < one["size"] and (data := await self._beginning(one["sha256"], beginning)):
            yield FileBeginning(data, one["size"], one["sha256"])
            return
        async with scratch_folder("input") as folder:
            kept = folder / "input"
            if await self._is_kept(one["sha256"], kept):
                async with open_local(str(folder), kept.name) as file:
                    yield file
                return
        mark = place.state["sandbox"]["snapshot"]
        fetched = await sessions.use(
            f"{thread}@{place.step.name}", mark, partial(fetch_there, path=path, max_bytes=one["size"])
        )
        try:
            async with open_local(str(fetched.parent), fetched.name) as file:
                yield file
        finally:
            await asyncio.to_thread(fetched.unlink, missing_ok=True)

    async def _beginning(self, sha256: str, size: int) -> bytes:
        """So many first bytes of a file that the store has; none where it does not have them."""
        try:
            data = await make_blobs(self.settings).read_beginning(sha256, size)
        except (BlobError, ValueError):
            return b""
        return data if len(data) == size else b""

    async def _is_kept(self, sha256: str, target: Path) -> bool:
        """Whether the store has a file, which is copied."""
        try:
            await make_blobs(self.settings).fetch(sha256, target)
        except (BlobError, ValueError):
            return False
        return True

    async def _kept_file(self, cells: list[Cell], path: str) -> PublishedFile:
        """A file of the workspace as it was after the last of these cells."""
        blobs = make_blobs(self.settings)
        try:
            kept = await read_manifest(blobs, (cells[-1].get("snapshot") or "") if cells else "", count_missing=False)
        except (NotRestoredError, BlobError, ValueError):
            raise NothingFoundError("This step has no snapshot to read files from.") from None
        file = kept.files.get(path)
        if file is None or not is_plain(path) or len(file.chunks) != -(-file.size // CHUNK):
            raise NothingFoundError("There is no such file in this step's snapshot.")
        version = hashlib.sha256(",".join(file.chunks).encode()).hexdigest()[:32]
        return StoredFile(blobs, file.chunks, file.size, version, piece=CHUNK)

    async def exporter(self, thread: str, step: str = "") -> "Exporter":
        """See `Backend`."""
        check_names(thread, step)
        from stepwell.exports.export import exporter_at

        return await exporter_at(thread, step or None, self.settings)


def check_names(thread: str, step: str = "") -> None:
    """See that names from an address can be names.

    Raises:
        ThreadError: they cannot.
    """
    if not ID.fullmatch(thread):
        raise ThreadError("There is no such thread.")
    if step and not STEP.fullmatch(step):
        raise ThreadError("There is no such step.")


def _error_of(snapshot: StateSnapshot, status: ThreadStatus) -> str:
    """Why a run stopped, as far as the checkpoint tells."""
    if status != "failed":
        return ""
    said = next((str(task.error) for task in snapshot.tasks if task.error), "")[:MOST_ERROR]
    called = EXCEPTION.fullmatch(said)
    try:
        message = ast.literal_eval(called[1]) if called is not None else said
    except (ValueError, SyntaxError):
        return said
    return message if isinstance(message, str) else said
