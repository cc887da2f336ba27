"""Makes a ZIP archive while it is sent: what is in memory is a piece of one file, however large they are."""

import asyncio
import io
import time
import zipfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from storage.artifacts import StorageError
from storage.published import NoSuchArtifactError, Opened

PACKED = (".zip", ".gz", ".bz2", ".xz", ".zst", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".xlsx", ".docx", ".pptx",
          ".parquet", ".pdf", ".mp4")  # fmt: skip
"""What does not become smaller."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A file for the archive."""

    name: str
    open: Callable[[], AbstractAsyncContextManager[Opened]]


class _Pipe(io.RawIOBase):
    """Takes what is written and gives it back once; it cannot go back, so the archive is written in one go."""

    def __init__(self) -> None:
        self._held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        before = len(self._held)
        self._held += memoryview(data)  # type: ignore[arg-type]  # any buffer
        return len(self._held) - before

    def taken(self) -> bytes:
        """What was written since the last call."""
        held = bytes(self._held)
        self._held.clear()
        return held


async def zipped(texts: Mapping[str, str], entries: Sequence[Entry]) -> AsyncIterator[bytes]:
    """The pieces of an archive.

    A file that cannot be had is named in `missing.txt`. One that breaks off in the middle ends the archive there, which
    whoever opens it notices.
    """
    pipe = _Pipe()
    missing = []
    archive = zipfile.ZipFile(pipe, "w", allowZip64=True)
    for name, text in texts.items():
        await asyncio.to_thread(archive.writestr, _about(name), text.encode("utf-8", "replace"))
        yield pipe.taken()
    for entry in entries:
        try:
            async with entry.open() as file:
                writer = archive.open(_about(entry.name), "w", force_zip64=True)
                async for piece in file.pieces(0, file.size):
                    await asyncio.to_thread(writer.write, piece)
                    yield pipe.taken()
                writer.close()
        except (NoSuchArtifactError, StorageError):
            if archive.fp is None or getattr(archive, "_writing", False):
                raise
            missing.append(entry.name)
    if missing:
        listed = "These files are no longer there:\n" + "".join(f"{name}\n" for name in missing)
        await asyncio.to_thread(archive.writestr, _about("missing.txt"), listed)
    archive.close()
    yield pipe.taken()


def _about(name: str) -> zipfile.ZipInfo:
    about = zipfile.ZipInfo(name, time.gmtime()[:6])
    about.compress_type = zipfile.ZIP_STORED if name.lower().endswith(PACKED) else zipfile.ZIP_DEFLATED
    about.external_attr = 0o644 << 16
    return about
