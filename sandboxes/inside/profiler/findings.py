"""What was found in a file: the shapes in which every kind is described, and the text that the model reads."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

CELL_CHARS = 40
"""Longest cell value that an abstract shows."""
TEXT_CHARS = 300
"""Longest line of a table that is text."""
ABOVE_CHARS = 120
"""Most that is shown of what stands above a table."""


class UnreadableError(Exception):
    """The file cannot be read; the message says what it seems to be and what is wrong, with the file as its subject.

    Such as "is empty"; of an existing file never "cannot be read", which is said before it.
    """


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
    text: list[str] = field(default_factory=list)
    """What is to be read instead of described, line by line."""


@dataclass
class Findings:
    """All that is known of one file."""

    kind: str = ""
    """The kind line: what it is, how big, how it is written."""
    problem: str = ""
    """Why it cannot be read, in one sentence; empty when it can."""
    remarks: list[str] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    read_with: str = ""
    """A Python expression that reads a file which is no table; empty when there is none."""
    lines: list[str] = field(default_factory=list)
    """Text to show as it is: headings, first lines, names of members."""


@dataclass
class Inspection:
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


NAME_CHARS = 100
"""Longest name of a column that is shown whole; a longer one loses its middle, for names often differ at the end."""
LISTED_NAME_CHARS = 48
"""The same where columns are only named."""
RUN = 8
"""So many neighbouring columns named alike but for a number are told of in one line."""


def render(path: str, findings: Findings, chars: int) -> str:
    """Give the abstract: title, kind, remarks, then tables and text as far as they fit; never more than `chars`."""
    head = [_title(path)]
    if findings.kind:
        head.append(clean(findings.kind, max(160, chars // 4)))
    if findings.problem:
        head.append(f"problem: {clean(findings.problem, max(200, chars // 3))}")
    head += [f"! {clean(remark, max(200, chars // 6))}" for remark in findings.remarks]
    if findings.read_with:
        head.append(f"{READ_WITH} {findings.read_with}")
    text = _within(head, chars)
    if findings.tables:
        text = _tables(text, findings.tables, chars - (chars // 5 if findings.lines else 0))
    for line in findings.lines:
        room = chars - len(text) - 1
        if room < 12:
            break
        text += "\n" + _cut(line, room)
    return _cut(_indented(text, path, findings), chars)


def _indented(text: str, path: str, findings: Findings) -> str:
    """Indent what reads as a heading or an expression and is none of the profile's own, wherever it came from."""
    own = [_title(path), f"{READ_WITH} {findings.read_with}"]
    for table in findings.tables:
        own += [_heading(table), _reading(table, fits=True), _reading(table, fits=False)]

    def is_own(line: str) -> bool:
        return any(one.startswith(line.removesuffix("…")) for one in own)

    lines = text.splitlines()
    return "\n".join(f"  {one}" if one.startswith((READ_WITH, "#")) and not is_own(one) else one for one in lines)


def _title(path: str) -> str:
    return f"### {clean(path, 200)}"


def _heading(table: Table) -> str:
    return f"## {clean(table.title, 80)}: {table.size}" if table.title else table.size


def _reading(table: Table, *, fits: bool) -> str:
    return f"{READ_WITH} {table.read_with if fits else table.read_with.split('(', 1)[0] + '(…)'}"


READ_WITH = "read with:"
"""Before an expression that reads a table; whoever reads the profile runs it."""


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"[: max(limit, 0)]


def _within(lines: list[str], limit: int) -> str:
    """Join as many of the lines as fit."""
    text = ""
    for line in lines:
        grown = f"{text}\n{line}" if text else line
        if len(grown) > limit:
            return _cut(grown, limit) if len(text) < limit - 20 else text
        text = grown
    return text


def _tables(text: str, tables: list[Table], chars: int) -> str:
    for place, table in enumerate(tables):
        left = len(tables) - place
        room = chars - len(text) - 1
        if room < (90 if left > 1 else 20):
            names = ", ".join(other.title or "a table" for other in tables[place:])
            return text + ("\n" + _cut(f"{left} more not shown: {names}", room) if room > 30 else "")
        # A table that needs less leaves its share to those after it.
        share = room if left == 1 else max(room // left, min(room, 160))
        text += "\n" + _table(table, share)
    return text


def _table(table: Table, room: int) -> str:
    head = []
    if table.title or table.size:
        head.append(_heading(table))
    if table.read_with:
        # Half an expression is worse than none.
        fits = len(table.read_with) < max(0.6 * room, room - 200)
        head.append(_reading(table, fits=fits))
    head += [f"! {clean(remark, 240)}" for remark in table.remarks]
    if table.text:
        # Indented, so that no line of it is taken for one of the profile's own.
        return _within([*head, *(f"  {clean(line, TEXT_CHARS)}" for line in table.text)], room)
    text = _within(head, room)
    rows = _rows(table, room)
    # The two rows stand even when the columns want all the room.
    kept = min(len("\n".join(rows[:3])) + 1, (room - len(text)) // 3) if rows else 0
    columns = _columns(table, room - len(text) - 1 - kept)
    if columns:
        text += ("\n" if text else "") + columns
    for place, row in enumerate(rows):
        left = room - len(text) - 1
        if left < (60 if place == 0 else 24):
            break
        text += "\n" + _cut(row, left)
    return text


def _rows(table: Table, room: int) -> list[str]:
    if not table.rows:
        return []
    width = max(120, room // 10)
    note = f"{table.row_note}:"
    return [note, *(_cut(" | ".join(map(_example, row)), width) for row in table.rows[:EXAMPLES])]


EXAMPLES = 2
_LONG_FRACTION = re.compile(r"-?[0-9]+\.[0-9]{6,}")


def _example(cell: str) -> str:
    """A cell of an example row; 32.18000000000001 is a number that people write as 32.18."""
    return f"{float(cell):.6g}" if _LONG_FRACTION.fullmatch(cell) and abs(float(cell)) < 1e6 else clean(cell)


def _columns(table: Table, room: int) -> str:
    """The columns in the fullest form that fits: all in full, all in brief, the first in brief and the rest by name."""
    groups = _groups(table.columns)
    unseen = table.column_count - len(table.columns)
    more = f"… and {unseen:,} more columns not looked at" if unseen > 0 else ""
    # Numbers come first: what the figures of a column are cannot be told from its name.
    for numbers, others in ((0, 0), (0, 1), (1, 1), (2, 2)):
        lines = [_group_line(group, numbers if _family(group[0].kind) == "number" else others) for group in groups]
        lines += [more] if more else []
        if len(text := "\n".join(lines)) <= room:
            return text
    best = _names(groups, unseen, room)
    lines, used = [], 0
    for place, group in enumerate(groups[:-1], 1):
        used += len(line := _group_line(group, 2)) + 1
        if used > room:
            break
        lines.append(line)
        rest = _names(groups[place:], unseen, 10**9)
        if used + len(rest) <= room:
            best = "\n".join([*lines, rest])
    if "columns not shown" in best:
        best = _mixed(groups, unseen, room)
    return best


def _mixed(groups: list[list[Column]], unseen: int, room: int) -> str:
    """Too many columns even for their names: half of the room for the first in brief, half for names."""
    lines, used, place = [], 0, 0
    while place < len(groups) - 1:
        line = _group_line(groups[place], 2)
        if used + len(line) + 1 > room // 2:
            break
        lines.append(line)
        used += len(line) + 1
        place += 1
    return "\n".join([*lines, _names(groups[place:], unseen, room - used)])


def _names(groups: list[list[Column]], unseen: int, room: int) -> str:
    """Columns by name only, those of one kind together, and how many are not shown."""
    total = sum(len(group) for group in groups) + unseen
    kinds: dict[str, list[tuple[str, int]]] = {}
    for group in groups:
        kinds.setdefault(_family(group[0].kind), []).append((_run_name(group), len(group)))
    shown, parts, used = 0, [], 0
    reserve = 40
    share = max((room - reserve) // max(len(kinds), 1), 40)
    for kind, names in kinds.items():
        line = f"{kind}: "
        for place, (name, count) in enumerate(names):
            piece = (", " if place else "") + name
            if room < 10**9 and (len(line) + len(piece) > share or used + len(line) + len(piece) > room - reserve):
                break
            line += piece
            shown += count
        if line != f"{kind}: ":
            parts.append(line)
            used += len(line) + 1
    if shown < total:
        parts.append(f"… and {total - shown:,} more columns not shown")
    return _cut("\n".join(parts), max(room, 0))


def _groups(columns: list[Column]) -> list[list[Column]]:
    """Neighbours that are named alike but for a number, and are of one kind, in one group."""
    groups: list[list[Column]] = []
    last = None
    for column in columns:
        stem = re.sub(r"\d+$", "", column.name)
        key = (stem, _family(column.kind)) if stem != column.name else None
        if key is not None and key == last:
            groups[-1].append(column)
        else:
            groups.append([column])
        last = key
    return [part for group in groups for part in ([group] if len(group) >= RUN else [[column] for column in group])]


def _family(kind: str) -> str:
    word = kind.split(" ", 1)[0].rstrip(",")
    return "number" if word == "integer" else word


def _run_name(group: list[Column]) -> str:
    if len(group) == 1:
        return _name(group[0].name, LISTED_NAME_CHARS)
    return f"{_name(group[0].name, LISTED_NAME_CHARS)} … {_name(group[-1].name, LISTED_NAME_CHARS)}"


def _name(name: str, limit: int) -> str:
    text = clean(name, 1_000)
    return text if len(text) <= limit else f"{text[: limit - limit // 3 - 1]}…{text[-(limit // 3) :]}"


def _group_line(group: list[Column], level: int) -> str:
    if len(group) == 1:
        return _column_line(group[0], level)
    lows = [column.low for column in group if column.low is not None]
    highs = [column.high for column in group if column.high is not None]
    parts = [f"{len(group):,} columns", _family(group[0].kind)]
    if lows and highs:
        parts.append(f"{min(lows):.6g} … {max(highs):.6g}")
    if worst := max((column.missing / column.total for column in group if column.total), default=0):
        parts.append(f"up to {_percent(worst)} missing")
    return f"- {_run_name(group)}: " + ", ".join(parts)


def _column_line(column: Column, level: int) -> str:
    parts = [column.kind]
    if column.missing and column.missing < column.total:
        share = _percent(column.missing / column.total)
        parts.append(f"{column.missing:,} missing ({share})" if level == 0 else f"{share} missing")
    spread = column.spread if level == 0 else column.brief
    if spread:
        parts.append(spread)
    if level < 2 and column.distinct:
        parts.append(column.distinct)
    line = f"- {_name(column.name, NAME_CHARS)}: " + ", ".join(parts)
    if column.remarks:
        remarks = column.remarks if level == 0 else column.remarks[:1] if level == 1 else []
        line += "".join(f"; {remark}" for remark in remarks)
    return line


def _percent(share: float) -> str:
    if share < 0.001:
        return "<0.1%"
    return f"{100 * share:.1f}%" if share < 0.1 else f"{100 * share:.0f}%"
