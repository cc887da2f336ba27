"""How a blob lies in the store: as it is, or as one zstd frame (RFC 8878) where that saves room.

A frame is known by its first four bytes. A content that happens to begin with them is always made a frame, so nothing
else has to be remembered.
"""

import io
import threading
from pathlib import Path
from typing import Any, BinaryIO

from typing_extensions import override

MAGIC = b"\x28\xb5\x2f\xfd"
LEVEL = 1
"""Beside writing to a disk it costs nothing; higher levels save a tenth more and take several times as long."""
SMALLEST = 512
"""Bytes from which on it is tried."""
SAMPLE = 64 << 10
"""Bytes that are tried first: floating-point noise does not become smaller."""
WORTH = 0.9
"""What is left must be less than this part."""
WHOLE = 64 << 20
"""What is larger stays as it is, unless it must be a frame."""


def compress_file(file: Path) -> None:
    """Replace a file of ours by its packed form, if that is worth it."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        begins = stream.read(SAMPLE)
        must = begins.startswith(MAGIC)
        if not must and not SMALLEST <= size <= WHOLE:
            return
        tried = b"" if must else _compress(begins)
        if not must and len(tried) >= WORTH * len(begins):
            return
        partial = file.with_name(f"{file.name}.packed")
        if must:  # however large it is: a piece at a time
            stream.seek(0)
            with partial.open("wb") as out:
                _compressor().copy_stream(stream, out, size=size)
        else:
            packed = tried if size <= SAMPLE else _compress(begins + stream.read())
            if len(packed) >= WORTH * size:
                return
            partial.write_bytes(packed)
    partial.replace(file)


def decompressed(stream: BinaryIO) -> BinaryIO:
    """The content of a blob, read from how it lies in the store."""
    if not is_compressed(stream):
        return stream
    return io.BufferedReader(_Unpacking(stream), 1 << 20)


def is_compressed(stream: BinaryIO) -> bool:
    """Whether a stored blob is a frame. The stream is at its beginning, and is left there."""
    begins = stream.read(len(MAGIC))
    stream.seek(0)
    return begins == MAGIC


class _Unpacking(io.RawIOBase):
    """Reads a frame. A damaged one ends early: then the content has another hash, and that is how it is found."""

    def __init__(self, stream: BinaryIO) -> None:
        import zstandard

        self._stream = stream
        self._damaged = zstandard.ZstdError
        self._reader = zstandard.ZstdDecompressor().stream_reader(stream, closefd=False)

    @override
    def readable(self) -> bool:
        return True

    @override
    def readinto(self, buffer: object, /) -> int:
        try:
            return int(self._reader.readinto(buffer))
        except self._damaged:
            return 0

    def close(self) -> None:
        """Close the stored blob too."""
        self._stream.close()
        super().close()


def _compress(data: bytes) -> bytes:
    compressed: bytes = _compressor().compress(data)
    return compressed


def _compressor() -> Any:
    """One for each thread, since to make one takes longer than to pack a small blob."""
    if not hasattr(_of_thread, "compressor"):
        import zstandard

        _of_thread.compressor = zstandard.ZstdCompressor(level=LEVEL)
    return _of_thread.compressor


_of_thread = threading.local()
