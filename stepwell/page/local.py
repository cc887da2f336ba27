"""The threads of this machine's data folder, for the page: read, run and kept by this process."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

from graph.checkpoints.thread_lock import is_thread_held
from graph.context import Context
from graph.events import Failed
from graph.settings import NO_ISOLATION_WARNING, Settings
from graph.state import State
from graph.wiring import make_uploads
from stepwell import runs
from stepwell.cleanup import delete
from stepwell.forks import fork_here, fork_thread
from stepwell.model_list import PLAYBOOK, model_sources
from stepwell.page.backend import Offer, Running, ThreadLine, ThreadView, UploadedFile
from stepwell.page.forms import changed_knobs, known_upload, take_upload
from stepwell.page.kept_threads import KeptThreads, check_names
from stepwell.page.live_runs import LiveRun, LiveRuns
from stepwell.page.progress import Progress
from stepwell.runs import Decision
from stepwell.thread_summaries import ALL_THREADS, ThreadFilter
from storage.uploads import Uploads

KINDS = ("local", "docker", "daytona")
USER = "page of this machine"
"""Whose uploads they are."""


class LocalBackend(KeptThreads):
    """See `Backend`; use with `async with`, whose end pauses what runs.

    Args:
        settings: Where threads are kept and what runs them.
    """

    published_stays = True

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.live = LiveRuns(settings.price_list)
        any_type: Uploads = replace(make_uploads(settings), types=frozenset({"*"}))
        self._uploads = any_type

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self._stack.push_async_callback(self.live.close)
        await self._uploads.sweep()
        return self

    async def offer(self) -> Offer:
        """See `Backend`."""
        usable = await asyncio.to_thread(model_sources, self.settings)
        named = [one.name for one in usable if not one.missing]
        missing = await asyncio.to_thread(self._not_set_up)
        return Offer(
            model=self.settings.model or PLAYBOOK,
            models=tuple(dict.fromkeys((self.settings.model or PLAYBOOK, PLAYBOOK, *named))),
            sandboxes=tuple(kind for kind in KINDS if kind not in missing),
            missing=tuple(missing.items()),
            max_upload=self.settings.max_input_bytes,
            warning=NO_ISOLATION_WARNING if self.settings.without_isolation else "",
        )

    def _not_set_up(self) -> dict[str, str]:
        """The kinds of sandboxes that cannot be had, each with what to do; reads the disk."""
        settings, found = self.settings, {}
        command = settings.docker.command[:1]
        if not settings.docker_image and not (command and shutil.which(command[0])):
            found["docker"] = "install Docker or Podman, or name its command in STEPWELL_DOCKER_COMMAND"
        if not settings.daytona.account.known:
            found["daytona"] = "set DAYTONA_API_KEY"
        return found

    async def threads(self, wanted: ThreadFilter, *, limit: int) -> list[ThreadLine]:
        """See `Backend`."""
        saver = self.saver
        labels = await saver.labels()
        found: list[ThreadLine] = []
        heads = await saver.newest_threads(limit=ALL_THREADS if wanted else limit)
        for head in heads:
            summary = (await self.summary(head.thread, head.checkpoint)).with_labels(labels.get(head.thread))
            if wanted and not wanted.matches(summary):
                continue
            found.append(await self.line(summary, wanted, await self._running(summary.id)))
            if len(found) >= limit:
                break
        kept = {head.thread for head in heads}
        begun = [] if wanted else [run for run in self.live.going_on() if run.thread not in kept]
        return [*(self._begun(run) for run in begun), *found]

    def _begun(self, run: LiveRun) -> ThreadLine:
        """A thread of which nothing is kept yet."""
        return ThreadLine(run.thread, run.progress.question, "paused", "here", 1, 0, run.progress.began_at)

    async def _running(self, thread: str) -> Running:
        live = self.live.of(thread)
        if live is not None and not live.ended:
            return "here"
        return "elsewhere" if await asyncio.to_thread(is_thread_held, thread, self.settings.home) else ""

    async def thread(self, thread: str, step: str = "") -> ThreadView:
        """See `Backend`."""
        check_names(thread, step)
        live = self.live.of(thread)
        running = await self._running(thread)
        mark = await self.mark(thread)
        if not mark and live is not None:  # nothing of it is kept yet
            state = State(question=live.progress.question)
            return ThreadView(thread, state, "paused", running, live.progress.began_at, "", progress=live.progress)
        view = await self.view(thread, step, mark)
        if step:
            return view
        labels = await self.labels(thread)
        view = replace(view, name=labels.name, tags=labels.tags)
        return with_run(view, running, live.progress if live is not None else None)

    async def start(self, question: str, files: Sequence[str], knobs: Mapping[str, Any], *, thread: str = "") -> str:
        """See `Backend`."""
        if thread:
            check_names(thread)
        paths = [await asyncio.to_thread(self._path, file) for file in files]
        context = changed_knobs(await self.context(thread) if thread else Context(), knobs)
        run = runs.start(question, files=paths, thread=thread or None, context=context, settings=self.settings)
        await self.live.begin(run)
        return run.thread

    async def resume(self, thread: str, knobs: Mapping[str, Any], decision: Decision | None = None) -> None:
        """See `Backend`."""
        check_names(thread)
        context = changed_knobs(await self.context(thread), knobs)
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
        check_names(thread, step)
        if here:
            return await fork_here(thread, step=step or None, new_turn=new_turn, answered=True, settings=self.settings)
        return await fork_thread(thread, step=step or None, new_turn=new_turn, settings=self.settings)

    async def delete(self, thread: str) -> None:
        """See `Backend`."""
        check_names(thread)
        await delete(thread, settings=self.settings)
        self.live.forget(thread)
        self.forget(thread)

    def upload_place(self) -> tuple[Uploads, str]:
        """See `Backend`."""
        return self._uploads, USER

    async def upload(self, name: str, data: AsyncIterator[bytes], *, size: int | None = None) -> UploadedFile:
        """See `Backend`."""
        return await take_upload(self._uploads, USER, name, data, size)

    async def uploaded(self, file: str) -> UploadedFile:
        """See `Backend`."""
        return await known_upload(self._uploads, USER, file)

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
        return await self.drawn(await self.thread(thread, step), cell, path)


def with_run(view: ThreadView, running: Running, progress: Progress | None) -> ThreadView:
    """A thread with what is known of its run that goes on, or was the last one."""
    error = view.error
    if view.status == "failed" and progress is not None and isinstance(progress.ending, Failed):
        error = progress.ending.error
    if running == "here":
        return replace(view, running=running, progress=progress, error=error)
    told = tuple(progress.notices) if progress is not None else ()
    return replace(view, running=running, error=error, notices=told)
