"""What the model is told of the functions that the user's program offers to cells."""

from collections.abc import Sequence

from graph.state import State
from nodes.prompts.observation import shorten
from sandboxes.functions import Description

ALL_CHARS = 12_000
"""Characters for all functions together."""
DOC_CHARS = 400
"""Characters of one docstring's first paragraph."""
LEAST_CHARS = 60

RULES = """\
Functions of the user's program, defined in the session; ordinary calls, no import. They run outside of the session, \
so a call may change something there that nothing undoes: call them for what was asked, never to try them out. \
Arguments and results: None, booleans, numbers, texts, lists, dictionaries with texts as keys, and whole tables \
(pandas, polars, pyarrow). A failing one raises HostFunctionError.
"""
APPROVED = """\
Where it says "asks first", somebody is shown each call with its arguments and approves or refuses it. For that the \
cell is ended at the call and runs again from its beginning later, so write such a call into a cell of its own, with \
arguments that are the same each time (no time, no random numbers), and pass lists rather than calling in a loop. \
A refused call raises HostFunctionError: do not try to get the same done in another way.
"""


def functions_text(functions: Sequence[Description], state: State | None = None) -> str:
    """Their signatures and what their docstrings begin with; empty when there are none.

    Args:
        functions: What is offered.
        state: Knows the variables that hide a function of their name.
    """
    if not functions:
        return ""
    hidden = {variable["name"] for variable in (state or {}).get("namespace") or []}
    rules = RULES + (APPROVED if any(one.needs_approval for one in functions) else "")
    room = max(min(DOC_CHARS, ALL_CHARS // len(functions) - 100), LEAST_CHARS)
    return rules + "".join(f"- {_line(one, room, hidden)}\n" for one in functions)


def _line(function: Description, room: int, hidden: set[str]) -> str:
    paragraph = " ".join(function.doc.strip().partition("\n\n")[0].split())
    line = f"{function.name}{shorten(str(function.signature()), 500)}"
    line += " (asks first)" if function.needs_approval else ""
    if function.name in hidden:
        line += f" (hidden by your variable of that name; after `del {function.name}` it is back in the next cell)"
    return f"{line}: {shorten(paragraph, room)}" if paragraph else line
