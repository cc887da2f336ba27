"""What snapshots are made of: contents, each named by the SHA-256 of what is in it, kept once for all threads.

A folder by default, any fsspec URL for several machines. A content is checked when it comes in and again when it goes
out, so a flipped bit is found and never handed on. Nothing is ever changed in place.
"""

import asyncio
import hashlib
import os
import re
import secrets
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, ParamSpec, Self, TypeVar

from storage.blob_folder import BlobBackend, FolderBackend, StoredEntry, damaged_note, note_of
from storage.blob_url import UrlBackend
from storage.compression import compress_file, decompressed, is_compressed
from storage.hashed_files import copy, each, hashed
from storage.inputs import without_password
from storage.missing_packages import missing

NAME = re.compile(r"[0-9a-f]{64}")
GRACE_SECONDS = 3_600.0
"""What is younger is left alone by `delete`: it may belong to a snapshot that no checkpoint names yet."""
AT_ONCE = 4
"""Blobs that are fetched or looked at at the same time."""
TOGETHER = 24
"""Files of this machine that are looked at in one go: to change to a thread costs as much as some looks."""

P = ParamSpec("P")
T = TypeVar("T")


class BlobError(Exception):
    """A blob cannot be stored or read; the message is one sentence that says which and why."""


class BlobTooLargeError(BlobError):
    """A blob has more bytes than are wanted of it."""


class BlobMissingError(BlobError):
    """A blob is not there, or what is there is not what its name says."""

    def __init__(self, name: str, sentence: str) -> None:
        super().__init__(sentence)
        self.name = name


class Blobs:
    """A store of blobs. Make one with `Blobs.at`.

    Args:
        backend: Where they lie.
        owner: A file that holds the name of who names these blobs in checkpoints; made when it is missing. The name is
            noted in the store with the first blob that is added, so that `stepwell gc` in one data folder does not
            remove what another one needs. None: not noted.
        shown: What errors call the store instead of its location; empty: its location.
    """

    def __init__(self, backend: BlobBackend, *, owner: Path | None = None, shown: str = "") -> None:
        self._backend = backend
        self._owner = owner
        self._shown = shown

    @classmethod
    def at(cls, location: str, *, owner: Path | None = None, shown: str = "") -> Self:
        """The store in a folder or at an fsspec URL; nothing is read or made before it is used."""
        if "://" in location:
            return cls(UrlBackend(location), owner=owner, shown=shown)
        return cls(FolderBackend(Path(location).expanduser().absolute()), owner=owner, shown=shown)

    @property
    def location(self) -> str:
        """Where it is, without passwords, or what it is called instead."""
        return self._shown or without_password(self._backend.location)

    async def has(self, names: Iterable[str]) -> set[str]:
        """Which of these are there; their contents are not looked at.

        Raises:
            BlobError: the store cannot be reached.
        """
        return await self._do(self._backend.has, [checked(name) for name in names])

    async def add_file(self, file: Path, name: str) -> None:
        """Copy a file in, unless its content is there already; afterwards it is on disk and counts as new for `delete`.

        Raises:
            BlobError: its content is not what the name says, or the store cannot be written.
        """
        await self._do(self._add, [(file, checked(name))], move=False)

    @asynccontextmanager
    async def staging(self) -> "AsyncIterator[Arrivals]":
        """A place of ours for files on their way in, on the store's own disk where it has one; removed afterwards.

        Raises:
            BlobError: it cannot be made.
        """
        folder = await self._do(self._make_folder)
        try:
            yield Arrivals(self, folder)
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def take_in(self, work: "Callable[[Arrivals], T]") -> T:
        """Call something with the same in a thread: to change between threads costs more than to store a small step.

        Raises:
            BlobError: as `staging` and what it gives.
        """
        made: list[Arrivals] = []

        def in_thread() -> T:
            with self._in_words():
                folder = self._backend.staging()
            arrivals = Arrivals(self, folder, mark=f"{secrets.token_hex(8)}.")
            made.append(arrivals)
            try:
                return work(arrivals)
            except BaseException as error:
                arrivals.remove()
                if isinstance(error, OSError | MemoryError):  # most likely there is no room
                    with self._in_words():
                        raise
                raise

        try:
            return await asyncio.to_thread(in_thread)
        except asyncio.CancelledError:
            for arrivals in made:  # what is uploaded for nobody ends with that
                await asyncio.to_thread(arrivals.remove)
            raise

    async def fetch(self, name: str, target: Path) -> int:
        """Copy a blob to a host path, whole or not at all, read-only.

        Returns:
            Its size in bytes.

        Raises:
            BlobMissingError: it is not there, or its content is damaged; a damaged one is put aside.
            BlobError: the store cannot be reached, or the target cannot be written.
        """
        return await self._do(self._fetch, checked(name), target)

    async def read(self, name: str, *, max_bytes: int) -> bytes:
        """A small blob.

        Raises:
            BlobMissingError: as `fetch`.
            BlobTooLargeError: it is larger than `max_bytes`.
            BlobError: the store cannot be reached.
        """
        return await self._do(self._read, checked(name), max_bytes)

    async def read_beginning(self, name: str, size: int) -> bytes:
        """The first bytes of a blob, to be looked at: only all of it could be checked by its hash.

        Raises:
            BlobMissingError: it is not there.
            BlobError: the store cannot be reached.
        """
        return await self._do(self._read_beginning, checked(name), size)

    @asynccontextmanager
    async def checkout(self, names: Sequence[str], *, check: bool = True) -> AsyncIterator[list[Path]]:
        """Files with the contents of these blobs, named like them, to be copied and not to be changed.

        Args:
            names: The blobs.
            check: Whether their contents are hashed here; False when whoever gets them does that.

        Raises:
            BlobMissingError: one is not there, or (when they are checked, or come from afar) damaged.
            BlobError: the store cannot be reached.
        """
        own = self._backend.files
        turn = asyncio.Semaphore(AT_ONCE)

        async def plain(own: Callable[[str], Path], some: Sequence[str]) -> dict[str, Path]:
            async with turn:
                return await self._do(self._plain, own, some)

        async def checked_file(file: Path, name: str) -> Path:
            async with turn:
                return await self._do(self._check, file, name)

        async def fetched(folder: Path, name: str) -> Path:
            async with turn:
                await self.fetch(name, folder / name)
                return folder / name

        found: dict[str, Path] = {}
        if own is not None:
            groups = [names[start : start + TOGETHER] for start in range(0, len(names), TOGETHER)]
            for some in await _all(plain(own, group) for group in groups):
                found |= some
            if check:
                found = dict(
                    zip(found, await _all(checked_file(file, name) for name, file in found.items()), strict=True)
                )
        if not (left := [name for name in names if name not in found]):
            yield [found[name] for name in names]
            return
        folder = await self._do(self._make_folder)
        try:
            found |= zip(left, await _all(fetched(folder, name) for name in left), strict=True)
            yield [found[name] for name in names]
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)

    async def names(self) -> AsyncIterator[StoredEntry]:
        """Everything in the store: blobs, and what broken-off writers left behind.

        Raises:
            BlobError: the store cannot be reached.
        """
        batches = await self._do(self._backend.entries)
        while True:
            batch = await self._do(next, batches, None)
            if batch is None:
                return
            for stored in batch:
                yield stored

    async def delete(self, stored: Iterable[StoredEntry], *, grace: float = GRACE_SECONDS) -> list[StoredEntry]:
        """Remove these, except what was added, or added again, within the last `grace` seconds or since it was listed.

        Returns:
            What was removed.

        Raises:
            BlobError: the store cannot be written.
        """
        return await self._do(
            lambda: [one for one in stored if self._backend.remove(one.key, older_than=max(grace, one.age))]
        )

    async def other_owners(self) -> list[str]:
        """Who else has added blobs, as they called themselves.

        Raises:
            BlobError: the store cannot be reached.
        """
        return await self._do(self._others)

    def _others(self) -> list[str]:
        mine = self._owner_name()
        return sorted(self._backend.owners() - {mine, damaged_note(note_of(mine))})

    def _owner_name(self) -> str:
        if self._owner is None:
            return ""
        with suppress(FileNotFoundError):
            if name := self._owner.read_text("utf-8", "replace"):
                return name
        self._owner.parent.mkdir(parents=True, exist_ok=True)
        mark = secrets.token_hex(4)
        partial = self._owner.with_name(f".{self._owner.name}.{mark}")
        partial.write_text(f"{self._owner.parent} on {socket.gethostname()} ({mark})")
        try:
            os.link(partial, self._owner)  # of two at once one is first, and nobody reads half a name
        except FileExistsError:
            if not self._owner.read_text("utf-8", "replace"):  # written by a process that was killed before it had
                partial.replace(self._owner)
        finally:
            partial.unlink(missing_ok=True)
        return self._owner.read_text("utf-8", "replace")

    def _add(
        self,
        files: list[tuple[Path, str]],
        *,
        move: bool,
        hashes: Mapping[str, str] | None = None,
        settled: Collection[str] = (),
    ) -> int:
        if name := self._owner_name():
            self._backend.note_owner(name)
        mine = (
            files if move else [(self._backend.staging() / f"{name}.{secrets.token_hex(4)}", name) for _, name in files]
        )
        try:
            if move:
                known = dict(hashes or {})
                unknown = [(file, name) for file, name in files if name not in known]
                known |= zip((name for _, name in unknown), each(hashed, [file for file, _ in unknown]), strict=True)
                contents = [known[name] for _, name in files]
            else:
                contents = [
                    copy(file.open("rb"), target)[0] for (file, _), (target, _) in zip(files, mine, strict=True)
                ]
            for found, (_, name) in zip(contents, files, strict=True):
                if found != name:
                    raise BlobError(
                        f"A blob that should be {name[:12]}… has other content ({found[:12]}…); it was refused."
                    )
            each(compress_file, [file for file, name in mine if name not in settled])
            size = sum(file.stat().st_size for file, _ in mine)
            with self._backend.batch_writer() as put:
                for file, name in mine:
                    put(file, name)
            return size
        finally:
            for file, _ in () if move else mine:
                file.unlink(missing_ok=True)

    def _plain(self, own: Callable[[str], Path], names: Sequence[str]) -> dict[str, Path]:
        """The files of those that are stored as they are, and not packed."""
        found: dict[str, Path] = {}
        for name in names:
            file = own(checked(name))
            try:
                with file.open("rb") as stream:
                    if not is_compressed(stream):
                        found[name] = file
            except FileNotFoundError:
                raise self._missing(name) from None
        return found

    def _check(self, file: Path, name: str) -> Path:
        for _ in range(2):
            with self._open(name) as stream:
                if hashlib.file_digest(stream, "sha256").hexdigest() == name:  # type: ignore[arg-type]  # a file
                    return file
        self._backend.quarantine(name)
        raise self._damaged(name)

    def _make_folder(self) -> Path:
        return Path(tempfile.mkdtemp(prefix="taking-", dir=self._backend.staging()))

    def _fetch(self, name: str, target: Path) -> int:
        partial = target.with_name(f".{target.name[:80]}.partial")
        try:
            for attempt in (1, 2):
                found, size = copy(self._open(name), partial)
                if found == name:
                    partial.chmod(0o444)
                    partial.replace(target)
                    return size
                if attempt == 2:  # read twice, so that one bad transfer condemns nothing
                    self._backend.quarantine(name)
            raise self._damaged(name)
        finally:
            with suppress(OSError):
                partial.unlink(missing_ok=True)

    def _read(self, name: str, max_bytes: int) -> bytes:
        for _ in range(2):  # one bad transfer condemns nothing
            data = _bounded(lambda: self._open(name), name, max_bytes)
            if hashlib.sha256(data).hexdigest() == name:
                return data
        self._backend.quarantine(name)
        raise self._damaged(name)

    def _read_beginning(self, name: str, size: int) -> bytes:
        with self._open(name) as stream:
            return stream.read(size)

    def _open(self, name: str) -> BinaryIO:
        try:
            return decompressed(self._backend.open(name))
        except FileNotFoundError:
            raise self._missing(name) from None

    def _missing(self, name: str) -> BlobMissingError:
        return BlobMissingError(name, f"The blob {name[:12]}… is missing from {self.location}.")

    def _damaged(self, name: str) -> BlobMissingError:
        return BlobMissingError(
            name, f"The blob {name[:12]}… in {self.location} is damaged: its content is not what was stored."
        )

    async def _do(self, work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Run blocking work in a thread; errors become one sentence."""

        def in_words() -> T:
            with self._in_words():
                return work(*arguments, **named)

        return await asyncio.to_thread(in_words)

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        """Errors of the block become one sentence."""
        try:
            yield
        except BlobError:
            raise
        except ImportError as error:
            raise BlobError(f"{self.location} {missing(error, served=bool(self._shown))}.") from None
        except OSError as error:
            raise BlobError(
                f"The blobs in {self.location} cannot be used ({error.strerror or self._reason(error)}); "
                "make room there or set STEPWELL_BLOBS to another place."
            ) from None
        except Exception as error:  # every fsspec backend raises exceptions of its own
            raise BlobError(f"The blobs in {self.location} cannot be used ({self._reason(error)}).") from None

    def _reason(self, error: Exception) -> str:
        """What a backend says; it may name the place."""
        said = "" if self._shown else " ".join(str(error).split())[:200]
        return said or type(error).__name__


class Arrivals:
    """Files on their way into a store, in a folder of ours. All methods block; made by `Blobs`."""

    def __init__(self, blobs: Blobs, folder: Path, mark: str = "") -> None:
        self._blobs = blobs
        self.folder = folder
        """Where they are put."""
        self._mark = mark

    def place(self, name: str) -> Path:
        """Where one of them is put."""
        return self.folder / f"{self._mark}{name}"

    def read(self, name: str, *, max_bytes: int) -> bytes:
        """The content of one that was put there as it came; nobody has checked it yet.

        Raises:
            BlobError: it is larger than `max_bytes`, or cannot be read.
        """
        with self._blobs._in_words():
            return _bounded(lambda: self.place(name).open("rb"), name, max_bytes)

    def read_stored(self, name: str, *, max_bytes: int) -> bytes:
        """A small blob that is there; see `Blobs.read`.

        Raises:
            BlobError: as there.
        """
        with self._blobs._in_words():
            return self._blobs._read(checked(name), max_bytes)

    def stored(self, names: Iterable[str]) -> set[str]:
        """Which of these are there; see `Blobs.has`.

        Raises:
            BlobError: the store cannot be reached.
        """
        with self._blobs._in_words():
            return self._blobs._backend.has([checked(name) for name in names])

    def store(
        self,
        names: Sequence[str],
        *,
        max_bytes: int,
        hashes: Mapping[str, str] | None = None,
        settled: Mapping[str, int] | None = None,
    ) -> int:
        """Move them into the store, in this order; afterwards they are on disk and count as new for `delete`.

        Args:
            names: They.
            max_bytes: What their contents may have together.
            hashes: The SHA-256 of what this process wrote into them, by name, as far as it was taken then.
            settled: Those that this process has packed, or found not to be worth it, and the sizes of their contents.

        Returns:
            Their size in the store, in bytes.

        Raises:
            BlobError: together they have more than `max_bytes`, a content is not what its name says (then none is
                stored), or the store cannot be written.
        """
        sizes = settled or {}
        named = [(self.place(name), checked(name)) for name in names]
        with self._blobs._in_words():
            size = sum(sizes[name] if name in sizes else file.stat().st_size for file, name in named)
            if size > max_bytes:
                raise BlobError(f"New blobs of {size:,} bytes are more than the {max_bytes:,} that are allowed.")
            return self._blobs._add(named, move=True, hashes=hashes, settled=sizes)

    def size(self, name: str) -> int:
        """The bytes of one.

        Raises:
            BlobError: it cannot be read.
        """
        with self._blobs._in_words():
            return self.place(name).stat().st_size

    def remove(self) -> None:
        """Remove those that have a mark and were not stored."""
        for file in self.folder.glob(f"*{self._mark}*") if self._mark else ():
            with suppress(OSError):  # that may be what has failed already
                file.unlink()


async def _all(waiting: Iterable[Awaitable[T]]) -> list[T]:
    """What all of them give; the first error, once none goes on any more."""
    found = await asyncio.gather(*waiting, return_exceptions=True)
    for one in found:
        if isinstance(one, BaseException):
            raise one
    return [one for one in found if not isinstance(one, BaseException)]


def checked(name: str) -> str:
    """The name itself.

    Raises:
        BlobError: it is none.
    """
    if not NAME.fullmatch(name):
        raise BlobError(f"{name[:80]!r} does not name a blob.")
    return name


def _bounded(opened: Callable[[], BinaryIO], name: str, max_bytes: int) -> bytes:
    with opened() as stream:
        data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise BlobTooLargeError(f"The blob {name[:12]}… has more than {max_bytes:,} bytes.")
    return data
