"""Checkpoints that wait for a snapshot while the next node works already.

A step is safe in this order: its blobs, its snapshot, its checkpoint. So that the model need not wait for the first
two, `execute` returns when its cell has ended and leaves the keeping to a task. Everything of the thread that is to be
stored from then on is stored after that task, in its order: what `execute` wrote and its checkpoint, which name the
snapshot, and whatever follows. Nothing is ever stored that names a snapshot which is not on disk; who is killed
meanwhile finds what they would have found if the snapshot had taken that long: a cell that was started and not
finished.

The node that works meanwhile waits for all of it before it ends, and so does whoever reads the thread's checkpoints in
this process, whoever gives its lock to others, and whoever closes the saver.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from langchain_core.runnables import RunnableConfig

from graph.checkpoints.damage import thread_id_in
from graph.checkpoints.journal import DURABILITY, SAVER
from sandboxes.host.tasks import uncancellable

LEAVING_SECONDS = 10.0
"""How long who is cancelled waits for a snapshot; then the cell counts as one that was not finished."""

BEGIN_SECONDS = 0.01
"""How long after a cell a snapshot is begun, if nobody waits for it: the model is asked first, with both processors."""

Keep = Coroutine[Any, Any, list[str]]
"""Takes a snapshot, puts its name where it belongs, and gives what the model must be told."""


class _Hold:
    """What of one thread waits, one after the other."""

    def __init__(self, keep: Keep) -> None:
        self._wanted = asyncio.Event()
        self._keeping: asyncio.Future[list[str]] = asyncio.ensure_future(self._keep(keep))
        self._keeping.add_done_callback(lambda _: keep.close())  # given up before it began
        self._last: asyncio.Future[Any] = self._keeping
        self._abandoned = False

    async def _keep(self, keep: Keep) -> list[str]:
        starting = asyncio.get_running_loop().call_later(BEGIN_SECONDS, self._wanted.set)
        try:
            await self._wanted.wait()
        finally:
            starting.cancel()
        return await keep

    def add(self, put: Callable[[], Awaitable[Any]]) -> None:
        """Have something stored once all before it is."""
        before = self._last

        async def then() -> None:
            await asyncio.shield(before)
            if self._abandoned:
                raise asyncio.CancelledError
            await put()

        self._last = asyncio.ensure_future(then())

    async def wait(self) -> None:
        """Wait until nothing of it waits any more, whatever comes of it."""
        self._wanted.set()
        last: asyncio.Future[Any] | None = None
        while last is not self._last:  # more may be added meanwhile
            last = self._last
            await asyncio.wait([last])
        self._last.cancelled() or self._last.exception()  # it is told to whoever settles it

    async def settle(self, ended: Callable[[], None]) -> list[str]:
        """Wait until all is stored, and say so before anything else can come."""
        await self.wait()
        ended()
        await self._last
        return self._keeping.result()

    async def give_up(self, seconds: float) -> None:
        """Give the snapshot up unless it is there within so many seconds; then nothing of the rest is stored."""
        self._wanted.set()
        await asyncio.wait([self._keeping], timeout=seconds)
        self._keeping.cancel()

    def abandon(self) -> None:
        """Give it up at once, with what waits for it; only what is being stored already is."""
        self._abandoned = True
        self._keeping.cancel()


class Holds:
    """What waits, of all threads that one saver stores."""

    def __init__(self) -> None:
        self._threads: dict[str, _Hold] = {}

    def begin(self, thread: str, keep: Keep) -> None:
        """Have everything of a thread that is stored from now on stored after its snapshot."""
        self._threads[thread] = _Hold(keep)

    def defers(self, config: RunnableConfig, put: Callable[[], Awaitable[Any]]) -> bool:
        """Whether something waits: then it is stored later."""
        hold = self._threads.get(thread_id_in(config))
        if hold is None:
            return False
        hold.add(put)
        return True

    async def settle(self, thread: str, *, leaving: bool = False) -> list[str]:
        """Wait until all of a thread is stored.

        Args:
            thread: The thread.
            leaving: Whether whoever waits is on their way out: then a snapshot that takes long is given up.

        Returns:
            What the model must be told.

        Raises:
            CancelledError: the snapshot was given up; nothing was stored, as if the cell had not finished.
            Exception: what the storage met.
        """
        hold = self._threads.get(thread)
        if hold is None:
            return []
        settling = asyncio.ensure_future(hold.settle(lambda: self._forget(thread, hold)))
        try:
            if not leaving:
                return await asyncio.shield(settling)
        except asyncio.CancelledError:
            if settling.done():  # it was given up
                raise
            await asyncio.gather(uncancellable(self._leave(hold, settling)), return_exceptions=True)
            raise
        await uncancellable(self._leave(hold, settling))
        return settling.result()

    async def wait(self, thread: str) -> None:
        """Wait until nothing of a thread waits any more, whatever comes of it: for who reads its checkpoints.

        What came of it stays for whoever settles it: a run whose step could not be stored must not go on because
        somebody has looked at its thread.
        """
        if (hold := self._threads.get(thread)) is not None:
            await hold.wait()

    def abandon(self, thread: str) -> None:
        """Store nothing more of what waits: somebody else may have the thread by now, and go on with it."""
        if (hold := self._threads.get(thread)) is not None:
            hold.abandon()

    def _forget(self, thread: str, hold: _Hold) -> None:
        if self._threads.get(thread) is hold:
            del self._threads[thread]

    async def _leave(self, hold: _Hold, settling: asyncio.Future[list[str]]) -> None:
        await hold.give_up(LEAVING_SECONDS)
        await asyncio.wait([settling])

    async def leave(self, thread: str = "") -> None:
        """Wait for a thread, or for all, on the way out: what takes long is given up, and what fails is passed over."""
        threads = [thread] if thread else list(self._threads)
        await asyncio.gather(*(self.settle(one, leaving=True) for one in threads), return_exceptions=True)


def holds_of(config: RunnableConfig | None) -> Holds | None:
    """Where the checkpoints of this run can wait; None: nowhere, or it keeps none on the way."""
    known = (config or {}).get("configurable") or {}
    if known.get(DURABILITY) == "exit":
        return None
    found = getattr(known.get(SAVER), "holds", None)  # LangGraph's servers wrap a saver, and pass this on
    return found if isinstance(found, Holds) else None
