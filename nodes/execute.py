"""Run the pending cell, record what it did, and keep the step."""

from dataclasses import replace
from functools import partial
from typing import cast

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.runtime import Runtime

from graph.context import Context, knobs, thread_of
from graph.events import Called, CellFinished, CellStarted, Displayed, Kept, Notice, Output, tell
from graph.functions import NOTHING, HostFunctions
from graph.journal import Entry, journal_of
from graph.state import Cell, PlanStep, SandboxRef, State
from nodes.calling import CellCalls
from nodes.catching_up import TOOK_EFFECT, caught_up, next_snapshot
from nodes.observation import remember, remember_namespace, step_title
from nodes.outcome import outcome_unknown
from nodes.recovering import recovered
from nodes.snapshots import Snapshots
from sandboxes.base import OpenSandbox, Sandbox
from sandboxes.results import Streamed


async def execute(
    state: State,
    runtime: Runtime[Context],
    config: RunnableConfig | None = None,
    *,
    open_sandbox: OpenSandbox,
    snapshots: Snapshots,
    functions: HostFunctions = NOTHING,
) -> State:
    """Run the first pending cell in the thread's sandbox, brought to State's snapshot first; then keep the step.

    What the code does (errors, time limits, a dead interpreter) is data in the recorded cell. When this node runs again
    for the same checkpoint, as after a crash, a cell that had finished is not run a second time; one that had not is
    rolled back and run again, or, if it may have reached outside of the sandbox, recorded as `unknown`.

    Raises:
        JournalError: the checkpoint that the cell starts from cannot be stored; the cell was not started.
        SandboxUnavailableError: it cannot be reached; retried, then the thread can be resumed.
        SandboxLostError: it is gone; the next try opens another one and rebuilds.
        SettingsError: a server that offers functions cannot be reached.
    """
    context = knobs(runtime)
    offer = await functions.ready()
    first, *rest = state["pending"]
    number = len(state.get("cells") or []) + 1
    before = state["sandbox"]["snapshot"]
    after = next_snapshot(before, number, first["code"])
    sandbox = await open_sandbox(context.sandbox, thread_of(runtime))
    journal = journal_of(config, runtime, first["code"])
    known = await journal.look() if journal is not None else None
    started = CellStarted(number=number, purpose=first["purpose"], code=first["code"])
    if known is not None and known.result is not None:
        tell(runtime, started)
        tell(runtime, CellFinished(known.result["cells"][0]))
        tell(runtime, Notice(f"Cell {number} had finished before the interruption; it was not run again."))
        return cast("State", known.result)
    calls = CellCalls(
        offer,
        first,
        timeout=context.call_timeout,
        journal=journal,
        known=known.calls if known is not None else (),
        tell=lambda *said: tell(runtime, Called(number, *said)),
    )
    notices = list(state.get("notices") or [])
    result = await outcome_unknown(sandbox, known) if known is not None else None
    if result is not None:
        tell(runtime, started)
        tell(runtime, Notice(f"Cell {number}: {result.note}", level="warning"))
    else:
        notices += await caught_up(sandbox, state, runtime, snapshots, functions, open_sandbox)
        if journal is not None:
            await journal.started(Entry(after, (await sandbox.reached()).sandbox, first["purpose"]))
        tell(runtime, started)
        show = partial(_show, runtime, number)
        result = await sandbox.run(
            first["code"],
            number=number,
            timeout=context.cell_timeout,
            head=after,
            on_output=show,
            functions=calls if offer.functions else None,
        )
        result = replace(result, reached=(*result.reached, *calls.reached))
        result, told = await recovered(result, sandbox, state, runtime, snapshots, functions)
        notices += told
        for said in calls.notices():
            tell(runtime, Notice(f"Cell {number}: {said}"))
            notices.append(said)
    cell = remember(first, result, number=number, turn=state["turn"], limit=context.observation_chars)
    if calls.lines:
        cell["calls"] = calls.lines
    tell(runtime, CellFinished(cell))
    kept = result.variables_kept
    if kept:
        # The result is out already: the snapshot costs the user nothing that he is waiting for.
        notices += await _keep(cell, state, runtime, sandbox, snapshots, limit_bytes=context.max_snapshot_bytes)
    at = cell.get("snapshot") or sandbox.head or after  # it may be asleep by now, and then it has no head
    messages = [ToolMessage(cell["observation"], tool_call_id=first["call_id"], name=step_title(cell))]
    if cell["status"] != "ok" and rest:
        messages += [
            ToolMessage("Not run: the cell before it failed.", tool_call_id=other["call_id"]) for other in rest
        ]
        notices.append(f"{len(rest)} further cells of that reply were not run, because cell {number} failed.")
        rest = []
    done: State = {
        "cells": [cell],
        "pending": rest,
        "approval": context.approval_after(state.get("approval")),
        "notices": notices,
        "messages": list(messages),
        "namespace": remember_namespace(result.namespace) if kept else state.get("namespace", []),
        "sandbox": SandboxRef(kind=sandbox.kind, id=sandbox.id, snapshot=at if kept else before),
        "plan": _tick(state.get("plan") or [], first["step"], done=cell["status"] == "ok"),
    }
    if journal is not None:
        await journal.finished(done)
    return done


def _show(runtime: Runtime[Context], number: int, streamed: Streamed) -> None:
    if streamed.stream == "display":
        if (display := streamed.display) is not None:
            tell(runtime, Displayed(number, text=display.text, html=display.html, path=display.path))
    else:
        tell(runtime, Output(number, stream=streamed.stream, text=streamed.text))


async def _keep(
    cell: Cell,
    state: State,
    runtime: Runtime[Context],
    sandbox: Sandbox,
    snapshots: Snapshots,
    *,
    limit_bytes: int,
) -> list[str]:
    """Take the snapshot after a cell and note it there.

    Returns:
        What the model must be told.
    """
    earlier = state.get("cells") or []
    kept = await snapshots.keep(sandbox, earlier, limit_bytes=limit_bytes)
    lost = kept.lost_names()
    cell["snapshot"], cell["snapshot_bytes"], cell["lost"] = kept.snapshot, kept.bytes, lost
    names = [one["name"] for one in lost]
    tell(runtime, Kept(cell["number"], kept.snapshot, kept.bytes, kept.seconds, names, kept.why_not))
    before = next((one for one in reversed(earlier) if one["status"] in TOOK_EFFECT), None)
    if kept.snapshot or (before is not None and before.get("snapshot") == ""):
        return []  # kept, or said before
    why = f"The step after cell {cell['number']} has no snapshot ({kept.why_not.rstrip('.')})."
    tell(runtime, Notice(f"{why} Coming back to it will run its cells again.", level="warning"))
    return [f"{why} If the session is lost, cells run again from the last snapshot, so keep cells repeatable."]


def _tick(plan: list[PlanStep], step: int, *, done: bool) -> list[PlanStep]:
    return [
        PlanStep(text=one["text"], done=one["done"] or (done and number == step)) for number, one in enumerate(plan, 1)
    ]
