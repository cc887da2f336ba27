"""Removes what a sandbox left, whatever it did so that it could not be removed. All functions block."""

import os
import secrets
import stat
from pathlib import Path

MOVED = ".stepwell-"
AT_ONCE = 50
"""How many folders deep it goes at once: deeper ones exhaust recursion, descriptors, and in the end paths."""
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove(folder: Path) -> None:
    """Remove a folder with all that is in it, however deep; links are removed, not followed."""
    if folder.is_dir() and not folder.is_symlink():
        folder.chmod(0o700)
        top = os.open(folder, FOLDER_FLAGS)
        try:
            while _names(top):
                _empty(top, top, AT_ONCE)
        finally:
            os.close(top)
        folder.rmdir()


def _empty(folder: int, top: int, depth: int) -> None:
    """Remove what is in a folder; folders so deep in it that `depth` is used up are moved to the top instead."""
    for name in _names(folder):
        if not _is_folder(name, folder):
            os.unlink(name, dir_fd=folder)
            continue
        inner = _opened_up(name, folder)
        try:
            if depth:
                _empty(inner, top, depth - 1)
        finally:
            os.close(inner)
        if depth:
            os.rmdir(name, dir_fd=folder)
        else:
            os.rename(name, MOVED + secrets.token_hex(8), src_dir_fd=folder, dst_dir_fd=top)


def _is_folder(name: str, folder: int) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _opened_up(name: str, folder: int) -> int:
    """A descriptor of a folder, made writable for us."""
    try:
        inner = os.open(name, FOLDER_FLAGS, dir_fd=folder)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=folder)
        inner = os.open(name, FOLDER_FLAGS, dir_fd=folder)
    os.fchmod(inner, 0o700)
    return inner


def _names(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]
