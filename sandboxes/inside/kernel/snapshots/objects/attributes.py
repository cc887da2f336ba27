"""Attributes that how an object is taken apart leaves out, and objects that are not made by code of cells again.

`Decimal` and `date` are taken apart without what a cell's class adds to them; a sorted dictionary or a picture without
what somebody hung on it. A base calls the class to make an object again, whose own `__new__` or `__init__` may want
something else than the base gives it, or count a second object.
"""

import copyreg
import enum
import functools
import sys
from collections.abc import Iterable
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any

from ..library_state.library_patches import CellAttributes
from . import instances
from .classes import is_users

TAKING_APART = ("__reduce_ex__", "__reduce__")
STATE_MAKING = (*TAKING_APART, "__getstate__")
CHOOSING = frozenset({"__dict__", "vars", "super", "__getstate__"})
"""What a method names that looks at all attributes, and says itself which of them are kept."""
ARGUMENTS = ("__getnewargs__", "__getnewargs_ex__")
MAKING = ("__new__", "__init__")


def drops_them(kind: type) -> bool:
    """Whether a class is a cell's, and how it is taken apart is inherited from one that is not."""
    if not is_users(kind) or issubclass(kind, type | enum.Enum):
        return False
    if kind in copyreg.dispatch_table and kind.__module__ != "__main__":
        return False
    return base_of(kind) is not None and (not _says_how(kind) or kind.__module__ == "__main__")


def _homes(kind: type) -> list[type]:
    """The classes that say how an object is taken apart."""
    return [one for one in kind.__mro__[:-1] if any(name in vars(one) for name in TAKING_APART)]


def _says_how(kind: type) -> bool:
    """Whether a class of a cell is the first of them."""
    return is_users(_homes(kind)[0])


def base_of(kind: type) -> Any:
    """The class of a library that says how an object is taken apart; None: none does."""
    return next((one for one in _homes(kind) if not is_users(one)), None)


def names_them(kind: type) -> bool:
    """Whether a library says which attributes are the state of its objects, as requests and pandas do."""
    if issubclass(kind, type | enum.Enum | BaseException) or kind in copyreg.dispatch_table:
        return False
    home = next(one for one in kind.__mro__ if "__getstate__" in vars(one) or one is object)
    if home is object or is_users(home):
        return False
    # One of C knows nothing of what a class of a cell has besides.
    return isinstance(vars(home)["__getstate__"], FunctionType) or (is_users(kind) and bool(kind.__dictoffset__))


def reducer_with_own(kind: Any) -> Any:
    """Takes an object apart as its library does, and with the attributes that are not the library's.

    Those are the ones that no code of its class there names, and, unless its class is a cell's, that cells assign.
    """
    of_cell, of_library = is_users(kind), _names_in_library(kind)

    def reduce(_pickler: Any, value: Any) -> Any:
        named: Any = getattr(value, "__dict__", None)
        if type(named) is not dict:
            return NotImplemented
        own = (named.keys() if of_cell else named.keys() & CellAttributes.assigned) - of_library
        if not own:
            return NotImplemented
        reduced = value.__reduce_ex__(5)
        if not (isinstance(reduced, tuple) and 2 < len(reduced) <= 5):
            return NotImplemented
        make, arguments, state, items, pairs = (*reduced, None, None)[:5]
        parts = state if isinstance(state, tuple) else (state,)
        if any(type(one) is dict and one.keys() >= own for one in parts):
            return NotImplemented
        kept = state if isinstance(state, dict) else {}
        missing = {name: one for name, one in named.items() if name in own and name not in kept}
        return (make, arguments, (state, missing, {}), items, pairs, set_whole) if missing else NotImplemented

    return reduce if of_cell or CellAttributes.assigned else None


@functools.lru_cache(maxsize=200)
def _names_in_library(kind: type) -> frozenset[str]:
    """The names that stand in the code of a class of a library, or of the bases that a class has there."""
    of_library = [one for one in kind.__mro__ if one is not object and not is_users(one)]
    values = [value for base in of_library for value in vars(base).values()]
    functions = [getattr(one, "__func__", getattr(one, "fget", one)) for one in values]
    codes = [one.__code__ for one in functions if isinstance(one, FunctionType)]
    return frozenset(name for code in codes for name in code.co_names)


def reduce_whole(pickler: Any, value: Any) -> Any:
    """As its base takes it apart, and with its attributes where that leaves them out."""
    plain: Any = object
    kind: Any = type(value)
    says = _says_how(kind) or kind in copyreg.dispatch_table
    if says:
        if kind in pickler.reducers.asked:
            return NotImplemented
        pickler.reducers.not_asked.add(kind)
    state = plain.__getstate__(value)
    named, slots = state if isinstance(state, tuple) else (state, None)
    of_users = [one for one in kind.__mro__ if is_users(one)]
    # Slots of the base are its own affair, and others in another Python.
    slots = {name: one for name, one in (slots or {}).items() if any(name in vars(one) for one in of_users)}
    own = any(_is_written(vars(one).get(name)) for one in of_users for name in MAKING)
    if not (named or slots or own or says):
        return NotImplemented
    base = base_of(kind)
    reduced = base.__reduce_ex__(value, 5) if "__reduce_ex__" in vars(base) or not says else base.__reduce__(value)
    if not isinstance(reduced, tuple) or len(reduced) > 5:
        return NotImplemented
    make, arguments, state, items, pairs = (*reduced[:5], None, None, None)[:5]
    calls = make is kind
    if own and calls:
        make, arguments = make_by_base, (kind, *arguments)
    elif own and (calls := getattr(make, "__name__", "") == "__newobj__" and arguments[0] is kind):
        make, arguments = instances.make, (kind, _plain_base(kind), arguments[1:])
    elif not (named or slots or says):
        return NotImplemented
    parts = state if isinstance(state, tuple) else (state,)
    if any(isinstance(one, dict) and one.keys() == (named or {}).keys() for one in parts):
        named = {}
        if not (own and calls) and not says:
            return NotImplemented
    return make, arguments, (state, named, slots), items, pairs, set_whole


def _is_written(method: Any) -> bool:
    """Whether a method was written in Python; compiled classes may pass for a cell's."""
    return isinstance(getattr(method, "__func__", method), FunctionType)


def _plain_base(kind: type) -> Any:
    """The first class that is no cell's."""
    return next(one for one in kind.__mro__ if not is_users(one))


def make_by_base(kind: Any, *arguments: Any) -> Any:
    """An object as its base makes it: what its class does beside that it has done."""
    base = _plain_base(kind)
    value = base.__new__(kind, *arguments)
    if base.__init__ is not object.__init__:
        base.__init__(value, *arguments)
    return value


def make_plain(kind: Any, _base: Any, arguments: Any) -> Any:
    """What snapshots of an earlier version name in the place of `make_by_base`."""
    return make_by_base(kind, *arguments)


def set_whole(value: Any, states: Any) -> None:
    """Give an object the state that its base has kept, and its attributes, these without a method of its class."""
    state, named, slots = states
    if hasattr(type(value), "__setstate__"):
        if state is not None:
            value.__setstate__(state)
    elif isinstance(state, tuple):
        named, slots = {**(state[0] or {}), **(named or {})}, {**(state[1] or {}), **(slots or {})}
    elif state:
        value.__dict__.update(state)
    if named:
        object.__getattribute__(value, "__dict__").update(named)
    for name, content in slots.items():
        object.__setattr__(value, name, content)


def reducer_for(kind: type) -> Any:
    """How an object of a class is taken apart where pickle would forget or change something; None: as pickle does."""
    if kind in copyreg.dispatch_table:
        return None
    return _find(kind) if is_users(kind) else _of_library(kind)


@functools.lru_cache(maxsize=10_000)
def _of_library(kind: type) -> Any:
    return _find(kind)


def _find(kind: type) -> Any:
    if is_only_forbidden(kind):
        return reduce_forbidden
    if says_what_is_kept(kind):
        return reduce_unasked
    if makes_itself(kind) or answers_for_others(kind):
        return reduce_made
    return reducer_of_hung(kind) if may_drop_hung(kind) else None


def says_what_is_kept(kind: type) -> bool:
    """Whether a class of a cell says what is kept of its objects, which are made of nothing but Python, but not how."""
    says = [one for one in kind.__mro__[:-1] if "__getstate__" in vars(one) or "__setstate__" in vars(one)]
    if not says or not any(is_users(_home_of(kind, name) or object) for name in instances.STATE):
        return False
    if issubclass(kind, type | enum.Enum | BaseException) or not instances.is_of_python(kind, object):
        return False
    return _is_taken_apart_as_usual(kind)


def _home_of(kind: type, name: str) -> Any:
    return next((one for one in kind.__mro__[:-1] if name in vars(one)), None)


def reduce_unasked(pickler: Any, value: Any) -> Any:
    """An object with what its library keeps of it, whatever a class of a cell leaves out of that."""
    plain: Any = object
    kind: Any = type(value)
    if kind in pickler.reducers.asked:
        return NotImplemented
    pickler.reducers.not_asked.add(kind)
    keeps = _of_library_in(kind, "__getstate__")
    state = plain.__getstate__(value) if keeps is None else keeps(value)
    named, kept = vars(value), state if isinstance(state, dict) else {}
    own = named.keys() - _names_in_library(kind) - kept.keys() if keeps is not None else ()
    return make_whole, (kind,), (state, {name: named[name] for name in named if name in own}), None, None, set_unasked


def _of_library_in(kind: type, name: str) -> Any:
    """The method that a class has from a library; None: there is none."""
    return next((vars(one)[name] for one in kind.__mro__[:-1] if name in vars(one) and not is_users(one)), None)


def set_unasked(value: Any, states: Any) -> None:
    """Give an object that state, as its library does it, and what the library knows nothing of."""
    state, own = states
    puts = _of_library_in(type(value), "__setstate__")
    named, slots = state if isinstance(state, tuple) else (state, None)
    if puts is not None:
        puts(value, state)
        named, slots = {}, {}
    object.__getattribute__(value, "__dict__").update({**(named or {}), **own})
    for name, content in (slots or {}).items():
        object.__setattr__(value, name, content)


def may_drop_hung(kind: type) -> bool:
    """Whether how a library takes an object apart, in Python, may leave out an attribute that others hung on it."""
    if not kind.__dictoffset__ or issubclass(kind, type | enum.Enum):
        return False
    homes = (one for one in kind.__mro__[:-1] for name in STATE_MAKING if name in vars(one))
    home = next(homes, None)
    if home is None or is_users(home):  # somebody who says himself what is kept means it
        return False
    made = [vars(home)[name] for name in STATE_MAKING if name in vars(home)]
    return all(isinstance(one, FunctionType) and CHOOSING.isdisjoint(_named_in(one.__code__)) for one in made)


def reducer_of_hung(kind: type) -> Any:
    """Takes an object of a library apart as the library does, and with the attributes that its class does not know."""
    known = frozenset(_names(kind))

    def reduce(_pickler: Any, value: Any) -> Any:
        space = vars(value)
        if space.keys() <= known:
            return NotImplemented
        hung = {name: one for name, one in space.items() if name not in known and not name.startswith("_")}
        if not hung:
            return NotImplemented
        reduced = value.__reduce_ex__(5)
        state = reduced[2] if isinstance(reduced, tuple) and len(reduced) > 2 else None
        parts = state if isinstance(state, tuple) else (state,)
        if any(isinstance(one, dict) and not one.keys().isdisjoint(space) for one in parts):
            return reduced  # it has chosen among all of its attributes
        return with_hung(reduced, hung)

    return reduce


def _names(kind: type) -> Iterable[str]:
    """What is in a class and its bases, and what their functions name."""
    for one in kind.__mro__[:-1]:
        for name, value in vars(one).items():
            yield name
            function = getattr(value, "fget", None) or getattr(value, "__func__", value)
            if isinstance(function, FunctionType):
                yield from _named_in(function.__code__)
        named = vars(one).get("__annotations__")
        yield from named if isinstance(named, dict) else ()


def _named_in(code: CodeType) -> Iterable[str]:
    yield from code.co_names
    for one in code.co_consts:
        if isinstance(one, str):
            yield one
        elif isinstance(one, CodeType):
            yield from _named_in(one)


def with_hung(reduced: Any, hung: dict[str, Any], *, anew: bool = False) -> Any:
    """What an object is taken apart to, and attributes that are not in it yet, or are in it as something else."""
    if not isinstance(reduced, tuple) or len(reduced) > 5:
        return reduced
    make, arguments, state, items, pairs = (*reduced[:5], None, None, None)[:5]
    parts = state if isinstance(state, tuple) else (state,)
    if not hung or (not anew and any(isinstance(one, dict) and one.keys() >= hung.keys() for one in parts)):
        return reduced
    return make, arguments, (state, hung, {}), items, pairs, set_whole


def reduce_with_constants(pickler: Any, value: Any) -> Any:
    """An object of `argparse` or `optparse`, which compare texts such as `SUPPRESS` by identity."""
    usual = reducer_for(type(value)) or instances.reducer_of_held(type(value))
    reduced = NotImplemented if usual is None else usual(pickler, value)
    named = object.__getattribute__(value, "__dict__")
    constants = {id(one): (module, name) for module in WITH_CONSTANTS for name, one in _constants(module)}
    found = {name: constants[id(one)] for name, one in named.items() if id(one) in constants}
    if not found:
        return reduced
    if reduced is NotImplemented:
        reduced = value.__reduce_ex__(5)
    if not isinstance(reduced, tuple):
        return reduced
    make, arguments, state, items, pairs, put = (*reduced, None, None, None, None)[:6]
    return make, arguments, (state, found, put), items, pairs, set_with_constants


WITH_CONSTANTS = ("argparse", "optparse")


def _constants(module: str) -> Iterable[tuple[str, Any]]:
    """The texts and tuples that a module has under names in capitals."""
    return [
        (name, one)
        for name, one in vars(sys.modules.get(module, object)).items()
        if name.isupper() and type(one) in (str, tuple)
    ]


def set_with_constants(value: Any, states: Any) -> None:
    """Give an object its state, with the very constants of its module."""
    state, found, put = states
    if put is None:
        set_whole(value, (state, None, {}))
    else:
        put(value, state)
    for name, (module, constant) in found.items():
        object.__getattribute__(value, "__dict__")[name] = getattr(sys.modules[module], constant)


def is_only_forbidden(kind: type) -> bool:
    """Whether a class refuses to be pickled only because another version of its library might not understand it."""
    return kind.__module__.split(".")[0] == "patsy" and any(
        isinstance(getattr(kind, name), FunctionType) for name in ("__getstate__", "__reduce__")
    )


def reduce_forbidden(_pickler: Any, value: Any) -> Any:
    """An object by its attributes: that it is of another version is found out before it is loaded.

    Polynomials of NumPy give away copies of theirs.
    """
    return make_whole, (type(value),), (None, vars(value), {}), None, None, set_whole


def makes_itself(kind: type) -> bool:
    """Whether a class has a `__new__` in Python, which pickle would call with what it may not expect."""
    return isinstance(kind.__new__, FunctionType) and _is_taken_apart_as_usual(kind)


def answers_for_others(kind: type) -> bool:
    """Whether a class has a `__getattr__`, which pickle would ask before there is anything that it can answer from."""
    answers = isinstance(getattr(kind, "__getattr__", None), FunctionType)
    return answers and not hasattr(kind, "__setstate__") and _is_taken_apart_as_usual(kind)


def _is_taken_apart_as_usual(kind: type) -> bool:
    if issubclass(kind, type | enum.Enum):
        return False
    base: Any = object
    plain = all(getattr(kind, name) is getattr(base, name) for name in TAKING_APART)
    return plain and not any(isinstance(getattr(kind, name, None), FunctionType) for name in ARGUMENTS)


def reduce_made(_pickler: Any, value: Any) -> Any:
    """An object without its `__new__` and its `__getattr__`: what they did is part of the state that comes back."""
    reduced: Any = value.__reduce_ex__(5)
    newobj: Any = copyreg.__newobj__  # type: ignore[attr-defined]
    if reduced[0] is not newobj:
        return reduced
    _, arguments, state, items, pairs = reduced
    if hasattr(type(value), "__setstate__") or not isinstance(state, dict | tuple):
        return make_whole, arguments, state, items, pairs
    named, slots = state if isinstance(state, tuple) else (state, None)
    return make_whole, arguments, (None, named, slots or {}), items, pairs, set_whole


def make_whole(kind: Any, *arguments: Any) -> Any:
    """An object that is still to be filled.

    A library's class may have one object, which its `__new__` knows; but it may also give one of another class.
    """
    base = next(one for one in kind.__mro__ if isinstance(vars(one).get("__new__"), BuiltinFunctionType))
    if not is_users(kind):
        try:
            made = kind.__new__(kind, *arguments)
        except TypeError:
            made = None
        if type(made) is kind:
            return made
    return base.__new__(kind, *arguments)


def reduce_plain(_pickler: Any, value: Any) -> Any:
    """A value of Python's own, whatever cells have registered for its class with `copyreg`."""
    return value.__reduce_ex__(5)


def reduce_complex(_pickler: Any, value: Any) -> Any:
    """The same of a complex number, of which there may be many."""
    return complex, (value.real, value.imag)


def reduce_descriptor(_pickler: Any, descriptor: Any) -> Any:
    """What gives an attribute its value: asked of its class by name, that of `__dict__` gives something else."""
    return find_descriptor, (descriptor.__objclass__, descriptor.__name__)


def find_descriptor(kind: Any, name: str) -> Any:
    """The descriptor of a class."""
    return vars(kind)[name]
