"""Settings of the interpreter and of Python's own library that cells may change: only what differs is kept."""

import gc
import os
import signal
import sys
import warnings
from collections.abc import Callable
from typing import Any

from ...own_library import KERNEL
from ..current_session import CurrentSession, path_here, portable_path
from ..library_state import registers
from ..library_state.registers import is_of_cell
from ..objects import contexts
from ..objects.classes import is_users
from ..storing.loaded_memory import is_collecting
from . import hooks
from .hooks import get_handler

LEVELS = {0: "NOTSET", 10: "DEBUG", 20: "INFO", 30: "WARNING", 40: "ERROR", 50: "CRITICAL"}
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
    return is_collecting(), gc.get_threshold(), gc.get_debug()


def _set_garbage(before: Any) -> None:
    (gc.enable if before[0] else gc.disable)()
    gc.set_threshold(*before[1])
    gc.set_debug(before[2] if len(before) > 2 else 0)  # earlier snapshots do not have it


def _no_bytecode(before: bool) -> None:
    sys.dont_write_bytecode = before


def _locale() -> str:
    library: Any = sys.modules["_locale"]
    return str(library.setlocale(library.LC_ALL, None))


def _set_locale(before: str) -> None:
    library: Any = sys.modules["_locale"]
    library.setlocale(library.LC_ALL, before)


SIMPLE: dict[str, tuple[str, Callable[[], Any], Callable[[Any], Any]]] = {
    **hooks.SIMPLE,
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
    known = {number: get_handler(number) for number in SIGNALS}
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


def _set_pools(before: Any) -> None:
    sys.modules["pyarrow"].set_cpu_count(before[0])
    sys.modules["pyarrow"].set_io_thread_count(before[1])


def _csv() -> Any:
    library: Any = sys.modules["csv"]
    limit = library.field_size_limit()
    names = ("delimiter", "doublequote", "escapechar", "lineterminator", "quotechar", "quoting", "skipinitialspace")
    usual = {"excel": library.excel, "excel-tab": library.excel_tab, "unix": library.unix_dialect}
    known = {one: {name: getattr(library.get_dialect(one), name) for name in names} for one in library.list_dialects()}
    dialects = {
        one: settings
        for one, settings in known.items()
        if one not in usual or any(getattr(usual[one], name) != value for name, value in settings.items())
    }
    gone = usual.keys() - known.keys()
    return None if limit == 131_072 and not dialects and not gone else (limit, dialects, gone)


def _set_csv(before: Any) -> None:
    sys.modules["csv"].field_size_limit(before[0])
    for name, settings in before[1].items():
        sys.modules["csv"].register_dialect(name, **settings)
    for name in before[2] if len(before) > 2 else ():  # earlier snapshots do not have it
        sys.modules["csv"].unregister_dialect(name)


def _tempdir() -> Any:
    folder, usual = sys.modules["tempfile"].tempdir, os.environ.get("TMPDIR", "")
    same = folder is None or folder == usual or os.path.realpath(folder) == os.path.realpath(usual)
    return None if same else portable_path(folder)


def _set_tempdir(before: Any) -> None:
    library: Any = sys.modules["tempfile"]
    library.tempdir = path_here(before)


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
        if (every := getattr(one, "filters", ()))
        and (mine := [each for each in every if not _is_of_library(each, name)])
    }
    disabled = [name for name, one in known.items() if getattr(one, "disabled", False)]
    names = {level: name for level, name in library._levelToName.items() if LEVELS.get(level) != name}
    factory = library.getLogRecordFactory()
    plain = library.Logger, library.RootLogger
    usual_names = vars(library.root).keys() | {"manager"}
    own = {
        name: {attribute: value for attribute, value in vars(one).items() if attribute not in usual_names}
        for name, one in known.items()
        if (not vars(one).keys() <= usual_names if type(one) in plain else is_of_cell(type(one)))
    }
    kinds = {name: (type(known[name]), more) for name, more in own.items()}
    usual, named = library.getLoggerClass(), _named_handlers(known.values())
    new = usual if is_of_cell(usual) else None
    if not (filters or disabled or names or factory is not library.LogRecord or kinds or new or named):
        return None
    return filters, disabled, names, factory, kinds, new, named


def _named_handlers(loggers: Any) -> list[Any]:
    """Handlers that are found by a name, as far as a logger has them."""
    known: Any = sys.modules["logging"]._handlers
    if not known:
        return []
    held = [one for logger in loggers for one in getattr(logger, "handlers", ())]
    return [one for one in held if known.get(one.get_name()) is one]


def _set_logging(before: Any) -> None:
    library: Any = sys.modules["logging"]
    filters, disabled, names, factory, *more = before  # earlier snapshots have no classes of loggers
    if more:
        for name, (kind, attributes) in more[0].items():
            logger = library.getLogger(name or None)
            logger.__class__ = kind
            vars(logger).update(attributes)
        if more[1] is not None:
            library.setLoggerClass(more[1])
        library._handlers.update({one.get_name(): one for one in more[2]})
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


OWN_WARNING = getattr(warnings, "_showwarnmsg_impl", None)


def _recording() -> Any:
    """What takes warnings in an open `catch_warnings(record=True)`: the `append` of its list."""
    now: Any = sys.modules["warnings"]._showwarnmsg_impl
    return None if now is OWN_WARNING else now


def _record(before: Any) -> None:
    library: Any = sys.modules["warnings"]
    library._showwarnmsg_impl, library.showwarning = before, library._showwarning_orig


def _captures_warnings() -> Any:
    return sys.modules["logging"]._warnings_showwarning is not None or None


def _capture_warnings(before: bool) -> None:
    sys.modules["logging"].captureWarnings(before)


def _documentation() -> Any:
    return CurrentSession.main.__doc__


def _set_documentation(before: Any) -> None:
    CurrentSession.main.__doc__ = before


OF_MODULES: dict[str, tuple[str, Callable[[], Any], Callable[[Any], Any]]] = {
    **registers.KEPT,
    **hooks.KEPT,
    "first weekday": ("calendar", _calendar, _set_calendar),
    "time-out of sockets": ("socket", _timeout, _set_timeout),
    "MIME types": ("mimetypes", _types, _set_types),
    "pools of pyarrow": ("pyarrow", lambda: None, _set_pools),  # of earlier snapshots; see `data_registers`
    "csv": ("csv", _csv, _set_csv),
    "folder for temporary files": ("tempfile", _tempdir, _set_tempdir),
    "decimal's default context": ("decimal", _context, _set_context),
    "logging": ("logging", _logging, _set_logging),
    "warnings that are recorded": ("warnings", _recording, _record),
    "warnings in the log": ("logging", _captures_warnings, _capture_warnings),
    "context variables of libraries": ("contextvars", contexts.of_libraries, contexts.set_again),
    "documentation of the session": ("sys", _documentation, _set_documentation),
}
"""What is read as None as long as it is as Python has it."""
READ = tuple((name, module, read) for name, (module, read, _) in (SIMPLE | OF_MODULES).items())
"""All that is read at each snapshot."""


def capture(start: StartSettings) -> dict[str, Any]:
    """What differs now. A library whose internals have changed is left out."""
    kept: dict[str, Any] = {}
    for name, module, read in READ:
        if module not in sys.modules:
            continue
        try:
            value = read()
        except (Exception, SystemExit):  # it reads private parts of libraries, where objects of cells may be
            continue
        if value is not None and start.values.get(name) != value:
            kept[name] = value
    handlers = {number: one for number, one in _handlers().items() if start.handlers.get(number) is not one}
    kept |= {"handlers of signals": handlers} if handlers else {}
    # A timer that runs out needs its handler, so it comes behind it.
    return kept | ({hooks.TIMERS: timers} if (timers := hooks.timers()) else {})


def restore(name: str, value: Any) -> bool:
    """Put one of them back.

    Returns:
        Whether it is one of them.
    """
    if name == "handlers of signals":
        for number, handler in value.items():
            signal.signal(number, handler)
        return True
    if name == hooks.TIMERS:
        hooks.set_timers(value)
        return True
    if name.startswith(f"{registers.INSTEAD} "):
        sys.modules[name.removeprefix(f"{registers.INSTEAD} ")] = value
        return True
    known = (SIMPLE | OF_MODULES).get(name)
    if known is None:
        return False
    if known[0] not in sys.modules:
        __import__(known[0])
    known[2](value)
    return True
