"""A workspace folder, walked one component at a time: each opened relative to the one before, never through a link.

What a cell does to the folder meanwhile cannot lead out of it. Used by both sides: on the host for local sandboxes,
inside for others. All functions block.
"""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

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
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def prepare(root: str) -> None:
    """Make the folders that every workspace has; a link or a file in their place is removed."""
    os.makedirs(root, exist_ok=True)
    for name in FOLDERS:
        path = os.path.join(root, name)
        if os.path.islink(path) or (os.path.lexists(path) and not os.path.isdir(path)):
            os.unlink(path)
        os.makedirs(path, exist_ok=True)


def inside(parts: Sequence[str]) -> bool:
    """Whether a path, cut at its `/`, names something in the workspace exactly."""
    return not any(part in ("", ".", "..") or "\0" in part for part in parts)


def files(root: str, parts: Sequence[str]) -> list[tuple[str, int]]:
    """The regular files below a folder with their sizes, sorted by path; links, special files and hard links left out.

    What lies on another file system, which somebody mounted there, is left out.
    """
    try:
        with folder(root, parts, make=False) as start:
            walked = _Walk(os.stat(root).st_dev)
            found = list(walked.files(start, "/".join(parts), MAX_DEPTH))
    except (OSError, ValueError):
        return []
    return sorted(found)[:MAX_FILES]


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
                if regular(status):
                    yield below, status.st_size
                elif stat.S_ISDIR(status.st_mode) and depth:
                    inner = os.open(name, FOLDER_FLAGS, dir_fd=folder)
                    try:
                        yield from self.files(inner, below, depth - 1)
                    finally:
                        os.close(inner)


@contextmanager
def opened(root: str, parts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """A regular file of the workspace, opened for reading, and its size.

    Raises:
        OSError: there is none.
        ValueError: a part of the path is a link or a file.
    """
    with folder(root, parts[:-1], make=False) as within:
        # Opening a device may already do something, so look first, and once more at what was opened.
        if not regular(os.stat(parts[-1], dir_fd=within, follow_symlinks=False)):
            raise FileNotFoundError(parts[-1])
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
        reading = os.open(parts[-1], flags, dir_fd=within)
    try:
        status = os.fstat(reading)
        if not regular(status) or status.st_dev != os.stat(root).st_dev:
            raise FileNotFoundError(parts[-1])
        yield reading, status.st_size
    finally:
        os.close(reading)


def regular(status: os.stat_result) -> bool:
    """Whether it is a file, and has one name."""
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1


def is_folder(name: str, within: int) -> bool:
    """Whether a folder has a folder of that name."""
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=within, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


@contextmanager
def folder(root: str, parts: Sequence[str], *, make: bool) -> Iterator[int]:
    """A descriptor of a folder in the workspace, reached without following links.

    Raises:
        OSError: there is none.
        ValueError: a part of the path is a link or a file.
    """
    within = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=within)
            try:
                inner = os.open(part, FOLDER_FLAGS, dir_fd=within)
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENOTDIR):
                    raise ValueError(f"{part!r} is not a folder of the workspace") from error
                raise
            os.close(within)
            within = inner
        yield within
    finally:
        os.close(within)
