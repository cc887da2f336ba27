"""Loads a vendored cloudpickle under a private name, so that user code cannot import it unless it is installed."""

import enum
import importlib
import importlib.util
import os
import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any

NAME = "stepwell_kernel.cloudpickle"
COMPLETE, SIGNATURE = "__pydantic_complete__", "__signature__"
"""What a model of pydantic has: whether all that its fields name is there, and from then on its signature."""


class CloudpickleLocation:
    """Where the host says that its own copy is."""

    path = ""
    workspace = ""


def cloudpickle() -> Any:
    """The module; loaded when it is first asked for.

    Raises:
        ImportError: neither this Python nor the host has one.
    """
    loaded = sys.modules.get(NAME)
    if loaded is not None:
        return loaded
    path = next((path for path in _places() if os.path.isfile(path)), None)
    if path is None:
        raise ImportError("cloudpickle is not installed")
    spec = importlib.util.spec_from_file_location(NAME, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[NAME]
        raise
    vars(module)["_DYNAMIC_CLASS_TRACKER_BY_CLASS"] = _ByIdentity()
    _keep_slots(module)
    _make_without_hooks(module)
    _set_without_hooks(module)
    _keep_members(module)
    _find_modules_not_loaded(module)
    _find_modules_by_variables(module)
    return module


class _ByIdentity:
    """Values for classes, whatever a metaclass of a cell says of their hashes and which of them are equal."""

    def __init__(self) -> None:
        self._values: dict[int, tuple[Any, Any]] = {}

    def get(self, kind: type) -> Any:
        """The value of a class, or None."""
        return self._values.get(id(kind), (None, None))[1]

    def __setitem__(self, kind: type, value: Any) -> None:
        identity = id(kind)
        self._values[identity] = weakref.ref(kind, lambda _: self._values.pop(identity, None)), value


def _find_modules_not_loaded(module: Any) -> None:
    """Let what says that it is of a library's module go by its name, though nobody has imported that module yet.

    `numpy.recarray` says that it is of `numpy.rec`, which numpy loads when it is first asked for. By value it would
    come back as another class.
    """
    from .current_session import is_of_session

    usual: Any = module._lookup_module_and_qualname
    tried: set[str] = set()

    def lookup(value: Any, name: str | None = None) -> Any:
        home = getattr(value, "__module__", None)
        if isinstance(home, str) and "." in home and home not in sys.modules and home not in tried:
            tried.add(home)
            package = getattr(sys.modules.get(home.partition(".")[0]), "__file__", None)
            if package and not is_of_session(package):
                with suppress(Exception):  # then it is not of that module
                    importlib.import_module(home)
        return usual(value, name)

    module._lookup_module_and_qualname = lookup


def _find_modules_by_variables(module: Any) -> None:
    """Look for what does not say where it is, as functions of `exec`, among the variables of modules.

    cloudpickle asks each module for an attribute, and most answer by an error, which takes ten times as long.
    """

    def which(value: Any, name: str) -> Any:
        home = getattr(value, "__module__", None)
        if home is not None:
            return home
        first, *rest = name.split(".")
        for known, one in list(sys.modules.items()):
            if known in ("__main__", "__mp_main__") or not issubclass(type(one), ModuleType):
                continue
            found = ModuleType.__getattribute__(one, "__dict__").get(first)
            if found is not None and (_within(found, rest) if rest else found) is value:
                return known
        return None

    module._whichmodule = which


def _within(kind: Any, names: list[str]) -> Any:
    """What classes within each other have; None where there is none, or where what has the name is no class."""
    with suppress(Exception):  # of a metaclass
        for name in names:
            kind = getattr(kind, name) if issubclass(type(kind), type) else None
        return kind
    return None


OF_MAKING = frozenset({"_hashable_values_", "_unhashable_values_", "_unhashable_values_map_"})
"""What making an enumeration gives it, from Python 3.12 on, with the very values that its members have."""


def _keep_members(module: Any) -> None:
    """Let an enumeration be made with its aliases, and its members with their attributes, without code of theirs."""
    from .objects.classes import (
        arguments_of_members,
        is_simple_enum,
        make_enum,
        members_first,
        metaclass_of,
        without_hook,
    )

    usual: Any = module._make_skeleton_enum
    arguments_of: Any = module._enum_getnewargs
    state_of: Any = module._enum_getstate

    def with_aliases(kind: Any) -> Any:
        bases, name, qualname, _, home, identity, _ = arguments_of(kind)
        values = {alias: one.value for alias, one in kind.__members__.items()}
        return bases, name, qualname, values, home, identity, arguments_of_members(kind) | metaclass_of(kind) or None

    def with_members(kind: Any) -> Any:
        state, slots = state_of(kind)
        kept = {name: state[name] for name in state if name not in kind.__members__ and name not in OF_MAKING}
        return members_first(kind, kept), slots

    def make(bases: Any, name: str, qualname: str, values: Any, home: str, identity: Any, extra: Any) -> Any:
        with without_hook(bases):
            if not extra and is_simple_enum(values):
                return usual(bases, name, qualname, values, home, identity, extra)
            kind = make_enum(bases, name, values, extra or {})
        kind.__module__, kind.__qualname__ = home, qualname
        return module._lookup_class_or_track(identity, kind)

    make.__module__, make.__name__, make.__qualname__ = module.__name__, "_make_skeleton_enum", "_make_skeleton_enum"
    module._make_skeleton_enum = make
    module._enum_getnewargs, module._enum_getstate = with_aliases, with_members


def _set_without_hooks(module: Any) -> None:
    """Let a class be filled without the `__setattr__` of its metaclass, and without asking who is of it."""
    from .objects.classes import is_users, without_questions
    from .objects.ctypes_data import FIELDS, is_data_type

    usual: Any = module._class_setstate

    def fill(kind: Any, state: Any) -> Any:
        attributes, slots = state
        if attributes.get(COMPLETE) is False and SIGNATURE not in attributes and SIGNATURE in vars(kind):
            type.__delattr__(kind, SIGNATURE)
        registered = attributes.get("_abc_impl")
        if registered is not None:
            attributes = {name: value for name, value in attributes.items() if name != "_abc_impl"}
        if is_data_type(kind) and FIELDS in vars(kind):  # it was loaded with other variables, and its fields are final
            attributes = {name: value for name, value in attributes.items() if name != FIELDS}
        if is_users(next(one for one in type(kind).__mro__ if "__setattr__" in vars(one))):
            for name, value in attributes.items():
                type.__setattr__(kind, name, value)
        else:
            usual(kind, (attributes, slots))
        if registered:
            with without_questions(kind, *registered):
                usual(kind, ({"_abc_impl": registered}, slots))
        return kind

    fill.__module__, fill.__name__, fill.__qualname__ = module.__name__, "_class_setstate", "_class_setstate"
    module._class_setstate = fill


def _make_without_hooks(module: Any) -> None:
    """Let a class be made without the hooks of its bases and of its metaclass."""
    from .objects.classes import make_class

    def make(metaclass: Any, name: str, bases: Any, content: Any, identity: Any, extra: Any) -> Any:
        return module._lookup_class_or_track(identity, make_class(metaclass, name, bases, content))

    # A stream has it by this name, which is cloudpickle's own.
    make.__module__, make.__name__, make.__qualname__ = module.__name__, "_make_skeleton_class", "_make_skeleton_class"
    module._make_skeleton_class = make


OF_OBJECTS = ("__class__", "__name__", "__bases__", "__base__", "__mro__")
"""What a class may have for its objects and has another of for itself."""


def _of_objects(kind: Any) -> dict[str, Any]:
    """What of this a class has; not what may want to know the class, which is not there yet."""
    found = {name: vars(kind)[name] for name in OF_OBJECTS if name in vars(kind)}
    known = () if isinstance(kind, enum.EnumMeta) else (property, str, int, float, tuple, type(None))
    return {name: one for name, one in found.items() if name == "__class__" or type(one) in known}


def _keep_slots(module: Any) -> None:
    """Let a class be made with its slots and its full name.

    cloudpickle leaves the name out, and sets slots on the finished class, where they have no effect.

    A slot `__a` of a class `C` is `_C__a` in it; cloudpickle takes out of its state only slots that keep their names.
    """
    from .objects.classes import as_defined, is_named_tuple, is_plain, is_users, methods_first, notes_on
    from .objects.ctypes_data import fields_last, is_data_type

    arguments_of: Any = module._class_getnewargs
    state_of: Any = module._class_getstate

    def with_slots(kind: Any) -> Any:
        constructor, name, bases, keywords, *rest = arguments_of(kind)
        if any(hasattr(type(base), "__mro_entries__") and is_users(type(base)) for base in bases):
            bases, keywords = kind.__bases__, {**keywords, "__orig_bases__": bases}
        if (hash_of := getattr(type(kind), "__hash__", None)) is not None and hash_of is not type.__hash__:
            keywords = {**keywords, **{key: one for key, one in vars(kind).items() if is_plain(key, one)}}
        if "__slots__" in kind.__dict__ and not is_named_tuple(kind):
            own = kind.__dict__["__slots__"]
            keywords = {**keywords, "__slots__": own if isinstance(own, str) else tuple(own)}
        # Once the class is there, these would be its own metaclass and name, instead of what its objects say.
        keywords = {**keywords, **_of_objects(kind)}
        if kind.__qualname__ != name:  # one within another class or a function
            keywords = {**keywords, "__qualname__": kind.__qualname__}
        return constructor, name, bases, {**keywords, **notes_on(kind)}, *rest

    def without(kind: Any) -> Any:
        state, slots = state_of(kind)
        for name in _of_objects(kind):
            state.pop(name, None)
        own = state.get("__slots__", ())
        for name in [own] if isinstance(own, str) else list(own):
            if name.startswith("__") and not name.endswith("__"):
                state.pop(f"_{kind.__name__.lstrip('_')}{name}", None)
        if (annotations := _lazy_annotations(kind)) is not None:
            state.pop("__annotations_cache__", None)
            state["__annotations__"] = annotations
        if is_data_type(kind):
            return fields_last(as_defined(kind, state)), slots
        return methods_first(kind, as_defined(kind, state)), slots

    module._class_getnewargs, module._class_getstate = with_slots, without


def _lazy_annotations(kind: Any) -> dict[str, Any] | None:
    """The annotations of a class that makes them when they are first read, as from Python 3.14 on.

    cloudpickle leaves out what makes them, so they have to be read now. Where that fails, as for a name that is not
    there yet, they are kept as texts.
    """
    if "__annotate_func__" not in kind.__dict__:
        return None
    try:
        return dict(kind.__annotations__)
    except Exception:  # they are the user's code
        try:
            library = importlib.import_module("annotationlib")
            return dict(library.get_annotations(kind, format=library.Format.STRING))
        except Exception:
            return None


def installed() -> list[str]:
    """The folders of packages; never the workspace."""
    inside = os.path.join(CloudpickleLocation.workspace, "") if CloudpickleLocation.workspace else ""
    return [folder for folder in sys.path if folder and not (inside and os.path.join(folder, "").startswith(inside))]


def _places() -> list[str]:
    """The host's copy, then what is installed."""
    return [
        CloudpickleLocation.path,
        *(os.path.join(folder, "cloudpickle", "cloudpickle.py") for folder in installed()),
    ]


@contextmanager
def nameless_classes() -> Iterator[None]:
    """Pickle and load classes of cells without the identities by which cloudpickle finds them again.

    They differ from process to process; and a class that is loaded only to be compared, or as it was at an earlier
    step, must not become the living one.
    """
    borrowed = cloudpickle()
    before = borrowed._get_or_create_tracker_id, borrowed._lookup_class_or_track
    borrowed._get_or_create_tracker_id = lambda kind: f"{kind.__module__}.{kind.__qualname__}"
    borrowed._lookup_class_or_track = lambda identity, kind: kind
    try:
        yield
    finally:
        borrowed._get_or_create_tracker_id, borrowed._lookup_class_or_track = before
