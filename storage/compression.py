"""How a blob lies in the store: as it is, or as one zstd frame (RFC 8878) where that saves room.

A frame is known by its first four bytes. A content that happens to begin with them is always made a frame, so nothing
else has to be remembered.
"""

import io
import threading
from collections.abc import Callable
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
        partial = file.with_name(f"{file.name}.packed")
        if begins.startswith(MAGIC):  # it must be a frame, however large it is: a piece at a time
            stream.seek(0)
            with partial.open("wb") as out:
                _compressor().copy_stream(stream, out, size=size)
        else:
            packed = _if_worth(begins, size, lambda: begins + stream.read())
            if packed is None:
                return
            partial.write_bytes(packed)
    partial.replace(file)


def pack(content: memoryview) -> bytes | None:
    """What a content is packed to; None when it lies in the store as it is."""
    begins = content[:SAMPLE]
    if begins[: len(MAGIC)] == MAGIC:
        return _compress(content)
    return _if_worth(begins, len(content), lambda: content)


def _if_worth(begins: bytes | memoryview, size: int, whole: Callable[[], bytes | memoryview]) -> bytes | None:
    if not SMALLEST <= size <= WHOLE:
        return None
    tried = _compress(begins)
    if len(tried) >= WORTH * len(begins):
        return None
    packed = tried if size <= SAMPLE else _compress(whole())
    return packed if len(packed) < WORTH * size else None


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


def _compress(data: bytes | memoryview) -> bytes:
    compressed: bytes = _compressor().compress(data)
    return compressed


def _compressor() -> Any:
    """One for each thread, since to make one takes longer than to pack a small blob."""
    if not hasattr(_of_thread, "compressor"):
        import zstandard

        _of_thread.compressor = zstandard.ZstdCompressor(level=LEVEL)
    return _of_thread.compressor


_of_thread = threading.local()
