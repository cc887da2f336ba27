"""The blobs of a local sandbox on the host's side: out of its spool, and into the folder that it reads from.

Everything is copied: a file that code in the sandbox could still write to must not become part of a store. All
functions block; call them in a thread.
"""

import os
import re
import shutil
import stat
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sandboxes.base import SandboxUnavailableError, SnapshotMissingError

NAME = re.compile(r"[0-9a-f]{64}")
PARTIAL = ".stepwell-"
AT_ONCE = 4
"""Files that are copied at the same time."""


def take(spool: Path, names: Iterable[str], folder: Path) -> None:
    """Copy blobs into a folder, each whole or not at all.

    Raises:
        SnapshotMissingError: one is not a regular file in the spool.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        partial = folder / f"{PARTIAL}{name}"
        try:
            descriptor = os.open(spool / checked(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise SnapshotMissingError(f"The sandbox has no blob {name}.") from error
        with os.fdopen(descriptor, "rb") as reading:
            if not stat.S_ISREG(os.fstat(reading.fileno()).st_mode):
                raise SnapshotMissingError(f"The blob {name} of the sandbox is not a file.")
            with partial.open("wb") as writing:
                shutil.copyfileobj(reading, writing, 1 << 20)
        partial.replace(folder / name)


def drop(folder: Path, names: Iterable[str]) -> None:
    """Remove blobs."""
    for name in names:
        (folder / checked(name)).unlink(missing_ok=True)


def supply(folder: Path, files: Iterable[Path]) -> None:
    """Copy host files to where the sandbox reads its blobs; those that it has already are left.

    Raises:
        SandboxUnavailableError: there is no room for them.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        distinct = {file.name: file for file in files}.values()
        with ThreadPoolExecutor(AT_ONCE) as pool:  # the disk reads ahead for one while another is written
            for _ in pool.map(lambda file: _supply(folder, file), distinct):
                continue
    except OSError as error:
        raise SandboxUnavailableError(
            f"The snapshot cannot be copied to {folder} ({error.strerror or error}). Free some space there, or choose "
            "another place with STEPWELL_HOME."
        ) from error


def _supply(folder: Path, file: Path) -> None:
    target = folder / checked(file.name)
    if target.is_file() and target.stat().st_size == file.stat().st_size:
        return
    partial = folder / f"{PARTIAL}{file.name}"
    shutil.copyfile(file, partial)
    partial.replace(target)


def names_in(folder: Path) -> frozenset[str]:
    """The blobs in a folder."""
    if not folder.is_dir():
        return frozenset()
    return frozenset(entry.name for entry in os.scandir(folder) if NAME.fullmatch(entry.name))


def checked(name: str) -> str:
    """A blob's name, which may come from a sandbox.

    Raises:
        ValueError: it is not one.
    """
    if not NAME.fullmatch(name):
        raise ValueError(f"{name[:100]!r} is not the name of a blob")
    return name
