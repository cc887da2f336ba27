"""Reducers for small objects that pickle does not support, and for objects that must not be pickled."""

import _csv
import array
import datetime
import gc
import io
import itertools
import os
import re
import sys
import threading
import weakref
from pickle import PicklingError
from typing import Any

from ...dict_contents import is_alone
from ..storing.loaded_memory import start_of
from . import instances
from .attributes import reducer_with_own
from .ctypes_data import is_data
from .ctypes_data import make_c_data as make_c_data  # snapshots of an earlier version find it here


def reduce_printer(pickler: Any, logger: Any) -> Any:
    """What structlog writes to a file with; its own way knows that of the standard streams alone."""
    file = vars(logger).get("_file")
    is_standard = any(file is one for one in (sys.stdout, sys.stderr))
    return NotImplemented if is_standard else instances.reduce_attributes(pickler, logger)


def reduce_queue(_pickler: Any, queue: Any) -> Any:
    """A `SimpleQueue` with what is in it, which is looked at and not taken out."""
    held, count = gc.get_referents(queue), queue.qsize()
    if sys.version_info >= (3, 13):
        items = held[:count]
    else:  # one list, of which the beginning has been taken out
        items = held[0][len(held[0]) - count :]
    return type(queue), (), items, None, None, fill_queue


def fill_queue(queue: Any, items: Any) -> None:
    """Put it there again."""
    for item in items:
        queue.put(item)


def reduce_lock(pickler: Any, lock: Any) -> Any:
    """A lock that nobody holds."""
    if lock.locked():
        raise PicklingError("a lock that is held")
    return threading.Lock, ()


def reduce_rlock(pickler: Any, lock: Any) -> Any:
    """A reentrant lock that nobody holds."""
    if not repr(lock).startswith("<unlocked"):
        raise PicklingError("a lock that is held")
    return threading.RLock, ()


def reduce_memoryview(pickler: Any, view: Any) -> Any:
    """A view of memory: of bytes, a bytearray, an array or data of C it is one again.

    Of anything else, and of little of many bytes, it is a copy that cannot be written to. A view of what lies apart, as
    `view[::2]`, is taken from all between its first item and its last.
    """
    base, whole = view.obj, view.contiguous or view.ndim != 1
    step = 1 if whole else view.strides[0] // view.itemsize
    size = view.nbytes if whole else (abs(step) * (len(view) - 1) + 1) * view.itemsize
    more = (step, view.readonly) if step != 1 or view.readonly else ()
    owns = type(base) in (bytearray, array.array) or is_data(base)
    owns = owns or (type(base) is bytes and len(base) <= max(MANY, 2 * view.nbytes))
    if owns and view.nbytes and (view.contiguous or step != 1):
        if _is_whole(view, memoryview(base)):
            return memoryview, (base,)
        offset = start_of(view) - start_of(base) - (0 if step > 0 else size - view.itemsize)
        return make_memoryview, (base, offset, size, view.format, view.shape, *more)
    if not view.readonly and type(base) is not bytearray:
        raise PicklingError(f"a writable view of the memory of a {type(base).__name__}")
    content = view.tobytes()
    if step != 1:  # what is in between is nobody's
        items = [content[at : at + view.itemsize] for at in range(0, len(content), view.itemsize)]
        content = bytes(view.itemsize * (abs(step) - 1)).join(items if step > 0 else reversed(items))
    return make_memoryview, (content, 0, size, view.format, view.shape, *more)


MANY = 1 << 10
"""Bytes that a view keeps whole, however few of them it shows."""


def _is_whole(view: memoryview, memory: memoryview) -> bool:
    """Whether a view is of all memory that something has, as itself shows it: data of C has formats of its own."""
    ways = [(one.format, one.shape, one.strides, one.readonly) for one in (view, memory)]
    return ways[0] == ways[1]


def make_memoryview(
    base: Any, offset: int, size: int, format: str, shape: Any, step: int = 1, is_readonly: bool = False
) -> Any:
    """A view of a part of some memory.

    Args:
        base: Who has it.
        offset: Where the part begins.
        size: Its bytes.
        format: What an item is.
        shape: How many there are in each dimension.
        step: From one item to the next; more than one only in one dimension.
        is_readonly: Whether nobody may write through it.
    """
    view = memoryview(base).cast("B")[offset : offset + size]
    if step != 1:
        view = (view if format == "B" else view.cast(format))[::step]  # type: ignore[call-overload]
    elif (format, shape) != ("B", view.shape):
        view = view.cast(format, shape)  # type: ignore[call-overload]
    return view.toreadonly() if is_readonly else view


def reduce_struct(pickler: Any, value: Any) -> Any:
    """A compiled `struct` format."""
    return type(value), (value.format,)


CSV_WRITER: type = type(_csv.writer(io.StringIO()))
CSV = ("delimiter", "doublequote", "escapechar", "lineterminator", "quotechar", "quoting", "skipinitialspace", "strict")


def reduce_csv_writer(pickler: Any, writer: Any) -> Any:
    """A writer of csv, which remembers nothing but where and how it writes."""
    writes = next((one for one in gc.get_referents(writer) if hasattr(one, "__self__")), None)
    if writes is None or getattr(writes, "__name__", "") != "write":
        raise PicklingError("a writer of csv to what does not say where it is")
    return make_csv_writer, (writes.__self__, {name: getattr(writer.dialect, name) for name in CSV})


class CountedLines:
    """Lines of which so many were read before: these come first, and are empty, so that a reader counts them.

    Args:
        lines: The others.
        read: How many were read.
    """

    def __init__(self, lines: Any, read: int) -> None:
        self.lines = lines
        self._left = read

    def __iter__(self) -> "CountedLines":
        return self

    def __next__(self) -> Any:
        if not self._left:
            return next(self.lines)
        self._left -= 1
        return ""


CSV_READER: type = type(_csv.reader(()))
MAX_LINES = 1_000_000
"""Lines up to which a reader of csv is brought to where it was."""


def reduce_csv_reader(pickler: Any, reader: Any) -> Any:
    """A reader of csv, which remembers where it reads, how, and how many lines it has read."""
    lines = next((one for one in gc.get_referents(reader) if hasattr(type(one), "__next__")), None)
    if lines is None or reader.line_num > MAX_LINES:
        raise PicklingError("a reader of csv that has read very many lines, or does not say from where")
    if type(lines) is CountedLines:
        lines = lines.lines
    return make_csv_reader, (lines, {name: getattr(reader.dialect, name) for name in CSV}, reader.line_num)


def make_csv_reader(lines: Any, how: dict[str, Any], read: int) -> Any:
    """A reader that goes on where it was."""
    reader = _csv.reader(CountedLines(lines, read) if read else lines, **how)
    for _ in range(read):
        next(reader)
    return reader


def make_csv_writer(file: Any, how: dict[str, Any]) -> Any:
    """A writer to a file."""
    return _csv.writer(file, **how)


def reduce_of_sys(pickler: Any, value: Any) -> Any:
    """What the interpreter says of itself, which nobody can make: that of this process."""
    name = next((name for name, one in vars(sys).items() if one is value), None)
    return (getattr, (sys, name)) if name else NotImplemented


def reduce_pattern(pickler: Any, pattern: Any) -> Any:
    """A compiled pattern, which `re.compile` goes on to give for its text where it gives it now."""
    text, flags = pattern.pattern, int(pattern.flags)
    if type(text) not in (str, bytes):
        return NotImplemented
    identity = id(pattern)
    reference, given = _given.get(identity, (None, ()))
    if reference is None or reference() is not pattern:
        asked = dict.fromkeys((flags, flags & ~UNICODE, 0))
        given = tuple(one for one in asked if _compiled()[0].get((type(text), text, one)) is pattern)
        _given[identity] = weakref.ref(pattern, lambda _: _given.pop(identity, None)), given
    return (make_pattern, (text, flags, *given)) if given else NotImplemented


UNICODE = int(re.UNICODE)
_given: dict[int, tuple[Any, tuple[int, ...]]] = {}
"""For which flags `re.compile` gave a pattern when it was first seen; that it forgets some is no change of a step."""


def _compiled() -> list[Any]:
    """What `re` remembers; it has two places for that since Python 3.12."""
    return [getattr(re, name, {}) for name in ("_cache", "_cache2")]


def make_pattern(text: Any, flags: int, *given: int) -> Any:
    """The pattern, which `re.compile` gives for these flags from now on."""
    places, key = _compiled(), (type(text), text, flags)
    known = key in places[0]
    pattern = re.compile(text, flags)
    for place in places:
        if not known and flags not in given:
            place.pop(key, None)
        place.update({(type(text), text, one): pattern for one in given})
    return pattern


def reduce_match(pickler: Any, match: Any) -> Any:
    """A match of a regular expression: matched again, if that gives the same."""
    arguments = (match.re, match.string, match.pos, match.endpos)
    ways = {"match": match.start() == match.pos, "search": True, "fullmatch": match.span() == (match.pos, match.endpos)}
    for how, may_be in ways.items():
        again = getattr(match.re, how)(*arguments[1:]) if may_be else None  # to no end it may go through all the text
        if again is not None and again.regs == match.regs:
            return make_match, (how, *arguments)
    if (number := Matches.of(pickler, match).number_of(match)) is not None:
        return find_match, (pickler.reducers.matches[Matches.key_of(match)], number)
    raise PicklingError("a match out of many, which cannot be found again by itself")


MOST_MATCHES = 200
"""Among so many of the same text a match is looked for."""


class Matches:
    """The first matches in a text, found one after the other for all that are among them, and no further than these."""

    def __init__(self, *arguments: Any) -> None:
        self._arguments = arguments
        self._left = itertools.islice(arguments[0].finditer(*arguments[1:]), MOST_MATCHES)
        self._found: list[Any] = []

    @staticmethod
    def key_of(match: Any) -> tuple[int, ...]:
        """What matches of the same have in common."""
        return id(match.re), id(match.string), match.pos, match.endpos

    @classmethod
    def of(cls, pickler: Any, match: Any) -> "Matches":
        """Those in the text of a match."""
        matches: dict[Any, Matches] = pickler.reducers.matches
        key = cls.key_of(match)
        if key not in matches:
            matches[key] = cls(match.re, match.string, match.pos, match.endpos)
        return matches[key]

    def number_of(self, match: Any) -> int | None:
        """Which one it is; None: it is none of them."""
        while not self._found or self._found[-1].start() < match.start():
            if (again := next(self._left, None)) is None:
                return None
            self._found.append(again)
        return next((number for number, one in enumerate(self._found) if one.regs == match.regs), None)

    def __getitem__(self, number: int) -> Any:
        self._found += itertools.islice(self._left, number + 1 - len(self._found)) if number >= len(self._found) else ()
        return self._found[number]

    def __reduce__(self) -> Any:
        return Matches, self._arguments


def find_match(matches: Matches, number: int) -> Any:
    """One of them."""
    return matches[number]


def make_match(how: str, pattern: Any, *arguments: Any) -> Any:
    """The match, found again."""
    return getattr(pattern, how)(*arguments)


def reduce_scanner(_pickler: Any, scanner: Any) -> Any:
    """A `re.Scanner`, whose pattern is none of a text."""
    if instances.slots_of(type(scanner)):
        raise PicklingError("a scanner with slots")
    own = {name: value for name, value in vars(scanner).items() if name not in (SCANNER, "match")}  # the last one
    return make_scanner, (type(scanner), vars(scanner)[SCANNER].flags), own, None, None, fill_scanner


SCANNER = "scanner"


def make_scanner(kind: Any, flags: int) -> Any:
    """One that is still to be filled."""
    scanner = object.__new__(kind)
    vars(scanner)[SCANNER] = flags
    return scanner


def fill_scanner(scanner: Any, own: dict[str, Any]) -> None:
    """Give it its attributes, and what scans for its lexicon."""
    made: Any = vars(re)["Scanner"]
    vars(scanner)[SCANNER] = made(own["lexicon"], vars(scanner)[SCANNER]).scanner
    vars(scanner).update(own)


def reduce_future(_pickler: Any, future: Any) -> Any:
    """A future that is done, or that nobody works for, as nothing goes on beside; any other is an executor's."""
    if vars(future).get("_state") not in DONE and not is_alone():
        raise PicklingError("a future of an executor")
    if instances.slots_of(type(future)):
        raise PicklingError("a future with slots")
    own = {name: value for name, value in vars(future).items() if name not in OF_THREADS}
    return make_future, (type(future),), own, None, None, fill_future


DONE = ("FINISHED", "CANCELLED", "CANCELLED_AND_NOTIFIED")
OF_THREADS = ("_waiters",)


FUTURES = "concurrent.futures"


def make_future(kind: Any) -> Any:
    """One that is still to be filled."""
    return object.__new__(kind)


def fill_future(future: Any, own: dict[str, Any]) -> None:
    """Let it be done."""
    made: Any = sys.modules[FUTURES].Future
    made.__init__(future)
    vars(future).update(own)


def reduce_environment(pickler: Any, environment: Any) -> Any:
    """The environment itself is named, never copied: it may hold what must not be kept."""
    if environment is os.environ:
        return get_environment, ()
    raise PicklingError("a copy of the environment")


def get_environment() -> Any:
    """The environment of this process."""
    return os.environ


def reduce_system_random(pickler: Any, value: Any) -> Any:
    """The operating system's random numbers, which have no state."""
    return type(value), ()


def reduce_iso(pickler: Any, value: Any) -> Any:
    """A week of the ISO calendar, which would come back as a plain tuple."""
    return make_iso, tuple(value)


def make_iso(year: int, week: int, day: int) -> Any:
    """The same week."""
    return datetime.date.fromisocalendar(year, week, day).isocalendar()


def reduce_logger(pickler: Any, logger: Any) -> Any:
    """A logger goes by its name; what it is set to is a setting, whatever class it has."""
    return logger.__reduce__()


def reduce_sampler(pickler: Any, sampler: Any) -> Any:
    """A sampler of scipy, which is set up anew: how far its random numbers are is known where others have them, too."""
    reduced = sampler.__reduce__()
    if not any(hasattr(one, "bit_generator") or hasattr(one, "get_state") for one in reduced[1]):
        raise PicklingError("a sampler with random numbers of its own; give it a generator as random_state")
    return reduced


def reduce_response(pickler: Any, response: Any) -> Any:
    """An answer over HTTP: pickle would read what the session has not read yet, or leave it out."""
    content = getattr(response, "_content", False)
    if content is False and not getattr(response, "_content_consumed", False) and getattr(response, "raw", True):
        raise PicklingError("an answer whose content has not been read; ask for its content")
    reduce = reducer_with_own(type(response))
    return NotImplemented if reduce is None else reduce(pickler, response)


def refuse(what: str) -> Any:
    """A reducer that refuses objects that can be pickled but would not work when they are loaded."""

    def reduce(pickler: Any, value: Any) -> Any:
        raise PicklingError(what)

    return reduce
