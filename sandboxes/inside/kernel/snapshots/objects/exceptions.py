"""Exceptions: with their causes, notes and attributes, and with tracebacks that say where they came from.

Pickle makes an exception by calling its class with `args`, which the `__init__` of a user's own need not take, and
keeps nothing of what led to it. A frame cannot be kept: in its place comes one of the same name, file and line, which
has no variables.
"""

import _thread
import copyreg
import functools
import itertools
import sys
from collections.abc import Callable
from types import FrameType, FunctionType, GetSetDescriptorType, MemberDescriptorType, TracebackType
from typing import Any

from ..current_session import CurrentSession
from .classes import PLAIN, is_one_of, is_users
from .instances import content_of, set_slots, slots_of

OWN: Any = BaseException
OF_ARGUMENTS = (OSError, SystemExit, StopIteration, ImportError, UnicodeError, SyntaxError, BaseExceptionGroup)
"""Those that have more of their arguments than `args`."""
MOST_FRAMES = 200

Line = tuple[str, str, str, tuple[int, int, int, int], bool]
"""A file, the two names of a function, lines and columns of what was running, and whether it was of a cell."""


def reduce_error(pickler: Any, error: Any) -> Any:
    """An exception, rebuilt without calling its class, unless that is a library's with a `__reduce__` of its own."""
    kind = type(error)
    built_in = _built_in(kind)
    own = kind.__init__ is not built_in.__init__ or kind.__new__ is not built_in.__new__
    context = (error.__cause__, error.__context__, error.__suppress_context__, error.__traceback__)
    made_of, named = _made_of(error, built_in)
    registered = kind in copyreg.dispatch_table and is_users(kind)
    said = None if kind is built_in else kind if registered else _says_how(kind)
    filled = content_of(error, tuple(slots_of(kind)))
    plain = context == (None, None, False, None)
    if not (own or named or filled) and plain and (said is None or not is_users(said)):
        return NotImplemented
    cause, before, suppressed, trace = context
    if said is not None and (not is_users(said) or kind in pickler.reducers.asked):
        made = None if registered else error.__reduce_ex__(5)
        notes = {"__notes__": error.__notes__} if hasattr(error, "__notes__") else {}
        if (plain and not notes) or not isinstance(made, tuple) or len(made) > 3:
            return NotImplemented
        beside: tuple[Any, ...] = notes, cause, suppressed, before, trace, {}
        if len(made) == 2:
            return *made, beside, None, None, set_error
        return *made[:2], (made[2], beside), None, None, set_said
    if said is not None:
        pickler.reducers.not_asked.add(kind)
    state: tuple[Any, ...] = error.__dict__, cause, suppressed, before, trace, named
    if filled:
        state = *state, filled
    return make_error, (kind, made_of), state, None, None, set_error


def _made_of(error: Any, built_in: Any) -> tuple[tuple[Any, ...] | None, dict[str, Any]]:
    """The arguments that it is made of, None if they do not make one, and what it has to be given afterwards."""
    arguments: tuple[Any, ...] = OWN.args.__get__(error)
    if not issubclass(built_in, OF_ARGUMENTS):
        if _is_plain(arguments):
            return arguments, _given(error, built_in, ())
        return (), {**_given(error, built_in, ()), "args": arguments}  # what is among them may hold the exception
    made_of = built_in.__reduce__(error)[1]
    asked = made_of if built_in is BlockingIOError else made_of[:1] if issubclass(built_in, OSError) else ()
    if issubclass(built_in, BaseExceptionGroup) or not _is_plain(asked):
        return made_of, {}  # a group cannot be changed, and an argument would be asked for its hash or a number
    try:
        return made_of, _given(error, built_in, made_of)
    except (TypeError, ValueError):  # they were changed
        return None, {**_given(error, built_in, None), "args": arguments}


def _given(error: Any, built_in: Any, made_of: tuple[Any, ...] | None) -> dict[str, Any]:
    """What an exception was given that it would not have by its arguments.

    Raises:
        TypeError: these do not make one.
        ValueError: the same.
    """
    members = _members(built_in)
    if not members:
        return {}
    twin = make_error(built_in, made_of)
    found = {name: (_read(member, error), _read(member, twin)) for name, member in members.items()}
    return {name: mine for name, (mine, usual) in found.items() if mine is not UNSET and not _is_same(mine, usual)}


UNSET: Any = object()


@functools.cache
def _members(built_in: Any) -> dict[str, Any]:
    """What an exception of Python's own holds besides its arguments and what led to it."""
    kinds = (MemberDescriptorType, GetSetDescriptorType)
    found = {name: member for base in reversed(built_in.__mro__) for name, member in vars(base).items()
             if isinstance(member, kinds)}  # fmt: skip
    return {name: member for name, member in found.items() if name != "args" and not name.startswith("__")}


def _read(member: Any, error: Any) -> Any:
    try:
        return member.__get__(error)
    except (AttributeError, TypeError):  # it was given none
        return UNSET


def _is_same(one: Any, other: Any) -> bool:
    return one is other or (type(one) is type(other) and _is_plain(one) and one == other)


def _is_plain(value: Any) -> bool:
    """Whether a value is a single one, or a tuple of such."""
    kind = type(value)
    return is_one_of(kind, PLAIN) or (kind is tuple and all(map(_is_plain, value)))


def _says_how(kind: Any) -> Any:
    """The class that says itself how it is taken apart; None: Python's own, which leave out the same as all."""
    base, ways = _built_in(kind), ("__reduce__", "__reduce_ex__", "__setstate__")
    said = any(getattr(kind, name, None) is not getattr(base, name, None) for name in ways)
    return next(one for one in kind.__mro__ if not vars(one).keys().isdisjoint(ways)) if said else None


def _built_in(kind: Any) -> Any:
    return next(base for base in kind.__mro__ if base.__module__ == "builtins")


def make_error(kind: Any, arguments: Any) -> Any:
    """An exception with those arguments; None: that was not given any."""
    base = _built_in(kind)
    if arguments is None:
        return base.__new__(kind)
    error = base.__new__(kind, *(arguments[:2] if issubclass(base, BaseExceptionGroup) else arguments))
    base.__init__(error, *arguments)
    return error


def set_error(error: Any, state: Any) -> None:
    """Give it its attributes and what led to it. Snapshots of an earlier version have its cause alone."""
    attributes, cause, suppressed, *more = state
    error.__dict__.update(attributes)
    error.__cause__, error.__suppress_context__ = cause, suppressed
    if more:
        error.__context__, error.__traceback__, named, *slots = more
        members = {**_members(_built_in(type(error))), "args": OWN.args}
        for name, value in named.items():
            if name in members:  # another Python may have fewer
                members[name].__set__(error, value)
        for one in slots:
            set_slots(error, one)


def set_said(error: Any, states: Any) -> None:
    """Give it what its class has kept, and what that does not know."""
    of_class, state = states
    if of_class is not None:
        error.__setstate__(of_class)
    set_error(error, state)


def reduce_traceback(_pickler: Any, trace: TracebackType) -> Any:
    """Where an exception came from."""
    return make_traceback, ([_line(one) for one in itertools.islice(_chain(trace), MOST_FRAMES)],)


def _chain(trace: TracebackType | None) -> Any:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _line(trace: TracebackType) -> Line:
    code = trace.tb_frame.f_code
    found = next(itertools.islice(code.co_positions(), max(trace.tb_lasti, 0) // 2, None), (None,) * 4)
    first, last, start, end = (-1 if one is None else one for one in found)
    line = trace.tb_lineno or max(first, 0)
    of_cell = trace.tb_frame.f_globals is CurrentSession.main.__dict__
    return code.co_filename, code.co_name, code.co_qualname, (line, max(last, line), start, end), of_cell


def make_traceback(lines: list[Line]) -> TracebackType | None:
    """One that says the same, whose frames have no variables."""
    made: TracebackType | None = None
    for line, frame in zip(reversed(lines), _frames(list(reversed(lines))), strict=True):
        made = TracebackType(made, frame, frame.f_lasti, line[3][0])
    return made


def _frames(lines: list[Line]) -> list[FrameType]:
    """Frames that lead back to nothing: those of the thread that loads would hold all that is being loaded."""
    functions, made, done = [_function(*line) for line in lines], list[FrameType](), _thread.allocate_lock()

    def run() -> None:
        try:
            for function in functions:
                made.append(function())
        finally:
            done.release()

    done.acquire()
    try:
        _thread.start_new_thread(run, ())
    except RuntimeError:  # no thread can be started any more
        return [function() for function in functions]
    done.acquire()
    found = list(made)
    made.clear()  # what they do lead back to has it
    return found


def _function(
    file: str, name: str, qualname: str, place: tuple[int, int, int, int], of_cell: bool
) -> Callable[[], FrameType]:
    """A function of that name, which gives its frame."""
    known = _here.__code__
    table = _positions(place, len(known.co_code) // 2)
    code = known.replace(
        co_filename=file, co_name=name, co_qualname=qualname, co_firstlineno=place[0], co_linetable=table
    )
    space = CurrentSession.main.__dict__ if of_cell else {"__name__": file}
    return FunctionType(code, space, name, (sys._getframe,))


def _here(getframe: Any = sys._getframe) -> FrameType:
    frame: FrameType = getframe()
    return frame


def _positions(place: tuple[int, int, int, int], count: int) -> bytes:
    """A table of positions that says the same of each of so many instructions, in the form that Python has for them."""
    line, last, start, end = place
    columns = [0, 0] if min(start, end) < 0 else [start + 1, end + 1]
    body = bytes([0, *(byte for one in (last - line, *columns) for byte in _number(one))])
    left, table = count, b""
    while left:
        size = min(left, 8)
        table += bytes([0x80 | 14 << 3 | size - 1]) + body
        left -= size
    return table


def _number(value: int) -> list[int]:
    """A number, six bits a byte, the lowest first."""
    found = []
    while value >= 64:
        found.append(64 | value & 63)
        value >>= 6
    return [*found, value]
