"""Replays: the recorded cells run again in a fresh sandbox, with no language model, and are compared."""

import asyncio
import hashlib
import re
import zipfile
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver

from graph.checkpoints.given_up import without_given_up
from graph.checkpoints.journal import CallEntry, digest_of, recorded_calls
from graph.context import Context, stored_context
from graph.functions.host_functions import FunctionTable, HostFunctions
from graph.functions.registry import HostFunction
from graph.settings import Settings, settings_or_default
from graph.state import Cell, State
from graph.wiring import make_blobs, make_functions
from nodes.calls.recorded_calls import functions_called
from nodes.computed_answers import wanted_values
from nodes.prompts.observation import observe
from nodes.publishing import published_names
from nodes.restoration.earlier_steps import EarlierSteps
from nodes.restoration.line import cells_in_effect
from nodes.restoration.manifests import NotRestoredError
from nodes.restoration.restore import restore_session
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import Sandbox, SandboxError
from sandboxes.functions import Call, Description, Parameter, Raised, Returned
from sandboxes.host.programs import describe_environment
from sandboxes.opening import Sandboxes
from stepwell.ephemeral import EphemeralSandbox, ephemeral_sandbox
from stepwell.errors import ThreadError
from stepwell.runs import CONTEXT_KEY
from stepwell.snapshot_manifest import ManifestFile, SnapshotManifest, changed, read_manifest, read_variables
from stepwell.steps import StepState, state_at_step
from stepwell.threads import open_graph, saver_of
from storage.blobs import BlobError, Blobs
from storage.published_files import is_plain

ANYTHING = (Parameter("arguments", "VAR_POSITIONAL"), Parameter("options", "VAR_KEYWORD"))


class RecordedCalls:
    """What the cells of a thread called.

    Args:
        calls: By the number and the code of the cell.
        names: All functions that were called.
        offer: What is offered now.
        timeout: Seconds that a call may take.
    """

    def __init__(
        self,
        calls: Mapping[tuple[int, str], tuple[CallEntry, ...]],
        names: Iterable[str],
        offer: FunctionTable,
        timeout: float,
    ) -> None:
        self._calls = calls
        self._offer = offer
        self._timeout = timeout
        unknown = sorted(set(names) - set(offer.functions))
        self._descriptions = [*offer.descriptions, *(Description(name, "", ANYTHING) for name in unknown)]

    @classmethod
    async def read(cls, saver: Any, thread: str, place: StepState, functions: HostFunctions, timeout: float) -> Self:
        """Read the record. Where no cell called anything, no server is asked.

        Raises:
            SettingsError: a server that offers functions cannot be reached.
        """
        cells: list[Cell] = place.state.get("cells") or []
        names = {name for cell in cells for name in functions_called(cell)}
        if not names or not isinstance(saver, BaseCheckpointSaver):
            return cls({}, (), FunctionTable({}), timeout)
        at: RunnableConfig = place.config or {"configurable": {"thread_id": thread}}
        calls = await recorded_calls(saver, at)
        names |= {call.name for of_cell in calls.values() for call in of_cell}
        return cls(calls, names, await functions.ready(), timeout)

    def of(self, cell: Cell) -> "ReplayedCalls | None":
        """What a cell can call; None when no cell of the thread called anything."""
        if not self._descriptions:
            return None
        calls = self._calls.get((cell["number"], cell["code"]), ())
        return ReplayedCalls(self._descriptions, calls, self._offer, self._timeout)


class ReplayedCalls:
    """What is offered to one cell of a replay."""

    def __init__(
        self, descriptions: list[Description], recorded: Iterable[CallEntry], offer: FunctionTable, timeout: float
    ) -> None:
        self.descriptions = descriptions
        self._record: dict[str, deque[Returned | Raised]] = defaultdict(deque)
        for call in recorded:
            if call.outcome is not None:
                self._record[call.digest].append(call.outcome)
        self._offer = offer
        self._timeout = timeout
        self.refused: list[str] = []
        """Functions that could not be answered for."""

    async def call(self, call: Call) -> Returned | Raised:
        """Answer a call; see `Functions.call`."""
        if recorded := self._record[digest_of(call)]:
            return recorded.popleft()
        function = self._offer.functions.get(call.name)
        if function is not None and function.repeatable and not function.needs_approval:
            return await self._offer.call(call, timeout=self._timeout)
        if call.name not in self.refused:
            self.refused.append(call.name)
        return Raised("functions are not called in a replay, and the thread's record does not have this call")


CHUNK = 1 << 20
"""How snapshots cut files (`sandboxes/inside/kernel/snapshots/blobs.py`)."""
TIME_OF_WRITING = "docProps/core.xml"
"""The part of a workbook that holds when it was written, so that no two are the same byte for byte."""


async def differing(sandbox: Sandbox, cell: Cell, blobs: Blobs, folder: Path) -> list[str]:
    """How the files that a cell made or changed differ, each as the end of a sentence.

    Nothing where the recorded step has no usable snapshot: then only what is published is compared, in the end.
    """
    snapshot = cell.get("snapshot", "")
    written = [file["path"] for file in cell["files"] if file["change"] != "deleted"]
    written += [path for path in cell["figures"] if path not in written]
    if not snapshot or not written:
        return []
    try:
        kept = await read_manifest(blobs, snapshot)
        return [told for path in written if (told := await _differs(sandbox, path, kept, blobs, folder))]
    except (NotRestoredError, BlobError):
        return []


async def _differs(sandbox: Sandbox, path: str, kept: SnapshotManifest, blobs: Blobs, folder: Path) -> str:
    before = kept.files.get(path)
    if before is None:  # a folder, a link, or what the snapshot left out
        return ""
    now = folder / "now"
    try:
        fetched = await sandbox.fetch(path, now, max_bytes=max(4 * before.size, 1 << 30))
    except FileNotFoundError:
        return f"{path} was not made"
    except ValueError:
        return f"{path} has become much larger than {before.size:,} bytes"
    if fetched.size == before.size and await asyncio.to_thread(_chunks, now) == before.chunks:
        return ""
    if await asyncio.to_thread(zipfile.is_zipfile, now):
        recorded = folder / "recorded"
        await _assemble(before, blobs, recorded)
        if await asyncio.to_thread(same_parts, recorded, now):
            return ""
    return f"{path} holds other bytes"


def _chunks(file: Path) -> tuple[str, ...]:
    with file.open("rb") as stream:
        return tuple(hashlib.sha256(piece).hexdigest() for piece in iter(lambda: stream.read(CHUNK), b""))


async def _assemble(file: ManifestFile, blobs: Blobs, target: Path) -> None:
    pieces = [await blobs.read(chunk, max_bytes=2 * CHUNK) for chunk in file.chunks]
    await asyncio.to_thread(target.write_bytes, b"".join(pieces))


async def published(sandbox: Sandbox, state: State, folder: Path, served: Path) -> tuple[int, tuple[str, ...]]:
    """Compare what was published.

    Args:
        sandbox: Where the cells ran again.
        state: Names what was published.
        folder: For what is fetched.
        served: Where a server of this data folder keeps what the thread published: State has its route then.

    Returns:
        How many files are the same, and the names of the others.
    """
    files = [file for name in ("outputs", "figures") for file in await sandbox.files(name)]
    sizes = {file.path: file.size for file in files}
    paths = {name: path for path, name in published_names(sizes).items()}
    same, differ = 0, []
    now = folder / "now"
    for artifact in state.get("artifacts") or []:
        if artifact["cell"] == 0:
            continue
        name = artifact["name"]
        if path := paths.get(name):
            fetched = await sandbox.fetch(path, now, max_bytes=sizes[path])
            recorded = served / name if SERVED in artifact["url"] and is_plain(name) else artifact["url"]
            if fetched.sha256 == artifact["sha256"] or await asyncio.to_thread(same_parts, recorded, now):
                same += 1
                continue
        differ.append(name)
    return same, tuple(differ)


SERVED = "/stepwell/threads/"
"""What the address of a file that a server hands out holds."""


def same_parts(recorded: str | Path, now: Path) -> bool:
    """Whether two zip files (workbooks are) hold the same but for the time of writing that each has within it."""
    if "://" in str(recorded):
        return False
    try:
        one, other = (_parts(path) for path in (recorded, now))
    except (OSError, zipfile.BadZipFile):
        return False
    return {**one, TIME_OF_WRITING: 0} == {**other, TIME_OF_WRITING: 0}


def _parts(path: str | Path) -> dict[str, int]:
    with zipfile.ZipFile(path) as archive:
        return {part.filename: part.CRC for part in archive.infolist()}


NOT_REPEATED = ("rejected", "killed", "timeout", "unknown")
"""How cells ended that are passed over: they never ran, took no effect, or were interrupted somewhere."""
MAY_DIFFER = (
    (re.compile(r"\b(?:now|today|time|perf_counter|monotonic)\s*\(|getmtime"), "it reads the clock"),
    (
        re.compile(r"\brandom\b|\bshuffle\b|\bsample\s*\(|uuid4|RandomForest|KMeans|train_test_split"),
        "it uses randomness",
    ),
    (re.compile(r"\bhttps?://|requests\.|urlopen|httpx\."), "it may use the network"),
    (re.compile(r"\bset\s*\(|\bhash\s*\(|\bid\s*\("), "it may depend on the order of a set or on hashes"),
)
"""What in a cell's code may make it give something else, as a sentence's end."""

MOST_NAMED = 20
SIZES = re.compile(r"\((created|changed), [\d,]+ bytes\)")


@dataclass(frozen=True, slots=True)
class ReplayedCell:
    """One recorded cell, and how it went this time."""

    number: int
    purpose: str
    same: bool
    """Whether status, output and the bytes of its files are as recorded; true for cells that are passed over."""
    passed_over: bool
    differences: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    """Why it may differ, as far as the code and the versions tell."""


@dataclass(frozen=True, slots=True)
class ReplayEnd:
    """The result of the whole replay."""

    same: bool
    files_same: int
    files_differ: tuple[str, ...]
    """Published files whose bytes are others now, or that were not made."""
    versions: tuple[str, ...]
    """Python and packages that are others than in the recording."""
    variables_same: int = 0
    """Variables that hold the same in the end; 0 when they were not compared."""
    variables_differ: tuple[str, ...] = ()
    """The others, `name: recorded -> now` each."""
    notes: tuple[str, ...] = ()
    """What could not be compared, one sentence each."""


async def replay(
    thread: str,
    settings: Settings | None = None,
    *,
    step: str | int | None = None,
    variables: bool = False,
    functions: Sequence[Callable[..., Any] | HostFunction] = (),
) -> AsyncIterator[ReplayedCell | ReplayEnd]:
    """Run a thread's cells again and compare, cell by cell; the thread itself is left as it is.

    Args:
        thread: The thread's full id.
        settings: Where threads are kept; None reads the environment.
        step: The last cell; None: where the thread is now.
        variables: Whether the variables after the last cell are compared, too: the recorded ones are restored for it.
        functions: What cells can call that can be repeated; other calls are answered from the record.

    Yields:
        A `ReplayedCell` for each recorded cell, then one `ReplayEnd`.

    Raises:
        ThreadError: there is no such thread or step, or it has no cells.
        SandboxError: the sandbox cannot be had.
    """
    settings = await settings_or_default(settings)
    blobs = make_blobs(settings)
    async with open_graph(settings) as (graph, sandboxes):
        place = await state_at_step(graph, thread, step)
        state = place.state
        cells: list[Cell] = state.get("cells") or []
        if not cells:
            raise ThreadError(f"There is nothing to replay: thread {thread} has no cells.")
        context = stored_context(await saver_of(graph).newest_metadata(thread, CONTEXT_KEY))
        async with (
            ephemeral_sandbox(settings, sandboxes, state) as fresh,
            make_functions(settings, functions) as offered,
        ):
            record = await RecordedCalls.read(graph.checkpointer, thread, place, offered, context.call_timeout)
            versions = await _versions(fresh.sandbox, state)
            same = True
            for at, cell in enumerate(cells):
                if "back_to" in cell:
                    start = cells_in_effect([one for one in cells[:at] if one["number"] <= cell["back_to"]])
                    await _go_back(fresh, start, place, context, blobs, record)
                earlier = without_given_up(cells[:at], place.given_up)
                replayed = await _again(fresh, cell, earlier, context, blobs, record.of(cell), bool(versions))
                same = same and replayed.same
                yield replayed
            files_same, differ = 0, tuple[str, ...]()
            if step is None:
                served = settings.home / "artifacts" / thread
                files_same, differ = await published(fresh.sandbox, state, fresh.folder, served)
            end = ReplayEnd(same and not differ, files_same, differ, versions, notes=_not_compared(place))
            if variables:
                end = await _with_variables(end, fresh.sandbox, place, settings, sandboxes, blobs, fresh.folder)
            yield end


async def _go_back(
    fresh: EphemeralSandbox,
    start: list[Cell],
    place: StepState,
    context: Context,
    blobs: Blobs,
    record: RecordedCalls,
) -> None:
    """Start again, and rerun the cells up to the one that a cell of the recording went back to."""
    await fresh.sandbox.reset()
    cells = without_given_up(place.state.get("cells") or [], place.given_up)
    for cell in start:
        earlier = [one for one in cells if one["number"] < cell["number"]]
        await _again(fresh, cell, earlier, context, blobs, record.of(cell), other_versions=False)


async def _again(
    fresh: EphemeralSandbox,
    cell: Cell,
    earlier: list[Cell],
    context: Context,
    blobs: Blobs,
    calls: ReplayedCalls | None,
    other_versions: bool,
) -> ReplayedCell:
    if cell["status"] in NOT_REPEATED:
        return ReplayedCell(cell["number"], cell["purpose"], same=True, passed_over=True)
    result = await fresh.sandbox.run(
        cell["code"],
        number=cell["number"],
        timeout=max(context.cell_timeout, 5 * cell["seconds"]),
        functions=EarlierSteps(calls, fresh.sandbox, earlier, SnapshotStore(blobs)),
        values=wanted_values(cell.get("answer", "")),
    )
    differences = []
    if result.status != cell["status"]:
        differences.append(f"it ended with {result.status}, with {cell['status']} before")
    before = _said(cell["observation"])
    after = _said(observe(result, number=cell["number"], limit=context.observation_chars, back_to=cell.get("back_to")))
    if before != after:
        differences.append(_first_difference(before, after))
    for value, now in zip(cell.get("values") or [], result.values, strict=False):
        if value["text"] != now:
            differences.append(f"{{{{{value['expression']}}}}} was {value['text'][:100]!r} and is {now[:100]!r}")
    differences += await differing(fresh.sandbox, cell, blobs, fresh.folder)
    reasons = [reason for pattern, reason in MAY_DIFFER if differences and pattern.search(cell["code"])]
    if differences and calls is not None and calls.refused:
        reasons.append(f"the record does not have what it calls ({', '.join(calls.refused)})")
    if differences and other_versions:
        reasons.append("versions differ")
    return ReplayedCell(
        cell["number"],
        cell["purpose"],
        same=not differences,
        passed_over=False,
        differences=tuple(differences),
        reasons=tuple(reasons),
    )


async def _with_variables(
    end: ReplayEnd,
    fresh: Sandbox,
    place: StepState,
    settings: Settings,
    sandboxes: Sandboxes,
    blobs: Blobs,
    folder: Path,
) -> ReplayEnd:
    """The same with the variables compared: those of the replay with those of the recorded step."""
    try:
        now = await read_variables(fresh, None, folder)
        async with ephemeral_sandbox(settings, sandboxes, place.state) as other:
            store = SnapshotStore(blobs)
            receipt = await restore_session(other.sandbox, place.state, store, given_up=place.given_up)
            before = await read_variables(other.sandbox, None, other.folder)
    except SandboxError as error:
        return replace(end, same=False, notes=(*end.notes, f"The variables could not be compared: {error}"))
    lost = {one.name for one in receipt.lost} if receipt is not None else set()
    differ, same, notes = [], 0, list(end.notes)
    for name in sorted({*before.rows, *now.rows} - lost):
        if name not in now.rows or name not in before.rows:
            differ.append(f"{name}: only {'recorded' if name in before.rows else 'in the replay'}")
            continue
        one, other_one = before.fingerprints.get(name), now.fingerprints.get(name)
        if one is not None and other_one is not None and one.digest and other_one.digest:
            told = changed(name, (before.rows[name], now.rows[name]), one, other_one)
            differ += [told] if told else []
            same += told is None
        else:
            notes.append(f"The values of {name} cannot be compared.")
    if lost & set(now.rows):
        notes.append(f"Not compared, since no snapshot can keep them: {', '.join(sorted(lost & set(now.rows)))}.")
    return replace(
        end, same=end.same and not differ, variables_same=same, variables_differ=tuple(differ), notes=tuple(notes)
    )


def _not_compared(place: StepState) -> tuple[str, ...]:
    """The cells whose files are not compared, since their snapshots were given up."""
    cells = [cell for cell in place.state.get("cells") or [] if cell.get("snapshot") in place.given_up]
    gone = [str(cell["number"]) for cell in cells if cell["files"] or cell["figures"]]
    if not gone:
        return ()
    given = place.given_up[cells[-1].get("snapshot", "")]
    named = ", ".join(gone[:MOST_NAMED]) + (", …" if len(gone) > MOST_NAMED else "")
    return (f"Files of these cells were not compared, since their snapshots were {given.text}: {named}.",)


def _said(observation: str) -> list[str]:
    """The lines of an observation but the first, which holds the time that it took, and without the files' sizes.

    Files are compared by what is in them; a workbook's size changes with the time of writing within it.
    """
    return [SIZES.sub(r"(\1)", line) for line in observation.splitlines()[1:]]


def _first_difference(before: list[str], after: list[str]) -> str:
    for number, (one, other) in enumerate(zip(before, after, strict=False), 1):
        if one != other:
            return f"line {number} of what it printed was {one[:100]!r} and is {other[:100]!r}"
    return f"it printed {len(after)} lines, {len(before)} before"


async def _versions(sandbox: Sandbox, state: State) -> tuple[str, ...]:
    before = state.get("environment")
    if not before:
        return ()
    now = await describe_environment(sandbox)
    old = {"Python": before["python"], **before["packages"]}
    new = {"Python": now["python"], **now["packages"]}
    return tuple(
        f"{name} {old.get(name, 'none')} -> {new.get(name, 'none')}"
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    )
