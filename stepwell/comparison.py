"""What two steps differ in: questions, plan, code, variables, files, answers."""

import difflib
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from graph.settings import Settings, settings_or_default
from graph.state import State, Variable
from graph.wiring import make_blobs
from nodes.restoration.line import line_of
from nodes.restoration.manifests import NotRestoredError
from nodes.restoration.restore import restore_session
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import SandboxError
from sandboxes.opening import Sandboxes
from stepwell.ephemeral import ephemeral_sandbox
from stepwell.snapshot_manifest import (
    SessionVariables,
    SnapshotManifest,
    changed,
    comparable,
    read_manifest,
    read_variables,
    variable_hashes,
)
from stepwell.steps import StepState, answer_after, state_at_step
from stepwell.threads import open_graph
from storage.blobs import BlobError, Blobs


@dataclass(frozen=True, slots=True)
class BothSides:
    """What a variable or a file is in A and in B, in a few words."""

    name: str
    a: str | None
    """None: it is not there."""
    b: str | None
    more: str = ""
    """What else differs."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What is only in the one, only in the other, and different in both, by name."""

    removed: tuple[str, ...]
    added: tuple[str, ...]
    changed: tuple[str, ...]
    """`name: before -> after`."""
    sides: tuple[BothSides, ...] = ()
    """The same of variables and files, apart: first what is changed."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How B differs from A."""

    cells_in_common: int
    """The cells at the beginning that are the same in both."""
    questions: Changes
    plan: Changes
    code: str
    """The cells after those in common, as a unified diff; empty when there are none."""
    variables: Changes
    files: Changes
    answers: tuple[str, str] | None
    """Both, when they differ."""
    notes: tuple[str, ...] = ()
    """What could not be compared, one sentence each."""

    @property
    def nothing(self) -> bool:
        """Whether the two do not differ in any of this."""
        none = Changes((), (), ())
        parts = (self.questions, self.plan, self.variables, self.files)
        return not self.code and self.answers is None and all(part == none for part in parts)


@dataclass(frozen=True, slots=True)
class _Side:
    place: StepState
    answer: str
    kept: SnapshotManifest | None
    """What its snapshot's manifest says; None without a usable one."""
    table: dict[str, str]
    """Its variables in a few words."""
    notes: tuple[str, ...]


async def compare(
    a: tuple[str, str | int | None], b: tuple[str, str | int | None], settings: Settings | None = None
) -> Difference:
    """Compare two steps, of one thread or of two.

    Variables are the same when their snapshots hold the same bytes; of the others each step is restored in a sandbox of
    its own, and what they hold is compared there by its content.

    Args:
        a: A thread's full id, and a step or None for where it is now.
        b: The same for the other.
        settings: Where threads are kept; None reads the environment.

    Raises:
        ThreadError: there is no such thread or step.
    """
    settings = await settings_or_default(settings)
    blobs = make_blobs(settings)
    async with open_graph(settings) as (graph, sandboxes):
        places = [await state_at_step(graph, *step) for step in (a, b)]
        one, other = [await _side(place, await answer_after(graph, place), blobs) for place in places]
        variables, notes = await _variables(one, other, settings, sandboxes, blobs)
    states = (one.place.state, other.place.state)
    codes = [[cell["code"] for cell in state.get("cells") or []] for state in states]
    common = next((n for n, (x, y) in enumerate(zip(*codes, strict=False)) if x != y), min(map(len, codes)))
    before, after = (_lines(state, common) for state in states)
    return Difference(
        cells_in_common=common,
        questions=_changes(*map(_questions, states)),
        plan=_changes(*map(_plan, states)),
        code="\n".join(difflib.unified_diff(before, after, "a", "b", lineterm="", n=2)),
        variables=variables,
        files=_files(one, other),
        answers=(one.answer, other.answer) if one.answer != other.answer else None,
        notes=tuple(dict.fromkeys([*one.notes, *other.notes, *notes])),
    )


async def _side(place: StepState, answer: str, blobs: Blobs) -> _Side:
    kept, notes = None, []
    snapshot = _snapshot(place.state)
    if (given_up := place.given_up_step) is not None:
        notes.append(f"{place.thread[:8]}: {given_up.text}")
    elif snapshot:
        try:
            kept = await read_manifest(blobs, snapshot)
        except NotRestoredError as error:
            notes.append(f"The snapshot at step {place.step.name} of {place.thread[:8]} cannot be used: {error}")
    return _Side(place, answer, kept, _table(place.state.get("namespace") or []), tuple(notes))


def _table(rows: Sequence[Variable]) -> dict[str, str]:
    return {row["name"]: f"{row['kind']} {row['summary']}".strip() for row in rows}


def variable_changes(before: Sequence[Variable], after: Sequence[Variable]) -> Changes:
    """What two tables of variables differ in: a value that reads the same in a few words counts as the same."""
    return _compared(_table(before), _table(after), None, None, set())[0]


def _snapshot(state: State) -> str:
    """The snapshot that a state names, when it is one: a step without any is named by a hash of another length."""
    named = state["sandbox"]["snapshot"]
    return named if any(cell.get("snapshot") == named for cell in state.get("cells") or []) else ""


async def _variables(
    one: _Side, other: _Side, settings: Settings, sandboxes: Sandboxes, blobs: Blobs
) -> tuple[Changes, list[str]]:
    """Compare the variables.

    Returns:
        What differs, and what could not be compared.
    """
    named: list[set[str]] = []
    same: set[str] = set()
    if one.kept is not None and other.kept is not None:
        named = [set(one.kept.names), set(other.kept.names)]
        try:
            stored = [await variable_hashes(blobs, one.kept), await variable_hashes(blobs, other.kept)]
            same = {name for name in stored[0] if stored[0][name] == stored[1].get(name)}
        except (BlobError, NotRestoredError):
            same = set()
        told = named[0] - named[1] <= set(one.table) and named[1] - named[0] <= set(other.table)
        if named[0] & named[1] <= same and told:
            return _compared(one.table, other.table, None, None, same)
    asked = None if not named else sorted((named[0] | named[1]) - same)
    if not any(side.place.state.get("cells") for side in (one, other)):
        return _named({}, {}, {}), []
    try:
        looked = [await _looked(side, asked, settings, sandboxes, blobs) for side in (one, other)]
    except (SandboxError, BlobError) as error:
        by_table, _ = _compared(one.table, other.table, None, None, set())
        return by_table, [f"The variables were compared by their tables alone: {error}"]
    tables = [{**there.rows} or side.table for side, there in zip((one, other), looked, strict=True)]
    return _compared(tables[0], tables[1], looked[0], looked[1], same)


async def _looked(
    side: _Side, names: list[str] | None, settings: Settings, sandboxes: Sandboxes, blobs: Blobs
) -> SessionVariables:
    async with AsyncExitStack() as stack:
        there = await stack.enter_async_context(ephemeral_sandbox(settings, sandboxes, side.place.state))
        place = side.place
        await restore_session(there.sandbox, place.state, SnapshotStore(blobs), given_up=place.given_up)
        return await read_variables(there.sandbox, names, there.folder)


def _compared(
    before: Mapping[str, str],
    after: Mapping[str, str],
    one: SessionVariables | None,
    other: SessionVariables | None,
    same: set[str],
) -> tuple[Changes, list[str]]:
    differ: dict[str, str] = {}
    unsure: list[str] = []
    for name in before:
        if name in after and name not in same:
            prints = [None if looked is None else looked.fingerprints.get(name) for looked in (one, other)]
            told = changed(name, (before[name], after[name]), prints[0], prints[1])
            differ |= {name: told} if told is not None else {}
            unsure += [name] if told is None and not comparable(*prints) else []
    notes = [f"Not compared, since their values cannot be: {', '.join(unsure)}."] if unsure else []
    return _named(before, after, differ), notes


def _named(before: Mapping[str, str], after: Mapping[str, str], differ: Mapping[str, str]) -> Changes:
    """The changes with what stands on both sides; `differ` has the lines of those that are changed."""
    removed, added = (
        tuple(name for name in one if name not in other) for one, other in ((before, after), (after, before))
    )
    sides = [
        BothSides(name, before[name], after[name], _more(name, before[name], after[name], line))
        for name, line in differ.items()
    ]
    sides += [BothSides(name, before.get(name), after.get(name)) for name in (*removed, *added)]
    return Changes(removed, added, tuple(differ.values()), tuple(sides))


def _more(name: str, before: str, after: str, line: str) -> str:
    """What a line says of a change beside what stands on both sides."""
    told = f"{before} -> {after}" if before != after else before
    return line.removeprefix(f"{name}: {told}").lstrip(",; ")


def _changes(one: Mapping[str, str], other: Mapping[str, str]) -> Changes:
    return Changes(
        removed=tuple(name for name in one if name not in other),
        added=tuple(name for name in other if name not in one),
        changed=tuple(
            f"{name}: {one[name]} -> {other[name]}" for name in one if name in other and one[name] != other[name]
        ),
    )


def _questions(state: State) -> dict[str, str]:
    asked = [*(turn["question"] for turn in state.get("turns") or []), state.get("question") or ""]
    return dict.fromkeys((question for question in asked if question), "")


def _plan(state: State) -> dict[str, str]:
    return {step["text"]: "done" if step["done"] else "open" for step in state.get("plan") or []}


def _lines(state: State, common: int) -> list[str]:
    lines: list[str] = []
    for cell in (state.get("cells") or [])[common:]:
        lines += [f"# cell: {cell['purpose']} ({cell['status']})", *cell["code"].splitlines()]
    return lines


def _files(one: _Side, other: _Side) -> Changes:
    tables = [{**_workspace(side), **_inputs(side.place.state)} for side in (one, other)]
    if one.kept is None or other.kept is None:  # then only the sizes are known of both
        tables = [{path: (size, "") for path, (size, _) in table.items()} for table in tables]
    before, after = tables
    differ = {}
    words = [{path: f"{size:,} bytes" for path, (size, _) in table.items()} for table in tables]
    for path in before:
        if path in after and before[path] != after[path]:
            sizes = (words[0][path], words[1][path])
            told = f"{sizes[0]} -> {sizes[1]}" if sizes[0] != sizes[1] else f"{sizes[0]}, other content"
            differ[path] = f"{path}: {told}"
    return _named(words[0], words[1], differ)


def _workspace(side: _Side) -> dict[str, tuple[int, str]]:
    if side.kept is not None:
        return {path: (file.size, ",".join(file.chunks)) for path, file in side.kept.files.items()}
    return {path: (size, "") for path, size in files_by_cells(side.place.state).items()}


def files_by_cells(state: State) -> dict[str, int]:
    """The files of the workspace with their sizes, as far as the cells record them."""
    there: dict[str, Any] = {}
    for cell in line_of(state.get("cells") or []):
        for file in cell["files"]:
            if file["change"] == "deleted":
                there.pop(file["path"], None)
            else:
                there[file["path"]] = file["size"]
    return there


def _inputs(state: State) -> dict[str, tuple[int, str]]:
    return {taken["path"]: (taken["size"], taken["sha256"]) for taken in state.get("inputs") or []}
