"""The nodes at which a plan, a cell, or a call of the user's function waits for approval."""

import re
from typing import Any, ClassVar, Literal

from langgraph.runtime import Runtime
from langgraph.types import interrupt
from pydantic import Field

from graph.context import Context
from graph.events import CellFinished, Notice, Planned, emit
from graph.functions.host_functions import NO_FUNCTIONS, HostFunctions
from graph.state import AskedCall, Cell, DecidedCall, HumanCode, Pending, PlanStep, State
from graph.users.identity import user_of
from models.messages import without_surrogates
from nodes.action_requests import HumanDecision, action_request
from nodes.calls.held_cells import call_asked, call_text, decide, shown_call
from nodes.cell_magics.magics import python_of
from nodes.next_step import read_plan
from nodes.prompts.observation import REJECTED, shorten
from nodes.shown_conversation import not_run, result_messages


class Decision(HumanDecision):
    """What somebody decided about a cell."""

    edits: ClassVar = ("code",)

    verdict: Literal["approve", "edit", "reject"] = Field(title="Verdict")
    code: str = Field(default="", title="Code", description="With `edit`: the code to run instead.")
    remark: str = Field(default="", title="Remark", description="With `reject`: what the model should do instead.")


async def approve(state: State, runtime: Runtime[Context], *, functions: HostFunctions = NO_FUNCTIONS) -> State:
    """Ask about the first pending cell and do as decided; a rejected cell is recorded and never runs.

    The request names the host functions that the code names. Approving of the cell approves of none of its calls.

    Raises:
        SettingsError: a server that offers functions cannot be reached.
    """
    first, *rest = state["pending"]
    number = len(state.get("cells") or []) + 1
    offer = await functions.ready()
    asked: dict[str, Any] = {"number": number, "purpose": first["purpose"], "code": first["code"]}
    answer = first.get("answer", "")
    if answer:
        asked["answer"] = answer
    if "back_to" in first:
        asked["back_to"] = first["back_to"]
    if named := offer.named_in(f"{first['code']}\n{answer}"):
        asked["functions"] = named
    decision = interrupt({"ask": "Run this cell?", **asked, **_shown_cell(asked)}, response_schema=Decision)
    if decision.verdict == "approve":
        return {}
    if decision.verdict == "edit" and decision.code.strip():
        edited: Pending = {**first, "code": python_of(without_surrogates(decision.code))}
        if edited["code"] != first["code"]:
            edited["edited"] = HumanCode(by=user_of(runtime), original=first["code"])
        return {
            "pending": [edited, *rest],
            "notices": [*state.get("notices", []), f"The user edited the code of cell {number} before it ran."],
        }
    removed = "its code was removed" if decision.verdict == "edit" else "no reason was given"
    remark = without_surrogates(decision.remark).strip() or removed
    cell = Cell(
        number=number,
        turn=state["turn"],
        step=first["step"],
        purpose=first["purpose"],
        thought=first["thought"],
        code=first["code"],
        status="rejected",
        observation=shorten(f"cell {number} · rejected · not run\n{REJECTED}{remark}", 2_000),
        error="",
        seconds=0.0,
        files=[],
        figures=[],
    )
    emit(runtime, CellFinished(cell))
    messages = [*result_messages(first, cell), *not_run(rest, "an earlier cell was rejected")]
    return {"cells": [cell], "pending": [], "messages": list(messages)}


def _shown_cell(asked: dict[str, Any]) -> dict[str, Any]:
    """The request as front ends show it; what an edit cannot change stands in the description."""
    lines = [f"Run cell {asked['number']}? {asked['purpose']}"]
    if "back_to" in asked:
        lines.append(f"It starts with variables and files as they were after cell {asked['back_to']}.")
    if asked.get("functions"):
        lines.append(f"It names functions of this computer: {', '.join(asked['functions'])}.")
    if asked.get("answer"):
        lines.append(
            f"If it ends well, this is the answer, with values in place of the expressions:\n\n{asked['answer']}"
        )
    return action_request("run_python", {"code": asked["code"]}, "\n\n".join(lines), ("approve", "edit", "reject"))


MARK = re.compile(r"^\s*(?:\d{1,2}[.)]|[-*•])\s+")
"""What may stand before a step of a plan."""


def steps_written(text: str) -> tuple[str, ...]:
    """The steps of a plan that somebody wrote, one a line, numbered or not."""
    return read_plan([MARK.sub("", line) for line in text.splitlines()])


class PlanDecision(HumanDecision):
    """What somebody decided about a plan."""

    edits: ClassVar = ("plan",)

    verdict: Literal["approve", "edit", "reject"] = Field(title="Verdict")
    plan: str = Field(default="", title="Plan", description="With `edit`: the steps to follow instead, one a line.")
    remark: str = Field(default="", title="Remark", description="With `reject`: what should be different.")


async def approve_plan(state: State, runtime: Runtime[Context]) -> State:
    """Ask about the plan and do as decided; after a rejection the model is asked for another one."""
    plan = [step["text"] for step in state.get("plan") or []]
    listed = "\n".join(f"{number}. {text}" for number, text in enumerate(plan, 1))
    shown = action_request("follow_plan", {"plan": listed}, "Go on with this plan?", ("approve", "edit", "reject"))
    decision = interrupt({"ask": "Go on with this plan?", "plan": plan, **shown}, response_schema=PlanDecision)
    if decision.verdict == "approve":
        return {"plan_waits": False}
    notices = state.get("notices", [])
    written = without_surrogates(decision.plan) if decision.verdict == "edit" else ""
    steps = steps_written(written)
    if steps:
        edited = [PlanStep(text=text, done=False) for text in steps]
        emit(runtime, Planned(edited))
        return {"plan": edited, "plan_waits": False, "notices": [*notices, "The user edited the plan; follow it."]}
    removed = "its steps were removed" if decision.verdict == "edit" else "no reason was given"
    remark = without_surrogates(decision.remark).strip() or removed
    rejected = "; ".join(f"{number}. {text}" for number, text in enumerate(plan, 1))
    said = f"The user rejected this plan: {rejected}. They say: {shorten(remark, 2_000)}"
    return {"plan": [], "notices": [*notices, said]}


class CallDecision(HumanDecision):
    """What somebody decided about a call.

    A bare `approve` of a front end does not say which call it means, so one is approved there by an edit.
    """

    edits: ClassVar = ("verdict", "call")

    verdict: Literal["approve", "reject"] = Field(title="Verdict")
    call: str = Field(
        default="", title="Call", description="With `approve`: the `id` of the call, so that no other is meant."
    )
    remark: str = Field(default="", title="Remark", description="With `reject`: what the model should do instead.")


def _shown_request(asked: AskedCall, number: int) -> dict[str, Any]:
    """The request as front ends show it."""
    said = (
        f"Cell {number} calls {asked['function']}. To make this call, edit `verdict` to `approve` and submit the edit."
        " That names the call, so that none which comes later is made by it. To refuse it, reject."
    )
    arguments = {"verdict": "undecided", "call": asked["id"], "arguments": asked["arguments"]}
    return action_request(asked["function"], arguments, said, ("edit", "reject"))


async def approve_call(state: State, runtime: Runtime[Context]) -> State:
    """Ask about the call at which the first pending cell was ended, and remember what is decided about this call alone.

    An approval that names another call, or none, is not taken, and the request is made again.
    """
    first, *rest = state["pending"]
    asked = call_asked(first)
    if asked is None:
        return {}
    number = len(state.get("cells") or []) + 1
    request: dict[str, Any] = {
        "ask": "Make this call?",
        "number": number,
        "purpose": first["purpose"],
        "call": shown_call(state),
        "code": first["code"],
        "functions": [asked["function"]],
        **_shown_request(asked, number),
    }
    decision = interrupt(request, response_schema=CallDecision)
    while decision.call != asked["id"] and (decision.call or decision.verdict == "approve"):
        problem = f"The decision has to name the call that it is about: {asked['id']!r} as `call`."
        decision = interrupt({**request, "problem": problem}, response_schema=CallDecision)
    remark = without_surrogates(decision.remark).strip()
    decided = DecidedCall(
        function=asked["function"],
        digest=asked["digest"],
        nth=asked["nth"],
        verdict=decision.verdict,
        remark=remark,
    )
    answer: State = {"pending": [decide(first, decided), *rest]}
    if decision.verdict == "reject":
        why = f" ({remark})" if remark else ""
        said = f"The user refused a call of cell {number}: {call_text(asked)}{why}."
        answer["notices"] = [*state.get("notices", []), said]
    emit(runtime, Notice(f"Cell {number} runs again from its beginning, to its call of {asked['function']}."))
    return answer
