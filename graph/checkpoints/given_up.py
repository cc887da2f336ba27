"""Which snapshots threads gave up to make room, kept beside the checkpoints, which stay as they are.

A checkpoint names a snapshot for good. A row here says that one thread does without it since then: nothing of that
thread is restored from it any more, whether its blobs are still there or not, so that whoever removes them takes them
from nobody. A fork takes the rows of its thread along; they go when the thread goes.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from langgraph.config import get_config

from graph.state import Cell

TABLE = """
create table if not exists stepwell_given_up (
    thread_id text not null, snapshot text not null, given_up_at text not null, rule text not null,
    primary key (thread_id, snapshot)
);
"""
OF_THREAD = "select snapshot, given_up_at, rule from stepwell_given_up where thread_id = ?"
ADD = "insert into stepwell_given_up values (?, ?, ?, ?) on conflict do nothing"
REMOVE = "delete from stepwell_given_up where thread_id = ? and snapshot = ?"
COPY = (
    "insert into stepwell_given_up select cast(? as text), snapshot, given_up_at, rule from stepwell_given_up "
    "where thread_id = ? on conflict do nothing"
)
SAVER = "__pregel_checkpointer"
"""Where LangGraph 1.2 keeps it in the config of a task, see `graph/checkpoints/journal.py`."""


@dataclass(frozen=True, slots=True)
class GivenUp:
    """When and why a thread gave up a snapshot."""

    when: str
    """ISO 8601, in UTC."""
    rule: str
    """The rule that named it, as it was written: `older than 30d`."""

    @classmethod
    def now(cls, rule: str) -> "GivenUp":
        """Given up at this moment."""
        return cls(datetime.now(UTC).isoformat(timespec="seconds"), rule)

    @property
    def text(self) -> str:
        """The end of a sentence."""
        return f"given up on {self.when[:10]} to make room ({self.rule})"

    def as_json(self) -> dict[str, str]:
        """The same in JSON shapes."""
        return {"when": self.when, "rule": self.rule}


NONE: Mapping[str, GivenUp] = MappingProxyType({})


def given_up_in(rows: Iterable[Sequence[Any]]) -> dict[str, GivenUp]:
    """What rows of `OF_THREAD` say, by snapshot."""
    return {str(snapshot): GivenUp(str(when), str(rule)) for snapshot, when, rule in rows}


def rows_of(thread: str, given: Mapping[str, GivenUp]) -> list[tuple[str, str, str, str]]:
    """As they are stored."""
    return [(thread, snapshot, one.when, one.rule) for snapshot, one in given.items()]


def without_given_up(cells: Sequence[Cell], given: Mapping[str, GivenUp]) -> list[Cell]:
    """The cells, those whose snapshots were given up without them."""
    if not given:
        return list(cells)
    return [{**cell, "snapshot": ""} if cell.get("snapshot") in given else cell for cell in cells]


async def given_up_here(thread: str) -> Mapping[str, GivenUp]:
    """What a thread gave up, for a node of a run on it; nothing where its checkpoints are not kept by us."""
    look = _saver_method("given_up")
    return await look(thread) if look is not None and thread else NONE


async def take_back_here(thread: str, snapshot: str) -> None:
    """A cell has made this snapshot, perhaps once more: what was given up before is needed again."""
    if snapshot in await given_up_here(thread) and (take_back := _saver_method("take_back")) is not None:
        await take_back(thread, [snapshot])


def _saver_method(name: str) -> Any:
    """A method of the running task's saver; LangGraph's server wraps ours, and passes on what it does not know."""
    try:
        saver = (get_config().get("configurable") or {}).get(SAVER)
    except RuntimeError:  # called by itself, outside of a graph
        return None
    return getattr(saver, name, None)
