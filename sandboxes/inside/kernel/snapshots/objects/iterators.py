"""Iterators of `itertools`, which pickle took apart until Python 3.14: matplotlib's figures have them, too.

What an iterator holds is read where CPython keeps it, and one that gives the same is made of that by calling its class.
The places are tried out before they are relied on; where they are others, the iterators are named as lost.
"""

import ctypes
import functools
import itertools
import sys
from pickle import PicklingError
from typing import Any

MISSING = object()
"""In the place of an object that an iterator does not have, or no longer."""
LAYOUTS: dict[type, str] = {
    itertools.accumulate: "oooon",  # total, iterator, function, initial, the module's state, which is no object
    itertools.chain: "oo",  # iterables, the iterator of the present one
    itertools.compress: "oo",  # data, selectors
    itertools.count: "noo",  # number, or number and step as objects
    itertools.cycle: "oon",  # iterator, saved items, place among them
    itertools.dropwhile: "oon",  # function, iterator, whether it has begun to give items
    itertools.filterfalse: "oo",  # function, iterator
    itertools.islice: "onnnn",  # iterator, the next item to give, stop, step, items taken
    itertools.repeat: "on",  # item, how often
    itertools.starmap: "oo",  # function, iterator
    itertools.takewhile: "oon",  # function, iterator, whether it has ended
}
"""What there is in an iterator behind its head, as it is in 3.14: objects, and numbers."""
HEAD, WORD = object.__basicsize__, ctypes.sizeof(ctypes.c_ssize_t)


def needed() -> bool:
    """Whether pickle cannot take them apart itself."""
    return "__reduce__" not in vars(itertools.count)


def reduce_iterator(_pickler: Any, value: Any) -> Any:
    """How an iterator is made again."""
    if not is_as_known():
        raise PicklingError("an iterator of itertools, which this Python keeps in a way that is not known")
    return _reduced(value)


def reduce_pairwise(_pickler: Any, value: Any) -> Any:
    """How pairs are made again; no version of Python takes them apart."""
    if not _is_pairwise_known():
        raise PicklingError("an iterator of itertools, which this Python keeps in a way that is not known")
    iterator, before = _read(value, "oo")
    if iterator is MISSING:
        return itertools.pairwise, ((),)
    return make_pairwise, (iterator, *(() if before is MISSING else (before,)))


def make_pairwise(iterator: Any, *before: Any) -> Any:
    """Pairs that go on, after an item."""
    return itertools.pairwise(itertools.chain(before, iterator) if before else iterator)


@functools.cache
def _is_pairwise_known() -> bool:
    """Whether they are kept where they are looked for."""
    if sys.implementation.name != "cpython" or "t" in sys.abiflags or HEAD != 2 * WORD:
        return False
    some = iter(["a", "b", "c", "d"])
    one = itertools.pairwise(some)
    if _read(one, "oo") != [some, MISSING]:
        return False
    next(one)
    return _read(one, "oo") == [some, "b"]


def _reduced(value: Any) -> Any:
    kind, held = type(value), _read(value)
    if kind is itertools.count:
        number, large, step = held
        return kind, (number,) if large is MISSING else (large, step)
    if kind is itertools.repeat:
        return kind, (held[0],) if held[1] < 0 else tuple(held)
    if kind is itertools.islice:
        iterator, following, stop, step, taken = held
        if iterator is MISSING:
            return kind, ((), 0)
        return kind, (iterator, following - taken, None if stop < 0 else stop - taken, step)
    if kind is itertools.chain:
        return make_chain, tuple(one for one in held if one is not MISSING)
    if kind is itertools.cycle:
        iterator, saved, place = held
        return make_cycle, (list(saved), place) if iterator is MISSING else (list(saved), 0, iterator)
    if kind is itertools.accumulate:
        total, iterator, function, initial = (None if one is MISSING else one for one in held[:4])
        return make_accumulate, (iterator, function, initial, *([] if held[0] is MISSING else [total]))
    if kind is itertools.takewhile:
        return kind, (held[0], () if held[2] else held[1])
    if kind is itertools.dropwhile:
        return kind, (_never if held[2] else held[0], held[1])
    return kind, tuple(held)


def make_chain(source: Any = (), *present: Any) -> Any:
    """A chain that goes on with an iterator, if there is one, and then with iterables."""
    return itertools.chain.from_iterable(itertools.chain(present, source) if present else source)


def make_cycle(saved: list[Any], place: int, *rest: Any) -> Any:
    """A cycle that has saved items already, and goes on with the rest of its first round or a place of a later one."""
    made = itertools.cycle(itertools.chain(saved, *rest))
    for _ in range(len(saved) + place):
        next(made)
    return made


def make_accumulate(iterator: Any, function: Any, initial: Any, *total: Any) -> Any:
    """Sums, or what a function makes of items, from a total on."""
    if not total:
        return itertools.accumulate(iterator, function, initial=initial)
    made = itertools.accumulate(itertools.chain(total, iterator), function)
    next(made)
    return made


def _never(_item: Any) -> bool:
    return False


def _read(value: Any, layout: str = "") -> list[Any]:
    """What an iterator holds."""
    held: list[Any] = []
    for number, what in enumerate(layout or LAYOUTS[type(value)]):
        place = id(value) + HEAD + number * WORD
        try:
            held.append((ctypes.c_ssize_t if what == "n" else ctypes.py_object).from_address(place).value)
        except ValueError:  # it is no object
            held.append(MISSING)
    return held


@functools.cache
def is_as_known() -> bool:
    """Whether this Python keeps iterators where they are looked for."""
    if sys.implementation.name != "cpython" or "t" in sys.abiflags or HEAD != 2 * WORD:
        return False
    if any(kind.__basicsize__ != HEAD + WORD * len(held) for kind, held in LAYOUTS.items()):
        return False
    try:
        return all(_is_found(*one) for one in zip(_some(), _some(), strict=True))
    except Exception:  # it is kept in another way
        return False


def _some() -> list[Any]:
    """Iterators that are known, some of them used."""
    tools = itertools
    some: list[Any] = [
        tools.count(3), tools.count(2, 5), tools.repeat("a", 4), tools.chain([1, 2], [3]), tools.cycle("abc"),
        tools.islice(range(20), 2, 9, 3), tools.accumulate([1, 2, 3]), tools.accumulate([1, 2], max, initial=9),
        tools.takewhile(bool, [1, 2, 0]), tools.dropwhile(bool, [1, 0, 2, 3]), tools.starmap(max, [(1, 2), (3, 4)]),
        tools.filterfalse(None, [0, 1, "", 2]), tools.compress("abc", [1, 0, 1]),
    ]  # fmt: skip
    used: list[Any] = [
        tools.chain([1, 2], [3]), tools.cycle("abc"), tools.islice(range(20), 2, 9, 3), tools.accumulate([1, 2, 3]),
        tools.accumulate([1, 2], max, initial=9), tools.repeat(1, 2), tools.dropwhile(bool, [1, 0, 2, 3]),
        tools.count(sys.maxsize),
    ]  # fmt: skip
    round_again = tools.cycle("abc")
    for one in (*used, *[round_again] * 5):
        next(one)
    return [*some, *used, round_again]


def _is_found(one: Any, same: Any) -> bool:
    """Whether what is made of an iterator gives what it gives itself."""
    make, arguments = _reduced(one)
    made = make(*arguments)
    return type(made) is type(same) and [*itertools.islice(made, 9)] == [*itertools.islice(same, 9)]
