"""How large a folder is, found out a little at a time: whoever asks has other things to do meanwhile.

The folder is one that code writes to which would rather not be measured. Folders that it closed to itself are
opened for that time, paths may be longer than the system takes, and every name counts, an empty file's too.
"""

import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

NAME_BYTES = 4_096
"""What a name counts at least."""
LONG = 2_000
"""Characters of a path from which on a folder is opened anew, so that no path becomes longer than the system takes."""
FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class _Base:
    """An open folder that paths start from; closed when none does any more."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def __del__(self) -> None:
        os.close(self.descriptor)


class FolderSize:
    """Measures a folder over and over.

    Args:
        folder: Its path.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._walk: Iterator[int] | None = None
        self._bytes = 0
        self.names = 0
        """How many files and folders were seen."""

    def begin_anew(self) -> None:
        """Forget what was seen until now."""
        self._walk = None

    def look(self, seconds: float, enough: int, names: int = sys.maxsize) -> int | None:
        """Go on for this long.

        Returns:
            Bytes on disk, once all of it was seen, or more than `enough` of it, or more than so many `names`; the next
            call begins anew. None: there is more to see.
        """
        until = time.monotonic() + seconds
        if self._walk is None:
            self._walk, self._bytes, self.names = _sizes(self._folder), 0, 0
        for size in self._walk:
            self._bytes += size
            self.names += 1
            if self._bytes > enough or self.names > names:
                break
            if time.monotonic() > until:
                return None
        self._walk = None
        return self._bytes


def _sizes(folder: str) -> Iterator[int]:
    """The size of everything below a folder, one after the other; what vanishes meanwhile is left out."""
    try:
        waiting = [(_Base(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)), ".")]
    except OSError:
        return
    opened_ones: list[tuple[int, _Base, int]] = []
    """Folders that had to be opened, with the mode that they had and how much was waiting before what is in them."""
    try:
        while waiting:
            _close_again(opened_ones, len(waiting))
            base, path = waiting.pop()
            with suppress(OSError):
                descriptor, mode = _open(base, path)
                opened = _Base(descriptor)
                if mode is not None:
                    opened_ones.append((len(waiting), opened, mode))
                if len(path) > LONG:
                    base, path = opened, "."
                with os.scandir(opened.descriptor) as entries:
                    for entry in entries:
                        with suppress(OSError):
                            status = entry.stat(follow_symlinks=False)
                            if stat.S_ISDIR(status.st_mode):
                                waiting.append((base, f"{path}/{entry.name}"))
                            yield max(status.st_blocks * 512, NAME_BYTES)
    finally:
        _close_again(opened_ones, 0)


def _close_again(opened: list[tuple[int, _Base, int]], waiting: int) -> None:
    """Give folders the mode back that they had, once nothing that is in them is waited for."""
    while opened and opened[-1][0] >= waiting:
        _, base, mode = opened.pop()
        with suppress(OSError):
            os.fchmod(base.descriptor, mode)


def _open(base: _Base, path: str) -> tuple[int, int | None]:
    """Open a folder; also its mode, if that had to be changed for it."""
    try:
        return os.open(path, FLAGS, dir_fd=base.descriptor), None
    except PermissionError:
        mode = stat.S_IMODE(os.stat(path, dir_fd=base.descriptor, follow_symlinks=False).st_mode)
        os.chmod(path, mode | stat.S_IRUSR | stat.S_IXUSR, dir_fd=base.descriptor)
        try:
            return os.open(path, FLAGS, dir_fd=base.descriptor), mode
        except OSError:
            os.chmod(path, mode, dir_fd=base.descriptor)
            raise
