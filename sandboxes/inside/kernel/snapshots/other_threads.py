"""Other threads of the session, which may use what a snapshot looks at while it does."""

import gc
import sys
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from .current_session import CurrentSession, is_of_session

MOST = 20_000
"""Objects that are looked at; beyond that anything may be reached."""


class Reached:
    """What the other threads can reach, as far as that is known."""

    context: object = None
    """The snapshot for which it was looked for."""
    objects: set[int] | None = None
    """The identities of objects; None: anything."""


def may_reach(value: Any) -> bool:
    """Whether another thread may use an object: what its functions hold or name leads to it, however deep.

    Threads that wait (of pools, of progress bars) count, too, since they may go on at any time. What they get from
    others they do not get while a snapshot is taken.
    """
    own = sys._getframe()
    frames = [frame for frame in sys._current_frames().values() if frame is not own]
    if not frames:
        return False
    if Reached.context is not CurrentSession.context:
        Reached.context, Reached.objects = CurrentSession.context, _reached_from(frames)
    return Reached.objects is None or id(value) in Reached.objects


def _reached_from(frames: list[FrameType]) -> set[int] | None:
    found: dict[int, object] = {}
    waiting: list[Any] = list(frames)
    while waiting:
        value = waiting.pop()
        if id(value) in found or type(value) in PLAIN:
            continue
        if len(found) >= MOST:
            return None
        found[id(value)] = value
        waiting += _held_by(value)
    return set(found)  # without the objects, which would live on


PLAIN = (str, bytes, int, float, bool, type(None), CodeType)


def _held_by(value: Any) -> Iterator[Any]:
    """What code that has an object gets from it. Nobody is asked."""
    kind = type(value)
    if kind is FrameType:
        yield from value.f_locals.values() if value.f_code.co_name != "<module>" else ()
        yield from _named_by(value.f_code, value.f_globals)
        if value.f_back is not None:
            yield value.f_back
    elif kind is FunctionType:
        # Of a library's function the globals are the library's own.
        yield from (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values(), *(value.__closure__ or ()))
        if is_of_session(value.__code__.co_filename) or value.__globals__ is CurrentSession.main.__dict__:
            yield from _named_by(value.__code__, value.__globals__)
    elif kind is ModuleType:
        if is_of_session(vars(value).get("__file__")):
            yield from vars(value).values()
    elif issubclass(kind, type):
        space: dict[str, Any] = type.__getattribute__(value, "__dict__")
        yield from space.values() if space.get("__module__") == "__main__" else ()
    else:
        yield from gc.get_referents(value)


def _named_by(code: CodeType, space: dict[str, Any]) -> Iterator[Any]:
    """The variables that a function names, and those within it."""
    yield from (space[name] for name in code.co_names if name in space)
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _named_by(one, space)
