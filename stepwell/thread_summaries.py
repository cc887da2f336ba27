"""What a list says of a thread: made from its state, and read back from what the checkpoints keep of it.

Nothing heavy is imported here, so that `stepwell threads` can do without LangGraph.
"""

import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from graph.checkpoints.summaries import kept_summaries

if TYPE_CHECKING:
    from langgraph.types import StateSnapshot

    from graph.checkpoints.saver import Saver
    from graph.settings import Settings

ThreadStatus = Literal["finished", "waiting", "failed", "paused", "damaged"]


@dataclass(frozen=True, slots=True)
class ThreadSummary:
    """One line of the list of threads."""

    id: str
    question: str
    """The last one; of a damaged thread, what is wrong."""
    status: ThreadStatus
    turns: int
    cells: int
    updated: datetime

    def as_text(self) -> str:
        """The same, to be kept beside the checkpoints."""
        return json.dumps({**asdict(self), "updated": self.updated.isoformat()})


def listed_without_states(settings: "Settings", *, limit: int) -> list[ThreadSummary] | None:
    """The newest threads as their last runs left them; None when their states must be read to know."""
    if settings.database_url.get_secret_value():
        return None
    kept = kept_summaries(settings.home / "threads.sqlite", limit=limit)
    try:
        return None if kept is None else [_from_text(text) for text in kept]
    except (ValueError, TypeError, KeyError):
        return None  # written by another version


def _from_text(text: str) -> ThreadSummary:
    told = json.loads(text)
    return ThreadSummary(**{**told, "updated": datetime.fromisoformat(told["updated"])})


def summary_of(thread: str, snapshot: "StateSnapshot") -> ThreadSummary:
    """What is said of a thread at its newest checkpoint."""
    state = snapshot.values
    return ThreadSummary(
        id=thread,
        question=last_question(state),
        status=status_of(snapshot),
        turns=max(state.get("turn", 0), len(state.get("turns") or [])),
        cells=len(state.get("cells") or []),
        updated=updated_at(snapshot),
    )


def updated_at(snapshot: "StateSnapshot") -> datetime:
    """When a thread last changed."""
    created = datetime.fromisoformat(snapshot.created_at) if snapshot.created_at else datetime.now(UTC)
    return created.astimezone(UTC)


def last_question(state: Any) -> str:
    """The question that a thread is at: the newest message of the user's, which may not have been planned yet."""
    asked = (message.text for message in reversed(state.get("messages") or []) if message.type == "human")
    return next(asked, "") or state.get("question") or ""


def status_of(snapshot: "StateSnapshot") -> ThreadStatus:
    """Where a thread stands."""
    # Not `next`: it is empty when a run broke off after a node had written and before the next checkpoint.
    if not snapshot.tasks:
        return "finished"
    if snapshot.interrupts:
        return "waiting"
    # A run that was cancelled leaves its CancelledError behind: that is a pause, asked for by somebody.
    failed = any(task.error and "CancelledError" not in repr(task.error) for task in snapshot.tasks)
    return "failed" if failed else "paused"


async def keep_summary(saver: "Saver", graph: Any, thread: str) -> ThreadSummary:
    """Read a thread's state, and keep what a list says of it.

    Raises:
        DamagedThreadError: it cannot be read.
    """
    mark = await saver.mark(thread)
    summary = summary_of(thread, await graph.aget_state({"configurable": {"thread_id": thread}}))
    await saver.keep_summary(thread, mark, summary.as_text())
    return summary
