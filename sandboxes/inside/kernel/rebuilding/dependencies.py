"""Which cells lost variables need: what manifests say of each step, followed back from those variables."""

from typing import Any

from ..snapshots.pickling import load
from ..snapshots.storing import manifest
from ..snapshots.storing.blobs import Blobs, MissingBlobError, hash_of
from ..snapshots.storing.buffers import blobs_of
from .cell_code import OPAQUE, OPAQUE_ATTRIBUTES, NameUse


class SavedVariable:
    """A variable as a snapshot has it."""

    def __init__(self, content: object, shares_with: tuple[str, ...], *, plain: bool, code: bool) -> None:
        self.content = content
        """Equal when the variable has not changed."""
        self.shares_with = shares_with
        """The variables that share objects with it."""
        self.plain = plain
        """Whether it is a single value, which cannot change but only be bound anew."""
        self.code = code
        """Whether it holds functions or classes of cells."""


class VariableTable:
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
        self.held: dict[str, SavedVariable] = {}
        self.lost: dict[str, tuple[int, str]] = {
            lost["name"]: (lost.get("cell", 0), lost["type"])
            for lost in content["lost"]
            if lost["name"].isidentifier() and lost["type"] != "file"
        }
        for name, module in content["modules"].items():
            self.held[name] = SavedVariable(module, (), plain=True, code=False)
        for unit in content["variables"]["units"]:
            self._add(unit)

    def _add(self, unit: dict[str, Any]) -> None:
        names = tuple(name for name in unit["names"] if not name.startswith(":"))
        if not names:
            return
        try:
            stream = manifest.read(unit["stream"], self._packs, self._blobs, self._cache)
        except MissingBlobError:
            stream = b""
        if unit.get("plain") and stream:
            for name, value in load(stream, [], len(unit["names"])):
                self.held[name] = SavedVariable((type(value), repr(value)), (), plain=True, code=False)
            return
        place = hash_of(stream) if stream else repr(unit["stream"]) + repr(self._packs)
        content = (place, tuple(self._content_of(buffer) for buffer in unit["buffers"]))
        for name in names:
            self.held[name] = SavedVariable(content, names, plain=False, code=bool(unit.get("code")))

    def _content_of(self, buffer: dict[str, Any]) -> tuple[object, ...]:
        """What two buffers of the same content have in common, wherever their patches lie."""
        patches: list[tuple[object, ...]] = []
        for at, size, pack, place in buffer.get("patches", ()):
            try:
                where = {"pack": pack, "at": place, "size": size}
                patches.append((at, size, hash_of(manifest.read(where, self._packs, self._blobs, self._cache))))
            except MissingBlobError:  # then it counts as changed wherever it moves
                patches.append((at, size, self._packs[pack], place))
        return (*blobs_of(buffer), *patches)


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
        self.reading = NameUse(said["code"])
        self.table: VariableTable | None = None
        if said["snapshot"]:
            try:
                self.table = VariableTable(said["snapshot"], blobs)
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
    before: VariableTable | None = None
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


MARKED = frozenset(f"`{name}`" for name in {*OPAQUE, *OPAQUE_ATTRIBUTES, "sys.modules"})


class NotReproducibleError(Exception):
    """A variable cannot be made again; the message says why.

    Args:
        why: The reason.
        cell: The index of the cell that is in the way; -1 when it is all of them.
    """

    def __init__(self, why: str, cell: int = -1) -> None:
        super().__init__(why)
        self.cell = cell


def plan(steps: list[Step], names: list[str], limit: float) -> dict[str, Any]:
    """Say which cells have to run for lost variables.

    Args:
        steps: The cells up to the snapshot at which the variables are lost.
        names: These variables.
        limit: Seconds that the cells may have taken together.

    Returns:
        `names` that can be made again, `base` (the cell whose snapshot is to be restored first; 0: none), `cells` (the
        numbers of those that must run), `before` (for each of them, the cell whose files and settings it found), `own`
        (name → the cells that it needs itself), `refused` (name → reason) and `since` (name → the cell that made it).
    """
    refused: dict[str, str] = {}
    alone: dict[str, set[int]] = {}
    mark_as_lost(steps, names)
    end = steps[-1].table.lost if steps and steps[-1].table is not None else {}
    since = {name: end[name][0] for name in names if name in end}
    for name in names:
        try:
            needed = required_cells(steps, [name])
            check(steps, needed, limit)
            alone[name] = needed
        except NotReproducibleError as error:
            refused[name] = str(error)
    while alone:
        together = required_cells(steps, list(alone))
        try:
            check(steps, together, limit)
        except NotReproducibleError as error:
            in_the_way = {name for name, needed in alone.items() if error.cell in needed}
            worst = max(in_the_way or alone, key=lambda name: _seconds(steps, alone[name]))
            refused[worst] = str(error)
            del alone[worst]
            continue
        base = min(together)
        return {
            "names": list(alone),
            "base": steps[base - 1].number if base else 0,
            "cells": [steps[index].number for index in sorted(together)],
            "before": [steps[index - 1].number if index else 0 for index in sorted(together)],
            "own": {name: [steps[index].number for index in sorted(needed)] for name, needed in alone.items()},
            "refused": refused,
            "since": since,
        }
    return {"names": [], "base": 0, "cells": [], "before": [], "own": {}, "refused": refused, "since": since}


def mark_as_lost(steps: list[Step], names: list[str]) -> None:
    """Take variables that the last snapshot has, and that cannot be loaded here, for lost wherever they are.

    They are lost since the cell that bound them last: what stood under the name before has no part in them, unless that
    cell reads it.
    """
    for name in names:
        if not steps or steps[-1].table is None or name not in steps[-1].table.held:
            continue
        since = 0
        for step in steps:
            if step.table is None:
                continue
            held = step.table.held.pop(name, None)
            if held is None:
                since = 0
            elif not since or name in step.reading.binds:
                since = step.number
            if held is not None:
                step.table.lost[name] = (since, "")


def check(steps: list[Step], needed: set[int], limit: float) -> None:
    """See that cells may run again by themselves.

    Raises:
        NotReproducibleError: they may not.
    """
    for index in sorted(needed):
        step = steps[index]
        if step.status != "ok":
            raise NotReproducibleError(f"cell {step.number}, which it needs, ended with {step.status}", index)
        if step.reached:
            what = ", ".join(step.reached)[:100]
            raise NotReproducibleError(
                f"cell {step.number} reached outside the sandbox ({what}) and is not run again", index
            )
        if index and index - 1 not in needed and steps[index - 1].table is None:
            raise NotReproducibleError(
                f"cell {step.number} would have to run, and there is no snapshot before it", index
            )
    for index in range(min(needed), len(steps)):
        hidden = sorted(steps[index].reads & MARKED)
        if hidden:
            raise NotReproducibleError(
                f"cell {steps[index].number} uses {hidden[0]}, so what it touches cannot be followed", index
            )
    if (took := _seconds(steps, needed)) > limit:
        raise NotReproducibleError(
            f"the {len(needed)} cells that it needs took {took:.0f} s, more than {limit:g} s are allowed"
        )


def _seconds(steps: list[Step], needed: set[int]) -> float:
    return sum(steps[index].seconds for index in needed)


def required_cells(steps: list[Step], names: list[str]) -> set[int]:
    """The indices of the cells that some lost variables need.

    Raises:
        NotReproducibleError: it is not known since when one of them is lost.
    """
    end = steps[-1].table if steps else None
    indices = {step.number: index for index, step in enumerate(steps)}
    needed: set[int] = set()
    lost: dict[str, int] = {}
    kept: set[str] = set()
    for name in names:
        since = end.lost.get(name, (0, ""))[0] if end is not None else 0
        if since not in indices:
            raise NotReproducibleError("it is not known which cell made it")
        lost[name] = indices[since]
        needed.add(lost[name])
    size = -1
    while size != len(needed) + len(lost) + len(kept):
        size = len(needed) + len(lost) + len(kept)
        for index in sorted(needed):
            for at in (index - 1, index):
                _touch(steps, index, at, indices, lost, kept)
        needed |= {index for index in lost.values() if steps[index].reading.compiles}
        first = min(needed)
        while first and steps[first - 1].table is None:
            first -= 1
        needed |= set(range(first, min(needed)))
        needed |= {
            index
            for index in range(first, len(steps))
            if index not in needed and steps[index].reading.compiles and _must_run(steps, index, needed, lost, kept)
        }
    return needed


def _touch(
    steps: list[Step], index: int, at: int, indices: dict[int, int], lost: dict[str, int], kept: set[str]
) -> None:
    """Record which variables a required cell uses, as of one step."""
    step = steps[index]
    table = steps[at].table if at >= 0 else None
    for name in step.reads | step.binds:
        if at >= 0 and table is None:
            kept.add(name)
            continue
        if table is None:
            continue
        if name in table.lost:
            since = indices.get(table.lost[name][0], index)
            lost[name] = min(lost.get(name, index), since)
        elif name in table.held and not table.held[name].plain:
            kept.update((name, *table.held[name].shares_with))


def _must_run(steps: list[Step], index: int, needed: set[int], lost: dict[str, int], kept: set[str]) -> bool:
    """Whether a cell touches what is lost, or changes what needed cells have to find."""
    step = steps[index]
    touched = step.reads | step.binds
    if any(name in touched and index >= since for name, since in lost.items()):
        return True
    if any(name in step.binds or changed(steps, index, name) for name in kept):
        return True
    later = set().union(*(steps[other].reads for other in needed if other > index))
    return any(name in later and _bound(steps, index, name) for name in step.binds | _plain_names(step))


def _plain_names(step: Step) -> set[str]:
    if step.table is None:
        return set()
    return {name for name, held in step.table.held.items() if held.plain}


def _bound(steps: list[Step], index: int, name: str) -> bool:
    return name in steps[index].binds or changed(steps, index, name)


def changed(steps: list[Step], index: int, name: str) -> bool:
    """Whether a variable is another one, or has another content, after a cell."""
    after = steps[index].table
    before = steps[index - 1].table if index else None
    if after is None or (before is None and index):
        return name in steps[index].reads | steps[index].binds
    had: SavedVariable | None = before.held.get(name) if before is not None else None
    has = after.held.get(name)
    if had is None or has is None:
        return had is not has
    return had.content != has.content
