"""Identities as numbers: what `id` gave and a program keeps, as the keys of a dictionary or in a set.

Where an object of a snapshot is in memory is another place after a restore. A number that is the identity of an object
of the same stream is then given the new one, if cells call `id` at all. Numbers are looked for where programs keep
them: in lists, queues, sets, in keys and values of dictionaries, weak ones too, there in tuples, too, in containers of
cells' classes, in attributes and slots of cells' objects, in variables of closures and arguments of partial functions.
"""

import ast
import contextlib
import functools
import operator
import re
import symtable
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from types import CellType, MemberDescriptorType
from typing import Any

from ..cell_sources import nodes_of
from .classes import is_users

CALLED = re.compile(r"\bid\b\s*[(,)]")
"""`id(x)`, or `id` given to something, as `map(id, xs)`; or that name in a text, as the column of a query."""
LOWEST, HIGHEST, STEP = 1 << 44, 1 << 47, 16
"""Where Python's objects are in the memory of a process."""
MOST = 100_000
"""Items that are looked at in one stream."""
DICTS: tuple[type, ...] = (dict, defaultdict, OrderedDict, Counter)
SEQUENCES: tuple[Any, ...] = (list, deque)
WEAK: tuple[Any, ...] = (weakref.WeakValueDictionary, weakref.WeakKeyDictionary)

Recipe = tuple[Any, dict[int, Any]]
"""A container, or an object, and the objects whose identities are numbers in it."""


def are_asked_for(source: str) -> bool:
    """Whether a cell may ask for identities: whether `id` is a name in its code that is no variable where it stands."""
    if CALLED.search(source) is None:  # as in nearly all
        return False
    try:
        scopes = list(_scopes(symtable.symtable(source, "<cell>", "exec")))
    except (SyntaxError, ValueError, RecursionError):  # a cell that never ran, or one that only its magic understands
        return False
    nodes = nodes_of(source)
    if any(isinstance(node, ast.Attribute) and node.attr == "id" and _is_builtins(node.value) for node in nodes):
        return True
    known = [scope.lookup("id") for scope in scopes if "id" in scope.get_identifiers()]
    is_variable = "id" in scopes[0].get_identifiers() and scopes[0].lookup("id").is_assigned()
    return not is_variable and any(one.is_referenced() and not one.is_assigned() and _is_outer(one) for one in known)


def _scopes(scope: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield scope
    for inner in scope.get_children():
        yield from _scopes(inner)


def _is_outer(name: symtable.Symbol) -> bool:
    """Whether a name in a scope is neither an argument nor of a function around it."""
    return not (name.is_parameter() or name.is_free())


def _is_builtins(owner: ast.expr) -> bool:
    return isinstance(owner, ast.Name) and owner.id in ("builtins", "__builtins__")


def may_be_one(value: Any) -> bool:
    """Whether a value is a number that may be the identity of an object."""
    return type(value) is int and LOWEST < value < HIGHEST and value % STEP == 0


class Identity:
    """Stands in a stream for a variable that is the identity of an object.

    Args:
        value: The object.
    """

    def __init__(self, value: Any) -> None:
        self._value = value

    def __reduce__(self) -> Any:
        return id, (self._value,)


def recipes(memo: dict[int, tuple[int, Any]]) -> tuple[list[Recipe], set[int]]:
    """What has to be numbered anew.

    Args:
        memo: The objects of a stream.

    Returns:
        For each container its numbers; and the numbers that are no object's of this stream.
    """
    found: list[Recipe] = []
    others: set[int] = set()
    left = MOST
    users: dict[type, bool] = {}
    for _, value in sorted(memo.values(), key=lambda entry: entry[0]):
        held = _held(value, users)
        if held is None or (left := left - len(held)) < 0:
            continue
        numbers = {one for one in _numbers(held) if may_be_one(one)}
        if mine := {one: memo[one][1] for one in numbers if one in memo}:
            found.append((value, mine))
        others |= numbers - mine.keys()
    return found, others


def _held(value: Any, users: dict[type, bool]) -> list[Any] | None:
    """What a container holds, or an object of a cell's class in itself and in its attributes."""
    kind: Any = type(value)
    if kind is list or kind is set or kind is deque:
        return list(value)
    if kind in DICTS or kind in WEAK:
        return [*value.keys(), *value.values()]
    if kind is CellType or kind is functools.partial:
        return _within(value)
    known = users.get(kind)
    if known is None:
        known = users[kind] = not issubclass(kind, type) and is_users(kind)
    if not known:
        return None
    attributes = attributes_of(value)
    return [*_items(value), *(attributes or {}).values(), *(one for _, one in _slots(value))]


def _within(value: Any) -> list[Any]:
    """What a variable of a closure is, or the arguments of a partial function."""
    if type(value) is functools.partial:
        return list(value.args)
    try:
        return [value.cell_contents]
    except ValueError:  # it is empty
        return []


def _items(value: Any) -> list[Any]:
    """What a container of a cell's class holds, without methods of that."""
    kind = type(value)
    if issubclass(kind, dict):
        return [*dict.__iter__(value), *dict.values(value)]
    base: Any = next((one for one in (*SEQUENCES, set) if issubclass(kind, one)), None)
    return [] if base is None else list(base.__iter__(value))


def attributes_of(value: Any) -> dict[str, Any] | None:
    """The attributes of an object, without its own code being asked."""
    if not type(value).__dictoffset__:
        return None
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:  # since Python 3.12 some of its own types have a place for attributes and give none
        return None
    return found if type(found) is dict else None


def _slots(value: Any) -> Iterator[tuple[Any, Any]]:
    """What is in the slots of an object: slot, value."""
    for kind in type(value).__mro__:
        for slot in vars(kind).values() if "__slots__" in vars(kind) else ():
            if type(slot) is MemberDescriptorType:
                with contextlib.suppress(AttributeError):  # it is empty
                    yield slot, slot.__get__(value)


def _numbers(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if type(value) is tuple:
            yield from _numbers(value)
        else:
            yield value


def renumber(wanted: list[Recipe]) -> None:
    """Put the identities that objects have now in the place of those that they had."""
    for value, objects in wanted:
        new = functools.partial(_new, {number: id(one) for number, one in objects.items()})
        kind: Any = type(value)
        if kind is CellType:
            value.cell_contents = new(value.cell_contents)
            continue
        if kind is functools.partial:
            value.__setstate__((value.func, new(value.args), value.keywords, vars(value)))
            continue
        _renumber_items(value, kind, new)
        if kind in DICTS or kind in WEAK or kind in SEQUENCES or kind is set:
            continue
        if (attributes := attributes_of(value)) is not None:
            _renumber_dict(attributes, new)
        for slot, one in list(_slots(value)):
            if (changed := new(one)) is not one:
                slot.__set__(value, changed)


def _renumber_items(value: Any, kind: type, new: Callable[[Any], Any]) -> None:
    """Of a container, or of an object that is one."""
    if issubclass(kind, dict):
        _renumber_dict(value, new)
        return
    if kind in WEAK:
        items = [(new(key), new(one)) for key, one in value.items()]
        value.clear()
        for key, one in items:
            value[key] = one
        return
    base: Any = next((one for one in SEQUENCES if issubclass(kind, one)), None)
    if base is not None:
        for place, one in enumerate(list(base.__iter__(value))):
            if (changed := new(one)) is not one:
                base.__setitem__(value, place, changed)
    elif issubclass(kind, set):
        numbered = set(map(new, set.__iter__(value)))
        set.clear(value)
        set.update(value, numbered)


def _renumber_dict(value: Any, new: Callable[[Any], Any]) -> None:
    base: Any = OrderedDict if issubclass(type(value), OrderedDict) else dict
    items = [(new(key), new(item)) for key, item in base.items(value)]
    base.clear(value)
    for key, item in items:
        base.__setitem__(value, key, item)


def _new(numbers: dict[int, int], value: Any) -> Any:
    if type(value) is int:
        return numbers.get(value, value)
    if type(value) is tuple and any(type(one) in (int, tuple) for one in value):
        made = tuple(_new(numbers, one) for one in value)
        return value if all(map(operator.is_, made, value)) else made
    return value
