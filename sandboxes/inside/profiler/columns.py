"""Describe one column from the strings in it: its type, range, top values and blemishes, and how to read it."""

from __future__ import annotations

import datetime as dt
import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from itertools import accumulate

from .doubts import exponent_code, mixed_marks, numbered_moments, offsets, spellings, stand_ins, units, version_pair
from .findings import Column, clean, number_text
from .values import MISSING, NUMBERS, classify, to_float


@dataclass(frozen=True)
class Conventions:
    """How a file writes its numbers."""

    decimal: str = "."
    thousands: str = ""
    guessed: bool = False
    """Whether no value tells, so that it may be the other way round."""

    @property
    def accepted(self) -> frozenset[str]:
        """The classes of strings that are read as numbers under these conventions."""
        names = {"integer", "number", "dot number"}
        if self.decimal == ",":
            names = {"integer", "comma", "ambiguous comma"}
            if self.thousands == ".":
                names |= {"dot number", "dot grouped"}
        elif self.thousands == ",":
            names |= {"ambiguous comma", "grouped"}
        return frozenset(names)


@dataclass
class ReaderHints:
    """What a reader has to be told about a column so that it comes out right."""

    as_text: bool = False
    """Numbers would spoil it: leading zeros, too many digits, dates that look like grouped numbers."""
    missing: list[str] = field(default_factory=list)
    """Strings that stand for a missing number."""
    iso_date: bool = False
    mixed: bool = False


def conventions(columns: Iterable[Counter[str]], *, delimiter: str = "") -> Conventions:
    """Tell decimal mark and thousands separator from all columns of a file together.

    Args:
        columns: The values of each column with how often each occurs.
        delimiter: What stands between fields: a semicolon speaks for decimal commas where no value tells.
    """
    for_comma = for_dot = False
    dotted = grouped = open_commas = False
    for counter in columns:
        classes = _classes(counter)
        real = sum(classes.values()) - classes["missing"] - classes["placeholder"]
        if not real or sum(count for name, count in classes.items() if name in NUMBERS) < 0.95 * real:
            continue
        if classes["number"] or classes["grouped"]:
            for_dot = True
        elif classes["comma"] or classes["dot grouped"]:
            for_comma = True
        elif classes["ambiguous comma"]:
            open_commas = True
        dotted |= bool(classes["dot grouped"] or classes["dot number"])
        grouped |= bool(classes["grouped"] or (classes["ambiguous comma"] and not classes["comma"]))
    if for_comma and not for_dot:
        return Conventions(",", "." if dotted else "")
    if delimiter == ";" and open_commas and not for_dot:
        return Conventions(",", "." if dotted else "", guessed=True)
    if grouped and not for_comma and (for_dot or open_commas):
        return Conventions(".", ",")
    return Conventions()


def _classes(counter: Counter[str]) -> Counter[str]:
    classes: Counter[str] = Counter()
    for value, count in counter.items():
        classes[classify(value)] += count
    return classes


def describe_strings(
    name: str, counter: Counter[str], *, style: Conventions | None = None, whole: bool = True
) -> tuple[Column, ReaderHints]:
    """Describe a column of strings.

    Args:
        name: The column's name.
        counter: Its values with how often each occurs; short rows count as an empty string.
        style: How the file writes its numbers.
        whole: Whether these are all values, not a sample.
    """
    style = style or Conventions()
    classes = _classes(counter)
    total = counter.total()
    missing, odd = classes.pop("missing", 0), classes.pop("placeholder", 0)
    real = total - missing - odd
    column, reading = Column(name, "text", missing, total), ReaderHints()
    values = {value: count for value, count in counter.items() if classify(value) not in ("missing", "placeholder")}
    accepted = style.accepted
    numbers = sum(count for label, count in classes.items() if label in accepted)
    dressed = sum(count for label, count in classes.items() if label in NUMBERS)
    dates = sum(count for label, count in classes.items() if label.startswith("date"))
    if not real:
        column.kind = "empty"
    elif (classes["zeros"] or classes["long"]) and classes["zeros"] + classes["long"] + classes["integer"] == real:
        _codes(column, reading, values, classes, whole=whole)
    elif numbers == real and (code := exponent_code(values)):
        reading.as_text = True
        column.kind = "text (codes)"
        column.brief = column.spread = f"such as {quoted(code)}"
        column.distinct = _distinct(len(values), whole=whole)
        column.remarks.append(f"{quoted(code)} would be read as a number; read as text (dtype) it stays as it is")
    elif numbers == real:
        _numbers(column, values, style)
        _doubtful_numbers(column, values, style)
        column.distinct = _distinct(len(values), whole=whole)
    elif dressed >= 0.8 * real:
        _formatted_numbers(column, reading, values, style, whole=whole)
    elif dates >= 0.8 * real:
        _dates(column, reading, values, classes, whole=whole)
    elif classes["truth"] == real and len({value.strip().lower() for value in values}) <= 2:
        column.kind = "boolean"
        _top(column, Counter(values))
    else:
        only = next(iter(classes)) if len([1 for count in classes.values() if count]) == 1 else "text"
        _texts(column, Counter(values), only if only in ("time", "month") else "", whole=whole)
        if measured := units(values):
            shown = ", ".join(f"{unit} ({count:,})" for unit, count in measured.most_common(5))
            column.remarks.append(f"numbers with {'mixed units' if len(measured) > 1 else 'a unit'}: {shown}")
        if doubt := spellings(values):
            column.remarks.append(doubt)
    _placeholders(column, reading, counter, odd, is_number=column.kind in ("integer", "number"))
    if any(value != value.strip() for value in values):
        column.remarks.append("leading or trailing blanks")
    _guard(reading, counter, style, is_number=numbers == real > 0 and not reading.as_text)
    return column, reading


def _distinct(count: int, *, whole: bool) -> str:
    return f"{count:,} distinct" if whole else f"≥ {count:,} distinct"


def _numbers(column: Column, values: dict[str, int], style: Conventions) -> None:
    whole = not any(style.decimal in value or value.strip("+- ")[-1:].isalpha() for value in values)
    whole = whole and not any("e" in value.lower() for value in values)
    column.kind = "integer" if whole else "number"
    pairs = [(to_float(value, comma=style.decimal == ","), count) for value, count in values.items()]
    spread([(number, count) for number, count in pairs if number is not None], column)
    days = whole and 19000101 <= (column.low or 0) <= (column.high or 0) < 21000101
    if days and all(_strptime(value.strip(), "%Y%m%d") for value in list(values)[:200]):
        column.remarks.append("looks like dates, %Y%m%d")
    elif whole and (doubt := numbered_moments(column.name, column.low or 0, column.high or 0)):
        column.remarks.append(doubt)


def spread(pairs: list[tuple[float, int]], column: Column) -> None:
    """Fill in the range and mean from numbers with their counts."""
    if not pairs:
        return
    column.low, column.high = min(pairs)[0], max(pairs)[0]
    if doubt := stand_ins(pairs):
        column.remarks.append(doubt)
    low, high = number_text(column.low), number_text(column.high)
    column.brief = low if low == high else f"{low} … {high}"
    total = sum(count for _, count in pairs)
    if low == high:
        column.spread = f"always {low}"
        return
    if len(pairs) <= FEW and total >= 4 * len(pairs) and all(value == int(value) for value, _ in pairs):
        column.spread = "values " + ", ".join(f"{number_text(value)} ({count:,})" for value, count in sorted(pairs))
        return
    parts = [f"mean {short(_mean(pairs))}", f"median {short(_median(pairs))}", f"sd {short(_deviation(pairs))}"]
    zeros = sum(count for value, count in pairs if value == 0)
    negative = sum(count for value, count in pairs if value < 0)
    parts += [f"{count:,} {word}" for count, word in ((zeros, "zero"), (negative, "negative")) if 0 < count < total]
    column.spread = f"{column.brief} ({', '.join(parts)})"


FEW = 8
"""Whole numbers of at most so many values are shown with how often each occurs."""


def short(value: float) -> str:
    """Write a number that was computed as people would: four digits of a fraction, none of a large number."""
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:.0f}"


def _mean(pairs: Sequence[tuple[float, int]]) -> float:
    return sum(number * count for number, count in pairs) / sum(count for _, count in pairs)


def _median(pairs: Sequence[tuple[float, int]]) -> float:
    ordered = sorted(pairs)
    ends = list(accumulate(count for _, count in ordered))
    total = ends[-1]
    middle = (ordered[bisect_right(ends, (total - 1) // 2)][0], ordered[bisect_right(ends, total // 2)][0])
    return sum(middle) / 2


def _deviation(pairs: Sequence[tuple[float, int]]) -> float:
    """The standard deviation of a sample, as pandas gives it."""
    mean, total = _mean(pairs), sum(count for _, count in pairs)
    return math.sqrt(sum(count * (number - mean) ** 2 for number, count in pairs) / max(total - 1, 1))


def _doubtful_numbers(column: Column, values: dict[str, int], style: Conventions) -> None:
    if column.kind == "number" and style.decimal == "." and (pair := version_pair(values)):
        column.remarks.append(
            f"{quoted(pair[0])} and {quoted(pair[1])} become one number; if these are versions, read as text (dtype)"
        )
    if style.guessed and any(classify(value) == "ambiguous comma" for value in values):
        example = next(value for value in values if classify(value) == "ambiguous comma")
        column.remarks.append(
            f"no value tells whether {quoted(example)} has a decimal comma (taken here, for the delimiter is ;)"
            ' or groups thousands (then thousands=",")'
        )


def _codes(column: Column, reading: ReaderHints, values: dict[str, int], classes: Counter[str], *, whole: bool) -> None:
    reading.as_text = True
    column.kind = "text (digits with leading zeros)" if classes["zeros"] else "text (digits, too many for a number)"
    ordered = sorted(values)
    column.brief = f"{quoted(ordered[0])} … {quoted(ordered[-1])}"
    column.spread = column.brief
    column.distinct = _distinct(len(values), whole=whole)


def _formatted_numbers(
    column: Column, reading: ReaderHints, values: dict[str, int], style: Conventions, *, whole: bool
) -> None:
    """Numbers, but not all as a reader takes them: with units, grouped, or with words among them."""
    comma = style.decimal == "," or any(classify(value) == "comma" for value in values)
    good = [(number, count) for value, count in values.items()
            if classify(value) in NUMBERS and (number := to_float(value, comma=comma)) is not None]  # fmt: skip
    spread(good, column)
    column.distinct = _distinct(len(values), whole=whole)
    strange = Counter({value: count for value, count in values.items() if classify(value) not in style.accepted})
    written = [value for value in strange if classify(value) in NUMBERS]
    other = [value for value in strange if classify(value) not in NUMBERS]
    column.kind = "mixed" if other else "number as text"
    reading.mixed = bool(other)
    if doubt := mixed_marks(values):
        # A mean over different units says nothing.
        column.spread = column.brief
        column.remarks.append(doubt)
    if written:
        minus = next((value for value in written if classify(value) == "trailing minus"), "")
        column.remarks.append(
            f"numbers stored as text such as {quoted(minus or written[0])}{' (negative)' * bool(minus)}"
        )
    if other:
        column.remarks.append(
            f"mostly numbers, but also {_listed(Counter({value: strange[value] for value in other}))}"
        )


def _listed(values: Counter[str]) -> str:
    """The three most frequent values, how many others there are, and whether all are numbers or dates in writing."""
    often = values.most_common(3)
    shown = ", ".join(f"{quoted(value)} ({count:,})" for value, count in often)
    if more := sum(values.values()) - sum(count for _, count in often):
        shown += f" and {more:,} more"
    labels = [classify(value) for value in values]
    if all(label in NUMBERS for label in labels):
        return f"{shown}, all of them numbers written as text"
    if all(label.startswith("date") for label in labels):
        return f"{shown}, all of them dates written as text"
    return shown


def _dates(column: Column, reading: ReaderHints, values: dict[str, int], classes: Counter[str], *, whole: bool) -> None:
    stated = Counter({label[5:]: count for label, count in classes.items() if label.startswith("date") and count})
    forms = _settle(stated)
    others = [value for value in values if not classify(value).startswith("date")]
    form = forms.most_common(1)[0][0]
    column.distinct = _distinct(len(values), whole=whole)
    column.kind = f"date ({form})" if len(forms) == 1 else "date (mixed formats)"
    moments: list[datetime] = []
    wrong: list[str] = []
    for value in list(values)[:20_000]:
        if classify(value).startswith("date"):
            found = next((found for known in forms if (found := _strptime(value.strip(), known))), None)
            if found:
                moments.append(found.replace(tzinfo=None))
            else:
                wrong.append(value)
    if doubt := offsets(values) if any("%z" in known for known in forms) else "":
        column.remarks.append(doubt)
    if moments and "%y" in form and max(moments) > datetime.now():  # noqa: DTZ005  these moments have no zone either
        column.remarks.append("years of two digits, some taken as in the future: the century is a guess")
    if moments:
        column.brief = column.spread = f"{_moment(min(moments))} … {_moment(max(moments))}"
    if len(forms) > 1:
        column.remarks.append(
            "mixed date formats " + ", ".join(f"{known} ({count:,})" for known, count in forms.most_common(4))
        )
    if wrong:
        column.remarks.append(f"not real dates: {', '.join(map(quoted, wrong[:3]))}")
    if others:
        column.remarks.append(f"also {', '.join(map(quoted, others[:3]))}")
    if all(form.startswith(("slash", "short_slash", "dash")) for form in stated):
        column.remarks.append("no value tells whether the day or the month comes first")
    iso = form in ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M")
    reading.iso_date = iso and len(forms) == 1 and not wrong and not others
    reading.mixed = bool(others)


def _settle(forms: Counter[str]) -> Counter[str]:
    """Put dates that could be read either way with those that could not."""
    settled: Counter[str] = Counter()
    for form, count in forms.items():
        match = re.match("slash|short_slash|dash", form)
        if not match:
            settled[form] += count
            continue
        mark, year = ("-" if match[0] == "dash" else "/"), ("%y" if match[0].startswith("short") else "%Y")
        rest = form[match.end() :]
        day_first, month_first = f"%d{mark}%m{mark}{year}{rest}", f"%m{mark}%d{mark}{year}{rest}"
        settled[day_first if day_first in forms and month_first not in forms else month_first] += count
    return settled


def _strptime(text: str, form: str) -> datetime | None:
    # Nanoseconds are cut: Python knows six digits.
    text = re.sub(r"([.,][0-9]{6})[0-9]+", r"\1", text) if "%f" in form else text
    if form.endswith("%z"):
        text = re.sub(r"\s?(?:GMT|UTC)([+-])([0-9])$", r"\g<1>0\g<2>00", text)
        text = re.sub(r"\s?(?:GMT|UTC)([+-][0-9]{2})$", r"\g<1>00", text)
        text = re.sub(r"\s?(?:GMT|UTC)(?=[+-])", "", text)
        text = re.sub(r"\s?UTC$", "+0000", text)
        text = re.sub(r"\s([+-][0-9:]+)$", r"\1", text)
    try:
        return datetime.strptime(text, form)  # noqa: DTZ007
    except ValueError:
        return None


def _moment(moment: datetime) -> str:
    text = moment.isoformat(" ")
    return text.removesuffix(" 00:00:00")


def _texts(column: Column, values: Counter[str], kind: str, *, whole: bool) -> None:
    real = values.total()
    if kind:
        column.kind = kind
        low, high = (min(values, key=_clock), max(values, key=_clock)) if kind == "time" else (min(values), max(values))
        if kind == "time" and _clock(high) >= 24 * 3600:
            column.kind = "duration"
            column.remarks.append("beyond 24 hours: pd.to_timedelta reads it, a time of day cannot hold it")
        column.brief = column.spread = f"{quoted(low)} … {quoted(high)}"
        column.distinct = _distinct(len(values), whole=whole)
    elif len(values) <= 2 or (len(values) <= 30 and len(values) * 2 < real) or len(values) * 20 < min(real, 4_000):
        column.kind = "category"
        _top(column, values)
        column.distinct = f"{len(values)} distinct"
    else:
        column.distinct = _distinct(len(values), whole=whole)
        top = values.most_common(3)
        if top[0][1] > 1 and top[0][1] > 0.01 * real:
            column.spread = "most often " + ", ".join(f"{quoted(value)} {count:,}" for value, count in top)
        else:
            column.spread = "such as " + ", ".join(quoted(value, 24) for value, _ in top)
        column.brief = f"such as {quoted(top[0][0], 20)}"
        if (longest := max(map(len, values))) >= 100:
            column.remarks.append(f"long: {longest:,}{' or more' if longest >= 200 else ''} characters")


def _clock(text: str) -> float:
    """Seconds of `1:30`, hours and minutes, or `1:30:15`, so that 10:00 comes after 9:00."""
    parts = [float(part) for part in text.strip().split(":")]
    return sum(part * (3600.0, 60.0, 1.0)[place] for place, part in enumerate(parts))


def _top(column: Column, values: Counter[str]) -> None:
    top = values.most_common(6)
    column.spread = ", ".join(f"{quoted(value, 24)} {count:,}" for value, count in top)
    column.brief = "/".join(clean(value, 12) for value, _ in top[:3]) + ("/…" if len(values) > 3 else "")


def _placeholders(column: Column, reading: ReaderHints, counter: Counter[str], odd: int, *, is_number: bool) -> None:
    if odd:
        found = [value for value in counter if classify(value) == "placeholder"]
        if is_number or column.kind == "empty":
            column.missing += odd
            reading.missing = sorted(found)[:8]
            reading.mixed = len(found) > 8
        marks = ", ".join(map(quoted, found[:4]))
        kept = "" if reading.missing else " besides, which pandas reads as text"
        column.remarks.append(f"{marks} for missing ({odd:,}){kept}")
    eaten = [value for value in ("None", "NA", "null", "NULL") if counter[value]]
    if eaten and column.kind in ("text", "category", "boolean"):
        shown = ", ".join(quoted(value) for value in eaten)
        column.remarks.append(f"{shown} is read as missing; keep_default_na=False keeps it")


def _guard(reading: ReaderHints, counter: Counter[str], style: Conventions, *, is_number: bool) -> None:
    """Keep what only looks like grouped numbers (dates, addresses, versions) from being read as numbers."""
    if style.thousands and not is_number:
        shape = re.compile(
            rf"[+-]?[0-9]+(?:{re.escape(style.thousands)}[0-9]*)+(?:{re.escape(style.decimal)}[0-9]*)?\s*"
        )
        if any(shape.fullmatch(value.strip()) for value in counter if value not in MISSING):
            reading.as_text = True


def quoted(value: object, limit: int = 40) -> str:
    """Show a value in quotation marks."""
    return f'"{clean(value, limit)}"'


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
    column.remarks.insert(0, f"{often:,} of type {most}, but also {_listed(others)}")
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
