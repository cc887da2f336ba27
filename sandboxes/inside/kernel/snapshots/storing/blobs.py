"""Blobs: bytes named by their sha256. New ones go into a spool, all of them or none."""

import hashlib
import os
import secrets
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

CHUNK = 1 << 20
"""Bytes of one blob at most, rows of arrays aside."""
PARTIAL = ".new-"
THREADS = 4


class TooLargeError(Exception):
    """The new blobs of a snapshot pass its limit."""


class MissingBlobError(Exception):
    """A blob is not there, or it is not what its name says."""


def hash_of(data: bytes | bytearray | memoryview) -> str:
    """The name of a blob."""
    return hashlib.sha256(data).hexdigest()


def verify(data: bytes | memoryview, name: str) -> None:
    """See whether this is the content of a blob.

    Raises:
        MissingBlobError: it is not.
    """
    if hash_of(data) != name:
        raise MissingBlobError(f"blob {name} is damaged: its content has another hash")


def cut(data: memoryview, size: int = CHUNK) -> list[memoryview]:
    """Pieces of that size, the last one shorter; none for nothing."""
    return [data[start : start + size] for start in range(0, len(data), size)]


class Spool:
    """Where the blobs of one snapshot after the other are written, for the host to take them out.

    Args:
        folder: The spool.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.known: set[str] = set()
        """Blobs that were written here before, or that a restored snapshot named: they need not be written again."""
        self.size = 0
        """Bytes of the new blobs."""
        self._new: dict[str, str] = {}
        self._limit = 0
        self._holes = 0
        self._begun = False

    def begin(self, limit: int) -> None:
        """Begin a snapshot whose new blobs may have `limit` bytes."""
        os.makedirs(self.folder, exist_ok=True)
        self.abort()
        if not self._begun:  # a session that died in the middle of a snapshot left its pieces
            self._new = {path: path for path in _partial(self.folder)}
            self.abort()
            self._begun = True
        self._limit = limit
        self._holes = 0

    def count(self, holes: int) -> None:
        """Count what has to be read and takes no room, as the holes of a sparse file, like new blobs.

        Raises:
            TooLargeError: it passes the limit.
        """
        self._holes += holes
        if self.size + self._holes > self._limit:
            raise TooLargeError

    def put(self, data: bytes | bytearray | memoryview, name: str = "") -> str:
        """Write a blob if it is new.

        Returns:
            Its name.

        Raises:
            OSError: it cannot be written.
            TooLargeError: it passes the limit.
        """
        name = name or hash_of(data)
        if name in self.known or name in self._new:
            return name
        if self.size + self._holes + len(data) > self._limit:
            raise TooLargeError
        path = os.path.join(self.folder, PARTIAL + secrets.token_hex(8))
        self._new[name] = path
        self.size += len(data)
        with open(path, "xb", buffering=0) as file:
            left = memoryview(data)
            while left:
                left = left[file.write(left) or 0 :]
        return name

    def put_all(self, pieces: Sequence[memoryview]) -> list[str]:
        """Write many blobs; see `put`. They are hashed side by side."""
        if sum(map(len, pieces)) < 4 * CHUNK:
            return [self.put(piece) for piece in pieces]
        with ThreadPoolExecutor(min(THREADS, os.cpu_count() or 1)) as pool:
            return [self.put(piece, name) for piece, name in zip(pieces, pool.map(hash_of, pieces), strict=True)]

    def commit(self, manifest: bytes) -> tuple[str, list[str]]:
        """Make the blobs visible, and after them the manifest.

        Nothing is made to last here: a spool does not outlive its machine, and the store makes its own copies last,
        each checked by its hash.

        Returns:
            The name of the manifest, and all that is new, the manifest last.
        """
        written = list(self._new)
        for name, path in self._new.items():
            os.rename(path, os.path.join(self.folder, name))
        self.known.update(written)
        self._new.clear()
        id = self.put(manifest)
        for path in self._new.values():
            os.rename(path, os.path.join(self.folder, id))
            written.append(id)
        self.known.add(id)
        self._new.clear()
        return id, written

    def abort(self) -> None:
        """Remove what was written since `begin`."""
        for path in self._new.values():
            try:
                os.unlink(path)
            except OSError:
                continue
        self._new.clear()
        self.size = 0


class Blobs:
    """Reads blobs out of folders, and never gives out one that is not what its name says."""

    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = [folder for folder in folders if folder]

    def read(self, name: str) -> bytes:
        """A whole blob.

        Raises:
            MissingBlobError: it is not there, or damaged.
        """
        try:
            with open(self._path(name), "rb") as file:
                data = file.read()
        except OSError as error:
            raise MissingBlobError(f"blob {name} cannot be read ({error.strerror})") from error
        verify(data, name)
        return data

    def read_into(self, name: str, target: memoryview, *, check: bool = True) -> None:
        """Fill memory with a blob of exactly that size.

        Args:
            name: The blob.
            target: The memory.
            check: Whether its content is hashed; False where another check follows.

        Raises:
            MissingBlobError: it is not there, or damaged.
        """
        try:
            with open(self._path(name), "rb", buffering=0) as file:
                filled = 0
                while filled < len(target) and (size := file.readinto(target[filled:])):
                    filled += size
                more = file.read(1)
        except OSError as error:
            raise MissingBlobError(f"blob {name} cannot be read ({error.strerror})") from error
        if filled != len(target) or more:
            raise MissingBlobError(f"blob {name} is damaged: it has another size")
        if check:
            verify(target, name)

    def has(self, name: str) -> bool:
        """Whether a blob is there, whole or not."""
        return any(os.path.exists(os.path.join(folder, name)) for folder in self._folders)

    def size(self, name: str) -> int:
        """How many bytes a blob has.

        Raises:
            MissingBlobError: it is not there.
        """
        try:
            return os.path.getsize(self._path(name))
        except OSError as error:
            raise MissingBlobError(f"blob {name} cannot be read ({error.strerror})") from error

    def check(self, names: Iterable[str]) -> None:
        """Read blobs only to see that they are what their names say.

        Raises:
            MissingBlobError: one is not there, or damaged.
        """
        with ThreadPoolExecutor(min(THREADS, os.cpu_count() or 1)) as pool:
            for _ in pool.map(self.read, names):
                continue

    def _path(self, name: str) -> str:
        if len(name) != 64 or not set(name) <= set("0123456789abcdef"):
            raise MissingBlobError(f"{name[:100]!r} is not the name of a blob")
        for folder in self._folders:
            path = os.path.join(folder, name)
            if os.path.exists(path):
                return path
        raise MissingBlobError(f"blob {name} is missing")


def _partial(folder: str) -> list[str]:
    return [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith(PARTIAL)]
