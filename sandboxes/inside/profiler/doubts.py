"""What may mislead about a table that reads without an error: totals among its rows, codes for missing, mixed units."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, date, datetime, timedelta

from .findings import Column, clean, number_text
from .values import NUMBERS, classify

_TOTAL = re.compile(
    r"(?:grand |sub-?\s?|sous-)?totals?:?|totals? .{1,30}|.{1,40} (?:sub-?)?totals?:?|total général"
    r"|(?:gesamt|zwischen)?summe:?|gesamt|insgesamt|итого:?|всего:?|合计|总计|小计|合計|総計|小計|합계|총계|소계",
    re.IGNORECASE,
)
_CURRENCY = re.compile(r"US\$|R\$|[€$£¥￥₩₹₽฿₫₺元円원]|EUR|USD|GBP|JPY|CNY|RMB|CHF|KRW|INR|kr|zł|Kč")
_UNIT = re.compile(r"[+-]?[0-9][0-9.,]*\s?([A-Za-zµμ°²³/]{1,8})")
_EXPONENT_CODE = re.compile(r"[0-9]{1,4}[eE][0-9]{1,3}")
_MEASURED = re.compile(r".*[.].*|.*[eE][+-].*")
_PART = re.compile(r"[0-9]{1,3}\.[0-9]{1,3}")
_MARKS = tuple(float(digits) for digits in ("9" * count for count in range(2, 8)))
_ZONE = re.compile(r"(Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})$")
_OF_DAYS = re.compile(r"date|datum|fecha|day\b|дата|日期", re.IGNORECASE)
_OF_MOMENTS = re.compile(r"date|time|stamp|epoch|created|updated|modified|(?:^|[_\W])(?:at|ts)$", re.IGNORECASE)
MOST_ROWS = 100_000


def repetition(rows: Sequence[object], noun: str = "row", *, whole: bool = True) -> list[str]:
    """Say whether rows, or records, repeat; nothing of fewer than two.

    Args:
        rows: All, or a sample of them.
        noun: What one is called.
        whole: Whether these are all.
    """
    if len(rows) < 2:
        return []
    # As text, in which one NaN is like another and lists can be compared; of long records only the hash is kept.
    if twice := len(rows) - len({hash(repr(row)) for row in rows}):
        return [f"{twice:,} of the {len(rows):,} {noun}s looked at repeat another {noun}"]
    if whole:
        return [f"no {noun} repeats another"]
    return [f"none of the {len(rows):,} {noun}s looked at repeats another"]


def stand_ins(pairs: Sequence[tuple[float, int]]) -> str:
    """Name numbers such as -999 that stand far from all others and are often written for a missing value."""
    rest = dict(pairs)
    found: list[tuple[float, int]] = []
    while len(rest) > 2:
        low, high = min(rest), max(rest)
        others = [value for value in rest if value not in (low, high)]
        reach = max(others) - min(others)
        if -low in _MARKS and (min(others) - low > 2 * max(reach, 1) or (min(others) >= 0 and low < -90)):
            found.append((low, rest.pop(low)))
        elif high in _MARKS and high > 90 and high - max(others) > 2 * max(reach, 1):
            found.append((high, rest.pop(high)))
        else:
            break
    if not found:
        return ""
    marks = " and ".join(f"{number_text(value)} ({count:,})" for value, count in sorted(found))
    mean = sum(value * count for value, count in rest.items()) / sum(rest.values())
    without = f"without {'it' if len(found) == 1 else 'them'} {number_text(min(rest))} … {number_text(max(rest))}"
    return f"{marks} may stand for missing; {without}, mean {number_text(mean)}"


def mixed_marks(values: dict[str, int]) -> str:
    """Say when numbers of one column are written in several currencies, or only some of them as a percentage."""
    marks: Counter[str] = Counter()
    for value, count in values.items():
        if classify(value) in NUMBERS:
            found = _CURRENCY.search(value)
            marks[found[0] if found else "%" if value.strip().endswith(("%", "％")) else ""] += count
    money = [mark for mark in marks if mark not in ("", "%")]
    if len(money) > 1:
        return f"mixed currencies: {', '.join(f'{mark} ({marks[mark]:,})' for mark in money[:6])}; do not add them up"
    if marks["%"] and marks[""]:
        return f"{marks['%']:,} with % and {marks['']:,} without: 52% and 0.52 may mean the same"
    return ""


def units(values: dict[str, int]) -> Counter[str]:
    """Count the units behind the numbers of a column; empty when it does not hold numbers with units."""
    found: Counter[str] = Counter()
    for value, count in values.items():
        if match := _UNIT.fullmatch(value.strip()):
            found[match[1]] += count
    enough = found.total() >= 0.8 * sum(values.values()) and len(found) <= 12
    return found if enough and found.total() >= 3 else Counter()


def exponent_code(values: Collection[str]) -> str:
    """Give a value such as 1E5 that is likelier a code than a number; empty when there is none."""
    if any(_MEASURED.fullmatch(value) for value in values):
        return ""
    return next((value for value in values if _EXPONENT_CODE.fullmatch(value.strip())), "")


def version_pair(values: Collection[str]) -> tuple[str, str] | None:
    """Give two strings such as 1.1 and 1.10 that become one number."""
    seen: dict[float, str] = {}
    for value in values:
        if not _PART.fullmatch(text := value.strip()):
            continue
        other = seen.setdefault(float(text), text)
        if other != text and not text.endswith(".0") and not other.endswith(".0"):
            shorter, longer = sorted((other, text), key=len)
            return shorter, longer
    return None


def spellings(values: Collection[str]) -> str:
    """Name texts of one column that differ in nothing but case and blanks; empty when there are none."""
    alike: dict[str, list[str]] = {}
    for value in values:
        alike.setdefault(" ".join(value.split()).casefold(), []).append(value)
    pairs = [found for found in alike.values() if len(found) > 1]
    if not pairs:
        return ""
    shown = ", ".join(f'"{clean(value, 24)}"' for value in pairs[0][:3])
    more = f" and {len(pairs) - 1:,} more" if len(pairs) > 1 else ""
    return f"differ only in case or blanks: {shown}{more}"


def numbered_moments(name: str, low: float, high: float) -> str:
    """Say when whole numbers may be moments: by the column's name, and by what they would stand for."""
    if _OF_DAYS.search(name) and 20_000 <= low <= high < 60_000:
        first, last = (date(1899, 12, 30) + timedelta(days=int(value)) for value in (low, high))
        return f'may be day numbers of Excel: {first} … {last}; pd.to_datetime(…, unit="D", origin="1899-12-30")'
    for unit, factor in (("s", 1), ("ms", 1_000), ("us", 1_000_000), ("ns", 1_000_000_000)):
        if _OF_MOMENTS.search(name) and 9.4e8 * factor <= low <= high < 2.1e9 * factor:
            first, last = (datetime.fromtimestamp(value / factor, UTC) for value in (low, high))
            shown = f"{first:%Y-%m-%d} … {last:%Y-%m-%d}"
            return f'may be counted from 1970 in {unit}: {shown}; pd.to_datetime(…, unit="{unit}")'
    return ""


def offsets(values: dict[str, int]) -> str:
    """Say when moments of one column have different UTC offsets, or some have one and others none."""
    found: Counter[str] = Counter()
    for value, count in values.items():
        match = _ZONE.search(value.strip()) if ":" in value else None
        found[match[1] if match else "none"] += count
    if len(found) < 2:
        return ""
    shown = ", ".join(f"{zone} ({count:,})" for zone, count in found.most_common(4))
    return f"mixed UTC offsets: {shown}; pd.to_datetime(…, utc=True)"


def row_doubts(columns: Sequence[Column], rows: Sequence[Sequence[str]], gaps: Collection[int] = ()) -> list[str]:
    """Name rows that are no records: totals, headers of other tables, notes at the end.

    Args:
        columns: The table's columns.
        rows: Its rows, or a sample of them.
        gaps: Places of rows that come after blank lines, when the rows are all of the table's.
    """
    found: list[str] = []
    if text := _other_tables(rows, gaps):
        found.append(text)
    names = [column.name.strip() for column in columns]
    again = sum([cell.strip() for cell in row] == names for row in rows) if len(names) > 1 else 0
    if again:
        found.append("1 row repeats the header" if again == 1 else f"{again:,} rows repeat the header")
    if text := _totals(columns, rows[:MOST_ROWS]):
        found.append(text)
    if notes := _notes(rows):
        quoted = clean(next(cell for cell in rows[-notes] if cell.strip()), 60)
        found.append(f'the last {"row looks" if notes == 1 else f"{notes} rows look"} like a note: "{quoted}"')
    return found


def _filled(row: Sequence[str]) -> list[str]:
    return [cell for cell in row if cell.strip()]


def _other_tables(rows: Sequence[Sequence[str]], gaps: Collection[int]) -> str:
    starts = {place + 1 for place, row in enumerate(rows) if not _filled(row)} | set(gaps)
    heads: list[tuple[int, list[str]]] = []
    for start in sorted(starts):
        for place in range(start, min(start + 3, len(rows) - 1)):
            cells = _filled(rows[place])
            if len(cells) < 2:
                continue
            words = all(classify(cell) == "text" for cell in cells)
            if words and any(classify(cell) != "text" for cell in _filled(rows[place + 1])):
                heads.append((place, cells))
            break
    if not heads:
        return ""
    place, cells = heads[0]
    more = f", and {len(heads) - 1} more below it" if len(heads) > 1 else ""
    return (
        f"holds {len(heads) + 1} tables, not one: after a blank row another begins at row {place + 1} "
        f'("{clean(" | ".join(cells), 60)}"){more}; read each apart (skiprows=, nrows=)'
    )


def _totals(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    counted = 0
    named: list[str] = []
    if not any(column.low is not None for column in columns):
        return ""
    for place, column in enumerate(columns[:20]):
        if column.kind in ("integer", "number", "boolean", "empty") or column.kind.startswith("date"):
            continue
        cells = Counter(row[place] for row in rows if place < len(row))
        hits = {cell: count for cell, count in cells.items() if len(cell) < 60 and _TOTAL.fullmatch(cell.strip())}
        counted += sum(hits.values())
        named += [cell for cell in hits if cell not in named]
    if not counted:
        return ""
    shown = ", ".join(f'"{clean(name, 30)}"' for name in named[:3])
    what = "1 row looks like a total" if counted == 1 else f"{counted:,} rows look like totals"
    return f"{what}: {shown}; the figures below include {'it' if counted == 1 else 'them'}"


def _notes(rows: Sequence[Sequence[str]]) -> int:
    """Rows at the end that hold one text where the others hold several values."""
    if len(rows) < 4 or sum(len(_filled(row)) > 1 for row in rows[:50]) < 0.8 * len(rows[:50]):
        return 0
    count = 0
    for row in reversed(rows[-5:]):
        cells = _filled(row)
        if cells and (len(cells) > 1 or len(cells[0].strip()) < 8 or classify(cells[0]) != "text"):
            break
        count += 1
    while count and not _filled(rows[-count]):
        count -= 1
    return count


def headed(rows: Iterable[Sequence[object]]) -> bool:
    """Whether the first of some rows names what stands below it: all text where the others hold numbers."""
    first, *rest = [list(row) for row in rows] or [[]]
    texts = len(first) > 1 and all(isinstance(cell, str) and cell.strip() for cell in first)
    numbers = (isinstance(cell, int | float) for row in rest[:20] for cell in row)
    return texts and any(numbers)
