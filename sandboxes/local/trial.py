"""A fresh session beside a sandbox's own, in which one snapshot is restored and compared with the original.

It has a folder of its own inside the sandbox's, the same walls and limits, the same inputs, no network, and a place in
the pool, which it gives up as soon as somebody waits for one.
"""

import asyncio
import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from sandboxes.base import SandboxLostError, SandboxUnavailableError, SnapshotMissingError, SnapshotTooLargeError
from sandboxes.host import blobs, workspace
from sandboxes.host.limits import MEGABYTE
from sandboxes.inside.bridge import tree
from sandboxes.local.isolation import PRIVATE_PATHS
from sandboxes.results import TrialRestore

FOLDER = "proof"
"""Its folder in the sandbox's."""
MAX_PRINTS = 64 * MEGABYTE
"""Bytes of fingerprints."""
MAX_COPIED_INPUTS = 64 * MEGABYTE
"""Inputs that are copied where they cannot be shown in the place where cells saw them."""
FIRST_LOOK, NEXT_LOOKS = 0.005, 1.5
"""How soon it is seen whether the fingerprints are there, in seconds, and how much longer each time after that."""
WAITS_LONGER = 5.0
"""How many times as long as they may compute the fingerprints may take, on a busy machine, and so many seconds more."""


def prints_name(snapshot: str) -> str:
    """What the file with the fingerprints of a session at a snapshot is called: like a blob."""
    return hashlib.sha256(f"fingerprints of {snapshot}".encode()).hexdigest()


class TrialFolder:
    """The files of a trial. All methods but `inputs` block.

    Args:
        original: The sandbox's folder.
        level: Its level of isolation.
    """

    def __init__(self, original: Path, level: str) -> None:
        self.path = original / FOLDER
        self._inputs = original / "workspace" / "inputs"
        self._shown = level in PRIVATE_PATHS

    @property
    def inputs(self) -> Path | None:
        """The inputs that are shown to it in the place of its own."""
        return self._inputs if self._shown else None

    def prepare(self, cache: Path) -> None:
        """Make it anew.

        Raises:
            SandboxUnavailableError: it cannot be made, or the inputs cannot be had in it.
        """
        self.remove()
        workspace.make_all(self.path, cache)
        if self._shown:
            return
        files = tree.files(str(self._inputs.parent), ["inputs"])
        if sum(size for _, size in files) > MAX_COPIED_INPUTS:
            raise SandboxUnavailableError(
                "its inputs are too large to be copied for it, and cannot be shown at this level of isolation"
            )
        for path, _ in files:
            target = self.path / "workspace" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                workspace.fetch(self._inputs.parent, path, target, max_bytes=MAX_COPIED_INPUTS)
                target.chmod(0o444)
            except (OSError, ValueError) as error:
                raise SandboxUnavailableError(f"its inputs cannot be copied for it ({error})") from error

    def remove(self) -> None:
        """Remove what is left of one, also of one whose process was killed."""
        workspace.remove(self.path)


class ComparingSandbox(Protocol):
    """The sandbox in which a trial takes place."""

    @property
    def closed(self) -> bool:
        """Whether it is closed."""

    async def supply_blobs(self, files: Sequence[Path]) -> None:
        """Give it blobs; see `Sandbox.supply_blobs`."""

    async def supplied_blobs(self) -> frozenset[str]:
        """The blobs that it has."""

    async def restore_and_compare(self, asked: dict[str, Any], *, seconds: float) -> TrialRestore:
        """Have its kernel restore a snapshot and compare it with fingerprints that it was given."""


class TrialSession:
    """One trial; see `sandboxes.base.Trial`.

    Args:
        sandbox: Where it takes place.
        folder: Its folder.
        spool: The spool of the original, where its fingerprints are.
    """

    def __init__(self, sandbox: ComparingSandbox, folder: TrialFolder, spool: Path) -> None:
        self._sandbox = sandbox
        self._folder = folder
        self._spool = spool

    async def supply_blobs(self, files: Sequence[Path]) -> None:
        """Give it blobs; see `Sandbox.supply_blobs`.

        Raises:
            SandboxUnavailableError: there is no room for them.
        """
        await self._sandbox.supply_blobs(files)

    async def supplied_blobs(self) -> frozenset[str]:
        """The blobs that it has."""
        return await self._sandbox.supplied_blobs()

    async def compare(self, snapshot: str, *, known: Sequence[str], seconds: float) -> TrialRestore:
        """Restore a snapshot and compare it; see `sandboxes.base.Trial`.

        Raises:
            SandboxLostError: the session ended, or the look at the original did not come to an end.
            SandboxUnavailableError: it cannot be started.
        """
        name = prints_name(snapshot)
        await self._wait_for(name, WAITS_LONGER * (seconds + 1.0))
        asked = {"snapshot": snapshot, "file": name, "known": list(known), "seconds": seconds}
        return await self._sandbox.restore_and_compare(asked, seconds=WAITS_LONGER * (seconds + 1.0) + 60.0)

    async def _wait_for(self, name: str, seconds: float) -> None:
        """Wait until the fingerprints are there, and take them out of the original's spool."""
        until, pause = time.monotonic() + seconds, FIRST_LOOK
        while not await asyncio.to_thread((self._spool / name).exists):
            if self._sandbox.closed:
                raise SandboxLostError("the sandbox was closed, or its place was needed")
            if time.monotonic() > until:
                raise SandboxLostError("the copy of its session that was to be compared with was ended")
            await asyncio.sleep(pause)
            pause = min(NEXT_LOOKS * pause, 0.25)
        try:
            target = self._folder.path / "blobs"
            await asyncio.to_thread(blobs.take, self._spool, [name], target, max_bytes=MAX_PRINTS)
        except (SnapshotMissingError, SnapshotTooLargeError, OSError) as error:
            raise SandboxLostError(f"the fingerprints of its session cannot be had: {error}") from error
        finally:
            await asyncio.to_thread(blobs.drop, self._spool, [name])
