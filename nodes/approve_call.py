"""Wait for somebody to approve or reject a call of a host function, with the arguments that it is made with."""

from typing import Any, Literal

from langgraph.runtime import Runtime
from langgraph.types import interrupt
from pydantic import BaseModel, Field

from graph.context import Context
from graph.events import Notice, tell
from graph.state import DecidedCall, State
from models.received import whole_text
from nodes.calls.held_cells import call_asked, decide, in_words, shown_call


class CallDecision(BaseModel):
    """What somebody decided about a call."""

    verdict: Literal["approve", "reject"] = Field(title="Verdict")
    call: str = Field(
        default="", title="Call", description="With `approve`: the `id` of the call, so that no other is meant."
    )
    remark: str = Field(default="", title="Remark", description="With `reject`: what the model should do instead.")


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
    }
    decision = interrupt(request, response_schema=CallDecision)
    while decision.call != asked["id"] and (decision.call or decision.verdict == "approve"):
        problem = f"The decision has to name the call that it is about: {asked['id']!r} as `call`."
        decision = interrupt({**request, "problem": problem}, response_schema=CallDecision)
    remark = whole_text(decision.remark).strip()
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
        said = f"The user refused a call of cell {number}: {in_words(asked)}{why}."
        answer["notices"] = [*state.get("notices", []), said]
    tell(runtime, Notice(f"Cell {number} runs again from its beginning, to its call of {asked['function']}."))
    return answer
