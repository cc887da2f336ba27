"""Interrupts in the shape of LangChain's human-in-the-loop middleware, and the decisions that answer them.

Chat front ends and inboxes show a request of this shape with buttons. It stands in the interrupt beside Stepwell's own
fields, and a decision is taken in either shape: `{"verdict": …}` or `{"decisions": [{"type": …}]}`.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, model_validator

DecisionType = Literal["approve", "edit", "reject"]


def action_request(
    name: str, arguments: Mapping[str, Any], description: str, allowed: tuple[DecisionType, ...]
) -> dict[str, Any]:
    """What a front end needs to ask about one action.

    Args:
        name: the action's name, as its heading.
        arguments: what it does; what `edit` gives back has the same keys.
        description: what to look at before one decides, as Markdown.
        allowed: the buttons.
    """
    return {
        "action_requests": [{"name": name, "args": dict(arguments), "description": description}],
        "review_configs": [{"action_name": name, "allowed_decisions": list(allowed)}],
    }


class HumanDecision(BaseModel):
    """What somebody decided about one request, read from either shape."""

    edits: ClassVar[tuple[str, ...]] = ()
    """The arguments that an edit may change, which are fields of this decision, too."""

    @model_validator(mode="before")
    @classmethod
    def _from_decisions(cls, given: Any) -> Any:
        if not isinstance(given, Mapping) or "decisions" not in given:
            return given
        decisions = given["decisions"]
        if not isinstance(decisions, list) or len(decisions) != 1 or not isinstance(decisions[0], Mapping):
            raise ValueError("`decisions` must hold one decision: one action was asked about")
        [decision] = decisions
        read = {"verdict": decision.get("type")}
        if decision.get("message"):
            read["remark"] = decision["message"]
        if decision.get("type") == "edit":
            edited = decision.get("edited_action")
            arguments = edited.get("args") if isinstance(edited, Mapping) else None
            if not isinstance(arguments, Mapping):
                raise ValueError("an edit must hold `edited_action` with `args`")
            read |= {key: arguments[key] for key in cls.edits if key in arguments}
        return read
