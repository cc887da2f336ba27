"""The tools that the model replies with: one list for all kinds of call, so that all share one beginning."""

from typing import Any


def _tool(name: str, description: str, required: tuple[str, ...], **fields: dict[str, Any]) -> dict[str, Any]:
    """A function schema as OpenAI puts it."""
    parameters = {"type": "object", "properties": fields, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _list_of(kind: str, description: str = "") -> dict[str, Any]:
    return {"type": "array", "items": {"type": kind}, **({"description": description} if description else {})}


CELL_TOOL = _tool(
    "run_python",
    "Run one Python cell in the session and see what it prints.",
    ("purpose", "code"),
    purpose={"type": "string", "description": "What it finds out or makes, in one short sentence."},
    code={
        "type": "string",
        "description": "Python. With `%%sql NAME` as its first line: DuckDB's SQL over frames and files.",
    },
    plan=_list_of("string", "Only with a turn's first cell, where the work takes several steps."),
    step={"type": "integer", "description": "The plan step that it works on."},
    done=_list_of("integer", "Plan steps that earlier cells have finished."),
    back_to={
        "type": "integer",
        "description": "Go back to this cell first; see the rules.",
    },
    answer={"type": "string", "description": "The final answer, where this cell finishes the work."},
)
ANSWER_TOOL = _tool(
    "submit_answer",
    "Give the user the final answer.",
    ("answer",),
    answer={"type": "string", "description": "The whole answer, in Markdown."},
    skipped=_list_of("string", "Plan steps that were left out, each as `number: reason`."),
)
PLAN_TOOL = _tool("submit_plan", "Only when you are asked for it.", ("steps",), steps=_list_of("string"))
REVIEW_TOOL = _tool(
    "submit_review",
    "Only when you are asked for it.",
    ("good_enough", "missing"),
    good_enough={"type": "boolean"},
    missing=_list_of("string"),
)
TOOLS = (CELL_TOOL, ANSWER_TOOL, PLAN_TOOL, REVIEW_TOOL)
