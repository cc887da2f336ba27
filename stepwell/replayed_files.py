"""Files of a replay against those that were recorded, by what is in them."""

import asyncio
import hashlib
import zipfile
from pathlib import Path

from graph.state import Cell, State
from nodes.publishing import published_names
from nodes.restoring.manifests import NotRestoredError
from sandboxes.base import Sandbox
from stepwell.kept_step import KeptFile, KeptStep, kept_step
from storage.blobs import BlobError, Blobs

CHUNK = 1 << 20
"""How snapshots cut files (`sandboxes/inside/kernel/snapshots/blobs.py`)."""
TIME_OF_WRITING = "docProps/core.xml"
"""The part of a workbook that holds when it was written, so that no two are the same byte for byte."""


async def differing(sandbox: Sandbox, cell: Cell, blobs: Blobs, folder: Path) -> list[str]:
    """What is otherwise in the files that a cell made or changed, in a sentence's end each.

    Nothing where the recorded step has no usable snapshot: then only what is published is compared, in the end.
    """
    snapshot = cell.get("snapshot", "")
    written = [file["path"] for file in cell["files"] if file["change"] != "deleted"]
    written += [path for path in cell["figures"] if path not in written]
    if not snapshot or not written:
        return []
    try:
        kept = await kept_step(blobs, snapshot)
        return [told for path in written if (told := await _differs(sandbox, path, kept, blobs, folder))]
    except (NotRestoredError, BlobError):
        return []


async def _differs(sandbox: Sandbox, path: str, kept: KeptStep, blobs: Blobs, folder: Path) -> str:
    before = kept.files.get(path)
    if before is None:  # a folder, a link, or what the snapshot left out
        return ""
    now = folder / "now"
    try:
        fetched = await sandbox.fetch(path, now, max_bytes=max(4 * before.size, 1 << 30))
    except FileNotFoundError:
        return f"{path} was not made"
    except ValueError:
        return f"{path} has become much larger than {before.size:,} bytes"
    if fetched.size == before.size and await asyncio.to_thread(_chunks, now) == before.chunks:
        return ""
    if await asyncio.to_thread(zipfile.is_zipfile, now):
        recorded = folder / "recorded"
        await _assemble(before, blobs, recorded)
        if await asyncio.to_thread(same_parts, recorded, now):
            return ""
    return f"{path} holds other bytes"


def _chunks(file: Path) -> tuple[str, ...]:
    with file.open("rb") as stream:
        return tuple(hashlib.sha256(piece).hexdigest() for piece in iter(lambda: stream.read(CHUNK), b""))


async def _assemble(file: KeptFile, blobs: Blobs, target: Path) -> None:
    pieces = [await blobs.read(chunk, max_bytes=2 * CHUNK) for chunk in file.chunks]
    await asyncio.to_thread(target.write_bytes, b"".join(pieces))


async def published(sandbox: Sandbox, state: State, folder: Path) -> tuple[int, tuple[str, ...]]:
    """Compare what was published.

    Returns:
        How many files are the same, and the names of the others.
    """
    files = [file for name in ("outputs", "figures") for file in await sandbox.files(name)]
    sizes = {file.path: file.size for file in files}
    paths = {name: path for path, name in published_names(sizes).items()}
    same, differ = 0, []
    now = folder / "now"
    for artifact in state.get("artifacts") or []:
        if artifact["cell"] == 0:
            continue
        name = artifact["name"]
        if path := paths.get(name):
            fetched = await sandbox.fetch(path, now, max_bytes=sizes[path])
            if fetched.sha256 == artifact["sha256"] or await asyncio.to_thread(same_parts, artifact["url"], now):
                same += 1
                continue
        differ.append(name)
    return same, tuple(differ)


def same_parts(recorded: str | Path, now: Path) -> bool:
    """Whether two zip files (workbooks are) hold the same but for the time of writing that each has within it."""
    if "://" in str(recorded):
        return False
    try:
        one, other = (_parts(path) for path in (recorded, now))
    except (OSError, zipfile.BadZipFile):
        return False
    return {**one, TIME_OF_WRITING: 0} == {**other, TIME_OF_WRITING: 0}


def _parts(path: str | Path) -> dict[str, int]:
    with zipfile.ZipFile(path) as archive:
        return {part.filename: part.CRC for part in archive.infolist()}
