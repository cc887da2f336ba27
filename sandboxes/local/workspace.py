"""A workspace folder seen from outside: files go in and come out without following anything that code put there.

Every path is walked one component at a time, each opened relative to the one before and never through a link, so
what a cell does to the folder meanwhile cannot lead out of it. All functions block; call them in a thread.
"""

import errno
import hashlib
import itertools
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from sandboxes.base import SandboxUnavailableError, workspace_path
from sandboxes.local.removing import remove
from sandboxes.results import FetchedFile, WorkspaceFile

FOLDERS = ("inputs", "outputs", "figures")
LEFT_OUT = frozenset({"__pycache__", ".ipynb_checkpoints"})
PACKAGES = ".packages"
"""The folder for what cells install (`kernel/packages.py`); none of it is a file of the user's."""
PARTIAL = ".stepwell-"
"""How the names of files begin that are still being copied."""
MAX_FILES = 10_000
MAX_WALKED = 200_000
"""Entries of the workspace that are looked at for a list of its files."""
MAX_DEPTH = 64
BLOCK = 1 << 20
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def prepare(root: Path) -> None:
    """Make the folders that every workspace has; a link or a file in their place is removed.

    Raises:
        SandboxUnavailableError: they cannot be made.
    """
    with _clear(root):
        root.mkdir(parents=True, exist_ok=True)
        for name in FOLDERS:
            folder = root / name
            if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
                folder.unlink()
            folder.mkdir(exist_ok=True)


def hand_over(root: Path, user: int) -> None:
    """Make a folder and what the host can see in it another user's; links are changed, not followed.

    A file that has other names is left as it is: they may lie outside.
    """
    if root.lstat().st_uid != user:
        os.chown(root, user, user, follow_symlinks=False)
    folder = os.open(root, FOLDER_FLAGS)
    try:
        _hand_over(folder, user, MAX_DEPTH)
    finally:
        os.close(folder)


def _hand_over(folder: int, user: int, depth: int) -> None:
    for name in _names_in(folder):
        with suppress(FileNotFoundError):
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if status.st_uid != user and (stat.S_ISDIR(status.st_mode) or status.st_nlink == 1):
                os.chown(name, user, user, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode) and depth:
                inner = os.open(name, FOLDER_FLAGS, dir_fd=folder)
                try:
                    _hand_over(inner, user, depth - 1)
                finally:
                    os.close(inner)


def make_all(sandbox: Path, cache: Path) -> None:
    """Make all folders of a local sandbox, and the one for caches.

    Raises:
        SandboxUnavailableError: they cannot be made.
    """
    prepare(sandbox / "workspace")
    try:
        for folder in (sandbox / "home", sandbox / "tmp", cache):
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SandboxUnavailableError(
            f"The sandbox folder {sandbox} cannot be made ({error.strerror}). Choose another place with STEPWELL_HOME."
        ) from error


def put(root: Path, source: Path, path: str) -> None:
    """Copy a host file to a path in the workspace, whole or not at all; what lies in `inputs/` is read-only.

    Raises:
        FileNotFoundError: there is no such host file.
        SandboxUnavailableError: the workspace is full or cannot be written.
        ValueError: the path leaves the workspace, or leads through a file or a link.
    """
    parts = workspace_path(path).split("/")
    with source.open("rb") as reading, _clear(root), _folder(root, parts[:-1], make=True) as folder:
        if parts[-1] in _folders_in(folder):
            raise ValueError(f"{path!r} is a folder in the workspace")
        partial = PARTIAL + secrets.token_hex(8)
        mode = 0o444 if parts[0] == "inputs" else 0o644
        target = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
        try:
            with os.fdopen(target, "wb") as writing:
                shutil.copyfileobj(reading, writing, BLOCK)
                os.fchmod(target, mode)
            os.replace(partial, parts[-1], src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(partial, dir_fd=folder)
            raise


def files(root: Path, folder: str) -> list[WorkspaceFile]:
    """The regular files below a folder (`.`: all), sorted by path; links, special files and hard links left out.

    A name may be anything that the file system takes: not printable, or bytes that are no text (as `os.fsdecode` has
    them). What lies on another file system, which somebody mounted there, is left out.

    Raises:
        ValueError: the folder leaves the workspace.
    """
    parts = [] if folder in ("", ".") else workspace_path(folder).split("/")
    try:
        with _folder(root, parts, make=False) as start:
            entries = itertools.islice(_walk(start, "/".join(parts), MAX_DEPTH, _device(root)), MAX_WALKED)
            found = [file for file in entries if file is not None]
    except (OSError, ValueError):
        return []
    return sorted(found, key=lambda file: file.path)[:MAX_FILES]


def fetch(root: Path, path: str, target: Path, *, max_bytes: int) -> FetchedFile:
    """Copy a workspace file to a host path, whole or not at all.

    Raises:
        FileNotFoundError: there is no regular file at that path.
        ValueError: it is larger than `max_bytes`, or the path leaves the workspace.
    """
    with closing(_reading(root, path)) as reading:
        if reading.size > max_bytes:
            raise ValueError(f"{path!r} has {reading.size:,} bytes, more than the {max_bytes:,} that are allowed")
        digest, size = hashlib.sha256(), 0
        partial = target.with_name(f"{PARTIAL}{secrets.token_hex(8)}")
        try:
            with partial.open("xb") as writing:
                while block := os.read(reading.fd, BLOCK):
                    size += len(block)
                    if size > max_bytes:
                        raise ValueError(f"{path!r} grew beyond the {max_bytes:,} bytes that are allowed")
                    digest.update(block)
                    writing.write(block)
            partial.replace(target)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    return FetchedFile(path=reading.path, size=size, sha256=digest.hexdigest())


def empty(root: Path, *, keep: frozenset[str] = frozenset()) -> None:
    """Remove what is in a folder, read-only folders too, except the folders named in `keep`.

    Raises:
        SandboxUnavailableError: something cannot be removed.
    """
    with _clear(root):
        for entry in list(os.scandir(root)) if root.is_dir() else []:
            if not entry.is_dir(follow_symlinks=False):
                Path(entry.path).unlink()
            elif entry.name not in keep:
                remove(Path(entry.path))


def _reading(root: Path, path: str) -> "_Reading":
    """The file of exactly that name, or of the name that somebody who writes paths in another way means."""
    parts = path.split("/")
    if not any(part in ("", ".", "..") or "\0" in part for part in parts):
        with suppress(FileNotFoundError):
            return _Reading(root, parts)
    return _Reading(root, workspace_path(path).split("/"))


class _Reading:
    """A regular file in the workspace, opened for reading."""

    def __init__(self, root: Path, parts: list[str]) -> None:
        path = self.path = "/".join(parts)
        missing = FileNotFoundError(errno.ENOENT, "there is no regular file of that name in the workspace", path)
        try:
            with _folder(root, parts[:-1], make=False) as folder:
                # Opening a device may already do something, so look first, and once more at what was opened.
                if not _regular(os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)):
                    raise missing
                flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
                self.fd = os.open(parts[-1], flags, dir_fd=folder)
        except (OSError, ValueError) as error:
            raise missing from error
        status = os.fstat(self.fd)
        if not _regular(status) or status.st_dev != _device(root):
            self.close()
            raise missing
        self.size = status.st_size

    def close(self) -> None:
        os.close(self.fd)


def _device(root: Path) -> int:
    """The file system of the workspace."""
    return root.stat().st_dev


def _regular(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1


@contextmanager
def _folder(root: Path, parts: list[str], *, make: bool) -> Iterator[int]:
    """A descriptor of a folder in the workspace, reached without following links.

    Raises:
        OSError: there is none.
        ValueError: a part of the path is a link or a file.
    """
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=folder)
            try:
                inner = os.open(part, FOLDER_FLAGS, dir_fd=folder)
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENOTDIR):
                    raise ValueError(f"{part!r} is not a folder of the workspace") from error
                raise
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _names_in(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def _folders_in(folder: int) -> set[str]:
    with os.scandir(folder) as entries:
        return {entry.name for entry in entries if entry.is_dir(follow_symlinks=False)}


def _walk(folder: int, path: str, depth: int, device: int) -> Iterator[WorkspaceFile | None]:
    """All entries below a folder: files, and None for everything else."""
    with os.scandir(folder) as entries:
        listed = sorted(entry.name for entry in itertools.islice(entries, MAX_WALKED))
    for name in listed:
        yield None
        if name in LEFT_OUT or name.startswith(PARTIAL):
            continue
        below = f"{path}/{name}" if path else name
        if below == PACKAGES:
            continue
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if status.st_dev != device:
                continue
            if _regular(status):
                yield WorkspaceFile(path=below, size=status.st_size)
            elif stat.S_ISDIR(status.st_mode) and depth:
                inner = os.open(name, FOLDER_FLAGS, dir_fd=folder)
                try:
                    yield from _walk(inner, below, depth - 1, device)
                finally:
                    os.close(inner)
        except OSError:
            continue  # it is gone by now, or closed to us


@contextmanager
def _clear(root: Path) -> Iterator[None]:
    """Say in one sentence what is wrong with the workspace's disk."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        why = "There is no room left" if error.errno in FULL else f"It cannot be written ({error.strerror or error})"
        raise SandboxUnavailableError(
            f"{why} in the sandbox folder {root}. Free some space there, or choose another place with STEPWELL_HOME."
        ) from error
