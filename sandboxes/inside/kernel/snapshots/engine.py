"""Saves and restores the snapshots of one session."""

import socket
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

from ..cells import Cells
from ..own_library import own_library
from .current_session import begin
from .earlier_snapshot import EarlierSnapshot, StepError, Supply
from .load import SnapshotReader
from .private_cloudpickle import CloudpickleLocation
from .private_cloudpickle import cloudpickle as cloudpickle_of_ours
from .save import SnapshotWriter
from .session_state.interpreter_state import StartState
from .storing import manifest
from .storing.blobs import Blobs, MissingBlobError, Spool
from .storing.copied_buffers import Connect, CopiedBuffers, no_copies

Run = Callable[[str, int], str]
"""Run a cell, given its code and number, and say what it raised; empty when it ended well."""


class Engine:
    """Takes and restores the snapshots of one session.

    Args:
        main: Its `__main__`.
        own: What the kernel put there.
        root: Its workspace.
        start: What there was when it began.
        spool: The folder for new blobs.
        blobs: The folder with the blobs that the host supplied.
        cloudpickle: The host's copy of `cloudpickle.py`.
        connect: The way to the frozen copies of its last steps.
    """

    def __init__(
        self,
        main: ModuleType,
        own: dict[str, Any],
        root: str,
        start: StartState,
        *,
        spool: str,
        blobs: str,
        cloudpickle: str,
        connect: Connect = no_copies,
    ) -> None:
        begin(main, own.get("display"), root, start.environment)
        CloudpickleLocation.path, CloudpickleLocation.workspace = cloudpickle, root
        cloudpickle_of_ours()
        self._main = main
        self._own = own
        self._blobs = Blobs([blobs, spool])
        self._manifests: dict[str, dict[str, Any]] = {}
        """Those of earlier steps that cells have looked into."""
        self._taking = SnapshotWriter(main, own, root, start, Spool(spool), blobs)
        self._copied = CopiedBuffers(self._taking, connect)

    def snapshot(self, limit: int, cell: int, futures: int) -> dict[str, Any]:
        """Take a snapshot; see `SnapshotWriter.take`."""
        with own_library().as_it_was() as of_cells:
            return self._taking.take(limit, cell, futures, of_cells)

    def restore(self, id: str) -> dict[str, Any]:
        """Restore a snapshot; see `SnapshotReader.restore`."""
        return SnapshotReader(self._main, self._taking, self._blobs).restore(id)

    def restore_files(self, id: str) -> dict[str, Any]:
        """Make the files as a snapshot has them; see `files_of_step.restore_files`. Variables are left alone."""
        with own_library().importing():
            from .files.files_of_step import restore_files

        with own_library().as_it_was():
            return restore_files(self._taking, self._blobs, id)

    def earlier(self, id: str, step: int, supply: Supply, folder: str) -> EarlierSnapshot:
        """An earlier snapshot, of which nothing is loaded yet; its manifest was supplied. Its files go into a folder.

        Raises:
            StepError: its manifest is missing or damaged.
        """
        if id not in self._manifests:
            try:
                self._manifests[id] = manifest.unpack(self._blobs.read(id))
            except MissingBlobError as error:
                raise StepError(f"The snapshot of step {step} cannot be read: {error}.") from None
        content, copied = self._manifests[id], partial(self._copied.read, id)
        return EarlierSnapshot(f"step {step}", content, self._blobs, supply, folder, copied)

    @property
    def window(self) -> tuple[int, int]:
        """Where the memory begins and ends that all copies share."""
        return self._copied.window

    def give(self, request: bytes, connection: socket.socket) -> None:
        """In a child of a frozen copy: hand over large buffers; see `CopiedBuffers.give`."""
        self._copied.give(request, connection)

    def plan_rebuild(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Say which of the cells in `asked` have to run for lost variables; see `rebuilding.dependencies`."""
        with own_library().importing():
            from ..rebuilding.dependencies import plan, read_steps

        return plan(read_steps(asked["cells"], self._blobs), asked["names"], asked["limit"])

    def rebuild(self, asked: dict[str, Any], cells: Cells, run: Run) -> dict[str, Any]:
        """Make lost variables again; see `Rebuild.rebuild`."""
        with own_library().importing():
            from ..rebuilding.rebuild import Rebuild

        return Rebuild(self._main, self._own, self._taking, self._blobs, cells, run).rebuild(asked)
