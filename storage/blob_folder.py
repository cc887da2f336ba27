"""Blobs in a folder: `ab/abcdef…`, read-only files, written aside and renamed."""

import hashlib
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

SHARD = re.compile(r"[0-9a-f]{2}")
"""The folders of blobs are named by the first two digits of their names. Anything else is somebody else's."""


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """Something that lies in a store."""

    name: str
    """The blob's name; empty for what is none, such as the remains of a writer that was killed."""
    key: str
    """Where it lies, relative to the store."""
    size: int
    age: float
    """Seconds since it was added, or added again."""


def note_of(owner: str) -> str:
    """The name of the note which says that this owner adds blobs."""
    return hashlib.sha256(owner.encode()).hexdigest()[:32]


def owner_in(note: str, content: bytes) -> str:
    """The owner that a note names; a damaged note counts as another owner, to be safe."""
    owner = content.decode("utf-8", "replace")
    return owner if note_of(owner) == note else damaged_note(note)


def damaged_note(note: str) -> str:
    """Stands for the owner of a note that cannot be read."""
    return f"an owner whose note {note} is damaged"


class BlobBackend(Protocol):
    """A place for blobs. All methods block; `FileNotFoundError` is the only exception that callers tell apart."""

    @property
    def location(self) -> str:
        """A folder or a URL."""

    def has(self, names: Sequence[str]) -> set[str]:
        """Which of these are there."""

    def staging(self) -> Path:
        """A folder on this machine for files on their way in; it exists."""

    def batch_writer(self) -> AbstractContextManager[Callable[[Path, str], None]]:
        """Gives a function that takes in a file from `staging` under a name.

        What is there already only becomes young again. On leaving, everything that was taken in is durable.
        """

    @property
    def files(self) -> Callable[[str], Path] | None:
        """Where a blob's file lies on this machine, by name; None when blobs are no files here."""

    def open(self, name: str) -> BinaryIO:
        """Read one.

        Raises:
            FileNotFoundError: it is not there.
        """

    def quarantine(self, name: str) -> None:
        """Take a damaged one out of the way, so that the same content can be added again."""

    def remove(self, key: str, *, older_than: float) -> bool:
        """Remove something, unless it is gone or not older than so many seconds at the moment of removal."""

    def entries(self) -> Iterator[list[StoredEntry]]:
        """All blobs and what writers left of them, in batches; nothing else that lies beside them."""

    def note_owner(self, owner: str) -> None:
        """Remember that somebody adds blobs."""

    def owners(self) -> set[str]:
        """Those that were noted."""


ARRIVING = "arriving"
OWNERS = "owners"
NAME_LENGTH = 64


class _Syncing:
    """Where files are made durable beside each other.

    It stays: to start threads for each step costs more than it saves.
    """

    def __init__(self) -> None:
        self.begin()
        os.register_at_fork(after_in_child=self.begin)

    def begin(self) -> None:
        """Have threads of this process: a forked one has none of its parent's."""
        self.pool = ThreadPoolExecutor(32, "stepwell-sync")


SYNCING = _Syncing()


class FolderBackend:
    """Blobs below a folder, which is made when the first one comes."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def location(self) -> str:
        """The folder."""
        return str(self._root)

    @property
    def files(self) -> Callable[[str], Path]:
        """Where a blob's file lies."""
        return self._file

    def has(self, names: Sequence[str]) -> set[str]:
        """Which of these are there."""
        return {name for name in names if self._file(name).exists()}

    def staging(self) -> Path:
        """A folder on the same file system, so that what arrives can be renamed."""
        folder = self._root / ARRIVING
        if folder.is_dir():
            return folder
        self._root.parent.mkdir(parents=True, exist_ok=True)
        self._root.mkdir(mode=0o700, exist_ok=True)  # it has the user's data
        folder.mkdir(exist_ok=True)
        return folder

    @contextmanager
    def batch_writer(self) -> Iterator[Callable[[Path, str], None]]:
        """Take files in: on leaving, their contents are made durable together, then they get their names, in order."""
        coming: list[tuple[Path, Path]] = []

        def put(file: Path, name: str) -> None:
            target = self._file(name)
            try:
                os.utime(target)
            except OSError:  # not there, or another user's: then it is written anew
                coming.append((file, target))
            else:
                file.unlink()

        yield put
        folders: dict[Path, None] = {}
        _at_once(_finish, [file for file, _ in coming])
        for file, target in coming:
            try:
                file.replace(target)
            except FileNotFoundError:
                target.parent.mkdir(parents=True, exist_ok=True)
                folders[self._root] = None
                file.replace(target)
            os.utime(target)  # a file that was moved in may be old
            folders[target.parent] = None
        _at_once(_sync, list(folders))

    def open(self, name: str) -> BinaryIO:
        """Read one."""
        return self._file(name).open("rb")

    def quarantine(self, name: str) -> None:
        """Rename a damaged one; `gc` removes it later."""
        file = self._file(name)
        with suppress(FileNotFoundError):
            file.rename(file.with_name(f"{name}.damaged"))

    def remove(self, key: str, *, older_than: float) -> bool:
        """Rename it first, so that a writer who adds it again at this moment does not lose it."""
        file = self._root / key
        if file.is_dir():  # what a killed writer was taking in
            return _age(file) > older_than and _remove_folder(file)
        gone = file.with_name(f".{file.name[:80]}.{secrets.token_hex(4)}.gone")
        try:
            if _age(file) <= older_than:
                return False
            file.rename(gone)
            if _age(gone) <= older_than:
                with suppress(FileExistsError):
                    os.link(gone, file)
                gone.unlink()
                return False
            gone.unlink()
        except FileNotFoundError:
            return False
        return True

    def entries(self) -> Iterator[list[StoredEntry]]:
        """Folder by folder."""
        for shard in _listed(self._root):
            if not shard.is_dir() or not (SHARD.fullmatch(shard.name) or shard.name == ARRIVING):
                continue
            batch = []
            for file in _listed(shard):
                with suppress(FileNotFoundError):
                    status = file.stat()
                    is_blob = len(file.name) == NAME_LENGTH and shard.name != ARRIVING
                    batch.append(
                        StoredEntry(
                            name=file.name if is_blob else "",
                            key=f"{shard.name}/{file.name}",
                            size=_size(file),
                            age=time.time() - status.st_mtime,
                        )
                    )
            yield batch

    def note_owner(self, owner: str) -> None:
        """Write the owner's name into a file of its own."""
        file = self._root / OWNERS / note_of(owner)
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            partial = file.with_name(f".{secrets.token_hex(8)}")
            partial.write_text(owner)
            partial.replace(file)

    def owners(self) -> set[str]:
        """Those that were noted."""
        notes = [file for file in _listed(self._root / OWNERS) if not file.name.startswith(".")]
        return {owner_in(file.name, file.read_bytes()) for file in notes}

    def _file(self, name: str) -> Path:
        return self._root / name[:2] / name


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:
        return []


def _age(file: Path) -> float:
    return time.time() - file.stat().st_mtime


def _size(file: Path) -> int:
    if file.is_dir():
        return sum(inner.stat().st_size for inner in file.iterdir() if inner.is_file())
    return file.stat().st_size


def _remove_folder(folder: Path) -> bool:
    for inner in _listed(folder):
        inner.unlink(missing_ok=True)
    folder.rmdir()
    return True


def _at_once(call: Callable[[Path], None], paths: list[Path]) -> None:
    """Call something with each path, side by side, the last one in this thread; it has ended for all when this ends."""
    waiting = [SYNCING.pool.submit(call, path) for path in paths[:-1]]
    try:
        for path in paths[-1:]:
            call(path)
    finally:
        wait(waiting)
    for one in waiting:
        one.result()


def _finish(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fchmod(descriptor, 0o444)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
