"""The files of the workspace as a table: what is in it, and making a folder exactly so."""

import os
import stat
import time
from collections.abc import Iterator
from typing import Any, BinaryIO

from ...dict_contents import is_alone
from ...shared_state import SharedMap, SharedMaps
from ..storing.blobs import CHUNK, Blobs, Spool
from .locks import own_descriptors, read
from .package_trees import LEFT_OUT, RACY_NS, UNIT, Trees

PARTIAL = ".stepwell-"
"""How the names of files begin that the host is still copying."""
ZEROS = bytes(64 << 10)
"""What becomes a hole in a file that is written."""
LOOK_AGAIN = 0.02
"""Seconds after which it is looked again which files are open, if other threads run."""
SPARSE = 16 << 20
"""Bytes from which on a file may count as one with holes."""

Key = tuple[int, int, int, int]
"""Size, time of change, time of status change, inode."""
Entry = dict[str, Any]


class FileTable:
    """The workspace of a session.

    Args:
        root: Its folder.
    """

    place = "the workspace"

    def __init__(self, root: str) -> None:
        self._root = root
        self._seen: dict[str, tuple[Key, int, list[str]]] = {}
        self._sizes: dict[str, int] = {}
        self._trees = Trees()
        self._maps = SharedMaps()
        self._mapped: set[int] = set()
        self._looked = 0.0
        self._open: dict[tuple[int, int], int | None] | None = None
        """The inodes of files whose times need not tell that they are written."""

    def _is_written(self, mapped: SharedMap) -> bool:
        """Whether a file of the folder is written by writing to memory."""
        return mapped.is_writable and is_below(self._root, mapped.path)

    def sizes(self) -> dict[str, int]:
        """The sizes of the files that the last snapshot came to."""
        return self._sizes

    @property
    def root(self) -> str:
        """Its folder."""
        return self._root

    @property
    def seen(self) -> dict[str, tuple[Key, int, list[str]]]:
        """The files as they were found last: their marks, when that was, and what they held."""
        return self._seen

    @property
    def trees(self) -> Trees:
        """What is known of folders of packages."""
        return self._trees

    def walk(self) -> Iterator[tuple[str, os.stat_result]]:
        """All that belongs to a snapshot: path and status."""
        return self._walk("", [])

    def adopt(self, wanted: dict[str, Entry]) -> None:
        """Take what a snapshot has for the session's own; all of a workspace is."""

    def take(self, spool: Spool, lost: list[dict[str, Any]]) -> dict[str, Entry]:
        """Put what is new into the spool.

        Args:
            spool: Where it goes.
            lost: Filled with what cannot be kept: sockets, links that lead out, files that cannot be read.

        Returns:
            path → `{"mode", "size", "mtime", "chunks"}` for a file, `{"mode", "folder": true}`, `{"link"}`, or
            `{"tree": true, "size", "chunks"}` for a folder of an installed package with all that is in it. A file that
            is another name of one before it has that one's path, too, as `same_as`.
        """
        found: dict[str, Entry] = {}
        seen: dict[str, tuple[Key, int, list[str]]] = {}
        self._sizes = {}
        self._mapped = {one.inode for one in self._maps.now(self._is_written)}
        self._open = None
        inodes: dict[tuple[int, int], str] = {}
        for path, status in self._walk("", lost):
            full = os.path.join(self._root, path)
            try:
                if stat.S_ISLNK(status.st_mode):
                    found[path] = self.link(full)
                elif stat.S_ISDIR(status.st_mode) and UNIT.fullmatch(path):
                    found[path] = self._trees.take(path, full, spool)
                    self._sizes[path] = found[path]["size"]
                elif stat.S_ISDIR(status.st_mode):
                    mode = stat.S_IMODE(status.st_mode)
                    found[path] = {"folder": True, "mode": mode, "mtime": status.st_mtime_ns}
                elif stat.S_ISREG(status.st_mode):
                    found[path] = self._file(path, full, status, spool, seen)
                    if status.st_nlink > 1:
                        first = inodes.setdefault((status.st_dev, status.st_ino), path)
                        found[path] |= {"same_as": first} if first != path else {}
                else:
                    raise ValueError("neither a file, a folder nor a link")
            except (PermissionError, FileNotFoundError, ValueError) as error:
                reason = str(error.strerror or error) if isinstance(error, OSError) else str(error)
                lost.append({"name": self.named(path), "type": "file", "reason": reason})
        self._seen = seen
        return dict(sorted(found.items()))

    def _walk(self, folder: str, lost: list[dict[str, Any]]) -> Iterator[tuple[str, os.stat_result]]:
        try:
            with os.scandir(os.path.join(self._root, folder)) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if isinstance(error, PermissionError):
                reason = f"what is in it cannot be read ({error.strerror})"
                lost.append({"name": self.named(folder), "type": "file", "reason": reason})
            return
        for entry in listed:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.name in LEFT_OUT or self.is_foreign(path) or entry.name.startswith(PARTIAL):
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            yield path, status
            if stat.S_ISDIR(status.st_mode) and not UNIT.fullmatch(path):
                yield from self._walk(path, lost)

    def named(self, path: str) -> str:
        """What people know a file by."""
        return path

    def target(self, entry: Entry) -> str:
        """Where a link leads."""
        return os.path.join(self._root, entry["link"]) if entry.get("absolute") else str(entry["link"])

    def link(self, full: str) -> Entry:
        """A link as an entry; an absolute one from where the folder is, which has another place in another sandbox.

        Raises:
            ValueError: it may not be kept.
        """
        target = os.readlink(full)
        is_absolute = os.path.isabs(target)
        if not is_below(os.path.realpath(self._root), os.path.realpath(full)) or (
            is_absolute and not is_below(self._root, target)
        ):
            raise ValueError(f"a link that leads out of {self.place}, to {target}")
        entry: Entry = {"link": target, "mtime": os.lstat(full).st_mtime_ns}
        return entry | {"link": os.path.relpath(target, self._root), "absolute": True} if is_absolute else entry

    def is_foreign(self, path: str) -> bool:
        """Whether a path is left alone."""
        return path == "inputs"

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
        is_known = before is not None and before[0] == key and status.st_ino not in self._mapped
        if before is not None and is_known and key[1] + RACY_NS < before[1] and key[2] + RACY_NS < before[1]:
            seen[path] = before
            chunks = before[2]
        else:
            now = time.time_ns()
            spool.count(_holes(status))
            # Another thread may take a lock at any time; for thousands of files, it is not asked each time.
            if self._open is None or (self._looked + LOOK_AGAIN < time.monotonic() and not is_alone()):
                self._open, self._looked = own_descriptors(), time.monotonic()
            # An empty one may be there for nothing but its lock, which closing any descriptor of it takes away.
            chunks, status = read(full, status, self._open, spool) if status.st_size else ([], status)
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
        self._check(wanted)
        self._remove_others(wanted)
        for path, entry in wanted.items():
            full = os.path.join(self._root, path)
            if entry.get("folder"):
                os.makedirs(full, exist_ok=True)
                os.chmod(full, 0o700)
        # A name that is another one's stands before it now and then: `a.txt` before `a/x`.
        for path, entry in sorted(wanted.items(), key=lambda item: "same_as" in item[1]):
            full = os.path.join(self._root, path)
            if entry.get("tree"):
                if not os.path.isdir(full):
                    self._trees.restore(path, full, entry, blobs)
            elif "link" in entry:
                os.symlink(self.target(entry), full)
            elif "chunks" in entry:
                os.makedirs(os.path.dirname(full), exist_ok=True)
                _part(full, entry)
                if "same_as" in entry:
                    os.link(os.path.join(self._root, entry["same_as"]), full)
                else:
                    self._write(full, entry, blobs)
                status = os.lstat(full)
                self._seen[path] = (_key(status), time.time_ns(), list(entry["chunks"]))
        for path, entry in sorted(wanted.items(), reverse=True):
            if entry.get("folder"):
                os.chmod(os.path.join(self._root, path), entry["mode"])
        self.set_times(wanted)

    def set_times(self, wanted: dict[str, Entry]) -> None:
        """Give folders and links the times of their changes; earlier snapshots do not have them."""
        for path, entry in wanted.items():
            if "chunks" not in entry and "mtime" in entry:
                full = os.path.join(self._root, path)
                if os.lstat(full).st_mtime_ns != entry["mtime"]:
                    os.utime(full, ns=(entry["mtime"], entry["mtime"]), follow_symlinks=False)

    def _check(self, wanted: dict[str, Entry]) -> None:
        for path, entry in wanted.items():
            if path.startswith("/") or ".." in path.split("/") or not path or self.is_foreign(path.split("/")[0]):
                raise ValueError(f"the snapshot names a file outside the workspace: {path!r}")
            if "same_as" in entry and "chunks" not in wanted.get(entry["same_as"], {}):
                raise ValueError(f"the snapshot names a file that it does not have: {entry['same_as']!r}")

    def _remove_others(self, wanted: dict[str, Entry]) -> None:
        for folder, folders, names in os.walk(self._root, topdown=True):
            if folder != self._root:
                os.chmod(folder, 0o700)
            below = os.path.relpath(folder, self._root)
            prefix = "" if below == "." else below + "/"
            for name in [*names, *folders]:
                path, full = prefix + name, os.path.join(folder, name)
                if self.is_foreign(path):
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
                    write_sparsely(file, blobs.read(chunk))
                file.truncate(entry["size"])
            os.replace(partial, full)
        os.chmod(full, entry["mode"])
        os.utime(full, ns=(entry["mtime"], entry["mtime"]))


def write_sparsely(file: BinaryIO, data: bytes) -> None:
    """Write a chunk, and leave holes where it is nothing but zeros."""
    if data.find(ZEROS) < 0:
        file.write(data)
        return
    for start in range(0, len(data), len(ZEROS)):
        piece = data[start : start + len(ZEROS)]
        if piece == ZEROS:
            file.seek(len(piece), os.SEEK_CUR)
        else:
            file.write(piece)


def is_below(folder: str, path: str) -> bool:
    """Whether a path is in a folder."""
    return os.path.join(path, "").startswith(os.path.join(folder, ""))


def _key(status: os.stat_result) -> Key:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _holes(status: os.stat_result) -> int:
    """Bytes of a file that is mostly holes which take no room; a small one, or one a disk has packed, has none."""
    holes = status.st_size - 512 * status.st_blocks
    return holes if status.st_size >= SPARSE and 2 * holes > status.st_size else 0


def _holds(full: str, entry: Entry) -> bool:
    """Whether a file holds what is wanted already."""
    from ..storing.blobs import hash_of

    try:
        if os.lstat(full).st_size != entry["size"]:
            return False
        os.chmod(full, 0o600)
        with open(full, "rb") as file:
            return all(hash_of(file.read(CHUNK)) == chunk for chunk in entry["chunks"]) and not file.read(1)
    except OSError:
        return False


def _part(full: str, entry: Entry) -> None:
    """Take away a file that is, or is to be, one with another."""
    try:
        is_shared = os.lstat(full).st_nlink > 1
    except FileNotFoundError:
        return
    if is_shared or "same_as" in entry:
        os.unlink(full)


def _remove_tree(full: str) -> None:
    os.chmod(full, 0o700)
    with os.scandir(full) as entries:
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                _remove_tree(entry.path)
            else:
                os.unlink(entry.path)
    os.rmdir(full)
