"""The blobs of a local sandbox on the host's side: out of its spool, and into the folder that it reads from.

Everything is copied: a file that code in the sandbox could still write to must not become part of a store. All
functions block; call them in a thread.
"""

import errno
import hashlib
import math
import os
import re
import shutil
import stat
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO

from sandboxes.base import Pack, SandboxUnavailableError, SnapshotMissingError, SnapshotTooLargeError, TakenBlob

NAME = re.compile(r"[0-9a-f]{64}")
PARTIAL = ".stepwell-"
PIECE = 1 << 20
"""Bytes that are copied at a time."""
AT_ONCE = 4
"""Files that are copied at the same time, and …"""
SEVERAL = 4 << 20
"""… the bytes from which on several are."""
SMALL = 64 << 10
"""Bytes up to which memory of its own is had for a file sooner than a whole piece."""
ZEROS = bytes(64 << 10)


@dataclass(slots=True)
class SpoolFolder:
    """A spool on this machine; see `SpoolHere`."""

    folder: Path
    dropped: list[str] = field(default_factory=list)
    """What `drop` removed."""
    ended: bool = False

    def take(
        self, names: Iterable[str], place: Callable[[str], Path], *, max_bytes: int, pack: Pack
    ) -> dict[str, TakenBlob]:
        """Copy blobs; see `Spool.take`.

        Raises:
            SnapshotMissingError: one is not a regular file in the spool.
            SnapshotTooLargeError: they have more than `max_bytes`.
        """
        return _take(self.folder, [checked(name) for name in names], place, max_bytes=max_bytes, pack=pack)

    def drop(self, names: Iterable[str]) -> None:
        """Remove blobs; what cannot be removed stays."""
        for name in names:
            if not self.ended:
                with suppress(OSError):
                    drop(self.folder, (name,))
                    self.dropped.append(name)


def take(spool: Path, names: Iterable[str], folder: Path, *, max_bytes: int | None = None) -> dict[str, TakenBlob]:
    """Copy blobs into a folder, each whole or not at all. Holes in files stay holes, and count as what they stand for.

    Returns:
        What was copied, by name.

    Raises:
        SnapshotMissingError: one is not a regular file in the spool.
        SnapshotTooLargeError: they have more than `max_bytes`; nothing was copied, unless one has grown meanwhile.
    """
    return _take(spool, [checked(name) for name in names], lambda name: folder / name, max_bytes=max_bytes, pack=None)


def _take(
    spool: Path, wanted: list[str], place: Callable[[str], Path], *, max_bytes: int | None, pack: Pack | None
) -> dict[str, TakenBlob]:
    room = math.inf if max_bytes is None else max_bytes
    if (size := sum(_size(spool, name) for name in wanted)) > room:
        raise too_large(size, max_bytes or 0)
    left, turn, buffers = [room], threading.Lock(), threading.local()

    def take_one(name: str) -> TakenBlob:
        with _opened(spool, name) as reading:
            size = os.fstat(reading.fileno()).st_size
            with turn:
                left[0] -= size
                if left[0] < 0:
                    raise too_large(size, max_bytes or 0)
            if pack is None or size > PIECE:
                return _copied(reading, place(name), size)
            if size > SMALL and not hasattr(buffers, "piece"):  # new memory for each costs more than reading into it
                buffers.piece = bytearray(PIECE)
            content = memoryview(buffers.piece if size > SMALL else bytearray(size))[:size]
            return _packed(reading.fileno(), place(name), content, partial(pack, name))

    if size < SEVERAL:
        return {name: take_one(name) for name in wanted}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(wanted, pool.map(take_one, wanted), strict=True))


def too_large(size: int, limit: int) -> SnapshotTooLargeError:
    """The error for new blobs that have too many bytes."""
    return SnapshotTooLargeError(
        f"New blobs of {size:,} bytes are more than the {limit:,} that are allowed; the snapshot was refused."
    )


def _size(spool: Path, name: str) -> int:
    try:
        status = os.lstat(spool / name)
    except OSError as error:
        raise SnapshotMissingError(f"The sandbox has no blob {name}.") from error
    if not stat.S_ISREG(status.st_mode):
        raise _no_file(name)
    return status.st_size


def _opened(spool: Path, name: str) -> BinaryIO:
    try:
        descriptor = os.open(spool / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise SnapshotMissingError(f"The sandbox has no blob {name}.") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _no_file(name)
    return os.fdopen(descriptor, "rb", buffering=0)


def _no_file(name: str) -> SnapshotMissingError:
    return SnapshotMissingError(f"The blob {name} of the sandbox is not a file.")


def _copied(reading: BinaryIO, target: Path, size: int) -> TakenBlob:
    """Copy a blob into a file, which is there once it is whole."""
    target.parent.mkdir(parents=True, exist_ok=True)
    coming = target.with_name(f"{PARTIAL}{target.name}")
    with coming.open("wb", buffering=0) as writing:
        found = _copy(reading.fileno(), writing.fileno(), size)
    coming.replace(target)
    return TakenBlob(found, size)


def _copy(source: int, target: int, size: int) -> str:
    """Copy so many bytes, and nothing where there are holes; what is missing at the end is a hole, too.

    Returns:
        The SHA-256 of what the copy holds.
    """
    at, digest = 0, hashlib.sha256()
    while at < size and (start := _data(source, at)) < size:
        _hash_hole(digest, start - at)
        end = min(_hole(source, start), size)
        os.lseek(source, start, os.SEEK_SET)
        os.lseek(target, start, os.SEEK_SET)
        while start < end and (piece := os.read(source, min(end - start, PIECE))):
            left = memoryview(piece)
            while left:
                left = left[os.write(target, left) :]
            digest.update(piece)
            start += len(piece)
        at = start
        if start < end:
            break  # it was cut off meanwhile
    _hash_hole(digest, size - at)
    os.ftruncate(target, size)
    return digest.hexdigest()


def _packed(source: int, target: Path, content: memoryview, pack: Callable[[memoryview], bytes | None]) -> TakenBlob:
    """Read a blob into `content`, which has its size, and write it, packed if that is worth it.

    Hashed and packed is what was read into this process, whatever becomes of the file meanwhile. What is missing at its
    end is zeros.
    """
    at = 0
    while at < len(content) and (count := os.readv(source, [content[at:]])):
        at += count
    content[at:] = bytes(len(content) - at)
    packed = pack(content)
    with target.open("xb", buffering=0) as writing:
        left = content if packed is None else memoryview(packed)
        while left:
            left = left[writing.write(left) :]
    return TakenBlob(hashlib.sha256(content).hexdigest(), len(content), settled=True)


def _hash_hole(digest: "hashlib._Hash", size: int) -> None:
    for start in range(0, size, len(ZEROS)):
        digest.update(ZEROS[: size - start])


def _data(source: int, at: int) -> int:
    if not hasattr(os, "SEEK_DATA"):
        return at
    try:
        return os.lseek(source, at, os.SEEK_DATA)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return sys.maxsize  # there is no more


def _hole(source: int, at: int) -> int:
    return os.lseek(source, at, os.SEEK_HOLE) if hasattr(os, "SEEK_HOLE") else sys.maxsize


def drop(folder: Path, names: Iterable[str]) -> None:
    """Remove blobs."""
    for name in names:
        (folder / checked(name)).unlink(missing_ok=True)


def supply(folder: Path, files: Iterable[Path], *, link: bool = False) -> None:
    """Put host files where the sandbox reads its blobs; those that it has already are left.

    Args:
        folder: There.
        files: Copied, or linked.
        link: Whether the sandbox can neither write to these files nor change what they belong to, so that they may be
            those of the store.

    Raises:
        SandboxUnavailableError: there is no room for them.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        distinct = {file.name: file for file in files}.values()
        with ThreadPoolExecutor(AT_ONCE) as pool:  # the disk reads ahead for one while another is written
            for _ in pool.map(lambda file: _supply(folder, file, link), distinct):
                continue
    except OSError as error:
        raise SandboxUnavailableError(
            f"The snapshot cannot be copied to {folder} ({error.strerror or error}). Free some space there, or choose "
            "another place with STEPWELL_HOME."
        ) from error


def _supply(folder: Path, file: Path, link: bool) -> None:
    target = folder / checked(file.name)
    if target.is_file() and target.stat().st_size == file.stat().st_size:
        return
    partial = folder / f"{PARTIAL}{file.name}"
    if not (link and _link(file, partial)):
        shutil.copyfile(file, partial)
    partial.replace(target)


def _link(file: Path, target: Path) -> bool:
    """Give a file a second name, if the sandbox can read it as it is."""
    try:
        target.unlink(missing_ok=True)
        if not stat.S_IMODE(file.lstat().st_mode) & stat.S_IROTH:
            return False
        os.link(file, target, follow_symlinks=False)
    except OSError:  # another file system, or one without
        return False
    return True


def drop_links(folder: Path) -> None:
    """Remove blobs that are files of the store, too: what reads here from now on could change them."""
    for entry in os.scandir(folder):
        if entry.stat(follow_symlinks=False).st_nlink > 1 and not entry.is_dir(follow_symlinks=False):
            Path(entry).unlink()


def names_in(folder: Path) -> frozenset[str]:
    """The blobs in a folder."""
    if not folder.is_dir():
        return frozenset()
    return frozenset(entry.name for entry in os.scandir(folder) if NAME.fullmatch(entry.name))


def checked(name: str) -> str:
    """A blob's name, which may come from a sandbox.

    Raises:
        ValueError: it is not one.
    """
    if not NAME.fullmatch(name):
        raise ValueError(f"{name[:100]!r} is not the name of a blob")
    return name
