"""The figures of an analysis, read from the snapshots that hold them or from what was published."""

from collections.abc import Iterable, Mapping

from graph.state import Artifact, Cell
from nodes.restoration.manifests import NotRestoredError
from sandboxes.inside.kernel.snapshots.storing.blobs import CHUNK
from stepwell.exports.archive import Opener
from stepwell.snapshot_manifest import SnapshotManifest, read_manifest
from storage.artifacts import StorageError
from storage.blobs import BlobError, Blobs
from storage.published_files import NoSuchArtifactError, PublishedFile, StoredFile

PICTURE_BYTES, ALL_BYTES = 10 << 20, 100 << 20
"""The largest picture that a document takes, and what all may have together."""
SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
"""How the pictures begin that a document takes. No SVG: it can hold scripts."""


class Drawn:
    """The pictures of an analysis.

    Args:
        by_cell: By cell and workspace path, as they were after the cell.
        newest: By workspace path, as they were last.
    """

    def __init__(self, by_cell: Mapping[int, Mapping[str, bytes]], newest: Mapping[str, bytes]) -> None:
        self._by_cell, self._newest = by_cell, newest

    def of_cell(self, number: int, path: str) -> bytes:
        """A figure as it was after a cell; empty when it is not available."""
        return self._by_cell.get(number, {}).get(path, b"")

    def of_answer(self, path: str) -> bytes:
        """A picture by the name that an answer uses; empty when it is not available."""
        plain = path.removeprefix("./")
        return self._newest.get(plain) or self._newest.get(f"outputs/{plain}") or b""


class Pictures:
    """Reads figures as they were after the cell that drew them.

    Args:
        blobs: Where the thread's snapshots are.
        opener: Opens its published files.
        published: The published files that State names.
    """

    def __init__(self, blobs: Blobs, opener: Opener, published: Iterable[Artifact]) -> None:
        self._blobs, self._opener = blobs, opener
        self._published = {one.get("path") or one["name"]: one for one in published}
        self._manifests: dict[str, SnapshotManifest | None] = {}
        self._room = ALL_BYTES

    async def read(self, cells: Iterable[Cell]) -> Drawn:
        """The figures of cells, and the published pictures; those that are not available are left out."""
        by_cell = await self._of_cells(cells)
        newest = {path: data for number in sorted(by_cell) for path, data in by_cell[number].items()}
        for path, one in self._published.items():
            if (
                path not in newest
                and one["mime"].startswith("image/")
                and (data := await self._published_picture(path))
            ):
                newest[path] = data
        return Drawn(by_cell, newest)

    async def _of_cells(self, cells: Iterable[Cell]) -> dict[int, dict[str, bytes]]:
        """The figures of cells, by cell number and workspace path; those that are not available are left out."""
        found: dict[int, dict[str, bytes]] = {}
        for cell in cells:
            for path in dict.fromkeys(cell["figures"]):
                if data := await self.of_cell(cell, path):
                    found.setdefault(cell["number"], {})[path] = data
        return found

    async def of_cell(self, cell: Cell, path: str) -> bytes:
        """A figure as it was after a cell; empty when it is not available."""
        manifest = await self._manifest(cell.get("snapshot") or "")
        if manifest is not None and (file := manifest.files.get(path)) is not None:
            if len(file.chunks) != -(-file.size // CHUNK):
                return b""
            return await self._taken(StoredFile(self._blobs, file.chunks, file.size, "", piece=CHUNK))
        one = self._published.get(path)
        return await self._published_picture(path) if one is not None and one["cell"] == cell["number"] else b""

    async def _manifest(self, snapshot: str) -> SnapshotManifest | None:
        if snapshot and snapshot not in self._manifests:
            try:
                self._manifests[snapshot] = await read_manifest(self._blobs, snapshot, count_missing=False)
            except (NotRestoredError, BlobError, ValueError):
                self._manifests[snapshot] = None
        return self._manifests.get(snapshot)

    async def _published_picture(self, path: str) -> bytes:
        one = self._published.get(path)
        if one is None:
            return b""
        try:
            async with self._opener(one) as file:
                return await self._taken(file)
        except (NoSuchArtifactError, StorageError):
            return b""

    async def _taken(self, file: PublishedFile) -> bytes:
        if not 0 < file.size <= min(PICTURE_BYTES, self._room):
            return b""
        try:
            data = b"".join([piece async for piece in file.pieces(0, file.size)])
        except StorageError:
            return b""
        if not picture_type(data):
            return b""
        self._room -= len(data)
        return data


def picture_type(data: bytes) -> str:
    """The MIME type of a picture by its first bytes; empty for a type that documents do not take."""
    return next((mime for begins, mime in SIGNATURES.items() if data.startswith(begins)), "")
