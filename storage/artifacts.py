"""Where finished files go: a folder by default, any fsspec URL by configuration."""

import asyncio
import fcntl
import mimetypes
import os
import re
import secrets
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import quote

from storage.inputs import without_password
from storage.missing_packages import missing
from storage.signed_links import LinkSigner

MIME_TYPES = {
    ".md": "text/markdown",
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".parquet": "application/vnd.apache.parquet",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".ipynb": "application/x-ipynb+json",
    ".jsonl": "application/jsonl",
    ".py": "text/x-python",
}
"""What the analysis world uses, said here since `mimetypes` depends on the machine."""
OTHER_TYPES = mimetypes.MimeTypes()
"""Made once, here: the first look-up reads the machine's lists."""

FRESH_SECONDS = 60.0
"""How long a file that is being published is left alone, whoever holds it."""
THREAD = re.compile(r"[0-9A-Za-z_-]{1,64}")


class StorageError(RuntimeError):
    """The destination failed; the message is one sentence that says where and what to do."""


@dataclass(frozen=True, slots=True)
class Artifacts:
    """Publishes files, one folder per thread. Make one with `Artifacts.at`."""

    destination: str
    """An absolute folder, or an fsspec URL."""
    in_working_directory: bool = False
    """Whether the threads' folders lie among a person's own files and must be told from them by their names."""
    route: str = ""
    """For a server: the address that hands files out, with `{thread}` and `{name}`, instead of their place."""
    hidden: bool = False
    """Whether errors leave out where files lie, which is nothing that users of a server need to know."""
    signer: LinkSigner | None = None
    """Signs links to the route for browsers, which send no key."""

    @classmethod
    def at(cls, destination: str, *, route: str = "", hidden: bool = False, signer: LinkSigner | None = None) -> Self:
        """Artifacts at a folder or an fsspec URL; empty: folders named `stepwell-…` in the working directory."""
        if not destination:
            return cls(str(Path.cwd()), in_working_directory=True, route=route, hidden=hidden, signer=signer)
        place = destination if "://" in destination else str(Path(destination).expanduser().absolute())
        return cls(place, route=route, hidden=hidden, signer=signer)

    def folder(self, thread: str) -> str:
        """Where a thread's files go: an absolute path, or a URL."""
        name = f"stepwell-{thread[:8]}" if self.in_working_directory else thread
        return f"{self.destination.rstrip('/')}/{name}"

    def address(self, thread: str, name: str) -> str:
        """What a published file is said to be at: an absolute path or a URL, or with a route the server's own."""
        if self.route:
            return self.route.replace("{thread}", thread).replace("{name}", quote(name))
        return f"{self.folder(thread)}/{name}"

    async def link(self, thread: str, name: str) -> str:
        """What a browser can open to see a published file; empty where no server hands it out.

        Raises:
            StorageError: the key of links cannot be read or made.
        """
        if not self.route:
            return ""
        if self.signer is None:
            return self.address(thread, name)
        try:
            return f"{self.address(thread, name)}?{await self.signer.query(thread, name)}"
        except OSError as error:
            raise StorageError(f"Links to files cannot be signed ({error.strerror or self._reason(error)}).") from None

    def shown(self, thread: str) -> str:
        """The place of a thread's files as errors name it."""
        return "the storage of published files" if self.hidden else without_password(self.folder(thread))

    async def publish(self, thread: str, name: str, file: Path) -> str:
        """Copy a file there, whole or not at all.

        Args:
            thread: Whose file it is.
            name: Relative path, `/` between parts, checked by the caller (`workspace_path`).
            file: A host file.

        Returns:
            Its address.

        Raises:
            StorageError: it cannot be written there.
        """
        return await asyncio.to_thread(self._publish, thread, name, file)

    async def remove(self, thread: str) -> None:
        """Remove all that a thread has published; nothing where there is nothing.

        Raises:
            StorageError: it cannot be removed.
            ValueError: the threads' folders lie among a person's own, which may have put something there.
        """
        if self.in_working_directory or not THREAD.fullmatch(thread):
            raise ValueError(f"What {thread!r} has published is not for a program to remove.")
        await asyncio.to_thread(self._remove, thread)

    def _remove(self, thread: str) -> None:
        folder = self.folder(thread)
        try:
            if "://" in folder:
                import fsspec  # here, since few folders are URLs

                filesystem, root = fsspec.url_to_fs(folder)
                filesystem.rm(root.rstrip("/"), recursive=True)
            else:
                shutil.rmtree(folder)  # links in it are removed and not followed, and it is refused if it is one
        except FileNotFoundError:
            return
        except OSError as error:
            raise StorageError(
                f"{self.shown(thread)} cannot be removed ({error.strerror or self._reason(error)})."
            ) from None
        except Exception as error:  # every fsspec backend raises exceptions of its own
            raise StorageError(f"{self.shown(thread)} cannot be removed ({self._reason(error)}).") from None

    def _reason(self, error: Exception) -> str:
        """What a backend of fsspec says; it may name the place."""
        said = "" if self.hidden else " ".join(str(error).split())[:200]
        return said or type(error).__name__

    def _publish(self, thread: str, name: str, file: Path) -> str:
        folder = self.folder(thread)
        url = f"{folder}/{name}"
        try:
            if "://" in folder:
                import fsspec  # here, since few folders are URLs

                filesystem, root = fsspec.url_to_fs(folder)  # not of the whole: a name may hold `::` or `?`
                path = f"{root.rstrip('/')}/{name}"
                filesystem.makedirs(path.rpartition("/")[0], exist_ok=True)
                filesystem.put_file(str(file), path)
            else:
                _copy_whole(file, Path(url))
        except OSError as error:
            raise StorageError(
                f"{name} cannot be written to {self.shown(thread)} ({error.strerror or self._reason(error)}); "
                "make room there or set STEPWELL_ARTIFACTS to another place."
            ) from None
        except ImportError as error:
            raise StorageError(f"{self.shown(thread)} {missing(error, served=self.hidden)}.") from None
        except Exception as error:  # every fsspec backend raises exceptions of its own
            raise StorageError(f"{name} cannot be written to {self.shown(thread)} ({self._reason(error)}).") from None
        return self.address(thread, name)


def _copy_whole(file: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # A short name of its own: the target's may be as long as names can be.
    partial = target.with_name(f".stepwell-{secrets.token_hex(8)}.partial")
    _sweep(target.parent)
    try:
        with file.open("rb") as source, partial.open("wb") as out:
            with suppress(OSError):  # not every file system has locks
                fcntl.flock(out, fcntl.LOCK_EX)  # says to others that somebody writes it; ends with the process
            shutil.copyfileobj(source, out, 1 << 20)
            out.flush()
            os.fsync(out.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def _sweep(folder: Path) -> None:
    """Remove what processes left there that were killed while they published."""
    for left in folder.glob(".stepwell-????????????????.partial"):
        try:
            descriptor = os.open(left, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            continue  # it is gone, or is none of ours
        try:
            # A fresh one may be somebody's who has not come to lock it.
            if time.time() - os.fstat(descriptor).st_mtime > FRESH_SECONDS:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                left.unlink(missing_ok=True)
        except OSError:
            continue  # somebody writes it
        finally:
            os.close(descriptor)


def mime_of(name: str) -> str:
    """The MIME type that a file's name stands for."""
    suffix = Path(name).suffix.lower()
    return MIME_TYPES.get(suffix) or OTHER_TYPES.guess_type(name, strict=False)[0] or "application/octet-stream"
