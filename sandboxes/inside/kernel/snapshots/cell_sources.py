"""The code of the cells that ran. Each is looked at once, however many steps come after it."""

import ast
import functools
import json
import linecache
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

CELL = "<cell "
"""The names of their files begin with it."""
TOGETHER = "cells "
"""The names under which a snapshot has the code of `GROUP` cells begin with it; a number follows."""
GROUP = 50
"""Cells whose code lies together as soon as there are so many: a snapshot names the place of each piece that it has."""
ENCODING = "utf-8", "surrogatepass"

Found = TypeVar("Found")
Total = TypeVar("Total")


class CellSources:
    """The code of a session's cells, as `linecache` has it for tracebacks."""

    def __init__(self) -> None:
        self._seen: list[Any] = []
        """What `linecache` had last, of all files; it replaces entries and does not change them."""
        self._entries: list[Any] = []
        """Those of cells."""
        self._texts: list[tuple[str, str]] = []
        """Names of files, and code."""
        self._answers: dict[object, tuple[int, Any]] = {}
        """For a question: how many cells were asked, and what they have together."""
        self._groups: dict[str, bytes] = {}

    def look(self) -> None:
        """Take what was added since the last time; everything, if something else has changed."""
        cache = list(linecache.cache.items())
        seen, self._seen = self._seen, [entry for _, entry in cache]
        known = len(seen)
        if not _begins_with(self._seen, seen):  # that of another file, too, may have been read again
            cache = [item for item in cache if item[0].startswith(CELL)]
            known = len(self._entries)
            if not _begins_with([entry for _, entry in cache], self._entries):
                known = 0
                self._entries, self._texts, self._answers, self._groups = [], [], {}, {}
        new = [item for item in cache[known:] if item[0].startswith(CELL)]
        self._entries += [entry for _, entry in new]
        self._texts += [(name, "".join(entry[2])) for name, entry in new if len(entry) == 4]

    def union(self, question: Callable[[str], Iterable[Found]]) -> frozenset[Found]:
        """What all cells have together.

        Args:
            question: A function of the code of one, which always gives the same for it.
        """
        found: frozenset[Found]
        asked, found = self._answers.get(question, (0, frozenset()))
        if asked < len(self._texts):
            found = found.union(*(question(text) for _, text in self._texts[asked:]))
            self._answers[question] = len(self._texts), found
        return found

    def collect(self, add: Callable[[Total, str], None], empty: Callable[[], Total]) -> Total:
        """What all cells have together, in something to which that of each is added.

        Args:
            add: Adds what the code of one has.
            empty: Makes it.
        """
        total: Total
        asked, total = self._answers.get(add) or (0, empty())
        for _, text in self._texts[asked:]:
            add(total, text)
        self._answers[add] = len(self._texts), total
        return total

    def any(self, question: Callable[[str], bool]) -> bool:
        """Whether it is so of one; see `union`."""
        return self._any(question, question)

    def name(self, text: str) -> bool:
        """Whether one has a text in it."""
        return self._any(text, lambda source: text in source)

    def _any(self, key: object, question: Callable[[str], bool]) -> bool:
        asked, found = self._answers.get(key, (0, False))
        if not found and asked < len(self._texts):
            found = any(question(text) for _, text in self._texts[asked:])
            self._answers[key] = len(self._texts), found
        return bool(found)

    def streams(self) -> dict[str, bytes]:
        """What a snapshot has of them, by name."""
        ends = range(GROUP, len(self._texts) + 1, GROUP)
        for end in ends[len(self._groups) :]:
            self._groups[f"{TOGETHER}{end}"] = _written(dict(self._texts[end - GROUP : end]))
        alone = self._texts[len(ends) * GROUP :]
        return self._groups | {name: text.encode(*ENCODING) for name, text in alone}


@functools.lru_cache(maxsize=1)  # of a new cell several questions are asked, one after the other
def nodes_of(source: str) -> list[ast.AST]:
    """The syntax of a cell, all of its nodes; none where it has none, as a cell that never ran."""
    try:
        return list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _begins_with(entries: list[Any], known: list[Any]) -> bool:
    return len(known) <= len(entries) and all(map(operator.is_, known, entries))


def _written(texts: dict[str, str]) -> bytes:
    return json.dumps(texts, ensure_ascii=False).encode(*ENCODING)


def read(streams: Mapping[str, bytes]) -> dict[str, str]:
    """The code of cells by the names of their files, of what a snapshot has."""
    found: dict[str, str] = {}
    for name, data in streams.items():
        if name.startswith(TOGETHER):
            found |= json.loads(data.decode(*ENCODING))
        elif name.startswith(CELL):
            found[name] = data.decode(*ENCODING)
    return found
