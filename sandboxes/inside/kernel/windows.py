"""A window of a variable: some rows and columns of a table as text, or the beginning of what any value looks like.

A file of the workspace that holds a table is shown like a variable.
"""

import json
import math
import os.path
import sys
import warnings
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

TEXT = 300
"""Characters of one cell of a table."""
WHOLE = 20_000
"""Characters of a value that is no table."""
MIDNIGHT = " 00:00:00"
READERS = {".parquet": "read_parquet", ".feather": "read_feather", ".csv": "read_csv", ".tsv": "read_csv",
           ".xlsx": "read_excel", ".xls": "read_excel"}  # fmt: skip
"""What of pandas reads a table, by the ending of its file."""


def write(
    path: str, name: str, row: int, column: int, rows: int, columns: int, sort: int = -1, descending: bool = False
) -> None:
    """Write a window of a variable of `__main__`, or of a table in a file, as JSON.

    Args:
        path: The file: `kind` (`table`, `text` or `gone`), `type`, and what belongs to the kind.
        name: The variable, or the file's path.
        row: The first row, from 0, in the order that is asked for.
        column: The first column, from 0.
        rows: How many at most.
        columns: How many at most.
        sort: The column by which all rows are sorted; -1: none.
        descending: Whether the largest comes first.
    """
    namespace = sys.modules["__main__"].__dict__
    there = name in namespace
    if not there and (os.path.splitext(name)[1].lower() not in READERS or not os.path.isfile(name)):
        found: dict[str, Any] = {"kind": "gone"}
    else:
        value, kind = (namespace[name], "") if there else _read(name)
        part = window(value, row, column, rows, columns, sort, descending=descending)
        found = {"kind": "text", **part, "type": _text(kind or type(value).__name__)}
    with open(path, "w", encoding="utf-8", errors="replace") as file:
        json.dump(found, file)


def _read(path: str) -> tuple[Any, str]:
    """A table from a file, and what it is; of a workbook the first sheet, and a sentence where it cannot be read."""
    try:
        import pandas

        reader = READERS[os.path.splitext(path)[1].lower()]
        if reader == "read_csv":
            return _read_text(path), "table"
        if reader != "read_excel":
            return getattr(pandas, reader)(path), "table"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pandas.ExcelFile(path) as book:
                first, *others = map(str, book.sheet_names)
                table = book.parse(book.sheet_names[0])
        more = f"; its other sheets are not shown: {', '.join(others)}" if others else ""
        return table, f"sheet {first}{more}"
    except Exception as error:  # whatever lies there, whatever is installed
        return f"It cannot be read as a table: {error}", "file"


def _read_text(path: str) -> Any:
    """A delimited text as it is written: what is no number that would be written like this is a text."""
    import pandas

    for encoding in ("utf-8-sig", "cp1252", "latin-1"):
        try:
            with open(path, encoding=encoding) as file:
                first = file.readline()
        except UnicodeDecodeError:
            continue
        delimiter = max(",;\t|", key=first.count)
        as_texts: dict[str, Any] = {"dtype": str, "keep_default_na": False, "sep": delimiter, "encoding": encoding}
        try:
            table = pandas.read_csv(path, **as_texts)
        except UnicodeDecodeError:
            continue
        for place in range(table.shape[1]):
            texts = table.iloc[:, place]
            numbers = pandas.to_numeric(texts, errors="coerce")
            if numbers.notna().all() and (numbers.astype(str) == texts).all():
                table.isetitem(place, numbers)
        return table
    raise ValueError("it is written in no known encoding")


def window(
    value: Any, row: int, column: int, rows: int, columns: int, sort: int = -1, *, descending: bool = False
) -> dict[str, Any]:
    """A window of a value: of a table its rows and columns, else text."""
    height, width = slice(row, row + rows), slice(column, column + columns)
    try:
        table = _table(value, height, width, sort, descending)
    except Exception:  # values may raise anything
        table = None
    return table if table is not None else {"text": _text(value, WHOLE)}


def _table(value: Any, height: slice, width: slice, sort: int, descending: bool) -> dict[str, Any] | None:
    """A window of what has rows and columns; None for all else."""
    if _is(value, "pandas", "DataFrame"):
        return _of_frame(value, value.shape, height, width, sort, descending)
    if _is(value, "pandas", "Series"):
        frame = value.to_frame(value.name if value.name is not None else "value")
        return _of_frame(frame, (len(value), 1), height, slice(0, 1), sort, descending)
    if _is(value, "polars", "DataFrame"):
        order = _order(value[:, sort].to_list(), descending) if 0 <= sort < value.width else None
        part = value[:, width][order[height] if order is not None else height]
        cells = [_texts(one.to_list(), dates=_all_midnight(value[one.name])) for one in part.iter_columns()]
        return _said(value.shape, part.columns, _places(order, height, value.height), cells, part.dtypes, order)
    if _is(value, "pyarrow", "Table"):
        order = _order(value.column(sort).to_pylist(), descending) if 0 <= sort < value.num_columns else None
        part = (value.take(order[height]) if order is not None else value[height]).select(value.column_names[width])
        cells = [_texts(one.to_pylist()) for one in part.columns]
        shape, types = (value.num_rows, value.num_columns), part.schema.types
        return _said(shape, part.column_names, _places(order, height, value.num_rows), cells, types, order)
    if _is(value, "numpy", "ndarray") and value.ndim in (1, 2):
        whole = value if value.ndim == 2 else value[:, None]
        order = _order(whole[:, sort].tolist(), descending) if 0 <= sort < whole.shape[1] else None
        part = whole[order[height] if order is not None else height, width]
        labels = range(width.start, width.start + part.shape[1])
        cells = [_texts(part[:, place]) for place in range(part.shape[1])]
        return _said(whole.shape, labels, _places(order, height, len(whole)), cells, [value.dtype] * len(labels), order)
    return _container(value, height, sort, descending)


def _of_frame(
    value: Any, shape: Sequence[int], height: slice, width: slice, sort: int, descending: bool
) -> dict[str, Any]:
    """A window of a frame of pandas."""
    order = None
    if 0 <= sort < shape[1]:
        whole = value.iloc[:, sort].reset_index(drop=True)
        try:
            order = whole.sort_values(ascending=not descending, kind="stable", na_position="last").index
        except Exception:  # values that cannot be compared
            order = _order(whole.tolist(), descending)
    part = value.iloc[order[height] if order is not None else height, width]
    columns = [part.iloc[:, place] for place in range(part.shape[1])]
    first = width.start
    cells = [
        _texts(one, dates=_all_midnight(value.iloc[:, first + place].dropna().dt if one.dtype.kind == "M" else None))
        for place, one in enumerate(columns)
    ]
    index = _texts(part.index, dates=_all_midnight(value.index.dropna() if part.index.dtype.kind == "M" else None))
    return _said(shape, part.columns, index, cells, [one.dtype for one in columns], order)


def _all_midnight(times: Any) -> bool:
    """Whether a whole column is days: times of pandas without a zone, or a column of polars."""
    if times is None:
        return False
    if hasattr(times, "normalize"):
        return times.tz is None and bool((times.hour + times.minute + times.second + times.microsecond == 0).all())
    if not str(times.dtype).startswith("Datetime") or getattr(times.dtype, "time_zone", None):
        return False
    return bool((times.drop_nulls().dt.truncate("1d") == times.drop_nulls()).all())


def _container(value: Any, height: slice, sort: int, descending: bool) -> dict[str, Any] | None:
    """The items of a list, a tuple, a set or a dict, one a row."""
    if type(value) not in (dict, list, tuple, set, frozenset):
        return None
    order = _order(value.values() if type(value) is dict else value, descending) if sort == 0 else None
    wanted = order[height] if order is not None else range(*height.indices(len(value)))
    if type(value) is dict:
        items = list(value.items()) if order is not None else list(islice(value.items(), height.start, height.stop))
        part = [items[place] for place in wanted] if order is not None else items
        return _said((len(value), 1), ["value"], [key for key, _ in part], [_texts(one for _, one in part)], [], order)
    if order is not None:
        items = list(value)
        part = [items[place] for place in wanted]
    else:
        part = list(islice(value, height.start, height.stop))
    return _said((len(value), 1), ["value"], wanted, [_texts(part)], [], order)


def _order(values: Iterable[Any], descending: bool) -> list[int]:
    """The places of values in their order: what is missing last, what cannot be compared by its text."""
    listed = list(values)
    there = [place for place, one in enumerate(listed) if not (one is None or (isinstance(one, float) and one != one))]
    kept = set(there)
    try:
        there.sort(key=listed.__getitem__, reverse=descending)
    except Exception:  # as above
        there.sort(key=lambda place: _text(listed[place]), reverse=descending)
    return there + [place for place in range(len(listed)) if place not in kept]


def _places(order: Sequence[int] | None, height: slice, length: int) -> Iterable[int]:
    """The places in the value of the rows that are shown."""
    return order[height] if order is not None else range(*height.indices(length))


def _said(
    shape: Sequence[int],
    labels: Iterable[Any],
    index: Iterable[Any],
    columns: Sequence[Sequence[str]],
    types: Iterable[Any],
    order: Sequence[int] | None,
) -> dict[str, Any]:
    index = list(index)
    texts = [(place, row, one) for place, column in enumerate(columns) for row, one in enumerate(column)]
    return {
        "kind": "table",
        "rows": int(shape[0]),
        "columns": int(shape[1]),
        "labels": [_text(one) for one in labels],
        "types": [_text(one) for one in types],
        "index": [_text(one) for one in index],
        "cells": [list(line) for line in zip(*columns, strict=True)],
        "missing": [[row, place] for place, row, one in texts if type(one) is _Missing],
        "unnamed": [row for row, one in enumerate(index) if type(one) is _Missing or _is_missing(one)],
        "sorted": order is not None,
    }


class _Missing(str):
    """The text of a value that stands for none; a text of the table may read the same."""

    __slots__ = ()


def _texts(values: Iterable[Any], *, dates: bool = False) -> list[str]:
    """Values as text; of days without their time of day."""
    end = MIDNIGHT if dates else ""
    return [_Missing(_text(one)) if _is_missing(one) else _text(one).removesuffix(end) for one in values]


def _is_missing(value: Any) -> bool:
    """Whether a value stands for none; nothing is compared, since values may do anything then."""
    pandas, numpy = sys.modules.get("pandas"), sys.modules.get("numpy")
    if value is None or any(value is getattr(pandas, name, None) for name in ("NA", "NaT")):
        return True
    if isinstance(value, float) or _is(value, "numpy", "floating"):
        return math.isnan(value)
    times = any(_is(value, "numpy", name) for name in ("datetime64", "timedelta64"))
    return times and numpy is not None and bool(numpy.isnat(value))


def _text(value: Any, limit: int = TEXT) -> str:
    try:
        text = value if type(value) is str else str(value)
    except Exception as error:  # as above
        text = f"({type(error).__name__} while it was shown)"
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _is(value: Any, module: str, name: str) -> bool:
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(value, kind)
