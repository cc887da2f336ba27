"""The workspace as the host sees it, from inside: files go in, come out and are listed without following links.

Every path is walked one component at a time, each opened relative to the one before and never through a link. Names are
JSON strings with surrogates for bytes that are no text.
"""

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

FOLDERS = ("inputs", "outputs", "figures")
LEFT_OUT = frozenset({"__pycache__", ".ipynb_checkpoints"})
PACKAGES = ".packages"
PARTIAL = ".stepwell-"
MAX_FILES = 10_000
MAX_WALKED = 200_000
MAX_DEPTH = 64
BLOCK = 1 << 20
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def prepare(base: str) -> None:
    """Make the folders that every workspace has; a link or a file in their place is removed."""
    root = os.path.join(base, "workspace")
    os.makedirs(root, exist_ok=True)
    for name in FOLDERS:
        path = os.path.join(root, name)
        if os.path.islink(path) or (os.path.lexists(path) and not os.path.isdir(path)):
            os.unlink(path)
        os.makedirs(path, exist_ok=True)


def place(base: str, source: str, path: str) -> dict[str, Any]:
    """Move an uploaded file to a path in the workspace, whole or not at all; what lies in `inputs/` is read-only."""
    parts = path.split("/")
    uploaded = os.path.join(base, "in", source)
    try:
        prepare(base)
        with _folder(os.path.join(base, "workspace"), parts[:-1], make=True) as folder:
            if _is_folder(parts[-1], folder):
                return {"wrong": f"{path!r} is a folder in the workspace"}
            os.chmod(uploaded, 0o444 if parts[0] == "inputs" else 0o644)
            os.replace(uploaded, parts[-1], dst_dir_fd=folder)
    except ValueError as error:
        return {"wrong": str(error)}
    except OSError as error:
        return {"failed": "There is no room left" if error.errno in FULL else f"It cannot be written ({error})"}
    finally:
        with suppress(OSError):
            os.unlink(uploaded)
    return {}


def listed(base: str, folder: str) -> dict[str, Any]:
    """The regular files below a folder of the workspace, with their sizes."""
    root = os.path.join(base, "workspace")
    try:
        with _folder(root, [part for part in folder.split("/") if part], make=False) as start:
            walked = _Walk(os.stat(root).st_dev)
            found = list(walked.files(start, folder, MAX_DEPTH))
    except (OSError, ValueError):
        return {"files": []}
    return {"files": sorted(found)[:MAX_FILES]}


def stage(base: str, paths: list[str], limit: int) -> dict[str, Any]:
    """Copy a workspace file to where the host fetches it; of several paths the first that names one."""
    root = os.path.join(base, "workspace")
    for path in paths:
        parts = path.split("/")
        if any(part in ("", ".", "..") or "\0" in part for part in parts):
            continue
        try:
            with _opened(root, parts) as (reading, size):
                if size > limit:
                    return {"large": size, "path": path}
                name = secrets.token_hex(16)
                _copy(reading, os.path.join(base, "out", name), limit)
                return {"name": name, "path": path}
        except _TooLargeError:
            return {"large": -1, "path": path}
        except (FileNotFoundError, ValueError):
            continue
        except OSError as error:
            return {"failed": "There is no room left" if error.errno in FULL else f"It cannot be read ({error})"}
    return {"missing": True}


def empty(base: str) -> dict[str, Any]:
    """Leave nothing but the inputs."""
    try:
        _empty(os.path.join(base, "workspace"), keep="inputs")
        _empty(os.path.join(base, "tmp"))
        prepare(base)
    except OSError as error:
        return {"failed": f"It cannot be emptied ({error})"}
    return {}


class _TooLargeError(Exception):
    """The file grew beyond the limit."""


class _Walk:
    """Looks at no more entries than there may be."""

    def __init__(self, device: int) -> None:
        self._device = device
        self._left = MAX_WALKED

    def files(self, folder: int, path: str, depth: int) -> Iterator[tuple[str, int]]:
        """Regular files below a folder; those with several names and those of other file systems are left out."""
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry, _ in zip(entries, range(MAX_WALKED), strict=False))
        for name in names:
            self._left -= 1
            below = f"{path}/{name}" if path else name
            if self._left < 0 or name in LEFT_OUT or name.startswith(PARTIAL) or below == PACKAGES:
                continue
            with suppress(OSError):
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if status.st_dev != self._device:
                    continue
                if _regular(status):
                    yield below, status.st_size
                elif stat.S_ISDIR(status.st_mode) and depth:
                    inner = os.open(name, FOLDER_FLAGS, dir_fd=folder)
                    try:
                        yield from self.files(inner, below, depth - 1)
                    finally:
                        os.close(inner)


@contextmanager
def _opened(root: str, parts: list[str]) -> Iterator[tuple[int, int]]:
    """A regular file of the workspace, opened for reading, and its size."""
    with _folder(root, parts[:-1], make=False) as folder:
        # Opening a device may already do something, so look first, and once more at what was opened.
        if not _regular(os.stat(parts[-1], dir_fd=folder, follow_symlinks=False)):
            raise FileNotFoundError(parts[-1])
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
        reading = os.open(parts[-1], flags, dir_fd=folder)
    try:
        status = os.fstat(reading)
        if not _regular(status) or status.st_dev != os.stat(root).st_dev:
            raise FileNotFoundError(parts[-1])
        yield reading, status.st_size
    finally:
        os.close(reading)


def _copy(reading: int, target: str, limit: int) -> None:
    size = 0
    try:
        with open(target, "xb", buffering=0) as writing:
            while block := os.read(reading, BLOCK):
                size += len(block)
                if size > limit:
                    raise _TooLargeError
                writing.write(block)
    except BaseException:
        with suppress(OSError):
            os.unlink(target)
        raise


def _regular(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1


def _is_folder(name: str, folder: int) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


@contextmanager
def _folder(root: str, parts: list[str], *, make: bool) -> Iterator[int]:
    """A descriptor of a folder in the workspace, reached without following links."""
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


def _empty(root: str, keep: str = "") -> None:
    for entry in list(os.scandir(root)) if os.path.isdir(root) else []:
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.path)
        elif entry.name != keep:
            _open_up(entry.path)
            shutil.rmtree(entry.path)


def _open_up(folder: str) -> None:
    """Make folders that cells made read-only ours again."""
    os.chmod(folder, 0o700)
    for path, names, _ in os.walk(folder):
        for name in names:
            if not os.path.islink(os.path.join(path, name)):
                os.chmod(os.path.join(path, name), 0o700)
