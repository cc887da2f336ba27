"""The cheap checks of a proposed answer, which need no model.

Each reads State and returns what is missing: one sentence a lack, addressed to the model.
"""

import re
from collections.abc import Sequence
from typing import Any

from graph.state import Cell, PlanStep, State
from models.quotation import quoted
from nodes.answer_checks.answer_files import files_made, missing_files, unknown_files
from nodes.answer_checks.answer_form import other_form
from nodes.answer_checks.answer_numbers import unprinted_numbers
from nodes.prompts.observation import shorten
from sandboxes.base import Sandbox
from sandboxes.host.reading import read_json
from sandboxes.inside import PROGRAMS

OPENABLE = (".xlsx", ".xls", ".xlsm", ".csv", ".tsv", ".parquet", ".json", ".jsonl", ".png", ".jpg", ".pdf", ".html")
MAX_OPENED = 20
LEFT_OUT = re.compile(r"\bleft out:?\s+(?:plan\s+)?steps?\s+(\d[\d, and]*)", re.IGNORECASE)
"""How an answer in text says which plan steps it leaves out: a reply without tools has no field for them."""
PROFILER = PROGRAMS / "profiler"


def unfinished_steps(state: State) -> list[str]:
    """Plan steps on which no cell ended well and that the answer does not say were left out."""
    plan: Sequence[PlanStep] = state.get("plan") or []
    own = [cell for cell in state.get("cells") or [] if cell["turn"] == state["turn"]]
    if not any(cell["step"] for cell in own):
        return []  # this model does not say which steps it works on; the review looks at the plan
    skipped = " ".join([*(state.get("skipped") or []), *LEFT_OUT.findall(state["proposal"])])
    numbers = {int(number) for number in re.findall(r"\d{1,3}", skipped)}
    left = [
        number
        for number, step in enumerate(plan, 1)
        if not step["done"] and number not in numbers and step["text"][:30] not in skipped
    ]
    if not left or _only_summing_up(left, plan, own):
        return []
    listed = "; ".join(f"{number}. {plan[number - 1]['text']}" for number in left)
    return [
        f"No cell that ended well worked on these plan steps: {listed}. Do them, or name them as left out with why, "
        "or with the cell that did them too."
    ]


def _only_summing_up(left: Sequence[int], plan: Sequence[PlanStep], own: Sequence[Cell]) -> bool:
    """The last step of a plan is often the answer itself, which no cell works on."""
    return list(left) == [len(plan)] and len(plan) > 1 and any(cell["status"] == "ok" for cell in own)


CHECKS = (missing_files, unknown_files, unprinted_numbers, unfinished_steps, other_form)


async def unreadable_files(state: State, sandbox: Sandbox) -> list[str]:
    """Files made in this turn that do not open, as the profiler sees them inside the sandbox."""
    written = {
        file["path"] for cell in state.get("cells") or [] if cell["turn"] == state["turn"] for file in cell["files"]
    }
    paths = [path for path in files_made(state) if path in written and path.lower().endswith(OPENABLE)][:MAX_OPENED]
    if not paths:
        return []
    result = await sandbox.run_program(PROFILER, ["--chars", "200", *paths], timeout=60.0 + 5 * len(paths))
    try:
        rows: Any = await read_json(result.stdout.encode())
        problems = {str(row["path"]): shorten(str(row["problem"]), 300) for row in rows if row["problem"]}
    except (ValueError, TypeError, KeyError):
        return []  # a profiler that cannot speak says nothing about the files
    # Whoever wrote the file chose its name, and what its reader says of it.
    return [
        f"A file that was made does not open; write it again:\n{quoted(f'{path}: {problem}')}"
        for path, problem in problems.items()
        if path in paths
    ]
