"""The manifest of a snapshot, canonical JSON whose hash names it, and packs, which hold many small blobs as one."""

import json
import platform
import sys
from collections import Counter
from typing import Any

from .blobs import Blobs, MissingBlobError, Spool, cut, hash_of

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

Place = dict[str, Any]
"""Where bytes are: `{"pack": n, "at": offset, "size": bytes}`, or `{"blobs": […], "size": bytes}`, or the bytes
themselves as Latin-1: `{"text": …, "size": bytes}`. Earlier versions know of no `text`, and refuse it."""


class Packs:
    """Finds places for streams; knows where those of earlier snapshots are."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, int]] = {}

    def learn(self, data: bytes | memoryview, place: Place, packs: list[str]) -> None:
        """Note where a restored snapshot has a stream."""
        if "pack" in place:
            self._known[hash_of(data)] = (packs[place["pack"]], place["at"])

    def place(
        self, streams: list[memoryview], patches: list[memoryview], spool: Spool
    ) -> tuple[list[Place], list[str]]:
        """Put streams, and patches, into blobs, or a few small streams into the manifest.

        Returns:
            Their places, in their order, and the packs that these name by number. What is known of new packs counts
            only once `settle` is called.
        """
        count, streams = len(streams), [*streams, *patches]
        names = [hash_of(data) if len(data) <= SMALL else "" for data in streams]
        live = {name: self._known[name] for name in names if name in self._known}
        if len({pack for pack, _ in live.values()}) >= MAX_PACKS:
            needed: Counter[str] = Counter()
            for name, size in dict(zip(names, map(len, streams), strict=True)).items():
                if name in live:
                    needed[live[name][0]] += size
            large = {pack for pack, _ in needed.most_common(MAX_PACKS // 2)}
            live = {name: place for name, place in live.items() if place[0] in large}
        joined = bytearray()
        fresh: dict[str, int] = {}
        for data, name in zip(streams, names, strict=True):
            if name and name not in live and name not in fresh:
                fresh[name] = len(joined)
                joined += data
        if len(joined) <= IN_MANIFEST and fresh.keys().isdisjoint(names[count:]):
            fresh = {}
        if fresh:
            pack = spool.put(joined)
            live.update({name: (pack, at) for name, at in fresh.items()})
        self._waiting = live
        packs = sorted({pack for pack, _ in live.values()})
        places: list[Place] = []
        for data, name in zip(streams, names, strict=True):
            if name and name not in live:
                places.append({"text": bytes(data).decode("latin-1"), "size": len(data)})
            elif name:
                pack, at = live[name]
                places.append({"pack": packs.index(pack), "at": at, "size": len(data)})
            else:
                places.append({"blobs": spool.put_all(cut(data)), "size": len(data)})
        return places, packs

    def settle(self) -> None:
        """The snapshot was written: its packs may be named by the next."""
        self._known = self._waiting


def read(place: Place, packs: list[str], blobs: Blobs, cache: dict[str, bytes]) -> bytes:
    """The bytes at a place.

    Raises:
        MissingBlobError: a blob is missing or damaged.
    """
    if "pack" in place:
        name = packs[place["pack"]]
        if name not in cache:
            cache[name] = blobs.read(name)
        return cache[name][place["at"] : place["at"] + place["size"]]
    if "text" in place:
        return str(place["text"]).encode("latin-1")
    return b"".join(blobs.read(name) for name in place["blobs"])
