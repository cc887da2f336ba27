"""Tells whether a dict has the same keys and values as before, without touching any of them.

Whoever looks at a thousand objects counts their references up and down. Each page that is written that way is copied as
long as a frozen copy of the process shares it, which takes longer than all that is done with the objects. So the table
of the dict is compared, where CPython keeps it; the layout is that of 3.11 to 3.14. It is tried out before it is relied
on, on dicts that are known.
"""

import ctypes
import functools
import operator
import sys
from typing import Any

OLDEST, NEWEST = (3, 11), (3, 14)
"""The versions of CPython whose layout is known and was tried."""
WORD = 8
DICT_KEYS, DICT_VALUES = 32, 40
"""Places in a dict: where its table is, and its values where these are elsewhere."""
TABLE_KINDS, TABLE_COUNT, TABLE_INDICES = 8, 24, 32
"""Places in the table of a dict: its sizes and kind, how many entries it has had, and its index."""
SIZES_AND_KIND = 0xFF_FF_FF
GENERAL, OF_TEXTS = 0, 1
"""Kinds of tables: entries of hash, key and value; of key and value."""


_compare = ctypes.PyDLL(None).memcmp  # no other thread runs meanwhile
_compare.argtypes = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t


class DictContents:
    """What is in a dict.

    What it remembers are addresses. Whoever asks holds the keys and values that count: then nothing else can come to be
    where they are.

    Args:
        space: The dict.
    """

    def __init__(self, space: Any) -> None:
        self.space = space
        self._table = ctypes.c_size_t.from_address(id(space) + DICT_KEYS)
        self._values = ctypes.c_size_t.from_address(id(space) + DICT_VALUES)
        self._known: tuple[int, int, int] = (0, 0, 0)
        """Where the table is, its sizes and kind, and its entries."""
        self._sizes = self._count = ctypes.c_size_t(0)
        self._region: Any = None
        self._content = b""

    def remember(self) -> None:
        """Remember what is in it now. No other thread may run meanwhile."""
        if is_as_known():
            self._remember()

    def _remember(self) -> None:
        self._known = (0, 0, 0)
        if not isinstance(self.space, dict):  # a cell can put anything in the place of `sys.modules`
            return
        table = self._table.value
        if not table or self._values.value:
            return
        self._sizes = ctypes.c_size_t.from_address(table + TABLE_KINDS)
        self._count = ctypes.c_size_t.from_address(table + TABLE_COUNT)
        sizes, count = self._sizes.value & SIZES_AND_KIND, self._count.value
        words = {GENERAL: 3, OF_TEXTS: 2}.get(sizes >> 16)
        if words is not None:
            start = table + TABLE_INDICES + (1 << (sizes >> 8 & 0xFF))
            self._region = (ctypes.c_char * (WORD * words * count)).from_address(start)
            self._content = self._region.raw
            self._known = table, sizes, count

    def is_same(self) -> bool:
        """Whether it has what was remembered, in the same order. False as well where that cannot be known."""
        table, sizes, count = self._known
        return (
            bool(table)
            and self._table.value == table
            and not self._values.value
            and self._sizes.value & SIZES_AND_KIND == sizes
            and self._count.value == count
            and _compare(self._region, self._content, len(self._content)) == 0
        )


class KnownEntries:
    """The entries that a dict had when it was last asked about them, which are held.

    Who asks each of a thousand what it is asks again only once there are others.
    """

    def __init__(self) -> None:
        self._contents = DictContents({})
        self._keys: list[Any] = []
        self._values: list[Any] = []

    def are_same(self, space: dict[Any, Any]) -> bool:
        """Whether a dict has just these, in the same order; those that it has now are remembered."""
        alone = is_alone()
        if space is self._contents.space and alone and self._contents.is_same():
            return True
        keys, values = list(space), list(space.values())
        same = (len(keys), len(values)) == (len(self._keys), len(self._values))
        same = same and all(map(operator.is_, keys, self._keys)) and all(map(operator.is_, values, self._values))
        self._contents, self._keys, self._values = DictContents(space), keys, values
        if alone:
            self._contents.remember()
        return same


def is_alone() -> bool:
    """Whether no other thread can run between two lines of this one, and change what is looked at."""
    return len(sys._current_frames()) == 1


@functools.cache
def is_as_known() -> bool:
    """Whether this Python keeps dicts where they are looked for."""
    if sys.implementation.name != "cpython" or not OLDEST <= sys.version_info[:2] <= NEWEST:
        return False
    if ctypes.sizeof(ctypes.c_size_t) != WORD or hasattr(sys, "gettotalrefcount"):
        return False
    return _is_seen({str(number): [number] for number in range(40)}, 2) and _is_seen({n: [n] for n in range(40)}, 3)


def _is_seen(tried: dict[Any, Any], words: int) -> bool:
    """Whether what is in a dict is found where it is looked for, and a change of it as well."""
    contents = DictContents(tried)
    contents._remember()
    pointers = memoryview(contents._content).cast("Q").tolist()
    if pointers[words - 2 :: words] != list(map(id, tried)) or pointers[words - 1 :: words] != [
        *map(id, tried.values())
    ]:
        return False
    if not contents.is_same():
        return False
    first, *_ = tried
    held, tried[first] = tried[first], None
    replaced = contents.is_same()
    tried[first] = held
    back = contents.is_same()
    del tried[first]
    return back and not replaced and not contents.is_same()
