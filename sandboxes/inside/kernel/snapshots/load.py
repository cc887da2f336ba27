"""Load a snapshot, and of a unit that cannot be loaded, what can be."""

import contextlib
import importlib
import io
import json
import linecache
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any, Protocol

from ..own_library import own_library
from . import cell_sources
from .current_session import CurrentSession
from .files import descriptor_numbers
from .files.files_of_step import is_so
from .library_state import imported_objects
from .modules import imported_modules, module_sources, module_state
from .objects import id_numbers
from .objects.classes import order_subclasses
from .partial_loading import load_foreign, load_partially
from .pickling import load
from .save import (
    LAST_RESULT,
    MODULE_PREFIX,
    SETTING_PREFIX,
    STALE,
    UNITS_OF_PRELOADED,
    Lost,
    SnapshotWriter,
    module_key,
    shown_name,
)
from .session_state import interpreter_state
from .session_state.hooks import TRACERS
from .storing import loaded_memory, manifest
from .storing.blobs import THREADS, Blobs, MissingBlobError
from .storing.buffers import FillingBuffer, blobs_of, patch
from .units import reason_of

OF_PRELOADED = [[name] for name in UNITS_OF_PRELOADED]
"""The names in each of these units."""


class RawUnit:
    """A unit as it was read: its stream and its buffers, checked and not yet loaded."""

    def __init__(self, unit: dict[str, Any], stream: bytes, buffers: list[Any]) -> None:
        self.names: list[str] = unit["names"]
        self.has_code = bool(unit.get("code"))
        self.stream = stream
        self.buffers = buffers


class RetentionPolicy(Protocol):
    """Knows which objects of a session that is brought to a snapshot stay as they are."""

    def keep(self, parts: list[RawUnit]) -> tuple[dict[str, Any], list[RawUnit]]:
        """The variables that stay, and the units that are to be loaded."""

    def clear(self, kept: dict[str, Any]) -> None:
        """Take everything else out of `__main__`."""


class SnapshotReader:
    """Restores one snapshot.

    Args:
        main: The `__main__`; empty unless `keeps` is given.
        taking: What takes the session's snapshots from now on; it learns what is stored already.
        blobs: Where the snapshot is.
        keeps: What of the session is to stay.
    """

    def __init__(
        self, main: ModuleType, taking: SnapshotWriter, blobs: Blobs, keeps: RetentionPolicy | None = None
    ) -> None:
        self._main = main
        self._keeps = keeps
        self._taking = taking
        self._blobs = blobs
        self._lost: list[Lost] = []
        self._again: list[str] = []
        """What was defined again from the source of its cell."""

    def restore(self, id: str) -> dict[str, Any]:
        """Restore a snapshot.

        Returns:
            The content of the kernel's answer; `problem` says why nothing was loaded.
        """
        CurrentSession.remember_streams()
        CurrentSession.not_made.clear()
        try:
            content = manifest.unpack(self._blobs.read(id))
            with manifest.fitting():
                parts = self._read(content)
        except MissingBlobError as error:
            return _answer(problem=str(error))
        return self._load(content, parts)

    def _read(self, content: dict[str, Any]) -> list[RawUnit]:
        """Read and check everything.

        Raises:
            MissingBlobError: a blob is missing or damaged.
        """
        known: set[str] = set()
        cache: dict[str, bytes] = {}
        self._extra: dict[str, bytes] = {}
        named = content["packs"]
        for name, place in content["extra"].items():
            self._extra[name] = manifest.read(place, named, self._blobs, cache)
            self._taking.packs.learn(self._extra[name], place, named)
        parts: list[RawUnit] = []
        with ThreadPoolExecutor(THREADS) as pool:
            filling: dict[tuple[str, int], FillingBuffer] = {}
            for unit in content["variables"]["units"]:
                stream = manifest.read(unit["stream"], named, self._blobs, cache)
                self._taking.packs.learn(stream, unit["stream"], named)
                buffers = [loaded_memory.fresh(buffer["size"]) for buffer in unit["buffers"]]
                for number, (target, buffer) in enumerate(zip(buffers, unit["buffers"], strict=True)):
                    filling[unit["names"][0], number] = FillingBuffer(pool, self._blobs, memoryview(target), buffer)
                    known.update(blobs_of(buffer))
                parts.append(RawUnit(unit, stream, buffers))
            digests = {place: buffer.digests() for place, buffer in filling.items()}
        for part, unit in zip(parts, content["variables"]["units"], strict=True):
            for number, (target, buffer) in enumerate(zip(part.buffers, unit["buffers"], strict=True)):
                view, place = memoryview(target), (part.names[0], number)
                self._taking.buffers.learn(place, buffer, filling[place].sizes, digests[place])
                patch(view, buffer, named, self._blobs, cache)
                for at, size, pack, start in buffer.get("patches", ()):
                    self._taking.packs.learn_patch(view[at : at + size], (named[pack], start))
        self._blobs.check(set(content["blobs"]) - known - set(cache))
        self._taking.spool.known.update(content["blobs"])
        return parts

    def _load(self, content: dict[str, Any], parts: list[RawUnit]) -> dict[str, Any]:
        try:
            self._taking.files.restore(content["files"], self._blobs)
            self._taking.outside.restore(content.get("outside", {}), self._blobs)
        except MissingBlobError as error:
            return _answer(problem=str(error))
        except OSError as error:
            return _answer(problem=f"the workspace cannot be written: {error.strerror} ({error.filename})")
        importlib.invalidate_caches()
        early = json.loads(self._extra["early"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            interpreter_state.restore_early_state(early)
            taken = descriptor_numbers.restore(early.get("numbers", []))
            self._taking.restore_functions(early.get("functions", []))
            imported = json.loads(self._extra["imported"])
            streams = [part.stream for part in parts if part.names not in OF_PRELOADED]
            unused = imported_modules.unused(imported, content["modules"].values(), streams)
            with loaded_memory.without_collections(), module_sources.earlier(early.get("sources", {})):
                failed = imported_modules.import_again([name for name in imported if name not in unused])
            imported_modules.name_again(early.get("names", {}))
            self._undo_writing(content["files"], imported)
            kept: dict[str, Any] = {}
            foreign = [part for part in parts if part.has_code and content["cache_tag"] != manifest.cache_tag()]
            parts = [part for part in parts if part not in foreign]
            if self._keeps is not None:
                kept, parts = self._keeps.keep(parts)
                self._keeps.clear(kept)
            found = self._bind_modules(content["modules"], failed)
            found |= kept
            found |= self._load_all(parts)
            found |= self._define_again(foreign, content["cache_tag"], early["futures"], found)
        imported_modules.take_out(early.get("taken out", ()))
        for name in module_sources.unusable(early.get("sources", {})):
            self._lost.append({"name": name, "type": "module", "reason": STALE.format(name), "cell": 0})
        self._lost += [_lost_part(name, *known) for name, known in CurrentSession.not_made.items()]
        self._lost += [_lost_number(name, why) for name, why in taken.items() if found.pop(name, None) is not None]
        self._remember_cells()
        self._set_modules(found)
        settings = {
            name.removeprefix(SETTING_PREFIX): value for name, value in found.items() if name.startswith(SETTING_PREFIX)
        }
        used = interpreter_state.libraries_of(settings) | sys.modules.keys()
        imported_modules.import_again([one for one in imported if one in unused and imported_modules.root(one) in used])
        tracers = {name: settings.pop(name) for name in TRACERS if name in settings}
        self._restore_settings(settings)
        order = [name for name in content["variables"]["order"] if name in found]
        self._bind(found, order)
        imported_objects.take_own()
        for lost in content["lost"]:
            self._taking.lost_since[lost["name"]] = (0, lost.get("cell", 0))
        answer = _answer(
            restored=[name for name in order if name != LAST_RESULT],
            lost=[*content["lost"], *self._lost],
            versions=[*_differences(content, unused), *self._defined_again()],
            futures=early["futures"],
        )
        self._restore_settings(tracers)  # they use variables, and see each call from here on, so there is none
        return answer

    def _bind(self, found: dict[str, Any], order: list[str]) -> None:
        """Give the session its variables, in their order."""
        namespace = self._main.__dict__
        for name in order:
            namespace.pop(name, None)
            namespace[name] = found[name]

    def _restore_settings(self, settings: dict[str, Any]) -> None:
        for name, problem in interpreter_state.restore_settings(settings).items():
            self._lost.append({"name": name, "type": "setting", "reason": reason_of(problem), "cell": 0})

    def _remember_cells(self) -> None:
        """Let tracebacks show the code of the cells, and know what it asks for."""
        for name, source in cell_sources.read(self._extra).items():
            CurrentSession.asks_for_identities |= id_numbers.are_asked_for(source)
            linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)

    def _undo_writing(self, files: dict[str, Any], imported: list[str]) -> None:
        """Make the workspace as it was once more, where modules of it have changed files when they were imported."""
        own = imported_modules.workspace_modules(self._taking.files.root, imported)
        if not own:
            return
        for value in (value for module in own.values() for value in list(vars(module).values())):
            if isinstance(value, io.IOBase):
                with contextlib.suppress(Exception):  # one that is closed, or the user's
                    value.flush()
        if not is_so(self._taking.files, files):
            self._taking.files.restore(files, self._blobs)

    def _defined_again(self) -> list[str]:
        if not self._again:
            return []
        return [f"defined again from their source: {', '.join(self._again)[:150]}"]

    def _bind_modules(self, aliases: dict[str, str], failed: dict[str, str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, module in aliases.items():
            try:
                found[name] = importlib.import_module(module)
            except Exception as error:  # a module may do anything when it is imported
                reason = failed.get(module, reason_of(error))
                self._lost.append({"name": name, "type": "module", "reason": reason, "cell": 0})
        self._main.__dict__.update(found)
        return found

    def _define_again(
        self, parts: list[RawUnit], cache_tag: str, futures: int, found: dict[str, Any]
    ) -> dict[str, Any]:
        """Define functions and classes of units that this Python must not even load: it would abort.

        Args:
            parts: These units.
            cache_tag: The Python that their code is of.
            futures: The compiler flags that cells have set.
            found: What is there already.

        Returns:
            What is there again.
        """
        if not parts:
            return {}
        with own_library().importing():
            from ..rebuilding.cell_code import define, definitions

        sources = dict(sorted(cell_sources.read(self._extra).items(), key=lambda item: _cell_number(item[0])))
        reason = f"it holds code of {cache_tag}, which {manifest.cache_tag()} cannot load"
        again: dict[str, Any] = {}
        reasons: dict[str, str] = {}
        wanted = [name for part in parts for name in part.names if name not in found]
        for name, definition in definitions(sources, wanted).items():
            try:
                define(definition, self._main.__dict__, futures)
                again[name] = self._main.__dict__[name]
            except (Exception, SystemExit) as error:  # decorators and defaults are the user's code
                reasons[name] = f"{reason}, and defining it again failed: {reason_of(error)}"
        self._again = list(again)
        for part in parts:
            left = [name for name in part.names if name not in again and name not in found]
            if not left:
                continue
            whole, lost = load_foreign(part.stream, part.buffers, part.names, again, reason)
            again |= {name: whole[name] for name in left if name in whole}
            for name in left:
                if name not in whole:
                    self._lose_one(name, reasons.get(name) or lost.get(name, reason))
        return again

    def _load_all(self, parts: list[RawUnit]) -> dict[str, Any]:
        """Load units. One that needs another's variables while it is loaded waits for them."""
        found: dict[str, Any] = {}
        left = parts
        while left:
            failed: list[tuple[RawUnit, BaseException]] = []
            for part in left:
                try:
                    for name, value in load(part.stream, part.buffers, len(part.names)):
                        found[name] = value
                        if not name.startswith(":"):
                            self._main.__dict__[name] = value
                except (Exception, SystemExit) as error:  # loading runs the code of what is loaded
                    failed.append((part, error))
                    continue
            if len(failed) == len(left):
                for part, problem in failed:
                    self._salvage(part, reason_of(problem), found)
                break
            left = [part for part, _ in failed]
        order_subclasses()
        return found

    def _salvage(self, part: RawUnit, reason: str, found: dict[str, Any]) -> None:
        """Keep the variables of a unit that have nothing to do with what cannot be loaded."""
        reasons = dict.fromkeys(part.names, reason)
        if len(part.names) > 1:
            for name in part.names:
                if found.pop(name, None) is not None and not name.startswith(":"):
                    self._main.__dict__.pop(name, None)  # what it shares with the others is made once more
            whole, reasons = load_partially(part.stream, part.buffers, part.names)
            found.update(whole)
        for name, why_not in reasons.items():
            self._lose_one(name, why_not)

    def _lose_one(self, name: str, reason: str) -> None:
        shown = shown_name(name)
        kind = "setting" if name.startswith((SETTING_PREFIX, MODULE_PREFIX)) else ""
        self._lost.append({"name": shown, "type": kind, "reason": reason, "cell": 0})

    def _set_modules(self, found: dict[str, Any]) -> None:
        kept: dict[str, dict[module_state.Key, Any]] = {}
        for name, value in found.items():
            if name.startswith(MODULE_PREFIX):
                module, key = module_key(name)
                kept.setdefault(module, {})[key] = value
        for module, values in kept.items():
            if module in sys.modules:
                module_state.restore(sys.modules[module], values)
        for module, values in kept.items():
            if module in sys.modules:
                module_state.restore_results(sys.modules[module], values)


def _cell_number(name: str) -> int:
    digits = "".join(character for character in name if character.isdigit())
    return int(digits) if digits else 0


def _differences(content: dict[str, Any], unused: set[str]) -> list[str]:
    """What is another version now.

    Args:
        content: The snapshot's.
        unused: Modules that it had and that are imported once somebody asks for them.
    """
    import platform

    found = []
    left = {imported_modules.root(name) for name in unused} - sys.modules.keys()
    if content["python"] != platform.python_version():
        found.append(f"Python {content['python']} -> {platform.python_version()}")
    for name, before in content["packages"].items():
        if name in left:
            continue
        now = getattr(sys.modules.get(name), "__version__", "none")
        if now != before:
            found.append(f"{name} {before} -> {now}")
    return found


def _answer(**content: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {"restored": [], "lost": [], "versions": [], "problem": "", "futures": 0}
    return {**empty, **content}


def _lost_part(name: str, kind: str, why: str) -> Lost:
    return {"name": name, "type": kind, "reason": why, "cell": 0}


def _lost_number(name: str, why: str) -> Lost:
    return {"name": name, "type": "int", "reason": why, "cell": 0}
