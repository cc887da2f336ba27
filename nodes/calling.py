"""The calls of host functions that one cell makes: who may, what is written down, and what is answered from the record.

A cell that was broken off and runs again makes its calls again. Those that had ended are answered with what they gave
then: the how-manieth call of this function with these arguments it is decides, so it makes no difference whether
threads make them in another order.
"""

import hashlib
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable

from graph.functions import Offer
from graph.journal import CallEntry, Journal, digest_of
from graph.state import Cell, Pending
from nodes.outcome import functions_reached
from sandboxes.functions import Call, Description, Raised, Returned
from sandboxes.kernel import values

MAX_REMEMBERED = 50
"""Calls of a cell that State remembers, and that are told."""


def approval_mark(code: str) -> str:
    """What says of a pending cell that somebody has approved of this very code."""
    return hashlib.sha256(code.encode("utf-8", "replace")).hexdigest()


class CellCalls:
    """What is offered to one cell, and what it called.

    Args:
        offer: The functions.
        pending: The cell.
        timeout: Seconds that a call may take.
        journal: Where calls are written down; None: nowhere.
        known: The calls that the journal has of this cell.
        tell: Told of the first calls that ended: function, arguments in short, how it ended, and after how long.
    """

    def __init__(
        self,
        offer: Offer,
        pending: Pending,
        *,
        timeout: float,
        journal: Journal | None = None,
        known: Iterable[CallEntry] = (),
        tell: Callable[[str, str, str, float], None] | None = None,
    ) -> None:
        self._offer = offer
        approved = pending.get("approved") == approval_mark(pending["code"])
        self._approved = set(offer.to_approve(pending["code"])) if approved else set[str]()
        self._timeout = timeout
        self._journal = journal
        self._tell = tell
        self._record: dict[str, deque[CallEntry]] = defaultdict(deque)
        self._next = 0
        for call in known:
            self._next = max(self._next, call.index + 1)
            if call.outcome is not None:
                self._record[call.digest].append(call)
        self._effects: list[str] = []
        self._answered: list[str] = []
        self._lines: list[str] = []
        self._count = 0

    @property
    def lines(self) -> list[str]:
        """What State remembers: a line for each of the first calls, and how many more there were."""
        more = self._count - len(self._lines)
        return [*self._lines, f"… and {more:,} more"] if more else self._lines

    @property
    def descriptions(self) -> list[Description]:
        """All functions."""
        return self._offer.descriptions

    @property
    def reached(self) -> tuple[str, ...]:
        """What the cell reached by its calls."""
        return functions_reached(self._effects)

    def notices(self) -> list[str]:
        """What the model must be told of calls that were not made a second time."""
        told = []
        if self._answered:
            told.append(
                f"These calls had ended before the interruption and were not made again; the cell got what they gave "
                f"then: {_counted(self._answered)}."
            )
        left = [call.name for calls in self._record.values() for call in calls]
        if left:
            told.append(
                f"These calls had ended before the interruption, and the cell did not make them when it ran again: "
                f"{_counted(left)}. Their effects are there."
            )
        return told

    async def call(self, call: Call) -> Returned | Raised:
        """Make a call, or answer it; see `Functions.call`."""
        function = self._offer.functions[call.name]
        if function.needs_approval and call.name not in self._approved:
            return self._ended(call, "refused", 0.0, _not_approved(call.name))
        if function.repeatable:
            return await self._make(call)
        self._effects.append(call.name)
        digest = digest_of(call)
        if self._record[digest]:
            known = self._record[digest].popleft().outcome
            if known is not None:
                self._answered.append(call.name)
                return self._ended(call, "answered from the record", 0.0, known)
        if self._journal is None:
            return await self._make(call)
        index, self._next = self._next, self._next + 1
        await self._journal.calling(CallEntry(index, call.name, digest))
        outcome = await self._make(call)
        await self._journal.called(CallEntry(index, call.name, digest, outcome))
        return outcome

    async def _make(self, call: Call) -> Returned | Raised:
        began = time.monotonic()
        outcome = await self._offer.call(call, timeout=self._timeout)
        how = "returned" if isinstance(outcome, Returned) else f"raised {outcome.kind}".strip()
        return self._ended(call, how, time.monotonic() - began, outcome)

    def _ended(self, call: Call, how: str, seconds: float, outcome: Returned | Raised) -> Returned | Raised:
        self._count += 1
        if self._count > MAX_REMEMBERED:
            return outcome
        arguments = values.shown(call.arguments)
        self._lines.append(f"{call.name}({arguments}): {how}, {seconds:.2f} s")
        if self._tell is not None:
            self._tell(call.name, arguments, how, seconds)
        return outcome


class RepeatableCalls:
    """What code can call that is no new cell of a thread: functions that can be repeated, and no other.

    That are cells that run again for their variables, and those of sessions that are thrown away.

    Args:
        offer: The functions.
        timeout: Seconds that a call may take.
    """

    def __init__(self, offer: Offer, *, timeout: float) -> None:
        self._offer = offer
        self._timeout = timeout

    @property
    def descriptions(self) -> list[Description]:
        """All functions."""
        return self._offer.descriptions

    async def call(self, call: Call) -> Returned | Raised:
        """Make a call that can be repeated; see `Functions.call`."""
        function = self._offer.functions[call.name]
        if function.repeatable and not function.needs_approval:
            return await self._offer.call(call, timeout=self._timeout)
        return Raised("it is called only where a cell runs for the first time, since it was not offered as repeatable")


def _not_approved(name: str) -> Raised:
    return Raised(
        f"it needs somebody's approval, and this cell was not approved for it. Call {name} by its name in the code of "
        "the cell itself, not by way of an earlier function, so that the cell is shown to somebody before it runs"
    )


def _counted(names: list[str]) -> str:
    return ", ".join(name if count == 1 else f"{name} ({count} times)" for name, count in Counter(names).items())


def functions_called(cell: Cell) -> set[str]:
    """The functions that a cell is remembered to have called."""
    return {name for line in cell.get("calls") or [] if (name := line.partition("(")[0]).isidentifier()}


def to_be_approved(pending: Pending, offer: Offer) -> Pending:
    """A pending cell with the functions noted for which somebody has to approve of it."""
    if named := offer.to_approve(pending["code"]):
        return {**pending, "asks": named}
    return pending
