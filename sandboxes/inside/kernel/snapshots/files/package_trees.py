"""Folders of installed packages: each is one stream in a snapshot, which is read and written as a whole."""

import json
import os
import re
import stat
import time
from collections.abc import Iterator
from typing import Any

from ...packages import FOLDER
from ..storing.blobs import CHUNK, Blobs, Spool

UNIT = re.compile(re.escape(FOLDER) + r"/[^/]+/[^/]+/site-packages/[^/]+")
"""What is one stream: all that lies directly in a folder for packages."""
LENGTH = 8
"""Bytes before the header."""
MAX_HEADER = 64 << 20
LEFT_OUT = frozenset({"__pycache__"})
RACY_NS = 20_000_000
"""A file changed that shortly before it was read may change again within the same tick of its clock."""

Row = tuple[str, int, int, int, str]
"""Path in the folder, mode, size, time of change, where a link leads."""
Marks = list[tuple[Row, int, int]]
"""With the time of status change and the inode."""


class Trees:
    """What is known of the packages' folders of a session."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[Marks, dict[str, Any]]] = {}

    def take(self, path: str, full: str, spool: Spool) -> dict[str, Any]:
        """Put a folder into the spool, unless it is as it was.

        Returns:
            `{"tree": true, "size", "chunks"}`.

        Raises:
            OSError: a file cannot be read.
            ValueError: one changed while it was read.
        """
        marks = list(_walk(full, ""))
        before = self._seen.get(path)
        if before is not None and before[0] == marks:
            return before[1]
        now = time.time_ns()
        chunks, size = _pack(full, [row for row, _, _ in marks], spool)
        entry = {"tree": True, "size": size, "chunks": chunks}
        if all(max(row[3], changed) + RACY_NS < now for row, changed, _ in marks):
            self._seen[path] = (marks, entry)
        return entry

    def is_so(self, path: str, full: str, entry: dict[str, Any]) -> bool:
        """Whether a folder holds what is wanted already, as far as that is known."""
        before = self._seen.get(path)
        return before is not None and before[1] == entry and before[0] == list(_walk(full, ""))

    def restore(self, path: str, full: str, entry: dict[str, Any], blobs: Blobs) -> None:
        """Make a folder, which is not there, as an entry says.

        Raises:
            MissingBlobError: a blob is missing or damaged.
            OSError: it cannot be written.
            ValueError: it names a path outside.
        """
        stream = _Stream(entry["chunks"], blobs)
        rows = json.loads(stream.read(int.from_bytes(stream.read(LENGTH), "big"), MAX_HEADER))
        os.makedirs(full)
        folders = []
        for name, mode, size, changed, link in rows:
            if name.startswith("/") or ".." in name.split("/"):
                raise ValueError(f"the snapshot names a file outside the workspace: {name!r}")
            target = os.path.join(full, name) if name else full
            if link:
                os.symlink(link, target)
            elif stat.S_ISDIR(mode):
                os.makedirs(target, exist_ok=True)
                folders.append((target, mode))
            else:
                with open(target, "xb") as file:
                    for data in stream.pieces(size):
                        file.write(data)
                os.chmod(target, stat.S_IMODE(mode))
                os.utime(target, ns=(changed, changed))
        for target, mode in reversed(folders):
            os.chmod(target, stat.S_IMODE(mode))
        self._seen[path] = (list(_walk(full, "")), entry)


def _walk(full: str, below: str) -> Iterator[tuple[Row, int, int]]:
    """Folders before what is in them, all sorted by path; what is neither file, folder nor link is left out."""
    status = os.lstat(os.path.join(full, below) if below else full)
    # The time of change of a folder changes with what Python caches in it, which is left out.
    yield (below, status.st_mode, 0, 0, ""), 0, 0
    with os.scandir(os.path.join(full, below) if below else full) as entries:
        listed = sorted(entries, key=lambda entry: entry.name)
    for entry in listed:
        name = f"{below}/{entry.name}" if below else entry.name
        if entry.name in LEFT_OUT:
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(full, name)
            continue
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode):
            yield (name, status.st_mode, 0, 0, os.readlink(entry.path)), 0, 0
        elif stat.S_ISREG(status.st_mode):
            row = (name, status.st_mode, status.st_size, status.st_mtime_ns, "")
            yield row, status.st_ctime_ns, status.st_ino


def _pack(full: str, rows: list[Row], spool: Spool) -> tuple[list[str], int]:
    header = json.dumps(rows, separators=(",", ":")).encode()
    waiting = bytearray(len(header).to_bytes(LENGTH, "big") + header)
    chunks: list[str] = []
    total = 0
    for name, mode, size, _, _ in rows:
        if not stat.S_ISREG(mode):
            continue
        left = size
        with open(os.path.join(full, name), "rb", buffering=0) as file:
            while left and (data := file.read(min(left, 16 * CHUNK))):
                left -= len(data)
                waiting += data
                while len(waiting) >= CHUNK:
                    chunks.append(spool.put(bytes(waiting[:CHUNK])))
                    del waiting[:CHUNK]
                    total += CHUNK
        if left:
            raise ValueError("it changed while it was read")
    total += len(waiting)
    return [*chunks, spool.put(bytes(waiting))], total


class _Stream:
    """Reads on over the ends of blobs."""

    def __init__(self, chunks: list[str], blobs: Blobs) -> None:
        self._chunks = iter(chunks)
        self._blobs = blobs
        self._rest = b""

    def pieces(self, size: int) -> Iterator[bytes]:
        """The next bytes, in pieces."""
        while size:
            if not self._rest:
                self._rest = self._blobs.read(self._next())
            piece, self._rest = self._rest[:size], self._rest[size:]
            size -= len(piece)
            yield piece

    def _next(self) -> str:
        chunk = next(self._chunks, None)
        if chunk is None:
            raise ValueError("a stream of packages in the snapshot is too short")
        return chunk

    def read(self, size: int, limit: int = LENGTH) -> bytes:
        """The next bytes in one."""
        if size > limit:
            raise ValueError("a stream of packages in the snapshot is damaged")
        return b"".join(self.pieces(size))
