"""Fingerprints that also see what pickle would not: attributes themselves, who shares what, what holds whose functions.

An object of a class of the user's is looked into without asking it, so that a `__reduce__` or `__getstate__` that
leaves something out is found out, and none of the user's code runs. Objects of libraries are taken apart as pickle
takes them; which of the user's functions and objects they hold is counted besides.
"""

import builtins
import enum
import functools
import gc
import math
import sys
import weakref
from collections import Counter, OrderedDict, deque
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

from ..fingerprints import Walk, _content, _hash, _is, _made_by_python, _name
from ..snapshots import singletons
from ..snapshots.current_session import CurrentSession
from ..snapshots.objects import classes, id_numbers
from . import library_objects

CONTAINERS = (list, dict, set, bytearray)
PLAIN = (int, float, bool, complex, str, bytes, type(None), type(...), range, slice)
UNSHARED = ("pandas.core.dtypes", "pandas.core.indexes", "dateutil", "pytz", "zoneinfo", "numpy.dtypes")
"""Where classes are of whose instances it does not matter how many there are."""
OF_PYTHON = ("builtins", "collections", "datetime", "decimal", "functools", "itertools", "types", "fractions", "uuid")
"""Modules of whose classes pickle tells all that there is."""
ITERATORS = ("list_iterator", "dict_keyiterator", "dict_valueiterator", "dict_itemiterator", "set_iterator")
DEQUE_ITERATOR: type = type(iter(deque[Any]()))
HELD_OBJECTS = 20_000
"""Objects that are looked at for what a variable holds; of a larger one that is not compared."""
ARRAYS = 2_000
"""Arrays of which it is found out which lie in the same memory."""
LEFT_OUT = frozenset({"_abc_impl", "__abstractmethods__", "__doc__", "__slotnames__", "__static_attributes__"})
OF_LOGGERS = frozenset({"manager", "parent"})
"""What logging has in a logger, and all others hang on."""
BUILTINS = vars(builtins)
"""What a dict has under `__builtins__` once code has run with it as its variables."""
OF_PYDANTIC = "__pydantic_"
OF_MODELS = frozenset({"fields", "computed_fields", "decorators", "private_attributes", "root_model"})
"""What pydantic has in a model that says what it is; the rest is made of that, and has addresses in it."""
BY_ADDRESS = ("HashTrieMap", "HashTrieSet")
"""Containers of rpds, in the order of where their keys lie in memory."""
WEAK = (weakref.WeakKeyDictionary, weakref.WeakValueDictionary, weakref.WeakSet)
BASES = (dict, list, tuple, set, frozenset, int, float, complex, str, bytes, bytearray)

Place = tuple[str, int]
"""The variable in which something was met first, and the how manieth thing it was there."""


class DeepWalk(Walk):
    """Goes through variables one after the other.

    Args:
        space: The variables of `__main__`.
    """

    def __init__(self, space: dict[str, Any]) -> None:
        super().__init__()
        self._space = space
        self._singletons = singletons.memo()
        self._first: dict[int, Place] = {}
        self._memory: list[tuple[int, int, Place]] = []
        self._variable = ""
        self._count = 0
        self._unordered = 0
        self._inside = 0
        """How many objects of libraries around this one are being taken apart."""
        self.events: list[tuple[int, Place]] = []
        """What of this variable had been met before: which thing it is, and where that was."""
        self.has_library_objects = False
        """Whether this variable has objects that were taken apart as pickle does."""
        self.may_hold = False
        """Whether objects of libraries in this variable may hold what is the user's."""
        self.opaque = 0
        """How many of its parts could not be looked into."""

    def begin(self, variable: str) -> None:
        """Begin with a variable."""
        self._variable, self._count = variable, 0
        self.events = []
        self.has_library_objects, self.may_hold, self.opaque = False, False, 0

    def digest(self, value: Any) -> bytes:
        """The fingerprint of a value; it is noted whether it was met before."""
        kind = type(value)
        if id(value) in self._singletons:  # a snapshot names it; what it holds is compared by itself
            return _hash("singleton", str(self._singletons[id(value)][0]).encode())
        if kind is float and math.isnan(value):
            numpy: Any = sys.modules.get("numpy")
            return _hash("NaN", bytes(value is known for known in (vars(math)["nan"], getattr(numpy, "nan", None))))
        if kind is int and CurrentSession.asks_for_identities and id_numbers.may_be_one(value):
            return _hash("identity")  # it may be that of an object, which has another one after a restore
        if kind not in PLAIN and not self._unordered and not self._inside and self._is_shared(value, kind):
            self._note(value)
        return super().digest(value)

    def _note(self, value: Any) -> None:
        known = self._first.get(id(value))
        if known is not None:
            self.events.append((self._count, known))
            return
        self._first[id(value)] = (self._variable, self._count)
        self._alive.append(value)
        self._count += 1

    def _is_shared(self, value: Any, kind: type) -> bool:
        """Whether somebody could tell two equal ones of this kind apart by changing one."""
        if kind in CONTAINERS:
            return True
        if isinstance(value, type):
            return is_users(value)
        if isinstance(value, FunctionType):
            return value.__module__ == "__main__" and (value.__globals__ is self._space or _home(value) is None)
        if isinstance(value, BuiltinFunctionType | MethodType | ModuleType | CodeType | tuple | frozenset):
            return is_users(kind)
        return not kind.__module__.startswith(UNSHARED) and (is_users(kind) or hasattr(value, "__dict__"))

    def _of(self, value: Any, kind: type) -> bytes:
        if kind is dict:  # in their order: a loop sees it
            pairs = (pair for pair in value.items() if pair[1] is not BUILTINS)
            return _hash("dict", *(self.digest(key) + self.digest(item) for key, item in pairs))
        if kind in (set, frozenset):
            return self._set(kind.__name__, value)
        if isinstance(value, FunctionType):
            return self._function(value)
        if isinstance(value, type):
            return self._class(value) if is_users(value) else _hash("class", _name(value).encode())
        if is_users(kind):
            return self._users(value, kind)
        if any(_is(value, "rpds", name) for name in BY_ADDRESS):
            return self._set(kind.__name__, value.__reduce__()[1][0])
        found = library_objects.content(value, self.digest)
        if found is not None:
            self.may_hold = True
            return _hash(_name(kind), found)
        return super()._of(value, kind)

    def _set(self, name: str, value: Any) -> bytes:
        self._unordered += 1
        try:
            return _hash(name, *sorted(map(self.digest, value)))
        finally:
            self._unordered -= 1

    def _function(self, value: FunctionType) -> bytes:
        module = sys.modules.get(value.__module__ or "")
        if module is not None and vars(module) is value.__globals__ and value.__globals__ is not self._space:
            return _hash("function", f"{value.__module__}.{value.__qualname__}".encode())
        home = _home(value)
        if home is not None and value.__globals__ is not self._space:
            # A library has given it other names, as attrs does with one function for each of its classes.
            return _hash("function", f"{home.__name__}.{value.__code__.co_qualname}".encode())
        if value.__globals__ is self._space:
            sees = b"main"
        else:  # a namespace of `exec`, or a module that a cell made
            names = sorted(set(value.__code__.co_names) & set(value.__globals__))
            sees = self.digest([(name, value.__globals__[name]) for name in names])
        cells = [_content(cell) for cell in value.__closure__ or ()]
        parts = (value.__code__, value.__defaults__, value.__kwdefaults__, cells, value.__dict__)
        return _hash("function", value.__qualname__.encode(), sees, *map(self.digest, parts))

    def _class(self, value: type) -> bytes:
        own = [
            (name, item)
            for name, item in vars(value).items()
            if not _made_by_python(name)
            and name not in LEFT_OUT
            and not (name.startswith(OF_PYDANTIC) and name[len(OF_PYDANTIC) : -2] not in OF_MODELS)
            and not isinstance(item, GetSetDescriptorType | MemberDescriptorType)
            and not any(vars(base).get(name) is item for base in value.__mro__[1:])
            and not (isinstance(value, enum.EnumMeta) and name.startswith("_") and name != "_member_map_")
        ]
        parts = [part for name, item in sorted(own, key=lambda pair: pair[0]) for part in (name, item)]
        return _hash("class", _name(value).encode(), self.digest(list(value.__bases__)), self.digest(parts))

    def _users(self, value: Any, kind: type) -> bytes:
        """An object of a class of the user's, as it is, whatever it says of itself."""
        parts = [self.digest(kind), self._base(value, kind)]
        found = library_objects.content(value, self.digest) or self._library(value, kind)
        if found is None and not _is_plain(kind):
            found = self._reduced_by_base(value, kind)
        parts.append(found or b"")
        for name, item in sorted(attributes(value, kind).items()):
            if found is not None and (name.startswith("_") or name in OF_LOGGERS or _is_drawn(value, name)):
                continue  # a library's own
            parts += [name.encode("utf-8", "surrogatepass"), self.digest(item)]
        return _hash("object", *parts)

    def _reduced_by_base(self, value: Any, kind: type) -> bytes:
        """What a library's class, from which the user's is made, says of it."""
        base = next(one for one in kind.__mro__ if not is_users(one))
        for name, arguments in (("__reduce_ex__", (4,)), ("__reduce__", ())):
            if base is not object and name in vars(base):
                return self.digest(vars(base)[name](value, *arguments))
        return self._reduced(value, kind)

    def _base(self, value: Any, kind: type) -> bytes:
        """What it holds as a subclass of one of Python's own containers or values."""
        if isinstance(value, BaseException):
            return self.digest(list(value.args))
        base = next((one for one in BASES if issubclass(kind, one)), None)
        if base is None:
            return b""
        if base is dict:  # an ordered one has another order than the dict in it, once something was moved
            ordered = OrderedDict if issubclass(kind, OrderedDict) else dict
            return self.digest([part for pair in ordered.items(value) for part in pair])
        if base in (set, frozenset):
            return self._set(base.__name__, list(base.__iter__(value)))
        if base in (list, tuple):
            return self.digest(list(base.__iter__(value)))
        return _hash(base.__name__, base.__repr__(value).encode("utf-8", "surrogatepass"))

    def _library(self, value: Any, kind: type) -> bytes | None:
        found = super()._library(value, kind)
        if found is None:
            return None
        if _is(value, "numpy", "ndarray"):
            self._note_memory(value)
        if self._inside or kind.__module__.startswith("numpy"):
            return found  # what a library notes on its own frames, and which file a map is of, is its own affair
        public = {name: item for name, item in getattr(value, "__dict__", {}).items() if not name.startswith("_")}
        return _hash("with", found, self.digest(dict(sorted(public.items())))) if public else found

    def _array(self, array: Any) -> bytes:
        if array.dtype.names is None:
            return super()._array(array)
        # Between the fields may lie bytes that are nobody's.
        plain = sys.modules["numpy"].asarray(array)
        fields = [self._array(plain[name]) for name in plain.dtype.names]
        return _hash("fields", repr(array.dtype).encode(), *fields)

    def _note_memory(self, array: Any) -> None:
        """Note which array met before lies in the same memory."""
        if self._unordered or not array.nbytes or len(self._memory) >= ARRAYS:
            return
        address = array.__array_interface__["data"][0]
        steps = [stride * (length - 1) for stride, length in zip(array.strides, array.shape, strict=True)]
        start = address + sum(step for step in steps if step < 0)
        end = address + sum(step for step in steps if step > 0) + array.itemsize
        place = (self._variable, self._count)
        self._count += 1
        for from_, to, known in self._memory:
            if start < to and from_ < end:
                self.events.append((place[1], known))
                break
        self._memory.append((start, end, place))

    def _code(self, value: Any, kind: type) -> bytes | None:
        if isinstance(value, staticmethod | classmethod):
            return _hash(kind.__name__, self.digest(value.__func__))
        if kind is property:
            return _hash("property", *map(self.digest, (value.fget, value.fset, value.fdel)))
        if kind is functools.cached_property:
            return _hash("property", self.digest(value.func))
        if kind is MethodType:
            return _hash("method", self.digest(value.__self__), self.digest(value.__func__))
        if isinstance(value, weakref.ReferenceType):
            return _hash("weak reference", self.digest(value()))
        if isinstance(value, WEAK):  # mostly what libraries remember to be faster
            return _hash(kind.__name__, str(sum(is_users(type(one)) for one in list(value))).encode())
        if isinstance(value, memoryview):
            return _hash("memoryview", value.tobytes())
        if hasattr(value, "cache_info") and hasattr(value, "__wrapped__"):
            return _hash("cached", self.digest(value.__wrapped__))
        return super()._code(value, kind)

    def _reduced(self, value: Any, kind: type) -> bytes:
        if kind.__name__ in ITERATORS:
            _, arguments, *state = value.__reduce__()
            return _hash("iterator", self.digest(list(arguments[0])[state[0] if state else 0 :]))
        if kind is DEQUE_ITERATOR:  # as which a deque says what is in it
            _, (held, taken) = value.__reduce__()
            return _hash("iterator", self.digest(list(deque.__iter__(held))[taken:]))
        library = kind.__module__ not in OF_PYTHON
        self.has_library_objects = self.has_library_objects or library
        self._inside += library
        try:
            return super()._reduced(value, kind)
        except (RecursionError, MemoryError):
            raise
        except Exception:  # it cannot be pickled, or not as it is now
            self.opaque += 1
            return _hash("opaque", _name(kind).encode())
        finally:
            self._inside -= library


def _home(function: FunctionType) -> ModuleType | None:
    """The module of which a function has the variables, whatever module it says."""
    home = sys.modules.get(str(function.__globals__.get("__name__")))
    return home if home is not None and vars(home) is function.__globals__ else None


def _is_drawn(value: Any, name: str) -> bool:
    """Whether an attribute has a figure drawn again that is shown in a window."""
    return name == "stale_callback" and _is(value, "matplotlib.artist", "Artist")


def is_users(kind: type) -> bool:
    """Whether a class is the user's; one whose module nobody has imported may also be a compiled library's."""
    if not classes.is_users(kind):
        return False
    known = kind.__module__ == "__main__" or kind.__module__ in sys.modules
    return known or any(isinstance(item, FunctionType) for item in vars(kind).values())


def _is_plain(kind: type) -> bool:
    """Whether all that an object of a user's class holds is in its attributes, or in a base of Python's own."""
    return all(is_users(one) or one is object or one in BASES or issubclass(one, BaseException) for one in kind.__mro__)


def attributes(value: Any, kind: type) -> dict[str, Any]:
    """The attributes of an object, taken without asking it."""
    try:
        found = dict(object.__getattribute__(value, "__dict__"))
    except AttributeError:
        found = {}
    for one in kind.__mro__:
        for name, slot in vars(one).items():
            if isinstance(slot, MemberDescriptorType) and is_users(one):
                try:
                    found[name] = slot.__get__(value)
                except AttributeError:
                    continue
    return {name: item for name, item in found.items() if type(name) is str}


def held(value: Any, space: dict[str, Any]) -> dict[str, int] | None:
    """How many functions and objects of the user's something holds, by name, however it holds them.

    Args:
        value: It.
        space: The variables of `__main__`, which are not entered.

    Returns:
        None when it holds too much to be looked through.
    """
    found: Counter[str] = Counter()
    seen = {id(value), id(space), id(sys.modules)}
    alive: list[Any] = []
    waiting = [value]
    while waiting:
        if len(seen) > HELD_OBJECTS:
            return None
        for referent in gc.get_referents(waiting.pop()):
            one = referent
            if isinstance(referent, weakref.ReferenceType) and id(referent) not in seen:
                seen.add(id(referent))
                one = referent()
            if id(one) in seen or isinstance(one, ModuleType | FrameType | CodeType | type):
                continue
            seen.add(id(one))
            alive.append(one)  # a method is made when a weak reference is asked, and another one would get its address
            if isinstance(one, FunctionType):
                if one.__globals__ is space:
                    found[one.__qualname__] += 1
            elif is_users(type(one)):
                if not isinstance(one, enum.Flag):  # the class has those that were ever combined
                    found[type(one).__qualname__] += 1
            elif gc.is_tracked(one) and not (isinstance(one, dict) and "__builtins__" in one):
                waiting.append(one)
    return dict(sorted(found.items()))
