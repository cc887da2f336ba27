"""The page's backend on a server: threads of the sender of a request, read from our checkpoints, run by LangGraph."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

from starlette.requests import Request

from graph.checkpoints.step_tree import StepTree
from graph.context import Context
from graph.events import Event
from graph.settings import Settings, server_keeps_our_checkpoints
from graph.state import State
from graph.users.policy import Policy
from server.page_access import SERVER
from server.platform import NOT_FOUND, Platform, credentials_in
from server.platform_runs import PlatformRun, PlatformRuns
from server.routing import sender
from stepwell.comparison import Difference
from stepwell.errors import RefusedError, ThreadError
from stepwell.exports.export import Exporter
from stepwell.forks import fork_here, fork_thread
from stepwell.labels import checked_labels
from stepwell.model_list import PLAYBOOK, model_sources
from stepwell.page.backend import NothingFoundError, Offer, ThreadLine, ThreadView, UploadedFile
from stepwell.page.forms import changed_knobs, known_upload, take_upload
from stepwell.page.kept_threads import KeptThreads, check_names
from stepwell.page.live_runs import LiveRun
from stepwell.page.local import with_run
from stepwell.page.progress import Progress
from stepwell.page.step_sessions import StepSessions, TriedCode
from stepwell.page.variables import VariablePage, VariableWindow
from stepwell.runs import Decision, resume_value
from stepwell.step_detail import StepDetail
from stepwell.thread_summaries import ThreadFilter
from storage.artifacts import StorageError
from storage.published_files import PublishedFile
from storage.uploads import Uploads

VIEWS = 64
FOLLOWED = 200
"""Runs of which something is kept."""
USERS_WITH_SESSIONS, SESSIONS = 4, 2
"""How many users have sessions at steps at a time, and how many each; further ones take the place of older ones."""
LISTED = 200
"""Threads that are asked for at a time when a search goes through all."""
LOOKS = (0.1, 0.2, 0.4, 0.8, 1.6)
"""Seconds between two looks whether a run is over whose stream has ended."""
CATCHING_UP = 0.3
"""Seconds that a page waits for what a run has told before."""


class ServedThreads:
    """What the requests of all users share; `close` ends it.

    Args:
        settings: Where threads are kept.
        policy: What users may ask for; None: whatever they like.
        uploads: Where their files are.
    """

    def __init__(self, settings: Settings, policy: Policy | None, uploads: Uploads) -> None:
        self.settings = settings
        self.policy = policy
        self.uploads = uploads
        self._runs: dict[str, tuple[str, LiveRun]] = {}
        self._sessions: dict[str, StepSessions] = {}
        self._kept: KeptThreads | None = None
        self._opening = asyncio.Lock()
        self._stack = AsyncExitStack()

    async def kept(self) -> KeptThreads:
        """The threads that our checkpoints keep, opened when they are wanted first.

        Raises:
            ThreadError: the server keeps its checkpoints elsewhere.
        """
        if not server_keeps_our_checkpoints(self.settings):
            raise ThreadError("This server keeps its checkpoints by itself, where the page cannot read them.")
        async with self._opening:
            if self._kept is None:
                self._kept = await self._stack.enter_async_context(KeptThreads(self.settings, views=VIEWS))
        return self._kept

    async def sessions(self, user: str) -> StepSessions:
        """A user's sessions at steps."""
        found = self._sessions.pop(user, None) or StepSessions((await self.kept()).session, most=SESSIONS)
        self._sessions[user] = found
        while len(self._sessions) > USERS_WITH_SESSIONS:
            await self._sessions.pop(next(iter(self._sessions))).close()
        return found

    def open_sessions(self, user: str) -> StepSessions | None:
        """The same where they have any; looking takes nobody else's away."""
        return self._sessions.get(user)

    def live(self, thread: str) -> LiveRun | None:
        """The run of a thread that is followed, or was the last one."""
        found = self._runs.get(thread)
        return found[1] if found is not None else None

    def follow(self, runs: PlatformRuns, thread: str, run: PlatformRun, question: str = "") -> LiveRun:
        """Follow a run to its end, whoever looks at it."""
        before = self._runs.get(thread)
        if before is not None and before[0] == run.id:
            return before[1]
        events = _followed(runs, thread, run)
        live = LiveRun(thread, question, events, prices=self.settings.price_list, began=run.created.timestamp())
        self._runs.pop(thread, None)
        self._runs[thread] = run.id, live
        over = [name for name, (_, one) in self._runs.items() if one.ended]
        for name in over[: max(0, len(self._runs) - FOLLOWED)]:
            del self._runs[name]
        return live

    def forget(self, thread: str) -> None:
        """Keep nothing of a thread."""
        self._runs.pop(thread, None)
        if self._kept is not None:
            self._kept.forget(thread)

    async def close(self) -> None:
        """End the sessions, and follow no run any more; the runs go on."""
        await asyncio.gather(*(live.stop() for _, live in self._runs.values() if not live.ended))
        for sessions in self._sessions.values():
            await sessions.close()
        await self._stack.aclose()


async def _followed(runs: PlatformRuns, thread: str, run: PlatformRun) -> AsyncIterator[Event]:
    """The events of a run; ends when it is over, and not with its stream, which may break off before."""
    async for event in runs.events(thread, run.id):
        yield event
    look = 0
    while True:
        try:
            newest = await runs.newest_run(thread)
        except ThreadError:
            if look > len(LOOKS):  # it was deleted, or its user's key is taken no more
                return
        else:
            if newest is None or newest.id != run.id or not newest.goes_on:
                return
        await asyncio.sleep(LOOKS[min(look, len(LOOKS) - 1)])
        look += 1


class ServerBackend:
    """See `Backend`; for one request.

    Args:
        request: To the page; the guard has found out who sends it.
        served: What the requests of all users share.
    """

    published_stays = False

    def __init__(self, request: Request, served: ServedThreads) -> None:
        self._user = sender(request)
        self._served = served
        scope = {**request.scope, "app": request.scope[SERVER]}
        self._platform = Platform(Request(scope))
        self._runs = PlatformRuns(scope["app"], credentials_in(dict(scope["headers"])))

    async def _require(self, thread: str, step: str = "") -> KeptThreads:
        """See that a thread is the sender's."""
        check_names(thread, step)
        try:
            await self._platform.require_thread(thread)
        except RefusedError as refusal:
            if refusal.status == NOT_FOUND:
                raise NothingFoundError(str(refusal)) from None
            raise StorageError(str(refusal)) from None
        return await self._served.kept()

    async def offer(self) -> Offer:
        """See `Backend`."""
        settings, policy = self._served.settings, self._served.policy
        default = settings.model.strip() or PLAYBOOK
        if policy is not None:
            allowance = policy.of(self._user.id)
            models = [name for name in allowance.limits.models if not set(name) & set("*?[")]
            kinds = allowance.kinds
        else:
            usable = await asyncio.to_thread(model_sources, settings)
            models, kinds = [one.name for one in usable if not one.missing], settings.kinds
        every = tuple(dict.fromkeys((default, PLAYBOOK, *models)))
        uploads = self._served.uploads
        endings = () if "*" in uploads.types else tuple(sorted(uploads.types))
        return Offer(default, every, kinds, uploads.max_bytes, endings)

    async def threads(self, wanted: ThreadFilter, *, limit: int) -> list[ThreadLine]:
        """See `Backend`."""
        kept = await self._served.kept()
        labels = await kept.saver.labels()
        found: list[ThreadLine] = []
        offset = 0
        while len(found) < limit:
            size = LISTED if wanted else limit
            listed = await self._runs.threads(size, offset)
            for one in listed:
                live = self._served.live(one.id)
                running = one.busy
                if not await kept.mark(one.id):
                    if running and not wanted:
                        question = live.progress.question if live is not None else ""
                        found.append(ThreadLine(one.id, question, "paused", "here", 1, 0, one.updated))
                    continue
                summary = (await kept.summary(one.id)).with_labels(labels.get(one.id))
                if not wanted or wanted.matches(summary):
                    found.append(await kept.line(summary, wanted, "here" if running else ""))
            if len(listed) < size:
                break
            offset += size
        return found[:limit]

    async def thread(self, thread: str, step: str = "") -> ThreadView:
        """See `Backend`."""
        kept = await self._require(thread, step)
        run = await self._runs.newest_run(thread) if not step else None
        live = self._served.live(thread)
        if run is not None and run.goes_on:
            live = self._served.follow(self._runs, thread, run)
            await live.caught_up(CATCHING_UP)
        going_on = run is not None and run.goes_on and live is not None
        mark = await kept.mark(thread)
        if not mark:
            if live is None:
                raise NothingFoundError("There is nothing in this thread yet.")
            state, began = State(question=live.progress.question), live.progress.began_at
            view = ThreadView(thread, state, "paused", "", began, "")
            return replace(view, running="here", progress=live.progress) if going_on else view
        view = await kept.view(thread, step, mark)
        if step:
            return view
        labels = await kept.labels(thread)
        view = replace(view, name=labels.name, tags=labels.tags)
        return with_run(view, "here" if going_on else "", live.progress if live is not None else None)

    async def steps(self, thread: str) -> StepTree:
        """See `Backend`."""
        return await (await self._require(thread)).steps(thread)

    async def step(self, thread: str, step: str) -> StepDetail:
        """See `Backend`."""
        return await (await self._require(thread, step)).step(thread, step)

    async def variable(self, thread: str, step: str, name: str, window: VariableWindow) -> VariablePage:
        """See `Backend`."""
        kept = await self._require(thread, step)
        return await kept.read_variable(await self._served.sessions(self._user.id), thread, step, name, window)

    async def try_out(self, thread: str, step: str, code: str) -> None:
        """See `Backend`."""
        await self._require(thread, step)
        await (await self._served.sessions(self._user.id)).try_out(f"{thread}@{step}", code)

    async def tried(self, thread: str, step: str) -> tuple[TriedCode, ...]:
        """See `Backend`."""
        await self._require(thread, step)
        sessions = self._served.open_sessions(self._user.id)
        return sessions.tried(f"{thread}@{step}") if sessions is not None else ()

    async def stop_trying(self, thread: str, step: str) -> None:
        """See `Backend`."""
        await self._require(thread, step)
        if (sessions := self._served.open_sessions(self._user.id)) is not None:
            await sessions.stop(f"{thread}@{step}")

    async def compare(self, one: tuple[str, str], other: tuple[str, str]) -> Difference:
        """See `Backend`."""
        await self._require(*one)
        return await (await self._require(*other)).compare(one, other)

    async def start(self, question: str, files: Sequence[str], knobs: Mapping[str, Any], *, thread: str = "") -> str:
        """See `Backend`."""
        if not question.strip():
            raise ThreadError("The question is empty.")
        context = Context()
        if thread:
            kept = await self._require(thread)
            await kept.require_answered(thread)
            context = await kept.context(thread)
        context = changed_knobs(context, knobs) or context
        for file in files:
            await self.uploaded(file)
        if (policy := self._served.policy) is not None:
            policy.of(self._user.id).knobs(context.model_dump(exclude_unset=True))
        there = thread or await self._runs.make_thread()
        asked = {"input": {"messages": [{"role": "user", "content": question}], "files": list(files)}}
        try:
            await self._begin(there, asked, context, question)
        except BaseException:
            if not thread:
                await asyncio.shield(self._runs.delete(there))
            raise
        return there

    async def resume(self, thread: str, knobs: Mapping[str, Any], decision: Decision | None = None) -> None:
        """See `Backend`."""
        kept = await self._require(thread)
        before = await kept.context(thread)
        context = changed_knobs(before, knobs) or before
        value = await kept.waits_for(thread)
        if value is None and decision is not None:
            raise ThreadError("Nothing in this thread waits for a decision any more.")
        if value is not None:
            if decision is None:
                return  # it waits still
            asked: dict[str, Any] = {"command": {"resume": resume_value(decision, value, thread)}}
        else:
            asked = {"input": None}
        await self._begin(thread, asked, context, "")

    async def _begin(self, thread: str, asked: Mapping[str, Any], context: Context, question: str) -> None:
        knobs = context.model_dump(exclude_unset=True, mode="json")
        run = await self._runs.begin(thread, asked, knobs, context.model_dump_json())
        self._served.follow(self._runs, thread, run, question)

    async def stop(self, thread: str) -> None:
        """See `Backend`."""
        await self._require(thread)
        run = await self._runs.newest_run(thread)
        if run is not None and run.goes_on:
            await self._runs.cancel(thread, run.id)

    async def changes(self, thread: str) -> AsyncIterator[Progress]:
        """See `Backend`."""
        await self._require(thread)
        run = await self._runs.newest_run(thread)
        if run is not None and run.goes_on:
            async for progress in self._served.follow(self._runs, thread, run).changes():
                yield progress

    async def fork(self, thread: str, step: str, *, here: bool, new_turn: bool) -> str:
        """See `Backend`."""
        await self._require(thread, step)
        settings = self._served.settings
        if here:
            return await fork_here(thread, step=step or None, new_turn=new_turn, answered=True, settings=settings)
        new = await self._runs.make_thread()
        try:
            return await fork_thread(thread, step=step or None, new_turn=new_turn, into=new, settings=settings)
        except BaseException:
            await asyncio.shield(self._runs.delete(new))
            raise

    async def label(self, thread: str, name: str, tags: Sequence[str]) -> None:
        """See `Backend`; two users may call theirs the same."""
        kept = await self._require(thread)
        labels = checked_labels(name, tags)
        await kept.saver.change_labels(thread, lambda all: labels)

    async def delete(self, thread: str) -> None:
        """See `Backend`."""
        await self._require(thread)
        await self._runs.delete(thread)
        self._served.forget(thread)

    def upload_place(self) -> tuple[Uploads, str]:
        """See `Backend`."""
        return self._served.uploads, self._user.id

    async def upload(self, name: str, data: AsyncIterator[bytes], *, size: int | None = None) -> UploadedFile:
        """See `Backend`."""
        return await take_upload(self._served.uploads, self._user.id, name, data, size)

    async def uploaded(self, file: str) -> UploadedFile:
        """See `Backend`."""
        return await known_upload(self._served.uploads, self._user.id, file)

    async def figure(self, thread: str, cell: int, path: str, *, step: str = "") -> bytes:
        """See `Backend`."""
        return await (await self._served.kept()).drawn(await self.thread(thread, step), cell, path)

    @asynccontextmanager
    async def artifact(self, thread: str, name: str) -> AsyncIterator[PublishedFile]:
        """See `Backend`."""
        async with (await self._require(thread)).artifact(thread, name) as file:
            yield file

    @asynccontextmanager
    async def step_file(self, thread: str, step: str, path: str) -> AsyncIterator[PublishedFile]:
        """See `Backend`."""
        async with (await self._require(thread, step)).step_file(thread, step, path) as file:
            yield file

    @asynccontextmanager
    async def input_file(self, thread: str, path: str, *, beginning: int = 0) -> AsyncIterator[PublishedFile]:
        """See `Backend`."""
        kept, sessions = await self._require(thread), await self._served.sessions(self._user.id)
        async with kept.input_from(sessions, thread, path, beginning=beginning) as file:
            yield file

    async def exporter(self, thread: str, step: str = "") -> Exporter:
        """See `Backend`."""
        return await (await self._require(thread, step)).exporter(thread, step)
