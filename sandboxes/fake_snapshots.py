"""Snapshots of the fake sandbox: there are no variables in it, so they hold the workspace's files."""

import hashlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from sandboxes.base import SnapshotMissingError
from sandboxes.host import workspace
from sandboxes.host.blobs import too_large
from sandboxes.results import SnapshotTaken


class FakeSnapshots:
    """A spool, a folder of supplied blobs, and what goes in and out. All methods block.

    Args:
        folder: Where both are.
    """

    def __init__(self, folder: Path) -> None:
        self._spool = folder / "spool"
        self._supplied = folder / "blobs"
        self._known: set[str] = set()

    def take(self, root: Path, *, limit_bytes: int) -> SnapshotTaken:
        """Write the files of a workspace into the spool, with a manifest that names them."""
        contents: dict[str, bytes] = {}
        files: dict[str, str] = {}
        for file in workspace.files(root, "."):
            if not file.path.startswith("inputs/"):
                data = (root / file.path).read_bytes()
                files[file.path] = hashlib.sha256(data).hexdigest()
                contents[files[file.path]] = data
        manifest = {"format": 1, "blobs": sorted(contents), "files": files}
        written = json.dumps(manifest, sort_keys=True).encode()
        id = hashlib.sha256(written).hexdigest()
        new = {name: data for name, data in {**contents, id: written}.items() if name not in self._known}
        size = sum(len(data) for data in new.values())
        if size > limit_bytes:
            return SnapshotTaken("", refused=f"the snapshot has {size:,} bytes, more than {limit_bytes:,}")
        self._spool.mkdir(parents=True, exist_ok=True)
        for name, data in new.items():
            (self._spool / name).write_bytes(data)
        self._known |= set(new)
        return SnapshotTaken(id, new=tuple(new), bytes=size)

    def restore(self, root: Path, id: str) -> None:
        """Make the files of a workspace those of a snapshot.

        Raises:
            SnapshotMissingError: a blob is missing or damaged; the workspace holds only its inputs then.
        """
        self._known.clear()
        try:
            self._restore(root, id)
        except SnapshotMissingError:
            workspace.remove(self._supplied)
            raise

    def _restore(self, root: Path, id: str) -> None:
        workspace.empty(root, keep=frozenset({"inputs"}))
        workspace.prepare(root)
        manifest = json.loads(self._read(id))
        contents = {path: self._read(name) for path, name in manifest["files"].items()}
        for path, data in contents.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        self._known = {id, *manifest["blobs"]}

    def copy_out(self, names: Sequence[str], folder: Path, max_bytes: int | None = None) -> None:
        """See `Sandbox.take_blobs`."""
        size = sum((self._spool / name).stat().st_size for name in names if (self._spool / name).is_file())
        if max_bytes is not None and size > max_bytes:
            raise too_large(size, max_bytes)
        for name in names:
            if not (self._spool / name).is_file():
                raise SnapshotMissingError(f"The blob {name} is not in the spool.")
            shutil.copyfile(self._spool / name, folder / name)

    def drop(self, names: Sequence[str]) -> None:
        """See `Sandbox.drop_blobs`."""
        for name in names:
            (self._spool / name).unlink(missing_ok=True)

    def supply(self, blobs: Sequence[Path]) -> None:
        """See `Sandbox.supply_blobs`."""
        self._supplied.mkdir(parents=True, exist_ok=True)
        for blob in blobs:
            shutil.copyfile(blob, self._supplied / blob.name)

    def supplied(self) -> frozenset[str]:
        """See `Sandbox.supplied_blobs`."""
        return frozenset(file.name for file in self._supplied.iterdir()) if self._supplied.is_dir() else frozenset()

    def _read(self, name: str) -> bytes:
        for folder in (self._supplied, self._spool):
            if (folder / name).is_file():
                data = (folder / name).read_bytes()
                if hashlib.sha256(data).hexdigest() == name:
                    return data
        raise SnapshotMissingError(f"The blob {name} is missing or damaged.")
