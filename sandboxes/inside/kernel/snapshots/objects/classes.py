"""Classes of cells are made again without their hooks: what these did is part of the state that comes back.

cloudpickle makes a class by calling its metaclass, which registers it a second time: `__init_subclass__` of a base, or
`__new__` and `__init__` of a metaclass, have run already when the cell did.
"""

import enum
import operator
import sys
import types
import typing
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from typing import Any

from ..current_session import is_of_session
from ..modules.namespaces import is_made

OF_SUBCLASSES, OF_PYDANTIC = "__init_subclass__", "__pydantic_init_subclass__"
"""Hooks of a base that run when a class is made of it."""


def make_class(metaclass: Any, name: str, bases: tuple[Any, ...], content: dict[str, Any]) -> Any:
    """A class that is still to be filled.

    Args:
        metaclass: Its metaclass.
        name: Its name.
        bases: Its bases, as its statement has them.
        content: What has to be there from the beginning, as its slots.
    """
    content = {sys.intern(key): value for key, value in content.items()}
    notes = content.pop(NOTES) if type(content.get(NOTES)) is tuple else ()
    resolved = types.resolve_bases(bases) if "pydantic" in sys.modules else ()
    with without_hook(resolved, OF_PYDANTIC):
        made = _make(metaclass, name, bases, content, notes)
    places = [note for note in notes if type(note) is tuple]
    if places:
        _with_places.append((weakref.ref(made), places[0]))
    return made


def _make(metaclass: Any, name: str, bases: tuple[Any, ...], content: dict[str, Any], notes: tuple[Any, ...]) -> Any:
    if metaclass.__name__ == "_TypedDictMeta":  # it wants the statement of the class, and makes another one of that
        plain = [dict if type(base) is metaclass else base for base in types.resolve_bases(bases)]
        return type.__new__(metaclass, name, tuple(dict.fromkeys(plain)), content)
    maker = next(one for one in metaclass.__mro__ if not is_users(one))
    resolved = types.resolve_bases(bases)
    hooks = _hooks(resolved)
    silenced = bool(hooks) and is_users(hooks[0])
    if maker is metaclass and not silenced:
        return types.new_class(name, bases, {"metaclass": metaclass}, lambda space: space.update(content))
    if resolved is not bases:
        content["__orig_bases__"] = bases
    with _in_usual_order(metaclass) if USUAL_ORDER in notes else nullcontext():
        if not silenced:
            return maker.__new__(metaclass, name, resolved, content)
        with _silenced(hooks[0]):
            made = maker.__new__(metaclass, name, resolved, content)
    library = next((one for one in hooks if not is_users(one)), None)
    if library is not None and not (library.__module__ in OF_TYPING and NO_PARAMETERS in notes):
        vars(library)[OF_SUBCLASSES].__get__(None, made)()
    return made


NOTES = ""
"""In the place of the name of an attribute: what else is known of a class."""
USUAL_ORDER = "usual order"
NO_PARAMETERS = "no parameters"
OF_TYPING = ("typing", "typing_extensions")


_with_places: list[tuple[weakref.ref[type], tuple[int, ...]]] = []
"""Classes that were made since the order of subclasses was last put right, and their places in it."""


def order_subclasses() -> None:
    """Let `__subclasses__` of classes of cells give them in the order in which cells made them."""
    known: list[tuple[type, tuple[int, ...]]] = []
    for reference, positions in _with_places:
        if (made := reference()) is not None:
            known.append((made, positions))
    _with_places.clear()
    bases: dict[int, tuple[type, list[tuple[int, type]]]] = {}
    for kind, places in known:
        for base, place in zip(kind.__bases__, places, strict=False):
            if is_users(base):
                bases.setdefault(id(base), (base, []))[1].append((place, kind))
    for base, kinds in bases.values():
        kinds.sort(key=operator.itemgetter(0))
        wanted: list[type] = [one[1] for one in kinds]
        living: list[Any] = type.__subclasses__(base)
        numbers = set(map(id, wanted))
        now = [one for one in living if id(one) in numbers]
        if all(map(operator.is_, now, wanted)) or any(map(_has_an_order, wanted)):
            continue
        for one in wanted:
            with suppress(Exception):  # what metaclasses of libraries have to say
                BASES.__set__(one, one.__bases__)  # which puts it behind the others


BASES: Any = type.__dict__["__bases__"]
MOST_SISTERS = 100
"""Subclasses of a class whose order is kept: each has to be looked for among them."""


def _has_an_order(kind: type) -> bool:
    """Whether the code of a cell orders the bases of a class, or of one below it, when its own are set."""
    return bool(_owner_of_order(type(kind))) or any(map(_has_an_order, type.__subclasses__(kind)))


def _places(kind: type) -> tuple[int, ...]:
    """Which of the subclasses of each of its bases it is; empty: it has no sisters of a cell."""
    sisters: list[list[type]] = [type.__subclasses__(base) if is_users(base) else [] for base in kind.__bases__]
    if not any(1 < len(one) <= MOST_SISTERS for one in sisters):
        return ()
    return tuple(next((place for place, one in enumerate(each) if one is kind), 0) for each in sisters)


def notes_on(kind: type) -> dict[str, tuple[Any, ...]]:
    """What making a class again has to know, as one of its attributes.

    It is that the `mro` of its metaclass, a cell's, gave the usual order, that the hook of `typing.Generic` did not
    run, since that of a cell does not call it, and its place among the subclasses of its bases.
    """
    order = _owner_of_order(type(kind)) is not None and _is_in_usual_order(kind)
    bare = "__parameters__" not in vars(kind) and any(one is typing.Generic for one in kind.__mro__)
    places = _places(kind)
    notes = (USUAL_ORDER,) * order + (NO_PARAMETERS,) * bare + (places,) * bool(places)
    return {NOTES: notes} if notes else {}


def _is_in_usual_order(kind: type) -> bool:
    try:
        return list(map(id, type.mro(kind))) == list(map(id, kind.__mro__))  # a metaclass may say what is equal
    except TypeError:  # its bases have no such order
        return False


def _owner_of_order(metaclass: type) -> Any:
    """The class of a cell that has the `mro` of a metaclass; None: it is the usual one."""
    owner = next((one for one in metaclass.__mro__ if "mro" in vars(one)), type)
    return owner if owner is not type and is_users(owner) else None


@contextmanager
def _in_usual_order(metaclass: type) -> Iterator[None]:
    """Let the bases of a class be put in order without the code of a cell."""
    owner = _owner_of_order(metaclass)
    if owner is None:
        yield
        return
    order = vars(owner)["mro"]
    type.__setattr__(owner, "mro", type.mro)
    try:
        yield
    finally:
        type.__setattr__(owner, "mro", order)


def _hooks(bases: tuple[Any, ...], name: str = OF_SUBCLASSES) -> list[Any]:
    """The classes among bases, and among theirs, that have a hook for classes derived from them, in their order."""
    found = [one for base in bases for one in base.__mro__ if one is not object and name in vars(one)]
    order = []
    while found:
        first = next(one for one in found if not any(_derives(other, one) for other in found))
        order.append(first)
        found = [one for one in found if one is not first]
    return order


def _derives(kind: type, base: type) -> bool:
    return kind is not base and any(one is base for one in kind.__mro__)


@contextmanager
def without_hook(bases: tuple[Any, ...], name: str = OF_SUBCLASSES) -> Iterator[None]:
    """Let a class of these bases be made without a hook of a cell."""
    hooks = _hooks(bases, name)
    with _silenced(hooks[0], name) if hooks and is_users(hooks[0]) else nullcontext():
        yield


@contextmanager
def _silenced(owner: type, name: str = OF_SUBCLASSES) -> Iterator[None]:
    """Let the hook of a class do nothing for a while."""
    hook = vars(owner)[name]
    type.__setattr__(owner, name, classmethod(_do_nothing))
    try:
        yield
    finally:
        type.__setattr__(owner, name, hook)


HOOK = "__subclasshook__"


@contextmanager
def without_questions(*kinds: type) -> Iterator[None]:
    """Let no class of a cell say for a while which others are of it.

    A class that is registered with an abstract one asks both first. They may name classes that are not there yet, and
    what they said when the cell registered it is in what comes back.
    """
    owners = {one: vars(one)[HOOK] for kind in kinds for one in kind.__mro__ if HOOK in vars(one) and is_users(one)}
    with ExitStack() as after:
        for owner, hook in owners.items():
            after.callback(type.__setattr__, owner, HOOK, hook)
            type.__setattr__(owner, HOOK, classmethod(_say_nothing))
        yield


def _say_nothing(_kind: Any, _other: Any, /) -> Any:
    """Stands for what says who is of a class."""
    return NotImplemented


def is_named_tuple(kind: type) -> bool:
    """Whether `typing.NamedTuple` makes a class from its statement, and its slots, which that must not have."""
    return any(one is typing.NamedTuple for one in vars(kind).get("__orig_bases__", ()))


def _do_nothing(_kind: Any, /, *_arguments: Any, **_keywords: Any) -> None:
    """Stands for a hook."""


def is_users(kind: type) -> bool:
    """Whether a class is of a cell, of a module of the workspace, or of one that a cell has made."""
    return is_of_users(kind.__module__)


def is_of_users(name: Any) -> bool:
    """Whether the name of a module is that of the cells, of one of the workspace, or of one that a cell has made."""
    module = sys.modules.get(name) if isinstance(name, str) else None
    if name == "__main__" or module is None or is_made(module):
        return True
    return is_of_session(getattr(module, "__file__", None))


FIRST_LINE = "__firstlineno__"
"""From Python 3.13 on in classes. Naming their module takes it away, so that in one that was loaded it is the last."""
METHODS = (types.FunctionType, staticmethod, classmethod, property)
DEFINED = (*METHODS, types.WrapperDescriptorType, types.MethodDescriptorType)
"""What is in a class because its statement has it, as `__str__ = str.__str__`."""
PLAIN = (str, int, float, bool, complex, bytes, type(None))


def is_one_of(kind: type, kinds: tuple[type, ...]) -> bool:
    """Whether a class is one of some; a metaclass is asked nothing."""
    return any(kind is one for one in kinds)


def is_plain(name: str, value: Any) -> bool:
    """Whether an attribute of a class can be there from the beginning: its metaclass may hash the class by it."""
    return type(value) in PLAIN and not (name[:2] == "__" and name[-2:] == "__")


def as_defined(kind: type, state: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a class in the order in which it has them, with those that its bases have just so.

    cloudpickle sorts them, and takes an attribute that is the same object as that of a base for inherited; but a number
    that a class has counted for itself stays its own when that of the base changes.
    """
    own = {
        name: value
        for name, value in vars(kind).items()
        if name in state
        or not (name[:2] == "__" and name[-2:] == "__")
        or isinstance(value, DEFINED)
        or _is_note(name, value)
    }
    slots = set(getattr(kind, "__slots__", ())) if "__slots__" in vars(kind) else set()
    inherited = [vars(base) for base in kind.__mro__[1:]]
    kept = {
        name: state.get(name, value)
        for name, value in own.items()
        if name in state or (name not in slots and any(space.get(name, own) is value for space in inherited))
    }
    made = {**kept, **{name: value for name, value in state.items() if name not in kept}}
    if FIRST_LINE in made:
        made[FIRST_LINE] = made.pop(FIRST_LINE)
    return made


def _is_note(name: str, value: Any) -> bool:
    """Whether a library has noted it, which may be what its base has, too: pydantic that a model is not complete."""
    return type(value) in PLAIN and name != "__slots__" and not hasattr(type, name)


def methods_first(kind: type, state: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a class, so that its methods are there before its other attributes are loaded.

    Among these may be instances of the class, which are made by calling it.
    """
    names = [name for name in state if not (name.startswith("__") and name.endswith("__")) and name != "_abc_impl"]
    ready = all(isinstance(state[name], METHODS) or type(state[name]) in PLAIN for name in names)
    if ready or isinstance(kind, enum.EnumMeta):
        return state
    early = {name: value for name, value in state.items() if name in names or isinstance(value, METHODS)}
    early = {name: value if isinstance(value, METHODS) else _like(value) for name, value in early.items()}
    return {"__module__": Methods(kind, early), **{name: state[name] for name in state if name != "__module__"}}


def arguments_of_members(kind: Any) -> dict[str, Any]:
    """What members of an enumeration are made of, where that is not their value, as with a `__new__`."""
    base = kind._member_type_
    if MAKER not in vars(kind) and (base is object or hasattr(base, "__getnewargs__")):
        return {}
    return {
        name: base.__getnewargs__(member) if hasattr(base, "__getnewargs__") else ()
        for name, member in kind.__members__.items()
    }


MAKER = "__new_member__"
"""What an enumeration remembers of how its members were made."""
METACLASS = ""
"""In the place of the name of a member: what makes the enumeration, if that is a cell's."""


def metaclass_of(kind: Any) -> dict[str, Any]:
    """The metaclass of an enumeration, if it is not that of its base."""
    return {} if type(kind) is type(kind.__bases__[-1]) else {METACLASS: type(kind)}


def is_simple_enum(values: dict[str, Any]) -> bool:
    """Whether members are made by naming their values: a function, or a class, would be a method."""
    return not any(isinstance(value, type) or hasattr(type(value), "__get__") for value in values.values())


class _Place:
    def __init__(self, name: str) -> None:
        self.name = name


def make_enum(bases: Any, name: str, values: dict[str, Any], arguments: dict[str, Any]) -> Any:
    """An enumeration whose members are made without its own `__new__` and `__init__`.

    Args:
        bases: Its bases.
        name: Its name.
        values: The values of its members.
        arguments: What these are made of, if it is not their value; and its metaclass.
    """
    made_of = {member: one for member, one in arguments.items() if member != METACLASS}

    def make(kind: Any, place: Any) -> Any:
        place = place[0] if isinstance(place, tuple) else place
        base = kind._member_type_
        made = base.__new__(kind, *made_of[place.name])
        made._value_ = values[place.name]
        return made

    metaclass: Any = arguments.get(METACLASS, type(bases[-1]))
    maker = next(one for one in metaclass.__mro__ if not is_users(one))
    space = maker.__prepare__(name, bases)
    if made_of:
        space["__new__"], space["__init__"] = make, _do_nothing
    for member, value in values.items():
        space[member] = _Place(member) if made_of else enum.member(value)
    kind = maker.__new__(metaclass, name, bases, space)
    if made_of:
        type.__delattr__(kind, "__init__")
        if MAKER in vars(kind):  # the next snapshot would keep this one; what is set next brings what was there
            type.__delattr__(kind, MAKER)
        listed = getattr(kind, "_hashable_values_", []), getattr(kind, "_unhashable_values_", [])  # since Python 3.13
        for known in (*listed, *getattr(kind, "_unhashable_values_map_", {}).values()):
            known[:] = [values[one.name] if type(one) is _Place else one for one in known]
    return kind


def member_reducer(kind: type) -> Any:
    """How members of an enumeration are taken apart whose metaclass, a cell's, answers when it is called; else None."""
    if not issubclass(kind, enum.Enum) or not is_users(type(kind)):
        return None
    members = {id(member): name for name, member in kind._member_map_.items()}

    def reduce(_pickler: Any, member: Any) -> Any:
        name = members.get(id(member))
        return NotImplemented if name is None else (find_member, (kind, name))

    return reduce


def find_member(kind: Any, name: str) -> Any:
    """A member of an enumeration."""
    return kind._member_map_[name]


OF_ENUM = frozenset({"_value_", "_name_", "__objclass__", "_sort_order_"})
"""Attributes of members that making the class gives them."""


def members_first(kind: Any, state: dict[str, Any]) -> dict[str, Any]:
    """The attributes of an enumeration, and of its members those that an `__init__` or a cell gave them.

    A cell may also have given a member further values.
    """
    own = {
        name: {key: value for key, value in getattr(member, "__dict__", {}).items() if key not in OF_ENUM}
        for name, member in kind.__members__.items()
    }
    values = [
        (value, member._name_)
        for value, member in kind._value2member_map_.items()
        if kind.__members__.get(member._name_) is member and value is not member._value_
    ]
    if not any(own.values()) and not values:
        return state
    return {"__module__": Members(kind, own, values), **{name: state[name] for name in state if name != "__module__"}}


class Members:
    """Stands in a stream for the name of the module of an enumeration, and gives the members their attributes."""

    def __init__(self, kind: Any, members: dict[str, dict[str, Any]], values: list[tuple[Any, str]]) -> None:
        self._kind = kind
        self._members = members
        self._values = values

    def __reduce__(self) -> Any:
        more = (self._values,) if self._values else ()
        return add_members, (self._kind, self._kind.__module__, self._members, *more)


def add_members(kind: Any, module: str, members: dict[str, dict[str, Any]], values: Any = ()) -> str:
    """Give the members of an enumeration their attributes, and further values."""
    for value, name in values:
        kind._value2member_map_[value] = kind.__members__[name]
    for name, state in members.items():
        vars(kind.__members__[name]).update(state)
    return module


def _like(value: Any) -> Any:
    """What stands for an attribute until it is loaded: an empty container of its type, or None."""
    return type(value)() if type(value) in (dict, list, set) else None


class Methods:
    """Stands in a stream for the name of the module of a class, and gives the class its methods when it is loaded."""

    def __init__(self, kind: type, methods: dict[str, Any]) -> None:
        self._kind = kind
        self._methods = methods

    def __reduce__(self) -> Any:
        return add_methods, (self._kind, self._kind.__module__, self._methods)


def add_methods(kind: type, module: str, methods: dict[str, Any]) -> str:
    """Give a class its methods, and its other attributes their places among them."""
    for name, value in methods.items():
        if isinstance(value, METHODS) or name not in vars(kind):  # its metaclass may have given it what it needs
            type.__setattr__(kind, name, value)
    return module
