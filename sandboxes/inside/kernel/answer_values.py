"""Values of an answer: what its expressions give in the session after a cell, each as the text that a person reads.

The format after an expression is Python's own (`.2f`, `,`, `%Y-%m-%d`), or `table` for a Markdown table, with the
format of its floats behind it (`table,.2f`).
"""

import sys
from collections.abc import Iterable
from typing import Any

from .summaries import clean

TABLE = "table"
FLOATS = ("float32", "float16", "Decimal")
"""Types of floats that are none of Python's."""
MAX_ROWS = 1_000
"""Rows of a table in an answer."""
MAX_COLUMNS = 50
MAX_CHARS = 30_000
"""Characters of one value, and …"""
MAX_ALL_CHARS = 300_000
"""… of all values of an answer."""


def value_text(value: Any, form: str) -> str:
    """A value as a text of the answer.

    Raises:
        ValueError: the format does not fit, or the text is too long.
        TypeError: the value has no such format.
    """
    if form.startswith(TABLE):
        text = markdown_table(value, form[len(TABLE) :])
    elif not form and (_is_a(value, "DataFrame") or _is_a(value, "Series")):
        text = markdown_table(value, "")
    else:
        text = clean(format(value, form) if form else str(value))
    if len(text) > MAX_CHARS:
        raise ValueError(
            f"this value has {len(text):,} characters, more than the {MAX_CHARS:,} of a value in an answer; "
            "show less of it, or write it to a file in outputs/"
        )
    return text


def markdown_table(value: Any, form: str) -> str:
    """A frame or a series (of pandas, polars or pyarrow) as a Markdown table, an index of its own as first columns.

    Args:
        value: The frame.
        form: The format of floats; empty: as many decimals as a column has, within what people read.

    Raises:
        TypeError: it is none.
        ValueError: it is too long or too wide.
    """
    if not hasattr(value, "columns") and hasattr(value, "to_frame"):
        value = value.to_frame()
    if not hasattr(value, "iterrows") and hasattr(value, "to_pandas"):
        value = value.to_pandas()
    if not (hasattr(value, "itertuples") and hasattr(value, "columns")):
        raise TypeError(f"only a data frame or a series can be a table, not {type(value).__name__}")
    rows, columns = value.shape
    if rows > MAX_ROWS or columns > MAX_COLUMNS:
        raise ValueError(
            f"a table in an answer has at most {MAX_ROWS:,} rows and {MAX_COLUMNS} columns, and this has {rows:,} and "
            f"{columns}; show less of it, or write it to a file in outputs/"
        )
    numbered = type(value.index).__name__ == "RangeIndex" and value.index.name is None
    headings = [] if numbered else ["" if name is None else name for name in value.index.names]
    names = [*headings, *value.columns]
    lines = [_row(names, [""] * len(names)), "|---" * (len(headings) + columns) + "|"]
    table = [
        row if numbered or len(headings) == 1 else (*row[0], *row[1:])
        for row in value.itertuples(index=not numbered, name=None)
    ]
    forms = [form or _float_form(column) for column in zip(*table, strict=True)]
    return "\n".join([*lines, *(_row(row, forms) for row in table)])


def _row(cells: Iterable[Any], forms: Iterable[str]) -> str:
    return "| " + " | ".join(_cell(cell, form) for cell, form in zip(cells, forms, strict=False)) + " |"


def _cell(value: Any, form: str) -> str:
    if value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NaTType", "NAType"):
        return ""
    if _is_float(value):
        return format(float(value), form)
    if form and isinstance(value, int) and not isinstance(value, bool) and form.startswith(","):
        return format(value, ",")
    if isinstance(value, tuple):
        value = ", ".join(str(part) for part in value if part != "")
    return " ".join(clean(str(value)).split()).replace("\\", "\\\\").replace("|", "\\|")


def _float_form(column: Iterable[Any]) -> str:
    """How the floats of a column are written: with the decimals that they have, two at the most, or four below 1."""
    floats = [abs(float(value)) for value in column if _is_float(value)]
    finite = [value for value in floats if value < 1e15]
    if len(finite) < len(floats):
        return ".6g"
    for decimals in (0, 1, 2):
        if all(abs(value - round(value, decimals)) <= 1e-9 * max(value, 1.0) for value in finite):
            return f".{decimals}f"
    least = min(value for value in finite if value)
    return ".2f" if least >= 1 else ".4f" if least >= 0.001 else ".4g"


def _is_float(value: Any) -> bool:
    return (isinstance(value, float) or type(value).__name__ in FLOATS) and value == value


def _is_a(value: Any, name: str) -> bool:
    """Whether it is a pandas object of that kind; pandas is not imported for it."""
    pandas = sys.modules.get("pandas")
    kind = getattr(pandas, name, None)
    return isinstance(kind, type) and isinstance(value, kind)
