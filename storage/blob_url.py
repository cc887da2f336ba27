"""Blobs at an fsspec URL, for several machines: `<url>/ab/abcdef…`."""

import contextlib
import functools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import fsspec

from storage.blob_folder import SHARD, StoredEntry, note_of, owner_in

PREFIX = "stepwell-blobs-"


@functools.cache
def transfer_folder() -> Path:
    """This process's folder."""
    common = Path(tempfile.gettempdir()) / f"{PREFIX}{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        common.mkdir(mode=0o700)
    found = common.lstat()
    if found.st_uid != os.getuid() or found.st_mode & 0o077 or not common.is_dir() or common.is_symlink():
        return Path(tempfile.mkdtemp(prefix=PREFIX))  # somebody else's: keep away from it
    for other in common.iterdir():
        if not _alive(other.name):
            shutil.rmtree(other, ignore_errors=True)
    own = common / str(os.getpid())
    own.mkdir(exist_ok=True)
    return own


def _alive(name: str) -> bool:
    if not name.isdecimal():
        return True
    try:
        os.kill(int(name), 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return int(name) != os.getpid()  # ours would be a dead process's with the same number


OWNERS = "owners"
NAME_LENGTH = 64
AT_ONCE = 16
"""Requests at the same time; each waits for the network, not for this machine."""
YOUNG = 300.0
"""Seconds: what is there and older is written again, which is how an object store makes it young."""
TIMES = ("mtime", "LastModified", "updated", "last_modified", "created")
"""Where file systems of different kinds keep the time of the last change."""


class UrlBackend:
    """Blobs at a URL. Objects appear whole: object stores publish an upload when it is complete."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    @property
    def location(self) -> str:
        """The URL."""
        return self._url

    @cached_property
    def _place(self) -> tuple[Any, str]:
        filesystem, path = fsspec.url_to_fs(self._url, use_listings_cache=False)
        return filesystem, str(path).rstrip("/")

    @property
    def files(self) -> None:
        """Blobs are no files here."""
        return

    def has(self, names: Sequence[str]) -> set[str]:
        """Which of these are there."""
        filesystem, _ = self._place
        with ThreadPoolExecutor(AT_ONCE) as pool:
            there = pool.map(lambda name: filesystem.exists(self._path(name)), names)
            return {name for name, found in zip(names, there, strict=True) if found}

    def staging(self) -> Path:
        """The folder for temporary files."""
        return transfer_folder()

    @contextmanager
    def batch_writer(self) -> Iterator[Callable[[Path, str], None]]:
        """Upload files, several at the same time; on leaving, all are there."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            uploads = []

            def put(file: Path, name: str) -> None:
                # Read here: the file may be gone when the pool comes to it.
                mine = file.with_name(f"{file.name}.uploading")
                file.rename(mine)
                uploads.append(pool.submit(self._upload, mine, name))

            yield put
            for upload in uploads:
                upload.result()

    def _upload(self, file: Path, name: str) -> None:
        filesystem, _ = self._place
        path = self._path(name)
        try:
            age = self._age(path)
            if age is None or age > YOUNG:
                filesystem.makedirs(path.rpartition("/")[0], exist_ok=True)
                filesystem.put_file(str(file), path)
        finally:
            file.unlink(missing_ok=True)

    def open(self, name: str) -> BinaryIO:
        """Read one."""
        filesystem, _ = self._place
        stream: BinaryIO = filesystem.open(self._path(name), "rb")
        return stream

    def quarantine(self, name: str) -> None:
        """Remove a damaged one."""
        with suppress(FileNotFoundError):
            self._place[0].rm_file(self._path(name))

    def remove(self, key: str, *, older_than: float) -> bool:
        """Remove something after one more look at its age."""
        filesystem, root = self._place
        path = f"{root}/{key}"
        age = self._age(path)
        if age is None or age <= older_than:
            return False
        with suppress(FileNotFoundError):
            filesystem.rm_file(path)
            return True
        return False

    def entries(self) -> Iterator[list[StoredEntry]]:
        """All at once: object stores list in pages of a thousand."""
        filesystem, root = self._place
        batch = []
        try:
            found = filesystem.find(root, detail=True)
        except FileNotFoundError:
            found = {}
        for path, info in found.items():
            key = str(path).removeprefix(root).lstrip("/")
            shard, _, name = key.partition("/")
            if not SHARD.fullmatch(shard) or "/" in name:
                continue
            batch.append(
                StoredEntry(
                    name=name if len(name) == NAME_LENGTH else "",
                    key=key,
                    size=int(info.get("size") or 0),
                    age=self._age_of(path, info),
                )
            )
        yield batch

    def note_owner(self, owner: str) -> None:
        """Write the owner's name into an object of its own."""
        filesystem, root = self._place
        path = f"{root}/{OWNERS}/{note_of(owner)}"
        if not filesystem.exists(path):
            filesystem.makedirs(path.rpartition("/")[0], exist_ok=True)
            filesystem.pipe_file(path, owner.encode())

    def owners(self) -> set[str]:
        """Those that were noted."""
        filesystem, root = self._place
        try:
            found = filesystem.find(f"{root}/{OWNERS}")
            return {owner_in(path.rpartition("/")[2], filesystem.cat_file(path)) for path in found}
        except FileNotFoundError:
            return set()

    def _path(self, name: str) -> str:
        return f"{self._place[1]}/{name[:2]}/{name}"

    def _age(self, path: str) -> float | None:
        """Seconds since the last change; None when nothing is there."""
        try:
            return self._age_of(path, self._place[0].info(path))
        except FileNotFoundError:
            return None

    def _age_of(self, path: str, info: dict[str, Any]) -> float:
        changed: Any = next((info[key] for key in TIMES if info.get(key)), None)
        if changed is None:
            changed = self._place[0].modified(path)
        if isinstance(changed, str):
            changed = datetime.fromisoformat(changed)
        if isinstance(changed, int | float):
            changed = datetime.fromtimestamp(changed, UTC)
        if changed.tzinfo is None:
            changed = changed.replace(tzinfo=UTC)
        return float((datetime.now(UTC) - changed).total_seconds())
