"""Finds the memory that says what plain objects are: dicts, lists and the like, down to the numbers and texts in them.

It is read where CPython keeps it, by NumPy, many objects at a time, and nothing is written by that: not even the counts
of references, which any other way to look at an object changes. The layout is that of 3.11 to 3.14. It is tried out
before it is relied on, on objects that are known.
"""

import ctypes
import functools
import io
import os
import pickle
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ...dict_contents import (
    DICT_KEYS,
    DICT_VALUES,
    NEWEST,
    OF_TEXTS,
    OLDEST,
    TABLE_COUNT,
    TABLE_INDICES,
    TABLE_KINDS,
    WORD,
)
from ..memo_table import BITS
from .block_digests import TRACKED
from .written_pages import PAGE

LEVELS = 64
"""How deep objects may lie in each other; each level is one round through all of it."""
BATCH = 1 << 14
"""Objects that are looked at together, few enough that what is made for it stays in the processor's cache."""
MOST_TRIED = 10_000
"""Entries of the known objects that are tried; none has nearly as many."""
PROBES = 1_024
"""Pages that one system call is asked about."""
WORDS = PAGE // WORD
"""Words of a page."""
SPACE = 1 << 47
"""Addresses that a process can have."""
LARGEST_SMALL = 256
"""Numbers from -5 to this are made once, with the interpreter."""
TYPE, SIZE = 8, 16
"""Places in an object: its type, after the count of references; and its size."""
TUPLE_ITEMS = 32 if sys.version_info >= (3, 14) else 24
"""Where the items of a tuple begin: from 3.14 on after its hash, which asking for it writes and which is no change."""
LIST_ITEMS, BYTES_DATA, SET_MASK, SET_TABLE = 24, 32, 32, 40
SET_FINGER = 56
"""Where a set says which item the next `pop` gives: that may be all that a `pop` and an `add` have changed."""
TEXT_STATE, TEXT_COMPACT, TEXT_ASCII = 32, 5, 6
"""Where a text says what it is, and the bits of that."""
DELETED = (1 << 64) - 1
"""In the place of the hash of what was taken out of a set."""
HAS_TAG = sys.version_info >= (3, 12)
"""Whether numbers have their count of digits in a tag, and texts no wide copy."""


@dataclass(frozen=True, slots=True)
class ObjectMemory:
    """The memory of some objects."""

    objects: Any
    """Addresses of all that a pickler remembers, in order."""
    pages: Any
    """The numbers of the pages that it lies on, in order."""
    mask: Any
    """For each of them the words that count, a bit for each."""


class _Walk:
    """One walk through objects; see `Reader.find`."""

    def __init__(self, reader: "Reader") -> None:
        self._reader = reader
        self._numpy = reader.numpy
        self.starts: list[Any] = []
        self.counts: list[Any] = []
        """Stretches of memory: where they begin, and their words."""
        self.remembered: list[Any] = []
        self.next: list[Any] = []
        """Addresses of what lies in the objects."""

    def word(self, addresses: Any) -> Any:
        if self._reader.careful:
            self._reader.check(addresses)
        return self._reader.words[(addresses - PAGE) >> 3]

    def note(self, starts: Any, counts: Any) -> None:
        """Note stretches of memory; one number for all counts will do."""
        counts = self._numpy.broadcast_to(self._numpy.asarray(counts, "i8"), starts.shape)
        some = counts > 0
        self.starts.append(starts[some])
        self.counts.append(counts[some])

    def content(self, starts: Any, counts: Any) -> Any:
        """All words of stretches of memory, which are noted."""
        numpy = self._numpy
        self.note(starts, counts)
        if self._reader.careful and (len(counts) and (counts.min() < 0 or counts.max() > MOST_TRIED)):
            raise OSError("that is no count")
        before = numpy.cumsum(counts) - counts
        within = numpy.arange(int(counts.sum()), dtype="i8")
        return self.word(numpy.repeat(starts - WORD * before, counts) + WORD * within)

    def follow(self, pointers: Any) -> None:
        """Note that something lies at these addresses; a zero is nothing."""
        self.next.append(pointers[pointers != 0])

    def dicts(self, them: Any) -> bool:
        self.note(them + TYPE, 2)
        self.note(them + DICT_KEYS, 2)
        tables, values = self.word(them + DICT_KEYS), self.word(them + DICT_VALUES)
        counts = self.word(tables + TABLE_COUNT)
        # One without entries may have the table that all such dicts share, which is the interpreter's.
        tables, counts = tables[counts > 0], counts[counts > 0]
        kinds = self.word(tables + TABLE_KINDS)
        which = kinds >> 16 & 0xFF
        if (values != 0).any() or (which > OF_TEXTS).any():
            return False
        self.note(tables + TABLE_KINDS, 3)
        entries = tables + TABLE_INDICES + (1 << (kinds >> 8 & 0xFF))
        of_texts = which == OF_TEXTS
        self.follow(self.content(entries[of_texts], 2 * counts[of_texts]))
        general = self.content(entries[~of_texts], 3 * counts[~of_texts]).reshape(-1, 3)
        self.follow(general[:, 1])
        self.follow(general[:, 2])
        return True

    def lists(self, them: Any) -> bool:
        self.note(them + TYPE, 3)
        self.follow(self.content(self.word(them + LIST_ITEMS), self.word(them + SIZE)))
        return True

    def tuples(self, them: Any) -> bool:
        self.note(them + TYPE, 2)
        self.follow(self.content(them + TUPLE_ITEMS, self.word(them + SIZE)))
        return True

    def sets(self, them: Any) -> bool:
        self.note(them + TYPE, 5)
        self.note(them + SET_FINGER, 1)
        entries = self.content(self.word(them + SET_TABLE), 2 * (self.word(them + SET_MASK) + 1)).reshape(-1, 2)
        self.follow(entries[entries[:, 1].view("u8") != DELETED, 0])
        return True

    def texts(self, them: Any) -> bool:
        length, state = self.word(them + SIZE), self.word(them + TEXT_STATE)
        compact, ascii = state >> TEXT_COMPACT & 1, state >> TEXT_ASCII & 1
        size = (length + 1) * (state >> 2 & 7)
        if (compact == 0).any() or (size >= TRACKED).any():
            return False
        self.note(them + TYPE, 2)
        self.note(them + TEXT_STATE, 1)
        header = self._numpy.where(ascii == 1, *((40, 56) if HAS_TAG else (48, 72)))
        self.note(them + header, size + 7 >> 3)
        return True

    def bytes(self, them: Any) -> bool:
        length = self.word(them + SIZE)
        self.note(them + TYPE, 2)
        self.note(them + BYTES_DATA, length + 8 >> 3)
        return not (length >= TRACKED).any()  # what is so large may have the memory of an array, which is tracked

    def numbers(self, them: Any) -> bool:
        them = them[(them < id(-5)) | (them > id(LARGEST_SMALL))]
        size = self.word(them + SIZE)
        digits = size >> 3 if HAS_TAG else abs(size)
        self.note(them + TYPE, 2 + (digits + 1 >> 1))
        return True

    def floats(self, them: Any) -> bool:
        self.note(them + TYPE, 2)
        return True

    def singletons(self, them: Any) -> bool:
        return True


KINDS: dict[type, tuple[Callable[[_Walk, Any], bool], bool]] = {
    dict: (_Walk.dicts, True), list: (_Walk.lists, True), tuple: (_Walk.tuples, True), set: (_Walk.sets, True),
    frozenset: (_Walk.sets, True), str: (_Walk.texts, True), bytes: (_Walk.bytes, True),
    int: (_Walk.numbers, False), float: (_Walk.floats, False), bool: (_Walk.singletons, False),
    type(None): (_Walk.singletons, False),
}  # fmt: skip
"""How objects of just these types are looked at, and whether a pickler remembers them. It runs no code for any."""


class Reader:
    """Reads the memory of this process.

    Args:
        numpy: The library.
    """

    def __init__(self, numpy: Any) -> None:
        self.numpy = numpy
        everything = (ctypes.c_uint8 * (SPACE - PAGE)).from_address(PAGE)
        self.words = numpy.frombuffer(everything, "i8")
        """All of it, from the second page on."""
        self._pages = self.words.reshape(-1, WORDS)
        self.careful = False
        """Whether each place is checked before it is read: while it is tried out whether they are right."""
        self._empty_tuple = id(())
        self._writev = ctypes.CDLL(None).writev
        self._writev.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_int)
        self._writev.restype = ctypes.c_ssize_t

    def find(self, roots: Iterable[int]) -> ObjectMemory | None:
        """The memory of objects, and of all that lies in them.

        Args:
            roots: Their addresses. They must stay alive, and as they are, until the walk ends.

        Returns:
            None: something is of another type, or otherwise not known.
        """
        walk, seen = _Walk(self), self.numpy.empty(0, "i8")
        now = self._ordered(self.numpy.fromiter(roots, "i8"))
        for _ in range(LEVELS):
            if not self._look(walk, now):
                return None
            seen = self.numpy.sort(self.numpy.concatenate([seen, now]))
            now = self._ordered(self.numpy.concatenate([seen[:0], *walk.next]))
            now = now[~_among(self.numpy, now, seen)]
            walk.next = []
            if not len(now):
                return self._memory(walk)
        return None

    def _look(self, walk: _Walk, them: Any) -> bool:
        left = len(them)
        for at in range(0, len(them), BATCH):
            batch = them[at : at + BATCH]
            kinds = walk.word(batch + TYPE)
            for kind, (look, remembered) in KINDS.items():
                some = batch[kinds == id(kind)]
                left -= len(some)
                if len(some) and not look(walk, some):
                    return False
                if remembered:
                    walk.remembered.append(some)
        return not left

    def _ordered(self, addresses: Any) -> Any:
        """Each address once, in order; faster than `unique`, which hashes."""
        ordered = self.numpy.sort(addresses)
        return ordered[self.numpy.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered

    def _memory(self, walk: _Walk) -> ObjectMemory | None:
        numpy = self.numpy
        if not walk.starts:
            return None
        starts, counts = numpy.concatenate(walk.starts), numpy.concatenate(walk.counts)
        first, last = starts // PAGE, (starts + WORD * counts - 1) // PAGE
        spanned = last - first + 1
        within = numpy.arange(int(spanned.sum()), dtype="i8")
        pages = self._ordered(numpy.repeat(first - numpy.cumsum(spanned) + spanned, spanned) + within)
        places = numpy.searchsorted(pages, first) * WORDS + (starts % PAGE >> 3)
        marks = numpy.zeros(len(pages) * WORDS + 1, "i1")
        marks[places] += 1
        marks[places + counts] -= 1
        numpy.cumsum(marks, dtype="i1", out=marks)
        if int(marks.sum(dtype="i8")) != int(counts.sum()) or marks.min() < 0 or marks.max() > 1:
            return None  # two objects in the same place: it is not understood
        objects = numpy.sort(numpy.concatenate(walk.remembered))
        mask = numpy.packbits(marks[:-1].view("u1").reshape(-1, WORDS), axis=1)
        return ObjectMemory(objects[objects != self._empty_tuple], pages, mask)

    def check(self, addresses: Any) -> None:
        """Check that there is something at addresses.

        Raises:
            OSError: there is not.
        """
        pages = self._ordered(addresses // PAGE)
        if len(pages) and (pages[0] < 1 or pages[-1] >= SPACE // PAGE or not self.is_readable(pages)):
            raise OSError("there is no memory")

    def is_readable(self, pages: Any) -> bool:
        """Whether all pages are there: the system is asked to copy a byte of each, which a thread may take back then.

        Raises:
            OSError: it cannot be known.
        """
        asked = self.numpy.empty((len(pages), 2), "i8")
        asked[:, 0], asked[:, 1] = pages * PAGE, 1
        out, into = os.pipe()
        try:
            for at in range(0, len(asked), PROBES):
                count = min(PROBES, len(asked) - at)
                if self._writev(into, asked.ctypes.data + 16 * at, count) != count:
                    return False
                os.read(out, count)
        finally:
            os.close(out)
            os.close(into)
        return True

    def content(self, pages: Any) -> Any:
        """All words of pages. They must be there: what is not ends the process."""
        return self._pages[pages - 1]

    def content_there(self, pages: Any) -> Any:
        """All words of few pages, if they are there just before.

        Raises:
            OSError: some are not.
        """
        if not self.is_readable(pages):
            raise OSError("a page is not there")
        return self.content(pages)

    def content_of_file(self, pages: Any, file: int) -> Any:
        """All words of pages, from the file that has the memory of this process.

        Raises:
            OSError: some are not there.
        """
        content = self.numpy.empty((len(pages), WORDS), "i8")
        for page, row in zip(pages.tolist(), content, strict=True):
            if os.preadv(file, [row], page * PAGE) != PAGE:
                raise OSError("a page is not there")
        return content

    def masked(self, content: Any, mask: Any) -> Any:
        """What counts of the content of pages; zeros for the rest."""
        return content * self.numpy.unpackbits(mask, axis=1)


def _among(numpy: Any, some: Any, ordered: Any) -> Any:
    """Which of some numbers are among others."""
    if not len(ordered):
        return numpy.zeros(some.shape, bool)
    places = numpy.minimum(numpy.searchsorted(ordered, some), len(ordered) - 1)
    return ordered[places] == some


def reader() -> Reader | None:
    """Reads the memory of objects where NumPy is loaded and this Python keeps them where they are looked for."""
    numpy: Any = sys.modules.get("numpy")
    return _reader(numpy) if numpy is not None and hasattr(numpy, "frombuffer") else None


@functools.cache
def _reader(numpy: Any) -> Reader | None:
    if sys.implementation.name != "cpython" or not OLDEST <= sys.version_info[:2] <= NEWEST or BITS != 64:
        return None
    if "t" in sys.abiflags or sys.byteorder != "little" or object.__basicsize__ != 16:
        return None
    sizes = (dict.__basicsize__, list.__basicsize__, tuple.__basicsize__, set.__basicsize__, float.__basicsize__)
    if sizes != (48, 40, TUPLE_ITEMS, 200, 24):
        return None
    try:
        made = Reader(numpy)
        made.careful = True
        right = _is_right(made)
        made.careful = False
    except Exception:  # places that are not right; numpy is the user's, too
        return None
    return made if right else None


def _is_right(reader: Reader) -> bool:
    """Whether known objects are found, all of them, and changes of them are seen, but not that they were looked at."""
    number, text, name = 1 << 70, "ü" * 50, "".join(["a ", "name"])
    record: dict[Any, Any] = {"id": 3, name: [1000, 2.5, text], (1, name): {name, b"abc" * 9}, "none": None}
    record["more"] = {each: str(each) for each in range(1000, 1040)}
    record["many"] = set(map(str, range(1000, 1040)))
    items: list[Any] = [record, (number, True), frozenset([name, 7.25]), "", {}, [], ()]
    found = reader.find([id(items)])
    if found is None or found.objects.tolist() != _remembered(items):
        return False

    def content() -> bytes:
        return bytes(reader.masked(reader.content(found.pages), found.mask)) if reader.is_readable(found.pages) else b""

    before = content()
    held = [items, record, number, text, name, *items, *record.values(), *record]
    if not repr(items) or reader.find([id(items), id(held)]) is None or content() != before:
        return False
    changes: list[Callable[[], Any]] = [
        lambda: record.update({"id": 4}), record[name].reverse, lambda: record[name].append(1),
        lambda: record["more"].pop(1003), lambda: record.setdefault("new", 1), lambda: record[1, name].add(5),
        lambda: record["many"].add(record["many"].pop()), lambda: record[1, name].discard(name),
        lambda: items[4].update(a=1), lambda: items[5].append(1), items.pop,
    ]  # fmt: skip
    for change in changes:
        change()
        before, last = content(), before
        if before == last:
            return False
    others: tuple[Any, ...] = (type, reader, [1j], {1: OrderedDict()})
    return bool(held) and all(reader.find([id(other)]) is None for other in others)


def _remembered(value: Any) -> list[int]:
    pickler: Any = pickle.Pickler(io.BytesIO(), protocol=5)
    pickler.dump(value)
    return sorted(pickler.memo.copy())
