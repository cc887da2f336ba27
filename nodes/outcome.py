"""A cell that was started and that nobody saw end: whether it can be run again, or its outcome is unknown.

Its variables and files are rolled back in any case. What it did outside of the sandbox is not: a message that was sent,
a row that was written. So it runs again only if the sandbox's note says that it reached nothing there.
"""

from graph.journal import Entry
from sandboxes.base import CellResult, Sandbox

ELSEWHERE = "the sandbox that it ran in is not at hand any more"


async def outcome_unknown(sandbox: Sandbox, entry: Entry) -> CellResult | None:
    """What is to be recorded of a cell that was broken off; None when it can simply run again.

    Raises:
        SandboxUnavailableError: the sandbox's note cannot be read.
    """
    why = await reached_by(sandbox, entry)
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
        reached=why,
    )


async def reached_by(sandbox: Sandbox, entry: Entry) -> tuple[str, ...]:
    """What a cell that was started is known, or must be feared, to have reached outside of its sandbox."""
    note = await sandbox.reached()
    if note.sandbox != entry.sandbox:
        return (ELSEWHERE,)
    return note.what if note.head == entry.head else ()
