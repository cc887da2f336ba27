"""A call as people read it who have to decide on it: each argument by its parameter's name, and nothing cut unsaid.

What is short stands there whole. Of what is long stand the beginning, the size and a hash, so that nobody can hide one
call behind another that looks like it; tables are shown by their shape and their first rows.
"""

import asyncio
import hashlib
import re
import reprlib
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

from graph.checkpoints.journal import CallEntry, Journal, digest_of
from graph.functions.host_functions import FunctionTable
from graph.state import AskedCall, Cell, Pending
from models.messages import without_surrogates
from nodes.calls.held_cells import ApprovalRequest, call_id, held
from nodes.restoration.unknown_outcome import count_names, function_effects
from sandboxes.functions import Call, Description, Raised, Returned
from sandboxes.inside.kernel import values

WHOLE = 2_000
"""Characters of an argument that are shown."""
MAX_ARGUMENTS = 50
"""Arguments that are shown; of the others there is a hash."""
MAX_READABLE = 1 << 20
"""Bytes of arguments, tables aside, that people can be asked about."""
HEAD_ROWS = 5
HEAD_COLUMNS = 12
HEAD_BYTES = 1 << 20
"""Bytes of a table's first rows that are read for that: one row may hold a list of millions."""
CELL_CHARS = 60
BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""Letters and marks that nobody sees, and that count as printable."""


def too_long(call: Call) -> str:
    """Why nobody can be asked about a call, or nothing."""
    size = values.LENGTH.unpack_from(call.arguments)[0] if len(call.arguments) >= values.LENGTH.size else 0
    if size <= MAX_READABLE:
        return ""
    return f"its arguments have {size:,} bytes, tables aside, and people can be asked about {MAX_READABLE:,}"


async def shown_arguments(call: Call, arguments: Mapping[str, Any]) -> list[str]:
    """The arguments of a call, a line or more for each.

    Args:
        call: The call.
        arguments: What its function would get, by the names of the parameters.
    """
    return await asyncio.to_thread(_lines, call, arguments)


def _lines(call: Call, arguments: Mapping[str, Any]) -> list[str]:
    lines = [f"{name} = {_shown(value)}" for name, value in list(arguments.items())[:MAX_ARGUMENTS]]
    more = len(arguments) - MAX_ARGUMENTS
    lines += [f"… and {more:,} more arguments"] if more > 0 else []
    if more > 0 or any("…" in line for line in lines) or any(map(_has_table, arguments.values())):
        lines.append(f"SHA-256 of all arguments as they were sent: {hashlib.sha256(call.arguments).hexdigest()}")
    return [BLANK.sub(lambda blank: f"\\u{ord(blank[0]):04x}", without_surrogates(line)) for line in lines]


def _has_table(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_table, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_has_table, value))
    return getattr(value, "shape", None) is not None


def _shown(value: Any) -> str:
    if getattr(value, "shape", None) is not None:
        return _table(value)
    text = repr(_with_names(value))  # every character that cannot be seen stands there by its number
    if len(text) <= WHOLE:
        return text
    size = f"a text of {len(value):,} characters" if isinstance(value, str) else f"{len(text):,} characters in all"
    raw = value if isinstance(value, str) else text
    checksum = hashlib.sha256(raw.encode("utf-8", "replace")).hexdigest()
    return f"{text[:WHOLE]}… (cut: {size}, SHA-256 {checksum})"


class _Named:
    """Stands for a table within another value."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"<{self.text}>"


def _with_names(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_names(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_with_names(one) for one in value)
    return _Named(_table(value)) if getattr(value, "shape", None) is not None else value


def _table(table: Any) -> str:
    names, rows = _head(table)
    height, width = table.shape
    shown = ", ".join(_cell(name) for name in names[:HEAD_COLUMNS])
    shown += f" and {len(names) - HEAD_COLUMNS} more" if len(names) > HEAD_COLUMNS else ""
    lines = [f"a table of {height:,} x {width:,}: {shown}"]
    lines += [" | ".join(_cell(one) for one in row[:HEAD_COLUMNS]) for row in rows]
    if height > len(rows):
        lines.append(f"… {height - len(rows):,} more rows")
    return "\n  ".join(lines)


def _head(table: Any) -> tuple[list[str], list[list[Any]]]:
    """The names of the columns and the first rows, of a table of any library that tables come from.

    An index is the first column, unless it only counts the rows.
    """
    if hasattr(table, "slice") and hasattr(table, "to_pydict"):  # pyarrow, where two columns may have one name
        head = table.slice(0, HEAD_ROWS)
        names = [str(name) for name in table.column_names]
        if head.nbytes > HEAD_BYTES:
            return names, []
        return names, [list(row) for row in zip(*(column.to_pylist() for column in head.columns), strict=True)]
    head = table.head(HEAD_ROWS)
    names = [str(name) for name in table.columns]
    if hasattr(table, "iter_rows"):  # polars
        return names, [] if head.estimated_size() > HEAD_BYTES else [list(row) for row in head.iter_rows()]
    rows = [list(row) for row in head.itertuples(index=False, name=None)]
    if list(table.index[:HEAD_ROWS]) == list(range(len(rows))) and type(table.index).__name__ == "RangeIndex":
        return names, rows
    return ["(index)", *names], [[label, *row] for label, row in zip(head.index, rows, strict=True)]


class _Short(reprlib.Repr):
    """Writes the beginning of a value, and looks at no more of it than that."""

    def __init__(self) -> None:
        super().__init__()
        self.fillvalue = "…"
        self.maxlevel = 2
        self.maxtuple = self.maxlist = self.maxset = self.maxdict = HEAD_ROWS
        self.maxstring = self.maxother = CELL_CHARS

    def repr_bytes(self, value: bytes, level: int) -> str:
        return repr(value[:CELL_CHARS])

    def repr_dict(self, value: dict[Any, Any], level: int) -> str:
        return super().repr_dict(dict(islice(value.items(), HEAD_ROWS + 1)), level)

    def repr_ndarray(self, value: Any, level: int) -> str:
        return self.repr1(value.flat[: HEAD_ROWS + 1].tolist(), level)


SHORT = _Short()


def _cell(value: Any) -> str:
    if isinstance(value, str):
        text = value[: CELL_CHARS + 1]
    elif isinstance(value, bytes | list | tuple | dict) or type(value).__name__ == "ndarray":
        text = SHORT.repr(value)
    else:
        text = str(value)
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= CELL_CHARS else f"{text[: CELL_CHARS - 1]}…"


MAX_REMEMBERED = 50
"""Calls of a cell that State remembers, and that are told."""
HASHED_HERE = 1 << 20
"""Bytes of arguments whose hash takes a millisecond; that of more is made in a thread."""
NEEDS = "it needs somebody's approval"


class CellCalls:
    """What is offered to one cell, and what it called.

    Args:
        offer: The functions.
        pending: The cell.
        timeout: Seconds that a call may take.
        journal: Where calls are written down; None: nowhere.
        known: The calls that the journal has of this cell.
        tell: Told of the first calls that ended: function, arguments in short, how it ended, and after how long.
        asking: Ends the cell for a call that somebody must decide on; None: nobody can be asked.
    """

    def __init__(
        self,
        offer: FunctionTable,
        pending: Pending,
        *,
        timeout: float,
        journal: Journal | None = None,
        known: Iterable[CallEntry] = (),
        emit: Callable[[str, str, str, float], None] | None = None,
        asking: ApprovalRequest | None = None,
    ) -> None:
        self._offer = offer
        self._pending = pending
        self._timeout = timeout
        self._journal = journal
        self._tell = emit
        self._asking = asking
        before = held(pending)
        self._decided = {(one["digest"], one["nth"]): one for one in (before["decided"] if before is not None else ())}
        self._record: dict[str, deque[CallEntry]] = defaultdict(deque)
        self._next = 0
        for call in known:
            self._next = max(self._next, call.index + 1)
            if call.outcome is not None:
                self._record[call.digest].append(call)
        self._nth: Counter[str] = Counter()
        self._effects: list[str] = []
        self._answered: list[str] = []
        self._lines: list[str] = []
        self._count = 0
        self._open: Counter[str] = Counter()
        self._unwritten: list[str] = []
        self._under_way = 0
        self._calm = asyncio.Condition()
        self._closed = False
        self._reopened = asyncio.Event()
        self._ending: asyncio.Task[None] | None = None
        self.asked: AskedCall | None = None
        """The call that needs approval and at which the cell was ended; from then on none is made."""
        self.recorded = 0
        """How many calls this run of the cell has written down."""

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
        return function_effects(self._effects)

    def notices(self) -> list[str]:
        """What the model must be told of calls that were not made a second time."""
        told = []
        if self._answered:
            told.append(
                f"These calls had ended before the interruption and were not made again; the cell got what they gave "
                f"then: {count_names(Counter(self._answered))}."
            )
        left = [call.name for calls in self._record.values() for call in calls]
        if left:
            told.append(
                f"These calls had ended before the interruption, and the cell did not make them when it ran again: "
                f"{count_names(Counter(left))}. Their effects are there."
            )
        if self._unwritten:
            names = count_names(Counter(self._unwritten))
            told.append(f"These calls were made, but how they ended could not be written down: {names}.")
        return told

    def effects(self) -> str:
        """What must be said of a cell that did not come to its end: what it has called; empty when that is nothing."""
        begun = +self._open
        ended = Counter(self._effects) - begun
        told = f"; these calls of it had ended, and their effects are there: {count_names(ended)}" if ended else ""
        told += f"; these had begun, and may have taken effect: {count_names(begun)}" if begun else ""
        return told

    async def call(self, call: Call) -> Returned | Raised:
        """Make a call, or answer it; see `Functions.call`."""
        await self._wait_while_closed()
        function = self._offer.functions[call.name]
        if function.repeatable and not function.needs_approval:
            return await self._make(call)
        digest = digest_of(call) if len(call.arguments) < HASHED_HERE else await asyncio.to_thread(digest_of, call)
        await self._wait_while_closed()
        self._nth[digest] += 1
        if function.needs_approval:
            decided = self._decided.get((digest, self._nth[digest]))
            if decided is not None and decided["verdict"] == "reject":
                return self._ended(call, "rejected", 0.0, _rejected(decided["remark"]))
            if decided is None and not self._record[digest]:
                return self._ended(call, "refused", 0.0, await self._ask(call, digest, self._nth[digest]))
        if self._record[digest]:
            known = self._record[digest].popleft().outcome
            if known is not None:
                self._effects.append(call.name)
                self._answered.append(call.name)
                return self._ended(call, "answered from the record", 0.0, known)
        self._under_way += 1
        return await self._written_down(call, digest)

    async def _written_down(self, call: Call, digest: str) -> Returned | Raised:
        """Make a call whose beginning and end are in the journal, so that it is never made twice."""
        try:
            return await self._make_once(call, digest)
        finally:
            self._under_way -= 1
            async with self._calm:
                self._calm.notify_all()

    async def _make_once(self, call: Call, digest: str) -> Returned | Raised:
        index, self._next = self._next, self._next + 1
        if self._journal is not None:
            try:
                await self._journal.record_call_start(CallEntry(index, call.name, digest))
            except Exception as error:  # of whichever storage
                why = f"it was not called, because that could not be written down first ({type(error).__name__})"
                return self._ended(call, "refused", 0.0, Raised(why))
            self.recorded += 1
        self._effects.append(call.name)
        self._open[call.name] += 1
        outcome = await self._make(call)
        if self._journal is not None:
            try:
                await self._journal.record_call_end(CallEntry(index, call.name, digest, outcome))
            except Exception:  # its effect is there; without this line the cell just never runs again
                self._unwritten.append(call.name)
        self._open[call.name] -= 1
        return outcome

    async def _ask(self, call: Call, digest: str, nth: int) -> Raised:
        """End the cell so that somebody can be asked; returns only where that cannot be."""
        if self._asking is None:
            return Raised(f"{NEEDS}, and this run keeps no checkpoints on the way, at which it could wait for that")
        if why := too_long(call):
            return Raised(f"{NEEDS}, and {why}: pass less, or a table")
        arguments = await self._offer.arguments(call, timeout=self._timeout)
        if isinstance(arguments, Raised):
            return arguments
        shown = await shown_arguments(call, arguments)
        if why := await self._asking.refusal():
            return Raised(f"{NEEDS}, and {why}")
        await self._wait_while_closed()
        self._closed = True
        try:
            async with self._calm:  # how those end that are being made must be known before the cell runs again
                await self._calm.wait_for(lambda: not self._under_way)
        except asyncio.CancelledError:  # the cell does not wait for this call any more, and goes on
            self._closed = False
            self._reopened.set()
            raise
        self.asked = AskedCall(
            id=call_id(self._pending, self._asking.number, digest, nth),
            function=call.name,
            digest=digest,
            nth=nth,
            arguments=shown,
            place=without_surrogates(call.place),
        )
        self._ending = asyncio.create_task(self._asking.end())
        await _for_ever()
        raise AssertionError  # not reached

    async def _wait_while_closed(self) -> None:
        """Make no call while the cell is being ended; where that was given up, calls that came meanwhile go on."""
        while self._closed:
            self._reopened.clear()
            await self._reopened.wait()

    async def wait_until_held(self) -> AskedCall | None:
        """The call at which the cell was ended, once it has; None when it was not.

        Raises:
            SandboxError: it cannot be ended; nothing was remembered.
        """
        if self._ending is not None:
            await self._ending
        return self.asked

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

    These are cells that run again for their variables, and the cells of temporary sessions.

    Args:
        offer: The functions.
        timeout: Seconds that a call may take.
    """

    def __init__(self, offer: FunctionTable, *, timeout: float) -> None:
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


def _rejected(remark: str) -> Raised:
    return Raised(f"somebody was asked about this call and refused it{f': {remark}' if remark else ''}", "Rejected")


async def _for_ever() -> None:
    """Wait until the cell has ended: the task is cancelled then."""
    await asyncio.Event().wait()


def functions_called(cell: Cell) -> set[str]:
    """The functions that a cell is remembered to have called."""
    return {name for line in cell.get("calls") or [] if (name := line.partition("(")[0]).isidentifier()}
