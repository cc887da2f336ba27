"""The files of the workspace as a table: what is in it, and making a folder exactly so."""

import os
import stat
import time
from collections.abc import Iterator
from typing import Any

from .blobs import CHUNK, Blobs, Spool
from .trees import UNIT, Trees

LEFT_OUT = frozenset({"__pycache__"})
PARTIAL = ".stepwell-"
"""How the names of files begin that the host is still copying."""
SPARSE = 16 << 20
"""Bytes from which on a file may count as one with holes."""
RACY_NS = 20_000_000
"""A file changed that shortly before it was read may change again within the same tick of its clock."""

Key = tuple[int, int, int, int]
"""Size, time of change, time of status change, inode."""
Entry = dict[str, Any]


class Files:
    """The workspace of a session.

    Args:
        root: Its folder.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._seen: dict[str, tuple[Key, int, list[str]]] = {}
        self._sizes: dict[str, int] = {}
        self._trees = Trees()

    def sizes(self) -> dict[str, int]:
        """The sizes of the files that the last snapshot came to."""
        return self._sizes

    def take(self, spool: Spool, lost: list[dict[str, Any]]) -> dict[str, Entry]:
        """Put what is new into the spool.

        Args:
            spool: Where it goes.
            lost: Filled with what cannot be kept: sockets, links that lead out, files that cannot be read.

        Returns:
            path → `{"mode", "size", "mtime", "chunks"}` for a file, `{"mode", "folder": true}`, `{"link"}`, or
            `{"tree": true, "size", "chunks"}` for a folder of an installed package with all that is in it.
        """
        found: dict[str, Entry] = {}
        seen: dict[str, tuple[Key, int, list[str]]] = {}
        self._sizes = {}
        for path, status in self._walk(""):
            full = os.path.join(self._root, path)
            try:
                if stat.S_ISLNK(status.st_mode):
                    found[path] = self._link(full)
                elif stat.S_ISDIR(status.st_mode) and UNIT.fullmatch(path):
                    found[path] = self._trees.take(path, full, spool)
                    self._sizes[path] = found[path]["size"]
                elif stat.S_ISDIR(status.st_mode):
                    found[path] = {"folder": True, "mode": stat.S_IMODE(status.st_mode)}
                elif stat.S_ISREG(status.st_mode):
                    found[path] = self._file(path, full, status, spool, seen)
                else:
                    raise ValueError("neither a file, a folder nor a link")
            except (PermissionError, FileNotFoundError, ValueError) as error:
                reason = str(error.strerror or error) if isinstance(error, OSError) else str(error)
                lost.append({"name": path, "type": "file", "reason": reason})
        self._seen = seen
        return dict(sorted(found.items()))

    def _walk(self, folder: str) -> Iterator[tuple[str, os.stat_result]]:
        try:
            with os.scandir(os.path.join(self._root, folder)) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            return
        for entry in listed:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.name in LEFT_OUT or path == "inputs" or entry.name.startswith(PARTIAL):
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            yield path, status
            if stat.S_ISDIR(status.st_mode) and not UNIT.fullmatch(path):
                yield from self._walk(path)

    def _link(self, full: str) -> Entry:
        target = os.readlink(full)
        inside = os.path.join(os.path.realpath(self._root), "")
        if os.path.isabs(target) or not os.path.join(os.path.realpath(full), "").startswith(inside):
            raise ValueError(f"a link that leads out of the workspace, to {target}")
        return {"link": target}

    def _file(
        self,
        path: str,
        full: str,
        status: os.stat_result,
        spool: Spool,
        seen: dict[str, tuple[Key, int, list[str]]],
    ) -> Entry:
        self._sizes[path] = status.st_size
        before = self._seen.get(path)
        key = _key(status)
        if before is not None and before[0] == key and key[1] + RACY_NS < before[1] and key[2] + RACY_NS < before[1]:
            seen[path] = before
            chunks = before[2]
        else:
            now = time.time_ns()
            spool.count(_holes(status))
            chunks, status = _read(full, spool)
            seen[path] = (_key(status), now, chunks)
        return {
            "mode": stat.S_IMODE(status.st_mode),
            "size": status.st_size,
            "mtime": status.st_mtime_ns,
            "chunks": chunks,
        }

    def restore(self, wanted: dict[str, Entry], blobs: Blobs) -> None:
        """Make the workspace exactly so, `inputs/` aside.

        Raises:
            MissingBlobError: a blob is missing or damaged.
            OSError: it cannot be written.
            ValueError: the table names a path outside.
        """
        for path in wanted:
            _check(path)
        self._remove_others(wanted)
        for path, entry in wanted.items():
            full = os.path.join(self._root, path)
            if entry.get("folder"):
                os.makedirs(full, exist_ok=True)
                os.chmod(full, 0o700)
        for path, entry in wanted.items():
            full = os.path.join(self._root, path)
            if entry.get("tree"):
                if not os.path.isdir(full):
                    self._trees.restore(path, full, entry, blobs)
            elif "link" in entry:
                os.symlink(entry["link"], full)
            elif "chunks" in entry:
                os.makedirs(os.path.dirname(full), exist_ok=True)
                self._write(full, entry, blobs)
                status = os.lstat(full)
                self._seen[path] = (_key(status), time.time_ns(), list(entry["chunks"]))
        for path, entry in sorted(wanted.items(), reverse=True):
            if entry.get("folder"):
                os.chmod(os.path.join(self._root, path), entry["mode"])

    def _remove_others(self, wanted: dict[str, Entry]) -> None:
        for folder, folders, names in os.walk(self._root, topdown=True):
            if folder != self._root:
                os.chmod(folder, 0o700)
            below = os.path.relpath(folder, self._root)
            prefix = "" if below == "." else below + "/"
            for name in [*names, *folders]:
                path, full = prefix + name, os.path.join(folder, name)
                if path == "inputs":
                    continue
                entry = wanted.get(path, {})
                status = os.lstat(full)
                if stat.S_ISDIR(status.st_mode):
                    kept = entry.get("folder") or (entry.get("tree") and self._trees.is_so(path, full, entry))
                    if not kept and name in folders:
                        _remove_tree(full)
                elif not (stat.S_ISREG(status.st_mode) and "chunks" in entry):
                    os.unlink(full)
            folders[:] = [name for name in folders if wanted.get(prefix + name, {}).get("folder")]

    def _write(self, full: str, entry: Entry, blobs: Blobs) -> None:
        if not _holds(full, entry):
            partial = os.path.join(os.path.dirname(full), f"{PARTIAL}{os.getpid()}")
            with open(partial, "wb") as file:
                for chunk in entry["chunks"]:
                    file.write(blobs.read(chunk))
            os.replace(partial, full)
        os.chmod(full, entry["mode"])
        os.utime(full, ns=(entry["mtime"], entry["mtime"]))


def _key(status: os.stat_result) -> Key:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _holes(status: os.stat_result) -> int:
    """Bytes of a file that is mostly holes which take no room; a small one, or one a disk has packed, has none."""
    holes = status.st_size - 512 * status.st_blocks
    return holes if status.st_size >= SPARSE and 2 * holes > status.st_size else 0


def _read(full: str, spool: Spool) -> tuple[list[str], os.stat_result]:
    """The chunks of a file, and its status before it was read."""
    with open(full, "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        chunks: list[str] = []
        size = 0
        while size < status.st_size and (data := file.read(min(16 * CHUNK, status.st_size - size))):
            size += len(data)
            while len(data) % CHUNK and size < status.st_size and (more := file.read(CHUNK - len(data) % CHUNK)):
                size += len(more)
                data += more
            view = memoryview(data)
            chunks += spool.put_all([view[start : start + CHUNK] for start in range(0, len(view), CHUNK)])
    if size != status.st_size:
        raise ValueError("it changed while it was read")
    return chunks, status


def _holds(full: str, entry: Entry) -> bool:
    """Whether a file holds what is wanted already."""
    from .blobs import hash_of

    try:
        if os.lstat(full).st_size != entry["size"]:
            return False
        os.chmod(full, 0o600)
        with open(full, "rb") as file:
            return all(hash_of(file.read(CHUNK)) == chunk for chunk in entry["chunks"]) and not file.read(1)
    except OSError:
        return False


def _remove_tree(full: str) -> None:
    os.chmod(full, 0o700)
    with os.scandir(full) as entries:
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                _remove_tree(entry.path)
            else:
                os.unlink(entry.path)
    os.rmdir(full)


def _check(path: str) -> None:
    if path.startswith("/") or ".." in path.split("/") or not path or path.split("/")[0] == "inputs":
        raise ValueError(f"the snapshot names a file outside the workspace: {path!r}")
