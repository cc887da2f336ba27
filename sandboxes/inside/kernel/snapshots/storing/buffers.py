"""The large buffers of a snapshot: blobs one after the other, and patches where little of one has changed.

A blob of a megabyte that is written again for a few changed numbers would be all that a step costs. So what is kept of
it is its name as before, and the blocks in which the buffer differs from it. A patch always refers to the blob, never
to another patch: a buffer is read as its blobs with the newest patches over them. Patches lie in packs, like all that
is small. A blob of which much has changed is written anew.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pickle import PickleBuffer
from typing import Any

from ...dict_contents import is_alone
from . import manifest
from .blobs import CHUNK, Blobs, MissingBlobError, Spool, verify
from .block_digests import BLOCK, Digests, check_of, digests_of
from .change_detection import BufferDigests, MappedBlobs, fast_digest

ROW = 64 << 10
"""Bytes of a row from which on an array is cut where its rows end: a column that is replaced leaves the others."""
SHARE = 4
"""A blob is patched as long as no more than this part of it has changed."""
MAX_PATCHES = 2_048
"""Blocks of one snapshot that are patches; beyond them blobs are written anew."""

Entry = dict[str, Any]
"""`{"size", "blobs"}`, or with patches `{"size", "base", "patches"}`: offset, bytes, number of the pack, place in it.

`base` is not called `blobs`, so that versions which know of no patches refuse it. `check` is a digest of what its blobs
hold, by which they are checked in a tenth of the time that hashing them takes; it is missing where xxhash was."""


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
        self._alone = True

    def begin(self) -> None:
        """Begin a snapshot."""
        self._before.begin()
        self._patches = []
        self._alone = is_alone()

    def _still(self, content: memoryview) -> memoryview:
        """The same, as a copy if a thread may change it while it is hashed and written."""
        return content if self._alone else memoryview(bytes(content))

    def write(self, place: tuple[str, int], buffer: PickleBuffer) -> Entry:
        """Write what is new of a buffer.

        Args:
            place: The first variable of its unit, and its number in it.
            buffer: It.
        """
        size, cut = memoryview(buffer).nbytes, cut_buffer(buffer)
        if size < self._before.smallest:
            return {"size": size, "blobs": self._spool.put_all(list(map(self._still, cut)))}
        key = (*place, size)
        changes = self._before.changes(key, cut)
        if (kept := self._before.again(key)) is not None:
            return {"size": size, "blobs": kept[0], **({"check": kept[1]} if kept[1] else {})}
        names, patches, at = [], list[tuple[list[int], memoryview]](), 0
        for piece, (name, blocks) in zip(cut, changes, strict=True):
            room = MAX_PATCHES - len(self._patches) - len(patches)
            if len(blocks) * BLOCK * SHARE <= len(piece) and len(blocks) <= room:
                for block in blocks:
                    data = self._still(piece[block * BLOCK : (block + 1) * BLOCK])
                    patches.append(([at + block * BLOCK, len(data)], data))
                names.append(name)
            else:
                names.append("")
            at += len(piece)
        written = [None if name else self._still(piece) for piece, name in zip(cut, names, strict=True)]
        fresh = iter(self._spool.put_all([piece for piece in written if piece is not None]))
        whole = [name or next(fresh) for name in names]
        self._before.note(key, whole, written)
        self._patches += patches
        entry: Entry = {"size": size, "base" if patches else "blobs": whole}
        if patches:
            entry["patches"] = [place for place, _ in patches]
        if check := self._before.check(key):
            entry["check"] = check
        return entry

    def patches(self) -> list[memoryview]:
        """What patches of this snapshot hold, to be put into packs."""
        return [data for _, data in self._patches]

    def place(self, places: list[manifest.Place]) -> None:
        """Write down in the entries where the patches are."""
        for (patch, _), place in zip(self._patches, places, strict=True):
            patch += [place["pack"], place["at"]]

    def look(self, piece: memoryview) -> list[bytes]:
        """What `kept_digests` has of a piece like this."""
        return self._before.look(piece)

    def learn(self, place: tuple[str, int], entry: Entry, sizes: list[int], digests: Digests) -> None:
        """Note what a restored snapshot has of a buffer, before patches: of its blobs."""
        if entry["size"] >= self._before.smallest:
            self._before.learn((*place, entry["size"]), blobs_of(entry), sizes, digests)

    def kept_digests(self, key: tuple[str, int, int]) -> list[list[bytes]]:
        """The digests of a buffer's blocks, patches included, as the last snapshot has it; empty: there are none."""
        return self._before.kept_digests(key)

    def settle(self) -> None:
        """The snapshot was written."""
        self._before.settle()


class FillingBuffer:
    """Memory that is being filled with the blobs of a buffer, patches aside.

    Each piece is checked as soon as it is read, as long as it is in the processor's cache.

    Args:
        pool: Reads them.
        blobs: Where they are.
        target: The memory.
        entry: The buffer.
        wait: Returns once a blob is there.

    Raises:
        MissingBlobError: one is not there, or they have another size.
    """

    def __init__(
        self,
        pool: ThreadPoolExecutor,
        blobs: Blobs,
        target: memoryview,
        entry: Entry,
        wait: Callable[[str], object] = lambda name: None,
    ) -> None:
        names, digest, start = blobs_of(entry), fast_digest(), 0
        self._digest = digest
        self._check = entry.get("check", "") if digest else ""
        self._pieces: list[tuple[str, memoryview]] = []
        self._jobs: list[Future[list[bytes]]] = []

        def fill(name: str, piece: memoryview) -> list[bytes]:
            blobs.read_into(name, piece, check=not self._check)
            return digests_of(piece, digest) if digest else []

        for name in names:
            wait(name)
            end = start + blobs.size(name)
            self._pieces.append((name, target[start:end]))
            self._jobs.append(pool.submit(fill, *self._pieces[-1]))
            start = end
        if start != len(target):
            blobs.check(names)
            raise MissingBlobError(f"the blobs of a variable have {start} bytes instead of {len(target)}")

    @property
    def sizes(self) -> list[int]:
        """Bytes of each blob."""
        return [len(piece) for _, piece in self._pieces]

    def digests(self) -> Digests:
        """Wait until all is there.

        Returns:
            The digests of the blocks of each blob; without xxhash of none.

        Raises:
            MissingBlobError: one is not there, or damaged.
        """
        digests = [job.result() for job in self._jobs]
        if self._digest and self._check and check_of(digests, self._digest) != self._check:
            for name, piece in self._pieces:
                verify(piece, name)  # which one it is; none where a thread wrote while the snapshot was taken
        return digests


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
    with manifest.fitting():
        for at, size, pack, place in entry.get("patches", ()):
            data = manifest.read({"pack": pack, "at": place, "size": size}, packs, blobs, cache)
            if at < 0 or at + size > len(memory):
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
