"""Cells that were ended at a call which needs approval: what is remembered of them until they run again.

A running cell cannot wait for a person: that may take days, and the process may end meanwhile. So the cell is ended at
the call, its variables and files are rolled back, and it runs again from its beginning once somebody has decided. Then
the calls that it had made are answered from the journal, and the one that was approved is made if it is the very same:
this function, these arguments byte by byte, and the same occurrence of that call in the cell.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from graph.checkpoints.journal import CallEntry, Journal
from graph.state import AskedCall, CallRecord, Cell, DecidedCall, HeldCell, Pending, State
from sandboxes.base import Sandbox, SandboxError

MAX_DECIDED = 50
"""Calls of one cell that people are asked about."""
MAX_TOUCHING = 20
"""Earlier cells that are shown with a call."""
MAX_LINES = 3
LINE_CHARS = 160
MAX_NAMED = 500
"""Characters of arguments where a call is named in a sentence."""
HIDDEN_WAYS = re.compile(
    r"\b(?:globals|locals|vars|setattr|exec|eval|__dict__|__builtins__|__closure__|__globals__|_getframe|builtins|"
    r"__main__|modules|gc|ctypes)\b"
)
"""What code has that can give a name another meaning without writing the name."""


def code_digest(code: str) -> str:
    """What ties decisions to the code that they were made about."""
    return hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()


def held(pending: Pending) -> HeldCell | None:
    """What is known of a pending cell that has run before; None of one that has not, or whose code was changed."""
    known = pending.get("held")
    return known if known is not None and known["code"] == code_digest(pending["code"]) else None


def call_asked(pending: Pending) -> AskedCall | None:
    """The call that somebody has to decide on before this cell can run again."""
    known = held(pending)
    return known["asked"] if known is not None else None


def call_id(pending: Pending, number: int, digest: str, nth: int) -> str:
    """A short name of a call, which its decision repeats."""
    return hashlib.sha256("\n".join((pending["call_id"], str(number), digest, str(nth))).encode()).hexdigest()[:12]


def hold_cell(pending: Pending, asked: AskedCall, record: CallRecord, made: Sequence[str]) -> Pending:
    """A pending cell that has just been ended at a call."""
    before = held(pending)
    return {
        **pending,
        "held": HeldCell(
            code=code_digest(pending["code"]),
            asked=asked,
            decided=before["decided"] if before is not None else [],
            records=[*(before["records"] if before is not None else []), record],
            made=list(made),
        ),
    }


def decide(pending: Pending, decided: DecidedCall) -> Pending:
    """The same cell, once somebody has decided on its call."""
    known = pending["held"]
    return {**pending, "held": {**known, "asked": None, "decided": [*known["decided"], decided]}}


def call_text(asked: AskedCall) -> str:
    """A call on one line."""
    arguments = "; ".join(" ".join(line.split()) for line in asked["arguments"])
    if len(arguments) > MAX_NAMED:
        arguments = f"{arguments[: MAX_NAMED - 1]}…"
    return f"{asked['function']}({arguments})"


def related_cells(cells: Iterable[Cell], name: str) -> list[dict[str, Any]]:
    """Earlier cells whose code writes a function's name, or could change what it means: numbers and lines.

    A name can be put together in ways that nobody finds in a text. So this is help for a reader, and no protection:
    that is, that what is called is what was shown.
    """
    found: list[dict[str, Any]] = []
    for cell in cells:
        lines = [line.strip() for line in cell["code"].splitlines() if name in line or HIDDEN_WAYS.search(line)]
        if lines and cell["status"] != "rejected":
            shown = [line if len(line) <= LINE_CHARS else f"{line[: LINE_CHARS - 1]}…" for line in lines[:MAX_LINES]]
            shown += [f"… and {len(lines) - MAX_LINES} more lines"] * (len(lines) > MAX_LINES)
            found.append({"cell": cell["number"], "lines": shown})
    return found[-MAX_TOUCHING:]


def shown_call(state: State) -> dict[str, Any] | None:
    """The call that the first pending cell waits with, and all that somebody has to know to decide on it."""
    pending = state.get("pending") or []
    asked = call_asked(pending[0]) if pending else None
    if asked is None:
        return None
    return {
        "id": asked["id"],
        "function": asked["function"],
        "arguments": asked["arguments"],
        "nth": asked["nth"],
        "place": asked["place"],
        "made": pending[0]["held"]["made"],
        "earlier": related_cells(state.get("cells") or [], asked["function"]),
    }


def records_of(pending: Pending) -> list[CallRecord]:
    """Where the calls are that a pending cell has made before it was ended."""
    known = held(pending)
    return known["records"] if known is not None else []


async def calls_before(pending: Pending, journal: Journal | None) -> tuple[CallEntry, ...] | None:
    """The calls that a held cell made before it was ended; None when they are not to be found any more."""
    records = records_of(pending)
    if not any(record["calls"] for record in records):
        return ()
    return await journal.earlier(records) if journal is not None else None


def dropped_call_notices(pending: Pending) -> list[str]:
    """What must be said of a held cell that never runs again: the calls that it has made."""
    known = pending.get("held")
    if known is None or not known["made"]:
        return []
    return [
        f"The cell '{pending['purpose']}' was ended at a call that waited for approval, and does not run again as it "
        f"was. Its variables and files are rolled back, but these calls of it were made: {'; '.join(known['made'])}."
    ]


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """How a running cell is ended for a call that somebody must decide on."""

    sandbox: Sandbox
    pending: Pending
    number: int

    async def refusal(self) -> str:
        """Why nobody can be asked about a call of this cell; empty when somebody can."""
        known = held(self.pending)
        if known is not None and len(known["decided"]) >= MAX_DECIDED:
            return f"people were asked about {MAX_DECIDED} calls of this cell already; pass lists, or write more cells"
        try:
            reached = (await self.sandbox.reached()).what
        except SandboxError:
            return "what the cell did so far is not known now, so it cannot be ended and run again for it"
        if not reached:
            return ""
        return (
            f"the cell has reached outside of the sandbox ({', '.join(reached)}), so it cannot be ended and run again "
            "once somebody has approved. Call it in a cell of its own, before anything else there"
        )

    async def end(self) -> None:
        """End the cell where it is: nothing of it runs any more.

        Raises:
            SandboxError: that cannot be done.
        """
        await self.sandbox.reset()
