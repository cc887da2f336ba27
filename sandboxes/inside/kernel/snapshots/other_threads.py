"""Other threads of the session, which may use what a snapshot looks at while it does."""

import gc
import itertools
import sys
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from inspect import CO_OPTIMIZED
from types import AsyncGeneratorType, CodeType, CoroutineType, FrameType, FunctionType, GeneratorType, ModuleType
from typing import Any

from .current_session import CurrentSession, is_of_session

MOST = 20_000
"""Objects that are looked at; beyond that anything may be reached."""
LARGE, SAMPLE = 1_000, 100
"""Items from which on a container is left out whose first ones are plain values."""
PLAIN = (str, bytes, int, float, bool, type(None), CodeType)
CONTAINERS = (list, tuple, dict, set, frozenset)
SUSPENDED = {CoroutineType: "cr_frame", GeneratorType: "gi_frame", AsyncGeneratorType: "ag_frame"}
ANY_NAME = frozenset({"globals", "locals", "vars", "eval", "exec", "__dict__", "import_module", "__import__"})
"""What may lead to a variable whose name does not stand there."""


class Reached:
    """What the other threads can reach, as far as that is known."""

    context: object = None
    """The snapshot for which it was looked for."""
    objects: set[int] | None = None
    """The identities of objects; None: anything."""
    waiting: int = 0
    """The thread that waits for the one that takes the snapshot."""


class UnknownError(Exception):
    """Anything may be reached."""


@contextmanager
def waited_for() -> Iterator[None]:
    """Let the thread of now count for none: it waits for the one that goes on."""
    Reached.waiting = threading.get_ident()
    try:
        yield
    finally:
        Reached.waiting = 0


def _others() -> list[FrameType]:
    own = (threading.get_ident(), Reached.waiting)
    return [frame for thread, frame in sys._current_frames().items() if thread not in own]


def depth() -> int:
    """How many calls deep the deepest of the other threads is."""
    return max((sum(1 for _ in _stack(frame)) for frame in _others()), default=0)


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def may_reach(value: Any) -> bool:
    """Whether another thread may use an object: what its functions hold or name leads to it, however deep.

    Threads that wait (of pools, of progress bars) count, too, since they may go on at any time. What they get from
    others they do not get while a snapshot is taken.
    """
    frames = _others()
    if not frames:
        return False
    if Reached.context is not CurrentSession.context:
        try:
            Reached.objects = _reached_from(frames)
        except UnknownError:
            Reached.objects = None
        Reached.context = CurrentSession.context
    return Reached.objects is None or id(value) in Reached.objects


def _reached_from(frames: list[FrameType]) -> set[int]:
    found: dict[int, object] = {}
    waiting: list[Any] = [one for frame in frames for one in _stack(frame)]
    waiting += _heard_by_all()
    while waiting:
        value = waiting.pop()
        if id(value) in found or type(value) in PLAIN:
            continue
        if len(found) >= MOST:
            raise UnknownError
        found[id(value)] = value
        waiting += _held_by(value)
    return set(found)  # without the objects, which would live on


def _heard_by_all() -> Iterator[Any]:
    """What any function of a library may call without naming it: handlers and filters of logging."""
    if (logging := sys.modules.get("logging")) is None:
        return
    yield from logging._handlerList
    for logger in (logging.root, *logging.root.manager.loggerDict.values()):
        yield from getattr(logger, "filters", ())


def _held_by(value: Any) -> Iterable[Any]:
    """What code that has an object gets from it. Nobody is asked."""
    kind = type(value)
    if kind in CONTAINERS and len(value) > LARGE:
        first = itertools.islice(value.values() if kind is dict else value, SAMPLE)
        return () if all(type(one) in PLAIN for one in first) else gc.get_referents(value)
    if kind is FrameType:
        return (*_locals_of(value), *_named_by(value.f_code, value.f_globals))
    if kind in SUSPENDED:
        frame = getattr(value, SUSPENDED[kind])
        return (*gc.get_referents(value), *(() if frame is None else (frame,)))
    if kind is FunctionType:
        return _of_function(value)
    if kind is ModuleType:
        space = vars(value)
        return space.values() if is_of_session(space.get("__file__")) else ()
    if issubclass(kind, weakref.ReferenceType):
        return (weakref.ReferenceType.__call__(value), *gc.get_referents(value))
    if issubclass(kind, type):
        bases = (*type.__getattribute__(value, "__mro__"), *type.__getattribute__(type(value), "__mro__"))
        return [one for base in bases if _is_of_session(base) for one in _space(base).values()]
    if kind is getattr(sys.modules.get("numpy"), "ndarray", None) and value.dtype.hasobject:
        raise UnknownError  # it does not show what it holds
    return gc.get_referents(value)


def _locals_of(frame: FrameType) -> list[Any]:
    """The local variables of a call that goes on."""
    if frame.f_code.co_name == "<module>":
        return []
    space: Any = frame.f_locals
    found = list(space.values())
    # Up to Python 3.12 they are copied into a dictionary that lives as long as the call, and all it holds with it.
    if type(space) is dict and frame.f_code.co_flags & CO_OPTIMIZED and sys.getrefcount(space) <= OF_FRAME:
        space.clear()
    return found


OF_FRAME = 3
"""References to the dictionary of a call's variables that only the call has: that, the name, and the question."""


def _of_function(function: Any) -> Iterator[Any]:
    yield from (
        *(function.__defaults__ or ()),
        *(function.__kwdefaults__ or {}).values(),
        *(function.__closure__ or ()),
    )
    # Of a library's function the globals are the library's own.
    if _is_cell(function.__globals__) or is_of_session(function.__code__.co_filename):
        yield from _named_by(function.__code__, function.__globals__)


def _named_by(code: CodeType, space: dict[str, Any]) -> Iterator[Any]:
    """The variables that a function names, and those within it."""
    if (_is_cell(space) or is_of_session(code.co_filename)) and not ANY_NAME.isdisjoint(code.co_names):
        raise UnknownError
    yield from (space[name] for name in code.co_names if name in space)
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _named_by(one, space)


def _is_cell(space: dict[str, Any]) -> bool:
    return space is CurrentSession.main.__dict__


def _space(kind: Any) -> Any:
    return type.__getattribute__(kind, "__dict__")


def _is_of_session(kind: Any) -> bool:
    """Whether a class is of a cell or of a module of the session."""
    home = _space(kind).get("__module__")
    module = sys.modules.get(home) if type(home) is str else None
    return home == "__main__" or (type(module) is ModuleType and is_of_session(vars(module).get("__file__")))
