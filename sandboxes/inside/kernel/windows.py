"""A window of a variable: some rows and columns of a table as text, or the beginning of what any value looks like."""

import json
import sys
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

TEXT = 300
"""Characters of one cell of a table."""
WHOLE = 20_000
"""Characters of a value that is no table."""


def write(path: str, name: str, row: int, column: int, rows: int, columns: int) -> None:
    """Write a window of a variable of `__main__` as JSON.

    Args:
        path: The file: `kind` (`table`, `text` or `gone`), `type`, and what belongs to the kind.
        name: The variable.
        row: The first row, from 0.
        column: The first column, from 0.
        rows: How many at most.
        columns: How many at most.
    """
    namespace = sys.modules["__main__"].__dict__
    if name not in namespace:
        found: dict[str, Any] = {"kind": "gone"}
    else:
        value = namespace[name]
        found = {"kind": "text", **window(value, row, column, rows, columns), "type": _text(type(value).__name__)}
    with open(path, "w", encoding="utf-8", errors="replace") as file:
        json.dump(found, file)


def window(value: Any, row: int, column: int, rows: int, columns: int) -> dict[str, Any]:
    """A window of a value: of a table its rows and columns, else text."""
    try:
        table = _table(value, row, column, rows, columns)
    except Exception:  # values may raise anything
        table = None
    return table if table is not None else {"text": _text(value, WHOLE)}


def _table(value: Any, row: int, column: int, rows: int, columns: int) -> dict[str, Any] | None:
    """A window of what has rows and columns; None for all else."""
    height, width = slice(row, row + rows), slice(column, column + columns)
    if _is(value, "pandas", "DataFrame"):
        part = value.iloc[height, width]
        data: Iterable[Iterable[Any]] = zip(*(part.iloc[:, place] for place in range(part.shape[1])), strict=True)
        return _said(value.shape, part.columns, part.index, data)
    if _is(value, "pandas", "Series"):
        part = value.iloc[height]
        return _said((len(value), 1), [value.name if value.name is not None else "value"], part.index, zip(part))
    if _is(value, "polars", "DataFrame"):
        part = value[height, width]
        return _said(value.shape, part.columns, range(row, row + part.height), part.iter_rows())
    if _is(value, "pyarrow", "Table"):
        part = value.slice(row, rows).select(value.column_names[width])
        data = zip(*(one.to_pylist() for one in part.columns), strict=True)
        return _said((value.num_rows, value.num_columns), part.column_names, range(row, row + part.num_rows), data)
    if _is(value, "numpy", "ndarray") and value.ndim in (1, 2):
        whole = value if value.ndim == 2 else value[:, None]
        part = whole[height, width]
        return _said(whole.shape, range(column, column + part.shape[1]), range(row, row + part.shape[0]), part)
    return _container(value, row, rows)


def _container(value: Any, row: int, rows: int) -> dict[str, Any] | None:
    """The items of a list, a tuple, a set or a dict, one a row."""
    if type(value) is dict:
        part = list(islice(value.items(), row, row + rows))
        return _said((len(value), 1), ["value"], [key for key, _ in part], ([one] for _, one in part))
    if type(value) in (list, tuple, set, frozenset):
        items = list(islice(value, row, row + rows))
        return _said((len(value), 1), ["value"], range(row, row + len(items)), ([one] for one in items))
    return None


def _said(
    shape: Sequence[int], labels: Iterable[Any], index: Iterable[Any], data: Iterable[Iterable[Any]]
) -> dict[str, Any]:
    return {
        "kind": "table",
        "rows": int(shape[0]),
        "columns": int(shape[1]),
        "labels": [_text(one) for one in labels],
        "index": [_text(one) for one in index],
        "cells": [[_text(one) for one in line] for line in data],
    }


def _text(value: Any, limit: int = TEXT) -> str:
    try:
        text = value if type(value) is str else str(value)
    except Exception as error:  # as above
        text = f"({type(error).__name__} while it was shown)"
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _is(value: Any, module: str, name: str) -> bool:
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)
