"""What a task wrote, and whether that is all of it: a node that was broken off as it ended is not taken as done.

LangGraph takes a task as finished once anything of what it wrote is stored. A run that is cancelled between the moment
when a node's values were written and the moment when the node that follows was chosen stores the first without the
second, together with the error. Taken as done, such a task leads nowhere, and the thread is finished without an answer.
So of a task that ended with an error nothing is kept but what says so: it runs again when the thread is resumed, and
the journal answers for a cell that had finished.

Databases of earlier versions hold such tasks. They are told by their error and by having named no successor, and are
read as not finished.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.base import PendingWrite
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME

ERROR_SOURCE = "__error_source_node__"
"""Where LangGraph keeps the name of the node that failed; a test holds this against the installed version."""
ABOUT_A_TASK = frozenset({ERROR, ERROR_SOURCE, INTERRUPT, RESUME})
"""Channels that say how a task ended, and not what it wrote."""
SUCCESSOR = "branch:to:"
"""What the channel begins with into which a node writes that another one follows."""
LAST = "upload"
"""The node that none follows."""
BY_ITSELF = "00000000-0000-0000-0000-000000000000"
"""The id under which LangGraph keeps what no task wrote."""

Write = tuple[str, Any]


def whole_writes(writes: Sequence[Write]) -> list[Write]:
    """The part of a task's writes that is stored: with an error among them, only how the task ended."""
    if all(channel != ERROR for channel, _ in writes):
        return list(writes)
    return [write for write in writes if write[0] in ABOUT_A_TASK]


def interrupted_tasks(pending: Iterable[PendingWrite] | None) -> set[str]:
    """The tasks among a checkpoint's pending writes that ended with an error, and wrote values but no successor.

    The last node is among them when an earlier attempt of it had failed: see `is_last`.
    """
    failed, wrote, led_on = set[str](), set[str](), set[str]()
    for task, channel, _ in pending or ():
        if task == BY_ITSELF:
            continue
        if channel == ERROR:
            failed.add(task)
        elif channel.startswith(SUCCESSOR):
            led_on.add(task)
        elif channel not in ABOUT_A_TASK:
            wrote.add(task)
    return (failed & wrote) - led_on


def is_last(path: str) -> bool:
    """Whether a task belongs to the last node, or to none that is known.

    Args:
        path: As LangGraph writes it, with the node's name at its end.
    """
    return path.rpartition(", ")[2] in ("", LAST)


def without_values_of(pending: Iterable[PendingWrite] | None, tasks: set[str]) -> list[PendingWrite]:
    """The pending writes, without the values of these tasks."""
    return [write for write in pending or () if write[0] not in tasks or write[1] in ABOUT_A_TASK]


COUNTERS = "counters_since_delta_snapshot"
"""Where a checkpoint's metadata says which channels it has no full copy of; LangGraph's name."""


@dataclass(frozen=True, slots=True)
class Link:
    """A checkpoint in the chain of its thread."""

    parent: str
    """Empty for the first."""
    whole: frozenset[str]
    """The growing channels of which it has a full copy."""
    partly: frozenset[str]
    """Those of which it knows that it has none."""


def needed_by(kept: Iterable[str], links: Mapping[str, Link]) -> set[str]:
    """The checkpoints that these are rebuilt from, themselves included.

    Args:
        kept: Checkpoints of one thread and one namespace.
        links: All of that thread and namespace, by their ids.
    """
    growing = frozenset[str]().union(*(link.whole | link.partly for link in links.values()))
    needed: set[str] = set()
    seen: dict[str, frozenset[str]] = {}
    for start in kept:
        at, missing = start, growing
        while at in links:
            needed.add(at)
            missing = missing - links[at].whole
            if not missing or missing <= seen.get(at, frozenset()):
                break  # everything above was gone through before, for these channels or more
            seen[at] = seen.get(at, frozenset()) | missing
            at = links[at].parent
    return needed


def deletable(doomed: Iterable[str], links: Mapping[str, Link]) -> set[str]:
    """Those of these checkpoints that no other one is rebuilt from."""
    gone = set(doomed)
    return gone - needed_by([id for id in links if id not in gone], links)


def all_but_newest(links: Mapping[str, Link]) -> set[str]:
    """All checkpoints but the newest and those that it is rebuilt from."""
    return set(links) - needed_by([max(links)], links) if links else set()
