"""Iterators of `itertools` are made again as they are, where pickle does not take them apart: from Python 3.14 on."""

import ctypes
import gc
import itertools
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sandboxes.inside.kernel.snapshots.objects import iterators

pytestmark = pytest.mark.skipif(not iterators.needed(), reason="this Python's pickle takes them apart itself")
tools: Any = itertools
KINDS: dict[str, Callable[[], Iterator[Any]]] = {
    "count": lambda: tools.count(5),
    "steps": lambda: tools.count(5, -2),
    "fractions": lambda: tools.count(0.1, 0.2),
    "beyond a word": lambda: tools.count((1 << 63) - 3),
    "repeat": lambda: tools.repeat([1], 5),
    "for ever": lambda: tools.repeat("a"),
    "chain": lambda: tools.chain([1, 2], (), "ab", range(2)),
    "nothing": tools.chain,
    "cycle": lambda: tools.cycle("abc"),
    "cycle of nothing": lambda: tools.cycle([]),
    "slice": lambda: tools.islice(range(100), 3, 20, 4),
    "open slice": lambda: tools.islice(range(100), 3, None, 4),
    "sums": lambda: tools.accumulate([1, 2, 3, 4]),
    "products": lambda: tools.accumulate([1, 2, 3, 4], pow, initial=2),
    "maxima of None": lambda: tools.accumulate([None, 2], lambda one, two: (one, two)),
    "takewhile": lambda: tools.takewhile(bool, [1, 2, 0, 3]),
    "dropwhile": lambda: tools.dropwhile(bool, [1, 0, 2, 0, 3]),
    "starmap": lambda: tools.starmap(pow, [(2, 3), (3, 2), (2, 2)]),
    "filterfalse": lambda: tools.filterfalse(None, [0, 1, "", (), 2]),
    "compress": lambda: tools.compress("abcd", [1, 0, 1, 1]),
    "in each other": lambda: tools.islice(tools.chain(tools.repeat(1, 2), tools.count(3)), 8),
}


@pytest.mark.parametrize("kind", KINDS)
def test_it_gives_what_it_gives_and_its_like_goes_on_where_it_is(kind: str) -> None:
    assert iterators.is_as_known()
    for taken in range(8):
        one, same = KINDS[kind](), KINDS[kind]()
        for _ in range(taken):
            assert next(one, None) == next(same, None)
        make, arguments = iterators.reduce_iterator(None, one)
        again, (second, third) = make(*arguments), iterators.reduce_iterator(None, one)
        assert (type(again), second, len(third)) == (type(one), make, len(arguments))
        assert [*itertools.islice(again, 9)] == [*itertools.islice(same, 9)]


def test_taking_one_apart_changes_nothing() -> None:
    made = {kind: make() for kind, make in KINDS.items()}
    for one in made.values():
        next(one, None)
        iterators.reduce_iterator(None, one)
    for kind, one in made.items():
        like = KINDS[kind]()
        next(like, None)
        assert [*itertools.islice(one, 9)] == [*itertools.islice(like, 9)]


def test_places_that_are_others_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(iterators.LAYOUTS, itertools.islice, "onnn")
    iterators.is_as_known.cache_clear()
    try:
        with pytest.raises(pickle.PicklingError, match="not known"):
            iterators.reduce_iterator(None, itertools.count())
    finally:
        iterators.is_as_known.cache_clear()


def test_what_is_no_object_is_not_counted() -> None:
    """The module's state begins with the address of a class: counted like an object, it would be another one."""
    one = tools.accumulate([1, 2])
    state = ctypes.c_ssize_t.from_address(id(one) + iterators.HEAD + 4 * iterators.WORD).value
    before = ctypes.c_ssize_t.from_address(state).value
    held = iterators._read(one)
    assert ctypes.c_ssize_t.from_address(state).value == before
    assert len(held) == 5
    gc.collect()
