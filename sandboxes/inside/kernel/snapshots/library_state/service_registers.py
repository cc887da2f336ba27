"""Registers and switches of libraries for services and tests: traces, logs, metrics, signals, files elsewhere.

Each is read as None as long as nobody has changed it.
"""

import functools
import importlib
import importlib.util
import re
import sys
from collections.abc import Callable
from typing import Any

from ..objects import attributes, instances
from ..objects.nans_and_sentinels import find_sentinel


def _memory_files() -> Any:
    kind = sys.modules["fsspec.implementations.memory"].MemoryFileSystem
    usual: tuple[dict[str, Any], list[str]] = ({}, [""])
    return None if (kind.store, kind.pseudo_dirs) == usual else (kind.store, kind.pseudo_dirs)


def _set_memory_files(before: Any) -> None:
    kind = sys.modules["fsspec.implementations.memory"].MemoryFileSystem
    kind.store.clear()
    kind.store.update(before[0])
    kind.pseudo_dirs[:] = before[1]


def _keys() -> Any:
    return _own_keys(len(sys.modules)) or None


@functools.lru_cache(maxsize=1)
def _own_keys(_count: int) -> dict[str, str]:
    """Names for what is in contexts of opentelemetry, by their places: each process makes its own."""
    modules = [(name, vars(one)) for name, one in list(sys.modules.items()) if name.startswith("opentelemetry.")]
    return {
        f"{name}:{key}": value
        for name, space in modules
        for key, value in list(space.items())
        if type(value) is str and KEY.search(value)
    }


KEY = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


def _set_keys(before: Any) -> None:
    for place, value in before.items():
        module, _, name = place.partition(":")
        setattr(importlib.import_module(module), name, value)


def _structlog() -> Any:
    return vars(sys.modules["structlog._config"]._CONFIG) or None


def _set_structlog(before: Any) -> None:
    vars(sys.modules["structlog._config"]._CONFIG).update(before)


def _bound() -> Any:
    """What structlog adds to all entries, which it keeps in context variables."""
    return sys.modules["structlog.contextvars"].get_contextvars() or None


def _set_bound(before: Any) -> None:
    sys.modules["structlog.contextvars"].bind_contextvars(**before)


def _validators() -> Any:
    return None if sys.modules["attr._config"]._run_validators else False


def _set_validators(before: bool) -> None:
    library: Any = sys.modules["attr._config"]
    library._run_validators = before


def _file_systems() -> Any:
    return sys.modules["fsspec.config"].conf or None


def _set_file_systems(before: Any) -> None:
    sys.modules["fsspec.config"].conf.update(before)


def _metrics() -> Any:
    """The metrics that cells have registered with Prometheus, and which of those of the process are left."""
    known = sys.modules["prometheus_client.registry"].REGISTRY._collector_to_names
    own = OF_PROCESSES & {type(one).__name__ for one in known}
    mine = {one: list(names) for one, names in known.items() if type(one).__name__ not in OF_PROCESSES}
    told = sys.modules["prometheus_client.registry"].REGISTRY.get_target_info()
    return (mine, sorted(own), told) if mine or own != OF_PROCESSES or told else None


OF_PROCESSES = frozenset({"ProcessCollector", "PlatformCollector", "GCCollector"})
"""Metrics that Prometheus registers by itself."""


def _set_metrics(before: Any) -> None:
    registry = importlib.import_module("prometheus_client").REGISTRY
    mine, own, *told = before
    known = registry._collector_to_names
    for one in [one for one in known if type(one).__name__ in OF_PROCESSES.difference(own)]:
        registry.unregister(one)
    known.update(mine)  # `register` asks a collector for its metrics, which runs code of cells
    for one, names in mine.items():
        registry._names_to_collectors.update(dict.fromkeys(names, one))
    if told and told[0]:  # earlier snapshots do not have it
        registry.set_target_info(told[0])


def reduce_registry(pickler: Any, registry: Any) -> Any:
    """The registry that Prometheus has by itself: by its name. What cells put into it is kept as a setting."""
    if registry is sys.modules["prometheus_client.registry"].REGISTRY:
        return find_sentinel, ("prometheus_client.registry", "REGISTRY")
    usual = attributes.reducer_for(type(registry)) or instances.reducer_of_held(type(registry))
    return usual(pickler, registry) if usual else NotImplemented


def _signals() -> Any:
    return dict(sys.modules["blinker.base"].default_namespace) or None


def _set_signals(before: Any) -> None:
    for name, signal in before.items():  # one that a library made when it was imported stays the library's
        importlib.import_module("blinker.base").default_namespace.setdefault(name, signal)


def _charsets() -> Any:
    """What cells have told `email` of charsets."""
    library: Any = sys.modules["email.charset"]
    mine = {
        name: {key: one for key, one in known.items() if key not in usual or usual[key] != one}
        for name, usual in _usual_charsets().items()
        if (known := getattr(library, name)) != usual
    }
    return mine if any(mine.values()) else None


@functools.cache
def _usual_charsets() -> dict[str, dict[str, Any]]:
    """What it knows by itself, which another copy of the module tells."""
    spec: Any = importlib.util.find_spec("email.charset")
    fresh = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fresh)
    return {name: getattr(fresh, name) for name in ("CHARSETS", "ALIASES", "CODEC_MAP")}


def _set_charsets(before: Any) -> None:
    library: Any = importlib.import_module("email.charset")
    for name, entries in before.items():
        getattr(library, name).update(entries)


def _profiles() -> Any:
    """Profiles of hypothesis that cells have registered, and the one that is loaded, if it is not its own."""
    settings: Any = sys.modules["hypothesis"].settings
    own = {name: one for name, one in settings._profiles.items() if name not in OF_HYPOTHESIS}
    name, default = settings._current_profile, settings.default
    is_usual = name in OF_HYPOTHESIS and settings._profiles.get(name) is default
    return None if is_usual and not own else (own, name, default)


OF_HYPOTHESIS = frozenset({"default", "ci"})
"""Profiles that it has, one of which it loads itself."""


def _set_profiles(before: Any) -> None:
    settings: Any = importlib.import_module("hypothesis").settings
    own, name, default = before
    settings._profiles.update(own)
    if name not in own:
        settings.register_profile(name, default)
    settings.load_profile(name)


OF_SERVICES: dict[str, tuple[str, Callable[[], Any], Callable[[Any], Any]]] = {
    "keys of opentelemetry": ("opentelemetry.context", _keys, _set_keys),
    "metrics of Prometheus": ("prometheus_client.registry", _metrics, _set_metrics),
    "signals of blinker": ("blinker.base", _signals, _set_signals),
    "charsets of email": ("email.charset", _charsets, _set_charsets),
    "structlog": ("structlog._config", _structlog, _set_structlog),
    "variables of structlog": ("structlog.contextvars", _bound, _set_bound),
    "validators of attrs": ("attr._config", _validators, _set_validators),
    "file systems": ("fsspec.config", _file_systems, _set_file_systems),
    "files in memory": ("fsspec.implementations.memory", _memory_files, _set_memory_files),
    "profiles of hypothesis": ("hypothesis", _profiles, _set_profiles),
}
"""Name → the module that must be loaded for it, how it is read, and how it is put back."""
