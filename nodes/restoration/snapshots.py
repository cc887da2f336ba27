"""Snapshots on their way: out of a sandbox's spool into the store, and from the store into a sandbox.

The host opens no pickle: of a snapshot it reads the manifest's list of blobs, and nothing else. A sandbox may name in
its manifest only what it hands over now or what this thread's earlier snapshots name, so it cannot ask for the blobs of
another thread by their hashes.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nodes.restoration.manifests import MAX_MANIFEST, MAX_NEW, NotRestoredError, blobs_of, light_blobs_of
from sandboxes.base import (
    KeepsSteps,
    RestoresAhead,
    Sandbox,
    SandboxError,
    SandboxLostError,
    SandboxUnavailableError,
    SnapshotMissingError,
    Spool,
    SpoolHere,
    TakenBlob,
    Trial,
)
from sandboxes.host.limits import MEGABYTE
from sandboxes.results import LostVariable, RestoredSession
from storage.blobs import Arrivals, BlobError, BlobMissingError, Blobs, BlobTooLargeError
from storage.compression import pack

if TYPE_CHECKING:  # a killed server's session is brought back before LangGraph is imported
    from graph.state import Cell, LostName

MAX_THREADS = 64
"""Threads whose names of blobs are remembered in this process."""
AGAIN_WITHIN = 60.0
"""A session that dies after having restored for longer than these seconds is not tried again."""
MAX_LOST = 50
"""Lost variables that a cell remembers."""
NOT_KEPT = (BlobError, NotRestoredError, SandboxError)
"""What a step may fail with that then has no snapshot."""


@dataclass(frozen=True, slots=True)
class SaveResult:
    """What came of keeping a step."""

    snapshot: str = ""
    """The snapshot's id; empty when this step has none and would be rebuilt by running cells again."""
    bytes: int = 0
    """What it added to the store."""
    seconds: float = 0.0
    lost: tuple[LostVariable, ...] = ()
    why_not: str = ""

    def lost_names(self) -> "list[LostName]":
        """What State remembers of the variables that could not be kept."""
        return [
            {"name": one.name[:100], "type": one.type[:100], "reason": one.reason[:300]} for one in self.lost[:MAX_LOST]
        ]


@dataclass(slots=True)
class _Known:
    """What is known of one thread's blobs."""

    manifests: set[str] = field(default_factory=set)
    blobs: set[str] = field(default_factory=set)
    """Named by this thread's snapshots."""
    there: set[str] = field(default_factory=set)
    """Seen in the store by this process."""


class SnapshotStore:
    """Keeps and brings back the snapshots of threads.

    Args:
        blobs: Where their blobs are.
        keep_inputs: Whether inputs are kept there, too, for sandboxes on other machines.
    """

    def __init__(self, blobs: Blobs, *, keep_inputs: bool = False) -> None:
        self._blobs = blobs
        self.keep_inputs = keep_inputs
        self._threads: OrderedDict[str, _Known] = OrderedDict()

    async def keep(self, sandbox: Sandbox, cells: "Iterable[Cell]", *, limit_bytes: int) -> SaveResult:
        """Take a snapshot of the sandbox as it is now, and put it into the store.

        Args:
            sandbox: The thread's sandbox, between two cells.
            cells: The thread's cells so far; their snapshots are this thread's own.
            limit_bytes: What it may add to the store.

        Returns:
            What came of it. Whatever fails, the analysis can go on: then the step has no snapshot, and `why_not` says
            why.
        """
        try:
            taken = await sandbox.snapshot(limit_bytes=limit_bytes)
            if taken.refused:
                return SaveResult(seconds=taken.seconds, lost=taken.lost, why_not=taken.refused)
            size = await self._store(sandbox, taken.id, taken.new, await self._known(sandbox.id, cells), limit_bytes)
        except NOT_KEPT as error:
            return SaveResult(why_not=str(error))
        return SaveResult(snapshot=taken.id, bytes=size, seconds=taken.seconds, lost=taken.lost)

    async def restore(self, sandbox: Sandbox, snapshot: str, *, damaged: set[str]) -> RestoredSession:
        """Start the sandbox's session anew with the variables and files of a snapshot.

        Args:
            sandbox: The thread's sandbox.
            snapshot: The snapshot's id.
            damaged: Blobs that were found missing or damaged; those found now are added.

        Raises:
            NotRestoredError: a blob is missing or damaged, or the session ended twice while it restored.
            SandboxUnavailableError: the sandbox or the store cannot be reached.
        """
        if (returned := await self._return_to(sandbox, snapshot)) is not None:
            return returned
        try:
            names = await self._named(snapshot)
            if gone := sorted(names & damaged):
                raise NotRestoredError(f"The blob {gone[0][:12]}… is missing or damaged.")
            restored = await self._restore(sandbox, snapshot, names)
        except BlobMissingError as error:
            damaged.add(error.name)
            raise NotRestoredError(str(error)) from error
        except BlobError as error:  # the store is not there now; no reason to run finished cells again
            raise SandboxUnavailableError(str(error)) from error
        except (SnapshotMissingError, SandboxLostError) as error:
            raise NotRestoredError(str(error)) from error
        known = self._thread(sandbox.id)
        known.manifests.add(snapshot)
        known.blobs |= names
        known.there |= names
        return restored

    async def restore_ahead(self, sandbox: Sandbox, snapshot: str) -> None:
        """Have a sandbox restore a snapshot that somebody will probably ask for; where it cannot, nothing is there.

        Raises:
            NotRestoredError: the snapshot's manifest cannot be read.
            SandboxError: as the sandbox's own method does.
            BlobError: a blob is missing, or the store cannot be reached.
        """
        if isinstance(sandbox, RestoresAhead):
            needed = {snapshot} | await self._named(snapshot)
            async with self._blobs.checkout(sorted(needed - await sandbox.supplied_blobs()), check=False) as files:
                await sandbox.supply_blobs(files)  # the kernel hashes what it loads
            await sandbox.restore_ahead(snapshot)

    async def _return_to(self, sandbox: Sandbox, snapshot: str) -> RestoredSession | None:
        """Go back to a step that is in the sandbox's memory; None when that cannot be, and it has to be restored."""
        if not isinstance(sandbox, KeepsSteps):
            return None
        try:
            return await sandbox.return_to(snapshot, partial(self.lay_out_parts, sandbox, snapshot))
        except (SandboxError, NotRestoredError, BlobError):
            return None

    async def supply(self, sandbox: Sandbox, ids: Iterable[str]) -> None:
        """Give a sandbox all blobs of some of its thread's snapshots.

        Raises:
            NotRestoredError: a blob is missing or damaged.
            SandboxUnavailableError: the sandbox cannot be reached.
        """
        needed: set[str] = set()
        try:
            for id in ids:
                needed |= {id} | await self._named(id)
            await self._lend(sandbox, needed)
        except BlobError as error:
            raise NotRestoredError(str(error)) from error

    async def lend(self, trial: Trial, id: str) -> None:
        """Give a trial all blobs of a snapshot; its kernel hashes what it loads.

        Raises:
            NotRestoredError: a blob is missing.
            SandboxUnavailableError: there is no room for them.
        """
        try:
            needed = {id} | await self._named(id)
            async with self._blobs.checkout(sorted(needed), check=False) as files:
                await trial.supply_blobs(files)
        except BlobError as error:
            raise NotRestoredError(str(error)) from error

    async def lay_out(self, sandbox: Sandbox, ids: Iterable[str], *, files: bool) -> set[str]:
        """Give a sandbox the small parts of some of its thread's snapshots: manifests and packs.

        Args:
            sandbox: It.
            ids: The snapshots.
            files: Whether it gets the files as well, which may be much when each step has changed some.

        Returns:
            Those of which it has that.

        Raises:
            SandboxUnavailableError: the sandbox cannot be reached.
        """
        light: dict[str, set[str]] = {}
        for id in ids:
            with suppress(BlobError, NotRestoredError):  # then the cells after it are not run again by themselves
                manifest = await self._blobs.read(id, max_bytes=MAX_MANIFEST)
                light[id] = {id} | await light_blobs_of(manifest, files=files)
        try:
            await self._lend(sandbox, set().union(*light.values()))
            return set(light)
        except BlobError:  # one by one it is found of which
            found: set[str] = set()
            for id, needed in light.items():
                with suppress(BlobError):
                    await self._lend(sandbox, needed)
                    found.add(id)
            return found

    async def lay_out_parts(self, sandbox: Sandbox, id: str, names: Sequence[str]) -> None:
        """Give a sandbox some blobs of one of its thread's snapshots, beside what its session does.

        Args:
            sandbox: The thread's sandbox.
            id: The snapshot.
            names: The blobs, as a sandbox has named them; none: the snapshot's manifest.

        Raises:
            BlobError: one is missing or damaged, or the store cannot be reached.
            NotRestoredError: the snapshot does not name one of them.
            SandboxError: the sandbox cannot take them.
        """
        if not set(names) <= (await self._named(id) if names else set()):
            raise NotRestoredError("It does not name what was asked for.")
        # Whoever reads them hashes them.
        async with self._blobs.checkout(sorted(set(names) or {id}), check=False) as files:
            await sandbox.supply_blobs(files)

    async def keep_file(self, file: Path, sha256: str) -> None:
        """Put a host file into the store, under the hash of its content.

        Raises:
            BlobError: it cannot be stored, or its content has another hash.
        """
        await self._blobs.add_file(file, sha256)

    async def fetch_file(self, sha256: str, target: Path) -> None:
        """Copy a file out of the store.

        Raises:
            BlobError: it is not there, or damaged.
        """
        await self._blobs.fetch(sha256, target)

    async def _lend(self, sandbox: Sandbox, needed: set[str]) -> None:
        async with self._blobs.checkout(sorted(needed - await sandbox.supplied_blobs())) as files:
            await sandbox.supply_blobs(files)

    async def _restore(self, sandbox: Sandbox, snapshot: str, names: set[str]) -> RestoredSession:
        needed = {snapshot} | names
        there = await sandbox.supplied_blobs()
        async with self._blobs.checkout(
            sorted(needed - there), check=False
        ) as files:  # the kernel hashes what it loads
            await sandbox.supply_blobs(files)
        began = time.monotonic()
        try:
            return await sandbox.restore(snapshot)
        except SandboxLostError:
            # Killed from outside, as far as one death tells, perhaps with what it had of the snapshot.
            if time.monotonic() - began > AGAIN_WITHIN:
                raise
        except SnapshotMissingError:
            pass
        # Something is damaged: in the store, which is found here, or only in the sandbox, which gets all of it anew.
        async with self._blobs.checkout(sorted(needed)) as files:
            await sandbox.supply_blobs(files)
        return await sandbox.restore(snapshot)

    async def _store(self, sandbox: Sandbox, id: str, new: tuple[str, ...], known: _Known, limit: int) -> int:
        """Move what the store lacks out of the spool, the manifest last; returns how many bytes that was."""
        step = _ArrivingStep(id, new, known, limit)
        if isinstance(sandbox, SpoolHere):
            with sandbox.spool() as spool:
                size = await self._blobs.take_in(lambda arrivals: step.take_in(arrivals, spool))
        else:
            async with self._blobs.staging() as arrivals:
                step.came(await sandbox.take_blobs(step.coming, arrivals.folder, max_bytes=step.room))
                if behind := await asyncio.to_thread(step.behind, arrivals):
                    step.came(await sandbox.take_blobs(behind, arrivals.folder, max_bytes=step.room))
                size = await asyncio.to_thread(step.store, arrivals)
            await sandbox.drop_blobs(step.handed_over)
            step.note()
        return size

    async def _named(self, id: str) -> set[str]:
        """The blobs that a stored manifest names."""
        return await asyncio.to_thread(blobs_of, await self._blobs.read(id, max_bytes=MAX_MANIFEST))

    async def _known(self, thread: str, cells: "Iterable[Cell]") -> _Known:
        """The blobs that this thread's snapshots name."""
        known = self._thread(thread)
        for cell in cells:
            snapshot = cell.get("snapshot", "")
            if snapshot and snapshot not in known.manifests:
                try:
                    known.blobs |= await self._named(snapshot)
                except (BlobMissingError, NotRestoredError):
                    continue  # then its blobs have to be handed over again
                known.manifests.add(snapshot)
        return known

    def _thread(self, thread: str) -> _Known:
        known = self._threads.setdefault(thread, _Known())
        self._threads.move_to_end(thread)
        if len(self._threads) > MAX_THREADS:
            self._threads.popitem(last=False)
        return known


def _refuse_ended(spool: Spool) -> None:
    """Give up what nobody waits for: all would wait for its thread when the process ends.

    Raises:
        BlobError: so it is.
    """
    if spool.ended:
        raise BlobError("Nobody waits for this step any more.")


class _ArrivingStep:
    """A step on its way from a spool into the store: what of it has to come, and in which order it is stored.

    All methods block. They are called one after the other.

    Args:
        id: The snapshot.
        new: The blobs that the sandbox has written for it.
        known: What is known of the thread's blobs. What is stored is noted there.
        limit: What the step may add to the store.
    """

    def __init__(self, id: str, new: Iterable[str], known: _Known, limit: int) -> None:
        self._id = id
        self._known = known
        # A manifest that was written anew comes anew: the one that is known may be given up and removed by now.
        self.coming = sorted(set(new) | ({id} - known.manifests))
        self.room = self._limit = limit + MAX_NEW
        """What may still come, in bytes of contents."""
        self.names: set[str] = set()
        """The blobs that the manifest names."""
        self._behind: list[str] = []
        self._taken: dict[str, TakenBlob] = {}
        self._read: bytes | None = None
        """The manifest, where it was read on its way."""

    def take_in(self, arrivals: Arrivals, spool: Spool) -> int:
        """Do all of it; returns the bytes that the store has gained.

        Raises:
            BlobError: as `store`; or nobody waits any more, and it is not stored yet.
        """

        def place(name: str) -> Path:
            _refuse_ended(spool)
            return arrivals.place(name)

        self.came(spool.take(self.coming, place, max_bytes=self.room, pack=self._pack))
        if behind := self.behind(arrivals):
            self.came(spool.take(behind, place, max_bytes=self.room, pack=self._pack))
        _refuse_ended(spool)
        size = self.store(arrivals)
        if not spool.ended:  # the next step would look in the spool for what is not known to be stored
            self.note()
            spool.drop(self.handed_over)
        return size

    def _pack(self, name: str, content: memoryview) -> bytes | None:
        if name == self._id:
            self._read = bytes(content)
        try:
            return pack(content)
        except Exception as error:  # the library has errors of its own
            raise BlobError(f"The step cannot be packed ({str(error) or type(error).__name__}).") from None

    def came(self, taken: Mapping[str, TakenBlob]) -> None:
        """Note what is known of those that have come."""
        self._taken.update(taken)

    def behind(self, arrivals: Arrivals) -> list[str]:
        """Those that the store lacks besides: of earlier snapshots that never arrived, or lost since.

        They are in the spool still.

        Raises:
            BlobError: the store cannot be reached.
            NotRestoredError: the manifest is none, or too large.
        """
        coming, known = set(self.coming), self._known
        self.names = blobs_of(self._manifest(arrivals))
        unsure = (self.names & known.blobs) - known.there - coming
        there = known.there | arrivals.stored(unsure) if unsure else known.there
        self._behind = sorted(self.names - coming - (known.blobs & there))
        if self._behind:
            self.room -= sum(self._size(arrivals, name) for name in self.coming)
        return self._behind

    def _manifest(self, arrivals: Arrivals) -> bytes:
        if self._read is not None:
            return self._read
        if self._id not in self.coming:
            return arrivals.read_stored(self._id, max_bytes=MAX_MANIFEST)
        try:
            return arrivals.read(self._id, max_bytes=MAX_NEW)
        except BlobTooLargeError:
            raise NotRestoredError(
                f"The list of what the snapshot holds has more than the {MAX_NEW / MEGABYTE:,.0f} MB that it may have; "
                "pack small files into an archive, or remove them."
            ) from None

    def _size(self, arrivals: Arrivals, name: str) -> int:
        return self._taken[name].size if name in self._taken else arrivals.size(name)

    def store(self, arrivals: Arrivals) -> int:
        """Store what has come; returns the bytes that the store has gained.

        Raises:
            BlobError: it is more than the step may add, is not what its names say, or the store cannot be written.
        """
        last = [self._id] if self._id in self.coming else []
        first = sorted({*self.coming, *self._behind} - {self._id})
        return arrivals.store(
            [*first, *last],
            max_bytes=self._limit,
            hashes={name: one.sha256 for name, one in self._taken.items()},
            settled={name: one.size for name, one in self._taken.items() if one.settled},
        )

    def note(self) -> None:
        """Note that it is stored."""
        self._known.manifests.add(self._id)
        self._known.blobs |= self.names
        self._known.there |= self.names

    @property
    def handed_over(self) -> list[str]:
        """What the spool has no more use for, once it is stored."""
        return sorted({self._id, *self.coming, *self._behind})
