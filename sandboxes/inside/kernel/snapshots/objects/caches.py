"""Functions under `functools.lru_cache`, with what they have cached and how often that was of use.

A cache does not say what it holds, but the garbage collector does. It is filled again by calling it while the function
within gives what was cached, so that none of the user's code runs.
"""

import contextlib
import functools
import gc
import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from .classes import is_users
from .functions import Slot, make_cached, set_cached

MOST = 1_000
"""Results of one cache; those of a larger one are computed again when they are asked for."""
MOST_CALLS = 20_000
"""By how many calls the numbers of hits and misses are brought to what they were."""
WHY_NOT = "it holds what cannot be kept, or too much; its results are computed again when they are asked for"

LINK = "_lru_list_elem"

Content = tuple[list[tuple[tuple[Any, ...], dict[str, Any], Any]], int, int]
"""Calls with their results, from the one that is forgotten first on; hits and misses."""


def reduce_cached(pickler: Any, cached: Any) -> Any:
    """A function under `lru_cache`."""
    name = str(getattr(cached, "__qualname__", ""))
    known = sys.modules.get(cached.__module__)
    if cached.__module__ != "__main__" and getattr(known, name, None) is cached:
        return name
    content: Content | None = None
    info = cached.cache_info()
    if info.hits or info.misses:
        content = None if cached in pickler.reducers.asked else _content(cached)
        if content is None:
            pickler.reducers.name(f"results of {name}", "lru_cache", WHY_NOT)
        else:
            pickler.reducers.not_asked.add(cached)
    state = cached.__wrapped__, cached.__dict__, *((content,) if content else ())
    return make_cached, (cached.cache_parameters(),), state, None, None, set_cached


def _content(cached: Any) -> Content | None:
    """What a cache holds; None: too much, or it is kept in a way that is not known."""
    info, parameters = cached.cache_info(), cached.cache_parameters()
    if info.currsize > MOST or info.hits + info.misses > MOST_CALLS:
        return None
    referents = gc.get_referents(cached)
    held = _entries(cached, referents) if parameters["maxsize"] is None else _linked(referents, info.currsize)
    if held is None or len(held) != info.currsize:
        return None
    return [(*_call(key, parameters["typed"]), value) for key, value in held], info.hits, info.misses


def _entries(cached: Any, referents: list[Any]) -> list[tuple[Any, Any]] | None:
    """Keys and results of a cache without bounds, which is a dictionary of them."""
    found = [one for one in referents if type(one) is dict and one is not cached.__dict__]
    return list(found[0].items()) if len(found) == 1 else None


def _linked(referents: list[Any], count: int) -> list[tuple[Any, Any]] | None:
    """Keys and results of a cache with bounds: of each link of its list the collector is told both, and its type."""
    for one in referents:
        if type(one) is dict and len(one) == count and {type(value).__name__ for value in one.values()} <= {LINK}:
            kinds = {type(value) for value in one.values()}
            places = [place for place, each in enumerate(referents) if isinstance(each, type) and each in kinds]
            found = [(referents[place - 2], referents[place - 1]) for place in places[:count]]
            return found if {id(key) for key, _ in found} == set(map(id, one)) else None
    return None


def _call(key: Any, typed: bool) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments that a key stands for."""
    if type(key) is not tuple:
        return (key,), {}
    place = next((place for place, one in enumerate(key) if one is _mark()), None)
    if place is None:
        return (key[: len(key) // 2] if typed else key), {}
    named = key[place + 1 :]
    if typed:
        named = named[: 2 * ((len(named) - place) // 3)]
    return key[:place], dict(zip(named[::2], named[1::2], strict=True))


@functools.cache
def _mark() -> Any:
    """What stands in keys between arguments and those that are named."""
    probe = functools.lru_cache(None)(lambda **_named: None)
    probe(a=1)
    (held,) = (one for one in gc.get_referents(probe) if type(one) is dict and one is not probe.__dict__)
    ((mark, *_),) = held
    return mark


def fill(cached: Any, slot: Slot, calls: list[Any], hits: int, misses: int) -> None:
    """Let it have answered these calls, and so many others."""
    for _ in range(misses - len(calls)):
        slot.function = _fails
        try:
            cached()
        except _NotCachedError:
            continue
    for number, (arguments, named, result) in enumerate(calls):
        slot.function = functools.partial(_give, result)
        for _ in range(1 if number else 1 + hits):
            cached(*arguments, **named)


class Results:
    """What a function under `lru_cache` of a module has cached, which imports that anew.

    Args:
        name: The function's.
        content: The calls; None: it is not kept.
    """

    def __init__(self, name: str, content: Content | None) -> None:
        self.name = name
        self.content = content

    @classmethod
    def of(cls, cached: Any) -> "Results | None":
        """Those of a function; None: it has none, and has forgotten none."""
        info = cached.cache_info()
        if not info.currsize and not info.hits and not info.misses:
            return None
        content = _content(cached)
        if content is not None and not _is_light(content):
            content = None
        if content is None and not info.currsize:
            return None
        return cls(f"{cached.__module__}.{getattr(cached, '__qualname__', '')}", content)


def reduce_results(pickler: Any, results: Results) -> Any:
    """The calls, or the name of what is computed again."""
    if results.content is None:
        pickler.reducers.name(f"results of {results.name}", "lru_cache", WHY_NOT)
    return Results, (results.name, results.content)


MOST_BYTES = 1_000_000
"""Of the results of one function: a cache must not be the reason for which a step is refused."""


def _is_light(content: Content) -> bool:
    """Whether results are small, and nobody's code runs where their calls are put in again."""
    size = 0
    for arguments, named, result in content[0]:
        if not all(map(_is_hashed_by_python, (*arguments, *named.values()))):
            return False
        parts = result if type(result) in (list, tuple, set) else result.values() if type(result) is dict else ()
        size += sum(map(_size, (result, *parts)))
    return size <= MOST_BYTES


def _size(value: Any) -> int:
    """About how many bytes a value has, without looking through it."""
    kind = type(value)
    if kind in (str, bytes, bytearray, list, tuple, dict, set, frozenset):
        return sys.getsizeof(value)
    if is_users(kind):
        return 0
    for name, bytes_each in (("nbytes", 1), ("size", 8)):  # of arrays, and of frames
        with contextlib.suppress(Exception):
            if isinstance(found := getattr(value, name, None), int):
                return found * bytes_each
    return 0


def _is_hashed_by_python(value: Any) -> bool:
    """Whether the hash of an argument, and what it is equal to, is not said by code of the user's."""
    kind: Any = type(value)
    if kind in (tuple, frozenset):
        return all(map(_is_hashed_by_python, value))
    return not is_users(kind) or (kind.__hash__ is object.__hash__ and kind.__eq__ is object.__eq__)


def fill_again(cached: Any, results: Results) -> None:
    """Give a function of a module that was imported anew what it had cached. It does not run."""
    function = getattr(cached, "__wrapped__", None)
    if results.content is None or not isinstance(function, FunctionType) or function.__code__.co_flags & OF_OTHER_KINDS:
        return
    slot, code = Slot(), function.__code__
    cached.cache_clear()
    constants = tuple(slot if one == SLOT else one for one in _call_slot.__code__.co_consts)
    function.__code__ = _call_slot.__code__.replace(co_consts=constants, co_freevars=code.co_freevars)
    try:
        fill(cached, slot, *results.content)
    except Exception:  # what a cell did to the arguments
        cached.cache_clear()
    finally:
        function.__code__ = code


OF_OTHER_KINDS = 0x20 | 0x80 | 0x200
"""Flags of the code of generators and coroutines."""


SLOT = "slot"


def _call_slot(*arguments: Any, **named: Any) -> Any:
    slot: Any = "slot"
    return slot(*arguments, **named)


class _NotCachedError(Exception):
    """Says that a call is not to be remembered."""


def _fails(*_arguments: Any, **_named: Any) -> Iterator[Any]:
    raise _NotCachedError


def _give(result: Any, *_arguments: Any, **_named: Any) -> Any:
    return result
