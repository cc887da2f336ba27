"""Brings a session to a snapshot and leaves in it what was made again, with the very objects that it shares."""

import contextlib
import io
import os
import sys
import warnings
from collections.abc import Iterator
from pickle import PickleBuffer
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ..snapshots import ambient
from ..snapshots.blobs import hash_of
from ..snapshots.borrowed import cloudpickle
from ..snapshots.pickling import Stream, load
from ..snapshots.reducers import Reducers
from ..snapshots.restoring import Part
from ..snapshots.taking import AMBIENT, MODULE, NOT_KEPT
from .comparing import same_graph
from .walking import Reach


class Settling:
    """Decides for each unit of a snapshot whether the living objects are it.

    Args:
        main: The session's `__main__`, in which the cells have run.
        made: The variables that were made again; what shares something that differs is taken out.
        own: What the kernel put into `__main__`.
    """

    def __init__(self, main: ModuleType, made: dict[str, Any], own: dict[str, Any]) -> None:
        self._main = main
        self._own = own
        self._reach = {name: Reach([value], main) for name, value in made.items()}
        self.made = made
        self.refused: dict[str, str] = {}
        """What was made again and cannot stay, and why."""

    def keep(self, parts: list[Part]) -> tuple[dict[str, Any], list[Part]]:
        """Keep alive what is shared.

        Returns:
            The variables that stay, and the units that are to be loaded.
        """
        kept: dict[str, Any] = dict(self.made)
        left: list[Part] = []
        for part in parts:
            if all(name in self.made for name in part.names):
                continue  # the snapshot has them, and they cannot be loaded here
            values = self._living(part)
            sharing = self._sharing(values) if values else []
            if sharing and same(values, part):
                kept.update(values)
                continue
            left.append(part)
            shown = ", ".join(name.replace(":", " ").strip() for name in part.names)[:200]
            for name in sharing:
                self.made.pop(name, None)
                self.refused[name] = f"running its cells again gave another {shown}, which it shares"
        for name in self.refused:
            kept.pop(name, None)
        return kept, left

    def _living(self, part: Part) -> dict[str, Any]:
        """The variables of a unit as they are now."""
        found: dict[str, Any] = {}
        for name in part.names:
            space, variable = self._main.__dict__, name
            if name.startswith(MODULE):
                module, _, variable = name.removeprefix(MODULE).partition(":")
                space = getattr(sys.modules.get(module), "__dict__", {})
            if not name.startswith(AMBIENT) and variable in space:
                found[name] = space[variable]
        return found

    def _sharing(self, values: dict[str, Any]) -> list[str]:
        """Which of what was made again has its hands on the objects of a unit."""
        objects = dict.fromkeys(map(id, (value for value in values.values() if not _constant(value))))
        try:
            with quiet():
                memo = Stream(values, Reducers()).memo()
            objects |= dict.fromkeys(identity for identity, (_, value) in memo.items() if not _constant(value))
        except Exception:  # pickling runs the code of whatever it meets
            return list(self.made)
        return [
            name
            for name in self.made
            if objects and (not self._reach[name].complete or any(key in self._reach[name].found for key in objects))
        ]

    def clear(self, kept: dict[str, Any]) -> None:
        """Take everything else out of `__main__`."""
        namespace = self._main.__dict__
        for name in list(namespace):
            if name not in NOT_KEPT and name not in kept:
                del namespace[name]
        namespace.pop("_", None)
        namespace.update(self._own)
        # Else a class that is loaded now would be the one of the same origin that was just taken out.
        cloudpickle()._DYNAMIC_CLASS_TRACKER_BY_ID.clear()


def same(values: dict[str, Any], part: Part) -> bool:
    """Whether living variables hold the same as a unit: as one graph of objects, not only one by one."""
    if set(values) != set(part.names):
        return False
    try:
        with quiet(), _nameless_classes():
            now = Stream({name: values[name] for name in part.names}, Reducers())
            if now.data == part.stream and _equal(now.buffers, part.buffers):
                return True
            # A set has another order in each process: compare with what the snapshot's objects give in this one.
            loaded = dict(load(part.stream, part.buffers, len(part.names)))
            then = Stream({name: loaded[name] for name in part.names}, Reducers())
            return same_graph(now.data, then.data) and _equal(now.buffers, then.buffers)
    except (Exception, SystemExit):  # pickling and loading run the code of whatever they meet
        return False


@contextlib.contextmanager
def _nameless_classes() -> Iterator[None]:
    """Pickle and load classes of cells without the identities by which cloudpickle finds them again.

    They differ from process to process; and a class that is loaded only to be compared must not become the living one.
    """
    borrowed = cloudpickle()
    before = borrowed._get_or_create_tracker_id, borrowed._lookup_class_or_track
    borrowed._get_or_create_tracker_id = lambda kind: f"{kind.__module__}.{kind.__qualname__}"
    borrowed._lookup_class_or_track = lambda identity, kind: kind
    try:
        yield
    finally:
        borrowed._get_or_create_tracker_id, borrowed._lookup_class_or_track = before


def _equal(first: list[PickleBuffer], second: list[Any]) -> bool:
    pairs = list(zip(first, second, strict=False))
    flat = [(memoryview(PickleBuffer(one).raw()), memoryview(PickleBuffer(two).raw())) for one, two in pairs]
    return len(first) == len(second) and all(
        one.nbytes == two.nbytes and (hash_of(one) == hash_of(two)) for one, two in flat
    )


def _constant(value: Any) -> bool:
    """Whether it makes no difference which of two equal ones something holds."""
    kind = type(value)
    if kind in (tuple, frozenset):
        return all(_constant(item) for item in value)
    if issubclass(kind, type):
        return bool(value.__module__ != "__main__")
    return kind in (str, bytes, int, float, complex, bool, type(None), FunctionType, ModuleType, CodeType)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Let what pickling prints and warns into nothing, and hide `__main__` as when a snapshot is taken."""
    main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.modules["__main__"] = main


def unsettle(start: ambient.Start) -> None:
    """Take back what base and cells did to the environment and the search path; the snapshot's own follows."""
    for name in list(os.environ):
        if name not in start.environment:
            del os.environ[name]
    os.environ.update(start.environment)
    sys.path[:] = start.path
    sys.setrecursionlimit(start.recursion)
