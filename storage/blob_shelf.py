"""What a place for blobs must be able to do; it neither hashes nor checks."""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

SHARD = re.compile(r"[0-9a-f]{2}")
"""What blobs lie in, by how their names begin. What lies elsewhere below the same place is somebody else's."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Something that lies in a store."""

    name: str
    """The blob's name; empty for what is none, such as the remains of a writer that was killed."""
    key: str
    """Where it lies, relative to the store."""
    size: int
    age: float
    """Seconds since it was added, or added again."""


def note_of(owner: str) -> str:
    """What the note is called that says that this owner adds blobs."""
    return hashlib.sha256(owner.encode()).hexdigest()[:32]


def owner_in(note: str, content: bytes) -> str:
    """Whom a note names; one that is garbled is nobody's known, and so somebody else's to be careful about."""
    owner = content.decode("utf-8", "replace")
    return owner if note_of(owner) == note else damaged_note(note)


def damaged_note(note: str) -> str:
    """Stands for the owner of a note that cannot be read."""
    return f"an owner whose note {note} is damaged"


class Shelf(Protocol):
    """A place for blobs. All methods block; `FileNotFoundError` is the only exception that callers tell apart."""

    @property
    def location(self) -> str:
        """A folder or a URL."""

    def has(self, names: Sequence[str]) -> set[str]:
        """Which of these are there."""

    def arriving(self) -> Path:
        """A folder on this machine for files on their way in; it exists."""

    def adding(self) -> AbstractContextManager[Callable[[Path, str], None]]:
        """Gives a function that takes in a file from `arriving` under a name.

        What is there already only becomes young again. On leaving, everything that was taken in is durable.
        """

    @property
    def files(self) -> Callable[[str], Path] | None:
        """Where a blob's file lies on this machine, by name; None when blobs are no files here."""

    def open(self, name: str) -> BinaryIO:
        """Read one.

        Raises:
            FileNotFoundError: it is not there.
        """

    def put_aside(self, name: str) -> None:
        """Take a damaged one out of the way, so that the same content can be added again."""

    def remove(self, key: str, *, older_than: float) -> bool:
        """Remove something, unless it is gone or not older than so many seconds at the moment of removal."""

    def entries(self) -> Iterator[list[Stored]]:
        """All blobs and what writers left of them, in batches; nothing else that lies beside them."""

    def note_owner(self, owner: str) -> None:
        """Remember that somebody adds blobs."""

    def owners(self) -> set[str]:
        """Those that were noted."""
