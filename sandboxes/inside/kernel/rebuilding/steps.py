"""What the manifests say of each step: which variables there were, and whether a cell changed them."""

from typing import Any

from ..snapshots import manifest, packs
from ..snapshots.blobs import Blobs, MissingBlobError, hash_of
from ..snapshots.pickling import load
from .names import Reading


class Held:
    """A variable as a snapshot has it."""

    def __init__(self, content: object, mates: tuple[str, ...], *, plain: bool, code: bool) -> None:
        self.content = content
        """Equal when the variable has not changed."""
        self.mates = mates
        """The variables that share objects with it."""
        self.plain = plain
        """Whether it is a single value, which cannot change but only be bound anew."""
        self.code = code
        """Whether it holds functions or classes of cells."""


class Table:
    """The variables of one snapshot: those that it has, and those that were lost.

    Args:
        id: The snapshot.
        blobs: Where it is.

    Raises:
        MissingBlobError: its manifest cannot be read.
    """

    def __init__(self, id: str, blobs: Blobs) -> None:
        content = manifest.unpack(blobs.read(id))
        self._blobs, self._packs, self._cache = blobs, content["packs"], dict[str, bytes]()
        self.held: dict[str, Held] = {}
        self.lost: dict[str, tuple[int, str]] = {
            lost["name"]: (lost.get("cell", 0), lost["type"])
            for lost in content["lost"]
            if lost["name"].isidentifier() and lost["type"] != "file"
        }
        for name, module in content["modules"].items():
            self.held[name] = Held(module, (), plain=True, code=False)
        for unit in content["variables"]["units"]:
            self._add(unit)

    def _add(self, unit: dict[str, Any]) -> None:
        names = tuple(name for name in unit["names"] if not name.startswith(":"))
        if not names:
            return
        try:
            stream = packs.read(unit["stream"], self._packs, self._blobs, self._cache)
        except MissingBlobError:
            stream = b""
        if unit.get("plain") and stream:
            for name, value in load(stream, [], len(unit["names"])):
                self.held[name] = Held((type(value), repr(value)), (), plain=True, code=False)
            return
        place = hash_of(stream) if stream else repr(unit["stream"]) + repr(self._packs)
        content = (place, tuple(tuple(buffer["blobs"]) for buffer in unit["buffers"]))
        for name in names:
            self.held[name] = Held(content, names, plain=False, code=bool(unit.get("code")))


class Step:
    """A cell that took effect, and the snapshot after it.

    Args:
        said: `number`, `code`, `status`, `seconds`, `reached` and `snapshot` (empty: there is none).
        blobs: Where snapshots are.
    """

    def __init__(self, said: dict[str, Any], blobs: Blobs) -> None:
        self.number: int = said["number"]
        self.status: str = said["status"]
        self.seconds: float = said["seconds"]
        self.reached: list[str] = said["reached"]
        self.reading = Reading(said["code"])
        self.table: Table | None = None
        if said["snapshot"]:
            try:
                self.table = Table(said["snapshot"], blobs)
            except (MissingBlobError, KeyError, TypeError):
                self.table = None
        self.reads: frozenset[str] = frozenset(self.reading.reads)
        """Including what the functions read that it calls."""
        self.binds: frozenset[str] = frozenset(self.reading.binds)


def read_steps(said: list[dict[str, Any]], blobs: Blobs) -> list[Step]:
    """The steps of a thread, in order; what functions do counts for the cells that call them."""
    steps = [Step(one, blobs) for one in said]
    carries: dict[str, set[tuple[frozenset[str], frozenset[str]]]] = {}
    last: frozenset[str] = frozenset()
    before: Table | None = None
    for index, step in enumerate(steps):
        reading = step.reading
        _learn(carries, step)
        reads, binds = set(reading.reads), set(reading.binds)
        if "_" in reads:
            reads |= last
        left = list(reads)
        while left:
            for more, bound in carries.get(left.pop(), ()):
                left += more - reads
                reads |= more
                binds |= bound
        if step.table is not None and (before is not None or index == 0):
            there = set(before.held) | set(before.lost) if before is not None else set[str]()
            binds |= (set(step.table.held) | set(step.table.lost)) - there
        step.reads, step.binds = frozenset(reads), frozenset(binds)
        last, before = reading.last or last, step.table
    return steps


def _learn(carries: dict[str, set[tuple[frozenset[str], frozenset[str]]]], step: Step) -> None:
    """Note what functions the names of a cell lead to."""
    for name, uses in step.reading.carries.items():
        if _may_call(step, name):
            carries.setdefault(name, set()).update(uses)
    for names in step.reading.flows:
        together = set().union(*(carries.get(name, set()) for name in names))
        if together:
            for name in names:
                if name not in carries and _may_call(step, name):
                    carries[name] = set(together)


def _may_call(step: Step, name: str) -> bool:
    """Whether there may be a function of a cell behind a name."""
    if step.table is None:
        return True
    held = step.table.held.get(name)
    return name in step.table.lost or (held is not None and held.code)
