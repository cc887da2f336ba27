"""What a list says of a thread: made from its state, and read back from what the checkpoints keep of it.

Nothing heavy is imported here, so that `stepwell threads` can do without LangGraph.
"""

import json
import os
import unicodedata
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from graph.checkpoints.labels import Labels, kept_labels
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
    text: str = field(default="", repr=False)
    """All questions and answers, for a search."""
    name: str = ""
    """What its user calls it, and the tags that they gave it."""
    tags: tuple[str, ...] = ()
    fork_of: str = ""
    """`THREAD@STEP` where it is a fork."""
    has_own_question: bool = True
    """Whether the last question is not that of the thread that it was forked from."""

    @property
    def title(self) -> str:
        """What tells it from other threads where it has no name."""
        return self.question if self.has_own_question else fork_title(self.fork_of.partition("@")[2], self.question)

    def as_text(self) -> str:
        """The same, to be kept beside the checkpoints, but for the name and the tags, which are kept on their own."""
        kept = {name: value for name, value in asdict(self).items() if name not in ("name", "tags")}
        return json.dumps({**kept, "updated": self.updated.isoformat()})

    def with_labels(self, labels: Labels | None) -> "ThreadSummary":
        """The same thread with its name and tags."""
        return replace(self, name=labels.name, tags=labels.tags) if labels else self


@dataclass(frozen=True, slots=True)
class ThreadFilter:
    """Which threads are listed: those that have all of this."""

    search: str = ""
    """Words that occur in the name, the questions or the answers, in any order and case."""
    tags: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether any thread can be left out."""
        return bool(self.search.strip() or self.tags)

    def matches(self, summary: ThreadSummary) -> bool:
        """Whether it is listed."""
        if not all(Labels(tags=summary.tags).tagged(tag) for tag in self.tags):
            return False
        text = _comparable(f"{summary.name}\n{summary.question}\n{summary.text}")
        return all(word in text for word in _comparable(self.search).split())

    def excerpt(self, summary: ThreadSummary) -> str:
        """The part of its questions and answers where the first word stands that they have; empty: they have none."""
        text = summary.text
        folded = text.casefold()
        found = next((word for word in self.search.casefold().split() if word in folded), "")
        if not found:
            return ""
        at = folded.find(found)
        start, end = max(at - AROUND, 0), min(at + len(found) + AROUND, len(text))
        part = " ".join(text[start:end].split())
        return f"{'…' if start else ''}{part}{'…' if end < len(text) else ''}"


AROUND = 80
"""Characters that are shown on either side of what a search has found."""
ANY = ThreadFilter()
ALL_THREADS = 1_000_000_000
"""More than a list can have."""


def _comparable(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def listed_without_states(
    settings: "Settings", *, limit: int, wanted: ThreadFilter = ANY
) -> list[ThreadSummary] | None:
    """The newest threads as their last runs left them; None when their states must be read to know."""
    if settings.database_url.get_secret_value():
        return None
    file = settings.home / "threads.sqlite"
    kept, labels = kept_summaries(file, limit=ALL_THREADS if wanted else limit), kept_labels(file)
    summaries = None if kept is None else [summary_from(text) for text in kept]
    if summaries is None or labels is None or None in summaries:
        return None
    named = (summary.with_labels(labels.get(summary.id)) for summary in summaries if summary is not None)
    return list(islice(filter(wanted.matches, named), limit))


def summary_from(text: str) -> ThreadSummary | None:
    """The kept summary of a thread; None: another version wrote it."""
    try:
        told = json.loads(text)
        return ThreadSummary(**{**told, "text": told["text"], "updated": datetime.fromisoformat(told["updated"])})
    except (ValueError, TypeError, KeyError):
        return None


def summary_of(thread: str, snapshot: "StateSnapshot") -> ThreadSummary:
    """The summary of a thread at its newest checkpoint."""
    state = snapshot.values
    return ThreadSummary(
        id=thread,
        question=last_question(state),
        status=status_of(snapshot),
        turns=max(state.get("turn", 0), len(state.get("turns") or [])),
        cells=len(state.get("cells") or []),
        updated=updated_at(snapshot),
        text=said_in(state),
        fork_of=f"{forked['thread']}@{forked['step']}" if (forked := state.get("forked")) else "",
        has_own_question=has_own_question(state),
    )


def has_own_question(state: Any) -> bool:
    """Whether something was asked in a thread itself, and not only in the one that it was forked from."""
    forked = state.get("forked")
    if not forked or state.get("turn", 0) > forked["turns"]:
        return True
    return bool(last_question(state) != state.get("question"))  # it was asked and is not planned yet


def fork_title(step: str, question: str) -> str:
    """What a fork is called while its question is that of the other thread."""
    return f"Fork at step {step} of: {question}"


def said_in(state: Any) -> str:
    """All questions and answers of a thread, the oldest first."""
    said = [part for turn in state.get("turns") or [] for part in (turn["question"], turn["answer"])]
    now = [state.get("question") or "", last_question(state), state.get("answer") or ""]
    return "\n".join(dict.fromkeys(part for part in [*said, *now] if part))


def updated_at(snapshot: "StateSnapshot") -> datetime:
    """When a thread last changed."""
    created = datetime.fromisoformat(snapshot.created_at) if snapshot.created_at else datetime.now(UTC)
    return created.astimezone(UTC)


def last_question(state: Any) -> str:
    """The current question of a thread: the user's newest message, which may not have been planned yet."""
    asked = (message.text for message in reversed(state.get("messages") or []) if message.type == "human")
    return next(asked, "") or state.get("question") or ""


def status_of(snapshot: "StateSnapshot") -> ThreadStatus:
    """The status of a thread."""
    # Not `next`: it is empty when a run broke off after a node had written and before the next checkpoint.
    if not snapshot.tasks:
        return "finished"
    if snapshot.interrupts:
        return "waiting"
    # A run that was cancelled leaves its CancelledError behind: that is a pause, asked for by somebody.
    failed = any(task.error and "CancelledError" not in repr(task.error) for task in snapshot.tasks)
    return "failed" if failed else "paused"


def bytes_on_disk(settings: "Settings", thread: str) -> int:
    """What a thread's folder takes on this machine: inputs, workspace, what its sandbox keeps. Blocks.

    Snapshots are not counted: threads share them.
    """
    seen: dict[tuple[int, int], int] = {}
    for folder, _, names in os.walk(settings.home / "threads" / thread):
        for path in (folder, *(os.path.join(folder, name) for name in names)):  # noqa: PTH118 - many of them
            with suppress(OSError):  # gone meanwhile
                told = os.lstat(path)
                seen[told.st_dev, told.st_ino] = told.st_blocks * 512
    return sum(seen.values())


async def kept_or_read(saver: "Saver", graph: Any, thread: str) -> ThreadSummary:
    """The summary of a thread: the kept one, or else one made from its state, which is kept then.

    Raises:
        DamagedThreadError: it cannot be read.
    """
    kept = await saver.kept_summary(thread)
    if kept is not None and (known := summary_from(kept)) is not None:
        return known
    mark = await saver.mark(thread)
    summary = summary_of(thread, await graph.aget_state({"configurable": {"thread_id": thread}}))
    await saver.keep_summary(thread, mark, summary.as_text())
    return summary
