"""Which checkpoints others are rebuilt from: of a growing channel each checkpoint keeps what was added.

A checkpoint that has no full copy of such a channel needs all its ancestors up to the nearest one that has. Whoever
deletes checkpoints has to leave those.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

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
