"""Describe JSON records as a table: one column for each key, or for each path where records are nested."""

from __future__ import annotations

from typing import Any

from .findings import Table, clean
from .native import describe_values

COLUMNS = 1_000
DEEPEST = 6


def flatten(record: dict[str, Any], before: str = "", depth: int = 0) -> dict[str, Any]:
    """Put nested objects' values under paths such as `address.city`, as `pd.json_normalize` does."""
    flat: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, dict) and value and depth < DEEPEST:
            flat.update(flatten(value, f"{before}{key}.", depth + 1))
        else:
            flat[f"{before}{key}"] = value
    return flat


def records_table(records: list[Any], *, whole: bool) -> Table:
    """Describe records; values that are lists are described by what is in them."""
    table = Table(row_note="first records")
    if not records:
        table.remarks.append("it has no records")
        return table
    if not all(isinstance(record, dict) for record in records):
        return _rows_table(records, table, whole=whole)
    flat = [flatten(record) for record in records]
    names = list(dict.fromkeys(name for record in flat for name in record))
    table.column_count = len(names)
    for name in names[:COLUMNS]:
        values = [record.get(name) for record in flat]
        column = describe_values(name, values, whole=whole)
        if column.kind == "list":
            column.spread = _list_spread([value for value in values if isinstance(value, list)])
        table.columns.append(column)
    table.rows = [
        ["" if record.get(name) is None else clean(record.get(name)) for name in names[:60]] for record in flat[:3]
    ]
    return table


def _rows_table(records: list[Any], table: Table, *, whole: bool) -> Table:
    """Lists in a list are rows; anything else is one column of values."""
    if all(isinstance(record, list) for record in records):
        width = max(map(len, records))
        table.column_count = width
        for place in range(min(width, COLUMNS)):
            values = [record[place] if place < len(record) else None for record in records]
            table.columns.append(describe_values(str(place), values, whole=whole))
        table.rows = [["" if value is None else clean(value) for value in record[:60]] for record in records[:3]]
        return table
    table.column_count = 1
    table.columns = [describe_values("0", records, whole=whole)]
    return table


def _list_spread(values: list[list[Any]]) -> str:
    lengths = [len(value) for value in values]
    inner = next((item for value in values for item in value), None)
    if isinstance(inner, dict):
        what = "objects with " + ", ".join(clean(key, 24) for key in list(inner)[:8])
    else:
        what = f"such as {clean(inner)}" if inner is not None else "empty"
    return f"{min(lengths)} to {max(lengths)} items, {what}"
