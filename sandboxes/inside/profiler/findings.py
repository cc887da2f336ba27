"""What was found in a file: the shapes that every kind of file is described in, and how single values are shown."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

CELL_CHARS = 40
"""Longest cell value that an abstract shows."""


class UnreadableError(Exception):
    """The file cannot be read; the message is one sentence that says what it seems to be and what is wrong."""


@dataclass
class Column:
    """One column of a table, described."""

    name: str
    kind: str
    """`integer`, `number`, `text`, `category`, `date`, `boolean`, `mixed`, `empty`, …; a format may follow."""
    missing: int = 0
    total: int = 0
    """Values looked at, missing ones included."""
    spread: str = ""
    """Range and mean, or the top values with their counts."""
    brief: str = ""
    """The same in a few characters."""
    distinct: str = ""
    remarks: list[str] = field(default_factory=list)
    low: float | None = None
    high: float | None = None


@dataclass
class Table:
    """One table in a file: a CSV file has one, a workbook one for each sheet."""

    title: str = ""
    """What tells it from the file's other tables; empty when it is the only one."""
    size: str = ""
    read_with: str = ""
    """A Python expression that gives the table as a DataFrame; empty when there is none."""
    remarks: list[str] = field(default_factory=list)
    columns: list[Column] = field(default_factory=list)
    column_count: int = 0
    """All of its columns, also those that were not looked at."""
    rows: list[list[str]] = field(default_factory=list)
    row_note: str = "first rows"


@dataclass
class Findings:
    """All that is known of one file."""

    kind: str = ""
    """The kind line: what it is, how big, how it is written."""
    problem: str = ""
    """Why it cannot be read, in one sentence; empty when it can."""
    remarks: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    """Text to show as it is: headings, first lines, names of members."""


@dataclass
class Look:
    """One look at one file: where it is, how long there is left, and whom to tell what is known so far."""

    path: str
    size: int
    seconds: float = 20.0
    publish: Callable[[Findings], None] = lambda _: None
    started: float = field(default_factory=time.monotonic)

    def over(self, keep: float) -> bool:
        """Whether the time is used up, less a share kept back for writing down what was found by then."""
        return time.monotonic() - self.started >= self.seconds * (1 - keep)


def clean(value: object, limit: int = CELL_CHARS) -> str:
    """Show a value on one line of at most `limit` characters, without control characters."""
    text = value if isinstance(value, str) else str(value)
    text = text[: limit * 4]
    text = text.replace("\r\n", "⏎").replace("\n", "⏎").replace("\r", "⏎").replace("\t", " ")
    text = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def literal(text: str) -> str:
    """Write a string as a Python literal on one line."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return repr(text) if text.isprintable() else ascii(text)


def number_text(value: float) -> str:
    """Write a number so that no digit that matters is lost and no exponent appears where it is not needed."""
    if isinstance(value, int):
        return str(value) if abs(value) < 10**18 else f"{float(value):.6g}"
    if abs(value) < 1e15 and value == int(value):
        return str(int(value))
    return f"{value:.2f}" if 1e6 <= abs(value) < 1e15 else f"{value:.6g}"


def size_text(size: float) -> str:
    """Write a number of bytes for people: `1.2 MB`."""
    if size < 1000:
        return f"{int(size)} bytes"
    for unit in ("KB", "MB", "GB"):
        size /= 1000
        if size < 1000:
            return f"{size:.1f} {unit}"
    return f"{size / 1000:.1f} TB"


def count_text(count: int, noun: str) -> str:
    """Write `1 row`, `5,000 rows`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def list_text(names: Sequence[object], most: int = 5) -> str:
    """Join names, saying how many more there are."""
    shown = ", ".join(clean(name) for name in names[:most])
    return shown + (f" and {len(names) - most:,} more" if len(names) > most else "")
