"""Bringing a sandbox to the snapshot that State names, before a cell runs in it.

In the usual case it is there already and nothing happens. After a restart, a dead kernel, a fork or a move it is not:
then the sandbox starts again with the inputs alone, and the recorded cells run again in their order. That is exact
for code that gives the same result each time; where it did not, the receipt says so.
"""

import hashlib
import time
from dataclasses import dataclass, field

from langgraph.runtime import Runtime

from graph.context import Context
from graph.events import Rebuilt, tell
from graph.state import Cell, State
from sandboxes.base import Sandbox

BEGINNING = "beginning"
"""The snapshot of a thread that has run nothing: inputs only."""
RUN_AGAIN = ("ok", "error")
"""Cells that end by themselves can be repeated; what an interrupted one had done until then cannot."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What came back when a session was rebuilt."""

    cells: int
    """How many cells ran again."""
    seconds: float
    problems: list[str] = field(default_factory=list)
    """What is not as it was, one sentence each."""


def next_snapshot(snapshot: str, number: int, code: str) -> str:
    """Name the state after a cell: a hash over everything that was run until then."""
    return hashlib.sha256(f"{snapshot}\n{number}\n{code}".encode()).hexdigest()[:32]


async def caught_up(sandbox: Sandbox, state: State, runtime: Runtime[Context]) -> list[str]:
    """Bring the sandbox to State's snapshot, and tell whoever streams this run what that took.

    Returns:
        What the model must be told, if anything.

    Raises:
        SandboxError: as the sandbox's own methods do.
    """
    receipt = await catch_up(sandbox, state)
    words = in_words(receipt, state.get("cells") or []) if receipt is not None else ""
    if receipt is None or not words:
        return []
    tell(runtime, Rebuilt(cells=receipt.cells, seconds=receipt.seconds, problems=receipt.problems))
    return [words]


async def catch_up(sandbox: Sandbox, state: State) -> Receipt | None:
    """Make the sandbox's head equal to State's snapshot.

    Returns:
        What was done, or None when it was there already.

    Raises:
        SandboxError: as the sandbox's own methods do.
    """
    wanted = state["sandbox"]["snapshot"]
    if sandbox.head == wanted:
        return None
    started = time.monotonic()
    await sandbox.reset()
    problems = await _missing_inputs(sandbox, state)
    snapshot, again = BEGINNING, 0
    for cell in state.get("cells") or []:
        if cell["status"] in RUN_AGAIN:
            snapshot = next_snapshot(snapshot, cell["number"], cell["code"])
            result = await sandbox.run(
                cell["code"], number=cell["number"], timeout=max(60.0, 5 * cell["seconds"]), head=snapshot
            )
            again += 1
            if result.status != cell["status"]:
                problems.append(
                    f"cell {cell['number']} ended with {result.status} this time, with {cell['status']} before"
                )
        elif cell["status"] == "timeout":
            snapshot = next_snapshot(snapshot, cell["number"], cell["code"])
            problems.append(f"cell {cell['number']} had been interrupted at its time limit and was not run again")
    if sandbox.head != wanted:
        await sandbox.run("", number=0, timeout=60.0, head=wanted)
    return Receipt(cells=again, seconds=time.monotonic() - started, problems=problems)


async def _missing_inputs(sandbox: Sandbox, state: State) -> list[str]:
    there = {file.path: file.size for file in await sandbox.files("inputs")}
    problems = []
    for brought in state.get("inputs") or []:
        if brought["size"] and brought["path"] not in there:
            problems.append(f"{brought['path']} is no longer in the workspace")
        elif brought["size"] and there[brought["path"]] != brought["size"]:
            problems.append(f"{brought['path']} has changed since it was taken in")
    return problems


def in_words(receipt: Receipt, cells: list[Cell]) -> str:
    """The receipt as the model is told of it."""
    if not receipt.cells and not receipt.problems:
        return ""
    text = f"The session was rebuilt by running {receipt.cells} of {len(cells)} earlier cells again."
    return text + "".join(f" Not as before: {problem}." for problem in receipt.problems)
