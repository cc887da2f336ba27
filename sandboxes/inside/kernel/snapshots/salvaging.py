"""Saves what can be saved of a unit that cannot be loaded: one bad object must not cost what it stood beside.

The stream is loaded once more, slowly, with a stand-in for each object that cannot be made; then the variables from
which no stand-in can be reached are whole.
"""

import gc
import io
import pickle
from types import ModuleType
from typing import Any, ClassVar

from . import specials
from .borrowed import cloudpickle
from .specials import Live
from .units import why

MOST = 5_000_000
"""Objects that are looked at for one variable; a larger one is given up."""


class Broken:
    """Stands for an object that could not be made; takes everything and does nothing."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def take(self, *_arguments: Any, **_options: Any) -> None:
        """Whatever is done to it."""

    append = extend = add = update = __setitem__ = __setstate__ = take


def salvage(data: bytes, buffers: list[Any], names: list[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Load the variables of a stream that are whole.

    Returns:
        Those, and for the others the reasons why they are not.
    """
    cloudpickle()
    unpickler = _Salvager(io.BytesIO(b"".join((specials.prelude(), data))), buffers=buffers)
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
                    Live.main.__dict__[name] = value
            else:
                reasons[name] = reason
    except Exception as error:  # a stand-in at a place where nothing can go on
        reasons |= {name: why(error) for name in names if name not in found and name not in reasons}
    return found, reasons


SLOW: Any = pickle._Unpickler


class _Salvager(SLOW):  # type: ignore[misc]
    """Python's own slow unpickler, which goes on where an object cannot be made."""

    dispatch: ClassVar[dict[int, Any]] = dict(SLOW.dispatch)

    def __init__(self, file: io.BytesIO, buffers: list[Any]) -> None:
        super().__init__(file, buffers=buffers)
        self.spoiled: dict[int, tuple[Any, str]] = {}
        """Objects that were made but could not be filled."""

    def find_class(self, module: str, name: str) -> Any:
        try:
            if module == "__main__":
                raise pickle.UnpicklingError(f"__main__.{name} is named but not kept")
            return super().find_class(module, name)
        except Exception as error:
            return Broken(why(error))

    def make(self, function: Any, arguments: Any, options: Any) -> Any:
        """Call something that makes or fills an object."""
        try:
            for part in (function, *arguments):
                if isinstance(part, Broken):
                    return part
            return function(*arguments, **options)
        except (Exception, SystemExit) as error:
            if "set" in getattr(function, "__name__", "") and arguments:  # it fills its first argument
                self.spoiled[id(arguments[0])] = (arguments[0], why(error))
            return Broken(why(error))

    def load_reduce(self) -> None:
        arguments = self.stack.pop()
        self.stack[-1] = self.make(self.stack[-1], arguments, {})

    def load_newobj(self) -> None:
        arguments = self.stack.pop()
        kind = self.stack.pop()
        self.append(kind if isinstance(kind, Broken) else self.make(kind.__new__, (kind, *arguments), {}))

    def load_newobj_ex(self) -> None:
        options = self.stack.pop()
        arguments = self.stack.pop()
        kind = self.stack.pop()
        self.append(kind if isinstance(kind, Broken) else self.make(kind.__new__, (kind, *arguments), options))

    def filling(self, fill: Any, target: Any) -> None:
        """Let an operation of the unpickler fill an object."""
        try:
            fill(self)
        except (Exception, SystemExit) as error:
            self.spoiled[id(target)] = (target, why(error))

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
        seen, waiting = {id(Live.main.__dict__)}, [value]
        while waiting:
            one = waiting.pop()
            if id(one) in seen:
                continue
            seen.add(id(one))
            if isinstance(one, Broken):
                return one.reason
            if id(one) in self.spoiled:
                return self.spoiled[id(one)][1]
            if len(seen) > MOST:
                return "it holds too many objects to tell whether all of them are whole"
            if isinstance(one, ModuleType) or (isinstance(one, type) and one.__module__ != "__main__"):
                continue
            waiting += gc.get_referents(one)
            if getattr(getattr(one, "dtype", None), "hasobject", False) is True and hasattr(one, "ravel"):
                waiting += list(one.ravel())  # an array does not show the garbage collector what it holds
        return None
