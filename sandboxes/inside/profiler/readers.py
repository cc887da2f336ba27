"""Write the pandas expression that reads a file as it was understood here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from .columns import Conventions, Reading
from .dialect import SPACES, Dialect, Layout
from .encoding import Encoding
from .findings import literal
from .rows import Rows
from .source import Source

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
    readings: list[tuple[str | int, Reading]],
) -> str:
    """Write `pd.read_csv(…)` with all the arguments that this file needs and no other."""
    arguments: dict[str, str] = {}
    if dialect.delimiter != ",":
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
    return (
        f"pd.read_csv({_opened(source, arguments)}{''.join(f', {name}={value}' for name, value in arguments.items())})"
    )


def _column_arguments(readings: list[tuple[str | int, Reading]]) -> dict[str, str]:
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
    if source.packing == "zip" and not source.only_member:
        return f"zipfile.ZipFile({literal(source.path)}).open({literal(source.member)})"
    lower = source.path.lower()
    told = next((packing for packing, suffix in SUFFIXES.items() if lower.endswith(suffix)), "")
    if told == "" and re.search(r"\.tar(\.(gz|bz2|xz))?$", lower):
        told = "tar"
    if told != source.packing:
        arguments["compression"] = literal(source.packing) if source.packing else "None"
    return literal(source.path)
