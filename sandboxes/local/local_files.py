"""The files of a local sandbox as the host handles them: its workspace, its blobs, the note on what it reached."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from sandboxes.host import blobs, workspace
from sandboxes.host.living import Stay
from sandboxes.local import reached
from sandboxes.results import FetchedFile, Reached, WorkspaceFile


class LocalFiles:
    """What of a local sandbox needs no session.

    Args:
        folder: The sandbox's own.
        cache: Where all sandboxes of this machine keep their caches.
        turn: Keeps it from being put to sleep meanwhile.
    """

    def __init__(self, folder: Path, cache: Path, turn: Stay) -> None:
        self._folder = folder
        self._workspace = folder / "workspace"
        self._cache = cache
        self._turn = turn

    async def open(self) -> None:
        """Make its folders.

        Raises:
            SandboxUnavailableError: they cannot be made.
        """
        await asyncio.to_thread(self.make_folders)

    def make_folders(self) -> None:
        """The same; blocks."""
        workspace.make_all(self._folder, self._cache)

    async def reached(self) -> Reached:
        """The note on the last cell that began; see `Sandbox.reached`.

        Raises:
            SandboxUnavailableError: its folder cannot be written.
        """
        await self.open()
        return await asyncio.to_thread(reached.read, self._folder)

    async def put(self, source: Path, path: str) -> None:
        """Copy a host file into the workspace; see `Sandbox.put`. What lies in `inputs/` is read-only.

        Raises:
            FileNotFoundError: there is no such host file.
            SandboxUnavailableError: there is no room for it, or the workspace cannot be written.
            ValueError: the path leaves the workspace.
        """
        await self.open()
        await asyncio.to_thread(workspace.put, self._workspace, source, path)

    async def files(self, folder: str) -> list[WorkspaceFile]:
        """The regular files below a folder; `.` stands for the whole workspace.

        Raises:
            ValueError: the folder leaves the workspace.
        """
        return await asyncio.to_thread(workspace.files, self._workspace, folder)

    async def fetch(self, path: str, target: Path, *, max_bytes: int) -> FetchedFile:
        """Copy a workspace file out; see `Sandbox.fetch`.

        Raises:
            FileNotFoundError: there is no regular file at that path.
            ValueError: it is larger than `max_bytes`, or the path leaves the workspace.
        """
        return await asyncio.to_thread(workspace.fetch, self._workspace, path, target, max_bytes=max_bytes)

    async def take_blobs(self, names: Sequence[str], folder: Path, *, max_bytes: int | None = None) -> None:
        """Copy blobs out of the spool; see `Sandbox.take_blobs`.

        Raises:
            SnapshotMissingError: one is not there.
            SnapshotTooLargeError: they have more than `max_bytes`.
        """
        with self._turn.beside():
            await asyncio.to_thread(blobs.take, self._folder / "spool", names, folder, max_bytes=max_bytes)

    async def drop_blobs(self, names: Sequence[str]) -> None:
        """Remove blobs from the spool."""
        with self._turn.beside():
            await asyncio.to_thread(blobs.drop, self._folder / "spool", names)

    async def supply_blobs(self, files: Sequence[Path]) -> None:
        """Give the sandbox blobs for a restore.

        Raises:
            SandboxUnavailableError: there is no room for them.
        """
        with self._turn.beside():
            await asyncio.to_thread(blobs.supply, self._folder / "blobs", files)

    async def supplied_blobs(self) -> frozenset[str]:
        """The blobs that it was given and still has."""
        return await asyncio.to_thread(blobs.names_in, self._folder / "blobs")
