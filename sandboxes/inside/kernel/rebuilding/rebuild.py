"""Run the cells that lost variables need, and keep of them only what was asked for."""

import contextlib
import gc
import io
import json
import os
import pickletools
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pickle import PickleBuffer
from types import BuiltinFunctionType, CodeType, FunctionType, MethodDescriptorType, ModuleType, WrapperDescriptorType
from typing import Any

from ..cells import Cells
from ..own_library import own_library
from ..snapshots.current_session import CurrentSession
from ..snapshots.load import RawUnit, SnapshotReader
from ..snapshots.modules import module_state
from ..snapshots.pickling import Stream, load
from ..snapshots.private_cloudpickle import cloudpickle, nameless_classes
from ..snapshots.reducers import Reducers
from ..snapshots.save import EXCLUDED_NAMES, MODULE_PREFIX, SETTING_PREFIX, SnapshotWriter, module_key, type_name
from ..snapshots.session_state import interpreter_state
from ..snapshots.singletons import SINGLETONS
from ..snapshots.storing import manifest
from ..snapshots.storing.blobs import Blobs, MissingBlobError, hash_of

MOST = 5_000_000
"""Objects that are looked at."""
HAS_REFERENCES = 1 << 14
"""`Py_TPFLAGS_HAVE_GC`: the interpreter knows what objects of the type refer to."""
LEAVES = (
    str, bytes, bytearray, int, float, complex, bool, type(None), type(...), type(NotImplemented), range, CodeType,
    MethodDescriptorType, WrapperDescriptorType,
)  # fmt: skip


class ReachableObjects:
    """All objects that can be reached from some.

    Args:
        values: Where to begin.
        main: The session's `__main__`; that functions have its variables for globals does not count.
    """

    def __init__(self, values: list[Any], main: ModuleType) -> None:
        self.complete = True
        """False when something is among them whose references nobody knows, or when there are too many."""
        self._stop = {id(sys.modules), id(main), id(main.__dict__)}
        for module in list(sys.modules.values()):
            self._stop.update((id(module), id(getattr(module, "__dict__", None))))
        self.found: dict[int, Any] = {}
        """By identity; what is in it stays alive."""
        left = list(values)
        while left:
            value = left.pop()
            if id(value) in self.found or id(value) in self._stop:
                continue
            if len(self.found) >= MOST:
                self.complete = False
                return
            self.found[id(value)] = value
            left += self._references(value)

    def _references(self, value: Any) -> list[Any]:
        kind = type(value)
        if kind in LEAVES:
            return []
        if kind is BuiltinFunctionType:  # that of a writer of csv is the method of a file
            return [] if isinstance(value.__self__, ModuleType) else [value.__self__]
        numpy = sys.modules.get("numpy")
        if numpy is not None and issubclass(kind, numpy.ndarray):
            inside = value.ravel().tolist() if value.dtype.hasobject and value.dtype.names is None else []
            return [value.base, *inside]
        if numpy is not None and issubclass(kind, numpy.generic | numpy.dtype):
            return []
        if issubclass(kind, type) and value.__module__ != "__main__":
            return []
        if not kind.__flags__ & HAS_REFERENCES and not _is_simple(kind):
            self.complete = False
        return gc.get_referents(value)


def _is_simple(kind: type) -> bool:
    return kind.__module__ in ("datetime", "decimal", "_thread", "_decimal", "uuid", "re", "builtins")


TEXT = frozenset({"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "SHORT_BINBYTES", "BINBYTES", "BINBYTES8"})
PLAIN = TEXT | {"NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT"}
GET = frozenset({"BINGET", "LONG_BINGET"})
UNORDERED = frozenset({"ADDITEMS", "FROZENSET"})

Token = tuple[str, Any]


def same_graph(first: memoryview, second: memoryview) -> bool:
    """Whether two streams hold the same objects, shared in the same way.

    Which equal strings are one object does not count: Python shares those of code and of attributes as it pleases.
    The order of plain values in a set does not count either: it depends on how the set came about.
    """
    return first == second or tokens(bytes(first)) == tokens(bytes(second))


def tokens(data: bytes) -> list[Token]:
    """The operations of a stream, with strings themselves in place of references to them, and sets sorted."""
    stream = io.BytesIO(data)
    places: list[Token] = [("REFERENCE", place) for place in range(len(SINGLETONS))]
    shared = len(places)
    found: list[Token] = []
    marks: list[int] = []
    while stream.tell() < len(data):
        for operation, argument, _ in pickletools.genops(stream):
            name = operation.name
            if name == "MEMOIZE":
                if found[-1][0] in TEXT:
                    places.append(found[-1])
                else:
                    places.append(("REFERENCE", shared))
                    shared += 1
            elif name == "MARK":
                marks.append(len(found))
            elif name == "FRAME":
                continue
            elif operation.stack_before and pickletools.markobject in operation.stack_before:
                start = marks.pop()
                if name in UNORDERED and all(token[0] in PLAIN for token in found[start:]):
                    found[start:] = sorted(found[start:], key=repr)
                found.append((name, len(found) - start))
            elif name in GET:
                found.append(places[int(argument or 0)])
            else:
                found.append((name, argument))
    return found


class Reconciliation:
    """Decides for each unit of a snapshot whether the living objects are it.

    Args:
        main: The session's `__main__`, in which the cells have run.
        made: The variables that were made again; what shares something that differs is taken out.
        own: What the kernel put into `__main__`.
    """

    def __init__(self, main: ModuleType, made: dict[str, Any], own: dict[str, Any]) -> None:
        self._main = main
        self._own = own
        self._reach = {name: ReachableObjects([value], main) for name, value in made.items()}
        self.made = made
        self.refused: dict[str, str] = {}
        """What was made again and cannot stay, and why."""

    def keep(self, parts: list[RawUnit]) -> tuple[dict[str, Any], list[RawUnit]]:
        """Keep alive what is shared.

        Returns:
            The variables that stay, and the units that are to be loaded.
        """
        kept: dict[str, Any] = dict(self.made)
        left: list[RawUnit] = []
        for part in parts:
            if all(name in self.made for name in part.names):
                continue  # the snapshot has them, and they cannot be loaded here
            values = self._live_values(part)
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

    def _live_values(self, part: RawUnit) -> dict[str, Any]:
        """The variables of a unit as they are now."""
        found: dict[str, Any] = {}
        for name in part.names:
            space, variable = self._main.__dict__, name
            if name.startswith(MODULE_PREFIX):
                module, (path, variable) = module_key(name)
                space = module_state.values_at(sys.modules.get(module), path)
            if not name.startswith(SETTING_PREFIX) and variable in space:
                found[name] = space[variable]
        return found

    def _sharing(self, values: dict[str, Any]) -> list[str]:
        """Names of the recomputed variables that refer to objects of a unit."""
        objects = dict.fromkeys(map(id, (value for value in values.values() if not _constant(value))))
        try:
            with hidden_main():
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
            if name not in EXCLUDED_NAMES and name not in kept:
                del namespace[name]
        namespace.pop("_", None)
        namespace.update(self._own)
        # Else a class that is loaded now would be the one of the same origin that was just taken out.
        cloudpickle()._DYNAMIC_CLASS_TRACKER_BY_ID.clear()


def same(values: dict[str, Any], part: RawUnit) -> bool:
    """Whether living variables hold the same as a unit: as one graph of objects, not only one by one."""
    if set(values) != set(part.names):
        return False
    try:
        with hidden_main(), nameless_classes():
            now = Stream({name: values[name] for name in part.names}, Reducers())
            if now.data == part.stream and _equal(now.buffers, part.buffers):
                return True
            # A set has another order in each process: compare with what the snapshot's objects give in this one.
            loaded = dict(load(part.stream, part.buffers, len(part.names)))
            then = Stream({name: loaded[name] for name in part.names}, Reducers())
            return same_graph(now.data, then.data) and _equal(now.buffers, then.buffers)
    except (Exception, SystemExit):  # pickling and loading run the code of whatever they meet
        return False


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
def hidden_main() -> Iterator[None]:
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


def reset_interpreter_state(start: interpreter_state.StartState) -> None:
    """Take back what base and cells did to the environment and the search path; the snapshot's own follows."""
    for name in list(os.environ):
        if name not in start.environment:
            del os.environ[name]
    os.environ.update(start.environment)
    sys.path[:] = start.path
    sys.setrecursionlimit(start.recursion)


EMPTY = {name: {"folder": True, "mode": 0o755} for name in ("outputs", "figures")}

Run = Callable[[str, int], str]
"""Run a cell, given its code and number, and say what it raised; empty when it ended well."""


class Rebuild:
    """Makes lost variables again.

    Args:
        main: The session's `__main__`, empty.
        own: What the kernel put there.
        taking: What takes the session's snapshots.
        blobs: Where snapshots are.
        cells: Knows which compiler flags earlier cells have set.
        run: Runs a cell.
    """

    def __init__(
        self, main: ModuleType, own: dict[str, Any], taking: SnapshotWriter, blobs: Blobs, cells: Cells, run: Run
    ) -> None:
        self._main = main
        self._own = own
        self._taking = taking
        self._blobs = blobs
        self._cells = cells
        self._run = run

    def rebuild(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Do it.

        Args:
            asked: `snapshot`, `base` (the snapshot to start from; empty: none), `cells` (`number`, `code`, `before`:
                the snapshot before it when the cell before it does not run), `names` (name → type) and `seconds`.

        Returns:
            The content of the kernel's answer: that of a restore, with `rebuilt`; or `broken_off`, with the `cell`.
        """
        if asked["base"]:
            answer = SnapshotReader(self._main, self._taking, self._blobs).restore(asked["base"])
            if answer["problem"]:
                return _broken_off(0, answer["problem"])
            self._cells.futures = answer["futures"]
        else:
            CurrentSession.remember_streams()
            self._taking.files.restore(EMPTY, self._blobs)
            self._taking.outside.restore({}, self._blobs)
        with _alarm(asked["seconds"]):
            for cell in asked["cells"]:
                try:
                    if cell["before"] and cell["before"] != asked["base"]:
                        self._restore_environment(cell["before"])
                except (MissingBlobError, OSError) as error:
                    return _broken_off(cell["number"], f"its files cannot be brought back ({error})")
                if problem := self._run(cell["code"], cell["number"]):
                    return _broken_off(cell["number"], problem)
        made, refused = self._made(asked["names"])
        settling = Reconciliation(self._main, made, self._own)
        self._taking.lost_since.clear()
        reset_interpreter_state(self._taking.start)
        own_library().builtins.forget()
        answer = SnapshotReader(self._main, self._taking, self._blobs, settling).restore(asked["snapshot"])
        refused |= settling.refused
        lost = [
            {**one, "reason": f"{one['reason']}; {refused[one['name']]}"} if one["name"] in refused else one
            for one in answer["lost"]
            if one["name"] not in made
        ]
        return {**answer, "lost": lost, "rebuilt": list(made), "broken_off": "", "cell": 0}

    def _made(self, names: dict[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
        """What is there again, and why the rest is not."""
        made: dict[str, Any] = {}
        refused: dict[str, str] = {}
        for name, before in names.items():
            if name not in self._main.__dict__:
                refused[name] = "running its cells again did not make it"
            elif (now := type_name(type(self._main.__dict__[name]))) != before and before:
                refused[name] = f"running its cells again made a {now}"
            else:
                made[name] = self._main.__dict__[name]
        return made, refused

    def _restore_environment(self, id: str) -> None:
        """Bring files and settings to a snapshot, and leave the variables.

        Raises:
            MissingBlobError: a blob is missing or damaged.
            OSError: the workspace cannot be written.
        """
        content = manifest.unpack(self._blobs.read(id))
        self._taking.files.restore(content["files"], self._blobs)
        self._taking.outside.restore(content.get("outside", {}), self._blobs)
        cache: dict[str, bytes] = {}
        early = manifest.read(content["extra"]["early"], content["packs"], self._blobs, cache)
        reset_interpreter_state(self._taking.start)
        interpreter_state.restore_early_state(json.loads(early))
        settings: dict[str, Any] = {}
        for unit in content["variables"]["units"]:
            if all(name.startswith(SETTING_PREFIX) for name in unit["names"]) and not (
                unit["buffers"] or unit.get("code")
            ):
                stream = manifest.read(unit["stream"], content["packs"], self._blobs, cache)
                settings.update(load(stream, [], len(unit["names"])))
        interpreter_state.restore_settings(
            {name.removeprefix(SETTING_PREFIX): value for name, value in settings.items()}
        )


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Interrupt whatever runs after so long."""
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _broken_off(cell: int, why: str) -> dict[str, Any]:
    return {"restored": [], "lost": [], "versions": [], "problem": "", "broken_off": why, "cell": cell}
