"""The threads of this machine's data folder, for the page: read, run and kept by this process."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Self, cast

from langgraph.types import StateSnapshot

from graph.checkpoints.damage import DamagedThreadError, reporting_damage
from graph.checkpoints.order import time_named
from graph.checkpoints.step_tree import StepTree
from graph.checkpoints.thread_lock import is_thread_held
from graph.context import Context, stored_context
from graph.events import ApprovalAsked, Failed
from graph.settings import NO_ISOLATION_WARNING, Settings
from graph.state import State
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
from stepwell.forks import fork_here, fork_thread
from stepwell.page.backend import NothingFoundError, Offer, Running, ThreadLine, ThreadView, UploadedFile
from stepwell.page.live_runs import LiveRuns
from stepwell.page.progress import Progress
from stepwell.page.search import excerpt, texts_of
from stepwell.page.variables import VariablePage, VariableReader, VariableWindow
from stepwell.restored_step import at
from stepwell.runs import CONTEXT_KEY, Decision, ending_of
from stepwell.snapshot_manifest import read_manifest
from stepwell.step_detail import StepDetail, show_step
from stepwell.steps import STEP, read_steps, state_at_step
from stepwell.stored_context import changed, changed_context
from stepwell.thread_summaries import ThreadStatus, last_question, status_of, summary_of, updated_at
from stepwell.threads import Graph, open_graph, saver_of
from storage.blobs import BlobError
from storage.published_files import PublishedFile, StoredFile, is_plain
from storage.uploads import UploadError, Uploads

USER = "page of this machine"
"""Whose uploads they are."""
VIEWS_KEPT = 8
MOST_THREADS = 10_000


class LocalBackend:
    """See `Backend`; use with `async with`, whose end pauses what runs.

    Args:
        settings: Where threads are kept and what runs them.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.live = LiveRuns()
        self._stack = AsyncExitStack()
        self._graph: Graph | None = None
        self._lines: dict[str, tuple[str, ThreadLine, list[str]]] = {}
        self._views: dict[tuple[str, str], ThreadView] = {}
        self._trees: dict[str, tuple[str, StepTree]] = {}
        self._variables = VariableReader(lambda step: at(step, settings=settings))
        any_type: Uploads = replace(make_uploads(settings), types=frozenset({"*"}))
        self._uploads = any_type

    async def __aenter__(self) -> Self:
        self._graph, _ = await self._stack.enter_async_context(open_graph(self.settings))
        self._stack.push_async_callback(self._variables.close)
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
        models = dict.fromkeys((self.settings.model or "playbook", "playbook"))
        return Offer(
            model=self.settings.model or "playbook",
            models=tuple(models),
            sandboxes=("local", "docker", "daytona"),
            max_upload=self.settings.max_input_bytes,
            warning=NO_ISOLATION_WARNING if self.settings.without_isolation else "",
        )

    async def threads(self, words: str, *, limit: int) -> list[ThreadLine]:
        """See `Backend`."""
        wanted = words.casefold().split()
        found: list[ThreadLine] = []
        heads = await saver_of(self.graph).newest_threads(limit=MOST_THREADS if wanted else limit)
        kept = {head.thread for head in heads}
        begun = [run for run in self.live.going_on() if run.thread not in kept]
        for head in heads:
            line, texts = await self._line(head.thread, head.checkpoint)
            if wanted:
                part = excerpt(texts, wanted)
                if part is None:
                    continue
                line = replace(line, found=part)
            found.append(replace(line, running=await self._running(head.thread)))
            if len(found) >= limit:
                break
        lines = [
            ThreadLine(run.thread, run.progress.question, "paused", "here", 1, 0, updated=run.progress.began_at)
            for run in begun
            if not wanted
        ]
        return [*lines, *found]

    async def _line(self, thread: str, checkpoint: str) -> tuple[ThreadLine, list[str]]:
        saver = saver_of(self.graph)
        try:
            mark = await saver.mark(thread)
            if (before := self._lines.get(thread)) is not None and before[0] == mark:
                return before[1], before[2]
            with reporting_damage(thread):
                snapshot = await self.graph.aget_state({"configurable": {"thread_id": thread}})
        except DamagedThreadError as error:
            when = time_named(checkpoint) or datetime.now(UTC)
            return ThreadLine(thread, str(error), "damaged", "", 0, 0, when), [str(error)]
        said = summary_of(thread, snapshot)
        state = cast("State", snapshot.values)
        spent = tokens_spent(state)
        line = ThreadLine(
            thread,
            said.question,
            said.status,
            "",
            said.turns,
            said.cells,
            said.updated,
            tokens=sum(spent),
            seconds=sum(cell["seconds"] for cell in state.get("cells") or []),
            cost=self._cost(state),
        )
        texts = texts_of(state)
        self._lines[thread] = (mark, line, texts)
        return line, texts

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
        return replace(view, running=running, progress=progress if running == "here" else None, error=error)

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
        mark = place.state["sandbox"]["snapshot"]
        return await self._variables.read(f"{thread}@{step}", mark, name, window)

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
        context = (await changed_context(thread, knobs, self.settings)) if thread else changed(Context(), knobs)
        run = runs.start(question, files=paths, thread=thread or None, context=context, settings=self.settings)
        await self.live.begin(run)
        return run.thread

    async def resume(self, thread: str, knobs: Mapping[str, Any], decision: Decision | None = None) -> None:
        """See `Backend`."""
        _check(thread)
        context = await changed_context(thread, knobs, self.settings)
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

    async def delete(self, thread: str) -> None:
        """See `Backend`."""
        _check(thread)
        await delete(thread, settings=self.settings)
        self.live.forget(thread)
        self._lines.pop(thread, None)
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
        async with opener(found) as file:
            yield file

    @asynccontextmanager
    async def step_file(self, thread: str, step: str, path: str) -> AsyncIterator[PublishedFile]:
        """See `Backend`."""
        _check(thread, step)
        place = await state_at_step(self.graph, thread, step)
        blobs = make_blobs(self.settings)
        cells = place.state.get("cells") or []
        try:
            kept = await read_manifest(blobs, (cells[-1].get("snapshot") or "") if cells else "", count_missing=False)
        except (NotRestoredError, BlobError, ValueError):
            raise NothingFoundError("This step has no snapshot to read files from.") from None
        file = kept.files.get(path)
        if file is None or not is_plain(path) or len(file.chunks) != -(-file.size // CHUNK):
            raise NothingFoundError("There is no such file in this step's snapshot.")
        version = hashlib.sha256(",".join(file.chunks).encode()).hexdigest()[:32]
        yield StoredFile(blobs, file.chunks, file.size, version, piece=CHUNK)

    async def exporter(self, thread: str, step: str = "") -> Exporter:
        """See `Backend`."""
        _check(thread, step)
        return await exporter_at(thread, step or None, self.settings)


def _check(thread: str, step: str = "") -> None:
    if not ID.fullmatch(thread):
        raise ThreadError("There is no such thread.")
    if step and not STEP.fullmatch(step):
        raise ThreadError("There is no such step.")


def _error_of(snapshot: StateSnapshot, status: ThreadStatus) -> str:
    """Why a run stopped, as far as the checkpoint tells."""
    if status != "failed":
        return ""
    said = next((str(task.error) for task in snapshot.tasks if task.error), "")
    return said[:1_000]
