"""Files of a store, hashed and copied: what is read is read once, and large ones are read side by side."""

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import BinaryIO, TypeVar

PIECE = 1 << 20
AT_ONCE = 4
"""Files that are looked at at the same time, and …"""
SEVERAL = 1 << 20
"""… the bytes from which on several are: below, threads take longer to start."""

T = TypeVar("T")


def each(call: Callable[[Path], T], files: list[Path]) -> list[T]:
    """What something gives for each file."""
    if sum(file.stat().st_size for file in files) < SEVERAL:
        return [call(file) for file in files]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(call, files))


def hashed(file: Path) -> str:
    """The SHA-256 of a file."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def copy(source: BinaryIO, target: Path) -> tuple[str, int]:
    """Copy a stream into a new file.

    Returns:
        The SHA-256 of what was copied, and its size.
    """
    digest, size = hashlib.sha256(), 0
    target.unlink(missing_ok=True)
    with source, target.open("xb") as out:
        while piece := source.read(PIECE):
            digest.update(piece)
            out.write(piece)
            size += len(piece)
    return digest.hexdigest(), size
