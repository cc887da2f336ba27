"""Wait for somebody to approve, edit or reject the pending cell. Nothing has run when this node waits."""

from typing import Literal

from langchain_core.messages import ToolMessage
from langgraph.runtime import Runtime
from langgraph.types import interrupt
from pydantic import BaseModel, Field

from graph.context import Context, knobs
from graph.events import CellFinished, tell
from graph.state import Cell, State
from nodes.observation import shorten


class Decision(BaseModel):
    """What somebody decided about a cell."""

    verdict: Literal["approve", "edit", "reject"] = Field(title="Verdict")
    code: str = Field(default="", title="Code", description="With `edit`: the code to run instead.")
    remark: str = Field(default="", title="Remark", description="With `reject`: what the model should do instead.")


async def approve(state: State, runtime: Runtime[Context]) -> State:
    """Ask about the first pending cell and do as decided; a rejected cell is recorded and never runs.

    Where the run asks for no approval (the cell came here through a changed state), it passes.
    """
    if knobs(runtime).approval == "none":
        return {}
    first, *rest = state["pending"]
    number = len(state.get("cells") or []) + 1
    decision = interrupt(
        {"ask": "Run this cell?", "number": number, "purpose": first["purpose"], "code": first["code"]},
        response_schema=Decision,
    )
    if decision.verdict == "approve" or (decision.verdict == "edit" and not decision.code.strip()):
        return {}
    if decision.verdict == "edit":
        return {
            "pending": [{**first, "code": decision.code}, *rest],
            "notices": [*state.get("notices", []), f"The user edited the code of cell {number} before it ran."],
        }
    remark = decision.remark.strip() or "no reason was given"
    cell = Cell(
        number=number,
        turn=state["turn"],
        step=first["step"],
        purpose=first["purpose"],
        thought=first["thought"],
        code=first["code"],
        status="rejected",
        observation=shorten(f"cell {number} · rejected · not run\nThe user rejected this cell: {remark}", 2_000),
        error="",
        seconds=0.0,
        files=[],
        figures=[],
    )
    tell(runtime, CellFinished(cell))
    messages = [ToolMessage(cell["observation"], tool_call_id=first["call_id"])]
    messages += [ToolMessage("Not run: an earlier cell was rejected.", tool_call_id=other["call_id"]) for other in rest]
    return {"cells": [cell], "pending": [], "messages": list(messages)}
