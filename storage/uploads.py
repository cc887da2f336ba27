"""Inputs that users of a server upload: a folder for each user, and in it one for each upload.

An upload arrives in pieces, in any number of requests; it is an input once it is complete. The folder's name is a hash
of the user's, and nothing leads from one user's folder to another's.
"""

import asyncio
import hashlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

from filelock import FileLock, Timeout

from storage.safe_names import safe_input_name

SCHEME = "upload:"
ID = re.compile(r"[0-9a-f]{32}")
MAX_OPEN = 100
"""Uploads of one user that may be incomplete at a time."""
MAX_FILES = 2_000
"""Uploads of one user altogether: empty files take no room, and yet there can be too many."""
MAX_NAME = 1_000
PATIENCE = 5.0
DEFAULT_TYPES = (
    "csv,tsv,tab,txt,md,json,jsonl,ndjson,geojson,xlsx,xlsm,xls,ods,parquet,feather,arrow,orc,avro,h5,hdf5,nc,npy,npz,"
    "sqlite,sqlite3,db,duckdb,dta,sav,sas7bdat,xml,html,htm,yaml,yml,toml,ini,log,pdf,docx,pptx,rtf,tex,bib,py,ipynb,r,"
    "sql,zip,gz,bz2,xz,zst,tar,tgz,png,jpg,jpeg,gif,webp,tif,tiff,bmp,svg,wav,mp3,dat"
)
"""File name endings that a server takes unless it is told otherwise."""


class UploadError(Exception):
    """An upload is refused; the message is one sentence that says why."""


class NoSuchUploadError(UploadError):
    """The user has no upload of that id."""


class UploadTypeError(UploadError):
    """Files of that kind are not taken."""


class UploadTooLargeError(UploadError):
    """It is larger than it may be, or than it was said to be."""


class NoRoomError(UploadError):
    """The user has used up what they may upload, or the disk is full."""


class WrongOffsetError(UploadError):
    """A piece does not begin where the last one ended."""

    def __init__(self, offset: int) -> None:
        super().__init__(f"The next piece has to begin at byte {offset}.")
        self.offset = offset


class BusyUploadError(UploadError):
    """Another request is writing to it."""


@dataclass(frozen=True, slots=True)
class Upload:
    """One uploaded file, or as much of it as has arrived."""

    id: str
    name: str
    """A name that is safe in any file system."""
    size: int | None
    """Bytes that it will have; None while that is not known."""
    offset: int
    """Bytes that have arrived."""
    written: float
    """When something last arrived, in seconds since 1970."""

    @property
    def complete(self) -> bool:
        """Whether all of it is there."""
        return self.size == self.offset

    @property
    def spec(self) -> str:
        """What names it among the `files` of a run's input."""
        return f"{SCHEME}{self.id}/{self.name}"


@dataclass(frozen=True, slots=True)
class Uploads:
    """Uploads below a folder. Methods that read or write the disk run in threads."""

    root: Path
    max_bytes: int = 20_000_000_000
    """Of one file."""
    user_bytes: int = 20_000_000_000
    """Of all files of one user."""
    types: frozenset[str] = field(default_factory=lambda: frozenset(DEFAULT_TYPES.split(",")))
    """Endings of names, without the dot; `*`: any."""
    keep_seconds: float = 7 * 86_400.0

    async def create(self, user: str, name: str, size: int | None) -> Upload:
        """Begin an upload.

        Args:
            user: Whose it is.
            name: What the file is called.
            size: Its bytes, where they are known beforehand.

        Raises:
            UploadError: it is refused: its name, its kind, its size, or what the user has uploaded already.
        """
        return await asyncio.to_thread(self._create, user, name, size)

    async def look(self, user: str, id: str) -> Upload:
        """How far an upload is.

        Raises:
            NoSuchUploadError: the user has none of that id.
        """
        return await asyncio.to_thread(self.find, user, id)

    async def all(self, user: str) -> list[Upload]:
        """A user's uploads, newest first."""
        return await asyncio.to_thread(lambda: sorted(self._all(user), key=lambda one: -one.written))

    async def remove(self, user: str, id: str) -> None:
        """Remove an upload. What analyses have taken in of it stays with them.

        Raises:
            NoSuchUploadError: the user has none of that id.
        """
        await asyncio.to_thread(self._remove, user, id)

    async def sweep(self) -> int:
        """Remove uploads that nobody has written to for too long. Returns how many."""
        return await asyncio.to_thread(self._sweep)

    @asynccontextmanager
    async def open_writer(self, user: str, id: str, offset: int) -> AsyncIterator["UploadWriter"]:
        """Write the next piece; what arrives before an error stays.

        Raises:
            NoSuchUploadError: the user has no upload of that id.
            WrongOffsetError: the piece begins elsewhere.
            BusyUploadError: another request is writing to it.
        """
        folder = self.folder(user, id)
        await asyncio.to_thread(self.find, user, id)
        lock = FileLock(folder / "lock", thread_local=False)
        try:
            await asyncio.to_thread(lock.acquire, timeout=0)
        except Timeout:
            raise BusyUploadError("Another request is writing to this upload; wait for its end.") from None
        try:
            upload = await asyncio.to_thread(self.find, user, id)
            if offset != upload.offset:
                raise WrongOffsetError(upload.offset)
            most = await asyncio.to_thread(self._most, user, id)
            try:
                out = await asyncio.to_thread((folder / "content").open, "ab")
            except OSError as error:
                raise _not_stored(error) from None
            receiver = UploadWriter(upload, folder, out, most, partial(self._most, user, id))
            try:
                yield receiver
            finally:
                await receiver.close()
        finally:
            await asyncio.to_thread(lock.release)

    def folder(self, user: str, id: str) -> Path:
        """Where an upload lies.

        Raises:
            NoSuchUploadError: this is no id.
        """
        if not ID.fullmatch(id):
            raise NoSuchUploadError("There is no such upload.")
        return self._of(user) / id

    def content(self, user: str, spec: str) -> tuple[Path, Upload]:
        """The file that `upload:…` names; reads the disk.

        Raises:
            NoSuchUploadError: the user has no such upload.
            UploadError: it is not complete.
        """
        id = spec.removeprefix(SCHEME).partition("/")[0]
        try:
            upload = self.find(user, id)
        except NoSuchUploadError:
            raise NoSuchUploadError(f"{spec[:200]} is no upload of yours; upload the file first.") from None
        if not upload.complete:
            raise UploadError(f"{spec} is not complete: {upload.offset:,} bytes have arrived; send the rest first.")
        return self.folder(user, id) / "content", upload

    def find(self, user: str, id: str) -> Upload:
        """The same as `look`; reads the disk."""
        folder = self.folder(user, id)
        try:
            about = json.loads((folder / "about.json").read_text("utf-8"))
            state = (folder / "content").stat()
        except (OSError, ValueError):
            raise NoSuchUploadError("There is no such upload.") from None
        return Upload(id, about["name"], about["size"], state.st_size, state.st_mtime)

    def _of(self, user: str) -> Path:
        return self.root / hashlib.sha256(user.encode("utf-8", "surrogateescape")).hexdigest()[:40]

    def _create(self, user: str, name: str, size: int | None) -> Upload:
        if not name.strip() or len(name) > MAX_NAME or "\0" in name:
            raise UploadTypeError("The file needs a name, such as sales.csv.")
        name = safe_input_name(name.replace("\\", "/").rpartition("/")[2])
        ending = name.rpartition(".")[2].lower() if "." in name else ""
        if "*" not in self.types and ending not in self.types:
            shown = f"`.{ending}`" if ending else "no ending"
            raise UploadTypeError(f"Files with {shown} are not taken here; see STEPWELL_UPLOAD_TYPES.")
        if size is not None and size > self.max_bytes:
            raise UploadTooLargeError(f"{size:,} bytes are too many; one file may have {self.max_bytes:,}.")
        with self._counting(user):
            before = self._all(user)
            if sum(not one.complete for one in before) >= MAX_OPEN:
                raise NoRoomError(f"{MAX_OPEN} uploads are incomplete; complete or delete some of them first.")
            if len(before) >= MAX_FILES:
                raise NoRoomError(f"You have {MAX_FILES:,} uploads; delete some first.")
            if sum(_claimed(one) for one in before) + (size or 0) > self.user_bytes:
                raise NoRoomError(
                    f"Your uploads may have {self.user_bytes:,} bytes together; delete some of them first."
                )
            id = secrets.token_hex(16)
            folder = self._of(user) / id
            folder.mkdir(mode=0o700)
            (folder / "content").touch(mode=0o600)
            _write_whole(folder / "about.json", {"name": name, "size": size})
        return self.find(user, id)

    @contextmanager
    def _counting(self, user: str) -> Iterator[None]:
        """Count what a user has under a lock, so that two requests do not both take the last room."""
        folder = self._of(user)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(folder / "lock", timeout=PATIENCE, thread_local=False):
                yield
        except Timeout:
            raise BusyUploadError("Too many uploads begin at once; try again.") from None
        except OSError as error:
            raise NoRoomError(f"Uploads cannot be stored now ({error.strerror or error}).") from None

    def _most(self, user: str, id: str) -> int:
        """Bytes that this upload may have."""
        others = sum(_claimed(one) for one in self._all(user) if one.id != id)
        return min(self.max_bytes, max(self.user_bytes - others, self.find(user, id).offset))

    def _all(self, user: str) -> list[Upload]:
        found = []
        try:
            names = sorted(folder.name for folder in self._of(user).iterdir())
        except OSError:
            return []
        for name in names:
            try:
                found.append(self.find(user, name))
            except NoSuchUploadError:
                continue  # the lock, or one that is being made or removed
        return found

    def _remove(self, user: str, id: str) -> None:
        self.find(user, id)
        shutil.rmtree(self.folder(user, id), ignore_errors=True)

    def _sweep(self) -> int:
        removed = 0
        for folder in self.root.glob("*/*"):
            try:
                old = folder.is_dir() and time.time() - (folder / "content").stat().st_mtime > self.keep_seconds
            except OSError:
                continue
            if old and ID.fullmatch(folder.name):
                shutil.rmtree(folder, ignore_errors=True)
                removed += 1
        return removed


class UploadWriter:
    """Writes one piece of an upload."""

    def __init__(self, upload: Upload, folder: Path, out: BinaryIO, most: int, counted: Callable[[], int]) -> None:
        self._upload = upload
        self._folder = folder
        self._out = out
        self._most = most
        self._counted = counted
        self.offset = upload.offset
        """Bytes that have arrived, this piece's included."""

    async def write(self, data: bytes) -> None:
        """Add these bytes.

        Raises:
            UploadTooLargeError: they are more than the upload was said to have, or than one may have.
            NoRoomError: the disk is full.
        """
        size = self._upload.size
        if size is not None and self.offset + len(data) > size:
            raise UploadTooLargeError(f"More than the {size:,} bytes arrived that were announced.")
        if size is None:  # nobody knew what to leave to it, so others that grow meanwhile count
            self._most = await asyncio.to_thread(self._counted)
        if self.offset + len(data) > self._most:
            raise UploadTooLargeError(f"Only {self._most:,} bytes may be uploaded here.")
        try:
            await asyncio.to_thread(self._write, data)
        except OSError as error:
            raise _not_stored(error) from None
        self.offset += len(data)

    async def mark_complete(self) -> None:
        """Mark an upload of unknown size as complete."""
        if self._upload.size is None:
            await self._keep_size(self.offset)

    async def announce(self, size: int) -> None:
        """Set the size of an upload that was begun without one.

        Raises:
            UploadError: another size was said before, or more has arrived.
            UploadTooLargeError: they are more than one may have.
        """
        if self._upload.size is not None and self._upload.size != size:
            raise UploadError(f"{self._upload.size:,} bytes were announced before; that cannot be changed.")
        if size < self.offset:
            raise UploadError(f"{self.offset:,} bytes have arrived, which is more than the {size:,} announced now.")
        if size > self._most:
            raise UploadTooLargeError(f"Only {self._most:,} bytes may be uploaded here.")
        if self._upload.size is None:
            await self._keep_size(size)

    async def _keep_size(self, size: int) -> None:
        try:
            await asyncio.to_thread(
                _write_whole, self._folder / "about.json", {"name": self._upload.name, "size": size}
            )
        except FileNotFoundError:
            raise NoSuchUploadError("This upload was removed while it arrived.") from None
        except OSError as error:
            raise _not_stored(error) from None
        self._upload = replace(self._upload, size=size)

    async def close(self) -> None:
        """Flush what has arrived to the disk.

        Raises:
            NoRoomError: the disk is full.
        """
        try:
            await asyncio.to_thread(self._close)
        except OSError as error:
            raise _not_stored(error) from None

    def _write(self, data: bytes) -> None:
        self._out.write(data)
        self._out.flush()  # what has arrived is counted by the file's size

    def _close(self) -> None:
        with self._out:
            self._out.flush()
            os.fsync(self._out.fileno())


def _not_stored(error: OSError) -> NoRoomError:
    return NoRoomError(f"The upload cannot be stored ({error.strerror or error}).")


def _claimed(upload: Upload) -> int:
    return max(upload.size or 0, upload.offset)


def _write_whole(file: Path, content: object) -> None:
    aside = file.with_name("about.partial")
    aside.write_text(json.dumps(content), "utf-8")
    aside.replace(file)
