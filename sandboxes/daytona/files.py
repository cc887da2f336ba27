"""The part of the port that is about files: the workspace of a Daytona sandbox, and its blobs."""

from collections.abc import Sequence
from pathlib import Path

from sandboxes.base import SnapshotMissingError
from sandboxes.bridged.place import Place
from sandboxes.daytona import transfers
from sandboxes.host.living import Stay
from sandboxes.results import FetchedFile, ProgramResult, WorkspaceFile


class DaytonaFiles:
    """What goes in and out of a sandbox beside its session.

    Args:
        place: Where its things are.
    """

    def __init__(self, place: Place) -> None:
        self._place = place
        self._turn: Stay
        """Set by whoever has the session."""
        self._to_drop: list[str] = []
        """Blobs that the store has and that are in the spool still."""

    def _dropping(self) -> list[str]:
        names, self._to_drop = self._to_drop, []
        return names

    async def run_program(self, program: Path, arguments: Sequence[str], *, timeout: float) -> ProgramResult:
        """Run a program of ours beside the session; see `Sandbox.run_program`.

        Raises:
            SandboxUnavailableError: it cannot be started.
        """
        with self._turn.beside():
            return await transfers.run_program(self._place, program, arguments, timeout)

    async def put(self, source: Path, path: str) -> None:
        """Copy a host file into the workspace; see `Sandbox.put`. What lies in `inputs/` is read-only.

        Raises:
            FileNotFoundError: there is no such host file.
            SandboxUnavailableError: there is no room for it, or the workspace cannot be written.
            ValueError: the path leaves the workspace.
        """
        with self._turn.beside():
            await transfers.put(self._place, source, path)

    async def files(self, folder: str) -> list[WorkspaceFile]:
        """The regular files below a folder; `.` stands for the whole workspace.

        Raises:
            ValueError: the folder leaves the workspace.
        """
        with self._turn.beside():
            return await transfers.files(self._place, folder)

    async def fetch(self, path: str, target: Path, *, max_bytes: int) -> FetchedFile:
        """Copy a workspace file out; see `Sandbox.fetch`.

        Raises:
            FileNotFoundError: there is no regular file at that path.
            ValueError: it is larger than `max_bytes`, or the path leaves the workspace.
        """
        with self._turn.beside():
            return await transfers.fetch(self._place, path, target, max_bytes)

    async def take_blobs(self, names: Sequence[str], folder: Path, *, max_bytes: int | None = None) -> None:
        """Copy blobs out of the spool; see `Sandbox.take_blobs`.

        Raises:
            SnapshotMissingError: one is not there.
            SnapshotTooLargeError: they have more than `max_bytes`.
        """
        for name in names:
            if name in self._to_drop:
                raise SnapshotMissingError(f"The sandbox has no blob {name} any more.")
        with self._turn.beside():
            await transfers.take_blobs(self._place, names, folder, max_bytes)

    async def supply_blobs(self, files: Sequence[Path]) -> None:
        """Give the sandbox blobs for a restore.

        Raises:
            SandboxUnavailableError: there is no room for them.
        """
        with self._turn.beside():
            await transfers.supply_blobs(self._place, files)

    async def supplied_blobs(self) -> frozenset[str]:
        """The blobs that it was given and still has."""
        with self._turn.beside():
            return await transfers.supplied_blobs(self._place, self._dropping())
