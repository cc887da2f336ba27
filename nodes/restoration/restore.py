"""Bring a thread's sandbox to a step: restore its snapshot, make again what it lacks, run what came after it.

The snapshot is restored first; what it lacks is looked for among the cells, inside the sandbox. If they may run again
by themselves, the session starts at the snapshot before the first of them, runs them, and settles at the snapshot that
is wanted. Whatever goes wrong on the way, the session ends at that snapshot, and the variables are reported lost.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from langgraph.runtime import Runtime

from graph.checkpoints.given_up import NONE, GivenUp, given_up_here, without_given_up
from graph.context import Context, context_of
from graph.events import Notice, emit
from graph.functions.host_functions import NO_FUNCTIONS, HostFunctions
from graph.state import Cell, State
from graph.users.identity import thread_of
from nodes.calls.recorded_calls import RepeatableCalls
from nodes.inputs import supply_inputs
from nodes.restoration.earlier_steps import EarlierSteps
from nodes.restoration.given_up_steps import REPEATABLE, given_up_step
from nodes.restoration.line import cells_in_effect
from nodes.restoration.manifests import NotRestoredError
from nodes.restoration.proofs import NO_PROOFS, Proofs
from nodes.restoration.receipt import NO_RESTORE_NEEDED, Receipt, receipt_text
from nodes.restoration.snapshots import SnapshotStore
from sandboxes.base import OpenSandbox, Sandbox, SandboxError, SandboxLostError
from sandboxes.functions import Functions
from sandboxes.host.session_pool import on_wait
from sandboxes.rebuilding import BrokenOff, PastCell, RebuildOrder, RebuildPlan
from sandboxes.results import CellResult, LostVariable, RestoredSession

LOST = "; variables are lost"
"""How the note of a cell ends whose session is gone."""
NO_VARIABLES = ("file", "module", "setting")
"""What a restore calls the type of something lost that no cell makes."""
MAX_REBUILD_TRIES = 3
"""Times that cells are run for what is lost; after each failure without what needed the failing cell."""


@dataclass(frozen=True, slots=True)
class RebuildResult:
    """What came of it."""

    session: RestoredSession
    """What came back in all; what could not be made again is lost, with the reason why not."""
    cells: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """For each variable that was made again, the cells that ran for it."""


async def rebuild(
    sandbox: Sandbox, snapshots: SnapshotStore, cells: Sequence[Cell], session: RestoredSession, *, limit: float
) -> RebuildResult:
    """Make lost variables again in a session that was just restored.

    Args:
        sandbox: At the snapshot of the last of `cells`.
        snapshots: Where snapshots are.
        cells: Those that it stands on and that took effect, up to that snapshot.
        session: What came back from it.
        limit: Seconds that cells may have taken together to be run again; 0: none are.

    Raises:
        NotRestoredError: the snapshot could be restored before and cannot be any more.
        SandboxError: as the sandbox's own methods do.
    """
    names = _variables(session)
    if not names or limit <= 0:
        return RebuildResult(session)
    refused: dict[str, str] = {}
    for _ in range(MAX_REBUILD_TRIES):
        left = [name for name in names if name not in refused]
        plan, order = await _plan(sandbox, snapshots, cells, session, left, limit)
        refused |= plan.refused
        session = replace(session, lost=tuple(_with_cell(one, plan.since) for one in session.lost))
        if order is None:
            break
        came = await _try(sandbox, snapshots, order)
        if isinstance(came, RestoredSession):
            came = replace(came, lost=tuple(_with_cell(one, plan.since) for one in came.lost))
            reasons = _with_reasons(came, refused)
            return RebuildResult(reasons, {name: plan.own.get(name, ()) for name in came.rebuilt})
        failed = [name for name in plan.names if not came.cell or came.cell in plan.own.get(name, ())]
        where = f"cell {came.cell} failed when it ran again" if came.cell else "running its cells again failed"
        refused |= dict.fromkeys(failed or plan.names, f"{where}: {came.reason}")
        session = await snapshots.restore(sandbox, order.snapshot, damaged=set())
    return RebuildResult(_with_reasons(session, refused))


async def preview_rebuild(
    sandbox: Sandbox, snapshots: SnapshotStore, cells: Sequence[Cell], session: RestoredSession, *, limit: float
) -> RebuildResult:
    """Say what `rebuild` would make again; nothing is run. For the arguments see there.

    Raises:
        SandboxError: as the sandbox's own methods do.
    """
    names = _variables(session)
    if not names or limit <= 0:
        return RebuildResult(session)
    plan, order = await _plan(sandbox, snapshots, cells, session, names, limit)
    made = {name: plan.own.get(name, ()) for name in plan.names} if order is not None else {}
    lost = tuple(_with_cell(one, plan.since) for one in session.lost if one.name not in made)
    return RebuildResult(_with_reasons(replace(session, lost=lost), plan.refused), made)


def _variables(session: RestoredSession) -> list[str]:
    """What is lost that a cell could make."""
    return [one.name for one in session.lost if one.name.isidentifier() and one.type not in NO_VARIABLES]


async def _plan(
    sandbox: Sandbox,
    snapshots: SnapshotStore,
    cells: Sequence[Cell],
    session: RestoredSession,
    names: list[str],
    limit: float,
) -> tuple[RebuildPlan, RebuildOrder | None]:
    """What is to be done for some of the lost variables; no order when nothing can be."""
    known = [cell.get("snapshot", "") for cell in cells]
    there = await snapshots.lay_out(sandbox, [id for id in known if id], files=False)
    while True:
        past = [
            PastCell(
                number=cell["number"],
                code=cell["code"],
                status=cell["status"],
                seconds=cell["seconds"],
                snapshot=id if id in there else "",
                reached=tuple(cell.get("reached") or ()),
            )
            for cell, id in zip(cells, known, strict=True)
        ]
        plan = await sandbox.plan_rebuild(past, names, limit=limit)
        order = _order(plan, past, session, known[-1], limit)
        found = {id for _, _, id in order.cells if id} if order is not None else set[str]()
        lacking = found - await snapshots.lay_out(sandbox, sorted(found), files=True)
        if not lacking:
            return plan, order
        there -= lacking  # its files are damaged, or gone: there may be another way


def _order(
    plan: RebuildPlan, past: Sequence[PastCell], session: RestoredSession, snapshot: str, limit: float
) -> RebuildOrder | None:
    """What a plan comes to; None: nothing can be done."""
    by_number = {cell.number: cell for cell in past}
    types = {one.name: one.type for one in session.lost if one.name in plan.names}
    fits = {plan.base, *plan.cells, *plan.before} - {0} <= set(by_number) and len(plan.before) == len(plan.cells)
    if not types or not plan.cells or not fits:
        return None
    at = {0: "", **{number: cell.snapshot for number, cell in by_number.items()}}
    run = tuple(
        (number, by_number[number].code, "" if index and plan.cells[index - 1] == before else at[before])
        for index, (number, before) in enumerate(zip(plan.cells, plan.before, strict=True))
    )
    return RebuildOrder(snapshot, base=at[plan.base], cells=run, types=types, seconds=2 * limit)


async def _try(sandbox: Sandbox, snapshots: SnapshotStore, order: RebuildOrder) -> RestoredSession | BrokenOff:
    try:
        await snapshots.supply(sandbox, [id for id in (order.base, order.snapshot) if id])
        return await sandbox.rebuild(order)
    except NotRestoredError as error:
        return BrokenOff(str(error))
    except SandboxLostError as error:
        return BrokenOff(str(error))


def _with_reasons(session: RestoredSession, refused: Mapping[str, str]) -> RestoredSession:
    lost = tuple(_with_reason(one, refused.get(one.name, "")) for one in session.lost)
    return replace(session, lost=lost)


def _with_cell(lost: LostVariable, since: Mapping[str, int]) -> LostVariable:
    """What could not be loaded does not say which cell made it; the plan does."""
    return replace(lost, cell=since[lost.name]) if not lost.cell and lost.name in since else lost


def _with_reason(lost: LostVariable, why: str) -> LostVariable:
    return replace(lost, reason=f"{lost.reason.rstrip('.')}; {why}".strip("; ")) if why else lost


MAX_TRIES = 4
"""Snapshots that are tried before all cells run again."""


async def restore_session(
    sandbox: Sandbox,
    state: State,
    snapshots: SnapshotStore,
    *,
    rebuild_seconds: float = 0.0,
    functions: Functions | None = None,
    open_sandbox: OpenSandbox | None = None,
    given_up: Mapping[str, GivenUp] = NONE,
) -> Receipt | None:
    """Make the sandbox's head equal to the one that State names.

    Args:
        sandbox: The thread's sandbox.
        state: Where it is to be.
        snapshots: Where snapshots are.
        rebuild_seconds: How long the cells may have taken that are run again for what no snapshot has.
        functions: What cells that run again can call.
        open_sandbox: Opens the sandbox that the thread was in before, for its inputs.
        given_up: The snapshots that the thread does without; none of them is used, wherever its blobs are.

    Returns:
        What was done, or None when it was there already.

    Raises:
        SandboxError: as the sandbox's own methods do.
    """
    wanted = state["sandbox"]["snapshot"]
    if sandbox.head == wanted:
        return None
    started = time.monotonic()
    known = without_given_up(state.get("cells") or [], given_up)
    cells = cells_in_effect(known)
    problems = await supply_inputs(sandbox, state, snapshots, open_sandbox)
    step = given_up_step(state.get("cells") or [], given_up)
    index, session = await _restore(sandbox, cells, snapshots, problems)
    rebuilt: Mapping[str, tuple[int, ...]] = {}
    if session is not None:
        try:
            made = await rebuild(sandbox, snapshots, cells[: index + 1], session, limit=rebuild_seconds)
            session, rebuilt = made.session, made.cells
        except NotRestoredError:  # it was there a moment ago
            index, session = await _restore(sandbox, cells, snapshots, problems)
    again = await _run_again(sandbox, cells, index + 1, wanted, problems, functions, snapshots, known, given_up)
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
        given_up=step.opening if step is not None else "",
    )
    return replace(receipt, woken=session is not None and session.woken and receipt.whole)


async def preview_restore(
    sandbox: Sandbox, state: State, snapshots: SnapshotStore, *, rebuild_seconds: float
) -> Receipt | None:
    """Restore the newest snapshot in a sandbox of another kind, to say what would not be as it was; no cell runs.

    Returns:
        What the receipt of the next cell would say; only what this sandbox cannot load counts as lost. None when there
        is no snapshot that can be restored.

    Raises:
        SandboxError: as the sandbox's own methods do.
    """
    cells = cells_in_effect(state.get("cells") or [])
    if not cells or not (snapshot := cells[-1].get("snapshot", "")):
        return None
    try:
        session = await snapshots.restore(sandbox, snapshot, damaged=set())
    except NotRestoredError:
        return None
    session = replace(session, lost=tuple(one for one in session.lost if not one.cell))
    found = await preview_rebuild(sandbox, snapshots, cells, session, limit=rebuild_seconds)
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
    sandbox: Sandbox, cells: list[Cell], snapshots: SnapshotStore, problems: list[str]
) -> tuple[int, RestoredSession | None]:
    """Restore the newest snapshot that can be; -1 and None when the session starts with the inputs alone."""
    damaged: set[str] = set()
    tries = 0
    for index in range(len(cells) - 1, -1, -1):
        snapshot = cells[index].get("snapshot", "")
        if not snapshot:
            continue
        try:
            return index, await snapshots.restore(sandbox, snapshot, damaged=damaged)
        except NotRestoredError as error:
            problems.append(f"the snapshot after cell {cells[index]['number']} cannot be used ({error})")
            tries += 1
        if tries >= MAX_TRIES:
            break
    await sandbox.reset()
    return -1, None


async def _run_again(
    sandbox: Sandbox,
    cells: list[Cell],
    first: int,
    wanted: str,
    problems: list[str],
    functions: Functions | None,
    snapshots: SnapshotStore,
    known: Sequence[Cell],
    given_up: Mapping[str, GivenUp],
) -> int:
    """Run cells again; the sandbox is at the wanted state once the last one has ended, and at none until then."""
    again = 0
    for cell in cells[first:]:
        if cell["status"] not in REPEATABLE:
            problems.append(f"cell {cell['number']} had been interrupted at its time limit and was not run again")
            continue
        if reached := cell.get("reached"):
            what = ", ".join(reached)
            problems.append(f"cell {cell['number']} had reached outside of the sandbox ({what}) and was not run again")
            continue
        earlier = [one for one in known if one["number"] < cell["number"]]
        result = await sandbox.run(
            cell["code"],
            number=cell["number"],
            timeout=max(60.0, 5 * cell["seconds"]),
            head=wanted if cell is cells[-1] else "",
            functions=EarlierSteps(functions, sandbox, earlier, snapshots, given_up),
        )
        again += 1
        if result.status != cell["status"]:
            problems.append(f"cell {cell['number']} ended with {result.status} this time, with {cell['status']} before")
    return again


@dataclass(frozen=True, slots=True)
class RestoreService:
    """Opens a thread's sandbox and brings it to the step that State names; nodes share it."""

    open_sandbox: OpenSandbox
    snapshots: SnapshotStore
    functions: HostFunctions = NO_FUNCTIONS
    proofs: Proofs = NO_PROOFS

    async def open(self, runtime: Runtime[Context]) -> Sandbox:
        """Open the sandbox of the thread that a run is about.

        Raises:
            SandboxUnavailableError: it cannot be made or reached now.
        """
        return await self.open_sandbox(context_of(runtime).sandbox, thread_of(runtime))

    def prove_last(self, sandbox: Sandbox, state: State) -> None:
        """Have the step proved that the turn ends at, if the sandbox is still there; returns at once."""
        last = next((cell for cell in reversed(state["cells"]) if cell.get("snapshot") == sandbox.head), None)
        if last is not None:
            self.proofs.begin(sandbox, last, always=True)

    async def restore(self, sandbox: Sandbox, state: State, runtime: Runtime[Context]) -> Receipt:
        """Bring the sandbox to the step that State names, and tell whoever streams this run what that took.

        Raises:
            SandboxError: as the sandbox's own methods do.
            SettingsError: a server that offers functions cannot be reached.
        """
        if sandbox.head == state["sandbox"]["snapshot"]:
            return NO_RESTORE_NEEDED
        context = context_of(runtime)
        token = on_wait.set(lambda text: emit(runtime, Notice(text)))
        try:
            receipt = await restore_session(
                sandbox,
                state,
                self.snapshots,
                rebuild_seconds=context.max_rebuild_seconds,
                functions=RepeatableCalls(await self.functions.ready(), timeout=context.call_timeout),
                open_sandbox=self.open_sandbox,
                given_up=await given_up_here(thread_of(runtime)),
            )
        finally:
            on_wait.reset(token)
        if receipt is None:
            return NO_RESTORE_NEEDED
        if receipt_text(receipt):
            emit(runtime, receipt.event())
        return receipt

    async def recover(
        self, result: CellResult, sandbox: Sandbox, state: State, runtime: Runtime[Context]
    ) -> tuple[CellResult, list[str]]:
        """Restore a session that a cell has killed, unless a forked copy of it has taken its place.

        A sandbox that cannot be reached now is left to the next cell, which tries again.

        Returns:
            The result, which says what came back and how long that took, and what the model must be told.
        """
        if result.status != "killed" or result.recovered == "copy":
            return result, []
        began = time.monotonic()
        try:
            receipt = await self.restore(sandbox, state, runtime)
        except SandboxError:
            return result, []
        seconds = result.recovery_seconds + time.monotonic() - began
        how = f"variables and files are as before the cell, from its snapshot, after {1e3 * seconds:.0f} ms"
        note = f"{result.note.removesuffix(LOST)}; {how}"
        return replace(result, recovered="snapshot", recovery_seconds=seconds, note=note), receipt.notices
