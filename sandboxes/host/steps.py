"""Steps of a sandbox whose session is a kernel: snapshots are taken, restored and made again alike wherever it runs."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sandboxes.base import SandboxUnavailableError, SnapshotMissingError
from sandboxes.host import replies
from sandboxes.host.living import Rest, Standing, Stay
from sandboxes.rebuilding import BrokenOff, PastCell, RebuildOrder, RebuildPlan
from sandboxes.results import RestoredSession, SnapshotTaken

SNAPSHOT_SECONDS = 600.0
"""How long taking or restoring a snapshot may take before it is interrupted."""
LEAST_SECONDS, BYTES_EACH_SECOND = 60.0, 20_000_000
"""What taking one has at least, and for how many bytes that it may write it has a second more."""
PLAN_SECONDS = 60.0
"""How long looking for the cells that lost variables need may take."""


class Steps(ABC):
    """The part of the port that is about snapshots. Whoever has the session says how it is asked, and how it ends."""

    _turn: Stay
    _at: Standing
    _slept: str
    """The head at which it was put to sleep, until it is woken."""

    @property
    @abstractmethod
    def head(self) -> str:
        """The snapshot that it is at; empty without a living session."""

    @property
    def rest(self) -> Rest:
        """Whether it may be put to sleep: when its head is a snapshot that the store has."""
        return self._at.rest if self.head else "never"

    @abstractmethod
    async def _ask(
        self,
        kind: str,
        content: dict[str, Any],
        *,
        answer: str = "",
        body: dict[str, Any] | None = None,
        seconds: float = SNAPSHOT_SECONDS,
    ) -> dict[str, Any]:
        """Have the kernel do something of its own; a session is started if there is none."""

    @abstractmethod
    async def _break_off(self) -> None:
        """End what the session does, or waits for."""

    @abstractmethod
    async def _drop(self) -> None:
        """End the session; there is no head then."""

    @abstractmethod
    async def _forget_blobs(self) -> None:
        """Remove what was supplied: one of them is damaged, and which is not known here."""

    async def snapshot(self, *, limit_bytes: int) -> SnapshotTaken:
        """Keep the variables and the files; see `Sandbox.snapshot`.

        Raises:
            SandboxLostError: its session is gone.
            SandboxUnavailableError: a session cannot be started or reached.
        """
        async with self._turn:
            seconds = min(LEAST_SECONDS + limit_bytes / BYTES_EACH_SECOND, SNAPSHOT_SECONDS)
            taken = replies.snapshot(await self._ask("snapshot", {"limit_bytes": limit_bytes}, seconds=seconds))
            if taken.id:
                self._at = Standing(taken.id, whole=not taken.lost)
            return taken

    async def restore(self, id: str) -> RestoredSession:
        """Start a new session with a snapshot; see `Sandbox.restore`. A cell that is running is killed.

        Raises:
            SandboxLostError: the new session ended while it restored.
            SandboxUnavailableError: a session cannot be started, or the workspace cannot be written.
            SnapshotMissingError: a blob is missing or damaged.
        """
        await self._break_off()
        async with self._turn:
            woken = bool(id) and self._slept == id
            await self._drop()
            said = await self._ask("restore", {"snapshot": id}, answer="restored")
            problem, failed = replies.problems(said)
            if problem or failed:
                await self._drop()
            if problem:
                await self._forget_blobs()
                raise SnapshotMissingError(f"The snapshot {id[:12]} cannot be restored: {problem}.")
            if failed:
                raise SandboxUnavailableError(failed)
            restored = replies.restored(said)
            self._at = Standing(id, stored=True, whole=not restored.lost)
            return replace(restored, woken=woken)

    async def plan_rebuild(self, cells: Sequence[PastCell], names: Sequence[str], *, limit: float) -> RebuildPlan:
        """Say which cells have to run for lost variables; see `Sandbox.plan_rebuild`.

        Raises:
            SandboxLostError: its session is gone.
            SandboxUnavailableError: a session cannot be started or reached.
        """
        body = {"cells": [cell.as_json() for cell in cells], "names": list(names), "limit": limit}
        async with self._turn:
            return replies.rebuild_plan(await self._ask("plan_rebuild", {}, body=body, seconds=PLAN_SECONDS))

    async def rebuild(self, order: RebuildOrder) -> RestoredSession | BrokenOff:
        """Make lost variables again in a new session; see `Sandbox.rebuild`. A cell that is running is killed.

        Raises:
            SandboxLostError: the new session ended while it worked.
            SandboxUnavailableError: a session cannot be started.
        """
        await self._break_off()
        async with self._turn:
            await self._drop()
            seconds = order.seconds + SNAPSHOT_SECONDS
            said = await self._ask("rebuild", {}, body=order.as_json(), seconds=seconds)
            if broken_off := replies.broken_off(said):
                await self._drop()
                return broken_off
            # What was made again is in the session only.
            self._at = Standing(order.snapshot, stored=True, whole=False)
            return replies.restored(said)

    def _note_stored(self, names: Sequence[str]) -> None:
        """The store has these blobs; with the manifest of the head among them, it has the head."""
        if self._at.head in names:
            self._at = replace(self._at, stored=True)
            self._turn.settle()
