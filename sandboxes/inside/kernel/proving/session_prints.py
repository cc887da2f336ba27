"""The fingerprints of a whole session: variables and who shares what, modules of the workspace, settings, files."""

import hashlib
import os
import signal
import stat
import sys
import warnings
from collections.abc import Callable
from itertools import islice
from types import ModuleType
from typing import Any

from ..own_library import own_library
from ..side_effects import Scan
from ..snapshots.files import outside_files
from ..snapshots.files.locks import descriptors_of
from ..snapshots.modules import imported_modules
from ..snapshots.save import LAST_RESULT, user_variables
from ..snapshots.session_state import interpreter_state
from ..snapshots.session_state.hooks import TIMERS
from ..snapshots.storing.loaded_memory import without_collections
from .deep_walk import DeepWalk, held
from .differences import NOT_COMPARED
from .library_objects import logger, value_name

MAX_HASHED = 64 << 20
"""Bytes of files that are read; of further ones only the size is compared."""
MAX_FILES = 2_000

Prints = dict[str, Any]


class SessionPrints:
    """Takes the fingerprints of one session.

    Args:
        main: Its `__main__`.
        own: What the kernel put there.
        root: Its workspace.
        start: What there was when it began.
    """

    def __init__(self, main: ModuleType, own: dict[str, Any], root: str, start: interpreter_state.StartState) -> None:
        self._main = main
        self._own = own
        self._root = root
        self._start = start

    def take(self, scan: Scan, pause: Callable[[], None] = lambda: None) -> Prints:
        """All of them.

        Args:
            scan: The files of the workspace at the moment that counts; what has changed since is left out.
            pause: Called after each variable; what it raises ends it.
        """
        settings = self._settings()  # before anything here changes one
        with warnings.catch_warnings(), without_collections():  # they would look at all that is walked, again and again
            warnings.simplefilter("ignore")
            return {"settings": settings, "files": self._files(scan), "variables": self._variables(pause)}

    def _variables(self, pause: Callable[[], None]) -> Prints:
        space = self._main.__dict__
        walk = DeepWalk(space)
        found: Prints = {}
        for name, value in self._values():
            found[name] = self._variable(walk, name, value, space)
            pause()
        return found

    def _values(self) -> list[tuple[str, Any]]:
        values = [(name, value) for name, value in user_variables(self._main, self._own).items() if name != LAST_RESULT]
        names = imported_modules.imported(self._start.modules)
        for module_name, module in imported_modules.workspace_modules(self._root, names).items():
            values += [
                (f"{module_name}.{name}", value)
                for name, value in list(vars(module).items())
                if not name.startswith("__") and not isinstance(value, ModuleType)
            ]
        return sorted(values, key=lambda pair: pair[0])

    def _variable(self, walk: DeepWalk, name: str, value: Any, space: dict[str, Any]) -> Prints:
        kind = type(value)
        found: Prints = {"type": f"{kind.__module__}.{kind.__qualname__}"[:200]}
        walk.begin(name)
        try:
            found["digest"] = walk.digest(value).hex()
        except Exception:  # what cannot be compared does not keep the others from it
            return {**found, "digest": "", "shares": "", "with": []}
        events, has_library_objects, may_hold = walk.events, walk.has_library_objects, walk.may_hold
        if has_library_objects:
            found["digest"] = _stable(name, value, space)
        if has_library_objects or may_hold:
            holds = held(value, space)
            if holds is not None:
                found["holds"] = holds
        found["shares"] = hashlib.sha256(repr(events).encode()).hexdigest() if events else ""
        found["with"] = sorted({place[0] for _, place in events})[:20]
        return found

    def _settings(self) -> Prints:
        found: Prints = {}
        read = {**interpreter_state.capture_settings(self._start), **interpreter_state.early(self._start), **_further()}
        if handlers := read.get("handlers of signals"):  # that which holds the time of this is ours
            read["handlers of signals"] = {number: one for number, one in handlers.items() if number != signal.SIGPROF}
        read.pop(TIMERS, None)  # they run, and a copy of a process has none
        # Libraries note things for themselves when they are imported.
        read["environment"] = {name: value for name, value in read["environment"].items() if not name.startswith("_")}
        for name, value in read.items():
            if value is None or value == {}:
                continue
            try:
                walk = DeepWalk(self._main.__dict__)
                digest = walk.digest(value)
            except Exception:  # it cannot be compared
                continue
            if not walk.opaque:
                found[name] = digest.hex()
        return found

    def _files(self, scan: Scan) -> Prints:
        found: Prints = {}
        room = [MAX_HASHED]
        for path, mark in list(scan.files.items())[:MAX_FILES]:
            entry = _file(os.path.join(self._root, path), room, mark)
            if entry is not None:
                found[path] = entry
        for variable, before in self._start.outside.items():
            folder = self._start.environment.get(variable, "")
            if os.path.join(self._root, "").startswith(os.path.join(folder, "")):
                continue
            for name in _listed(folder, before, self._start.environment):
                entry = _file(os.path.join(folder, name), room, None)
                if entry is not None and len(found) < 2 * MAX_FILES:
                    found[f"{variable}/{name}"] = entry
        return found


def _stable(name: str, value: Any, space: dict[str, Any]) -> str:
    """The fingerprint of a variable that libraries describe; empty when they describe it in another way each time."""
    walks = (DeepWalk(space), DeepWalk(space))
    prints = []
    for walk in walks:
        walk.begin(name)
        prints.append(walk.digest(value).hex())
    return prints[0] if prints[0] == prints[1] else ""


def _listed(folder: str, before: frozenset[str], environment: dict[str, str]) -> list[str]:
    """The files in a folder outside of the workspace that are the session's own."""
    caches = frozenset(environment.get(variable, "") for variable in outside_files.CACHES)
    walked = outside_files.OutsideTable(folder, before, caches).walk()
    return [path for path, status in islice(walked, MAX_FILES) if not stat.S_ISDIR(status.st_mode)]


def _file(full: str, room: list[int], mark: tuple[int, int, int] | None) -> list[Any] | None:
    """Mode, size and hash of a file; None when it is not as it was."""
    try:
        status = os.lstat(full)
        if mark is not None and (status.st_size, status.st_mtime_ns, status.st_ino) != mark:
            return None
        if os.path.islink(full):
            return ["link", os.readlink(full)]
        if full.endswith(OF_TRANSACTIONS) and descriptors_of(full):
            return [status.st_mode, NOT_COMPARED, ""]
        digest = ""
        if status.st_size <= room[0] and os.path.isfile(full):
            room[0] -= status.st_size
            with open(full, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        after = os.lstat(full)
    except OSError:
        return None
    if (after.st_size, after.st_mtime_ns) != (status.st_size, status.st_mtime_ns):
        return None
    return [status.st_mode, status.st_size, digest]


OF_TRANSACTIONS = "-journal", "-wal", "-shm"
"""How the names of files end in which sqlite notes what a transaction changes, in another way each time."""


def _further() -> Prints:
    """Settings that no snapshot keeps, or that only libraries' own objects hold, as far as Python says them."""
    found: Prints = {
        "names in builtins": sorted(own_library().builtins.changed()),
        "hooks of the interpreter": [value_name(one) for one in (sys.excepthook, sys.displayhook, sys.unraisablehook)],
        "finders of modules": [value_name(one) for one in sys.meta_path],
    }
    library: Any = sys.modules.get("logging")
    if library is not None:
        known = {"": library.root, **library.root.manager.loggerDict}
        found["logging handlers"] = {
            name: logger(one)
            for name, one in known.items()
            if hasattr(one, "handlers") and (one.handlers or one.filters or one.level or one.disabled)
        }
    matplotlib: Any = sys.modules.get("matplotlib")
    if matplotlib is not None and hasattr(matplotlib, "colormaps"):
        found["colormaps"] = sorted(matplotlib.colormaps)
    units: Any = sys.modules.get("matplotlib.units")
    if units is not None:
        found["units of matplotlib"] = sorted(value_name(one) for one in units.registry)
    return found
