"""Parts of what libraries hold as a whole: arrays of trees and of models, elements of XML, texts in them, codecs."""

import codecs
import functools
import importlib
import itertools
import sys
import threading
from typing import Any

from ..objects import attributes

ARRAYS = ("nodes", "values")
"""What holds all of a tree, by its names in the tree's state."""


class TreePart:
    """Stands for one of the arrays that hold a tree: the tree is asked for it again.

    Args:
        tree: The tree.
        name: Which of its arrays it is.
    """

    def __init__(self, tree: Any, name: str) -> None:
        self._tree = tree
        self._name = name

    def __reduce__(self) -> Any:
        return part_of, (self._tree, self._name)


def part_with(root: Any) -> TreePart | None:
    """The part of a tree that has the memory of an array; None: it is not a tree's."""
    tree = root.base
    library: Any = sys.modules.get("sklearn.tree._tree")
    if library is None or not isinstance(tree, library.Tree):
        return None
    place = root.__array_interface__["data"][0]
    names = [name for name in ARRAYS if part_of(tree, name).__array_interface__["data"][0] == place]
    return TreePart(tree, names[0]) if names else None


def part_of(tree: Any, name: str) -> Any:
    """One of the arrays that hold a tree, as a view of its memory."""
    return tree.__getstate__()[name]


def reduce_state_space(pickler: Any, model: Any) -> Any:
    """A model of statsmodels, without its compiled parts.

    These look into the model's arrays. Pickle would give them copies, and the model would go on to compute with those.
    It makes them again when it needs them.
    """
    reduced = model.__reduce_ex__(5)
    if not (isinstance(reduced, tuple) and len(reduced) > 2 and isinstance(reduced[2], dict)):
        return NotImplemented
    state = reduced[2] | {name: {} for name in COMPILED if name in reduced[2]}
    return *reduced[:2], state, *reduced[3:]


COMPILED = ("_representations", "_statespaces", "_kalman_filters", "_kalman_smoothers", "_initializations")
"""Attributes of models and of how they begin: what is compiled for each kind of number, and its arrays."""


def reduce_objectified(pickler: Any, element: Any) -> Any:
    """An element of `lxml.objectify`: its library takes one that is in another one out of it."""
    parent = element.getparent()
    return NotImplemented if parent is None else (child_of, (parent, _plain().index(parent, element)))


def child_of(parent: Any, place: int) -> Any:
    """An element in another one, whatever its class answers when it is asked for it."""
    return _plain().__getitem__(parent, place)


def _plain() -> Any:
    return sys.modules["lxml.etree"]._Element


def reduce_traits(pickler: Any, value: Any) -> Any:
    """An object with traits: its own `__getstate__` leaves out who observes it, and what it is linked with."""
    kind = type(value)
    if not _is_from("traitlets", kind.__getstate__, kind.__setstate__) or kind in pickler.reducers.asked:
        usual = attributes.reducer_with_own(kind) if attributes.names_them(kind) else None
        return NotImplemented if usual is None else usual(pickler, value)
    pickler.reducers.not_asked.add(kind)
    return attributes.make_whole, (kind,), (None, dict(vars(value)), {}), None, None, attributes.set_whole


def reduce_two_ways(pickler: Any, value: Any) -> Any:
    """A dictionary of two directions of `bidict`: the other direction is one over the same two dictionaries."""
    kind, named = type(value), vars(value)
    if not _is_from("bidict", kind.__reduce__):
        return attributes.reduce_whole(pickler, value) if attributes.drops_them(kind) else NotImplemented
    if "_sntl" in named:  # an ordered one is a chain, which may be too long to be followed
        reference = named.get("_invweak")
        whole = reference() if reference is not None else None
        reduced = value.__reduce_ex__(5) if whole is None else (find_inverse, (whole,))
        return attributes.with_hung(reduced, {name: one for name, one in named.items() if name not in OF_TWO_WAYS})
    return attributes.make_whole, (kind,), (None, dict(named), {}), None, None, attributes.set_whole


OF_TWO_WAYS = frozenset({"_fwdm", "_invm", "_inv", "_invweak", "_hash", "_sntl", "_node_by_korv", "_bykey"})


def find_inverse(whole: Any) -> Any:
    """The other direction."""
    return whole.inverse


def _is_from(library: str, *methods: Any) -> bool:
    """Whether methods are a library's own."""
    return all(str(getattr(one, "__module__", "")).partition(".")[0] == library for one in methods)


def reduce_codec(_pickler: Any, codec: Any) -> Any:
    """What `codecs.lookup` gives for a name of Python's own codecs each time; others are made anew."""
    said, name = getattr(codec, "name", None), None
    if isinstance(said, str) and getattr(codec.incrementalencoder, "__module__", "").startswith("encodings."):
        spellings = (said, said.replace("-", ""), said.replace("-", "_"), *SPELLINGS)
        name = next((one for one in spellings if _finds(one, codec)), None)
    return find_codec, (name, type(codec), tuple(codec), dict(vars(codec)))


SPELLINGS = ("utf8", "utf-8", "latin1", "latin-1", "ascii", "us-ascii", "cp1252", "windows-1252", "utf-16", "utf16")
"""Names that people use for a codec, each of which `codecs` remembers by itself."""


def _finds(name: str, codec: Any) -> bool:
    """Whether a name is one of Python's own codec, and leads to that object."""
    import encodings

    if encodings.search_function(name.lower().replace(" ", "_")) is None:
        return False
    return codecs.lookup(name) is codec


def find_codec(name: str | None, kind: Any, functions: Any, attributes: dict[str, Any]) -> Any:
    """What is found for a name, or one of its own."""
    if name is not None:
        return codecs.lookup(name)
    codec = tuple.__new__(kind, functions)
    vars(codec).update(attributes)
    return codec


def reduce_lexer(_pickler: Any, lexer: Any) -> Any:
    """A lexer of pygments, whose class gets its rules ready when it is first called."""
    return make_lexer, (type(lexer),), vars(lexer)


def make_lexer(kind: Any) -> Any:
    """A lexer whose class has its rules."""
    kind()
    return kind.__new__(kind)


def reduce_token(_pickler: Any, token: Any) -> Any:
    """A type of tokens of pygments, of each of which there is one: by its name."""
    return make_token, (tuple(token),)


def make_token(names: Any) -> Any:
    """The type of a name."""
    return functools.reduce(getattr, names, importlib.import_module("pygments.token").Token)


SETTINGS = (
    "protocol", "verify_mode", "verify_flags", "check_hostname", "options", "minimum_version", "maximum_version",
    "post_handshake_auth", "keylog_filename",
)  # fmt: skip
"""What a context of encrypted connections tells of itself, beside its ciphers and how many certificates it trusts."""


def reduce_policy(_pickler: Any, policy: Any) -> Any:
    """A policy of `email`: those that the library has by name are compared by what they are (`policy is SMTP`)."""
    for module in POLICIES:
        for name, known in vars(sys.modules.get(module, object)).items():
            if known is policy:
                return find_in, (module, name)
    return NotImplemented


POLICIES = ("email.policy", "email._policybase")


def find_in(module: str, name: str) -> Any:
    """A variable of a module."""
    return getattr(importlib.import_module(module), name)


def reduce_opening(_pickler: Any, opening: Any) -> Any:
    """What opens addresses for `urllib`: since Python 3.12 it has a context like all others, which is made anew."""
    context = vars(opening).get("_context")
    if context is None or _settings(context) != _settings(_context()):
        return NotImplemented
    return make_opening, (type(opening),), {name: one for name, one in vars(opening).items() if name != "_context"}


def make_opening(kind: Any) -> Any:
    """One with a context as `urllib` makes it."""
    opening = kind.__new__(kind)
    opening._context = _context()
    return opening


def _context() -> Any:
    client: Any = importlib.import_module("http.client")
    return client._create_https_context(client.HTTPSConnection._http_vsn)


def _settings(context: Any) -> Any:
    ciphers = [one["name"] for one in context.get_ciphers()]
    return [getattr(context, name, None) for name in SETTINGS], ciphers, context.cert_store_stats()


def reduce_rule(_pickler: Any, rule: Any) -> Any:
    """A rule of dates that remembers the first of them: it goes on after these."""
    space = vars(rule)
    if space.get("_cache") is None:
        return NotImplemented
    own = {name: value for name, value in space.items() if name not in OF_REMEMBERING}
    # Once it is at its end, a rule holds its lock for ever.
    going, held = space.get("_cache_gen") is not None, space["_cache_lock"].locked()
    return make_rule, (type(rule),), (own, going, held), None, None, fill_rule


OF_REMEMBERING = ("_cache_gen", "_cache_lock")


def make_rule(kind: Any) -> Any:
    """One that is still to be filled."""
    return object.__new__(kind)


def fill_rule(rule: Any, state: Any) -> None:
    """Let it remember what it did, and go on after that."""
    own, is_going, is_held = state
    vars(rule).update(own, _cache_gen=None, _cache_lock=threading.Lock())
    if is_going:
        dates = rule._iter()
        for _ in itertools.islice(dates, len(own["_cache"])):
            pass
        rule._cache_gen = dates
    if is_held:
        rule._cache_lock.acquire()
