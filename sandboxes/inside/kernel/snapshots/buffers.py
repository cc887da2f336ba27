"""The large buffers of a snapshot: blobs one after the other, and patches where little of one has changed.

A blob of a megabyte that is written again for a few changed numbers would be all that a step costs. So what is kept of
it is its name as before, and the blocks in which the buffer differs from it. A patch always refers to the blob, never
to another patch: a buffer is read as its blobs with the newest patches over them. Patches lie in packs, like all that
is small. A blob of which much has changed is written anew.
"""

from pickle import PickleBuffer
from typing import Any

from . import manifest
from .blobs import CHUNK, Blobs, MissingBlobError, Spool
from .block_digests import BLOCK
from .change_detection import SMALLEST, BufferDigests, MappedBlobs

ROW = 64 << 10
"""Bytes of a row from which on an array is cut where its rows end: a column that is replaced leaves the others."""
SHARE = 4
"""A blob is patched as long as no more than this part of it has changed."""
MAX_PATCHES = 2_048
"""Blocks of one snapshot that are patches; beyond them blobs are written anew."""

Entry = dict[str, Any]
"""`{"size", "blobs"}`, or with patches `{"size", "base", "patches"}`: offset, bytes, number of the pack, place in it.

`base` is not called `blobs`, so that versions which know of no patches refuse it."""


class BufferWriter:
    """Writes what is new of the buffers of one session's snapshots.

    Args:
        spool: Where blobs go.
        before: Knows what the last snapshot had.
    """

    def __init__(self, spool: Spool, before: BufferDigests | MappedBlobs) -> None:
        self._spool = spool
        self._before = before
        self._patches: list[tuple[list[int], memoryview]] = []

    def begin(self) -> None:
        """Begin a snapshot."""
        self._before.begin()
        self._patches = []

    def write(self, place: tuple[str, int], buffer: PickleBuffer) -> Entry:
        """Write what is new of a buffer.

        Args:
            place: The first variable of its unit, and its number in it.
            buffer: It.
        """
        size, cut = memoryview(buffer).nbytes, cut_buffer(buffer)
        if size < SMALLEST:
            return {"size": size, "blobs": self._spool.put_all(cut)}
        key = (*place, size)
        names, patches, at = [], list[tuple[list[int], memoryview]](), 0
        for piece, (name, blocks) in zip(cut, self._before.changes(key, cut), strict=True):
            room = MAX_PATCHES - len(self._patches) - len(patches)
            if len(blocks) * BLOCK * SHARE <= len(piece) and len(blocks) <= room:
                for block in blocks:
                    data = piece[block * BLOCK : (block + 1) * BLOCK]
                    patches.append(([at + block * BLOCK, len(data)], data))
                names.append(name)
            else:
                names.append("")
            at += len(piece)
        fresh = iter(self._spool.put_all([piece for piece, name in zip(cut, names, strict=True) if not name]))
        whole = [name or next(fresh) for name in names]
        self._before.note(key, whole, [not name for name in names])
        self._patches += patches
        if not patches:
            return {"size": size, "blobs": whole}
        return {"size": size, "base": whole, "patches": [place for place, _ in patches]}

    def patches(self) -> list[memoryview]:
        """What patches of this snapshot hold, to be put into packs."""
        return [data for _, data in self._patches]

    def place(self, places: list[manifest.Place]) -> None:
        """Write down in the entries where the patches are."""
        for (patch, _), place in zip(self._patches, places, strict=True):
            patch += [place["pack"], place["at"]]

    def look(self, piece: memoryview) -> list[bytes]:
        """What `learn` has to know of a piece that was read from its blob."""
        return self._before.look(piece)

    def learn(self, place: tuple[str, int], entry: Entry, looked: list[list[bytes]]) -> None:
        """Note what a restored snapshot has of a buffer, before patches: `looked` is what `look` said of its blobs."""
        if entry["size"] >= SMALLEST:
            self._before.learn((*place, entry["size"]), blobs_of(entry), looked)

    def kept_digests(self, key: tuple[str, int, int]) -> list[list[bytes]]:
        """The digests of a buffer's blocks, patches included, as the last snapshot has it; empty: there are none."""
        return self._before.kept_digests(key)

    def settle(self) -> None:
        """The snapshot was written."""
        self._before.settle()


def blobs_of(entry: Entry) -> list[str]:
    """The blobs of a buffer, one after the other; patches aside."""
    names: list[str] = entry["base"] if "base" in entry else entry["blobs"]
    return names


def packs_of(entry: Entry, packs: list[str]) -> list[str]:
    """The packs in which its patches are."""
    return sorted({packs[patch[2]] for patch in entry.get("patches", ())})


def patch(memory: memoryview, entry: Entry, packs: list[str], blobs: Blobs, cache: dict[str, bytes]) -> None:
    """Put the patches over a buffer that was read from its blobs.

    Raises:
        MissingBlobError: one is missing, damaged or not what it is said to be.
    """
    for at, size, pack, place in entry.get("patches", ()):
        data = manifest.read({"pack": pack, "at": place, "size": size}, packs, blobs, cache)
        if at < 0 or len(data) != size or at + size > len(memory):
            raise MissingBlobError("a patch of a variable does not fit it")
        memory[at : at + size] = data


def cut_buffer(buffer: PickleBuffer) -> list[memoryview]:
    """A buffer cut into blobs: where its rows end when they are long, else at every so many bytes."""
    shaped, flat = memoryview(buffer), buffer.raw()
    shape = shaped.shape or (1,)
    row = shaped.nbytes // shape[0] if len(shape) == 2 and shape[0] > 1 and shaped.c_contiguous else 0
    if row < ROW:
        row = len(flat)
    ends = range(0, len(flat), max(row, 1))
    return [
        flat[start : min(start + CHUNK, begin + row)]
        for begin in ends
        for start in range(begin, min(begin + row, len(flat)), CHUNK)
    ]
