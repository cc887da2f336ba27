"""Keeps the order of sets, which depends on the order in which their items came, and on what was taken out.

A stream has the items of a set in the order of its table, and whoever loads it puts them one by one into a new table.
Of random sets of four texts a third come out in another order then, of those with a thousand nearly all. For such a
set the stream has an instruction behind its variables: the size of the table, the place of each item, the places
from which one was taken, and where the next `pop` begins; later changes have the same effect then as they would have
had. Tables are read and written where CPython keeps them, which is the same in 3.11 to 3.14. That is tried out before
it is relied on; where it fails, and in debug builds and those without the interpreter's lock, the order of sets may
change.

No code of an item's class runs in the session for this: how a new table would look follows from the hashes in the old.
"""

import ctypes
import functools
import hashlib
import re
import sys
from array import array
from collections.abc import Iterable
from typing import Any

from ..memo_table import BITS, NEWEST
from ..storing.loaded_memory import without_collections

Recipe = tuple[Any, int, bytes, bytes, int]
"""A set, the mask of its table, the places of its items (in the order of the set as it is loaded), those left, and its
finger. Snapshots of an earlier version have no finger."""
MOST = 100_000
"""Items of all sets of a stream; with more than that, their order may change."""
MOST_PLACES = 1 << 19
"""Places in the tables of all sets of a stream: one from which a million items were taken has a table for a million."""
SMALL = 256 << 10
"""Bytes of a stream up to which two bytes of an operation are not missed for being two."""
FILLED = re.compile(rb"\x8f\x94\(")
"""A set with items in a stream: an empty one, remembered, and the mark before its items."""
EMPTY = b"\x8f\x94"
"""Any set: one that is empty has a finger."""
FROZEN, FROZEN_AFTER_OBJECT = b"\x91\x94", re.compile(rb"\x94\x91\x94")
"""A frozen set, remembered; and one after an item that is."""
LARGE, MOST_KNOWN = 2_048, 16
"""Words of a table from which on it is remembered what came of it, and of how many."""
_recipes: dict[int, tuple[tuple[bytes, int], Recipe | None]] = {}
"""Identity of a set → a digest of its table, and its finger, and the recipe without the set."""
WORD = ctypes.sizeof(ctypes.c_ssize_t)
ENTRIES = 8
"""Places of the table that is in the object itself."""
PLAIN = frozenset({str, bytes, int, float, complex, bool, type(None)})
"""Types whose hashes and comparisons are Python's own."""


class _Set(ctypes.Structure):
    _fields_ = (("head", ctypes.c_ssize_t * 2), ("fill", ctypes.c_ssize_t), ("used", ctypes.c_ssize_t),
                ("mask", ctypes.c_ssize_t), ("table", ctypes.c_void_p), ("hash", ctypes.c_ssize_t),
                ("finger", ctypes.c_ssize_t), ("own", ctypes.c_ssize_t * (2 * ENTRIES)),
                ("references", ctypes.c_void_p))  # fmt: skip


class _StandIn:
    """An item of the same hash, which is equal to no other."""

    __slots__ = ("value",)

    def __init__(self, value: int) -> None:
        self.value = value

    def __hash__(self) -> int:
        return self.value


def may_have_sets(data: bytes) -> bool:
    """Whether there are sets in a stream whose order may have to be kept."""
    if len(data) <= SMALL:
        return EMPTY in data or FROZEN in data
    return FILLED.search(data) is not None or FROZEN_AFTER_OBJECT.search(data) is not None


def recipes(objects: Iterable[Any]) -> list[Recipe]:
    """For sets that would not come back in their order, how they are put in order again."""
    found: list[Recipe] = []
    if not is_as_known():
        return found
    left, places = MOST, MOST_PLACES
    with without_collections():
        for one in objects:
            if type(one) is set or type(one) is frozenset:
                size = _Set.from_address(id(one)).mask + 1
                left -= len(one)
                if left < 0:
                    break
                if size > places:
                    continue
                places -= size
                if (recipe := _recipe(one)) is not None:
                    found.append(recipe)
    return found


def arrange(wanted: list[Any]) -> None:
    """Put sets in order that have just been loaded. One whose items have other hashes now stays as it is."""
    if not is_as_known():
        return
    with without_collections():
        for one, mask, places, left, *finger in wanted:
            try:
                _arrange(one, mask, array("Q", places), array("Q", left), *finger)
            except Exception:  # hashing and comparing are the code of whatever is in it
                continue


def _recipe(one: Any) -> Recipe | None:
    table, finger = _read(one)
    if len(table) < LARGE:
        return _recipe_of(one, table, finger)
    content = hashlib.blake2b(table, digest_size=16).digest(), finger
    known = _recipes.pop(id(one), ((b"", 0), None))
    recipe = known[1] if known[0] == content else _recipe_of(one, table, finger)
    _recipes[id(one)] = content, recipe and (None, *recipe[1:])
    while len(_recipes) > MOST_KNOWN:
        del _recipes[next(iter(_recipes))]
    return recipe and (one, *recipe[1:])


def _recipe_of(one: Any, table: Any, finger: int) -> Recipe | None:
    items = list(one)
    is_plain = PLAIN.issuperset(map(type, items))
    again = type(one)(items if is_plain else ())
    new = _table(again)
    if is_plain and not finger and len(new) == len(table) and bytes(new) == bytes(table):
        return None
    words = table[:]
    keys, hashes = words[::2], words[1::2]
    mine = _taken(words)
    left = [place for place, value in enumerate(hashes) if value == -1]
    if [*map(id, items)] != [keys[place] for place in mine]:
        return None  # another thread has changed it since
    if not is_plain:
        items = [_StandIn(hashes[place]) for place in mine]
        again = type(one)(items)
        new = _table(again)
    place_of = {id(item): place for item, place in zip(items, mine, strict=True)}
    places = [place_of[id(item)] for item in again]
    if not left and not finger and len(new) == len(words) and places == _taken(new[:]):
        return None
    return one, len(keys) - 1, array("Q", places).tobytes(), array("Q", left).tobytes(), finger


def _taken(words: list[int]) -> list[int]:
    """The places in a table that have an item."""
    return [
        place for place, (key, value) in enumerate(zip(words[::2], words[1::2], strict=True)) if key and value != -1
    ]


def _arrange(one: Any, mask: int, places: Any, left: Any, finger: int = 0) -> None:
    items = list(one)
    hashes = [hash(item) for item in items]
    fill = len(items) + len(left)
    if len(places) != len(items) or fill * 5 >= mask * 3 or max((*places, *left), default=0) > mask:
        return
    if mask >= MOST_PLACES or len({*places, *left}) != fill:
        return
    made = _empty(mask)
    table = _table(made)
    if len(table) != 2 * (mask + 1):
        return
    words = [0] * len(table)
    for item, value, place in zip(items, hashes, places, strict=True):
        words[2 * place], words[2 * place + 1] = id(item), value
    for place in left:
        words[2 * place], words[2 * place + 1] = _dummy(), -1
    for item in items:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(item))
    table[:] = words
    head = _Set.from_address(id(made))
    head.fill, head.used, head.finger = fill, len(items), finger
    if all(item in made for item in items) and list(one) == items:
        _swap(one, made)


def _empty(mask: int) -> set[Any]:
    """An empty set whose table has a size."""
    made: set[Any] = set()
    if mask + 1 == ENTRIES:
        return made
    others = set(range((mask + 1) // 2 - 1))  # a table gets twice the room for what another set brings
    made.update(others)
    table = _table(made)
    table[:] = [0] * len(table)
    head = _Set.from_address(id(made))
    head.fill = head.used = 0
    for one in others:
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(one))
    return made


def _swap(one: Any, other: Any) -> None:
    """Let two sets have each other's tables."""
    first, second = _Set.from_address(id(one)), _Set.from_address(id(other))
    own = [id(each) + _Set.own.offset for each in (one, other)]
    tables = [second.table, first.table]
    for name in ("fill", "used", "mask", "finger"):
        mine, theirs = getattr(first, name), getattr(second, name)
        setattr(first, name, theirs)
        setattr(second, name, mine)
    mine, theirs = first.own[:], second.own[:]
    first.own[:], second.own[:] = theirs, mine
    first.table = own[0] if tables[0] == own[1] else tables[0]
    second.table = own[1] if tables[1] == own[0] else tables[1]


def _table(one: Any) -> Any:
    head = _Set.from_address(id(one))
    return (ctypes.c_ssize_t * (2 * (head.mask + 1))).from_address(head.table)


def _read(one: Any) -> tuple[Any, int]:
    """A copy of the table of a set, and its finger; other threads may change the set at any time.

    Between looking at the size and the end of the copy is neither a call of Python's code nor a jump back, and the
    collector is off, so that Python switches to no other thread there.
    """
    head, copy = _Set.from_address(id(one)), _memcpy()
    while True:
        mask = head.mask
        copied = (ctypes.c_ssize_t * (2 * (mask + 1)))()
        address, size = ctypes.addressof(copied), ctypes.sizeof(copied)
        if head.mask == mask:
            copy(address, head.table, size)
            return copied, head.finger


@functools.cache
def _memcpy() -> Any:
    """That of C, called without giving other threads a turn."""
    copy = ctypes.PyDLL(None).memcpy
    copy.argtypes, copy.restype = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t), ctypes.c_void_p
    return copy


@functools.cache
def _dummy() -> int:
    """What is in the place of an item that was taken out."""
    one = {1}
    one.discard(1)
    return int(_table(one)[2])


@functools.cache
def is_as_known() -> bool:
    """Whether this Python keeps the tables of sets where they are looked for."""
    if sys.implementation.name != "cpython" or not (3, 11) <= sys.version_info[:2] <= NEWEST or BITS != 64:
        return False
    if getattr(sys, "abiflags", "") or hasattr(sys, "gettotalrefcount"):  # a debug build, or one without the lock
        return False
    if set.__basicsize__ != ctypes.sizeof(_Set) or object.__basicsize__ != 2 * WORD:
        return False
    try:
        with without_collections():
            return all(map(_is_found, (4, 9, 60, 500)))
    except Exception:  # it is another table altogether
        return False


def _is_found(count: int) -> bool:
    """Whether a set of known items is read as it is, and another one is brought into its order."""
    known = {str(number) for number in range(count)}
    known.difference_update([str(number) for number in range(0, count, 3)])
    known.discard(known.pop())
    table, finger = _read(known)
    head, words = _Set.from_address(id(known)), table[:]
    items = [words[2 * place] for place in _taken(words)]
    if head.used != len(known) or [id(item) for item in known] != items or head.fill < head.used or not finger:
        return False
    if any(key not in (0, _dummy()) for key, value in zip(words[::2], words[1::2], strict=True) if value in (0, -1)):
        return False
    recipe = _recipe_of(known, table, finger)
    again = {*list(known)}
    if recipe is None:
        return False
    _arrange(again, recipe[1], array("Q", recipe[2]), array("Q", recipe[3]), recipe[4])
    other, its_finger = _read(again)
    return bytes(other) == bytes(table) and its_finger == finger and again == known
