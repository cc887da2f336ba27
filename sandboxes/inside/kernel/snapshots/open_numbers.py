"""Descriptors that cells have only the numbers of (`os.open`, `mkstemp`): opened again under the same numbers.

Another file would have such a number after a restore, and `os.write` would write into that.
"""

import contextlib
import fcntl
import functools
import os
import stat
from collections.abc import Iterator
from typing import Any

from .singletons import found, portable_path

OPENING = ("os.open(", "os.dup(", "os.pipe(", "os.pipe2(", "mkstemp(", "fileno(", "memfd_create(", "openpty(")
"""What gives such numbers: in sessions whose cells do not name it, nothing is looked at."""
OF_STREAMS = 2
"""The last number that every process has."""
WITHIN = (tuple, list, set, frozenset)
WHY_NOT = "the number of a descriptor of what has no path of its own, such as a pipe; open it again"
TAKEN = "the number of a descriptor, which something else has now; open it again"

Number = tuple[int, list[str], str, int, int, bool]
"""The number, the variables that have it, and the file: path, flags, position, whether child processes get it."""


@functools.lru_cache(maxsize=1_000)
def _opens(source: str) -> bool:
    return any(name in source for name in OPENING)


def look(values: dict[str, Any], sources: list[str]) -> tuple[list[Number], dict[str, str]]:
    """Find the numbers of open files, and those of what cannot be opened again.

    Args:
        values: The user's variables.
        sources: The code of the cells.

    Returns:
        The numbers, and why variables cannot be kept.
    """
    if not any(map(_opens, sources)):
        return [], {}
    holders: dict[int, list[str]] = {}
    for name, value in values.items():
        for number in _numbers(value):
            holders.setdefault(number, []).append(name)
    kept: list[Number] = []
    refused: dict[str, str] = {}
    for number, names in holders.items():
        with contextlib.suppress(OSError):  # it is no descriptor
            status = os.fstat(number)
            one = _described(number, names, status)
            if one is not None:
                kept.append(one)
            elif not stat.S_ISCHR(status.st_mode):
                refused |= dict.fromkeys(names, WHY_NOT)
    return kept, refused


def _numbers(value: Any) -> Iterator[int]:
    inner = value if type(value) in WITHIN else value.values() if type(value) is dict else (value,)
    return (one for one in inner if type(one) is int and one > OF_STREAMS)


def _described(number: int, names: list[str], status: os.stat_result) -> Number | None:
    """How a file can be opened again; None: not at all."""
    path = os.readlink(f"/proc/self/fd/{number}")
    is_file = stat.S_ISREG(status.st_mode)
    if not (is_file or stat.S_ISDIR(status.st_mode)) or not _is_at(path, status):
        return None
    place = os.lseek(number, 0, os.SEEK_CUR) if is_file else 0
    flags = fcntl.fcntl(number, fcntl.F_GETFL)
    return number, names, portable_path(path), flags, place, os.get_inheritable(number)


def _is_at(path: str, status: os.stat_result) -> bool:
    with contextlib.suppress(OSError):
        return os.path.samestat(os.stat(path), status)
    return False


def restore(before: list[Any]) -> dict[str, str]:
    """Open them again, before anything else takes their numbers.

    Returns:
        The variables whose numbers are taken or whose files are not there, and why.
    """
    failed: dict[str, str] = {}
    for number, names, path, flags, place, is_inherited in before:
        try:
            is_there = _opened(number, found(path), flags)
            if is_there and place:
                os.lseek(number, place, os.SEEK_SET)
            if is_there:
                os.set_inheritable(number, is_inherited)
        except OSError:
            is_there = False
        if not is_there:
            failed |= dict.fromkeys(names, TAKEN)
    return failed


def _opened(number: int, path: str, flags: int) -> bool:
    """Have a file open under a number, unless that is of another one."""
    with contextlib.suppress(OSError):
        return os.path.samestat(os.fstat(number), os.stat(path))
    opened = os.open(path, flags & ~(os.O_CREAT | os.O_EXCL | os.O_TRUNC))
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
    return True
