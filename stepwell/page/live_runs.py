"""Runs in this process, for any number of browsers: each is a task that goes on whoever looks at it."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import aclosing, suppress

from graph.events import Event, Failed
from graph.settings import Prices, SettingsError
from sandboxes.base import SandboxError
from stepwell.errors import ThreadError, UsageError
from stepwell.page.progress import Progress
from stepwell.runs import Run
from storage.artifacts import StorageError
from storage.blobs import BlobError

STOPS = (ThreadError, UsageError, SettingsError, SandboxError, StorageError, BlobError, OSError)
"""What ends a run with a sentence."""


KEPT = 50
"""Runs that are over of which something is kept."""


class LiveRun:
    """One run, and what it has done so far.

    Args:
        thread: Its thread.
        question: What was asked, as far as it is known.
        events: What is gone through, from now on.
        prices: What its tokens cost.
        began: Seconds since 1970; None: it begins now.
    """

    def __init__(
        self,
        thread: str,
        question: str,
        events: AsyncIterable[Event],
        *,
        prices: Prices | None = None,
        began: float | None = None,
    ) -> None:
        self.thread = thread
        self.progress = Progress(question=question, prices=prices)
        if began is not None:
            self.progress.began = self.progress.since = began
        self._events = events
        self._moved = asyncio.Event()
        self._begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._conduct(), name=f"run of {thread}")

    @property
    def ended(self) -> bool:
        """Whether it is over."""
        return self._task.done()

    async def begun(self) -> None:
        """Wait until it has begun.

        Raises:
            ThreadError, SettingsError: it cannot begin.
        """
        await asyncio.wait([self._begun, self._task], return_when=asyncio.FIRST_COMPLETED)
        if self._begun.done():
            self._begun.result()

    async def caught_up(self, seconds: float) -> None:
        """Wait until it has told something, at most so long; then a little more, while what it told before comes."""
        if not self.ended and not self._begun.done():
            await asyncio.wait([self._begun, self._task], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.sleep(0)

    async def changes(self) -> AsyncIterator[Progress]:
        """What is known of it, at once and whenever that has changed, until it is over."""
        while not self.ended:
            moved = self._moved
            yield self.progress
            waiting = asyncio.ensure_future(moved.wait())
            await asyncio.wait([waiting, self._task], return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
        yield self.progress

    async def stop(self) -> None:
        """Pause it, and wait for its end."""
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _conduct(self) -> None:
        try:
            async with aclosing(aiter(self._events)) as events:  # type: ignore[type-var]  # an async generator
                async for event in events:
                    self.progress.add(event)
                    self._tell()
        except STOPS as error:
            if self._begun.done():
                self.progress.add(Failed(self.thread, str(error)))
            else:
                self._begun.set_exception(error)
        except Exception as error:
            said = Failed(self.thread, f"Something went wrong inside Stepwell ({type(error).__name__}: {error}).")
            self.progress.add(said)
            raise
        finally:
            self._tell()

    def _tell(self) -> None:
        if not self._begun.done():
            self._begun.set_result(None)
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()


class LiveRuns:
    """The runs of this process, at most one a thread; the last one of a thread is kept after its end.

    Args:
        prices: What tokens cost.
    """

    def __init__(self, prices: Prices | None = None) -> None:
        self._prices = prices
        self._runs: dict[str, LiveRun] = {}

    def of(self, thread: str) -> LiveRun | None:
        """The run of a thread that goes on, or was the last one here."""
        return self._runs.get(thread)

    def going_on(self) -> list[LiveRun]:
        """Those that are not over, newest first."""
        return [run for run in reversed(self._runs.values()) if not run.ended]

    async def begin(self, run: Run) -> None:
        """Begin a run.

        Raises:
            ThreadError: one of its thread goes on, or it cannot begin.
            SettingsError: it cannot begin.
        """
        before = self._runs.pop(run.thread, None)
        if before is not None and not before.ended:
            self._runs[run.thread] = before
            raise ThreadError("This thread is being worked on; wait for the end, or stop it first.")
        live = self._runs[run.thread] = LiveRun(run.thread, run.question, run, prices=self._prices)
        try:
            await live.begun()
        except BaseException:
            if self._runs.get(run.thread) is live:
                del self._runs[run.thread]
            if before is not None:
                self._runs[run.thread] = before
            raise
        over = [thread for thread, one in self._runs.items() if one.ended]
        for thread in over[:-KEPT]:
            del self._runs[thread]

    async def stop(self, thread: str) -> None:
        """Pause the run of a thread, if one goes on."""
        if (run := self._runs.get(thread)) is not None and not run.ended:
            await run.stop()

    def forget(self, thread: str) -> None:
        """Keep nothing of a thread."""
        self._runs.pop(thread, None)

    async def close(self) -> None:
        """Pause all; they can be gone on with."""
        runs = self.going_on()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*(run.stop() for run in runs))
