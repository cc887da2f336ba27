"""Registers of libraries: what cells have put into them is kept, by rules on what is theirs."""

import codecs
import collections.abc
import functools
import gc
import operator
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FunctionType, GenericAlias, MethodType
from typing import Any, ClassVar

from ...dict_contents import DictContents, is_alone
from ..objects import weak_references
from ..objects.classes import is_of_users, is_one_of
from . import data_registers, service_registers
from .library_functions import space_of

PREFIXES = frozenset({"xml", "html", "rdf", "wsdl", "xs", "xsi", "dc"})
"""Those that Python knows of namespaces of XML."""


def is_of_cell(value: Any) -> bool:
    """Whether a class, a function or an object's class is a cell's, or of a module or namespace that a cell made.

    An object is asked nothing that its class has written, but for a `__module__` that this computes.
    """
    kind = type(value)
    of_type = type if issubclass(kind, type) else object
    try:
        if is_one_of(kind, (MethodType, GenericAlias, *weak_references.PROXIES)):
            return is_of_cell(_behind(kind, value))
        home = of_type.__getattribute__(value, "__module__")
    except (AttributeError, ReferenceError):
        return False
    if type(home) is not str or not is_of_users(home):
        return False
    # Compiled libraries give classes the names of modules that there are not.
    space = space_of(value if of_type is type else kind)
    return home in sys.modules or kind is FunctionType or space.keys() >= OF_PYTHON


def _behind(kind: Any, value: Any) -> Any:
    """The function of a method, the class of which there is a generic one, and what a weak proxy stands for."""
    if is_one_of(kind, weak_references.PROXIES):
        return weak_references.referent_of(value)
    return value.__func__ if kind is MethodType else value.__origin__


OF_PYTHON = frozenset({"__dict__", "__weakref__"})
"""What classes have that Python code made without a base of its own."""


def _virtual_subclasses() -> Any:
    """Classes of cells that were registered with abstract classes of Python's own."""
    library: Any = sys.modules["_abc"]
    if library.get_cache_token() == _Registered.none_until:
        return None
    token = library.get_cache_token()
    abstract = {f"collections.abc:{name}": getattr(collections.abc, name) for name in collections.abc.__all__}
    numbers = sys.modules.get("numbers")
    abstract |= {f"numbers:{name}": getattr(numbers, name) for name in getattr(numbers, "__all__", ())}
    known: dict[str, list[Any]] = {}
    for name, one in abstract.items():
        if "_abc_impl" in vars(one):
            kinds = [kind() for kind in library._get_dump(one)[0]]
            if mine := [kind for kind in kinds if kind is not None and is_of_cell(kind)]:
                known[name] = mine
    _Registered.none_until = None if known else token
    return known or None


class _Registered:
    none_until: object = None
    """How often any classes had been registered when none of a cell was found: until it is more, there is none."""
    colormaps: frozenset[str] = frozenset()
    """The names of colormaps there were when none of a cell was found."""
    colors: ClassVar[dict[str, Any]] = {}
    """The names of colors that are not as matplotlib has them."""
    formats = 0
    """How many entries for formats of images there were when none of a cell was found."""


def _register_again(before: Any) -> None:
    import importlib

    for place, kinds in before.items():
        module, _, name = place.partition(":")
        for kind in kinds:
            getattr(importlib.import_module(module), name).register(kind)


class _Untouched:
    """Registers that were looked through: what was found is not looked for again while they are the same."""

    known: ClassVar[dict[tuple[str, str], tuple[DictContents, list[Any]]]] = {}
    """What was in each of them, which is held."""

    @classmethod
    def has(cls, module: str, place: str, register: Any) -> bool:
        """Whether a register is one of them."""
        contents, _ = cls.known.get((module, place), (None, None))
        return contents is not None and contents.space is register and contents.is_same() and is_alone()

    lists: ClassVar[dict[str, list[Any]]] = {}
    """What was in other places."""

    @classmethod
    def are(cls, name: str, items: list[Any]) -> bool:
        """Whether these are the items of a place that were looked through."""
        known = cls.lists.get(name, [])
        return len(known) == len(items) and all(map(operator.is_, known, items))

    @classmethod
    def add(cls, module: str, place: str, register: Any) -> None:
        """Note that a register was looked through, and nothing was found, or that was noted."""
        if is_alone():
            contents = DictContents(register)
            contents.remember()
            cls.known[module, place] = contents, list(register.items())


def _of_cells(module: str, place: str) -> list[tuple[Any, Any]]:
    """The entries of a register that are a cell's."""
    register = _register(module, place)
    if _Untouched.has(module, place, register):
        return []
    is_ones = OF_NOBODY_ELSE.get(module, _is_entry_of_cell)
    mine = [(key, value) for key, value in register.items() if is_ones(key, value)]
    if not mine:
        _Untouched.add(module, place, register)
    return mine


def without_those_of_cells(name: str, items: list[Any], is_one: Callable[[Any], bool] = is_of_cell) -> bool:
    """Whether no item of a place in a library is a cell's.

    Args:
        name: What the place is known by.
        items: What is there; it is held if it is so.
        is_one: Tells what is a cell's.
    """
    if _Untouched.are(name, items):
        return True
    if none := not any(map(is_one, items)):
        _Untouched.lists[name] = items
    return none


def _reducers() -> Any:
    return _of_cells("copyreg", "dispatch_table") or None


def _set_reducers(before: Any) -> None:
    sys.modules["copyreg"].dispatch_table.update(before)


def _prefixes() -> Any:
    known = sys.modules["xml.etree.ElementTree"]._namespace_map
    return {uri: prefix for uri, prefix in known.items() if prefix not in PREFIXES} or None


def _set_prefixes(before: Any) -> None:
    for uri, prefix in before.items():
        sys.modules["xml.etree.ElementTree"].register_namespace(prefix, uri)


def _dtypes() -> Any:
    kinds = list(sys.modules["pandas.core.dtypes.base"]._registry.dtypes)
    return None if without_those_of_cells("dtypes", kinds) else [kind for kind in kinds if is_of_cell(kind)]


def _set_dtypes(before: Any) -> None:
    library: Any = sys.modules["pandas.core.dtypes.base"]
    for kind in before:
        if kind not in library._registry.dtypes:
            library.register_extension_dtype(kind)


OF_YAML = ("yaml_constructors", "yaml_multi_constructors", "yaml_representers", "yaml_multi_representers")
REGISTERS = (
    ("sqlite3", "adapters"),
    ("sqlite3", "converters"),
    ("shutil", "_ARCHIVE_FORMATS"),
    ("shutil", "_UNPACK_FORMATS"),
    ("matplotlib.units", "registry"),
    ("matplotlib.projections", "projection_registry._all_projection_types"),
    *((f"yaml.{module}", f"{kind}.{name}")
      for module, kinds in (("loader", ("Loader", "FullLoader", "SafeLoader", "UnsafeLoader")),
                            ("dumper", ("Dumper", "SafeDumper")))
      for kind in kinds for name in OF_YAML),
    *data_registers.REGISTERS,
)  # fmt: skip
"""Dictionaries of libraries into which programs put functions and classes of their own: module and place."""


def _register(module: str, place: str) -> Any:
    return operator.attrgetter(place)(sys.modules[module])


def _entries() -> Any:
    """What cells have put into registers of libraries."""
    found: dict[tuple[str, str], list[Any]] = {}
    for module, place in REGISTERS:
        if module in sys.modules:
            with suppress(AttributeError):
                if mine := _of_cells(module, place):
                    found[module, place] = mine
    return found or None


def _is_entry_of_cell(key: Any, value: Any) -> bool:
    within = (*(key if type(key) is tuple else ()), *(value if issubclass(type(value), tuple) else ()))
    # A method that a class of a cell has from a library is the library's, and bound to the class.
    bound = [one.__self__ for one in (value, *within) if type(one) is MethodType]
    return any(map(is_of_cell, (key, value, *within, *bound)))


def _is_of_nobody_else(key: Any, value: Any) -> bool:
    """Whether an entry for sqlite is none of those that libraries make, which are functions within functions of theirs.

    Programs give it functions of others: `register_adapter(np.int64, int)`, `register_converter("json", json.loads)`.
    """
    of_library = type(value) is FunctionType and "<locals>" in value.__qualname__
    return not of_library or _is_entry_of_cell(key, value)


OF_SHUTIL = frozenset({"tar", "gztar", "bztar", "xztar", "zstdtar", "zip"})
OF_NOBODY_ELSE: dict[str, Callable[[Any, Any], bool]] = {
    "sqlite3": _is_of_nobody_else,
    "shutil": lambda name, _value: name not in OF_SHUTIL,
}
"""Registers of which it is known what is in them without a cell: what else is there is kept, whosever it is."""


def _set_entries(before: Any) -> None:
    import importlib

    for (module, place), mine in before.items():
        importlib.import_module(module)
        owner, _, name = place.rpartition(".")
        holder = _register(module, owner) if owner else sys.modules[module]
        if owner and name not in vars(holder):  # yaml gives a class a register of its own with its first entry
            setattr(holder, name, dict(getattr(holder, name)))
        getattr(holder, name).update(mine)


def _colormaps() -> Any:
    known, seaborn = sys.modules["matplotlib"].colormaps, sys.modules.get("seaborn.cm")
    if known._cmaps.keys() == _Registered.colormaps:
        return None
    names = [name for name in known if name not in known._builtin_cmaps]
    mine = {name: known[name] for name in names if not hasattr(seaborn, name.removesuffix("_r"))}
    if not mine:
        _Registered.colormaps = frozenset(known._cmaps)
    return mine or None


def _set_colormaps(before: Any) -> None:
    for name, one in before.items():
        sys.modules["matplotlib"].colormaps.register(one, name=name, force=True)


def _colors() -> Any:
    known = sys.modules["matplotlib.colors"].get_named_colors_mapping()
    if not _Untouched.has(*COLORS, known):
        usual = _usual_colors()
        _Registered.colors = {name: one for name, one in known.items() if usual.get(name) != one}
        _Untouched.add(*COLORS, known)
    return _Registered.colors or None


COLORS = "matplotlib.colors", "the names of colors"


@functools.cache
def _usual_colors() -> dict[str, Any]:
    """The colors that matplotlib has by name: those with `gray` it has with `grey`, too."""
    library: Any = sys.modules["matplotlib.colors"]
    usual = {**library.XKCD_COLORS, **library.CSS4_COLORS, **library.TABLEAU_COLORS, **library.BASE_COLORS}
    for one, other in (("gray", "grey"), ("grey", "gray")):
        usual = {name.replace(one, other): color for name, color in usual.items()} | usual
    return usual


def _set_colors(before: Any) -> None:
    known = sys.modules["matplotlib.colors"].get_named_colors_mapping()
    for name, one in before.items():  # `update` would leave what it has looked up as it was
        known[name] = one


def _scales() -> Any:
    kinds = list(sys.modules["matplotlib.scale"]._scale_mapping.values())
    return None if without_those_of_cells("scales", kinds) else [kind for kind in kinds if is_of_cell(kind)]


def _set_scales(before: Any) -> None:
    for kind in before:
        sys.modules["matplotlib.scale"].register_scale(kind)


def _formats() -> Any:
    """Formats of images that cells have taught PIL, with what is known of each, and ends of names of files."""
    library: Any = sys.modules["PIL.Image"]
    tables = {name: getattr(library, name) for name in OF_FORMATS}
    size = sum(map(len, (*tables.values(), library.EXTENSION)))
    if size == _Registered.formats:
        return None
    mine = {name for table in tables.values() for name, one in table.items() if _is_entry_of_cell(None, one)}
    ends = {
        end: name
        for end, name in library.EXTENSION.items()
        if name in mine or end not in _source(library.OPEN.get(name, [None])[0] or library.SAVE.get(name))
    }
    if not mine and not ends:
        _Registered.formats = size
        return None
    kept = {name: {key: one for key, one in table.items() if key in mine} for name, table in tables.items()}
    return (
        kept,
        [name for name in library.ID if name in mine],
        ends,
    )


def _source(handler: Any) -> str:
    """The source of the module that has taught PIL a format: there stand the ends of names that it knows."""
    path = getattr(sys.modules.get(getattr(handler, "__module__", "")), "__file__", None)
    return _text(path) if isinstance(path, str) else ""


@functools.lru_cache(maxsize=100)
def _text(path: str) -> str:
    with suppress(OSError), open(path, encoding="utf-8", errors="replace") as source:
        return source.read()
    return ""


OF_FORMATS = ("OPEN", "SAVE", "SAVE_ALL", "MIME", "DECODERS", "ENCODERS")


def _set_formats(before: Any) -> None:
    library: Any = sys.modules["PIL.Image"]
    library.preinit()
    tables, names, extensions = before
    for name, table in tables.items():
        getattr(library, name).update(table)
    library.ID.extend(name for name in names if name not in library.ID)
    library.EXTENSION.update(extensions)


def _overloads() -> Any:
    known = sys.modules["typing"]._overload_registry.get("__main__")
    return {name: dict(lines) for name, lines in known.items()} if known else None


def _set_overloads(before: Any) -> None:
    known = sys.modules["typing"]._overload_registry["__main__"]
    for name, lines in before.items():
        known[name].update(lines)


def _patches() -> Any:
    return list(sys.modules["unittest.mock"]._patch._active_patches) or None


def _set_patches(before: Any) -> None:
    sys.modules["unittest.mock"]._patch._active_patches[:] = before


def _models() -> Any:
    known = sys.modules["pydantic._internal._generics"]._GENERIC_TYPES_CACHE
    return [(key, kind) for key, kind in known.items() if is_of_cell(kind)] or None


def _set_models(before: Any) -> None:
    for key, kind in before:
        sys.modules["pydantic._internal._generics"]._GENERIC_TYPES_CACHE[key] = kind


def _extensions() -> Any:
    return dict(sys.modules["copyreg"]._extension_registry) or None


def _set_extensions(before: Any) -> None:
    for (module, name), code in before.items():
        sys.modules["copyreg"].add_extension(module, name, code)


def _domains() -> Any:
    library: Any = sys.modules["gettext"]
    found = library._current_domain, dict(library._localedirs)
    return None if found == ("messages", {}) else found


def _set_domains(before: Any) -> None:
    library: Any = sys.modules["gettext"]
    domain, folders = before
    for name, folder in folders.items():
        library.bindtextdomain(name, folder)
    library.textdomain(domain)


def _zone_files() -> Any:
    library: Any = sys.modules["zoneinfo._tzpath"]
    return None if _usual_zone_files() == library.TZPATH else library.TZPATH


@functools.cache
def _usual_zone_files() -> Any:
    """Where time zones are looked for when nobody has said anything."""
    import sysconfig

    told = os.environ.get("PYTHONTZPATH", sysconfig.get_config_var("TZPATH"))
    return tuple(filter(os.path.isabs, str(told or "").split(os.pathsep)))


def _set_zone_files(before: Any) -> None:
    sys.modules["zoneinfo"].reset_tzpath(before)


@functools.cache
def _search_path() -> Any:
    """Python's own list of the functions that look for codecs, which only the collector of garbage knows.

    It is looked for before this process is forked, when there is little to go through.
    """
    import encodings

    known = [one for one in gc.get_referrers(encodings.search_function) if type(one) is list]
    return (known[0], len(known[0])) if len(known) == 1 else ([], 0)


def _codecs() -> Any:
    functions, before = _search_path()
    return [one for one in functions[before:] if is_of_cell(getattr(one, "func", one))] or None


def _set_codecs(before: Any) -> None:
    for function in before:
        codecs.unregister(function)  # a module that was imported again may have put it there, before others
        codecs.register(function)


_search_path()


def _set_instead(before: Any) -> None:
    sys.modules.update(before)


INSTEAD = "objects instead of modules"
"""Where `import` looks; which they are is known without looking through all modules."""

KEPT: dict[str, tuple[str, Callable[[], Any], Callable[[Any], Any]]] = {
    "virtual subclasses": ("_abc", _virtual_subclasses, _register_again),
    "reducers of copyreg": ("copyreg", _reducers, _set_reducers),
    "prefixes of XML namespaces": ("xml.etree.ElementTree", _prefixes, _set_prefixes),
    "registers of libraries": ("sys", _entries, _set_entries),
    "colormaps of matplotlib": ("matplotlib.cm", _colormaps, _set_colormaps),
    "colors of matplotlib": ("matplotlib.colors", _colors, _set_colors),
    "scales of matplotlib": ("matplotlib.scale", _scales, _set_scales),
    "formats of images": ("PIL.Image", _formats, _set_formats),
    "dtypes of pandas": ("pandas.core.dtypes.base", _dtypes, _set_dtypes),
    "overloads": ("typing", _overloads, _set_overloads),
    "patches of unittest.mock": ("unittest.mock", _patches, _set_patches),
    "generic models of pydantic": ("pydantic._internal._generics", _models, _set_models),
    "extensions of copyreg": ("copyreg", _extensions, _set_extensions),
    "domains of gettext": ("gettext", _domains, _set_domains),
    "codecs": ("codecs", _codecs, _set_codecs),
    INSTEAD: ("sys", lambda: None, _set_instead),  # of earlier snapshots, all in one; now each has its name behind it
    "folders of time zones": ("zoneinfo._tzpath", _zone_files, _set_zone_files),
    **data_registers.OF_LIBRARIES,
    **service_registers.OF_SERVICES,
}
"""Name → the module that must be loaded, how it is read (None: nothing of a cell is in it), how it is put back."""
