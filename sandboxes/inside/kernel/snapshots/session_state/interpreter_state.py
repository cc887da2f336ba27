"""Interpreter state beside variables: random states, settings of libraries, the environment, the search path.

Of the environment and the search path only what differs from the start of the session is kept.
"""

import contextlib
import functools
import os
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from ..current_session import path_here, portable_path
from ..duckdb import connections as duckdb_connections
from ..files import outside_files
from ..library_state import data_registers, library_calls, library_patches
from . import process_settings

PRELOADED: list[str] = []
"""Packages that were imported before this process was forked: they count as imported by the session."""


@functools.cache
def imported() -> frozenset[str]:
    """The modules that there were when this was first asked.

    The zygote calls this before it forks, because reading all names copies the memory pages that hold them.
    """
    return frozenset(sys.modules)


class StartState:
    """What there was when the session began.

    Args:
        own: A folder that is the sandbox's; see `outside_files.names_in`.
    """

    def __init__(self, own: str = "") -> None:
        self.environment = dict(os.environ)
        self.path = list(sys.path)
        before = imported()
        self.modules = before if len(before) == len(sys.modules) else frozenset(sys.modules)
        self.recursion = sys.getrecursionlimit()
        self.outside = outside_files.names_in(self.environment, own)
        self.settings = process_settings.StartSettings()


def early(start: StartState) -> dict[str, Any]:
    """What has to be there before modules are imported, as plain data."""
    now = dict(os.environ)
    return {
        "environment": {name: value for name, value in now.items() if start.environment.get(name) != value},
        "unset": [name for name in start.environment if name not in now],
        "path": [
            [index, portable_path(entry) if os.path.isabs(entry) else entry]
            for index, entry in enumerate(sys.path)
            if entry not in start.path
        ],
        "off_path": [entry for entry in start.path if entry not in sys.path],
        "recursion": sys.getrecursionlimit() if sys.getrecursionlimit() != start.recursion else 0,
        # A setting, too; but modules of the workspace are imported before settings are put back.
        "no_bytecode": sys.dont_write_bytecode,
    }


def restore_early_state(before: dict[str, Any]) -> None:
    """Put it back."""
    os.environ.update(before["environment"])
    for name in before["unset"]:
        os.environ.pop(name, None)
    if "TZ" in before["environment"] or "TZ" in before["unset"]:
        time.tzset()
    for index, path in before["path"]:
        entry = path_here(path)
        if entry not in sys.path:
            sys.path.insert(index, entry)
    for entry in before.get("off_path", ()):  # earlier snapshots do not have it
        while entry in sys.path:
            sys.path.remove(entry)
    sys.dont_write_bytecode = before.get("no_bytecode", sys.dont_write_bytecode)  # earlier snapshots do not have it
    if before["recursion"]:
        sys.setrecursionlimit(before["recursion"])


def _random() -> Any:
    return sys.modules["random"].getstate()


def _set_random(before: Any) -> None:
    sys.modules["random"].setstate(before)


def _numpy_random() -> Any:
    return sys.modules["numpy.random"].get_state(legacy=False)


def _set_numpy_random(before: Any) -> None:
    sys.modules["numpy.random"].set_state(before)


def _numpy() -> Any:
    numpy = sys.modules["numpy"]
    bases = sys.modules.get("numpy.polynomial._polybase")
    unicode = getattr(getattr(bases, "ABCPolyBase", None), "_use_unicode", None)
    return numpy.get_printoptions(), numpy.geterr(), numpy.geterrcall(), numpy.getbufsize(), unicode


def _set_numpy(before: Any) -> None:
    numpy = sys.modules["numpy"]
    # What is set is in the context, which a cell may copy.
    if before[0] != numpy.get_printoptions():
        numpy.set_printoptions(**{name: value for name, value in before[0].items() if name != "override_repr"})
    if before[1] != numpy.geterr():
        numpy.seterr(**before[1])
    call = before[2] if len(before) > 2 else None
    if call is not numpy.geterrcall():
        numpy.seterrcall(call)
    if len(before) > 3 and before[3] != numpy.getbufsize():
        numpy.setbufsize(before[3])
    if len(before) > 4 and before[4] is not None:
        numpy.polynomial.set_default_printstyle("unicode" if before[4] else "ascii")


def _pandas() -> Any:
    config = sys.modules["pandas._config.config"]
    deprecated, found, values = config._deprecated_options, dict[str, Any](), dict[str, Any]()
    _add_leaves(config._global_config, "", values)
    own = data_registers.namespaces_of_options()
    for key, option in config._registered_options.items():
        if own and key.partition(".")[0] in own:
            continue
        if key in deprecated and (key not in values or deprecated[key].rkey):
            continue
        value = values[key] if key in values else config.get_option(key)  # one that is a dict itself
        if value is not option.defval and value != option.defval:
            found[key] = value
    return found


def _add_leaves(options: dict[str, Any], path: str, values: dict[str, Any]) -> None:
    """The options of pandas by their names: asked one by one they take ten times as long."""
    for name, value in options.items():
        if isinstance(value, dict):
            _add_leaves(value, f"{path}{name}.", values)
        else:
            values[path + name] = value


def _set_pandas(before: Any) -> None:
    config = sys.modules["pandas._config.config"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an option may be one that will go
        for key, value in before.items():
            config.set_option(key, value)


def _matplotlib() -> Any:
    settings, default = sys.modules["matplotlib"].rcParams, sys.modules["matplotlib"].rcParamsDefault
    usual = functools.partial(dict.get, default)
    others = [(key, value) for key, value in dict.items(settings) if value is not usual(key)]
    found = {key: value for key, value in others if value != usual(key) and not key.startswith("backend")}
    backend = dict.get(settings, "backend")
    return found | ({"backend": backend} if type(backend) is str and backend in BACKENDS else {})


BACKENDS = frozenset({"Agg", "svg", "SVG", "pdf", "PDF", "ps", "PS"})
"""Backends that need no screen. `agg` in small letters is none of them: with that a session begins."""


def _set_matplotlib(before: Any) -> None:
    library = sys.modules["matplotlib"]
    settings, default = library.rcParams, library.rcParamsDefault
    for key, value in dict.items(default):
        if not key.startswith("backend"):
            dict.__setitem__(settings, key, before.get(key, value))
    if "backend" in before and getattr(library.use, "__globals__", None) is vars(library):
        with contextlib.suppress(ImportError):  # it needs what is not here
            library.use(before["backend"])


def _warnings() -> Any:
    return list(warnings.filters)


def _set_warnings(before: Any) -> None:
    warnings.filters[:] = before  # type: ignore[index]
    warnings._filters_mutated()  # type: ignore[attr-defined]


def _decimal() -> Any:
    return sys.modules["decimal"].getcontext()


def _set_decimal(before: Any) -> None:
    sys.modules["decimal"].setcontext(before)


def _polars() -> Any:
    return sys.modules["polars"].Config.save()


def _set_polars(before: Any) -> None:
    sys.modules["polars"].Config.load(before)


def _sklearn() -> Any:
    return sys.modules["sklearn"].get_config()


def _set_sklearn(before: Any) -> None:
    sys.modules["sklearn"].set_config(**before)


def _logging() -> Any:
    logging = sys.modules["logging"]
    loggers = {
        name: logger.level for name, logger in logging.root.manager.loggerDict.items() if hasattr(logger, "level")
    }
    return logging.root.level, {name: level for name, level in loggers.items() if level}, logging.root.manager.disable


def _handlers() -> Any:
    logging = sys.modules["logging"]
    known = {"": logging.root, **logging.root.manager.loggerDict}
    return {
        name: (logger.handlers, logger.propagate)
        for name, logger in known.items()
        if getattr(logger, "handlers", None) or not getattr(logger, "propagate", True)
    }


def _handlers_apart(found: dict[str, Any]) -> None:
    """Let those of each logger be a setting of its own, so that one which cannot be kept does not cost the others."""
    known, idle = found[HANDLERS], sys.modules["logging"].NullHandler
    for name in [name for name, (handlers, _) in known.items() if any(type(one) is not idle for one in handlers)]:
        found[f"{HANDLERS} of {name or 'root'}"] = {name: known.pop(name)}


HANDLERS = "logging handlers"


def _set_handlers(before: Any) -> None:
    logging = sys.modules["logging"]
    for name, (handlers, propagate) in before.items():
        logger = logging.getLogger(name or None)
        # A variable may hold the very list.
        logger.handlers, logger.propagate = handlers, propagate
        _end_with_session(handlers)


def _end_with_session(handlers: Any) -> None:
    """Have handlers flushed and closed at the end, which their `__init__` would have asked for."""
    logging = sys.modules["logging"]
    known = {id(one()) for one in logging._handlerList}
    for handler in handlers:
        if id(handler) not in known and hasattr(type(handler), "acquire"):
            logging._addHandlerRef(handler)


def _arguments() -> Any:
    return list(sys.argv)


def _set_arguments(before: Any) -> None:
    sys.argv[:] = before


def _duckdb() -> Any:
    return duckdb_connections.default_duckdb()


def _set_duckdb(before: Any) -> None:
    if before is not None:
        sys.modules["duckdb"].set_default_connection(before)


def _set_logging(before: Any) -> None:
    logging = sys.modules["logging"]
    logging.root.setLevel(before[0])
    for name, level in before[1].items():
        logging.getLogger(name).setLevel(level)
    logging.disable(before[2])


PARTS: dict[str, tuple[str, Callable[[], Any], Callable[[Any], None]]] = {
    "random state": ("random", _random, _set_random),
    "numpy random state": ("numpy.random", _numpy_random, _set_numpy_random),
    "numpy settings": ("numpy", _numpy, _set_numpy),
    "pandas options": ("pandas", _pandas, _set_pandas),
    "matplotlib settings": ("matplotlib", _matplotlib, _set_matplotlib),
    "decimal context": ("decimal", _decimal, _set_decimal),
    "polars settings": ("polars", _polars, _set_polars),
    "sklearn settings": ("sklearn", _sklearn, _set_sklearn),
    "logging levels": ("logging", _logging, _set_logging),
    HANDLERS: ("logging", _handlers, _set_handlers),
    "arguments": ("sys", _arguments, _set_arguments),
    "duckdb's default connection": ("duckdb", _duckdb, _set_duckdb),
    "warnings filters": ("warnings", _warnings, _set_warnings),
}
"""Name → the module that must be loaded for it, how it is read, and how it is put back."""


READ_ANEW = ("numpy settings", "pandas options", "matplotlib settings", "logging levels", "arguments")
"""Those whose values are made when they are read: whatever is in them that can change belongs to nobody else."""


def capture_settings(start: StartState) -> dict[str, Any]:
    """The present settings by name. A library whose internals have changed is left out."""
    found = process_settings.capture(start.settings)
    for name, (module, read, _) in PARTS.items():
        if module in sys.modules:
            try:
                found[name] = read()
            except Exception:  # it reads private parts of libraries
                continue
    if HANDLERS in found:
        _handlers_apart(found)
    return found


def libraries_of(settings: dict[str, Any]) -> set[str]:
    """The libraries whose settings are not what they are by default, as far as only such are kept."""
    return {PARTS[name][0] for name, value in settings.items() if name in PARTS and value}


def restore_settings(before: dict[str, Any]) -> dict[str, BaseException]:
    """Put it back.

    Returns:
        What cannot be put back.
    """
    failed: dict[str, BaseException] = {}
    for name, value in before.items():
        try:
            if name in PARTS and PARTS[name][0] in sys.modules:
                PARTS[name][2](value)
            elif name.startswith(HANDLERS):
                _set_handlers(value)
            elif name.startswith(library_calls.GIVEN):
                library_calls.restore(name, value)
            elif name.startswith(library_patches.OF_THESE):
                library_patches.restore(name, value)
            else:
                process_settings.restore(name, value)
        except Exception as error:  # a setting that this version does not know
            failed[name] = error
    return failed
