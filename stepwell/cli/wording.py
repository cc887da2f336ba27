"""What events and threads are called on a terminal and in plain lines: the same words in every view."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from graph.events import ApprovalAsked, Finished, ModelAskedAgain, SessionRestored
from graph.state import Artifact, Cell
from models.selection import PLAYBOOK
from stepwell.cli.terminal_text import count_text, duration_text, one_line, place, reveal, size_text

MARKS = {"ok": "✓", "error": "✗", "timeout": "✗", "killed": "✗", "rejected": "–", "unknown": "?"}
"""One mark for each way that a cell can end."""

MAKING = {"plan": "planning", "generate": "writing the next step", "check_final": "checking the answer"}
"""What a node waits for a model for."""

RANDOM_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
"""Of version 4: those of other versions begin alike when they are made one after the other."""

MOST_FILES = 4
"""Files named on one line; the rest is counted."""


def made(cell: Cell, most: int = MOST_FILES) -> str:
    """The files that a cell made or changed and the figures it drew, by path."""
    paths = [file["path"] for file in cell["files"] if file["change"] != "deleted"]
    paths += [path for path in cell["figures"] if path not in paths]
    return _some(paths, most)


def removed(cell: Cell, most: int = MOST_FILES) -> str:
    """The files that a cell removed, by path."""
    return _some([file["path"] for file in cell["files"] if file["change"] == "deleted"], most)


def _some(paths: Sequence[str], most: int) -> str:
    named = ", ".join(one_line(path) for path in paths[:most])
    return f"{named} and {len(paths) - most} more" if len(paths) > most else named


def ending(cell: Cell) -> str:
    """How a cell ended: `ok`, or its status with the error."""
    error = one_line(cell["error"], 300)
    return f"{cell['status']}: {error}" if error and cell["status"] != "ok" else cell["status"]


def restored_text(event: SessionRestored) -> str:
    """How a session came back: from a snapshot, by running cells again, or both."""
    if event.woken:
        return f"session woken, {duration_text(event.seconds)}"
    again = count_text(event.cells, "cell")
    if event.from_cell:
        text = f"session restored from the snapshot after cell {event.from_cell}"
        text += f", {again} run again" if event.cells else ""
        text += f", {one_line(', '.join(event.rebuilt), 300)} made again" if event.rebuilt else ""
    else:
        text = f"session rebuilt by running {again} again"
    return f"{text}, {duration_text(event.seconds)}"


def restore_problems(event: SessionRestored) -> list[str]:
    """What is not as it was, one line each."""
    lines = [one_line(problem, 300) for problem in event.problems]
    if event.lost:
        lines.append(f"lost: {one_line(', '.join(event.lost), 600)}")
    if event.versions:
        lines.append(f"other versions: {one_line(', '.join(event.versions), 300)}")
    return lines


def again_text(event: ModelAskedAgain) -> str:
    """That a model is asked once more, and why."""
    return f"the model is asked again (request {event.request}): {one_line(event.reason, 200)}"


def cost_text(cost: float) -> str:
    """An amount of money in the currency of STEPWELL_PRICES, which has no name: `cost 1.23`, `cost 0.0042`."""
    return f"cost {cost:.2f}" if cost >= 1 or not cost else f"cost {cost:.4f}"


def tokens_of(event: Finished) -> int:
    """The tokens of a thread; the playbook has none, since no language model reads or writes what it counts."""
    return event.input_tokens + event.output_tokens if event.model != PLAYBOOK else 0


def sums(cells: int, tokens: int, seconds: float, model: str = "", cost: float | None = None) -> str:
    """`12 s · 3 cells · 4,210 tokens · cost 0.0123`, without what there is not or is not known."""
    parts = [duration_text(seconds)] if seconds > 0 else []
    parts.append(count_text(cells, "cell"))
    if tokens:
        parts.append(f"{tokens:,} tokens")
    if cost is not None:
        parts.append(cost_text(cost))
    if model:
        parts.append(one_line(model, 200))
    return " · ".join(parts)


def artifact_line(artifact: Artifact) -> str:
    """`stepwell-1a2b/report.xlsx (12.3 kB)`."""
    return f"{place(artifact['url'])} ({size_text(artifact['size'])})"


def short_id(thread: str) -> str:
    """As much of a thread's id as tells it from all others: the whole of one that is not random."""
    return thread[:8] if RANDOM_ID.fullmatch(thread) else thread


def next_command(verb: str, thread: str, options: Sequence[str] = (), question: str = "") -> str:
    """A command line that the user can paste, and that fits on a line: `stepwell resume 1a2b3c4d`."""
    words = ["stepwell", verb, short_id(thread), *options]
    return shlex.join(words) + (f' "{question}"' if question else "")


def waiting_text(asked: ApprovalAsked, options: Sequence[str] = (), *, show_code: bool = True) -> str:
    """What somebody who is not at this terminal must know to decide on a plan, on a cell, or on a call."""
    if asked.plan is not None:
        return f"a plan waits for approval:\n{plan_text(asked.plan)}\n{how_to_decide(asked.thread, options, plan=True)}"
    code = "".join(f"\n    {line}" for line in reveal(asked.code).split("\n")) + "\n" if show_code else ""
    if asked.call is not None:
        said = "\n".join(call_lines(asked.number, asked.call)) if show_code else call_title(asked.number, asked.call)
        return f"{said}\n{code}" + how_to_decide(asked.thread, options, call=asked.call["id"])
    if asked.answer and show_code:
        lines = "".join(f"\n    {line}" for line in reveal(asked.answer).split("\n"))
        code += f"\nthen it answers, with the value of each {{{{expression}}}}:{lines}\n"
    back = f"\nit goes back first: {back_text(asked.back_to)}" if asked.back_to is not None else ""
    calls = f"\nit names: {one_line(', '.join(asked.functions))}" if asked.functions else ""
    return f"cell {asked.number} waits for approval: {one_line(asked.purpose)}{back}{code}{calls}\n" + how_to_decide(
        asked.thread, options
    )


def plan_text(plan: Sequence[str]) -> str:
    """The steps of a plan that waits, a line each."""
    return "\n".join(f"    {number}. {one_line(step, 1_000)}" for number, step in enumerate(plan, 1))


def purpose_text(cell: Mapping[str, Any], most: int) -> str:
    """What a cell was for, and where it went back to."""
    back = f"(back to {cell['back_to']}) " if "back_to" in cell else ""
    return one_line(f"{back}{cell['purpose']}", most)


def back_text(step: int) -> str:
    """Where a cell starts that goes back to a step."""
    return f"variables and files as they were {f'after cell {step}' if step else 'at the beginning'}"


def call_title(number: int, call: Mapping[str, Any]) -> str:
    """Which call it is that waits."""
    nth = f", number {call['nth']} with these arguments" if call["nth"] > 1 else ""
    return f"cell {number} calls {one_line(call['function'])}{nth} and waits for approval of this call"


def call_lines(number: int, call: Mapping[str, Any]) -> list[str]:
    """A call that waits, with all that somebody has to know to decide on it, but for the cell's code."""
    lines = [call_title(number, call)]
    lines += [f"    {reveal(line)}" for argument in call["arguments"] for line in argument.split("\n")]
    lines += ["    (no arguments)"] if not call["arguments"] else []
    if call["place"]:
        lines.append(f"called at (as the sandbox says): {one_line(call['place'], 400)}")
    if call["made"]:
        lines.append("calls of this cell so far, which are not made again:")
        lines += [f"    {one_line(line, 300)}" for line in call["made"]]
    if call["earlier"]:
        lines.append("earlier cells that write this name, or could change what a name means:")
        lines += [f"    cell {one['cell']}: {one_line(line, 200)}" for one in call["earlier"] for line in one["lines"]]
    return lines


def how_to_decide(thread: str, options: Sequence[str] = (), call: str = "", *, plan: bool = False) -> str:
    """The commands that decide on a waiting plan, cell or call."""
    resume = next_command("resume", thread, options)
    what = "--approve-plan" if plan else "--approve-cell"
    edit = "--edit FILE (one step a line)" if plan else "--edit FILE"
    approve = f"--approve-call {call}" if call else f"{what}\n  {resume} {edit}"
    return f'decide with one of:\n  {resume} {approve}\n  {resume} --reject "what should be different"'
