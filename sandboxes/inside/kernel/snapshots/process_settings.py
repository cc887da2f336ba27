"""Settings of the interpreter and of Python's own library that cells may change: only what differs is kept."""

import collections.abc
import gc
import operator
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FunctionType
from typing import Any

from ..own_library import KERNEL
from . import library_registers
from .classes import is_users
from .memory import is_collecting
from .singletons import found, portable_path

DIALECTS = frozenset({"excel", "excel-tab", "unix"})
LEVELS = {0: "NOTSET", 10: "DEBUG", 20: "INFO", 30: "WARNING", 40: "ERROR", 50: "CRITICAL"}
PREFIXES = frozenset({"xml", "html", "rdf", "wsdl", "xs", "xsi", "dc"})
"""Those that Python knows of namespaces of XML."""
CONTEXT = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")
DEFAULT_CONTEXT = (28, "ROUND_HALF_EVEN", -999999, 999999, 1, 0)
"""The values of `decimal.DefaultContext`, as the documentation has them."""


class StartSettings:
    """What there was when the session began."""

    def __init__(self) -> None:
        self.values = {name: read() for name, (module, read, _) in SIMPLE.items() if module in sys.modules}
        self.handlers = _handlers()


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _garbage() -> Any:
    return is_collecting(), gc.get_threshold()


def _set_garbage(before: Any) -> None:
    (gc.enable if before[0] else gc.disable)()
    gc.set_threshold(*before[1])


def _no_bytecode(before: bool) -> None:
    sys.dont_write_bytecode = before


def _locale() -> str:
    library: Any = sys.modules["_locale"]
    return str(library.setlocale(library.LC_ALL, None))


def _set_locale(before: str) -> None:
    library: Any = sys.modules["_locale"]
    library.setlocale(library.LC_ALL, before)


SIMPLE: dict[str, tuple[str, Callable[[], Any], Callable[[Any], Any]]] = {
    "umask": ("os", _umask, os.umask),
    "garbage collection": ("gc", _garbage, _set_garbage),
    "switch interval": ("sys", sys.getswitchinterval, sys.setswitchinterval),
    "digits of integers": ("sys", sys.get_int_max_str_digits, sys.set_int_max_str_digits),
    "dont_write_bytecode": ("sys", lambda: sys.dont_write_bytecode, _no_bytecode),
    "locale": ("_locale", _locale, _set_locale),
}
"""What is compared with the start of the session: name → module, how it is read, and how it is put back."""


SIGNALS = tuple(
    int(number) for number in signal.valid_signals() if number < signal.SIGRTMIN and number != signal.SIGINT
)


def _handlers() -> dict[int, Any]:
    """Handlers of signals, as far as Python knows them; that of SIGINT is the session's."""
    known = {number: signal.getsignal(number) for number in SIGNALS}
    return {number: handler for number, handler in known.items() if handler is not None}


def _calendar() -> Any:
    return sys.modules["calendar"].firstweekday() or None


def _set_calendar(before: Any) -> None:
    sys.modules["calendar"].setfirstweekday(before)


def _timeout() -> Any:
    return sys.modules["socket"].getdefaulttimeout()


def _set_timeout(before: Any) -> None:
    sys.modules["socket"].setdefaulttimeout(before)


def _types() -> Any:
    library: Any = sys.modules["mimetypes"]
    if library._db is None:
        return None
    usual = library._types_map_default
    return {end: kind for end, kind in library._db.types_map[True].items() if usual.get(end) != kind} or None


def _set_types(before: Any) -> None:
    for end, kind in before.items():
        sys.modules["mimetypes"].add_type(kind, end)


def _csv() -> Any:
    library: Any = sys.modules["csv"]
    limit = library.field_size_limit()
    names = ("delimiter", "doublequote", "escapechar", "lineterminator", "quotechar", "quoting", "skipinitialspace")
    dialects = {
        one: {name: getattr(library.get_dialect(one), name) for name in names}
        for one in library.list_dialects()
        if one not in DIALECTS
    }
    return None if limit == 131_072 and not dialects else (limit, dialects)


def _set_csv(before: Any) -> None:
    sys.modules["csv"].field_size_limit(before[0])
    for name, settings in before[1].items():
        sys.modules["csv"].register_dialect(name, **settings)


def _tempdir() -> Any:
    folder = sys.modules["tempfile"].tempdir
    same = folder is None or os.path.realpath(folder) == os.path.realpath(os.environ.get("TMPDIR", ""))
    return None if same else portable_path(folder)


def _set_tempdir(before: Any) -> None:
    library: Any = sys.modules["tempfile"]
    library.tempdir = found(before)


def _context() -> Any:
    default = sys.modules["decimal"].DefaultContext
    values = tuple(getattr(default, name) for name in CONTEXT)
    return None if values == DEFAULT_CONTEXT else values


def _set_context(before: Any) -> None:
    for name, value in zip(CONTEXT, before, strict=True):
        setattr(sys.modules["decimal"].DefaultContext, name, value)


def _logging() -> Any:
    library: Any = sys.modules["logging"]
    known = {"": library.root, **library.root.manager.loggerDict}
    filters = {
        name: mine
        for name, one in known.items()
        if (mine := [each for each in getattr(one, "filters", ()) if not _is_of_library(each, name)])
    }
    disabled = [name for name, one in known.items() if getattr(one, "disabled", False)]
    names = {level: name for level, name in library._levelToName.items() if LEVELS.get(level) != name}
    factory = library.getLogRecordFactory()
    if not (filters or disabled or names or factory is not library.LogRecord):
        return None
    return filters, disabled, names, factory


def _set_logging(before: Any) -> None:
    library: Any = sys.modules["logging"]
    filters, disabled, names, factory = before
    for name, kept in filters.items():
        logger = library.getLogger(name or None)
        logger.filters[:] = [each for each in logger.filters if _is_of_library(each, name)] + kept
    for name in disabled:
        library.getLogger(name or None).disabled = True
    for level, name in names.items():
        library.addLevelName(level, name)
    library.setLogRecordFactory(factory)


def _is_of_library(value: Any, logger: str) -> bool:
    """Whether the filter of a logger is the kernel's, or its library's own, which puts it there when it is imported."""
    kind = value if hasattr(value, "__globals__") else type(value)
    home = str(kind.__module__).split(".")[0]
    return home == KERNEL or (bool(logger) and home == logger.split(".")[0] and not is_users(kind))


def _captures_warnings() -> Any:
    return sys.modules["logging"]._warnings_showwarning is not None or None


def _capture_warnings(before: bool) -> None:
    sys.modules["logging"].captureWarnings(before)


def _is_of_cell(value: Any) -> bool:
    """Whether a class, a function or an object's class is a cell's, or of a module or namespace that a cell made."""
    home = getattr(value, "__module__", None)
    if not isinstance(home, str) or not is_users(value):
        return False
    # Compiled libraries give classes the names of modules that there are not.
    kind = value if isinstance(value, type) else type(value)
    return home in sys.modules or kind is FunctionType or vars(kind).keys() >= OF_PYTHON


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
            if mine := [kind for kind in kinds if kind is not None and _is_of_cell(kind)]:
                known[name] = mine
    _Registered.none_until = None if known else token
    return known or None


class _Registered:
    none_until: object = None
    """How often any classes had been registered when none of a cell was found: until it is more, there is none."""


def _register_again(before: Any) -> None:
    import importlib

    for place, kinds in before.items():
        module, _, name = place.partition(":")
        for kind in kinds:
            getattr(importlib.import_module(module), name).register(kind)


def _reducers() -> Any:
    table = sys.modules["copyreg"].dispatch_table
    return [(kind, one) for kind, one in table.items() if _is_of_cell(kind) or _is_of_cell(one)] or None


def _set_reducers(before: Any) -> None:
    sys.modules["copyreg"].dispatch_table.update(before)


def _prefixes() -> Any:
    known = sys.modules["xml.etree.ElementTree"]._namespace_map
    return {uri: prefix for uri, prefix in known.items() if prefix not in PREFIXES} or None


def _set_prefixes(before: Any) -> None:
    for uri, prefix in before.items():
        sys.modules["xml.etree.ElementTree"].register_namespace(prefix, uri)


def _dtypes() -> Any:
    return [kind for kind in sys.modules["pandas.core.dtypes.base"]._registry.dtypes if _is_of_cell(kind)] or None


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
    *((f"yaml.{module}", f"{kind}.{name}")
      for module, kinds in (("loader", ("Loader", "FullLoader", "SafeLoader", "UnsafeLoader")),
                            ("dumper", ("Dumper", "SafeDumper")))
      for kind in kinds for name in OF_YAML),
    *library_registers.REGISTERS,
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
                known = _register(module, place).items()
                if mine := [(key, value) for key, value in known if _is_entry_of_cell(key, value)]:
                    found[module, place] = mine
    return found or None


def _is_entry_of_cell(key: Any, value: Any) -> bool:
    return any(map(_is_of_cell, (key, value, *(value if isinstance(value, tuple) else ()))))


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
    built_in = set(known._builtin_cmaps)
    names = [name for name in known._cmaps if name not in built_in]
    mine = {name: known[name] for name in names if not hasattr(seaborn, name.removesuffix("_r"))}
    return mine or None


def _set_colormaps(before: Any) -> None:
    for name, one in before.items():
        sys.modules["matplotlib"].colormaps.register(one, name=name, force=True)


OF_MODULES: dict[str, tuple[str, Callable[[], Any], Callable[[Any], Any]]] = {
    "first weekday": ("calendar", _calendar, _set_calendar),
    "time-out of sockets": ("socket", _timeout, _set_timeout),
    "MIME types": ("mimetypes", _types, _set_types),
    "csv": ("csv", _csv, _set_csv),
    "folder for temporary files": ("tempfile", _tempdir, _set_tempdir),
    "decimal's default context": ("decimal", _context, _set_context),
    "logging": ("logging", _logging, _set_logging),
    "warnings in the log": ("logging", _captures_warnings, _capture_warnings),
    "virtual subclasses": ("_abc", _virtual_subclasses, _register_again),
    "reducers of copyreg": ("copyreg", _reducers, _set_reducers),
    "prefixes of XML namespaces": ("xml.etree.ElementTree", _prefixes, _set_prefixes),
    "registers of libraries": ("sys", _entries, _set_entries),
    "colormaps of matplotlib": ("matplotlib.cm", _colormaps, _set_colormaps),
    "dtypes of pandas": ("pandas.core.dtypes.base", _dtypes, _set_dtypes),
    **library_registers.OF_LIBRARIES,
}
"""What is read as None as long as it is as Python has it."""


def capture(start: StartSettings) -> dict[str, Any]:
    """What differs now. A library whose internals have changed is left out."""
    kept: dict[str, Any] = {}
    for name, (module, read, _) in (SIMPLE | OF_MODULES).items():
        if module not in sys.modules:
            continue
        try:
            value = read()
        except Exception:  # it reads private parts of libraries
            continue
        if value is not None and start.values.get(name) != value:
            kept[name] = value
    handlers = {number: one for number, one in _handlers().items() if start.handlers.get(number) is not one}
    return kept | ({"handlers of signals": handlers} if handlers else {})


def restore(name: str, value: Any) -> bool:
    """Put one of them back.

    Returns:
        Whether it is one of them.
    """
    if name == "handlers of signals":
        for number, handler in value.items():
            signal.signal(number, handler)
        return True
    known = (SIMPLE | OF_MODULES).get(name)
    if known is None:
        return False
    if known[0] not in sys.modules:
        __import__(known[0])
    known[2](value)
    return True
