"""A cell that was started and that nobody saw end: whether it can be run again, or its outcome is unknown.

Its variables and files are rolled back in any case. What it did outside of the sandbox is not: a message that was sent,
a row that was written. So it runs again only if the sandbox's note says that it reached nothing there. Calls of host
functions that had ended are known with their results, and are answered from the journal; one that had not is an effect
that nobody knows.
"""

from collections import Counter
from collections.abc import Iterable

from graph.checkpoints.journal import CallEntry, CellEntry
from sandboxes.base import Sandbox
from sandboxes.results import CellResult

ELSEWHERE = "the sandbox that it ran in is not at hand any more"
LOST_CALLS = "calls that were written down before it waited for approval, and are not to be found any more"


async def unknown_outcome(
    sandbox: Sandbox,
    entry: CellEntry | None,
    earlier: tuple[CallEntry, ...] | None = (),
    *,
    seen: tuple[str, ...] = (),
) -> CellResult | None:
    """What is to be recorded of a cell that was broken off; None when it can simply run again.

    Args:
        sandbox: The thread's sandbox.
        entry: What the journal says of the cell; None: it did not start again since it was held.
        earlier: The calls that it had made when it was held; None: they are not to be found any more.
        seen: What it is known to have reached besides, calls of functions aside.

    Raises:
        SandboxUnavailableError: the sandbox's note cannot be read.
    """
    calls = (*(earlier or ()), *(entry.calls if entry is not None else ()))
    broken_off = [call.name for call in calls if call.outcome is None]
    noted = await possible_effects(sandbox, entry) if entry is not None else ()
    why = (*dict.fromkeys((*seen, *noted)), *function_effects(broken_off))
    if earlier is None:
        why = (*why, LOST_CALLS)
    if not why:
        return None
    ended = Counter(call.name for call in calls if call.outcome is not None)
    known = f" These calls had ended, and their effects are there: {count_names(ended)}." if ended else ""
    return CellResult(
        status="unknown",
        note=(
            f"it was started, and broken off before it ended. It was not run again, because it may have had effects "
            f"outside of the sandbox ({', '.join(why)}): find out what it did there before you repeat it.{known} "
            "Variables and files are as they were before it."
        ),
        variables_kept=False,
        reached=tuple(dict.fromkeys((*why, *function_effects(call.name for call in calls)))),
    )


def count_names(names: Counter[str]) -> str:
    """Names with how often each is there: `send (2 times), stall`."""
    return ", ".join(name if count == 1 else f"{name} ({count} times)" for name, count in names.items() if count)


def function_effects(names: Iterable[str]) -> tuple[str, ...]:
    """What is recorded of a cell that called functions of the host, which may have effects outside."""
    return tuple(f"function {name}" for name in dict.fromkeys(names))


async def possible_effects(sandbox: Sandbox, entry: CellEntry) -> tuple[str, ...]:
    """What a cell that was started has reached, or may have reached, outside of its sandbox."""
    note = await sandbox.reached()
    if note.sandbox != entry.sandbox:
        return () if entry.confined else (ELSEWHERE,)
    return note.what if note.head == entry.head else ()
