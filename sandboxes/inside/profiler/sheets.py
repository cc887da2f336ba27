"""Find the table in a sheet: where it begins, what its columns are called, and how pandas gets the same."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from .delimited import row_blemishes
from .dialect import has_header
from .findings import Table, clean, count_text, literal
from .native import describe_values
from .readers import column_names
from .values import NUMBERS, classify

CELLS = 300_000
HEAD_ROWS = 60
COLUMNS = 2_000


@dataclass
class Sheet:
    """The cells of a sheet: its first rows, and an even sample of all."""

    name: str
    hidden: bool = False
    head: list[list[object]] = field(default_factory=list)
    sample: list[tuple[int, list[object]]] = field(default_factory=list)
    """Rows with their places, from 0; rows without any cell are left out."""
    read: int = 0
    last: int = -1
    """The place of the last row that holds anything."""
    finished: bool = False
    stated: int = 0
    """Rows that the file says the sheet has, when not all were read."""
    remarks: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)
    """Merged ranges, such as `B1:C1`."""
    engine: str = ""
    """The engine that pandas has to be told, where it does not find out itself."""
    _step: int = 1
    _kept_cells: int = 0

    def add(self, row: Sequence[object]) -> None:
        """Take in the next row."""
        values = [_plain(value) for value in row]
        while values and values[-1] is None:
            values.pop()
        if len(self.head) < HEAD_ROWS:
            self.head.append(values)
        if values:
            self.last = self.read
            if self.read % self._step == 0:
                self.sample.append((self.read, values))
                self._kept_cells += len(values)
                if self._kept_cells > CELLS:
                    self.sample = self.sample[::2]
                    self._kept_cells = sum(len(kept) for _, kept in self.sample)
                    self._step *= 2
        self.read += 1

    @property
    def even(self) -> bool:
        """Whether the sample is all rows that were read."""
        return self._step == 1


def _plain(value: object) -> object:
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    return value


def sheet_table(sheet: Sheet, path: str) -> Table:
    """Describe a sheet as a table."""
    table = Table(f'sheet "{sheet.name}"{" (hidden)" if sheet.hidden else ""}', remarks=list(sheet.remarks))
    if not sheet.sample:
        table.size = "empty"
        return table
    left = min(next(place for place, value in enumerate(row) if value is not None) for _, row in sheet.sample)
    width = max(len(row) for _, row in sheet.sample) - left
    start = _start(sheet, left, width)
    header, below = (
        _texts(sheet.head[start], left, width),
        [_texts(row, left, width) for row in sheet.head[start + 1 :]],
    )
    named = has_header(header, [row for row in below if any(row)])
    double = named and _spans(sheet, start) and not any(_typed(cell) for cell in below[0] if cell)
    names = _names(header, below[0] if double else None, left) if named else column_names(None, width)
    first = start + (2 if double else 1 if named else 0)
    body = [(place, row) for place, row in sheet.sample if place >= first]
    total = max((sheet.last if sheet.finished else max(sheet.stated - 1, sheet.last)) - first + 1, 0)
    certainty = "exact" if sheet.finished else "as the file states" if sheet.stated > sheet.read else "or more"
    table.size = f"{count_text(total, 'row')} ({certainty}) x {count_text(width, 'column')}"
    if not sheet.finished or not sheet.even:
        where = "" if sheet.finished else f" of the first {sheet.read:,}"
        table.size += f", statistics from a sample of {len(body):,} rows{where}"
    header_rows = [start, start + 1] if double else [start] if named else []
    table.read_with = _read_excel(sheet, path, start, left, width, header_rows)
    if double:
        table.remarks.append("the header is two rows: the names are pairs (a MultiIndex)")
    _above(table, sheet, start, left)
    _describe(table, names, body, left, whole=sheet.finished and sheet.even)
    table.column_count = width
    table.rows = [_texts(row, left, width) for row in sheet.head[first:] if row][:5]
    return table


def _names(header: list[str], second: list[str] | None, left: int) -> list[str | int]:
    """Names as pandas gives them, which counts columns from the sheet's first; two rows of them joined."""
    if second is not None:
        above, joined = "", []
        for top, name in zip(header, second, strict=True):
            above = top or above
            joined.append(f"{above} / {name}" if name else above)
        return list(joined)
    padded = column_names(["x"] * left + header, left + len(header))[left:]
    return [f"Unnamed: {left + place}" if not header[place] else name for place, name in enumerate(padded)]


def _spans(sheet: Sheet, row: int) -> bool:
    """Whether a merged range lies in one row and spans columns, as a heading over several columns does."""
    number = str(row + 1)
    for merged in sheet.merged:
        match = re.fullmatch(r"([A-Z]+)([0-9]+):([A-Z]+)([0-9]+)", merged)
        if match and match[2] == match[4] == number and match[1] != match[3]:
            return True
    return False


def _typed(text: str) -> bool:
    return classify(text) in NUMBERS or classify(text).startswith("date")


def _start(sheet: Sheet, left: int, width: int) -> int:
    """The row that the table begins with: the first that is filled about as well as those below it."""
    filled = [sum(value is not None for value in row[left:]) for row in sheet.head]
    for place, count in enumerate(filled):
        if not count:
            continue
        below = sorted(other for other in filled[place + 1 : place + 40] if other)
        usual = below[len(below) // 2] if below else count
        if count >= 0.6 * usual or (count >= 0.4 * width and count > 2):
            titled = width > 1 and count == 1 and usual > 1
            if not titled:
                return place
    return next((place for place, count in enumerate(filled) if count), 0)


def _texts(row: Sequence[object], left: int, width: int) -> list[str]:
    cells = list(row[left : left + width])
    return [_text(value) for value in [*cells, *[None] * (width - len(cells))]]


def _text(value: object) -> str:
    if isinstance(value, dt.datetime):
        return value.isoformat(" ").removesuffix(" 00:00:00")
    return "" if value is None else str(value)


def _read_excel(sheet: Sheet, path: str, start: int, left: int, width: int, header: list[int]) -> str:
    arguments = [literal(path), f"sheet_name={literal(sheet.name)}"]
    if sheet.engine:
        arguments.append(f"engine={literal(sheet.engine)}")
    if not header:
        arguments.append("header=None")
        if start:
            arguments.append(f"skiprows={start}")
    elif len(header) > 1:
        arguments.append(f"header={header}")
    elif start:
        arguments.append(f"header={start}")
    if left:
        arguments.append(f'usecols="{letters(left)}:{letters(left + width - 1)}"')
    return f"pd.read_excel({', '.join(arguments)})"


def letters(place: int) -> str:
    """Name a column as spreadsheets do: `A` for 0, `AA` for 26."""
    name = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        name = chr(65 + rest) + name
    return name


def _above(table: Table, sheet: Sheet, start: int, left: int) -> None:
    words = [_text(value) for row in sheet.head[:start] for value in row[left:] if value is not None]
    if words:
        table.remarks.append(f"above the table: {clean(' / '.join(words), 120)}")


def _describe(
    table: Table, names: Sequence[str | int], body: list[tuple[int, list[object]]], left: int, *, whole: bool
) -> None:
    rows = [row[left : left + COLUMNS] for _, row in body]
    columns = list(zip_longest(*rows, fillvalue=None)) if rows else []
    for place, name in enumerate(names[:COLUMNS]):
        values = columns[place] if place < len(columns) else (None,) * len(rows)
        table.columns.append(describe_values(str(name), values, whole=whole))
    if not rows:
        table.remarks.append("the table is empty: a header and no rows")
    else:
        table.remarks += row_blemishes(table.columns, [[_text(value) for value in row] for row in rows])
