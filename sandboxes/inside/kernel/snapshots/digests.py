"""What large buffers held at the last snapshot, as digests: every byte is looked at, at each snapshot.

XXH3 with 128 bits reads 25 GB/s on a core where SHA-256 reads under 2. It only decides, within one session, whether a
piece has to be hashed and written anew; the names of blobs, which others rely on, are SHA-256. Two contents with one
digest would have to be made on purpose, by code that harms its own session alone.
"""

import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable
from typing import Any

from .borrowed import installed
from .mirrors import Key, Mirrors

NAME = "stepwell_kernel.xxhash"
Digest = Callable[[memoryview], bytes]


class Digests:
    """The digests of one session's buffers; see `Mirrors`, which has the same methods.

    Args:
        digest: The hash function.
    """

    def __init__(self, digest: Digest) -> None:
        self._digest = digest
        self._known: dict[Key, list[tuple[str, bytes]]] = {}
        self._fresh: dict[Key, list[bytes]] = {}
        self._now: dict[Key, list[tuple[str, bytes]]] = {}

    def begin(self) -> None:
        """Begin a snapshot."""
        self._fresh, self._now = {}, {}

    def names(self, key: Key, pieces: list[memoryview]) -> list[str]:
        """The blobs that pieces of a buffer are equal to; an empty name where that is not known."""
        known = self._known.get(key, [])
        fresh = self._fresh[key] = [self._digest(piece) for piece in pieces]
        if len(known) != len(pieces):
            return [""] * len(pieces)
        return [name if digest == now else "" for (name, digest), now in zip(known, fresh, strict=True)]

    def note(self, key: Key, names: list[str]) -> None:
        """Note which blobs a buffer is now."""
        self._now[key] = list(zip(names, self._fresh[key], strict=True))

    def settle(self) -> None:
        """The snapshot was written: its blobs are what the next one compares with."""
        self._known = self._now


def what_was_there(folders: list[str]) -> Digests | Mirrors:
    """Digests where this Python has `xxhash` installed, else maps of what was written.

    Args:
        folders: Where blobs are, under their names.
    """
    digest: Any = getattr(_xxhash(), "xxh3_128_digest", None)
    return Mirrors(folders) if digest is None else Digests(digest)


def _xxhash() -> Any:
    """The installed package, under a name of our own; never a file of the workspace."""
    if NAME in sys.modules:
        return sys.modules[NAME]
    spec = importlib.machinery.PathFinder.find_spec("xxhash", installed())
    if spec is None or spec.origin is None:
        return None
    ours = importlib.util.spec_from_file_location(
        NAME, spec.origin, submodule_search_locations=spec.submodule_search_locations
    )
    if ours is None or ours.loader is None:
        return None
    module = importlib.util.module_from_spec(ours)
    sys.modules[NAME] = module
    try:
        ours.loader.exec_module(module)
    except Exception:  # whatever is wrong with it, there is another way
        sys.modules.pop(NAME, None)
        return None
    return module
