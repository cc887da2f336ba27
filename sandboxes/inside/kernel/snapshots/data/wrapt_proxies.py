"""Proxies and decorators of wrapt, which answer for what they wrap and refuse to be pickled."""

import sys
from typing import Any

from ..objects.classes import is_users
from ..objects.instances import slots_of

SAYING = ("__reduce__", "__reduce_ex__")
WRAPPED, OWN = "__wrapped__", "__self_dict__"
OF_FUNCTIONS = ("_self_instance", "_self_wrapper", "_self_enabled", "_self_binding", "_self_parent", "_self_owner")
"""What a wrapper of a function holds besides what it wraps, in the order in which it takes them."""
OF_PARTIALS = ("_self_args", "_self_kwargs")


def reduce_proxy(_pickler: Any, proxy: Any) -> Any:
    """A proxy with what it wraps, what it does with that, and its own attributes."""
    library, kind = sys.modules["wrapt"], type(proxy)
    base = library.BaseObjectProxy
    others = (library.AutoObjectProxy, library.WeakFunctionProxy)
    if issubclass(kind, others) or not {WRAPPED, OWN} <= vars(base).keys():
        return NotImplemented  # these make what they wrap, or a class, or lose it; or the library is an older one
    users = [one for one in kind.__mro__ if is_users(one) and one.__module__ != base.__module__]
    if slots_of(kind) or any(name in vars(one) for one in users for name in SAYING):
        return NotImplemented
    try:
        wrapped = vars(base)[WRAPPED].__get__(proxy)
    except (AttributeError, ValueError):  # it was made without an `__init__`
        return NotImplemented
    maker, names = _maker_of(kind)
    held = tuple(_member(maker, name).__get__(proxy) for name in names)
    own = dict(vars(base)[OWN].__get__(proxy))
    return make_proxy, (kind,), (wrapped, held, own), None, None, fill_proxy


def _maker_of(kind: type) -> tuple[Any, tuple[str, ...]]:
    """The class of the library that makes it, and what that takes."""
    library = sys.modules["wrapt"]
    if issubclass(kind, library.PartialCallableObjectProxy):
        return library.PartialCallableObjectProxy, OF_PARTIALS
    functions = library.FunctionWrapper.__mro__[1]
    return (functions, OF_FUNCTIONS) if issubclass(kind, functions) else (library.BaseObjectProxy, ())


def _member(owner: Any, name: str) -> Any:
    return next(vars(one)[name] for one in owner.__mro__ if name in vars(one))


def make_proxy(kind: Any) -> Any:
    """One that wraps nothing yet, made by the compiled class that it is of."""
    import wrapt

    module = wrapt.BaseObjectProxy.__module__
    return next(one for one in kind.__mro__ if one.__module__ == module).__new__(kind)


def fill_proxy(proxy: Any, state: Any) -> None:
    """Let it wrap that again, without what its class does when it is made."""
    wrapped, held, own = state
    maker, names = _maker_of(type(proxy))
    if names == OF_PARTIALS:
        arguments, options = held
        maker.__init__(proxy, wrapped, *arguments, **options)
    else:
        maker.__init__(proxy, wrapped, *held)
    vars(sys.modules["wrapt"].BaseObjectProxy)[OWN].__get__(proxy).update(own)
