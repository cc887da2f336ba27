"""Compares answers and delivered files with what was expected."""

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import dataclass

from evals.tasks import Expected, FileExpected, Value

LINE = re.compile(r"^[ \t>*_`#-]*ANSWER[*_`]*[ \t]*:(.*)$", re.MULTILINE | re.IGNORECASE)
NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:[eE][-+]?\d+)?")


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that was checked."""

    expected: str
    got: str
    right: bool


def score_answer(answer: str, expected: Expected) -> list[Part]:
    """Check the line `ANSWER:`; the last one counts."""
    if not expected.values:
        return []
    lines = LINE.findall(answer)
    if not lines:
        return [Part(str(value), "no line ANSWER:", right=False) for value in expected.values]
    line = _plain(lines[-1])
    given = [_plain(one) for one in line.split(";")] if len(expected.values) > 1 else [line]
    parts = [
        Part(str(value), got, right=_same(value, got, expected.tolerance))
        for value, got in zip(expected.values, [*given, *[""] * len(expected.values)], strict=False)
    ]
    if len(given) > len(expected.values):
        parts.append(Part("nothing more", "; ".join(given[len(expected.values) :]), right=False))
    return parts


def score_files(files: Mapping[str, bytes], expected: Expected) -> list[Part]:
    """Check the files that were delivered.

    Args:
        files: Their contents, by their names.
        expected: What they must be.
    """
    return [_file_part(files, wanted) for wanted in expected.files]


def _file_part(files: Mapping[str, bytes], wanted: FileExpected) -> Part:
    said = f"file {wanted.name}"
    content = files.get(wanted.name)
    if not content:
        return Part(said, "an empty file" if content is not None else "no such file", right=False)
    if not wanted.columns and wanted.rows is None and not wanted.sums:
        return Part(said, "there", right=True)
    try:
        rows = [row for row in csv.reader(io.StringIO(content.decode("utf-8-sig"))) if row]
    except (UnicodeDecodeError, csv.Error):
        return Part(said, "not a table in CSV", right=False)
    if not rows:
        return Part(said, "a file of empty lines", right=False)
    if wanted.columns and tuple(rows[0]) != wanted.columns:
        return Part(f"{said} with {', '.join(wanted.columns)}", f"with {', '.join(rows[0])[:200]}", right=False)
    if wanted.rows is not None and len(rows) - 1 != wanted.rows:
        return Part(f"{said} with {wanted.rows} rows", f"with {len(rows) - 1} rows", right=False)
    for column, total in wanted.sums:
        got = _sum(rows, column)
        if not isinstance(got, float) or not _near(got, total, None):
            return Part(f"{said} with the sum {total} of {column}", f"with {got}", right=False)
    return Part(said, "as expected", right=True)


def _sum(rows: list[list[str]], column: str) -> float | str:
    """The sum of a column below the header, or why there is none."""
    if column not in rows[0]:
        return f"no column {column}"
    place = rows[0].index(column)
    total = 0.0
    for row in rows[1:]:
        text = row[place] if place < len(row) else ""
        number = read_number(text)
        if number is None:
            return f"{text[:50]!r} in it, which is no number"
        total += number
    return total


def read_number(text: str) -> float | None:
    """The number that a text is, with `%`, a currency sign or thousands' commas at most; None: it is none."""
    bare = text.strip().lstrip("$€£¥").rstrip("%$€£¥").strip()
    return float(bare.replace(",", "")) if NUMBER.fullmatch(bare) and any(c.isdigit() for c in bare) else None


def _same(value: Value, got: str, tolerance: float | None) -> bool:
    if isinstance(value, str):
        return " ".join(value.split()).casefold() == " ".join(got.split()).casefold()
    number = read_number(got)
    return number is not None and _near(number, value, tolerance)


def _near(number: float, value: float, tolerance: float | None) -> bool:
    allowed = _half_a_unit(value) if tolerance is None else tolerance
    return abs(number - value) <= allowed + 1e-9 * max(1.0, abs(value))


def _half_a_unit(value: float) -> float:
    if isinstance(value, int):
        return 0.0
    mantissa, _, exponent = repr(value).partition("e")
    decimals = len(mantissa.partition(".")[2].rstrip("0")) - int(exponent or 0)
    return 0.5 * 10.0**-decimals


def _plain(text: str) -> str:
    """Without Markdown around it, and without a full stop at its end."""
    bare = text.strip().strip("*_`\"'").strip()
    return bare[:-1] if bare.endswith(".") else bare
