"""Asks a C pickler whether it has met an object, without copying its memo.

A copy of a million entries takes longer than pickling them did. The memo is read where CPython keeps it, which is the
same in 3.8 to 3.14. That is tried out before it is relied on, on a pickler whose memo is known; where it fails, the
memo is copied.
"""

import ctypes
import functools
import io
import pickle
import sys
from typing import Any

NEWEST = (3, 14)
"""The last version of CPython whose source was looked at."""
SHIFT, PERTURBATION = 3, 5
"""How the table's places follow from an address, see `_PyMemoTable_Lookup` in CPython's `_pickle.c`."""
BITS = 8 * ctypes.sizeof(ctypes.c_size_t)


class _Table(ctypes.Structure):
    _fields_ = (("mask", ctypes.c_size_t), ("used", ctypes.c_size_t), ("size", ctypes.c_size_t),
                ("entries", ctypes.c_void_p))  # fmt: skip


class MemoTable:
    """The memo of a pickler that pickles nothing more.

    Args:
        pickler: One of C. It has to live as long as its memo is asked.
    """

    def __init__(self, pickler: Any) -> None:
        self._pickler = pickler
        self._copy: dict[int, Any] | None = None
        if not (is_as_known() and self._read()):
            self._copy = pickler.memo.copy()

    def _read(self) -> bool:
        """Find the table: the first field of the object leads to it."""
        address = ctypes.c_void_p.from_address(id(self._pickler) + object.__basicsize__).value
        table = _Table.from_address(address) if address else None
        if table is None or table.size != table.mask + 1 or table.size & table.mask or not table.entries:
            return False
        self._mask, self._used = table.mask, table.used
        self._keys = (ctypes.c_void_p * (2 * table.size)).from_address(table.entries)
        return True

    def __len__(self) -> int:
        return self._used if self._copy is None else len(self._copy)

    def __contains__(self, identity: int) -> bool:
        if self._copy is not None:
            return identity in self._copy
        keys, mask = self._keys, self._mask
        perturbed = identity >> SHIFT
        place = perturbed & mask
        while (key := keys[2 * place]) is not None:  # there are always places that are free
            if key == identity:
                return True
            # What overflows in C is masked in the end all the same.
            place = (5 * place + perturbed + 1) & mask
            perturbed >>= PERTURBATION
        return False


@functools.cache
def is_as_known() -> bool:
    """Whether this Python keeps the memo where it is looked for."""
    if sys.implementation.name != "cpython" or sys.version_info[:2] > NEWEST or BITS != 64:
        return False
    return _is_found([[str(number)] for number in range(60)], [[str(number)] for number in range(60)])


def _is_found(some: list[Any], others: list[Any]) -> bool:
    """Whether a pickler that has met some objects, and not others, is seen to have met just these."""
    pickler: Any = pickle.Pickler(io.BytesIO(), protocol=5)
    pickler.dump(some)
    table = MemoTable.__new__(MemoTable)
    table._pickler, table._copy = pickler, None
    known = pickler.memo.copy()
    if not table._read() or len(table) != len(known):
        return False
    return all(one in table for one in known) and not any(id(one) in table for one in others)
