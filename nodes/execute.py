"""Run the pending cell and record what it did."""

from langchain_core.messages import ToolMessage
from langgraph.runtime import Runtime

from graph.context import Context, knobs, thread_of
from graph.events import CellFinished, CellStarted, Displayed, Output, tell
from graph.state import PlanStep, SandboxRef, State
from nodes.catching_up import caught_up, next_snapshot
from nodes.observation import remember, remember_namespace
from sandboxes.base import OpenSandbox, Streamed


async def execute(state: State, runtime: Runtime[Context], *, open_sandbox: OpenSandbox) -> State:
    """Run the first pending cell in the thread's sandbox, brought to State's snapshot first.

    What the code does (errors, time limits, a dead interpreter) is data in the recorded cell. Running this node again
    for the same checkpoint, as after a crash, starts from the same snapshot: what a broken-off run had done is gone.

    Raises:
        SandboxUnavailableError: it cannot be reached; retried, then the thread can be resumed.
        SandboxLostError: it is gone; the next try opens another one and rebuilds.
    """
    context = knobs(runtime)
    first, *rest = state["pending"]
    cells = state.get("cells") or []
    number = len(cells) + 1
    sandbox = await open_sandbox(context.sandbox, thread_of(runtime))
    notices = list(state.get("notices") or [])
    notices += await caught_up(sandbox, state, runtime)

    def show(streamed: Streamed) -> None:
        if streamed.stream == "display":
            if (display := streamed.display) is not None:
                tell(runtime, Displayed(number, text=display.text, html=display.html, path=display.path))
        else:
            tell(runtime, Output(number, stream=streamed.stream, text=streamed.text))

    tell(runtime, CellStarted(number=number, purpose=first["purpose"], code=first["code"]))
    before = state["sandbox"]["snapshot"]
    after = next_snapshot(before, number, first["code"])
    result = await sandbox.run(first["code"], number=number, timeout=context.cell_timeout, head=after, on_output=show)
    cell = remember(first, result, number=number, turn=state["turn"], limit=context.observation_chars)
    tell(runtime, CellFinished(cell))
    messages = [ToolMessage(cell["observation"], tool_call_id=first["call_id"])]
    if cell["status"] != "ok" and rest:
        messages += [
            ToolMessage("Not run: the cell before it failed.", tool_call_id=other["call_id"]) for other in rest
        ]
        notices.append(f"{len(rest)} further cells of that reply were not run, because cell {number} failed.")
        rest = []
    kept = result.variables_kept
    return {
        "cells": [cell],
        "pending": rest,
        "approval": context.approval,
        "notices": notices,
        "messages": list(messages),
        "namespace": remember_namespace(result.namespace) if kept else state.get("namespace", []),
        "sandbox": SandboxRef(kind=sandbox.kind, id=sandbox.id, snapshot=after if kept else before),
        "plan": _tick(state.get("plan") or [], first["step"], done=cell["status"] == "ok"),
    }


def _tick(plan: list[PlanStep], step: int, *, done: bool) -> list[PlanStep]:
    return [
        PlanStep(text=one["text"], done=one["done"] or (done and number == step)) for number, one in enumerate(plan, 1)
    ]
