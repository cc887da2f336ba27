"""Making again what a snapshot could not save, by running only the cells that it needs.

The snapshot is restored first; what it lacks is looked for among the cells, inside the sandbox. If they may run again
by themselves, the session starts at the snapshot before the first of them, runs them, and settles at the snapshot that
is wanted. Whatever goes wrong on the way, the session ends at that snapshot, and the variables are reported lost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from graph.state import Cell
from nodes.restoring.manifests import NotRestoredError
from nodes.restoring.snapshots import Snapshots
from sandboxes.base import Sandbox, SandboxLostError
from sandboxes.rebuilding import BrokenOff, PastCell, RebuildOrder, RebuildPlan
from sandboxes.results import LostVariable, RestoredSession

NO_VARIABLES = ("file", "module", "setting")
"""What a restore calls the type of something lost that no cell makes."""
MAX_TRIES = 3
"""Times that cells are run for what is lost; after each failure without what needed the failing cell."""


@dataclass(frozen=True, slots=True)
class Rebuilding:
    """What came of it."""

    session: RestoredSession
    """What came back in all; what could not be made again is lost, with the reason why not."""
    cells: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """For each variable that was made again, the cells that ran for it."""


async def rebuild(
    sandbox: Sandbox, snapshots: Snapshots, cells: Sequence[Cell], session: RestoredSession, *, limit: float
) -> Rebuilding:
    """Make lost variables again in a session that was just restored.

    Args:
        sandbox: At the snapshot of the last of `cells`.
        snapshots: Where snapshots are.
        cells: Those that took effect, up to that snapshot.
        session: What came back from it.
        limit: Seconds that cells may have taken together to be run again; 0: none are.

    Raises:
        NotRestoredError: the snapshot could be restored before and cannot be any more.
        SandboxError: as the sandbox's own methods do.
    """
    names = _variables(session)
    if not names or limit <= 0:
        return Rebuilding(session)
    refused: dict[str, str] = {}
    for _ in range(MAX_TRIES):
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
            return Rebuilding(reasons, {name: plan.own.get(name, ()) for name in came.rebuilt})
        failed = [name for name in plan.names if not came.cell or came.cell in plan.own.get(name, ())]
        where = f"cell {came.cell} failed when it ran again" if came.cell else "running its cells again failed"
        refused |= dict.fromkeys(failed or plan.names, f"{where}: {came.reason}")
        session = await snapshots.bring_back(sandbox, order.snapshot, damaged=set())
    return Rebuilding(_with_reasons(session, refused))


async def foresee(
    sandbox: Sandbox, snapshots: Snapshots, cells: Sequence[Cell], session: RestoredSession, *, limit: float
) -> Rebuilding:
    """Say what `rebuild` would make again; nothing is run. For the arguments see there.

    Raises:
        SandboxError: as the sandbox's own methods do.
    """
    names = _variables(session)
    if not names or limit <= 0:
        return Rebuilding(session)
    plan, order = await _plan(sandbox, snapshots, cells, session, names, limit)
    made = {name: plan.own.get(name, ()) for name in plan.names} if order is not None else {}
    lost = tuple(_with_cell(one, plan.since) for one in session.lost if one.name not in made)
    return Rebuilding(_with_reasons(replace(session, lost=lost), plan.refused), made)


def _variables(session: RestoredSession) -> list[str]:
    """What is lost that a cell could make."""
    return [one.name for one in session.lost if one.name.isidentifier() and one.type not in NO_VARIABLES]


async def _plan(
    sandbox: Sandbox,
    snapshots: Snapshots,
    cells: Sequence[Cell],
    session: RestoredSession,
    names: list[str],
    limit: float,
) -> tuple[RebuildPlan, RebuildOrder | None]:
    """What is to be done for some of the lost variables; no order when nothing can be."""
    known = [cell.get("snapshot", "") for cell in cells]
    there = await snapshots.lay_out(sandbox, [id for id in known if id])
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
    by_number = {cell.number: cell for cell in past}
    types = {one.name: one.type for one in session.lost if one.name in plan.names}
    fits = {plan.base, *plan.cells, *plan.before} - {0} <= set(by_number) and len(plan.before) == len(plan.cells)
    if not types or not plan.cells or not fits:
        return plan, None
    at = {0: "", **{number: cell.snapshot for number, cell in by_number.items()}}
    run = tuple(
        (number, by_number[number].code, "" if index and plan.cells[index - 1] == before else at[before])
        for index, (number, before) in enumerate(zip(plan.cells, plan.before, strict=True))
    )
    return plan, RebuildOrder(known[-1], base=at[plan.base], cells=run, types=types, seconds=2 * limit)


async def _try(sandbox: Sandbox, snapshots: Snapshots, order: RebuildOrder) -> RestoredSession | BrokenOff:
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
