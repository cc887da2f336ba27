"""Bringing a sandbox to the state that State names, before a cell runs in it.

In the usual case it is there already and nothing happens. After a restart, a dead kernel, a fork or a move it is not:
then the newest snapshot at or before that state is restored, and only the cells after it run again. Without a usable
snapshot all cells run again, in their order, on the inputs alone. That is exact for code that gives the same result
each time; where it did not, the receipt says so.
"""

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from langgraph.runtime import Runtime

from graph.context import Context, knobs
from graph.events import Notice, Rebuilt, tell
from graph.functions.host_functions import NOTHING, HostFunctions
from graph.state import Cell, State
from nodes.calls.calling import RepeatableCalls
from nodes.restoring.carrying import carry_inputs
from nodes.restoring.manifests import NotRestoredError
from nodes.restoring.rebuilding import foresee, rebuild
from nodes.restoring.snapshots import Snapshots
from sandboxes.base import OpenSandbox, Sandbox
from sandboxes.functions import Functions
from sandboxes.host.session_pool import on_wait
from sandboxes.results import LostVariable, RestoredSession

BEGINNING = "beginning"
"""Names the state of a thread that has run nothing: inputs only."""
RUN_AGAIN = ("ok", "error")
"""Cells that end by themselves can be repeated; what an interrupted one had done until then cannot."""
TOOK_EFFECT = ("ok", "error", "timeout")
MAX_TRIES = 4
"""Snapshots that are tried before all cells run again."""
MAX_NAMED = 20
"""Lost variables that are named in one sentence."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What came back when a session was brought back."""

    cells: int
    """How many cells ran again."""
    seconds: float
    problems: list[str] = field(default_factory=list)
    """What is not as it was, one sentence each."""
    from_cell: int = 0
    """The cell whose snapshot was restored; 0 when there was none."""
    restored: int = 0
    """How many variables came from it."""
    lost: list[LostVariable] = field(default_factory=list)
    rebuilt: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Variables that no snapshot has and that were made again: for each, the cells that ran for it."""
    versions: list[str] = field(default_factory=list)
    woken: bool = False
    """Whether the session had merely been put to sleep, and all is as it was."""

    @property
    def whole(self) -> bool:
        """Whether all came back from a snapshot, as it was."""
        return not (self.cells or self.problems or self.lost or self.versions or self.rebuilt)

    @property
    def notices(self) -> list[str]:
        """What the model must be told, if anything."""
        words = "" if self.woken else in_words(self)
        return [words] if words else []

    @property
    def concerns(self) -> list[str]:
        """What speaks against an answer whose files come from this session, one sentence each."""
        problems = [problem.rstrip(".") for problem in self.problems]
        return [f"The session is not as it was when the answer was written: {problem}." for problem in problems]

    def event(self) -> Rebuilt:
        """The receipt as the user is told of it."""
        return Rebuilt(
            cells=self.cells,
            seconds=self.seconds,
            problems=self.problems,
            from_cell=self.from_cell,
            restored=self.restored,
            lost=[_described(one) for one in self.lost],
            rebuilt=[f"{name} ({_from_cells(cells)})" for name, cells in self.rebuilt.items()],
            versions=self.versions,
            woken=self.woken,
        )


NOTHING_TO_DO = Receipt(cells=0, seconds=0.0)


def next_snapshot(snapshot: str, number: int, code: str) -> str:
    """Name the state after a cell that has no snapshot: a hash over the state before it and the cell."""
    return hashlib.sha256(f"{snapshot}\n{number}\n{code}".encode()).hexdigest()[:32]


async def caught_up(
    sandbox: Sandbox,
    state: State,
    runtime: Runtime[Context],
    snapshots: Snapshots,
    functions: HostFunctions = NOTHING,
    open_sandbox: OpenSandbox | None = None,
) -> Receipt:
    """Bring the sandbox to the state that State names, and tell whoever streams this run what that took.

    `open_sandbox` is for the inputs of a thread that was in a sandbox of another kind before.

    Raises:
        SandboxError: as the sandbox's own methods do.
        SettingsError: a server that offers functions cannot be reached.
    """
    if sandbox.head == state["sandbox"]["snapshot"]:
        return NOTHING_TO_DO
    context = knobs(runtime)
    calls = RepeatableCalls(await functions.ready(), timeout=context.call_timeout)
    token = on_wait.set(lambda text: tell(runtime, Notice(text)))
    try:
        receipt = await catch_up(
            sandbox,
            state,
            snapshots,
            rebuild_seconds=context.max_rebuild_seconds,
            functions=calls,
            open_sandbox=open_sandbox,
        )
    finally:
        on_wait.reset(token)
    if receipt is None:
        return NOTHING_TO_DO
    if in_words(receipt):
        tell(runtime, receipt.event())
    return receipt


async def catch_up(
    sandbox: Sandbox,
    state: State,
    snapshots: Snapshots,
    *,
    rebuild_seconds: float = 0.0,
    functions: Functions | None = None,
    open_sandbox: OpenSandbox | None = None,
) -> Receipt | None:
    """Make the sandbox's head equal to the one that State names.

    Args:
        sandbox: The thread's sandbox.
        state: Where it is to be.
        snapshots: Where snapshots are.
        rebuild_seconds: How long the cells may have taken that are run again for what no snapshot has.
        functions: What cells that run again can call.
        open_sandbox: Opens the sandbox that the thread was in before, for its inputs.

    Returns:
        What was done, or None when it was there already.

    Raises:
        SandboxError: as the sandbox's own methods do.
    """
    wanted = state["sandbox"]["snapshot"]
    if sandbox.head == wanted:
        return None
    started = time.monotonic()
    cells = [cell for cell in state.get("cells") or [] if cell["status"] in TOOK_EFFECT]
    problems = await carry_inputs(sandbox, state, snapshots, open_sandbox)
    index, session = await _restore(sandbox, cells, snapshots, problems)
    rebuilt: Mapping[str, tuple[int, ...]] = {}
    if session is not None:
        try:
            made = await rebuild(sandbox, snapshots, cells[: index + 1], session, limit=rebuild_seconds)
            session, rebuilt = made.session, made.cells
        except NotRestoredError:  # it was there a moment ago
            index, session = await _restore(sandbox, cells, snapshots, problems)
    again = await _run_again(sandbox, cells[index + 1 :], wanted, problems, functions)
    if sandbox.head != wanted:
        await sandbox.run("", number=0, timeout=60.0, head=wanted)
    receipt = Receipt(
        cells=again,
        seconds=time.monotonic() - started,
        problems=problems,
        from_cell=cells[index]["number"] if session is not None else 0,
        restored=len(session.restored) if session is not None else 0,
        lost=list(session.lost) if session is not None else [],
        rebuilt=dict(rebuilt),
        versions=list(session.versions) if session is not None else [],
    )
    return replace(receipt, woken=session is not None and session.woken and receipt.whole)


async def would_come_back(
    sandbox: Sandbox, state: State, snapshots: Snapshots, *, rebuild_seconds: float
) -> Receipt | None:
    """Restore the newest snapshot in a sandbox of another kind, to say what would not be as it was; no cell runs.

    Returns:
        What the receipt of the next cell would say; only what this sandbox cannot load counts as lost. None when there
        is no snapshot that can be restored.

    Raises:
        SandboxError: as the sandbox's own methods do.
    """
    cells = [cell for cell in state.get("cells") or [] if cell["status"] in TOOK_EFFECT]
    if not cells or not (snapshot := cells[-1].get("snapshot", "")):
        return None
    try:
        session = await snapshots.bring_back(sandbox, snapshot, damaged=set())
    except NotRestoredError:
        return None
    session = replace(session, lost=tuple(one for one in session.lost if not one.cell))
    found = await foresee(sandbox, snapshots, cells, session, limit=rebuild_seconds)
    return Receipt(
        cells=0,
        seconds=0.0,
        from_cell=cells[-1]["number"],
        restored=len(session.restored),
        lost=list(found.session.lost),
        rebuilt=dict(found.cells),
        versions=list(session.versions),
    )


async def _restore(
    sandbox: Sandbox, cells: list[Cell], snapshots: Snapshots, problems: list[str]
) -> tuple[int, RestoredSession | None]:
    """Restore the newest snapshot that can be; -1 and None when the session starts with the inputs alone."""
    damaged: set[str] = set()
    tries = 0
    for index in range(len(cells) - 1, -1, -1):
        snapshot = cells[index].get("snapshot", "")
        if not snapshot:
            continue
        try:
            return index, await snapshots.bring_back(sandbox, snapshot, damaged=damaged)
        except NotRestoredError as error:
            problems.append(f"the snapshot after cell {cells[index]['number']} cannot be used ({error})")
            tries += 1
        if tries >= MAX_TRIES:
            break
    await sandbox.reset()
    return -1, None


async def _run_again(
    sandbox: Sandbox, cells: list[Cell], wanted: str, problems: list[str], functions: Functions | None
) -> int:
    """Run cells again; the sandbox is at the wanted state once the last one has ended, and at none until then."""
    again = 0
    for cell in cells:
        if cell["status"] not in RUN_AGAIN:
            problems.append(f"cell {cell['number']} had been interrupted at its time limit and was not run again")
            continue
        if reached := cell.get("reached"):
            what = ", ".join(reached)
            problems.append(f"cell {cell['number']} had reached outside of the sandbox ({what}) and was not run again")
            continue
        result = await sandbox.run(
            cell["code"],
            number=cell["number"],
            timeout=max(60.0, 5 * cell["seconds"]),
            head=wanted if cell is cells[-1] else "",
            functions=functions,
        )
        again += 1
        if result.status != cell["status"]:
            problems.append(f"cell {cell['number']} ended with {result.status} this time, with {cell['status']} before")
    return again


def in_words(receipt: Receipt) -> str:
    """The receipt as the model is told of it; empty when there was nothing to bring back."""
    if receipt.from_cell:
        text = f"The session was restored from the snapshot after cell {receipt.from_cell}"
        text += f", and {_cells(receipt.cells)} after it ran again." if receipt.cells else "."
        text += " Variables and files are as they were." if receipt.whole else ""
    elif receipt.cells:
        text = f"The session was rebuilt by running {_cells(receipt.cells)} again."
    elif receipt.problems:
        text = "The session started again."
    else:
        return ""
    if receipt.rebuilt:
        made = "; ".join(f"{name} ({_from_cells(cells)})" for name, cells in list(receipt.rebuilt.items())[:MAX_NAMED])
        text += f" Made again by running only the cells that they need: {made}."
    if receipt.lost:
        named = ", ".join(_described(one) for one in receipt.lost[:MAX_NAMED])
        more = f" and {len(receipt.lost) - MAX_NAMED} more" if len(receipt.lost) > MAX_NAMED else ""
        text += f" Not brought back, so create them again if you need them: {named}{more}."
    if receipt.versions:
        text += f" Other versions than before: {', '.join(receipt.versions[:MAX_NAMED])}."
    return text + "".join(f" Not as before: {problem.rstrip('.')}." for problem in receipt.problems)


def _cells(count: int) -> str:
    return "1 earlier cell" if count == 1 else f"{count} earlier cells"


def _described(lost: LostVariable) -> str:
    kind = ", ".join(said for said in (lost.type, f"made in cell {lost.cell}" if lost.cell else "") if said)
    if not kind:
        return f"{lost.name} ({lost.reason.rstrip('.')})" if lost.reason else lost.name
    return f"{lost.name} ({kind}: {lost.reason.rstrip('.')})" if lost.reason else f"{lost.name} ({kind})"


def _from_cells(cells: Sequence[int]) -> str:
    *first, last = [str(number) for number in cells] or ["unknown"]
    return f"from cells {', '.join(first)} and {last}" if first else f"from cell {last}"
