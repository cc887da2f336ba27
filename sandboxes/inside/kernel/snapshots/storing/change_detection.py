"""Detects changes of large buffers by comparing them with the memory-mapped blobs of the last snapshot.

Comparing memory is ten times as fast as hashing it, and as sure: every byte is looked at, at each snapshot. The maps
keep the blobs' content on the disk while the buffers live, but no memory beside what the system has to spare.
"""

import ctypes
import importlib.machinery
import importlib.util
import mmap
import operator
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ..private_cloudpickle import installed
from .blobs import THREADS
from .block_digests import BLOCK, BlockDigests, Digest, Digests, check_of, digests_of
from .written_pages import WrittenPages

LARGE = 256 << 10
"""Bytes of a buffer from which on a map of it is worth it; or a digest, in the manifest, of what its blobs hold, and
asking a frozen copy for them: smaller ones are hashed as fast."""
LARGEST = 8 << 30
"""Bytes that are mapped at most; what is beyond them is hashed each time."""

ALONE = 4 << 20
"""Bytes of a buffer that are compared without further threads."""

Change = tuple[str, tuple[int, ...]]
"""The blob that a piece was, and the numbers of the blocks that differ from it now."""
UNKNOWN: Change = ("", ())
"""Of a piece of which nothing is known."""
Blob = tuple[str, int, list[bytes]]
"""Its name, its bytes, and the digests of its blocks."""
Key = tuple[str, int, int]
"""The first variable of a unit, the number of a buffer in it, and its size: only a hint where to look."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A buffer that is what its blobs hold, without patches."""

    digests: Digests
    """That were taken of it. The same list again says that nothing was written; it is enough to look at that."""
    changes: list[Change]
    """None, piece by piece."""
    names: list[str]


class MappedBlobs:
    """The maps of one session.

    Args:
        folders: Where blobs are, under their names.
    """

    smallest = LARGE
    """Bytes of a buffer from which on it is looked at."""

    def __init__(self, folders: list[str]) -> None:
        self._folders = folders
        self._maps: dict[Key, list[tuple[str, mmap.mmap]]] = {}
        self._now: dict[Key, list[str]] = {}
        self._memcmp = ctypes.CDLL(None).memcmp
        self._memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)

    def begin(self) -> None:
        """Begin a snapshot."""
        self._now = {}

    def changes(self, key: Key, pieces: list[memoryview]) -> list[Change]:
        """What the pieces of a buffer are, beside the blobs that they were."""
        known = self._maps.get(key)
        numpy = sys.modules.get("numpy")
        if known is None or numpy is None or len(known) != len(pieces):
            return [UNKNOWN] * len(pieces)

        def change(index: int) -> Change:
            (name, held), piece = known[index], pieces[index]
            if len(held) != len(piece):
                return UNKNOWN
            live, kept = (numpy.frombuffer(one, "u1").ctypes.data for one in (piece, held))
            if self._memcmp(live, kept, len(piece)) == 0:
                return name, ()
            starts = range(0, len(piece), BLOCK)
            sizes = (min(BLOCK, len(piece) - start) for start in starts)
            differ = [self._memcmp(live + at, kept + at, size) for at, size in zip(starts, sizes, strict=True)]
            return name, tuple(block for block, one in enumerate(differ) if one)

        # One job for each thread, not one for each piece: handing over a job costs as much as comparing 200 KB.
        threads = min(THREADS, os.cpu_count() or 1)
        shares = [range(first, len(pieces), threads) for first in range(threads)]
        if sum(map(len, pieces)) < ALONE or threads == 1:
            return [change(index) for index in range(len(pieces))]
        found = [UNKNOWN] * len(pieces)
        with ThreadPoolExecutor(threads - 1) as pool:
            jobs = [pool.submit(lambda share: [change(index) for index in share], share) for share in shares[1:]]
            found[::threads] = [change(index) for index in shares[0]]
            for first, job in enumerate(jobs, 1):
                found[first::threads] = job.result()
        return found

    def note(self, key: Key, names: list[str], written: list[memoryview | None]) -> None:
        """Note which blobs a buffer is now, patches aside, and what was written of those that are new."""
        self._now[key] = names

    def again(self, key: Key) -> tuple[list[str], str] | None:
        """Nothing: each piece is looked at for itself."""
        return None

    def check(self, key: Key) -> str:
        """What tells whether the blobs of a buffer, as it was noted, were read well: nothing but their names."""
        return ""

    def look(self, piece: memoryview) -> list[bytes]:
        """What has to be known of a piece that is a blob now, to see later whether it still is: nothing."""
        return []

    def learn(self, key: Key, names: list[str], sizes: list[int], looked: list[list[bytes]]) -> None:
        """Note which blobs a buffer is in a restored snapshot."""
        if sum(size for _, _, size in self._maps) + key[2] > LARGEST:
            return
        maps = [(name, self._map(name)) for name in names]
        if all(held is not None for _, held in maps):
            self._maps[key] = [(name, held) for name, held in maps if held is not None]

    def kept_digests(self, key: Key) -> list[list[bytes]]:
        """What `look` would say of a buffer's pieces as the last snapshot has them; empty: that is not known."""
        return []

    def settle(self) -> None:
        """The snapshot was written: its blobs are what the next one compares with."""
        before, self._maps, total = self._maps, {}, 0
        for key, names in self._now.items():
            total += key[2]
            old = before.get(key, [])
            if [name for name, _ in old] == names:
                self._maps[key] = old
            elif total <= LARGEST:
                have = dict(old)
                maps = [(name, have.get(name) or self._map(name)) for name in names]
                if all(held is not None for _, held in maps):
                    self._maps[key] = [(name, held) for name, held in maps if held is not None]

    def _map(self, name: str) -> mmap.mmap | None:
        for folder in self._folders:
            try:
                with open(os.path.join(folder, name), "rb") as file:
                    return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except (OSError, ValueError):
                continue
        return None


NAME = "stepwell_kernel.xxhash"


class BufferDigests:
    """The digests of one session's buffers; see `MappedBlobs`, which has the same methods.

    Args:
        digest: The hash function.
        pages: What tracks writes; None: everything is read each time.
    """

    smallest = 0

    def __init__(self, digest: Digest, pages: WrittenPages | None = None) -> None:
        self._digest = digest
        self.blocks = BlockDigests(digest, pages)
        self._known: dict[Key, list[Blob]] = {}
        self._fresh: dict[Key, list[list[bytes]]] = {}
        self._now: dict[Key, list[Blob]] = {}
        self._checks: dict[Key, tuple[list[list[bytes]], str]] = {}
        """What `check` said of each buffer, and of which digests: no list of them is ever changed."""
        self._whole: dict[Key, Whole] = {}
        """The buffers that are just what their blobs hold, as the last snapshot has them."""
        self._whole_now: dict[Key, Whole] = {}

    def begin(self) -> None:
        """Begin a snapshot."""
        self._fresh, self._now, self._whole_now = {}, {}, {}
        self._checks = {key: self._checks[key] for key in self._known if key in self._checks}
        self.blocks.begin()

    def changes(self, key: Key, pieces: list[memoryview]) -> list[Change]:
        """What the pieces of a buffer are, beside the blobs that they were."""
        known = self._known.get(key, [])
        fresh = self._fresh[key] = self.blocks.of(pieces)
        if key in self._whole and self._whole[key].digests is fresh:
            return self._whole[key].changes
        if len(known) != len(pieces):
            return [UNKNOWN] * len(pieces)
        found: list[Change] = []
        for (name, size, before), now, piece in zip(known, fresh, pieces, strict=True):
            if size != len(piece):  # cut elsewhere, it may have as many blocks
                found.append(UNKNOWN)
            elif before is now or before == now:
                found.append((name, ()))
            else:
                found.append((name, tuple(block for block, one in enumerate(now) if one != before[block])))
        return found

    def note(self, key: Key, names: list[str], written: list[memoryview | None]) -> None:
        """Note which blobs a buffer is now, patches aside, and what was written of those that are new."""
        fresh, known = self._fresh[key], self._known.get(key, [])
        self._now[key] = [
            known[place] if content is None else (name, len(content), self._digests_of(content, fresh[place]))
            for place, (name, content) in enumerate(zip(names, written, strict=True))
        ]
        if all(noted is now or noted == now for (_, _, noted), now in zip(self._now[key], fresh, strict=True)):
            self._whole_now[key] = Whole(fresh, [(name, ()) for name in names], names)

    def again(self, key: Key) -> tuple[list[str], str] | None:
        """Note a buffer as the last snapshot has it.

        Returns:
            Its blobs and what `check` says; None: it has changed since, or that is not sure, or it has patches.
        """
        whole = self._whole.get(key)
        if whole is None or whole.digests is not self._fresh[key] or (key[2] >= LARGE and key not in self._checks):
            return None
        self._now[key], self._whole_now[key] = self._known[key], whole
        return whole.names, self._checks[key][1] if key[2] >= LARGE else ""

    def _digests_of(self, content: memoryview, fresh: list[bytes]) -> list[bytes]:
        """Those of what was written: a copy, if a thread may have changed the buffer since it was looked at."""
        return digests_of(content, self._digest) if isinstance(content.obj, bytes) else fresh

    def check(self, key: Key) -> str:
        """What tells whether the blobs of a buffer, as it was noted, were read well; empty: their names do."""
        if key[2] < LARGE:
            return ""
        noted = [digests for _, _, digests in self._now[key]]
        before, known = self._checks.get(key, ([], ""))
        same = len(noted) == len(before) and not any(map(operator.is_not, noted, before))
        self._checks[key] = noted, known if same else check_of(noted, self._digest)
        return self._checks[key][1]

    def look(self, piece: memoryview) -> list[bytes]:
        """What has to be known of a piece that is a blob now, to see later whether it still is."""
        return self.blocks.plain(piece)

    def learn(self, key: Key, names: list[str], sizes: list[int], looked: list[list[bytes]]) -> None:
        """Note which blobs a buffer is in a restored snapshot, their bytes, and what `look` said of each."""
        self._known[key] = list(zip(names, sizes, looked, strict=True))
        self._whole.pop(key, None)

    def kept_digests(self, key: Key) -> list[list[bytes]]:
        """What `look` would say of a buffer's pieces as the last snapshot has them; empty: that is not known."""
        return self._fresh.get(key, [])

    def settle(self) -> None:
        """The snapshot was written: its blobs are what the next one compares with."""
        self._known, self._whole = self._now, self._whole_now


def change_detector(folders: list[str]) -> BufferDigests | MappedBlobs:
    """Digests where this Python has `xxhash` installed, else maps of what was written.

    Args:
        folders: Where blobs are, under their names.
    """
    digest = fast_digest()
    return MappedBlobs(folders) if digest is None else BufferDigests(digest, WrittenPages())


def fast_digest() -> Digest | None:
    """A hash function that takes no longer than reading does; None: this Python has no `xxhash` installed."""
    digest: Digest | None = getattr(_xxhash(), "xxh3_128_digest", None)
    return digest


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
