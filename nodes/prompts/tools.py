"""The tools that the model replies with: one list for all kinds of call, so that all share one beginning."""

from typing import Any


def _tool(name: str, description: str, required: tuple[str, ...], **fields: dict[str, Any]) -> dict[str, Any]:
    """A function schema as OpenAI puts it."""
    parameters = {"type": "object", "properties": fields, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _list_of(kind: str, description: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": kind}, "description": description}


CELL_TOOL = _tool(
    "run_python",
    "Run one Python cell in the analysis's session and see what it prints.",
    ("purpose", "code"),
    purpose={"type": "string", "description": "What this cell finds out or makes, in one short sentence."},
    code={"type": "string", "description": "The Python to run."},
    plan=_list_of(
        "string",
        "With a turn's first cell, where the work takes several steps: two to seven steps, each one short sentence.",
    ),
    step={"type": "integer", "description": "The number of the plan step that it works on; leave out without a plan."},
    done=_list_of("integer", "Numbers of the plan steps that earlier cells have finished."),
)
ANSWER_TOOL = _tool(
    "submit_answer",
    "Give the user the final answer. Only when the work is done.",
    ("answer",),
    answer={"type": "string", "description": "The whole answer, in Markdown."},
    skipped=_list_of("string", "Plan steps that were left out, each as `number: reason`."),
)
PLAN_TOOL = _tool(
    "submit_plan",
    "Give the plan of this turn by itself. Only when you are asked for it.",
    ("steps",),
    steps=_list_of("string", "One to seven steps, each one short sentence."),
)
REVIEW_TOOL = _tool(
    "submit_review",
    "Give the verdict on a proposed answer. Only when you are asked for it.",
    ("good_enough", "missing"),
    good_enough={"type": "boolean", "description": "Whether the user can be given this answer."},
    missing=_list_of("string", "What must be done first, each one instruction. Empty when the answer is good enough."),
)
TOOLS = (CELL_TOOL, ANSWER_TOOL, PLAN_TOOL, REVIEW_TOOL)
