"""Reads single variables and files of an earlier snapshot, into copies that share nothing with the session.

Nothing of the session is restored or changed: of the snapshot only the unit is read that holds the variable. Functions
of it find the other variables of their step, each loaded when it is looked for, and none of the session's.
"""

import builtins
import importlib
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import chain
from typing import Any

from .current_session import FOLDERS, INSIDE, CurrentSession
from .load import RawUnit
from .partial_loading import load_partially
from .pickling import load
from .private_cloudpickle import nameless_classes
from .save import LAST_RESULT
from .storing import loaded_memory, manifest
from .storing.blobs import THREADS, Blobs, MissingBlobError
from .storing.buffers import FillingBuffer, blobs_of, packs_of, patch
from .storing.copied_buffers import nothing_copied, worth_asking
from .units import reason_of

SHOWN = 30
"""Names that a message lists."""
AT_ONCE, MAX_REQUESTS = 24, 40
"""Blobs that are asked for at a time, and how often that is done at most for one unit."""
MAX_LINKS = 8
"""Links that are followed to a file."""
BESIDE = ("-wal", "-journal", ".wal")
"""How the names of files end that sqlite and duckdb write beside a database."""

Supply = Callable[[Sequence[str]], None]
"""Has the host lay out blobs of the snapshot."""
Copied = Callable[[Sequence[str], dict[int, memoryview]], set[int]]
"""Fills memory with buffers of a unit, by their numbers in it, and says which are there."""


class StepError(KeyError):
    """An earlier step does not have what was asked of it; the message says why in a sentence."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


# Cells catch it by its name alone, and a snapshot names it.
StepError.__module__ = "builtins"
builtins.StepError = StepError  # type: ignore[attr-defined]


class EarlierVariables(dict[str, Any]):
    """The variables of an earlier step as globals of its functions; each is loaded when it is looked for."""

    def __init__(self, snapshot: "EarlierSnapshot") -> None:
        super().__init__(__name__="__main__", __builtins__=builtins)
        self._snapshot = snapshot

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._snapshot.names

    def __missing__(self, name: str) -> Any:
        if name not in self._snapshot.names:
            raise KeyError(name)
        return self._snapshot.variable(name)


class _Main:
    """Stands for `__main__` while variables of an earlier step are loaded."""

    def __init__(self, namespace: EarlierVariables) -> None:
        self.__dict__ = namespace


class EarlierSnapshot:
    """One earlier snapshot; what was loaded of it stays loaded as long as this object is kept.

    Args:
        step: What it is called.
        content: Its manifest.
        blobs: Where blobs are once they were supplied.
        supply: Has the host lay out those that are not there.
        folder: Where copies of its files go.
        copied: What large buffers come from where the step is in memory.
    """

    def __init__(
        self,
        step: str,
        content: dict[str, Any],
        blobs: Blobs,
        supply: Supply,
        folder: str,
        copied: Copied = nothing_copied,
    ) -> None:
        self._step = step
        self._content = content
        self._blobs = blobs
        self._supply = supply
        self._folder = folder
        self._copied = copied
        self._namespace = EarlierVariables(self)
        self._units = {name: unit for unit in content["variables"]["units"] for name in unit["names"]}
        self._loading: list[dict[str, Any]] = []
        self._broken: dict[str, str] = {}
        lost = {one["name"] for one in content["lost"]}
        self.names = dict.fromkeys(name for name in content["variables"]["order"] if name not in (*lost, LAST_RESULT))
        """The variables, in the order in which they were made."""

    def variable(self, name: str) -> Any:
        """A variable as it was, or `_`, which is none of the names; the same object each time.

        Raises:
            StepError: there is none of that name, it was not kept, or it cannot be loaded.
        """
        if name not in self.names and name != LAST_RESULT:
            raise StepError(self._why_not(name))
        if not dict.__contains__(self._namespace, name):
            self._load(name)
        if name in self._broken:
            raise StepError(f"{name} of {self._step} cannot be loaded: {self._broken[name]}.")
        return dict.__getitem__(self._namespace, name)

    def _why_not(self, name: str) -> str:
        lost = next((one for one in self._content["lost"] if one["name"] == name), None)
        if lost is not None:
            return f"{name} of {self._step}, a {lost['type']}, was not kept: {lost['reason'].rstrip('.')}."
        return f"{self._step.capitalize()} has no variable {name!r}; {_listed(list(self.names))}."

    def _load(self, name: str) -> None:
        module = self._content["modules"].get(name)
        if module is not None:
            try:
                self._namespace[name] = importlib.import_module(module)
            except Exception as error:  # a module may do anything when it is imported
                self._broken[name] = reason_of(error)
            return
        unit = self._units.get(name)
        if unit is None or unit in self._loading:
            self._broken[name] = "it is needed while it is loaded itself" if unit else "its snapshot does not hold it"
            return
        if unit.get("code") and self._content["cache_tag"] != manifest.cache_tag():
            self._broken[name] = f"it holds code of {self._content['cache_tag']}, and this is {manifest.cache_tag()}"
            return
        self._loading.append(unit)
        try:
            self._load_unit(self._read(unit))
        finally:
            self._loading.remove(unit)

    def _load_unit(self, part: RawUnit) -> None:
        found: dict[str, Any] = {}
        with _apart(_Main(self._namespace), self._held_file):
            try:
                for name, value in load(part.stream, part.buffers, len(part.names)):
                    found[name] = self._namespace[name] = value
            except (Exception, SystemExit) as error:  # loading runs the code of what is loaded
                reasons = dict.fromkeys(part.names, reason_of(error))
                for name in found:
                    del self._namespace[name]
                if len(part.names) > 1:
                    found, reasons = load_partially(part.stream, part.buffers, part.names)
                    self._namespace.update(found)
                self._broken |= reasons

    def _read(self, unit: dict[str, Any]) -> RawUnit:
        """Read and check a unit, its blobs supplied first.

        Raises:
            StepError: a blob is missing or damaged.
        """
        packs, stream = self._content["packs"], unit["stream"]
        try:
            with manifest.fitting():
                names = [*manifest.packs_of(stream, packs), *stream.get("blobs", ())]
                buffers = [loaded_memory.fresh(buffer["size"]) for buffer in unit["buffers"]]
                parts = [[*blobs_of(buffer), *packs_of(buffer, packs)] for buffer in unit["buffers"]]
                if not all(isinstance(name, str) for name in (*names, *chain(*parts))):
                    raise TypeError
                asking_copy = worth_asking(unit)
        except MissingBlobError as error:
            raise self._unreadable(error) from None
        there: set[int] = set()
        if asking_copy:
            there = self._copied(unit["names"], {number: memoryview(buffer) for number, buffer in enumerate(buffers)})
        left = [pair for number, pair in enumerate(zip(buffers, unit["buffers"], strict=True)) if number not in there]
        names += chain(*(part for number, part in enumerate(parts) if number not in there))
        try:
            with ThreadPoolExecutor(1) as asking, ThreadPoolExecutor(THREADS) as pool:
                wait = self._supply_ahead(asking, names)
                for buffer in [FillingBuffer(pool, self._blobs, memoryview(into), one, wait) for into, one in left]:
                    buffer.digests()
                for name in names:
                    wait(name)
            cache: dict[str, bytes] = {}
            data = manifest.read(stream, packs, self._blobs, cache)
            for target, buffer in left:
                patch(memoryview(target), buffer, packs, self._blobs, cache)
        except MissingBlobError as error:
            raise self._unreadable(error) from None
        return RawUnit(unit, data, buffers)

    def _unreadable(self, error: MissingBlobError) -> StepError:
        return StepError(f"The snapshot of {self._step} cannot be read: {error}.")

    def _supply_ahead(self, asking: ThreadPoolExecutor, names: Sequence[str]) -> Callable[[str], object]:
        """Have blobs laid out while those before them are read.

        Returns:
            What waits until one of them is there.
        """
        lacking = [name for name in dict.fromkeys(names) if not self._blobs.has(name)]
        size = max(AT_ONCE, len(lacking) // MAX_REQUESTS + 1)
        coming: dict[str, Any] = {}
        for start in range(0, len(lacking), size):
            some = lacking[start : start + size]
            coming |= dict.fromkeys(some, asking.submit(self._supply, some))
        return lambda name: coming[name].result() if name in coming else None

    def _supply_missing(self, names: Sequence[str]) -> None:
        lacking = [name for name in dict.fromkeys(names) if not self._blobs.has(name)]
        if lacking:
            self._supply(lacking)

    def write_file(self, path: str, variable: str = "") -> str:
        """Write a copy of a file, as it was.

        Args:
            path: Its path in the workspace, or in another folder of the session.
            variable: What names that folder.

        Returns:
            Where the copy is.

        Raises:
            FileNotFoundError: there is none of that name.
            IsADirectoryError: it is a folder.
            StepError: a blob is missing or damaged.
        """
        files = self._content.get("outside", {}).get(variable, {}) if variable else self._content["files"]
        path, entry = self._entry(os.path.normpath(path), files)
        if "chunks" not in entry or entry.get("tree"):
            raise IsADirectoryError(f"{path} of {self._step} is a folder.")
        target = os.path.join(self._folder, variable and f".{variable}", path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        partial = f"{target}.{os.getpid()}"
        try:
            self._supply_missing(entry["chunks"])
            with open(partial, "wb") as file:
                for chunk in entry["chunks"]:
                    file.write(self._blobs.read(chunk))
        except MissingBlobError as error:
            os.unlink(partial)
            raise StepError(f"The snapshot of {self._step} cannot be read: {error}.") from None
        os.chmod(partial, 0o444)
        os.utime(partial, ns=(entry["mtime"], entry["mtime"]))
        os.replace(partial, target)
        return target

    def _held_file(self, mark: str, path: str) -> str:
        """A copy of the file that a variable has open, with what a database has written beside it."""
        if mark == INSIDE and path.startswith("inputs/"):  # these are the same at all steps
            return os.path.join(CurrentSession.root, path)
        variable = FOLDERS.get(mark, "")
        for name in (path + ending for ending in BESIDE):
            with suppress(FileNotFoundError):
                self.write_file(name, variable)
        return self.write_file(path, variable)

    def _entry(self, path: str, files: dict[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
        for _ in range(MAX_LINKS):
            link = files.get(path, {}).get("link")
            if link is None:
                break
            path = os.path.normpath(os.path.join(os.path.dirname(path), link))
        if path not in files or path.startswith(("/", "../")):
            known = [name for name, entry in files.items() if "chunks" in entry]
            raise FileNotFoundError(f"{self._step.capitalize()} has no file {path!r}; {_listed(known)}.")
        return path, files[path]


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"it has {', '.join(names[:SHOWN])}{more}" if names else "it has none"


@contextmanager
def _apart(main: Any, file: Callable[[str, str], str]) -> Iterator[None]:
    """Let what is loaded be of another `__main__` and other files than the session's, and classes of cells be new."""
    CurrentSession.remember_streams()
    before, CurrentSession.main = CurrentSession.main, main
    outer, CurrentSession.earlier_file = CurrentSession.earlier_file, file
    try:
        with nameless_classes(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        CurrentSession.main, CurrentSession.earlier_file = before, outer
