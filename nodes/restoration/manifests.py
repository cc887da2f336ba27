"""Manifests of snapshots, which sandboxes write: what the host reads of them, and what that may cost.

Kernels write them with sorted keys and without spaces, so the list of blobs stands first, every name at the same
distance. It is taken from there without parsing anything, block by block: hundreds of thousands of names hold nobody
up. Whoever wants to know more of a large one has it parsed in a process of its own (`sandboxes/host/reading.py`).
"""

import asyncio
from typing import Any

from sandboxes.host.limits import MEGABYTE
from sandboxes.host.reading import SMALL, UnreadableError, read_json, read_small
from storage.blobs import NAME

MAX_MANIFEST = 64 << 20
"""Bytes of one that is read, and …"""
MAX_NEW = 32 * MEGABYTE
"""… of one that is kept: 2,000 variables and 10,000 files take 2.6 MB."""
MAX_ITEMS = 2_000_000
"""Values in one that is parsed: 10,000 files take 150,000."""
FORMAT = 1
FIRST, AFTER = b'{"blobs":[', b'],"cache_tag":'
MARK = b',"format":1,'
STEP = 67
"""Bytes of a name with its quotes and a comma."""
BLOCK = 4_096
"""Names that are looked at in one go."""
DIGITS = b"0123456789abcdef"


class NotRestoredError(Exception):
    """A snapshot cannot be used; the message says why in one sentence."""


def blobs_of(manifest: bytes) -> set[str]:
    """The blobs that a manifest names. Call it in a thread when it may be large.

    Raises:
        NotRestoredError: it is not a manifest that this version can read.
    """
    if manifest.startswith(FIRST):
        return _listed(manifest)
    if len(manifest) > SMALL:
        raise _unreadable()
    try:
        said = read_small(manifest)
    except UnreadableError:
        raise _unreadable() from None
    return _named(said)


async def manifest_of(data: bytes) -> dict[str, Any]:
    """All that a manifest says; that its parts are what they should be is for the caller to see.

    Its list of blobs is the one that was checked when it was kept, whatever a parser takes for that list: JSON may have
    a name twice.

    Raises:
        NotRestoredError: it is not a manifest that this version can read, or it is too large.
    """
    try:
        said = await read_json(data, max_bytes=MAX_MANIFEST, max_items=MAX_ITEMS)
    except UnreadableError as error:
        raise NotRestoredError(f"The snapshot's manifest cannot be read: {error}.") from None
    _named(said)
    return {**said, "blobs": sorted(await asyncio.to_thread(blobs_of, data))}


async def light_blobs_of(manifest: bytes, *, files: bool = True) -> set[str]:
    """Of the blobs that a manifest names, those that hold small streams.

    Args:
        manifest: It.
        files: Whether those as well that hold files.

    Raises:
        NotRestoredError: it is not a manifest that this version can read.
    """
    said = await manifest_of(manifest)
    packs, outside = said.get("packs"), said.get("outside")
    tables = [said.get("files"), *(outside.values() if isinstance(outside, dict) else ())] if files else []
    entries = [one for table in tables if isinstance(table, dict) for one in table.values() if isinstance(one, dict)]
    chunks = [entry["chunks"] for entry in entries if isinstance(entry.get("chunks"), list)]
    lists = [*chunks, packs] if isinstance(packs, list) else chunks
    return {name for names in lists for name in names if isinstance(name, str)} & set(said["blobs"])


def _listed(manifest: bytes) -> set[str]:
    start = len(FIRST)
    end = manifest.find(b"]", start)
    if end < 0 or not manifest.startswith(AFTER, end) or manifest.find(MARK, end) < 0:
        raise _unreadable()
    names: set[str] = set()
    if end == start:
        return names
    if (end - start) % STEP != STEP - 1:
        raise _unlisted()
    for at in range(start, end, STEP * BLOCK):
        block = manifest[at : min(at + STEP * BLOCK, end)]
        block += b"," if len(block) % STEP else b""
        count = len(block) // STEP
        marks = block[0::STEP] + block[STEP - 2 :: STEP] + block[STEP - 1 :: STEP]
        if marks != b'"' * (2 * count) + b"," * count or len(block.translate(None, DIGITS)) != 3 * count:
            raise _unlisted()
        text = block.decode("ascii")
        names.update(text[one + 1 : one + 65] for one in range(0, len(text), STEP))
    return names


def _named(said: Any) -> set[str]:
    if not isinstance(said, dict) or said.get("format") != FORMAT:
        raise _unreadable()
    names = said.get("blobs")
    if not isinstance(names, list) or not all(isinstance(name, str) and NAME.fullmatch(name) for name in names):
        raise _unlisted()
    return set(names)


def _unreadable() -> NotRestoredError:
    return NotRestoredError("The snapshot's manifest cannot be read by this version of Stepwell.")


def _unlisted() -> NotRestoredError:
    return NotRestoredError("The snapshot's manifest does not say which blobs it needs.")
