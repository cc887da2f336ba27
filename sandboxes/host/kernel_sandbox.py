"""A sandbox whose session is a kernel: cells, snapshots, sleep and reset are the same wherever the kernel runs.

A kind of sandbox adds how a session is started, how what the sandbox holds is given up, and its files.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar

from sandboxes.base import SandboxLostError, SandboxUnavailableError, SnapshotMissingError
from sandboxes.functions import Functions
from sandboxes.host import replies
from sandboxes.host.running_cell import CellRequest, KernelRequest
from sandboxes.host.session_pool import Evictable, Lease, SessionPool, SessionSnapshot
from sandboxes.host.tasks import uncancellable
from sandboxes.rebuilding import BrokenOff, PastCell, RebuildOrder, RebuildPlan
from sandboxes.results import CellResult, Reached, RestoredSession, SnapshotTaken, Streamed

SNAPSHOT_SECONDS = 600.0
"""How long taking or restoring a snapshot may take before it is interrupted."""
LEAST_SECONDS, BYTES_EACH_SECOND = 60.0, 20_000_000
"""What taking one has at least, and for how many bytes that it may write it has a second more."""
PLAN_SECONDS = 60.0
"""How long looking for the cells that lost variables need may take."""


class KernelSession(Protocol):
    """A running kernel, as the host sees it. It cannot be used once `alive` is false."""

    @property
    def alive(self) -> bool:
        """Whether it can run cells."""

    async def run(self, request: CellRequest) -> CellResult:
        """Run one cell; see `Sandbox.run`. A cancelled cell is interrupted, and killed if that does not end it.

        Raises:
            SandboxLostError: the kernel had ended before, or nobody knows how the cell ended.
            SandboxUnavailableError: it cannot be reached; the cell was not run.
        """

    async def ask(self, request: KernelRequest) -> dict[str, Any]:
        """Send a request that is not a cell, as for a snapshot, and return the content of the answer.

        Raises:
            SandboxLostError: the kernel ended, or had to be ended because it did not answer.
            SandboxUnavailableError: it cannot be reached.
        """

    def when_gone(self, call: Callable[[], None]) -> None:
        """Call `call` once, when the session has ended, at the latest when it is closed."""

    async def kill(self) -> None:
        """End what it does now, without waiting until it has ended."""

    async def close(self) -> None:
        """End it. Closing twice is allowed."""


Session = TypeVar("Session", bound=KernelSession)


@dataclass(slots=True)
class _Ahead:
    """A session that was restored before anybody asked."""

    snapshot: str
    restored: RestoredSession | None = None
    """What came back; None: it is being restored."""


class KernelSandbox(ABC, Generic[Session]):
    """What all sandboxes with a kernel share of the port.

    A subclass writes the abstract members below, and those of the port that are about files: `open` where there is one,
    `run_program`, `put`, `files`, `fetch`, `take_blobs`, `drop_blobs` (which calls `_mark_stored`), `supply_blobs` and
    `supplied_blobs`. It uses `self._lease.in_use()` while it works beside the session.

    Args:
        id: Its name.
        grace: Seconds that an interrupted cell has to end before it is killed.
        pool: Where its session takes a place; default: there is always one.
    """

    def __init__(self, id: str, *, grace: float, pool: SessionPool | None) -> None:
        self._id = id
        self._grace = grace
        self._lease = Lease(pool or SessionPool(capacity=1), self)
        self._session: Session | None = None
        self._snapshot = SessionSnapshot()
        self._slept = ""
        """The head at which it was put to sleep, until it is woken."""
        self._ahead: _Ahead | None = None
        self._untold = False
        """Whether a session has ended beside cells, and no cell was told: an empty one must not take its place then."""
        self._closed = False

    @property
    @abstractmethod
    def kind(self) -> str:
        """Which kind of sandbox this is."""

    @property
    @abstractmethod
    def isolation(self) -> str:
        """What keeps code in it away from this machine, in one sentence."""

    @abstractmethod
    async def reached(self) -> Reached:
        """The note on the last cell that began; see `Sandbox.reached`. It is also read after a cell that was killed.

        Raises:
            SandboxUnavailableError: it cannot be read.
        """

    @abstractmethod
    async def _start_session(self) -> Session:
        """Start a session, or prepare one that starts with its first request; start the sandbox if it does not run.

        There is no other session, and a place for it is taken.

        Raises:
            SandboxUnavailableError: it cannot be started.
        """

    @abstractmethod
    async def _put_away(self, stored: bool) -> None:
        """Give up what only a session needs: stop the sandbox, remove what the store has.

        It is called with no session there, before the sandbox sleeps and when it is closed. What another process has
        begun to use meanwhile has to be left alone.

        Args:
            stored: Whether the store had all that was in the session; false when there was none.

        Raises:
            SandboxUnavailableError: that cannot be done now.
        """

    @abstractmethod
    async def _empty_workspace(self) -> None:
        """Leave nothing in the workspace but the inputs. The session has ended.

        Raises:
            SandboxUnavailableError: it cannot be emptied.
        """

    @abstractmethod
    async def _remove_supplied(self) -> None:
        """Remove all blobs that were supplied: one of them is damaged, and which is not known here."""

    @property
    def id(self) -> str:
        """Its name."""
        return self._id

    @property
    def head(self) -> str:
        """The snapshot that it is at; empty without a living session."""
        return self._snapshot.id if self._session is not None and self._session.alive else ""

    @property
    def evictable(self) -> Evictable:
        """Whether it may be put to sleep: when its head is a snapshot that the store has, or nobody asked for it."""
        if self._ahead is not None:
            return "when idle"
        return self._snapshot.evictable if self.head else "never"

    async def run(
        self,
        code: str,
        *,
        number: int,
        timeout: float,
        head: str = "",
        on_output: Callable[[Streamed], None] | None = None,
        functions: Functions | None = None,
        values: Sequence[tuple[str, str]] = (),
    ) -> CellResult:
        """Run one cell; see `Sandbox.run`.

        Raises:
            SandboxLostError: it is closed, or its session ended between two cells, or nobody knows how the cell ended.
            SandboxUnavailableError: a session cannot be started or reached.
        """
        async with self._lease:
            session = await self._ready(for_cell=True)
            before, self._snapshot = self._snapshot, SessionSnapshot()
            try:
                request = CellRequest(
                    code=code,
                    number=number,
                    timeout=timeout,
                    grace=self._grace,
                    head=head,
                    on_output=on_output,
                    functions=functions,
                    values=values,
                )
                result = await session.run(request)
                if result.variables_kept:
                    self._snapshot = SessionSnapshot(head)
                    return result
                if result.recovered == "copy":
                    self._snapshot = before
                noted = (await self.reached()).what
                return replace(result, reached=tuple(dict.fromkeys((*result.reached, *noted))))
            finally:
                if not session.alive:
                    await self._drop()

    async def _ready(self, *, for_cell: bool = False) -> Session:
        """The living session, started if there is none yet."""
        self._refuse_when_closed()
        if self._ahead is not None and self._ahead.restored is not None:  # it was not asked for
            await self._drop()
        if self._session is not None and not self._session.alive:
            await self._drop()
            self._untold = True
        if self._untold:
            self._untold = not for_cell
            raise SandboxLostError(
                f"The session of sandbox {self._id} ended between two cells; its variables are lost."
            )
        if self._slept:
            self._slept = ""
            raise SandboxLostError(f"The session of sandbox {self._id} was put to sleep; restore its snapshot.")
        if self._session is None:
            await self._lease.acquire()
            session = await self._start_session()
            if self._closed:
                await session.close()
            self._refuse_when_closed()
            self._session = session
            self._lease.session_started()
            session.when_gone(self._lease.session_ended)
        return self._session

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise SandboxLostError(f"The sandbox {self._id} is closed.")

    async def _ask(
        self,
        kind: str,
        content: dict[str, Any],
        *,
        answer: str = "",
        body: dict[str, Any] | None = None,
        seconds: float = SNAPSHOT_SECONDS,
    ) -> dict[str, Any]:
        """Send the kernel a request that is not a cell; a session is started if there is none."""
        session = await self._ready()
        try:
            request = KernelRequest(
                kind=kind, content=content, answer=answer or kind, timeout=seconds, grace=self._grace, body=body
            )
            return await session.ask(request)
        finally:
            if not session.alive:
                await self._drop()
                self._untold = True

    async def _break_off(self) -> None:
        """End what the session does, or waits for."""
        self._lease.stop_waiting()
        if self._session is not None:
            await self._session.kill()

    async def _drop(self) -> None:
        """End the session; there is no head then."""
        session, self._session = self._session, None
        self._ahead = None
        self._snapshot, self._slept, self._untold = SessionSnapshot(), "", False
        if session is not None:
            await session.close()

    async def snapshot(self, *, limit_bytes: int) -> SnapshotTaken:
        """Keep the variables and the files; see `Sandbox.snapshot`.

        Raises:
            SandboxLostError: its session is gone.
            SandboxUnavailableError: a session cannot be started or reached.
        """
        async with self._lease:
            seconds = min(LEAST_SECONDS + limit_bytes / BYTES_EACH_SECOND, SNAPSHOT_SECONDS)
            taken = replies.snapshot(await self._ask("snapshot", {"limit_bytes": limit_bytes}, seconds=seconds))
            if taken.id:
                self._snapshot = SessionSnapshot(taken.id, complete=not taken.lost)
            return taken

    async def restore(self, id: str) -> RestoredSession:
        """Start a new session with a snapshot; see `Sandbox.restore`. A cell that is running is killed.

        Raises:
            SandboxLostError: the new session ended while it restored.
            SandboxUnavailableError: a session cannot be started, or the workspace cannot be written.
            SnapshotMissingError: a blob is missing or damaged.
        """
        if self._ahead is None or self._ahead.snapshot != id:
            await self._break_off()
        async with self._lease:
            ahead, woken = self._ahead, bool(id) and self._slept == id
            if ahead is not None and ahead.snapshot == id and self._session is not None and self._session.alive:
                self._ahead, restored = None, ahead.restored or RestoredSession()
            else:
                await self._drop()
                restored = await self._restored(id)
            self._snapshot = SessionSnapshot(id, stored=True, complete=not restored.lost)
            return replace(restored, woken=woken)

    async def _restored(self, id: str) -> RestoredSession:
        """Restore a snapshot in a new session; where that cannot be, there is none."""
        reply = await self._ask("restore", {"snapshot": id}, answer="restored")
        problem, failed = replies.problems(reply)
        if problem or failed:
            await self._drop()
        if problem:
            await self._remove_supplied()
            raise SnapshotMissingError(f"The snapshot {id[:12]} cannot be restored: {problem}.")
        if failed:
            raise SandboxUnavailableError(failed)
        return replies.restored(reply)

    async def restore_ahead(self, id: str) -> None:
        """Restore a snapshot before anybody asks, if there is no session; `restore` of the same one then has it.

        Until then the sandbox has no head, and whatever else is asked of it ends that session.

        Raises:
            SandboxLostError: the new session ended while it restored.
            SandboxUnavailableError: a session cannot be started, or the workspace cannot be written.
            SnapshotMissingError: a blob is missing or damaged.
        """
        async with self._lease:
            if self._session is not None or self._closed or self._untold:
                return
            ahead = self._ahead = _Ahead(id)
            try:
                ahead.restored = await self._restored(id)
            except BaseException:
                await self._drop()
                raise
        self._lease.mark_idle()

    async def plan_rebuild(self, cells: Sequence[PastCell], names: Sequence[str], *, limit: float) -> RebuildPlan:
        """Say which cells have to run for lost variables; see `Sandbox.plan_rebuild`.

        Raises:
            SandboxLostError: its session is gone.
            SandboxUnavailableError: a session cannot be started or reached.
        """
        body = {"cells": [cell.as_json() for cell in cells], "names": list(names), "limit": limit}
        async with self._lease:
            return replies.rebuild_plan(await self._ask("plan_rebuild", {}, body=body, seconds=PLAN_SECONDS))

    async def rebuild(self, order: RebuildOrder) -> RestoredSession | BrokenOff:
        """Make lost variables again in a new session; see `Sandbox.rebuild`. A cell that is running is killed.

        Raises:
            SandboxLostError: the new session ended while it worked.
            SandboxUnavailableError: a session cannot be started.
        """
        await self._break_off()
        async with self._lease:
            await self._drop()
            seconds = order.seconds + SNAPSHOT_SECONDS
            reply = await self._ask("rebuild", {}, body=order.as_json(), seconds=seconds)
            if broken_off := replies.broken_off(reply):
                await self._drop()
                return broken_off
            # What was made again is in the session only.
            self._snapshot = SessionSnapshot(order.snapshot, stored=True, complete=False)
            return replies.restored(reply)

    def _mark_stored(self, names: Sequence[str]) -> None:
        """The store has these blobs; with the manifest of the head among them, it has the head."""
        if self._snapshot.id in names:
            self._snapshot = replace(self._snapshot, stored=True)
            self._lease.mark_idle()

    async def sleep(self) -> None:
        """End its session unless that would lose something; `restore` wakes it."""
        async with self._lease:
            if self.evictable != "never":
                await uncancellable(self._stop(slept=self._snapshot.id))

    async def reset(self) -> None:
        """Start again with only the inputs; a cell that is running is killed.

        Raises:
            SandboxUnavailableError: the workspace cannot be emptied.
        """
        await self._break_off()
        async with self._lease:
            await self._drop()
            await self._empty_workspace()

    async def close(self) -> None:
        """End the session, a running cell too. The workspace's files stay where they are."""
        self._closed = True
        await self._break_off()
        async with self._lease:
            await self._stop()

    async def _stop(self, slept: str = "") -> None:
        stored = self.evictable != "never"
        await self._drop()
        self._slept = slept
        await self._put_away(stored)
