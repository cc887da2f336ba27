"""Describe delimited text: CSV, TSV and their relatives, with any delimiter, encoding and number style."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from .columns import Conventions, ReaderHints, conventions, describe_strings
from .detection import Encoding
from .dialect import (
    LONGEST_FIELD,
    PRIORS,
    SPACES,
    TITLE_ROWS,
    Dialect,
    Layout,
    detect_layout,
    fixed_widths,
    has_header,
    sniff,
)
from .doubts import repetition, row_doubts
from .findings import ABOVE_CHARS, Column, Inspection, Table, clean, count_text, list_text, literal
from .text_files import Rows, Source, TextHead, read_rows
from .values import classify

CHUNK = 200_000
"""Bytes up to which pandas tells a column's type from all of it at once."""
EXTRA = 5
"""At most so many fields beyond the header's get names of their own; else the rows that have them are left out."""
SUFFIXES = {"gzip": ".gz", "bz2": ".bz2", "xz": ".xz", "zstd": ".zst", "zip": ".zip"}


class Plan(NamedTuple):
    """What a ragged or odd table needs: the names of its columns, and the arguments that make a reader agree."""

    names: list[str | int]
    arguments: dict[str, str]
    remarks: list[str]


def column_names(header: Sequence[str] | None, width: int) -> list[str | int]:
    """Name columns as pandas does: numbers without a header, `Unnamed: 3` for an empty name, `a.1` for a second `a`."""
    if header is None:
        return list(range(width))
    names: list[str | int] = []
    # pandas numbers a repeated name so that it meets no other name of the header.
    taken = Counter(cell or f"Unnamed: {place}" for place, cell in enumerate(header))
    seen: Counter[str] = Counter()
    used: set[str] = set()
    for place, cell in enumerate(header):
        name = base = cell or f"Unnamed: {place}"
        while seen[base] and (name in used or name in taken):
            name = f"{base}.{seen[base]}"
            seen[base] += 1
        seen[base] = seen[base] or 1
        used.add(name)
        names.append(name)
    return names


def plan(header: list[str] | None, layout: Layout, rows: Rows) -> Plan:
    """Decide how rows that are longer or shorter than the header are read."""
    width = layout.width if header is None else len(header)
    names = column_names(header, width)
    arguments: dict[str, str] = {} if header is not None else {"header": "None"}
    if layout.first_line:
        arguments["skiprows"] = str(layout.first_line)
    remarks: list[str] = []
    longest = max(rows.widths, default=width)
    wide = sum(count for length, count in rows.widths.items() if length > width)
    short = sum(count for length, count in rows.widths.items() if length < width)
    if short:
        remarks.append(f"{_rows(short)} fewer fields than the header; the rest of them is missing")
    if not wide:
        return Plan(names, arguments, remarks)
    if set(rows.widths) == {width + 1} and header is not None:
        if not rows.wide_filled:
            arguments["index_col"] = "False"
            return Plan(names, arguments, [*remarks, "each row ends with a delimiter that the header does not have"])
        return Plan(
            ["(row names)", *names], arguments, [*remarks, "the first field of each row has no name: row names"]
        )
    lines = ", ".join(str(line) for line in rows.wide_lines[:5] if line > 0)
    where = f" (line {lines}{', …' if wide > 5 else ''})" if lines else ""
    if longest - width <= EXTRA and width <= 60:
        names += [f"extra {place + 1}" for place in range(longest - width)]
        arguments = {"header": "None", "names": "[" + ", ".join(literal(str(name)) for name in names) + "]"}
        if skipped := layout.first_line + (header is not None):
            arguments["skiprows"] = str(skipped)
        remarks.append(f"{_rows(wide)} up to {longest} fields where the header has {width}{where}")
    else:
        arguments["on_bad_lines"], arguments["index_col"] = '"skip"', "False"
        remarks.append(
            f"{_rows(wide)} up to {longest:,} fields, the header {width:,}{where}; on_bad_lines leaves them out"
        )
    return Plan(names, arguments, remarks)


def _rows(count: int) -> str:
    return "1 row has" if count == 1 else f"{count:,} rows have"


def read_csv(
    source: Source,
    dialect: Dialect,
    encoding: Encoding,
    style: Conventions,
    planned: Plan,
    readings: list[tuple[str | int, ReaderHints]],
) -> str:
    """Write `pd.read_csv(…)` with all the arguments that this file needs and no other."""
    arguments: dict[str, str] = {}
    if dialect.cuts:
        ends = [*map(str, dialect.cuts[1:]), "None"]
        pairs = (f"({start}, {end})" for start, end in zip(dialect.cuts, ends, strict=True))
        arguments["colspecs"] = f"[{', '.join(pairs)}]"
    elif dialect.delimiter != ",":
        arguments["sep"] = 'r"\\s+"' if dialect.delimiter == SPACES else _mark(dialect.delimiter)
    if encoding.name not in ("ascii", "utf-8"):
        arguments["encoding"] = literal(encoding.name)
    if not encoding.clean:
        arguments.setdefault("encoding", literal("utf-8"))
        arguments["encoding_errors"] = '"replace"'
    if style.decimal != ".":
        arguments["decimal"] = literal(style.decimal)
    if style.thousands:
        arguments["thousands"] = literal(style.thousands)
    arguments |= planned.arguments
    if dialect.quotechar != '"':
        arguments["quotechar"] = literal(dialect.quotechar)
    if dialect.escaped:
        arguments["escapechar"], arguments["doublequote"] = '"\\\\"', "False"
    if dialect.unquoted:
        arguments["quoting"] = "3"
    if dialect.blank_after:
        arguments["skipinitialspace"] = "True"
    arguments |= _column_arguments(readings)
    if (source.size is None or source.size > CHUNK) and any(reading.mixed for _, reading in readings):
        arguments["low_memory"] = "False"
    opened = _opened(source, arguments)
    said = "".join(f", {name}={value}" for name, value in arguments.items())
    return f"pd.read_{'fwf' if dialect.cuts else 'csv'}({opened}{said})"


def _column_arguments(readings: list[tuple[str | int, ReaderHints]]) -> dict[str, str]:
    arguments: dict[str, str] = {}
    texts = [_key(name) for name, reading in readings if reading.as_text]
    if texts:
        every = len(texts) > 12
        arguments["dtype"] = '"str"' if every else "{" + ", ".join(f'{name}: "str"' for name in texts) + "}"
    missing = {_key(name): reading.missing for name, reading in readings if reading.missing}
    if len(missing) > 6 or len({tuple(marks) for marks in missing.values()}) == 1 < len(missing):
        marks = sorted({mark for marks in missing.values() for mark in marks})
        arguments["na_values"] = "[" + ", ".join(map(_mark, marks)) + "]"
    elif missing:
        pairs = (f"{name}: [{', '.join(map(_mark, marks))}]" for name, marks in missing.items())
        arguments["na_values"] = "{" + ", ".join(pairs) + "}"
    dates = [_key(name) for name, reading in readings if reading.iso_date]
    if 0 < len(dates) <= 6:
        arguments["parse_dates"] = "[" + ", ".join(dates) + "]"
    return arguments


def _key(name: str | int) -> str:
    return str(name) if isinstance(name, int) else literal(name)


def _mark(text: str) -> str:
    return '"\\t"' if text == "\t" else literal(text)


def _opened(source: Source, arguments: dict[str, str]) -> str:
    """The first argument: a path, or a member of an archive; says how it is packed where the name does not."""
    if source.padding:
        return f"io.BytesIO({source.without_padding})"
    if source.packing == "zip" and not source.only_member:
        return f"zipfile.ZipFile({literal(source.path)}).open({literal(source.member)})"
    lower = source.path.lower()
    told = next((packing for packing, suffix in SUFFIXES.items() if lower.endswith(suffix)), "")
    if told == "" and re.search(r"\.tar(\.(gz|bz2|xz))?$", lower):
        told = "tar"
    if told != source.packing:
        arguments["compression"] = literal(source.packing) if source.packing else "None"
    return literal(source.path)


NAMES = {",": "CSV", "\t": "TSV", ";": "CSV", "|": "CSV", SPACES: "columns separated by blanks"}
LOOKED_AT = 6_000
"""Columns beyond these are only counted."""
STRONG = 0.42
"""Score from which a text is a table though its name does not say so."""
NAMED = frozenset((".csv", ".tsv", ".tab", ".psv", ".dsv"))


def find_dialect(head: TextHead, suffix: str) -> tuple[Dialect, float] | None:
    """Tell how a text is delimited; None when it does not look like a table.

    Args:
        head: Its first lines.
        suffix: What its name ends with, lower case, with the dot; a name such as `.csv` makes any text a table.
    """
    lines = [line for line in head.lines[:3_000] if line.strip()]
    taken, used = [], 0
    for line in lines:
        taken.append(line)
        used += len(line)
        if used > 400_000 and len(taken) >= 4:
            break
    dialect, score = sniff(taken, favourite="\t" if suffix in (".tsv", ".tab") else "")
    named = suffix in NAMED
    if (dialect is None or dialect.delimiter == SPACES) and (fixed := fixed_widths(taken)):
        return fixed, 1.0
    if dialect is None or (named and score < 0.2):
        return (Dialect("\t" if suffix in (".tsv", ".tab") else ","), 0.0) if named else None
    rows = list(dialect.rows(line.replace("\0", "") for line in taken[:TITLE_ROWS]))
    if rows and detect_layout(rows).first_line >= rows[-1][0] > 0:
        return None  # a text whose last line happens to hold a delimiter
    if named:
        return dialect, score
    prose = dialect.delimiter in (SPACES, ",", ":") and score / PRIORS[dialect.delimiter] < STRONG + 0.18
    return (dialect, score) if len(taken) >= 3 and score >= STRONG and not prose else None


def describe_delimited(
    source: Source, head: TextHead, dialect: Dialect, look: Inspection, *, sampled: bool = False
) -> Table:
    """Describe a delimited text as one table; its size line tells how it is written.

    Args:
        source: The text.
        head: Its beginning.
        dialect: How it is delimited.
        look: Says how long there is.
        sampled: Whether its beginning will do.
    """
    first = _first_rows(head, dialect)
    layout = detect_layout(first)
    header, body = _header(first, layout), layout
    if double := _double_header(first, layout):
        header, body = double
    rows = read_rows(source, dialect, body, head.encoding.name, look, sampled=sampled)
    encoding = head.encoding
    if rows.undecodable and encoding.clean and "\N{REPLACEMENT CHARACTER}" not in head.text:
        encoding = Encoding(encoding.name, clean=False, guessed=encoding.guessed)
    planned = plan(header, body, rows)
    if double:
        names = ", ".join(literal(str(name)) for name in planned.names)
        planned.arguments.update(header="None", names=f"[{names}]", skiprows=str(body.first_line + 1))
        planned.remarks.insert(0, "the header is two rows, whose names are joined here")
    table = Table(column_count=len(planned.names), row_note=f"first rows{'' if header else ' (no header)'}")
    style, readings = _columns(table, rows, planned, dialect.delimiter)
    table.read_with = read_csv(source, dialect, encoding, style, planned, readings)
    table.size = _size_line(table, rows, dialect, encoding, style, header)
    _remarks(table, rows, planned, header, first, layout, encoding)
    table.rows = rows.first
    return table


def _first_rows(head: TextHead, dialect: Dialect) -> list[tuple[int, list[str]]]:
    found = []
    used = 0
    for line, row in dialect.rows(text.replace("\0", "") for text in head.lines):
        if not (len(row) == 1 and not row[0].strip()):
            found.append((line, row))
            used += len(row)
        if len(found) >= 300 or (used > 200_000 and len(found) >= 10):
            break
    return found


def _header(first: list[tuple[int, list[str]]], layout: Layout) -> list[str] | None:
    if not layout.has_header:
        return None
    return next((row for line, row in first if line == layout.first_line), None)


def _double_header(first: list[tuple[int, list[str]]], layout: Layout) -> tuple[list[str], Layout] | None:
    """A header of two rows, such as years over quarters: its joined names, and where the rows begin."""
    place = next((place for place, (line, _) in enumerate(first) if line == layout.first_line), len(first))
    if len(first) < place + 4:
        return None
    (_, above), (line, below), *rest = first[place : place + 100]
    words = all(cell.strip() and classify(cell) == "text" for cell in below)
    spans = any(not cell.strip() for cell in above[1:]) and sum(map(bool, above)) >= 2
    if not words or not spans or len(above) != len(below) or not has_header(below, [row for _, row in rest]):
        return None
    if not any(classify(cell) != "text" for _, row in rest[:5] for cell in row if cell.strip()):
        return None
    joined, group = [], ""
    for top, name in zip(above, below, strict=True):
        group = top or group
        joined.append(f"{group} / {name}")
    return joined, Layout(layout.width, line, has_header=True)


def _columns(
    table: Table, rows: Rows, planned: Plan, delimiter: str
) -> tuple[Conventions, list[tuple[str | int, ReaderHints]]]:
    limit = min(len(planned.names), LOOKED_AT)
    cut = [row[:limit] for row in rows.sample]
    counters = [Counter(column) for column in zip_longest(*cut, fillvalue="")]
    counters += [Counter({"": len(cut)}) if cut else Counter() for _ in range(limit - len(counters))]
    style = conventions(counters, delimiter=delimiter)
    readings: list[tuple[str | int, ReaderHints]] = []
    for name, counter in zip(planned.names, counters, strict=False):
        whole = rows.whole and len(rows.sample) == rows.read
        column, reading = describe_strings(str(name), counter, style=style, whole=whole)
        table.columns.append(column)
        if name != "(row names)":
            readings.append((name, reading))
    return style, readings


def _size_line(
    table: Table, rows: Rows, dialect: Dialect, encoding: Encoding, style: Conventions, header: list[str] | None
) -> str:
    if rows.whole:
        count = f"{count_text(rows.read, 'row')} (exact)"
    else:
        count = f"about {_rounded(rows.estimate):,} rows (estimated)"
    named = "ASCII" if encoding.name == "ascii" else encoding.name
    parts = [f"{count_text(table.column_count, 'column')}, {count}"]
    if table.column_count > 1 or dialect.delimiter != ",":
        shown = {"\t": "tab", SPACES: "blanks"}.get(dialect.delimiter, f'"{clean(dialect.delimiter)}"')
        parts.append(f"delimiter {shown}")
    parts.append(f"encoding {named}{' (guessed)' if encoding.guessed else ''}")
    if style.decimal == ",":
        parts.append("decimal comma")
    if style.thousands:
        parts.append(f'thousands "{style.thousands}"')
    if header is None:
        parts.append("no header")
    if len(rows.sample) < rows.read or not rows.whole:
        spread = "all over the file" if rows.whole else "head, middle and end" if rows.blocks else "its beginning"
        parts.append(f"statistics from a sample of {len(rows.sample):,} rows ({spread})")
    return ", ".join(parts)


def _rounded(count: int) -> int:
    """Three digits are all that an estimate is worth."""
    digits = max(len(str(count)) - 3, 0)
    return int(round(count, -digits))


def _remarks(
    table: Table,
    rows: Rows,
    planned: Plan,
    header: list[str] | None,
    first: list[tuple[int, list[str]]],
    layout: Layout,
    encoding: Encoding,
) -> None:
    add = table.remarks.append
    above = [row for line, row in first if line < layout.first_line]
    if above:
        text = " / ".join(" ".join(cell for cell in row if cell.strip()) for row in above[:3])
        lines = count_text(layout.first_line, "line")
        cut = len(text) > ABOVE_CHARS or any(any(map(str.strip, row)) for row in above[3:])
        rest = f" (cut: read the first {lines} of the file for all of it)" if cut else ""
        add(f"{lines} above the table: {clean(text, ABOVE_CHARS)}{rest}")
    table.remarks += planned.remarks
    if rows.unclosed:
        add(
            f"a field does not end within {LONGEST_FIELD:,} characters, or a quotation mark is never closed: "
            "nothing from there on was looked at"
        )
    if rows.cut:
        add("a line is longer than 8 million characters and was read in pieces: counts and widths are not exact")
    if not encoding.clean:
        add(f"bytes that are not valid {encoding.name} in {count_text(max(rows.undecodable, 1), 'line')}")
    if rows.nuls:
        add("has NUL bytes")
    if header and (twice := [name for name, count in Counter(header).items() if count > 1 and name]):
        add(f"duplicate column names: {list_text(twice)}")
    if header and (blank := [name for name in header if name != name.strip()]):
        add(f"column names with blanks around them: {list_text([repr(name) for name in blank], 40)}")
    if not rows.read and rows.unclosed:
        return
    if not rows.read:
        add("the table is empty: a header and no rows")
        return
    every = rows.whole and len(rows.sample) == rows.read
    table.remarks += row_blemishes(table.columns, rows.sample, rows.gaps if every else ())


def row_blemishes(columns: list[Column], sample: list[list[str]], gaps: Sequence[int] = ()) -> list[str]:
    """Name what is odd about a table as a whole: rows that are no records, repeated rows, empty columns.

    Args:
        columns: The table's columns.
        sample: Its rows, or some of them.
        gaps: Places of rows that come after blank lines.
    """
    found = row_doubts(columns, sample, gaps)
    found += repetition([tuple(row) for row in sample])
    if constant := [column.name for column in columns if _constant(column)]:
        found.append(f"constant: {list_text(constant)}")
    if empty := [column.name for column in columns if column.kind == "empty"]:
        found.append(f"without any value: {list_text(empty)}")
    return found


def _constant(column: Column) -> bool:
    single = column.distinct.startswith(("1 distinct", "≥ 1 distinct"))
    return column.total > 1 and column.missing == 0 and single
