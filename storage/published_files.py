"""Reads published files: whole or in part, below their thread's folder and nowhere else, without following links."""

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import fsspec

from storage.artifacts import Artifacts, StorageError
from storage.blobs import BlobError, Blobs

PIECE = 1 << 18
MAX_PART = 255


class NoSuchArtifactError(Exception):
    """There is no published file of that name."""


class PublishedFile(Protocol):
    """A published file that can be read."""

    @property
    def size(self) -> int:
        """Bytes."""

    @property
    def version(self) -> str:
        """Another one when the content is another one."""

    def pieces(self, start: int, end: int) -> AsyncIterator[bytes]:
        """The bytes from `start` up to, not with, `end`, some at a time."""


@asynccontextmanager
async def open_published(artifacts: Artifacts, thread: str, name: str) -> AsyncIterator[PublishedFile]:
    """Open a published file for the time of the block.

    Raises:
        NoSuchArtifactError: there is none of that name, or the name leads elsewhere.
        StorageError: the storage cannot be reached.
    """
    if not is_plain(name) or not is_plain(thread) or "/" in thread:
        raise NoSuchArtifactError(name)
    folder = artifacts.folder(thread)
    if "://" in folder:
        yield await asyncio.to_thread(_remote, folder, name)
        return
    async with open_local(folder, name) as file:
        yield file


@asynccontextmanager
async def open_local(folder: str, name: str) -> AsyncIterator[PublishedFile]:
    """Open a file below a folder of this machine for the time of the block.

    Raises:
        NoSuchArtifactError: there is none, or the way to it has links.
    """
    file = await asyncio.to_thread(_local, folder, name)
    try:
        yield file
    finally:
        await asyncio.to_thread(os.close, file.descriptor)


def is_plain(name: str) -> bool:
    """Whether a path is relative and has ordinary parts only, so that it leads down and nowhere else."""
    parts = name.split("/")
    return all(
        part not in ("", ".", "..") and len(part.encode("utf-8", "surrogatepass")) <= MAX_PART for part in parts
    ) and not any(char == "\\" or ord(char) < ord(" ") or "\ud800" <= char <= "\udfff" for char in name)


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file whose pieces lie in a store of blobs; only those of the part that is asked for are read.

    Args:
        blobs: The store.
        chunks: The pieces' hashes, in their order.
        size: Bytes of the file.
        version: Another one when the content is another one.
        piece: Bytes of every piece but the last.
    """

    blobs: Blobs
    chunks: tuple[str, ...]
    size: int
    version: str
    piece: int

    async def pieces(self, start: int, end: int) -> AsyncIterator[bytes]:
        """See `PublishedFile`; each piece is checked by its hash and its size.

        Raises:
            StorageError: a piece cannot be read, or is not what the file is made of.
        """
        for number in range(start // self.piece, -(-end // self.piece)):
            begin = number * self.piece
            try:
                data = await self.blobs.read(self.chunks[number], max_bytes=self.piece)
            except BlobError:
                raise StorageError("A piece of the file cannot be read.") from None
            if len(data) != min(self.piece, self.size - begin):
                raise StorageError("A piece of the file has another size than its snapshot says.")
            yield data[max(start - begin, 0) : end - begin]


@dataclass(frozen=True, slots=True)
class FileBeginning:
    """The first bytes of a file, which has more.

    Args:
        data: They.
        size: Bytes of the file.
        version: Another one when the content is another one.
    """

    data: bytes
    size: int
    version: str

    async def pieces(self, start: int, end: int) -> AsyncIterator[bytes]:
        """See `PublishedFile`.

        Raises:
            StorageError: more was asked for.
        """
        if end > len(self.data):
            raise StorageError("Only the beginning of the file was opened.")
        yield self.data[start:end]


@dataclass(frozen=True, slots=True)
class _LocalFile:
    descriptor: int
    size: int
    version: str

    async def pieces(self, start: int, end: int) -> AsyncIterator[bytes]:
        while start < end:
            piece = await asyncio.to_thread(os.pread, self.descriptor, min(PIECE, end - start), start)
            if not piece:
                raise StorageError("The file became shorter while it was read; ask for it again.")
            start += len(piece)
            yield piece


def _local(folder: str, name: str) -> _LocalFile:
    *folders, last = name.split("/")
    try:
        at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for part in folders:
                below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
                os.close(at)
                at = below
            # A pipe would have us wait for somebody to write to it.
            descriptor = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
        finally:
            os.close(at)
    except OSError:
        raise NoSuchArtifactError(name) from None
    state = os.fstat(descriptor)
    if not stat.S_ISREG(state.st_mode):
        os.close(descriptor)
        raise NoSuchArtifactError(name)
    return _LocalFile(descriptor, state.st_size, f"{state.st_mtime_ns:x}-{state.st_size:x}-{state.st_ino:x}")


@dataclass(frozen=True, slots=True)
class _RemoteFile:
    folder: str
    name: str
    filesystem: Any
    path: str
    size: int
    version: str

    async def pieces(self, start: int, end: int) -> AsyncIterator[bytes]:
        begun = start
        while start < end:
            stop = min(start + 4 * PIECE, end)
            try:
                piece = await asyncio.to_thread(self.filesystem.cat_file, self.path, start=start, end=stop)
            except Exception as error:  # every fsspec backend raises exceptions of its own
                raise StorageError(f"The file cannot be read ({type(error).__name__}).") from None
            if len(piece) != stop - start:
                raise StorageError("The file became shorter while it was read; ask for it again.")
            if begun < start and stop == end:  # it came in several requests, between which it may have been replaced
                again = await asyncio.to_thread(_remote, self.folder, self.name)
                if again.version != self.version:
                    raise StorageError("The file was replaced while it was read; ask for it again.")
            start = stop
            yield piece


def _remote(folder: str, name: str) -> _RemoteFile:
    try:
        filesystem, root = fsspec.url_to_fs(folder, use_listings_cache=False)
        path = f"{str(root).rstrip('/')}/{name}"
        info = filesystem.info(path)
        if info["type"] != "file":
            raise NoSuchArtifactError(name)
        marks = (
            info.get(key) for key in ("ETag", "etag", "mtime", "LastModified", "last_modified", "updated", "created")
        )
        mark = "".join(char for char in str(next((one for one in marks if one), "")) if char.isalnum())
        return _RemoteFile(folder, name, filesystem, path, int(info["size"]), f"{mark}-{int(info['size']):x}")
    except NoSuchArtifactError:
        raise
    except FileNotFoundError:
        raise NoSuchArtifactError(name) from None
    except Exception as error:  # every fsspec backend raises exceptions of its own
        raise StorageError(f"The published files cannot be read now ({type(error).__name__}).") from None
