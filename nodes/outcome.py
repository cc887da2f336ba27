"""A cell that was started and that nobody saw end: whether it can be run again, or its outcome is unknown.

Its variables and files are rolled back in any case. What it did outside of the sandbox is not: a message that was sent,
a row that was written. So it runs again only if the sandbox's note says that it reached nothing there. Calls of host
functions that had ended are known with their results, and are answered from the journal; one that had not is an effect
that nobody knows.
"""

from collections.abc import Iterable

from graph.journal import Entry
from sandboxes.base import Sandbox
from sandboxes.results import CellResult

ELSEWHERE = "the sandbox that it ran in is not at hand any more"


async def outcome_unknown(sandbox: Sandbox, entry: Entry) -> CellResult | None:
    """What is to be recorded of a cell that was broken off; None when it can simply run again.

    Raises:
        SandboxUnavailableError: the sandbox's note cannot be read.
    """
    broken_off = [call.name for call in entry.calls if call.outcome is None]
    why = (*await reached_by(sandbox, entry), *functions_reached(broken_off))
    if not why:
        return None
    return CellResult(
        status="unknown",
        note=(
            f"it was started, and broken off before it ended. It was not run again, because it may have had effects "
            f"outside of the sandbox ({', '.join(why)}): find out what it did there before you repeat it. Variables "
            "and files are as they were before it."
        ),
        variables_kept=False,
        reached=tuple(dict.fromkeys((*why, *functions_reached(call.name for call in entry.calls)))),
    )


def functions_reached(names: Iterable[str]) -> tuple[str, ...]:
    """How it is remembered of a cell that it called functions of the host, which may have effects outside."""
    return tuple(f"function {name}" for name in dict.fromkeys(names))


async def reached_by(sandbox: Sandbox, entry: Entry) -> tuple[str, ...]:
    """What a cell that was started is known, or must be feared, to have reached outside of its sandbox."""
    note = await sandbox.reached()
    if note.sandbox != entry.sandbox:
        return () if entry.confined else (ELSEWHERE,)
    return note.what if note.head == entry.head else ()
