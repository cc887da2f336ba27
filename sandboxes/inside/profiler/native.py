"""Describe one column from typed values: what spreadsheets, Parquet, JSON and databases hold."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal

from .columns import Conventions, conventions, describe_strings, quoted, spread
from .findings import Column, clean


def describe_values(name: str, values: Sequence[object], *, whole: bool = True, kind: str = "") -> Column:
    """Describe a column of Python values.

    Args:
        name: The column's name.
        values: The values; None and NaN are missing.
        whole: Whether these are all values, not a sample.
        kind: The type that the file states, shown when the values do not say more.
    """
    real = [value for value in values if not _missing(value)]
    column = Column(name, kind or "empty", len(values) - len(real), len(values))
    if not real:
        return column
    groups = Counter(_group(value) for value in real)
    most = groups.most_common(1)[0][0]
    if len(groups) > 1:
        return _mixed(column, real, groups, whole=whole)
    if most == "text":
        return _text(column, [str(value) for value in real], whole=whole)
    if most == "number":
        _number(column, real, kind)
    elif most == "date":
        _date(column, real)
    elif most == "boolean":
        column.kind = "boolean"
        counts = Counter(str(value) for value in real)
        column.spread = ", ".join(f"{value} {count:,}" for value, count in counts.most_common())
        column.brief = "/".join(counts)
    else:
        column.kind = kind or most
        column.spread = f"such as {clean(real[0], 60)}"
    if most in ("number", "date"):
        distinct = len({str(value) for value in real})
        column.distinct = f"{distinct:,} distinct" if whole else f"≥ {distinct:,} distinct"
    return column


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _group(value: object) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float | Decimal):
        return "number"
    if isinstance(value, dt.date):
        return "date"
    if isinstance(value, dt.time | dt.timedelta):
        return "time"
    if isinstance(value, str):
        return "text"
    if isinstance(value, bytes | bytearray | memoryview):
        return "bytes"
    return "list" if isinstance(value, list | tuple) else "object" if isinstance(value, dict) else type(value).__name__


def _mixed(column: Column, real: list[object], groups: Counter[str], *, whole: bool) -> Column:
    most, often = groups.most_common(1)[0]
    if most == "number":
        _number(column, [value for value in real if _group(value) == "number"], "")
    elif most == "date":
        _date(column, [value for value in real if _group(value) == "date"])
    elif most == "text":
        _text(column, [str(value) for value in real if _group(value) == "text"], whole=whole)
    column.kind = "mixed"
    others = Counter(clean(value) for value in real if _group(value) != most)
    shown = ", ".join(f"{quoted(value)} ({count:,})" for value, count in others.most_common(3))
    column.remarks.insert(0, f"{often:,} of type {most}, but also {shown}")
    return column


def _number(column: Column, real: Sequence[object], kind: str) -> None:
    numbers = Counter(float(value) for value in real if isinstance(value, int | float | Decimal))
    spread(list(numbers.items()), column)
    column.kind = kind or ("integer" if all(isinstance(value, int) for value in real) else "number")


def _date(column: Column, real: Sequence[object]) -> None:
    moments = [value if isinstance(value, dt.datetime) else dt.datetime.combine(value, dt.time())
               for value in real if isinstance(value, dt.date)]  # fmt: skip
    zoned = any(moment.tzinfo for moment in moments)
    bare = [moment.replace(tzinfo=None) for moment in moments]
    day = all(moment.time() == dt.time() for moment in bare)
    column.kind = "date" if day else "datetime with time zone" if zoned else "datetime"
    texts = [str(moment.date() if day else moment) for moment in (min(bare), max(bare))]
    column.spread = column.brief = f"{texts[0]} … {texts[1]}"


def _text(column: Column, real: list[str], *, whole: bool) -> Column:
    counter = Counter(value[:200] for value in real)
    style = conventions([counter])
    found, _ = describe_strings(column.name, counter, style=style, whole=whole)
    if found.kind in ("integer", "number"):
        found.kind, example = f"{found.kind} as text", next(iter(counter))
        mark = ", decimal comma" if style.decimal == "," else ""
        found.remarks.insert(0, f"numbers stored as text such as {quoted(example)}{mark}")
    elif found.kind.startswith("date"):
        found.remarks.insert(0, "stored as text")
    found.missing += column.missing
    found.total = column.total
    return found


__all__ = ["Conventions", "describe_values"]
