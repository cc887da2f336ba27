"""Where bytes come from: a plain file, a compressed one, a member of an archive; opened anew for every pass."""

from __future__ import annotations

import importlib
import io
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, cast

from .findings import UnreadableError


@dataclass
class Source:
    """Bytes that can be read from the start as often as needed."""

    path: str
    """The file in the workspace."""
    size: int | None
    """Its bytes when unpacked; None when only unpacking would tell."""
    seekable: bool = True
    packing: str = ""
    """`gzip`, `bz2`, `xz`, `zstd`, `zip`; empty for a plain file."""
    member: str = ""
    """The name inside a zip archive."""
    only_member: bool = True
    packed_size: int = 0

    @contextmanager
    def opened(self) -> Iterator[tuple[BinaryIO, Callable[[], int]]]:
        """Open it for reading; beside it, a function that gives how many packed bytes were consumed so far."""
        with open(self.path, "rb") as raw:  # noqa: PTH123  what is opened here is a stream, not a path's content
            if not self.packing:
                yield raw, raw.tell
            elif self.packing == "zip":
                with zipfile.ZipFile(raw) as archive, archive.open(self.member) as stream:
                    yield cast(BinaryIO, stream), lambda: 0
            else:
                with _unpacker(self.packing, raw) as stream:
                    yield stream, raw.tell

    def head(self, size: int) -> bytes:
        """Give at most the first `size` bytes, unpacked."""
        with self.opened() as (stream, _):
            return _read_fully(stream, size)


def _read_fully(stream: BinaryIO, size: int) -> bytes:
    parts, left = [], size
    while left > 0 and (part := stream.read(min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _unpacker(packing: str, raw: BinaryIO) -> BinaryIO:
    if packing == "gzip":
        import gzip

        return cast(BinaryIO, gzip.GzipFile(fileobj=raw, mode="rb"))
    if packing == "bz2":
        import bz2

        return cast(BinaryIO, bz2.BZ2File(raw))
    if packing == "xz":
        import lzma

        return cast(BinaryIO, lzma.LZMAFile(raw))
    return _zstd(raw)


def _zstd(raw: BinaryIO) -> BinaryIO:
    for module in ("compression.zstd", "backports.zstd"):
        try:
            return cast(BinaryIO, importlib.import_module(module).ZstdFile(raw))
        except ImportError:
            continue
    try:
        zstandard = importlib.import_module("zstandard")
        reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True, closefd=False)
        return cast(BinaryIO, io.BufferedReader(reader))
    except ImportError:
        pass
    try:
        pyarrow = importlib.import_module("pyarrow")
        return cast(BinaryIO, pyarrow.CompressedInputStream(pyarrow.PythonFile(raw), "zstd"))
    except ImportError:
        raise UnreadableError(
            "is compressed with Zstandard, and this Python has no library for it (zstandard)"
        ) from None
