"""What the model is told before each cell, and the tools that it replies with."""

import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from graph.context import Context
from graph.state import Input, State
from models.quoting import INPUTS, RULE, quoted
from nodes.prompts.functions_prompt import functions_text
from nodes.prompts.network_prompt import network_text
from nodes.prompts.observation import shorten
from sandboxes.functions import Description
from sandboxes.network import NO_NETWORK, Network

CELL_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "run_python",
        "description": "Run one Python cell in the analysis's session and see what it prints.",
        "parameters": {
            "type": "object",
            "properties": {
                "purpose": {
                    "type": "string",
                    "description": "What this cell finds out or makes, in one short sentence.",
                },
                "step": {"type": "integer", "description": "The number of the plan step that it works on."},
                "code": {"type": "string", "description": "The Python to run."},
            },
            "required": ["purpose", "step", "code"],
        },
    },
}
ANSWER_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "submit_answer",
        "description": "Give the user the final answer. Only when the work is done.",
        "parameters": {
            "type": "object",
            "properties": {
                "answer": {"type": "string", "description": "The whole answer, in Markdown."},
                "skipped": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "Plan steps that were left out, each as `number: reason`. Empty when all are done.",
                },
            },
            "required": ["answer", "skipped"],
        },
    },
}

INPUTS_CHARS = 30_000
"""Characters for all abstracts together; with many files each is cut."""
LEAST_CHARS = 300
"""Characters of one abstract, however many there are."""
MOST_CHARS = 40_000
"""Characters of the block of all of them."""

RULES = """\
You are Stepwell, a careful data analyst. You answer the user's question by writing Python cells that run in a live \
session, one at a time, and by reading what they print.

The session
- Variables, imports and functions stay from cell to cell: build on them, do not load or define again what is there.
- Working directory: inputs/ holds the user's files (never change them). Write every file meant for the user into \
outputs/; nothing else reaches the user but the figures.
- Every open matplotlib figure is saved and shown to the user by itself. No plt.show(), and savefig only for a file \
that was asked for.
- {data_rule}
- The value of the last expression is shown. You see only what a cell prints or shows, cut at {observation_chars:,} \
characters: print the numbers that you need, not whole tables.
- A cell may run {cell_timeout:g} seconds. Nobody can answer input().

How to work
- Look at the data before you compute with it: types, missing values, units, duplicates, odd categories. pandas takes \
texts such as None and NA for missing, also where they are a category.
- Keep cells small, with one purpose. When one fails, read the traceback and mend the cause.
- Never invent data, results or file contents. If the data cannot answer something, say so.
- Every number in the answer must have been printed by a cell: shares, ratios and differences too. Round only in the \
answer.
- Say which assumptions you made (rows left out, missing values, meaning of columns) and how sure the result is.
- The answer stands alone: it gives the result first, names the files and figures that matter, and is written in \
{language}.
"""

BY_TOOL = """\
How to reply
Call run_python with the next cell. When the plan is done, call submit_answer once, with the whole answer. Text beside \
a call is a note to yourself.
"""

BY_TEXT = """\
How to reply
Either one cell, as a fenced block whose first line names the plan step and the purpose:
```python
# step 1: see which columns there are
...
```
or, when the plan is done, the whole answer:
<answer>
...
</answer>
Never both in one reply. If a plan step cannot be done, the answer says so: `Left out: step 2, because …`.
"""


def system_prompt(
    state: State,
    context: Context,
    functions: Sequence[Description] = (),
    *,
    tools: bool,
    network: Network = NO_NETWORK,
) -> str:
    """The system message of `generate`: the same within a turn, so that providers can cache it."""
    parts = [
        RULES.format(
            observation_chars=context.observation_chars,
            cell_timeout=context.cell_timeout,
            language=context.language or "the language of the question",
            data_rule=RULE,
        ),
        BY_TOOL if tools else BY_TEXT,
        environment_text(state),
        network_text(network),
        functions_text(functions, state),
        instructions_text(context.instructions),
    ]
    return "\n".join(part for part in parts if part)


def instructions_text(instructions: str) -> str:
    """What the operator or the user wants kept to, after our own rules and apart from what files say."""
    asked = instructions.strip()
    return f"What this analysis has to keep to as well\n{asked}\n" if asked else ""


def environment_text(state: State) -> str:
    """The Python, the packages and the fonts that cells have."""
    environment = state.get("environment")
    if not environment:
        return ""
    packages = ", ".join(f"{_word(name)} {_word(version)}" for name, version in environment["packages"].items())
    text = f"Python {_word(environment['python'])} with {packages or 'the standard library only'}.\n"
    if environment["fonts"]:
        fonts = ", ".join(_word(font) for font in environment["fonts"][:8])
        return text + (
            f"Figures fall back to these fonts for Chinese, Japanese and Korean text: {fonts}. None may have all of a "
            "script's characters; a cell's result names those that are missing.\n"
        )
    return text + "No font has Chinese, Japanese or Korean glyphs: label figures in Latin letters.\n"


def _word(name: str) -> str:
    """A name or a version, as a sandbox told it."""
    return re.sub(r"[^\w .+()!-]", "", name.replace("\n", " "))


def inputs_text(state: State, limit: int = MOST_CHARS) -> str:
    """The abstracts of the user's files, and what is wrong with those that cannot be read: quoted, in one block.

    Args:
        state: Knows the files.
        limit: Characters before they are quoted.
    """
    inputs = state.get("inputs") or []
    if not inputs:
        return "The user brought no files."
    room = max(INPUTS_CHARS // len(inputs), LEAST_CHARS)
    texts = [_input_text(brought, room) for brought in inputs[: INPUTS_CHARS // LEAST_CHARS]]
    if len(inputs) > len(texts):
        texts.append(f"… and {len(inputs) - len(texts)} more files; list inputs/ to see them.")
    return INPUTS + quoted(shorten("\n\n".join(texts), limit))


def _input_text(brought: Input, room: int) -> str:
    heading = f"### {brought['path']}"
    if brought["problem"]:
        return f"{heading}\nCannot be read: {brought['problem']}"
    lines = brought["abstract"].splitlines()
    # No line of a text file may look as if another file's abstract began there.
    body = [f"\\{line}" if line.lstrip().startswith("###") else line for line in lines[1:]]
    return shorten("\n".join([heading, *body]), room)


def with_inputs(messages: Sequence[BaseMessage], state: State, limit: int = MOST_CHARS) -> list[BaseMessage]:
    """A conversation whose first message begins with the user's files; `limit` as for `inputs_text`."""
    first, *others = messages
    return [first.model_copy(update={"content": f"{inputs_text(state, limit)}\n\n{first.text}"}), *others]


def last_call(max_cells: int, *, tools: bool) -> str:
    """What the model is told when the turn's cells are used up."""
    how = "Call submit_answer now" if tools else "Write the <answer> now"
    return (
        f"All {max_cells} cells of this turn are used. {how}, with what was found so far; say what remains open. "
        "No further cell will run."
    )
