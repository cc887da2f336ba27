"""Tokens sent per cell over a long analysis, beside sending everything each time."""

from rich.table import Table

from graph.context import Context
from graph.state import State
from nodes.prompts.conversation import write_conversation
from nodes.prompts.instructions import system_prompt
from tests.states import make_cell, make_input, make_state

CELLS = 40
OBSERVATION, CODE = 2_500, 700
CHARS_PER_TOKEN = 4


async def measure() -> Table:
    """Prompt size before cells 1, 10, 20, 30 and 40, with observations of 2,500 and code of 700 characters."""
    ours = [_prompt(count) for count in range(CELLS)]
    everything = [_everything(count) for count in range(CELLS)]
    same = [_shared(count) for count in range(1, CELLS)]
    table = Table(
        title=f"Tokens sent per cell (characters / {CHARS_PER_TOKEN}), {CELLS} cells of {OBSERVATION:,} characters"
    )
    table.add_column("before cell", justify="right")
    for name in ("Stepwell", "everything each time", "ratio"):
        table.add_column(name, justify="right")
    for cell in (1, 10, 20, 30, 40):
        mine, theirs = ours[cell - 1], everything[cell - 1]
        table.add_row(
            str(cell), f"{mine // CHARS_PER_TOKEN:,}", f"{theirs // CHARS_PER_TOKEN:,}", f"{theirs / mine:.1f}"
        )
    mine, theirs = sum(ours), sum(everything)
    table.add_row("all 40", f"{mine // CHARS_PER_TOKEN:,}", f"{theirs // CHARS_PER_TOKEN:,}", f"{theirs / mine:.1f}")
    table.caption = (
        f"Of each prompt, {100 * sum(same) / sum(ours[1:]):.0f} % is the same beginning as in the call before."
    )
    return table


def _state(count: int) -> State:
    body = "value 12345.678 of column\n" * (OBSERVATION // 26)
    cells = [
        make_cell(number, f"cell {number} · ok · 0.10 s\n{body}", code="x = compute(y)\n" * (CODE // 15), step=1)
        for number in range(1, count + 1)
    ]
    return make_state(cells=cells, inputs=[make_input(abstract="### inputs/sales.csv\n" + "a column\n" * 200)])


def _texts(count: int) -> list[str]:
    state = _state(count)
    messages = write_conversation(state, tools=True, limit=Context().prompt_chars)
    return [
        system_prompt(state, Context(), tools=True),
        *(message.text + str(getattr(message, "tool_calls", "")) for message in messages),
    ]


def _prompt(count: int) -> int:
    return sum(len(text) for text in _texts(count))


def _everything(count: int) -> int:
    state = _state(count)
    cells = sum(len(cell["code"]) + len(cell["observation"]) + 120 for cell in state["cells"])
    return len(system_prompt(state, Context(), tools=True)) + len(state["question"]) + cells


def _shared(count: int) -> int:
    before, after = _texts(count - 1), _texts(count)
    shared = 0
    for one, other in zip(before, after, strict=False):
        if one != other:
            break
        shared += len(one)
    return shared
