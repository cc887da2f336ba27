"""What the model is told when it plans a turn, and the tool that it replies with."""

from typing import Any

from models.quoting import RULE

PLAN_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "submit_plan",
        "description": "Give the plan of this turn.",
        "parameters": {
            "type": "object",
            "properties": {
                "steps": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "One to seven steps, each one short sentence.",
                }
            },
            "required": ["steps"],
        },
    },
}

RULES = f"""\
You plan a data analysis that will be done in Python cells in one live session. Give the steps that lead to the answer \
of the user's question, in their order: as few as are needed (one for a simple question), at most seven.
- Each step is something that cells can do and that can be seen to be done. Name the files, columns and figures \
that it is about; copy names, paths and URLs exactly.
- {RULE}
- What is known of the files stands below. Looking closer belongs to the step that needs it, not to a step of its own. \
Do not plan what was not asked for.
- If files or figures are asked for, a step makes each of them.
- In a follow-up, build on the variables and results that are there.
- Write the steps in the language of the question. Do not write the answer itself.
"""

BY_TOOL = "How to reply\nCall submit_plan with the steps.\n"
BY_LIST = "How to reply\nA numbered list of the steps, nothing else.\n"
