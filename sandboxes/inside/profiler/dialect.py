"""How a delimited text is written: delimiter, quoting, lines above the header, and whether there is a header."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from .values import NUMERIC, classify

SPACES = r"\s+"
PRIORS = {
    "\t": 1.05,
    ";": 1.02,
    "|": 1.02,
    ",": 1.0,
    ":": 0.75,
    SPACES: 0.7,
    "\x01": 1.0,
    "\x1f": 1.0,
    "~": 0.8,
    "^": 0.8,
}
SNIFFED_ROWS = 200
LONGEST_FIELD = 16_000_000
# The limit of the csv module, 131,072 characters, is less than one document or picture in a field.
csv.field_size_limit(LONGEST_FIELD)
TITLE_ROWS = 40
"""At most so many lines above the header are taken for title or comments."""


@dataclass(frozen=True)
class Dialect:
    """How fields are told apart."""

    delimiter: str
    quotechar: str = '"'
    escaped: bool = False
    """Quotes inside of quotes have a backslash before them instead of being doubled."""
    unquoted: bool = False
    """Quotation marks mean nothing."""
    blank_after: bool = False
    """A blank stands after each delimiter and belongs to no field."""
    cuts: tuple[int, ...] = ()
    """Where the columns of a text of fixed widths begin; nothing else tells its fields apart."""

    def rows(self, lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
        """Give each row with the number of the line that it starts on (from 0); lines without text are left out.

        Raises:
            csv.Error: a field is beyond all bounds, because a quotation mark is never closed.
        """
        if self.cuts:
            ends: tuple[int | None, ...] = (*self.cuts[1:], None)
            for place, line in enumerate(lines):
                if line.strip():
                    yield place, [line[start:end].strip() for start, end in zip(self.cuts, ends, strict=True)]
            return
        spaces = self.delimiter == SPACES
        reader = csv.reader(
            (line.strip().replace("\t", " ") + "\n" for line in lines) if spaces else lines,
            delimiter=" " if spaces else self.delimiter,
            quotechar=self.quotechar,
            doublequote=not self.escaped,
            escapechar="\\" if self.escaped else None,
            quoting=csv.QUOTE_NONE if self.unquoted else csv.QUOTE_MINIMAL,
            skipinitialspace=spaces or self.blank_after,
        )
        start = 0
        for row in reader:
            if row:
                yield start, row
            start = reader.line_num


@dataclass(frozen=True)
class Layout:
    """Where the table begins."""

    width: int
    """Fields of a usual row."""
    first_line: int = 0
    """Lines above the header, or above the first row where there is no header."""
    has_header: bool = True


def sniff(lines: list[str], *, favourite: str = "") -> tuple[Dialect | None, float]:
    """Find the delimiter and the quoting that make the most regular table of some lines.

    Returns:
        The dialect and a score of about 0.3 (barely) to 1; None when no delimiter gives two columns.
    """
    text = "".join(lines)
    best: Dialect | None = None
    score = 0.0
    for delimiter, prior in PRIORS.items():
        if delimiter != SPACES and delimiter not in text:
            continue
        dialect = Dialect(delimiter)
        for variant in [dialect, *_variants(dialect, text)]:
            value = _score(variant, lines) * prior * (1.1 if delimiter == favourite else 1)
            # What is simpler stays unless something else is clearly better.
            if value > score * 1.005:
                best, score = variant, value
    if best is not None and best.delimiter != SPACES and _blank_after(best, lines):
        best = replace(best, blank_after=True)
    return best, score


def fixed_widths(lines: list[str]) -> Dialect | None:
    """Tell a table whose columns stand below each other, with blanks inside of values; None when it is none."""
    texts = [line.rstrip() for line in lines if line.strip()]
    if len(texts) < 5 or any("\t" in text for text in texts) or len({len(text.split()) for text in texts}) == 1:
        return None
    width = max(map(len, texts))
    filled = [False] * width
    for text in texts:
        for place, char in enumerate(text):
            filled[place] = filled[place] or char != " "
    cuts = tuple(place for place in range(width) if filled[place] and (place == 0 or not filled[place - 1]))
    if not 2 <= len(cuts) <= 60:
        return None
    dialect = Dialect(SPACES, cuts=cuts)
    header, *below = [row for _, row in dialect.rows(texts)]
    columns = list(zip(*below, strict=True))
    typed = [all(classify(cell) in NUMERIC for cell in column if cell) for column in columns]
    enough = sum(map(bool, (cell for row in below for cell in row))) > 0.8 * len(below) * len(cuts)
    return dialect if all(header) and any(typed) and enough else None


def _variants(best: Dialect, text: str) -> list[Dialect]:
    found = []
    if f'{best.delimiter} "' in text:
        found.append(replace(best, blank_after=True))
    if '"' in text and best.delimiter != SPACES:
        found.append(replace(best, unquoted=True))
        if '\\"' in text:
            found.append(replace(best, escaped=True))
    if text.count("'") >= 4 and (f"{best.delimiter}'" in text or f"'{best.delimiter}" in text):
        found.append(replace(best, quotechar="'"))
    return found


def _sample(dialect: Dialect, lines: list[str]) -> list[list[str]]:
    rows: list[list[str]] = []
    try:
        for _, row in dialect.rows(lines):
            rows.append(row)
            if len(rows) >= SNIFFED_ROWS:
                break
    except csv.Error:
        return rows
    return rows


def _score(dialect: Dialect, lines: list[str]) -> float:
    rows = _sample(dialect, lines)
    if not rows:
        return 0.0
    width = usual_width(rows)
    if width < 2:
        return 0.0
    first = next(place for place, row in enumerate(rows) if len(row) == width)
    body = rows[first:]
    regular = sum(len(row) == width for row in body) / len(body)
    cells = [cell for row in body[:60] for cell in row[:60]]
    filled = [cell for cell in cells if cell.strip()]
    if not filled:
        return 0.0
    typed = sum(classify(cell) not in ("text", "truth") for cell in filled) / len(filled)
    mark = dialect.quotechar if not dialect.unquoted else '"'
    stray = sum(_stray(cell, mark, dialect, width) for cell in cells) / len(cells)
    title = 0.93 ** min(first, 4)
    return regular**2 * (0.6 + 0.4 * typed) * (1 - 0.5 / width) * title * math.exp(-3 * stray)


def _stray(cell: str, mark: str, dialect: Dialect, width: int) -> float:
    """Signs that the quoting was taken wrongly: marks left at the ends of a field, or rows swallowed by one."""
    between = " " if dialect.delimiter == SPACES else dialect.delimiter
    if cell.count("\n") >= 2 and cell.count(between) >= 2 * (width - 1):
        return 5.0 * cell.count("\n")
    ends = cell[:1] == mark or cell[-1:] == mark or cell.endswith("\\")
    if ends or (dialect.delimiter == SPACES and cell[-1:] in (",", ";", "|")):
        return 1.0
    return 0.3 if len(cell) > 2 and cell[0] == cell[-1] == "'" else 0.0


def _blank_after(dialect: Dialect, lines: list[str]) -> bool:
    rows = [row for row in _sample(dialect, lines) if len(row) > 1]
    cells = [cell for row in rows for cell in row[1:]]
    # Blanks of differing widths line up columns; they are no part of the values either.
    return bool(cells) and sum(cell.startswith(" ") for cell in cells) > 0.9 * len(cells)


def usual_width(rows: list[list[str]]) -> int:
    """Give the number of fields that most rows have; rows that come later count more than titles."""
    counts: Counter[int] = Counter()
    for place, row in enumerate(rows):
        counts[len(row)] += 1 if place < min(3, len(rows) // 2) else 2
    return max(counts, key=lambda width: (counts[width], width)) if counts else 0


def detect_layout(rows: list[tuple[int, list[str]]]) -> Layout:
    """Find the header among the first rows: the first one as wide as the table and filled as a header is."""
    width = usual_width([row for _, row in rows])
    for place, (line, row) in enumerate(rows[:TITLE_ROWS]):
        below = [other for _, other in rows[place + 1 : place + 100] if len(other) >= width - 1]
        if not _fits(row, width, rows[place + 1 :]):
            continue
        # The header of an R table has no name for the row names.
        return Layout(len(row) if len(row) == width - 1 else width, line, has_header(row, below))
    return Layout(width)


def _fits(row: list[str], width: int, rest: list[tuple[int, list[str]]]) -> bool:
    filled = sum(1 for cell in row if cell.strip())
    comment = row[0].lstrip().startswith("#") and len(row) != width
    if width == 1:
        return not row[0].lstrip().startswith("#") or not rest
    if comment or len(row) < width - 1 or (len(row) == width - 1 and (width == 2 or filled < len(row))):
        return False
    # A title padded with delimiters has one cell filled where the rows below have many.
    fuller = sum(1 for _, other in rest[:20] if sum(1 for cell in other if cell.strip()) > max(2, filled + 1))
    return not (filled <= max(1, width // 4) and width > 2 and fuller > 0)


def has_header(row: list[str], below: list[list[str]]) -> bool:
    """Whether a row names the columns of the rows below it."""
    kinds = [classify(cell) for cell in row]
    if not below:
        return all(kind in ("text", "truth", "missing") for kind in kinds)
    evidence = 0
    for place, (cell, kind) in enumerate(zip(row, kinds, strict=True)):
        column = [other[place] for other in below if place < len(other) and other[place].strip()]
        if not column:
            continue
        typed = sum(_typed(value) for value in column) >= 0.8 * len(column)
        if kind == "text" and typed:
            evidence += 2
        elif kind == "text":
            evidence += -1 if column.count(cell) and len(column) > 2 else 0
        elif kind in NUMERIC or kind.startswith("date") or kind in ("comma", "dot number", "zeros", "long"):
            evidence -= (1 if _year(cell) else 2) if typed else 0
    if evidence:
        return evidence > 0 or _years(row)
    return any(kind == "text" for kind in kinds) or _years(row)


def _typed(value: str) -> bool:
    return classify(value) not in ("text", "truth")


def _year(cell: str) -> bool:
    return cell.strip().isdigit() and 1900 <= int(cell) <= 2100


def _years(row: list[str]) -> bool:
    """Whether a row is names and years, `country,2019,2020`: a header though it has numbers."""
    years = [int(cell) for cell in row if cell.strip().isdigit() and len(cell.strip()) == 4]
    steps = {after - before for before, after in pairwise(years)}
    rest = [cell for cell in row if not cell.strip().isdigit()]
    return len(years) >= 2 and steps in ({1}, {-1}) and all(classify(cell) in ("text", "missing") for cell in rest)
