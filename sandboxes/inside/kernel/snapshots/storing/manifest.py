"""The manifest of a snapshot, canonical JSON whose hash names it, and packs, which hold many small blobs as one."""

import bisect
import itertools
import json
import platform
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .blobs import Blobs, MissingBlobError, Spool, hash_of
from .blobs import cut as cut_evenly

FORMAT = 1


def pack(content: dict[str, Any], blobs: set[str]) -> bytes:
    """A manifest as bytes."""
    whole = {
        **content,
        "format": FORMAT,
        "blobs": sorted(blobs),
        "python": platform.python_version(),
        "cache_tag": cache_tag(),
    }
    return json.dumps(whole, sort_keys=True, separators=(",", ":")).encode()


def unpack(data: bytes) -> dict[str, Any]:
    """Read a manifest.

    Raises:
        MissingBlobError: it is not one, or one of a later format.
    """
    try:
        content = json.loads(data)
    except ValueError as error:
        raise MissingBlobError("the blob that should name the snapshot's parts is not a manifest") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise MissingBlobError("the snapshot has a format that this version of Stepwell does not know")
    return content


def cache_tag() -> str:
    """Which code objects this Python can load."""
    return sys.implementation.cache_tag or platform.python_version()


SMALL = 256 << 10
"""Bytes of a stream that goes into a pack."""
MAX_PACKS = 32
"""A snapshot that would need more of them writes anew what is in those from which it needs least, half of them."""

IN_MANIFEST = 1 << 10
"""Bytes of streams that are in the manifest itself while they are no more together: a blob for each small cell would
cost more than all else. The first snapshot in which they are more puts them into a pack."""
MAX_RUNS = 32
"""What would lie at more places of packs is written anew, at one."""

Place = dict[str, Any]
"""Where bytes are: `{"pack": n, "at": offset, "size": bytes}`; or `{"blobs": […], "size": bytes}`; or in several packs,
one piece after the other, `{"runs": [[n, offset, bytes], …], "size": bytes}`; or the bytes themselves as Latin-1,
`{"text": …, "size": bytes}`. Earlier versions know neither of `runs` nor of `text`, and refuse them."""
Spot = tuple[str, int]
"""The name of a pack, and where in it."""


LEAST, MOST = 256, 16 << 10
"""Bytes of a piece."""
BITS = 10
"""A piece ends before one place in 2**10."""
FACTOR = 0x9E3779B97F4A7C15
"""An odd number that spreads the bits of the eight bytes at a place over all of a word."""
WORD = 8
WHOLE = 4 << 10
"""Bytes of a stream that is not cut."""


def cut_by_content(data: memoryview) -> list[memoryview]:
    """The pieces of a stream, cut where its content says so; all of it as one where it is small, or without NumPy.

    What is the same in two streams gives the same pieces, wherever it stands: a frame that is added to others, or one
    changed dict among thousands, makes a stream that is nearly the last one.
    """
    numpy: Any = sys.modules.get("numpy")
    if len(data) < WHOLE or numpy is None:
        return [data]
    pieces: list[memoryview] = []
    start = 0
    try:
        words = numpy.ndarray((len(data) - WORD + 1,), "<u8", buffer=data, strides=(1,))
        ends = numpy.flatnonzero((words * numpy.uint64(FACTOR)) >> numpy.uint64(8 * WORD - BITS) == 0).tolist()
        for end in [*ends, len(data)]:
            while end - start > MOST:
                pieces.append(data[start : start + MOST])
                start += MOST
            if end - start >= LEAST or end == len(data):
                pieces.append(data[start:end])
                start = end
    except Exception:  # cells can replace anything in NumPy
        return [data]
    return [piece for piece in pieces if len(piece)]


@dataclass(slots=True)
class _Cut:
    """How a stream is cut."""

    pieces: list[tuple[str, int]]
    """Their names and sizes."""
    runs: list[tuple[str, int, int]] | None = None
    """Where the last snapshot has them; None: not in packs."""


class Packs:
    """Finds places for streams; knows where those of earlier snapshots are, and pieces of them.

    Args:
        digest: A hash function that is faster than that of names; None: there is none.
    """

    def __init__(self, digest: Callable[[memoryview], bytes] | None = None) -> None:
        self._digest: Callable[[memoryview], bytes | str] = digest or hash_of
        self._known: dict[str, Spot] = {}
        self._cuts: dict[bytes | str, _Cut] = {}
        """By a digest of a stream: what has not changed is not cut, hashed and looked for again."""
        self._waiting: tuple[dict[str, Spot], dict[bytes | str, _Cut]] = {}, {}
        self._read: list[tuple[bytes | memoryview, Place, list[str]]] = []
        """Streams of a restored snapshot; they are cut by the next one, when NumPy is there if it is used."""

    def learn_patch(self, data: memoryview, spot: Spot) -> None:
        """Note where a restored snapshot has a patch, which is not cut."""
        self._known[hash_of(data)] = spot
        self._cuts = {}

    def learn(self, data: bytes | memoryview, place: Place, packs: list[str]) -> None:
        """Note where a restored snapshot has a stream."""
        self._read.append((data, place, packs))

    def _learn(self, data: bytes | memoryview, place: Place, packs: list[str]) -> None:
        """Note where it is, piece by piece."""
        if not (runs := runs_of(place, packs)) or not data:
            return
        ends = list(itertools.accumulate(size for _, _, size in runs))
        start = 0
        for piece in cut_by_content(memoryview(data)):
            run = bisect.bisect_right(ends, start)
            if start + len(piece) <= ends[run]:
                pack, at, size = runs[run]
                self._known[hash_of(piece)] = pack, at + start - (ends[run] - size)
            start += len(piece)

    def place(
        self, streams: list[memoryview], patches: list[memoryview], spool: Spool
    ) -> tuple[list[Place], list[str]]:
        """Put streams, and patches, into blobs, or a few small streams into the manifest.

        Returns:
            Their places, in their order, and the packs that these name by number. What is known of new packs counts
            only once `settle` is called.
        """
        if self._read:
            for read_stream in self._read:
                self._learn(*read_stream)
            self._read, self._cuts = [], {}
        digests = [self._digest(data) if len(data) <= SMALL else "" for data in streams]
        cuts = [self._cut(data, digest) for data, digest in zip(streams, digests, strict=True)]
        cuts += [_Cut([(hash_of(data), len(data))]) for data in patches]
        content = [*streams, *patches]
        live, is_all = self._live(cuts)
        fresh = _fresh(content, cuts, live)
        names = {name for cut in cuts if len(cut.pieces) > 1 for name, _ in cut.pieces} if fresh else set()
        if not patches and sum(map(len, fresh.values())) <= IN_MANIFEST and names.isdisjoint(fresh):
            fresh = {}
        if fresh:
            pack = spool.put(b"".join(fresh.values()))
            ends = itertools.accumulate(map(len, fresh.values()), initial=0)
            live.update({name: (pack, at) for name, at in zip(fresh, ends, strict=False)})
        now = [_Cut(cut.pieces, cut.runs if is_all and cut.runs else _runs(cut.pieces, live)) for cut in cuts]
        self._waiting = live, {digest: cut for digest, cut in zip(digests, now, strict=False) if digest}
        packs = sorted({pack for pack, _ in live.values()})
        numbers = {pack: number for number, pack in enumerate(packs)}
        places: list[Place] = []
        for data, cut in zip(content, now, strict=True):
            if not cut.pieces:
                places.append({"blobs": spool.put_all(cut_evenly(data)), "size": len(data)})
            elif cut.runs is None:
                places.append({"text": bytes(data).decode("latin-1"), "size": len(data)})
            else:
                places.append(_place([[numbers[pack], at, size] for pack, at, size in cut.runs], len(data)))
        return places, packs

    def _cut(self, data: memoryview, digest: bytes | str) -> _Cut:
        """How a stream is cut; into no pieces where it is large."""
        if not digest:
            return _Cut([])
        if (known := self._cuts.get(digest)) is None:
            known = _Cut([(hash_of(piece), len(piece)) for piece in cut_by_content(data)])
        return known

    def _live(self, cuts: list[_Cut]) -> tuple[dict[str, Spot], bool]:
        """Where pieces are already, without those that are to be written anew to have them at fewer places.

        Returns:
            Places by name, and whether there are no others that are known.
        """
        sizes = dict(itertools.chain.from_iterable(cut.pieces for cut in cuts))
        known = {name: self._known[name] for name in sizes if name in self._known}
        live = known
        if len({pack for pack, _ in live.values()}) >= MAX_PACKS:
            needed: Counter[str] = Counter()
            for name, (pack, _) in live.items():
                needed[pack] += sizes[name]
            large = {pack for pack, _ in needed.most_common(MAX_PACKS // 2)}
            live = {name: spot for name, spot in live.items() if spot[0] in large}
        for cut in cuts:
            if len(cut.pieces) > MAX_RUNS and not (cut.runs and len(cut.runs) <= MAX_RUNS and live is known):
                spots = [(*live.get(name, ("", 0)), size) for name, size in cut.pieces]
                if len(_joined(spots)) > MAX_RUNS:
                    anew = {name for name, _ in cut.pieces}
                    live = {name: spot for name, spot in live.items() if name not in anew}
        return live, len(live) == len(known)

    def settle(self) -> None:
        """The snapshot was written: its packs may be named by the next."""
        self._known, self._cuts = self._waiting


def _fresh(content: list[memoryview], cuts: list[_Cut], live: dict[str, Spot]) -> dict[str, memoryview]:
    """The pieces that are nowhere yet, by name."""
    fresh: dict[str, memoryview] = {}
    for data, cut in zip(content, cuts, strict=True):
        end = 0
        for name, size in cut.pieces:
            end += size
            if name not in live:
                fresh[name] = data[end - size : end]
    return fresh


def _runs(pieces: list[tuple[str, int]], live: dict[str, Spot]) -> list[tuple[str, int, int]] | None:
    """Where the pieces of a stream are; None: not in packs."""
    if not pieces or pieces[0][0] not in live:
        return None
    return _joined([(*live[name], size) for name, size in pieces])


def _joined(spots: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Pack, offset and size of pieces, with those as one that follow each other; new ones, without a pack, will."""
    runs: list[tuple[str, int, int]] = []
    for pack, at, size in spots:
        if runs and runs[-1][0] == pack and (not pack or runs[-1][1] + runs[-1][2] == at):
            runs[-1] = (pack, runs[-1][1], runs[-1][2] + size)
        else:
            runs.append((pack, at, size))
    return runs


def _place(runs: list[list[int]], size: int) -> Place:
    if len(runs) == 1:
        return {"pack": runs[0][0], "at": runs[0][1], "size": size}
    return {"runs": runs, "size": size}


@contextmanager
def fitting() -> Iterator[None]:
    """In its block a manifest is read, which a sandbox wrote: what does not fit together counts as missing.

    Raises:
        MissingBlobError: a value of another type stands there, or a number or name that leads nowhere.
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise MissingBlobError("the snapshot's manifest does not fit together") from error


def runs_of(place: Place, packs: Sequence[str]) -> list[tuple[str, int, int]]:
    """The parts of packs that a place names, one after the other: which pack, where in it, and bytes.

    Raises:
        MissingBlobError: it names none that can be.
    """
    with fitting():
        runs = [[place["pack"], place["at"], place["size"]]] if "pack" in place else place.get("runs", [])
        found: list[tuple[str, int, int]] = []
        for number, at, size in runs:
            if not all(type(one) is int and one >= 0 for one in (number, at, size)):
                raise ValueError
            found.append((packs[number], at, size))
        if "runs" in place and sum(size for _, _, size in found) != place["size"]:
            raise ValueError
        return found


def packs_of(place: Place, packs: Sequence[str]) -> list[str]:
    """The packs in which a place is.

    Raises:
        MissingBlobError: it names none that can be.
    """
    return sorted({pack for pack, _, _ in runs_of(place, packs)})


def read(place: Place, packs: Sequence[str], blobs: Blobs, cache: dict[str, bytes]) -> bytes:
    """The bytes at a place.

    Raises:
        MissingBlobError: a blob is missing or damaged, or has not what the place says.
    """
    with fitting():
        if "text" in place:
            data: bytes = place["text"].encode("latin-1")
        elif "blobs" in place:
            data = b"".join(blobs.read(name) for name in place["blobs"])
        else:
            found: list[bytes] = []
            for name, at, size in runs_of(place, packs):
                if name not in cache:
                    cache[name] = blobs.read(name)
                found.append(cache[name][at : at + size])
                if len(found[-1]) != size:
                    raise ValueError
            data = found[0] if len(found) == 1 else b"".join(found)
        if len(data) != place["size"]:
            raise ValueError
        return data
