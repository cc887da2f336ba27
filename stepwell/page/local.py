"""The threads of this machine's data folder, for the page: read, run and kept by this process."""

import ast
import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Self, cast

from langgraph.types import StateSnapshot

from graph.checkpoints.damage import DamagedThreadError, reporting_damage
from graph.checkpoints.labels import Labels
from graph.checkpoints.order import time_named
from graph.checkpoints.step_tree import StepTree
from graph.checkpoints.thread_lock import is_thread_held
from graph.context import Context, parse_context, stored_context
from graph.events import ApprovalAsked, Failed
from graph.settings import NO_ISOLATION_WARNING, Settings
from graph.state import Artifact, Cell, State
from graph.wiring import make_blobs, make_uploads
from nodes.budget import tokens_spent
from nodes.restoration.manifests import NotRestoredError
from sandboxes.inside.kernel.snapshots.blobs import CHUNK
from sandboxes.opening import ID
from stepwell import runs
from stepwell.cleanup import delete
from stepwell.comparison import Difference, compare
from stepwell.errors import ThreadError
from stepwell.exports.archive import published
from stepwell.exports.export import Exporter, exporter_at, published_opener
from stepwell.exports.pictures import Pictures
from stepwell.exports.report import ShownCell
from stepwell.forks import fork_here, fork_thread
from stepwell.labels import rename, tag
from stepwell.model_list import PLAYBOOK, model_sources
from stepwell.page.backend import NothingFoundError, Offer, Running, ThreadLine, ThreadView, UploadedFile
from stepwell.page.live_runs import LiveRun, LiveRuns
from stepwell.page.progress import Progress
from stepwell.page.step_sessions import StepSessions, run_there
from stepwell.page.variables import VariablePage, VariableWindow, read_window
from stepwell.restored_step import at
from stepwell.runs import CONTEXT_KEY, Decision, ending_of
from stepwell.snapshot_manifest import read_manifest
from stepwell.step_detail import StepDetail, show_step
from stepwell.steps import STEP, answer_after, read_steps, state_at_step
from stepwell.thread_summaries import (
    ALL_THREADS,
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
from storage.published_files import NoSuchArtifactError, PublishedFile, StoredFile, is_plain
from storage.uploads import UploadError, Uploads

USER = "page of this machine"
"""Whose uploads they are."""
VIEWS_KEPT = 8
MOST_ERROR = 2_000
EXCEPTION = re.compile(r"\w+\((.*)\)", re.DOTALL)
"""How a checkpoint keeps an exception: as its `repr`."""


class LocalBackend:
    """See `Backend`; use with `async with`, whose end pauses what runs.

    Args:
        settings: Where threads are kept and what runs them.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.live = LiveRuns(settings.price_list)
        self._stack = AsyncExitStack()
        self._graph: Graph | None = None
        self._spending: dict[str, tuple[str, tuple[int, float, float | None]]] = {}
        self._views: dict[tuple[str, str], ThreadView] = {}
        self._trees: dict[str, tuple[str, StepTree]] = {}
        self._sessions = StepSessions(lambda step: at(step, settings=settings))
        any_type: Uploads = replace(make_uploads(settings), types=frozenset({"*"}))
        self._uploads = any_type

    async def __aenter__(self) -> Self:
        self._graph, _ = await self._stack.enter_async_context(open_graph(self.settings))
        self._stack.push_async_callback(self._sessions.close)
        self._stack.push_async_callback(self.live.close)
        await self._uploads.sweep()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    @property
    def graph(self) -> Graph:
        """The graph, for reading."""
        assert self._graph is not None, "a LocalBackend is used inside `async with` only"
        return self._graph

    async def offer(self) -> Offer:
        """See `Backend`."""
        usable = await asyncio.to_thread(model_sources, self.settings)
        named = [one.name for one in usable if not one.missing]
        return Offer(
            model=self.settings.model or PLAYBOOK,
            models=tuple(dict.fromkeys((self.settings.model or PLAYBOOK, PLAYBOOK, *named))),
            sandboxes=("local", "docker", "daytona"),
            max_upload=self.settings.max_input_bytes,
            warning=NO_ISOLATION_WARNING if self.settings.without_isolation else "",
        )

    async def threads(self, wanted: ThreadFilter, *, limit: int) -> list[ThreadLine]:
        """See `Backend`."""
        saver = saver_of(self.graph)
        labels = await saver.labels()
        found: list[ThreadLine] = []
        heads = await saver.newest_threads(limit=ALL_THREADS if wanted else limit)
        for head in heads:
            summary = (await self._summary(head.thread, head.checkpoint)).with_labels(labels.get(head.thread))
            if wanted and not wanted.matches(summary):
                continue
            found.append(await self._line(summary, wanted))
            if len(found) >= limit:
                break
        kept = {head.thread for head in heads}
        begun = [] if wanted else [run for run in self.live.going_on() if run.thread not in kept]
        return [*(self._begun(run) for run in begun), *found]

    async def _summary(self, thread: str, checkpoint: str) -> ThreadSummary:
        try:
            with reporting_damage(thread):
                return await kept_or_read(saver_of(self.graph), self.graph, thread)
        except DamagedThreadError as error:
            when = time_named(checkpoint) or datetime.now(UTC)
            return ThreadSummary(thread, str(error), "damaged", turns=0, cells=0, updated=when)

    async def _line(self, said: ThreadSummary, wanted: ThreadFilter) -> ThreadLine:
        tokens, seconds, cost = await self._spent(said)
        return ThreadLine(
            said.id,
            said.question,
            said.status,
            await self._running(said.id),
            said.turns,
            said.cells,
            said.updated,
            name=said.name,
            tags=said.tags,
            tokens=tokens,
            seconds=seconds,
            cost=cost,
            found=wanted.excerpt(said),
        )

    def _begun(self, run: LiveRun) -> ThreadLine:
        """A thread of which nothing is kept yet."""
        return ThreadLine(run.thread, run.progress.question, "paused", "here", 1, 0, run.progress.began_at)

    async def _spent(self, said: ThreadSummary) -> tuple[int, float, float | None]:
        """Tokens, seconds of cells, and what the tokens cost."""
        if said.status == "damaged":
            return 0, 0.0, None
        mark = await saver_of(self.graph).mark(said.id)
        before = self._spending.get(said.id)
        if before is None or before[0] != mark:
            with reporting_damage(said.id):
                state = (await self.graph.aget_state({"configurable": {"thread_id": said.id}})).values
            seconds = sum(cell["seconds"] for cell in state.get("cells") or [])
            before = mark, (sum(tokens_spent(cast("State", state))), seconds, self._cost(cast("State", state)))
            self._spending[said.id] = before
        return before[1]

    def _cost(self, state: State) -> float | None:
        prices = self.settings.price_list
        return prices.cost(*tokens_spent(state)) if prices is not None else None

    async def _running(self, thread: str) -> Running:
        live = self.live.of(thread)
        if live is not None and not live.ended:
            return "here"
        return "elsewhere" if await asyncio.to_thread(is_thread_held, thread, self.settings.home) else ""

    async def thread(self, thread: str, step: str = "") -> ThreadView:
        """See `Backend`."""
        _check(thread, step)
        live = self.live.of(thread)
        running = await self._running(thread)
        mark = await saver_of(self.graph).mark(thread)
        if not mark and live is not None:  # nothing of it is kept yet
            state = State(question=live.progress.question)
            return ThreadView(thread, state, "paused", running, live.progress.began_at, "", progress=live.progress)
        view = self._views.pop((thread, step), None)
        if view is None or view.mark != mark:
            view = await (self._read_at(thread, step, mark) if step else self._read(thread, mark))
        self._views[thread, step] = view
        while len(self._views) > VIEWS_KEPT:
            del self._views[next(iter(self._views))]
        if step:
            return view
        progress = live.progress if live is not None else None
        error = view.error
        if view.status == "failed" and progress is not None and isinstance(progress.ending, Failed):
            error = progress.ending.error
        labels = (await saver_of(self.graph).labels()).get(thread, Labels())
        view = replace(view, name=labels.name, tags=labels.tags)
        if running == "here":
            return replace(view, running=running, progress=progress, error=error)
        told = tuple(progress.notices) if progress is not None else ()
        return replace(view, running=running, error=error, notices=told)

    async def _read(self, thread: str, mark: str) -> ThreadView:
        with reporting_damage(thread):
            snapshot = await self.graph.aget_state({"configurable": {"thread_id": thread}})
        if snapshot.created_at is None:
            raise ThreadError(f"There is no thread {thread}.")
        state, status = cast("State", snapshot.values), status_of(snapshot)
        asked = ending_of(thread, snapshot, 0.0) if status == "waiting" else None
        return ThreadView(
            thread,
            state if state.get("question") else State(**{**state, "question": last_question(state)}),
            status,
            "",
            updated_at(snapshot),
            mark,
            steps=await self._steps_by_cell(thread, mark, ""),
            context=await self._context(thread),
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
            place.state,
            "finished" if place.ended else "paused",
            "",
            when,
            mark,
            step=place.step.name,
            steps=await self._steps_by_cell(thread, mark, place.step.name),
            context=await self._context(thread),
            cost=self._cost(place.state),
            answer=await answer_after(self.graph, place),
        )

    async def _context(self, thread: str) -> Context:
        return stored_context(await saver_of(self.graph).newest_metadata(thread, CONTEXT_KEY))

    async def _steps_by_cell(self, thread: str, mark: str, step: str) -> dict[int, str]:
        tree = await self._tree(thread, mark)
        end = tree.named(step) if step else tree.head
        return {one.number: one.name for one in tree.line(end)} if end is not None else {}

    async def _tree(self, thread: str, mark: str) -> StepTree:
        before = self._trees.get(thread)
        if before is None or before[0] != mark:
            before = self._trees[thread] = (mark, await read_steps(saver_of(self.graph), thread))
            while len(self._trees) > VIEWS_KEPT:
                del self._trees[next(iter(self._trees))]
        return before[1]

    async def steps(self, thread: str) -> StepTree:
        """See `Backend`."""
        _check(thread)
        return await self._tree(thread, await saver_of(self.graph).mark(thread))

    async def step(self, thread: str, step: str) -> StepDetail:
        """See `Backend`."""
        _check(thread, step)
        return await show_step(f"{thread}@{step}", self.settings)

    async def variable(self, thread: str, step: str, name: str, window: VariableWindow) -> VariablePage:
        """See `Backend`."""
        _check(thread, step)
        place = await state_at_step(self.graph, thread, step)
        mark = place.state["sandbox"]["snapshot"]  # the same name may stand for another step one day
        return await self._sessions.use(f"{thread}@{step}", mark, partial(read_window, name=name, window=window))

    async def try_out(self, thread: str, step: str, code: str) -> ShownCell:
        """See `Backend`."""
        _check(thread, step)
        return await self._sessions.use(f"{thread}@{step}", "prompt", partial(run_there, code=code))

    async def compare(self, one: tuple[str, str], other: tuple[str, str]) -> Difference:
        """See `Backend`."""
        for thread, step in (one, other):
            _check(thread, step)
        return await compare((one[0], one[1] or None), (other[0], other[1] or None), self.settings)

    async def start(self, question: str, files: Sequence[str], knobs: Mapping[str, Any], *, thread: str = "") -> str:
        """See `Backend`."""
        if thread:
            _check(thread)
        paths = [await asyncio.to_thread(self._path, file) for file in files]
        context = _changed(await self._context(thread) if thread else Context(), knobs)
        run = runs.start(question, files=paths, thread=thread or None, context=context, settings=self.settings)
        await self.live.begin(run)
        return run.thread

    async def resume(self, thread: str, knobs: Mapping[str, Any], decision: Decision | None = None) -> None:
        """See `Backend`."""
        _check(thread)
        context = _changed(await self._context(thread), knobs)
        await self.live.begin(runs.resume(thread, decision=decision, context=context, settings=self.settings))

    async def stop(self, thread: str) -> None:
        """See `Backend`."""
        await self.live.stop(thread)

    async def changes(self, thread: str) -> AsyncIterator[Progress]:
        """See `Backend`."""
        live = self.live.of(thread)
        if live is not None and not live.ended:
            async for progress in live.changes():
                yield progress

    async def fork(self, thread: str, step: str, *, here: bool, new_turn: bool) -> str:
        """See `Backend`."""
        _check(thread, step)
        begin = fork_here if here else fork_thread
        return await begin(thread, step=step or None, new_turn=new_turn, settings=self.settings)

    async def label(self, thread: str, name: str, tags: Sequence[str]) -> None:
        """See `Backend`."""
        _check(thread)
        before = (await saver_of(self.graph).labels()).get(thread, Labels())
        if name != before.name:
            await rename(thread, name, settings=self.settings)
        await tag(thread, *(one for one in tags if not before.tagged(one)), settings=self.settings)
        gone = [one for one in before.tags if not Labels(tags=tuple(tags)).tagged(one)]
        await tag(thread, *gone, remove=True, settings=self.settings)

    async def delete(self, thread: str) -> None:
        """See `Backend`."""
        _check(thread)
        await delete(thread, settings=self.settings)
        self.live.forget(thread)
        self._spending.pop(thread, None)
        self._trees.pop(thread, None)

    async def upload(self, name: str, data: AsyncIterator[bytes], *, size: int | None = None) -> UploadedFile:
        """See `Backend`."""
        upload = await self._uploads.create(USER, name, size)
        try:
            async with self._uploads.open_writer(USER, upload.id, 0) as writer:
                async for piece in data:
                    await writer.write(piece)
                await writer.mark_complete()
            done = await self._uploads.look(USER, upload.id)
            if not done.complete:
                raise UploadError(f"Only {done.offset:,} of the {size:,} bytes of {done.name} arrived; send it again.")
        except BaseException:
            await self._uploads.remove(USER, upload.id)
            raise
        return UploadedFile(done.spec, done.name, done.offset)

    async def uploaded(self, file: str) -> UploadedFile:
        """See `Backend`."""
        _, upload = await asyncio.to_thread(self._uploads.content, USER, file)
        return UploadedFile(upload.spec, upload.name, upload.offset)

    def _path(self, file: str) -> str:
        """An upload as a path that ends with its own name; reads the disk."""
        content, upload = self._uploads.content(USER, file)
        named = content.parent / "named" / upload.name
        named.parent.mkdir(mode=0o700, exist_ok=True)
        if not named.exists():
            try:
                named.hardlink_to(content)
            except OSError:  # a file system without them
                named.symlink_to(content)
        return str(named)

    async def figure(self, thread: str, cell: int, path: str, *, step: str = "") -> bytes:
        """See `Backend`."""
        view = await self.thread(thread, step)
        live = view.progress.cells if view.progress is not None else []
        found = next((one for one in [*live, *(view.state.get("cells") or [])] if one["number"] == cell), None)
        if found is None or path not in found["figures"]:
            raise NothingFoundError("This cell drew no such figure.")
        opener = published_opener(self.settings, thread)
        data = await Pictures(make_blobs(self.settings), opener, published(view.state)).of_cell(found, path)
        if not data:
            raise NothingFoundError("This figure is no longer kept.")
        return data

    @asynccontextmanager
    async def artifact(self, thread: str, name: str) -> AsyncIterator[PublishedFile]:
        """See `Backend`."""
        view = await self.thread(thread)
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
        _check(thread, step)
        place = await state_at_step(self.graph, thread, step)
        yield await self._kept_file(place.state.get("cells") or [], path)

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

    async def exporter(self, thread: str, step: str = "") -> Exporter:
        """See `Backend`."""
        _check(thread, step)
        return await exporter_at(thread, step or None, self.settings)


def _check(thread: str, step: str = "") -> None:
    if not ID.fullmatch(thread):
        raise ThreadError("There is no such thread.")
    if step and not STEP.fullmatch(step):
        raise ThreadError("There is no such step.")


def _changed(before: Context, knobs: Mapping[str, Any]) -> Context | None:
    """The knobs of a run; None: those that its thread has.

    Raises:
        KnobError: one cannot be used.
    """
    return parse_context({**before.model_dump(exclude_unset=True), **knobs}) if knobs else None


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
