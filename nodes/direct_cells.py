"""Cells that the user wrote themself: they run as they are, without a model, and are steps like any others.

The question of such a turn carries the cell in `additional_kwargs`, so that it is kept, resumed, forked and deleted
with the thread, and so that any client of the graph can send one: `{"type": "human", "content": "Load the sales",
"additional_kwargs": {"stepwell_code": "sales = pd.read_csv('inputs/sales.csv')"}}`. Cells that follow each other share
a turn.
"""

from typing import Any

from langchain_core.messages import HumanMessage

from graph.state import HumanCode, Pending, State
from models.messages import without_surrogates
from nodes.cell_magics.magics import python_of
from nodes.prompts.observation import shorten

CODE_KEY = "stepwell_code"
DIRECT_QUESTION = "(The user ran cells of their own here, and asked nothing.)"
"""What stands in the place of a question."""
PURPOSE = "A cell of the user's own"
PURPOSE_CHARS = 200


class NoCodeError(ValueError):
    """What was sent in the place of a cell is none; the message says what one is."""


def direct_question(code: str, purpose: str = "") -> HumanMessage:
    """The message that has a cell run as it is.

    Args:
        code: Python, or another cell such as `%%sql`.
        purpose: What it is for, as lists and logs show it; empty: its first comment.
    """
    return HumanMessage(purpose.strip() or purpose_of(code), additional_kwargs={CODE_KEY: code})


def purpose_of(code: str) -> str:
    """What a cell says that it is for: the comment in its first line, if it begins with one."""
    first = next((line.strip() for line in code.splitlines() if line.strip()), "")
    said = first.lstrip("#").strip() if first.startswith("#") and not first.startswith("#!") else ""
    return shorten(said, PURPOSE_CHARS) or PURPOSE


def direct_cell(state: State, user: str = "") -> Pending | None:
    """The cell that the newest question carries; None when it is a question as people ask them.

    Args:
        state: The thread.
        user: Who asks.

    Raises:
        NoCodeError: it is not text, or empty.
    """
    messages = state.get("messages") or []
    newest = messages[-1] if messages else None
    if not isinstance(newest, HumanMessage) or CODE_KEY not in newest.additional_kwargs:
        return None
    code: Any = newest.additional_kwargs[CODE_KEY]
    if not isinstance(code, str) or not code.strip():
        raise NoCodeError(f"{CODE_KEY!r} must be the code of a cell, as text.")
    purpose = shorten(" ".join(newest.text.split()), PURPOSE_CHARS)
    code = python_of(without_surrogates(code))
    return Pending(
        purpose=without_surrogates(purpose),
        code=code,
        step=0,
        thought="",
        call_id="",
        edited=HumanCode(by=user, original=""),
    )


def goes_on_directly(state: State) -> bool:
    """Whether a further cell belongs to the turn that the thread is at."""
    return bool(state.get("direct")) and state.get("turn", 0) > len(state.get("turns") or [])
