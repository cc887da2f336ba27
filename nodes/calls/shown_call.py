"""A call as people read it who have to decide on it: each argument by its parameter's name, and nothing cut unsaid.

What is short stands there whole. Of what is long stand the beginning, the size and a hash, so that nobody can hide one
call behind another that looks like it; tables are shown by their shape and their first rows.
"""

import asyncio
import hashlib
import re
import reprlib
from collections.abc import Mapping
from itertools import islice
from typing import Any

from models.received import whole_text
from sandboxes.functions import Call
from sandboxes.inside.kernel import values

WHOLE = 2_000
"""Characters of an argument that are shown."""
MAX_ARGUMENTS = 50
"""Arguments that are shown; of the others there is a hash."""
MAX_READABLE = 1 << 20
"""Bytes of arguments, tables aside, that people can be asked about."""
HEAD_ROWS = 5
HEAD_COLUMNS = 12
HEAD_BYTES = 1 << 20
"""Bytes of a table's first rows that are read for that: one row may hold a list of millions."""
CELL_CHARS = 60
BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""Letters and marks that nobody sees, and that count as printable."""


def too_long(call: Call) -> str:
    """Why nobody can be asked about a call, or nothing."""
    size = values.LENGTH.unpack_from(call.arguments)[0] if len(call.arguments) >= values.LENGTH.size else 0
    if size <= MAX_READABLE:
        return ""
    return f"its arguments have {size:,} bytes, tables aside, and people can be asked about {MAX_READABLE:,}"


async def shown_arguments(call: Call, arguments: Mapping[str, Any]) -> list[str]:
    """The arguments of a call, a line or more for each.

    Args:
        call: The call.
        arguments: What its function would get, by the names of the parameters.
    """
    return await asyncio.to_thread(_lines, call, arguments)


def _lines(call: Call, arguments: Mapping[str, Any]) -> list[str]:
    lines = [f"{name} = {_shown(value)}" for name, value in list(arguments.items())[:MAX_ARGUMENTS]]
    more = len(arguments) - MAX_ARGUMENTS
    lines += [f"… and {more:,} more arguments"] if more > 0 else []
    if more > 0 or any("…" in line for line in lines) or any(map(_has_table, arguments.values())):
        lines.append(f"SHA-256 of all arguments as they were sent: {hashlib.sha256(call.arguments).hexdigest()}")
    return [BLANK.sub(lambda blank: f"\\u{ord(blank[0]):04x}", whole_text(line)) for line in lines]


def _has_table(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_table, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_has_table, value))
    return getattr(value, "shape", None) is not None


def _shown(value: Any) -> str:
    if getattr(value, "shape", None) is not None:
        return _table(value)
    text = repr(_with_names(value))  # every character that cannot be seen stands there by its number
    if len(text) <= WHOLE:
        return text
    size = f"a text of {len(value):,} characters" if isinstance(value, str) else f"{len(text):,} characters in all"
    raw = value if isinstance(value, str) else text
    checksum = hashlib.sha256(raw.encode("utf-8", "replace")).hexdigest()
    return f"{text[:WHOLE]}… (cut: {size}, SHA-256 {checksum})"


class _Named:
    """Stands for a table within another value."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"<{self.text}>"


def _with_names(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_names(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_with_names(one) for one in value)
    return _Named(_table(value)) if getattr(value, "shape", None) is not None else value


def _table(table: Any) -> str:
    names, rows = _head(table)
    height, width = table.shape
    shown = ", ".join(_cell(name) for name in names[:HEAD_COLUMNS])
    shown += f" and {len(names) - HEAD_COLUMNS} more" if len(names) > HEAD_COLUMNS else ""
    lines = [f"a table of {height:,} x {width:,}: {shown}"]
    lines += [" | ".join(_cell(one) for one in row[:HEAD_COLUMNS]) for row in rows]
    if height > len(rows):
        lines.append(f"… {height - len(rows):,} more rows")
    return "\n  ".join(lines)


def _head(table: Any) -> tuple[list[str], list[list[Any]]]:
    """The names of the columns and the first rows, of a table of any library that tables come from.

    An index is the first column, unless it only counts the rows.
    """
    if hasattr(table, "slice") and hasattr(table, "to_pydict"):  # pyarrow, where two columns may have one name
        head = table.slice(0, HEAD_ROWS)
        names = [str(name) for name in table.column_names]
        if head.nbytes > HEAD_BYTES:
            return names, []
        return names, [list(row) for row in zip(*(column.to_pylist() for column in head.columns), strict=True)]
    head = table.head(HEAD_ROWS)
    names = [str(name) for name in table.columns]
    if hasattr(table, "iter_rows"):  # polars
        return names, [] if head.estimated_size() > HEAD_BYTES else [list(row) for row in head.iter_rows()]
    rows = [list(row) for row in head.itertuples(index=False, name=None)]
    if list(table.index[:HEAD_ROWS]) == list(range(len(rows))) and type(table.index).__name__ == "RangeIndex":
        return names, rows
    return ["(index)", *names], [[label, *row] for label, row in zip(head.index, rows, strict=True)]


class _Short(reprlib.Repr):
    """Writes the beginning of a value, and looks at no more of it than that."""

    def __init__(self) -> None:
        super().__init__()
        self.fillvalue = "…"
        self.maxlevel = 2
        self.maxtuple = self.maxlist = self.maxset = self.maxdict = HEAD_ROWS
        self.maxstring = self.maxother = CELL_CHARS

    def repr_bytes(self, value: bytes, level: int) -> str:
        return repr(value[:CELL_CHARS])

    def repr_dict(self, value: dict[Any, Any], level: int) -> str:
        return super().repr_dict(dict(islice(value.items(), HEAD_ROWS + 1)), level)

    def repr_ndarray(self, value: Any, level: int) -> str:
        return self.repr1(value.flat[: HEAD_ROWS + 1].tolist(), level)


SHORT = _Short()


def _cell(value: Any) -> str:
    if isinstance(value, str):
        text = value[: CELL_CHARS + 1]
    elif isinstance(value, bytes | list | tuple | dict) or type(value).__name__ == "ndarray":
        text = SHORT.repr(value)
    else:
        text = str(value)
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= CELL_CHARS else f"{text[: CELL_CHARS - 1]}…"
