"""Run the pending cell, record what it did, and keep the step."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from graph.checkpoints.given_up import given_up_here, take_back_here
from graph.checkpoints.holds import Holds, Keep, holds_of
from graph.checkpoints.journal import CallEntry, CellEntry, Journal, journal_of
from graph.context import Context, context_of
from graph.events import (
    CellFinished,
    CellStarted,
    Displayed,
    FunctionCalled,
    Notice,
    Output,
    Proposed,
    SnapshotSaved,
    emit,
)
from graph.functions.host_functions import FunctionTable
from graph.state import AskedCall, CallRecord, Cell, SandboxRef, State, Variable
from graph.users.consumption import current_meter
from graph.users.identity import thread_of
from nodes.calls.held_cells import (
    ApprovalRequest,
    call_text,
    calls_before,
    dropped_call_notices,
    held,
    hold_cell,
    records_of,
)
from nodes.calls.recorded_calls import CellCalls
from nodes.cell_outputs import outputs_of
from nodes.computed_answers import fill, wanted_values
from nodes.next_step import Next, tick
from nodes.prompts.exchanges import copy_ahead
from nodes.prompts.observation import cell_record, in_order_of_use, namespace_rows
from nodes.restoration.earlier_steps import EarlierSteps
from nodes.restoration.line import cells_in_effect, next_state_id, start_of_cell
from nodes.restoration.proofs import Proofs
from nodes.restoration.restore import RestoreService
from nodes.restoration.snapshots import SnapshotStore
from nodes.restoration.unknown_outcome import unknown_outcome
from nodes.shown_conversation import not_run, result_messages
from sandboxes.base import Sandbox, SandboxError
from sandboxes.results import CellResult, Streamed


async def execute(
    state: State,
    runtime: Runtime[Context],
    config: RunnableConfig | None = None,
    *,
    restoring: RestoreService,
) -> State:
    """Run the first pending cell in the thread's sandbox, brought to State's snapshot first; then keep the step.

    A cell that goes back starts from the snapshot of the earlier cell that it names.

    A call that needs approval ends the cell: State then holds the call, variables and files are as before the cell, and
    it runs again once `approve_call` has heard what is decided.

    What the code does (errors, time limits, a dead interpreter) is data in the recorded cell. When this node runs again
    for the same checkpoint, as after a crash, a cell that had finished is not run a second time; one that had not is
    rolled back and run again, or, if it may have reached outside of the sandbox, recorded as `unknown`.

    Raises:
        JournalError: the checkpoint that the cell starts from cannot be stored; the cell was not started.
        SandboxUnavailableError: it cannot be reached; retried, then the thread can be resumed.
        SandboxLostError: it is gone; the next try opens another one and rebuilds.
        SettingsError: a server that offers functions cannot be reached.
    """
    offer = await restoring.functions.ready()
    sandbox = await restoring.open(runtime)
    journal = journal_of(config, runtime, state["pending"][0]["code"])
    entry = await journal.look() if journal is not None else None
    attempt = _Attempt(state, runtime, sandbox, journal)
    if entry is not None and entry.result is not None:
        return attempt.already_finished(entry.result)
    earlier = await calls_before(attempt.pending, journal)
    calls = attempt.calls(offer, (*(earlier or ()), *(entry.calls if entry is not None else ())))
    result = await unknown_outcome(sandbox, entry, earlier)
    if result is not None:
        attempt.tell_started()
        emit(runtime, Notice(f"Cell {attempt.number}: {result.note}", level="warning"))
    else:
        receipt = await restoring.restore(sandbox, attempt.start, runtime)
        if not ("back_to" in attempt.pending and receipt.whole):  # then it is what the model asked for
            attempt.notices += [f"Before cell {attempt.number} ran: {notice}" for notice in receipt.notices]
        offered = calls if offer.functions else None
        given_up = await given_up_here(thread_of(runtime))
        earlier_steps = EarlierSteps(offered, sandbox, state.get("cells") or [], restoring.snapshots, given_up)
        result = await attempt.run(earlier_steps)
        if journal is not None and (asked := await calls.wait_until_held()) is not None:
            # What it reached up to the very end is known only now.
            broken = await unknown_outcome(sandbox, await journal.look(), earlier, seen=result.reached)
            if broken is None:
                before = len(entry.calls) if entry is not None else 0
                return attempt.held(asked, journal.record(before + calls.recorded), calls.lines)
            result = broken
        result = replace(result, reached=(*result.reached, *calls.reached))
        result, notices = await restoring.recover(result, sandbox, attempt.start, runtime)
        attempt.notices += notices
        result = attempt.with_calls(result, calls)
    done = await attempt.record(result, calls.lines, restoring.proofs)
    keep = attempt.keep(done, restoring) if result.variables_kept else attempt.finished(done)
    holds = holds_of(config) if result.variables_kept and _asks_model({**state, **done}) else None
    return await _kept_or_held(done, keep, holds, journal)


async def _kept_or_held(done: State, keep: Keep, holds: Holds | None, journal: Journal | None) -> State:
    """Keep the step now, or beside what comes next: then it is kept before any of what State learns is stored."""
    if journal is not None and holds is not None:
        holds.begin(journal.thread, keep)
    else:
        done["notices"] = [*done["notices"], *await keep]
    return done


def _asks_model(state: State) -> bool:
    """Whether `generate` follows, which needs no snapshot and waits for it before it ends."""
    return not (state.get("pending") or state.get("proposal") or state.get("direct"))


class _Attempt:
    """One attempt at the first pending cell: it runs, and is recorded."""

    def __init__(self, state: State, runtime: Runtime[Context], sandbox: Sandbox, journal: Journal | None) -> None:
        self._state, self._runtime, self._sandbox, self._journal = state, runtime, sandbox, journal
        self._context = context_of(runtime)
        self.pending, *self._rest = state["pending"]
        self.number = len(state.get("cells") or []) + 1
        self.start = start_of_cell(state)
        """State as the cell starts from it."""
        self._before = self.start["sandbox"]["snapshot"]
        self._after = next_state_id(self._before, self.number, self.pending["code"])
        self.notices = list(state.get("notices") or [])
        """What the model must be told."""
        self.notices += dropped_call_notices(self.pending) if held(self.pending) is None else []

    def tell_started(self) -> None:
        """Tell that it starts."""
        emit(self._runtime, CellStarted(self.number, purpose=self.pending["purpose"], code=self.pending["code"]))

    def already_finished(self, result: Mapping[str, Any]) -> State:
        """What State learns of a cell that had finished before this node was interrupted; it is not run again."""
        self.tell_started()
        emit(self._runtime, CellFinished(result["cells"][0]))
        emit(self._runtime, Notice(f"Cell {self.number} had finished before the interruption; it was not run again."))
        return cast("State", result)

    def calls(self, offer: FunctionTable, known: Sequence[CallEntry]) -> CellCalls:
        """What is offered to it; `known` are the calls that it has made before."""
        return CellCalls(
            offer,
            self.pending,
            timeout=self._context.call_timeout,
            journal=self._journal,
            known=known,
            emit=lambda *said: emit(self._runtime, FunctionCalled(self.number, *said)),
            asking=ApprovalRequest(self._sandbox, self.pending, self.number) if self._journal is not None else None,
        )

    async def run(self, calls: EarlierSteps) -> CellResult:
        """Run it in the sandbox, which is at the snapshot before it; that it starts is written down first.

        Raises:
            JournalError: that cannot be written down.
            SandboxError: as the sandbox's own methods do.
        """
        if self._journal is not None:
            note = await self._sandbox.reached()
            entry = CellEntry(self._after, note.sandbox, self.pending["purpose"], confined=note.confined)
            await self._journal.started(entry)
        self.tell_started()
        asyncio.get_running_loop().call_soon(copy_ahead)  # as soon as the cell runs
        return await self._sandbox.run(
            self.pending["code"],
            number=self.number,
            timeout=self._context.cell_timeout,
            head=self._after,
            on_output=partial(_show, self._runtime, self.number),
            functions=calls,
            values=wanted_values(self.pending.get("answer", "")),
        )

    def held(self, asked: AskedCall, record: CallRecord, lines: list[str]) -> State:
        """What State is to hold of it until somebody has decided on its call."""
        emit(self._runtime, Notice(f"Cell {self.number} waits at its call of {call_text(asked)}."))
        return {"pending": [hold_cell(self.pending, asked, record, lines), *self._rest], "notices": self.notices}

    def with_calls(self, result: CellResult, calls: CellCalls) -> CellResult:
        """The result with the outcome of its calls; the user and the model are told of calls that need attention."""
        for said in calls.notices():
            emit(self._runtime, Notice(f"Cell {self.number}: {said}"))
            self.notices.append(said)
        if result.status in ("killed", "timeout"):
            return replace(result, note=result.note + calls.effects())
        return result

    async def record(self, result: CellResult, calls: list[str], proofs: Proofs) -> State:
        """What State learns of the step, without its snapshot.

        Args:
            result: How the cell ended.
            calls: Its calls, a line each.
            proofs: What has been proved of earlier steps.
        """
        state, context, sandbox = self._state, self._context, self._sandbox
        limit = context.observation_chars
        cell = cell_record(self.pending, result, number=self.number, turn=state["turn"], limit=limit)
        cell["outputs"] = outputs_of(result)
        answered = self._answer(cell, result)
        if calls:
            cell["calls"] = calls
        emit(self._runtime, CellFinished(cell))
        proved, notices = proofs.take(sandbox.id, self._runtime)
        self.notices += notices
        at = self._after if result.variables_kept else self._before
        messages = result_messages(self.pending, cell)
        messages += self._drop_rest() if cell["status"] != "ok" else []
        return {
            **answered,
            **({"proofs": proved} if proved else {}),
            "cells": [cell],
            "pending": self._rest,
            "approval": context.approval_after(state.get("approval")),
            "notices": self.notices,
            "messages": list(messages),
            "namespace": await self._namespace(result, cell),
            "sandbox": SandboxRef(kind=sandbox.kind, id=sandbox.id, snapshot=at),
        }

    async def keep(self, done: State, restoring: RestoreService) -> list[str]:
        """Keep the step, put its name into what State learns of it, and write down that the cell has finished.

        The step is proved from then on.

        Returns:
            What the model must be told.
        """
        cell, sandbox, most = done["cells"][0], self._sandbox, self._context.max_snapshot_bytes
        told = await _keep(cell, self._state, self._runtime, sandbox, restoring.snapshots, limit_bytes=most)
        # It may be asleep by now, and then it has no head.
        at = done["sandbox"]["snapshot"] = cell.get("snapshot") or sandbox.head or self._after
        if at == sandbox.head:
            asked = done["approval"] == "cells" and not self._rest
            restoring.proofs.begin(sandbox, cell, always=asked)
        return told + await self.finished({**done, "notices": [*done["notices"], *told]})

    async def finished(self, done: State) -> list[str]:
        """Write down that the cell has finished; there is nothing to tell of that."""
        if self._journal is not None:
            await self._journal.finished(done, records_of(self.pending))
        return []

    async def _namespace(self, result: CellResult, cell: Cell) -> list[Variable]:
        """The variables after the cell; one that left none after it went back has those of the step it went to."""
        before = self._state.get("namespace") or []
        if not result.variables_kept:
            if "back_to" not in cell:
                return in_order_of_use(before, [cell], before)
            if self._sandbox.head != self._before:
                return []
            try:
                result = await self._sandbox.run("", number=0, timeout=60.0, head=self._before)
            except SandboxError:
                return []  # the next cell shows them
        if before and "back_to" not in cell:
            return namespace_rows(result.namespace, [cell], before)
        return namespace_rows(result.namespace, [*(self._state.get("cells") or []), cell])

    def _answer(self, cell: Cell, result: CellResult) -> State:
        """What State learns of the answer that came with the cell; nothing when the cell failed."""
        if not (template := self.pending.get("answer", "")):
            return {}
        cell["answer"] = template
        if cell["status"] != "ok":
            return {}
        try:
            proposal, values = fill(template, result.values)
        except ValueError as error:
            self.notices.append(f"The answer that came with cell {self.number} cannot be used: {error}. Give it again.")
            return {}
        cell["values"] = values
        emit(self._runtime, Proposed(proposal))
        skipped = self.pending.get("skipped", [])
        after = State(**{**self._state, "cells": [*(self._state.get("cells") or []), cell]})
        plan = tick(self._state.get("plan") or [], Next(answer=proposal), after)
        return {"proposal": proposal, "skipped": skipped, "plan": plan}

    def _drop_rest(self) -> list[ToolMessage]:
        """Drop the cells of the same reply that would follow; each call of a model is answered."""
        dropped, self._rest = self._rest, []
        if dropped:
            failed = f"because cell {self.number} failed"
            self.notices.append(f"{len(dropped)} further cells of that reply were not run, {failed}.")
        return not_run(dropped, "the cell before it failed")


def _show(runtime: Runtime[Context], number: int, streamed: Streamed) -> None:
    if streamed.stream == "display":
        if (display := streamed.display) is not None:
            emit(runtime, Displayed(number, text=display.text, html=display.html, path=display.path))
    else:
        emit(runtime, Output(number, stream=streamed.stream, text=streamed.text))


async def _keep(
    cell: Cell,
    state: State,
    runtime: Runtime[Context],
    sandbox: Sandbox,
    snapshots: SnapshotStore,
    *,
    limit_bytes: int,
) -> list[str]:
    """Take the snapshot after a cell and note it there.

    Returns:
        What the model must be told.
    """
    earlier = state.get("cells") or []
    kept = await snapshots.keep(sandbox, earlier, limit_bytes=limit_bytes)
    if (meter := current_meter.get()) is not None:
        meter.keep(kept.bytes)
    lost = kept.lost_names()
    cell["snapshot"], cell["snapshot_bytes"], cell["lost"] = kept.snapshot, kept.bytes, lost
    if kept.snapshot:
        await take_back_here(thread_of(runtime), kept.snapshot)
    names = [one["name"] for one in lost]
    emit(runtime, SnapshotSaved(cell["number"], kept.snapshot, kept.bytes, kept.seconds, names, kept.why_not))
    before = cells_in_effect(earlier)[-1:]
    if kept.snapshot or (before and before[0].get("snapshot") == ""):
        return []  # kept, or said before
    why = f"The step after cell {cell['number']} has no snapshot ({kept.why_not.rstrip('.')})."
    emit(runtime, Notice(f"{why} Coming back to it will run its cells again.", level="warning"))
    return [f"{why} If the session is lost, cells run again from the last snapshot, so keep cells repeatable."]
