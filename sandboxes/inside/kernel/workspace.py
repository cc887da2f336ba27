"""Looks at the workspace before and after a cell and says which files it made, changed or removed."""

import os
from typing import Any

MAX_FILES = 10_000
MAX_PATH = 1_000
"""Characters."""
LEFT_OUT = frozenset({"__pycache__", ".ipynb_checkpoints"})
NOT_THE_USERS = frozenset({"inputs", ".packages"})
"""Folders of the workspace in which a cell makes no files of its own."""

Mark = tuple[int, int, int]
"""Size, time of change and inode of a file."""


class Scan:
    """The regular files of the workspace at one moment, without `inputs/`."""

    def __init__(self, root: str) -> None:
        self.files: dict[str, Mark] = {}
        self.complete = True
        self._walk(root, "")

    def _walk(self, folder: str, prefix: str) -> None:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._look_at(entry, prefix)
                    if not self.complete:
                        return
        except OSError:  # a folder that is gone by now, or closed to us
            return

    def _look_at(self, entry: os.DirEntry[str], prefix: str) -> None:
        name = entry.name
        if name in LEFT_OUT or entry.is_symlink():
            return
        path = prefix + name
        if entry.is_dir(follow_symlinks=False):
            if path not in NOT_THE_USERS:
                self._walk(entry.path, path + "/")
            return
        if not entry.is_file(follow_symlinks=False) or len(path) > MAX_PATH or not _is_text(path):
            return
        if len(self.files) >= MAX_FILES:
            self.complete = False
            return
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            return
        self.files[path] = (status.st_size, status.st_mtime_ns, status.st_ino)


def changes(before: Scan, after: Scan) -> list[dict[str, Any]]:
    """What happened between two scans, sorted by path."""
    found: list[tuple[str, str, int]] = []
    for path, mark in after.files.items():
        old = before.files.get(path)
        if old is None and before.complete:
            found.append((path, "created", mark[0]))
        elif old is not None and old != mark:
            found.append((path, "changed", mark[0]))
    if after.complete:
        found += [(path, "deleted", 0) for path in before.files if path not in after.files]
    return [{"path": path, "change": change, "size": size} for path, change, size in sorted(found)]


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return path.isprintable()
