"""Weak references: of cells' own classes, with something to call, and to what is gone; weak methods; signals."""

import ctypes
import gc
import importlib
import struct
import sys
import weakref
from pickle import PicklingError
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any

from ..current_session import CurrentSession
from .classes import is_users
from .id_numbers import may_be_one

OBJECT: Any = object
PROXIES = weakref.ProxyType, weakref.CallableProxyType
CONNECTIONS = ("receivers", "_by_receiver", "_by_sender", "_weak_senders")
"""Attributes of a signal of blinker that have numbers which `id` gave."""


def referent_of(proxy: Any) -> Any:
    """What a weak proxy stands for; whatever else it is asked, that answers.

    Raises:
        ReferenceError: it is gone.
    """
    kind: Any = type(proxy)
    return kind.__getattribute__(proxy, "__reduce_ex__").__self__


class Called:
    """Stands in a reference for what it calls when its object goes: a function, which may hold the reference itself."""

    function: Any = None

    def __call__(self, reference: Any) -> None:
        """Call the function."""
        self.function(reference)


def reduce_reference(_pickler: Any, reference: Any) -> Any:
    """A weak reference."""
    kind, value, function = type(reference), reference(), reference.__callback__
    if value is None:
        return make_dead, (kind,)
    if isinstance(reference, weakref.WeakMethod):
        return _reduce_method(reference, value)
    if kind is not weakref.ReferenceType and not is_users(kind):
        raise PicklingError("a weakref of a library")
    state = None if kind is weakref.ReferenceType else OBJECT.__getstate__(reference)
    if function is None:
        return (make, (kind, value), (None, state), None, None, fill) if state else (make, (kind, value))
    return make, (kind, value, Called()), (called_of(function), state), None, None, fill


def called_of(function: Any) -> Any:
    """What a reference calls when its object goes.

    Raises:
        PicklingError: it is not known how to have that again.
    """
    function = function.function if isinstance(function, Called) else function
    if (
        not isinstance(function, FunctionType | MethodType | BuiltinMethodType)
        or getattr(function, "__module__", "") == "weakref"
    ):
        raise PicklingError("a weakref that calls something when its object goes")
    return function


def make_proxy(value: Any) -> Any:
    """A weak proxy that will call something."""
    return weakref.proxy(value, Called())


def fill_proxy(proxy: Any, function: Any) -> None:
    """Give it what it calls."""
    _replace(proxy, gc.get_referents(proxy)[0], function)


def _replace(reference: Any, called: Any, function: Any) -> None:
    """Have a reference call a function itself, for which Python has no way; it calls it in any case."""
    called.function = function
    held: Any = ctypes.py_object.from_address(id(reference) + PLACE)
    if held.value is called:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(function))
        held.value = function
        ctypes.pythonapi.Py_DecRef(ctypes.py_object(called))


PLACE = OBJECT.__basicsize__ + struct.calcsize("P")
"""Where a reference has what it calls: behind what it refers to."""


def make(kind: Any, value: Any, called: Any = None) -> Any:
    """A reference to an object, without code of its class."""
    if kind is weakref.ReferenceType:
        return weakref.ref(value, called)
    return weakref.ref.__new__(kind, value, called)


def fill(reference: Any, state: Any) -> None:
    """Give it what it calls, and its attributes."""
    function, attributes = state
    if function is not None:
        _replace(reference, reference.__callback__, function)
    named, slots = attributes if isinstance(attributes, tuple) else (attributes, None)
    for name, value in {**(named or {}), **(slots or {})}.items():
        object.__setattr__(reference, name, value)


class _Gone:
    """An object that is gone as soon as it was referred to."""

    def method(self) -> None:
        """Do nothing."""


def make_dead(kind: Any) -> Any:
    """A reference to what is gone."""
    gone = _Gone()
    if issubclass(kind, weakref.WeakMethod):
        return weakref.WeakMethod(gone.method)
    return make(kind, gone)


def _reduce_method(reference: Any, method: Any) -> Any:
    calls = dict(zip(reference.__callback__.__code__.co_freevars, reference.__callback__.__closure__, strict=True))
    if type(reference) is not weakref.WeakMethod or calls["callback"].cell_contents is not None:
        raise PicklingError("a weakref that calls something when its object goes")
    return make_method, (method.__func__, method.__self__)


def make_method(function: Any, owner: Any) -> Any:
    """A weak reference to a method of an object."""
    return weakref.WeakMethod(MethodType(function, owner))


def reduce_signal(_pickler: Any, signal: Any) -> Any:
    """A signal of blinker, which knows receivers and senders by their identities: they are connected again."""
    attributes = dict(vars(signal))
    receivers, by_receiver, _, senders = (attributes.pop(name, None) for name in CONNECTIONS)
    if receivers is None or by_receiver is None or senders is None:
        return NotImplemented
    any_sender, connections = sys.modules["blinker.base"].ANY_ID, []
    for number, ids in by_receiver.items():
        held = receivers.get(number)
        is_weak = isinstance(held, weakref.ReferenceType)
        if (receiver := held() if is_weak else held) is None:
            continue
        for one in ids:
            if one == any_sender:
                connections.append((receiver, is_weak, True, None))
            elif (sender := senders[one]() if one in senders else _sender(one)) is not None:
                connections.append((receiver, is_weak, False, sender))
    return make_signal, (type(signal),), (attributes, connections), None, None, connect


def _sender(number: Any) -> Any:
    """A sender that has no weak references: a text, a number, or what a variable holds."""
    if not may_be_one(number):
        return number
    for value in CurrentSession.main.__dict__.values():
        if id(value) == number:
            return value
    raise PicklingError("a signal with a sender of which it only knows the identity")


def make_signal(kind: Any) -> Any:
    """A signal that is connected to nothing."""
    signal = OBJECT.__new__(kind)
    importlib.import_module("blinker.base").Signal.__init__(signal)
    return signal


def connect(signal: Any, state: Any) -> None:
    """Connect it, without telling so, and give it its attributes."""
    attributes, connections = state
    library: Any = sys.modules["blinker.base"]
    for receiver, is_weak, is_any, sender in connections:
        library.Signal.connect(signal, receiver, library.ANY if is_any else sender, is_weak)
    vars(signal).update(attributes)
