"""Takes a snapshot: pickles the variables, looks at the files, and writes what is new, all of it or nothing."""

import contextlib
import io
import json
import os
import re
import sys
import time
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from ..calls import restore_stubs, stub_names
from .cell_sources import CellSources
from .current_session import CurrentSession
from .files import descriptor_numbers
from .files.file_table import FileTable
from .files.outside_files import OutsideFiles
from .library_state import library_calls, library_patches, registers
from .modules import imported_modules, module_sources, module_state, namespaces
from .objects import id_numbers, instances
from .objects.classes import is_users
from .private_cloudpickle import cloudpickle
from .session_state import hooks, interpreter_state
from .storing import manifest
from .storing.blobs import Spool, TooLargeError
from .storing.buffers import BufferWriter, blobs_of
from .storing.change_detection import change_detector, fast_digest
from .storing.loaded_memory import without_collections
from .storing.manifest import Packs, Place
from .storing.unchanged_objects import UnchangedObjects
from .units import Names, Partition, Unit

EXCLUDED_NAMES = frozenset(
    {"__name__", "__doc__", "__package__", "__loader__", "__spec__", "__builtins__", "__file__", "__cached__",
     "__warningregistry__"}
)  # fmt: skip
LAST_RESULT = "_"
"""What the last expression of a cell gave. It is kept as long as that costs little, and never called lost."""
MAX_LAST_RESULT = 10_000_000
"""Its bytes."""
SETTING_PREFIX = ":ambient:"
UNITS_OF_PRELOADED = (SETTING_PREFIX + "pandas options", SETTING_PREFIX + "matplotlib settings")
"""Settings that are there wherever these libraries are loaded: in units of their own, which do not count as use."""
MODULE_PREFIX = ":module:"
STALE = "{0} was imported before it was changed; after a restore the functions are those of the file, so reload {0}"

Lost = dict[str, Any]


class SnapshotWriter:
    """Takes the snapshots of one session.

    Args:
        main: Its `__main__`.
        own: What the kernel put there.
        root: Its workspace.
        start: What there was when it began.
        spool: Where blobs are written.
        blobs: Where those are that the host supplied.
    """

    def __init__(
        self,
        main: ModuleType,
        own: dict[str, Any],
        root: str,
        start: interpreter_state.StartState,
        spool: Spool,
        blobs: str,
    ) -> None:
        self._main = main
        self._own = own
        self._root = root
        self.spool = spool
        self.start = start
        self.files = FileTable(root)
        self.outside = OutsideFiles(start.environment, start.outside, root)
        self.packs = Packs(fast_digest())
        self.buffers = BufferWriter(spool, change_detector([spool.folder, blobs]))
        self._partition = Partition(UnchangedObjects(fast_digest()))
        self._partition.read_anew = tuple(SETTING_PREFIX + name for name in interpreter_state.READ_ANEW)
        self._partition.read_alone = frozenset(UNITS_OF_PRELOADED)
        self._modules = imported_modules.ImportedModules(root)
        self._cells = CellSources()
        self._no_main = ModuleType("__main__")
        self._earlier: dict[str, module_sources.Kept] = {}
        """The sources of modules whose files have others by now."""
        self._numbers: list[descriptor_numbers.Number] = []
        """The descriptors of which variables have the numbers."""
        self.files_of: tuple[str, dict[str, Any], dict[str, Any], list[Lost]] = ("", {}, {}, [])
        """The snapshot that was taken last, the files that it has in the workspace and outside of it, and what it
        lacks."""
        self.lost_since: dict[str, tuple[int, int]] = {}
        """For what was lost already: the identity of the value, and the cell after which it was."""

    def take(self, limit: int, cell: int, futures: int, of_cells: dict[tuple[str, str], Any]) -> dict[str, Any]:
        """Take a snapshot.

        Args:
            limit: Bytes of new blobs.
            cell: The number of the last cell.
            futures: The compiler flags that cells have set.
            of_cells: What they have put into Python's library, which is as it was just now; see `OwnLibrary.as_it_was`.

        Returns:
            The content of the kernel's answer.
        """
        began = time.perf_counter()
        CurrentSession.remember_streams()
        sizes: dict[str, int] = {}
        self.spool.begin(limit)
        try:
            with imported_modules.not_loaded(list(self._main.__dict__.values())):
                # Before anything is quiet: for that, what a cell may have replaced is replaced once more.
                self._cells.look()
                patches = library_patches.capture(self._cells, of_cells)
                library_calls.capture(self._cells, patches)
                with quiet(), without_collections():  # nearly all that is made is given back before they begin again
                    id, new, lost = self._take(cell, futures, sizes, patches)
        except TooLargeError:
            self.spool.abort()
            return _answer(began, refused=_too_large(limit, sizes))
        except OSError as error:
            self.spool.abort()
            return _answer(began, refused=f"The snapshot cannot be written: {error.strerror or error}.")
        except BaseException:
            self.spool.abort()
            raise
        return _answer(began, id=id, new=new, bytes=self.spool.size, lost=lost)

    def _take(
        self, cell: int, futures: int, sizes: dict[str, int], patches: dict[str, Any]
    ) -> tuple[str, list[str], list[Lost]]:
        CurrentSession.cells = self._cells
        CurrentSession.asks_for_identities = self._cells.any(id_numbers.are_asked_for)
        CurrentSession.asks_for_attributes = self._cells.any(instances.use_dictionaries)
        values = self.variables()
        if LAST_RESULT in values and not _is_kept(values[LAST_RESULT]):
            del values[LAST_RESULT]
        self._modules.look(interpreter_state.PRELOADED, self.start.modules)
        namespaces.Detached.look(self._modules.of_workspace, values)
        aliases = imported_modules.aliases(values)
        found, stale = self._pickled(values, aliases, patches)
        reasons: dict[str, str] = {}
        self._numbers, refused = descriptor_numbers.look(values, self._cells)
        for name in refused:
            found.pop(name, None)
        main, sys.modules["__main__"] = sys.modules["__main__"], self._new_main()
        try:  # whatever looks for itself in __main__ by name must not find itself: it would not be there when loaded
            units = self._partition.take(found, reasons)
        finally:
            sys.modules["__main__"] = main
        lost = [*self._lost(found | {name: values[name] for name in refused}, reasons | refused, cell), *stale]
        self.buffers.begin()
        buffers = [self._buffers(unit, sizes) for unit in units]
        extra = self._extra(futures)
        small = [
            *(unit.stream.data for unit in units if unit.stream.place is None),
            *(memoryview(data) for data in extra.values()),
        ]
        places, packs = self.packs.place(small, self.buffers.patches(), self.spool)
        self.buffers.place(places[len(small) :])
        rest = iter(places)
        of_units = {unit.names: unit.stream.place or next(rest) for unit in units}
        of_extra = dict(zip(extra, rest, strict=False))
        files = self._files(lost, sizes)
        outside = self._outside(lost, sizes)
        content = {
            "variables": {
                "order": list(values),
                "units": _described(units, of_units, buffers),
            },
            "modules": aliases,
            "packages": self._modules.versions,
            "extra": of_extra,
            "packs": packs,
            "files": files,
            **({"outside": outside} if outside else {}),
            "lost": lost,
        }
        id, new = self.spool.commit(manifest.pack(content, _blobs(content)))
        self.files_of = (id, files, outside, lost)
        self.packs.settle()
        self.buffers.settle()
        self._partition.settle(of_units)
        return id, new, lost

    def _new_main(self) -> ModuleType:
        """A module without variables, the same one each time: who compares `sys.modules` finds nothing new there."""
        vars(self._no_main).clear()
        self._no_main.__init__("__main__")  # type: ignore[misc]
        return self._no_main

    def _pickled(
        self, values: dict[str, Any], aliases: dict[str, str], patches: dict[str, Any]
    ) -> tuple[dict[str, Any], list[Lost]]:
        """What is pickled, variables and state of modules, by name; and the modules that are no longer their files."""
        found = {name: value for name, value in values.items() if name not in aliases}
        found |= {
            SETTING_PREFIX + name: value for name, value in interpreter_state.capture_settings(self.start).items()
        }
        found |= {SETTING_PREFIX + name: value for name, value in patches.items()}
        made = namespaces.registered(self._modules.made, self._cells)
        cloudpickle()._PICKLE_BY_VALUE_MODULES = {*made, *namespaces.Detached.names()}
        found |= {f"{SETTING_PREFIX}module {name}": module for name, module in made.items()}
        for name, one in self._modules.replaced.items():
            found[f"{SETTING_PREFIX}{registers.INSTEAD} {name}"] = one
        stale: list[Lost] = []
        self._earlier = {}
        for module_name, module in self._modules.of_workspace.items():
            if namespaces.is_made(module):  # without its file it is kept itself
                found[f"{SETTING_PREFIX}module {module_name}"] = module
                continue
            kept = module_state.capture(module)
            found |= {f"{MODULE_PREFIX}{module_name}:{path}:{name}": value for (path, name), value in kept.items()}
            if not module_state.is_stale(module):
                continue
            if (source := module_sources.source_of(module)) is not None:
                self._earlier[module_name] = source
            else:
                path = os.path.relpath(str(module.__file__), self._root)
                stale.append({"name": path, "type": "file", "reason": STALE.format(module_name)})
        return found, stale

    def restore_functions(self, names: list[str]) -> None:
        """Put the functions of the host where a snapshot had them."""
        restore_stubs(names, self._main.__dict__, self._own)

    @property
    def with_nans(self) -> frozenset[str]:
        """The variables that had a NaN among their objects in the last snapshot."""
        return self._partition.with_nans

    def variables(self) -> dict[str, Any]:
        """The user's variables, as they are now."""
        return user_variables(self._main, self._own)

    def _buffers(self, unit: Unit, sizes: dict[str, int]) -> list[dict[str, Any]]:
        total = unit.stream.size + sum(memoryview(buffer).nbytes for buffer in unit.stream.buffers)
        sizes[_shown(unit.names)] = total
        return [
            self.buffers.write((unit.names[0], number), buffer) for number, buffer in enumerate(unit.stream.buffers)
        ]

    def _files(self, lost: list[Lost], sizes: dict[str, int]) -> dict[str, Any]:
        try:
            files = self.files.take(self.spool, lost)
        except TooLargeError:
            sizes.update(self.files.sizes())
            raise
        return files

    def _outside(self, lost: list[Lost], sizes: dict[str, int]) -> dict[str, dict[str, Any]]:
        try:
            return self.outside.take(self.spool, lost)
        except TooLargeError:
            sizes.update(self.outside.sizes())
            raise

    def _extra(self, futures: int) -> dict[str, bytes]:
        """Small things that are not pickled: what comes first at a restore, and the source of the cells."""
        functions = stub_names(self._main.__dict__)
        names = {name: own for name, own in self._modules.other_names.items() if self._cells.name(name)}
        early = {
            **interpreter_state.early(self.start),
            "futures": futures,
            **({"functions": functions} if functions else {}),
            **({"names": names} if names else {}),
            **({"sources": self._earlier} if self._earlier else {}),
            **(
                {"taken out": taken_out}
                if (taken_out := imported_modules.taken_out(self._main.__dict__.values()))
                else {}
            ),
            **({"numbers": self._numbers} if self._numbers else {}),
        }
        return {"early": json.dumps(early).encode(), "imported": self._modules.written, **self._cells.streams()}

    def _lost(self, values: dict[str, Any], reasons: dict[str, str], cell: int) -> list[Lost]:
        lost: list[Lost] = []
        before, self.lost_since = self.lost_since, {}
        for name, reason in reasons.items():
            if name == LAST_RESULT:
                continue
            shown = shown_name(name)
            identity = id(values[name])
            known = before.get(shown)
            since = known[1] if known is not None and known[0] in (identity, 0) else cell
            self.lost_since[shown] = (identity, since)
            kind = type(values[name])
            lost.append({"name": shown, "type": type_name(kind), "reason": reason, "cell": since})
        more = {name: (what, reason) for name, what, reason in hooks.running()}
        for shown, (what, reason) in (self._partition.named | more).items():
            since = before.get(shown, (0, cell))[1]
            self.lost_since[shown] = (0, since)
            lost.append({"name": shown, "type": what, "reason": reason, "cell": since})
        return lost


def user_variables(main: ModuleType, own: dict[str, Any]) -> dict[str, Any]:
    """The variables of `__main__` that are the user's, without what the kernel put there."""
    return {
        name: value
        for name, value in list(main.__dict__.items())
        if type(name) is str
        and name not in EXCLUDED_NAMES
        and not name.startswith(":")
        and not (name in own and own[name] is value)
    }


def _described(
    units: list[Unit], places: dict[Names, Place], buffers: list[list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    """Units as a manifest has them: their variables, where the stream is, and the buffers beside it."""
    return [
        {
            "names": list(unit.names),
            "stream": places[unit.names],
            "buffers": kept,
            **({"code": True} if unit.stream.has_code else {}),
            **({"plain": True} if unit.plain else {}),
        }
        for unit, kept in zip(units, buffers, strict=True)
    ]


def _is_kept(value: Any) -> bool:
    """Whether the last result is small; what does not say how large it is counts as small."""
    kind, size = type(value), None
    with contextlib.suppress(Exception):  # these are an array's and a frame's, or anything of those names
        # Asked of the type first: what makes up attributes, such as a relation of duckdb, may ask a database for them.
        if not is_users(kind) and hasattr(kind, "nbytes"):
            size = value.nbytes
        if not is_users(kind) and callable(usage := getattr(kind, "memory_usage", None)):
            size = int(getattr(usage(value), "sum", lambda: 0)())
    if not isinstance(size, int):
        size = sys.getsizeof(value, 0)
    return size <= MAX_LAST_RESULT


def shown_name(name: str) -> str:
    """What people know a variable, a setting or an attribute of a module by."""
    return re.sub(":+", ".", name.removeprefix(SETTING_PREFIX).removeprefix(MODULE_PREFIX))


def module_key(name: str) -> tuple[str, module_state.Key]:
    """The module that a kept value is of, and where it is in it; earlier snapshots have variables only."""
    module, _, rest = name.removeprefix(MODULE_PREFIX).partition(":")
    path, _, variable = rest.rpartition(":")
    return module, (path, variable)


def _blobs(content: dict[str, Any]) -> set[str]:
    """All blobs that a manifest names."""
    found: set[str] = set(content["packs"])
    for unit in content["variables"]["units"]:
        found.update(unit["stream"].get("blobs", ()))
        for buffer in unit["buffers"]:
            found.update(blobs_of(buffer))
    for place in content["extra"].values():
        found.update(place.get("blobs", ()))
    for entries in (content["files"], *content.get("outside", {}).values()):
        for entry in entries.values():
            found.update(entry.get("chunks", ()))
    return found


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Let what pickling runs print and warn into nothing."""
    filters, shown = warnings.filters, warnings.showwarning
    warnings.showwarning = lambda *_args, **_options: None
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        warnings.filters, warnings.showwarning = filters, shown


def _answer(began: float, **content: Any) -> dict[str, Any]:
    empty: dict[str, Any] = {"id": "", "new": [], "bytes": 0, "lost": [], "refused": ""}
    return {**empty, **content, "seconds": time.perf_counter() - began}


def _too_large(limit: int, sizes: dict[str, int]) -> str:
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:5]
    named = ", ".join(f"{name} ({size / 1e6:,.1f} MB)" for name, size in largest if size)
    return (
        f"The snapshot would write more than the {limit / 1e6:,.1f} MB that one may have; nothing of it was kept. "
        f"The largest variables and files: {named}."
    )


def _shown(names: tuple[str, ...]) -> str:
    users = [name for name in names if not name.startswith(":")] or ["settings"]
    return " + ".join(users[:3]) + (f" + {len(users) - 3} more" if len(users) > 3 else "")


def type_name(kind: type) -> str:
    """A type as it is called in a table of what was lost."""
    module = kind.__module__
    return kind.__qualname__ if module in ("builtins", "__main__") else f"{module}.{kind.__qualname__}"
