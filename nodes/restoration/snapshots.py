"""Snapshots on their way: out of a sandbox's spool into the store, and from the store into a sandbox.

The host opens no pickle: of a snapshot it reads the manifest's list of blobs, and nothing else. A sandbox may name in
its manifest only what it hands over now or what this thread's earlier snapshots name, so it cannot ask for the blobs of
another thread by their hashes.
"""

import asyncio
import os
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
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
    SnapshotTooLargeError,
    Trial,
)
from sandboxes.host.limits import MEGABYTE
from sandboxes.results import LostVariable, RestoredSession
from storage.blobs import BlobError, BlobMissingError, Blobs, BlobTooLargeError

if TYPE_CHECKING:  # a killed server's session is brought back before LangGraph is imported
    from graph.state import Cell, LostName

MAX_THREADS = 64
"""Threads whose names of blobs are remembered in this process."""
AT_ONCE = 64 << 10
"""Bytes of a manifest up to which it is looked through at once: to change to a thread would take longer."""
AGAIN_WITHIN = 60.0
"""A session that dies after having restored for longer than these seconds is not tried again."""
MAX_LOST = 50
"""Lost variables that a cell remembers."""
NOT_KEPT = (
    BlobError,
    NotRestoredError,
    SandboxLostError,
    SandboxUnavailableError,
    SnapshotMissingError,
    SnapshotTooLargeError,
)
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
        async with self._blobs.staging() as folder:
            # A manifest that was written anew comes anew: the one that is known may be given up and removed by now.
            coming = set(new) | ({id} - known.manifests)
            room = limit + MAX_NEW
            hashes = await sandbox.take_blobs(sorted(coming), folder, max_bytes=room)
            if id in coming:
                names = await self._coming(folder / id)
            else:
                names = await self._named(id)
            unsure = (names & known.blobs) - known.there - coming
            known.there |= await self._blobs.has(unsure) if unsure else set()
            # An earlier snapshot's blobs that never arrived, or were lost since: they are in the spool still.
            behind = names - coming - (known.blobs & known.there)
            if behind:
                room -= await asyncio.to_thread(_size_of, folder)
                hashes |= await sandbox.take_blobs(sorted(behind), folder, max_bytes=room)
            files = {name: folder / name for name in sorted((coming | behind) - {id})}
            if id in coming:
                files[id] = folder / id
            size = await self._blobs.ingest(files, max_bytes=limit + MAX_NEW, hashes=hashes)
        await sandbox.drop_blobs(sorted({id} | coming | behind))
        known.manifests.add(id)
        known.blobs |= names
        known.there |= names
        return size

    async def _named(self, id: str) -> set[str]:
        """The blobs that a stored manifest names."""
        return await asyncio.to_thread(blobs_of, await self._blobs.read(id, max_bytes=MAX_MANIFEST))

    async def _coming(self, file: Path) -> set[str]:
        """The blobs that are named by a manifest that has just come out of a sandbox."""
        try:
            data = await self._blobs.read_staged(file, max_bytes=MAX_NEW)
        except BlobTooLargeError:
            raise NotRestoredError(
                f"The list of what the snapshot holds has more than the {MAX_NEW / MEGABYTE:,.0f} MB that it may have; "
                "pack small files into an archive, or remove them."
            ) from None
        if len(data) <= AT_ONCE:
            return blobs_of(data)
        return await asyncio.to_thread(blobs_of, data)

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


def _size_of(folder: Path) -> int:
    return sum(entry.stat().st_size for entry in os.scandir(folder))
