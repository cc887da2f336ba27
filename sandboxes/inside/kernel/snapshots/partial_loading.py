"""Load of a unit what can be loaded: one bad object must not cost its neighbours.

The stream is loaded slowly, with a stand-in for each object that cannot be made; then the variables from which no
stand-in can be reached are whole.
"""

import contextlib
import gc
import io
import pickle
import sys
from types import CodeType, FunctionType, ModuleType
from typing import Any, ClassVar

from . import singletons
from .current_session import CurrentSession
from .modules.module_names import find_moved
from .modules.namespaces import is_made
from .objects.classes import is_users
from .objects.nans_and_sentinels import LoadedNans
from .private_cloudpickle import cloudpickle
from .units import reason_of

MOST = 5_000_000
"""Objects that are looked at for one variable; a larger one is given up."""


FILLING = ("set", "fill")
"""In the names of what fills its first argument."""


OURS = (__name__.partition(".")[0], "cloudpickle")
"""Whose functions are meant."""


def _fills(function: Any) -> bool:
    """Whether a function fills its first argument, which is incomplete once it has failed."""
    name, module = getattr(function, "__name__", ""), getattr(function, "__module__", None) or ""
    return type(module) is str and module.startswith(OURS) and any(word in name for word in FILLING)


class BrokenPlaceholder:
    """A placeholder for an object that could not be created. All its methods do nothing."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def take(self, *_arguments: Any, **_options: Any) -> None:
        """Whatever is done to it."""

    append = extend = add = update = __setitem__ = __setstate__ = take


def load_partially(data: bytes, buffers: list[Any], names: list[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Load the variables of a stream that are whole.

    Returns:
        Those, and for the others the reasons why they are not.
    """
    cloudpickle()
    return _load(_PartialUnpickler(io.BytesIO(b"".join((singletons.prelude(), data))), buffers=buffers), names)


def _load(unpickler: "_PartialUnpickler", names: list[str]) -> tuple[dict[str, Any], dict[str, str]]:
    found: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    try:
        unpickler.load()
        for _ in names:
            name, value = unpickler.load()
            reason = unpickler.reason_in(value)
            if reason is None:
                found[name] = value
                if not name.startswith(":"):
                    CurrentSession.main.__dict__[name] = value
            else:
                reasons[name] = reason
        with contextlib.suppress(Exception):  # what puts things in order behind them, until the end
            while True:
                unpickler.load()
    except Exception as error:  # a stand-in at a place where nothing can go on
        reasons |= {name: reason_of(error) for name in names if name not in found and name not in reasons}
    return found, reasons


SLOW: Any = pickle._Unpickler


class _PartialUnpickler(SLOW):  # type: ignore[misc]
    """Python's own slow unpickler, which goes on where an object cannot be made."""

    dispatch: ClassVar[dict[int, Any]] = dict(SLOW.dispatch)

    def __init__(self, file: io.BytesIO, buffers: list[Any]) -> None:
        super().__init__(file, buffers=buffers)
        self.incomplete: dict[int, tuple[Any, str]] = {}
        """Objects that were made but could not be filled."""
        self._nans = LoadedNans()

    def persistent_load(self, number: Any) -> Any:
        return self._nans.find(number)

    def find_class(self, module: str, name: str) -> Any:
        try:
            if module == "__main__":
                raise pickle.UnpicklingError(f"__main__.{name} is named but not kept")
            return super().find_class(module, name)
        except Exception as error:
            moved = find_moved(module, name) if isinstance(error, AttributeError | ImportError) else None
            return BrokenPlaceholder(reason_of(error)) if moved is None else moved

    def make(self, function: Any, arguments: Any, options: Any) -> Any:
        """Call something that makes or fills an object."""
        try:
            for part in (function, *arguments):
                if isinstance(part, BrokenPlaceholder):
                    return part
            return function(*arguments, **options)
        except (Exception, SystemExit) as error:
            if arguments and _fills(function):
                self.incomplete[id(arguments[0])] = (arguments[0], reason_of(error))
            return BrokenPlaceholder(reason_of(error))

    def load_reduce(self) -> None:
        arguments = self.stack.pop()
        self.stack[-1] = self.make(self.stack[-1], arguments, {})

    def load_newobj(self) -> None:
        arguments = self.stack.pop()
        kind = self.stack.pop()
        self.append(kind if isinstance(kind, BrokenPlaceholder) else self.make(kind.__new__, (kind, *arguments), {}))

    def load_newobj_ex(self) -> None:
        options = self.stack.pop()
        arguments = self.stack.pop()
        kind = self.stack.pop()
        self.append(
            kind if isinstance(kind, BrokenPlaceholder) else self.make(kind.__new__, (kind, *arguments), options)
        )

    def filling(self, fill: Any, target: Any) -> None:
        """Let an operation of the unpickler fill an object."""
        try:
            fill(self)
        except (Exception, SystemExit) as error:
            self.incomplete[id(target)] = (target, reason_of(error))

    def load_build(self) -> None:
        self.filling(SLOW.load_build, self.stack[-2])

    def load_setitems(self) -> None:
        self.filling(SLOW.load_setitems, self.metastack[-1][-1])

    def load_additems(self) -> None:
        self.filling(SLOW.load_additems, self.metastack[-1][-1])

    dispatch[pickle.REDUCE[0]] = load_reduce
    dispatch[pickle.NEWOBJ[0]] = load_newobj
    dispatch[pickle.NEWOBJ_EX[0]] = load_newobj_ex
    dispatch[pickle.BUILD[0]] = load_build
    dispatch[pickle.SETITEMS[0]] = load_setitems
    dispatch[pickle.ADDITEMS[0]] = load_additems

    def reason_in(self, value: Any) -> str | None:
        """Why something is not whole; None when it is."""
        seen, waiting = {id(CurrentSession.main.__dict__)}, [value]
        while waiting:
            one = waiting.pop()
            if id(one) in seen:
                continue
            seen.add(id(one))
            if isinstance(one, BrokenPlaceholder):
                return one.reason
            if id(one) in self.incomplete:
                return self.incomplete[id(one)][1]
            if len(seen) > MOST:
                return "it holds too many objects to tell whether all of them are whole"
            if (isinstance(one, ModuleType) and not is_made(one)) or (isinstance(one, type) and not is_users(one)):
                continue
            waiting += gc.get_referents(one)
            waiting += _objects_of(one)
        return None


def _objects_of(value: Any) -> list[Any]:
    """What an array holds, which it does not show the garbage collector; of records, what is in their fields."""
    numpy: Any = sys.modules.get("numpy")
    if numpy is None or not issubclass(type(value), numpy.ndarray) or not value.dtype.hasobject:
        return []
    array = value.view(numpy.ndarray)
    if array.dtype.names is None:
        return list(array.ravel())
    return [one for name in array.dtype.names for one in _objects_of(array[name])]


class _ForeignUnpickler(_PartialUnpickler):
    """Loads a stream with code of another Python, which must not be made: it would abort.

    Args:
        file: The stream.
        buffers: Its buffers.
        again: Functions and classes that were defined again from their source, by name.
        reason: Why the others are not there.
    """

    def __init__(self, file: io.BytesIO, buffers: list[Any], again: dict[str, Any], reason: str) -> None:
        super().__init__(file, buffers)
        self._again = again
        self._reason = reason

    def make(self, function: Any, arguments: Any, options: Any) -> Any:
        """Call something that makes or fills an object; what was defined again stands for what the stream has."""
        name = getattr(function, "__name__", "")
        if function is CodeType:
            return BrokenPlaceholder(self._reason)
        if name in DEFINED_AT:
            found = self._again.get(str(arguments[DEFINED_AT[name]]))
            return found if isinstance(found, type | FunctionType) else BrokenPlaceholder(self._reason)
        if name in FILLED_BY and any(arguments[0] is one for one in self._again.values()):
            return arguments[1] if name.startswith("add_") else None  # it is whole already
        return super().make(function, arguments, options)


DEFINED_AT = {"_make_skeleton_class": 1, "_make_skeleton_enum": 1, "make_function": 2, "_make_function": 2}
"""What makes a class or a function of a cell, and which of its arguments is the name."""


FILLED_BY = ("_class_setstate", "_function_setstate", "set_function", "add_methods", "add_members")
"""What fills them, given as the first argument."""


def load_foreign(
    data: bytes, buffers: list[Any], names: list[str], again: dict[str, Any], reason: str
) -> tuple[dict[str, Any], dict[str, str]]:
    """Load the variables of a stream with code of another Python, as far as what was defined again is enough.

    Returns:
        Those, and for the others the reasons why they are not there.
    """
    cloudpickle()
    stream = io.BytesIO(b"".join((singletons.prelude(), data)))
    return _load(_ForeignUnpickler(stream, buffers, again, reason), names)
