"""What people call their threads: a name and tags, kept beside the checkpoints and apart from what runs write there.

They outlive turns, belong to one thread (a fork or a copy begins without), and go when the thread goes. Reading them
needs neither LangGraph nor a state.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

TABLE = (
    "create table if not exists stepwell_labels (thread_id text primary key, name text not null, tags text not null)"
)
ALL = "select thread_id, name, tags from stepwell_labels"


@dataclass(frozen=True, slots=True)
class Labels:
    """What one thread is called."""

    name: str = ""
    """Empty: it has none."""
    tags: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to keep."""
        return bool(self.name or self.tags)

    def tagged(self, tag: str) -> bool:
        """Whether it has this tag, in whatever case."""
        return tag.casefold() in {one.casefold() for one in self.tags}

    def row(self, thread: str) -> tuple[str, str, str]:
        """The row that is stored."""
        return thread, self.name, json.dumps(self.tags, ensure_ascii=False)


Change = Callable[[Mapping[str, Labels]], Labels]
"""Given the labels of all threads, the new ones of the thread that is changed; what it raises changes nothing."""


def labels_in(rows: Iterable[Iterable[Any]]) -> dict[str, Labels]:
    """The labels by thread; a row that cannot be read has none."""
    found = {}
    for thread, name, tags in rows:
        try:
            listed = json.loads(tags)
        except ValueError:
            listed = []
        plain = (one for one in listed if isinstance(one, str)) if isinstance(listed, list) else ()
        found[str(thread)] = Labels(str(name), tuple(plain))
    return found


def kept_labels(file: Path) -> dict[str, Labels] | None:
    """The labels in a SQLite file of checkpoints; None: it cannot be read, or is of an older version."""
    try:
        with closing(sqlite3.connect(f"file:{quote(str(file))}?mode=rw", uri=True)) as connection:
            return labels_in(connection.execute(ALL))
    except sqlite3.Error:
        return None
