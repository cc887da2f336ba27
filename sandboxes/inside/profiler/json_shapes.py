"""Find the table in a JSON value: records at the top, columns as lists, or records somewhere below."""

from __future__ import annotations

from typing import Any

from .findings import Findings, Table, clean, count_text, list_text
from .json_records import records_table

SAMPLE = 5_000


def describe_value(value: Any, loaded: str, size: str) -> Findings:
    """Describe a JSON value.

    Args:
        value: The value.
        loaded: The expression that loads it.
        size: The file's size, for the kind line.
    """
    if isinstance(value, list):
        table = records_table(value[:SAMPLE], whole=len(value) <= SAMPLE)
        table.read_with = f"{_maker(value)}({loaded})" if value else ""
        sampled = "" if len(value) <= SAMPLE else f", statistics from the first {SAMPLE:,}"
        return Findings(kind=f"JSON array, {count_text(len(value), 'record')} (exact){sampled}, {size}", tables=[table])
    if not isinstance(value, dict):
        return Findings(kind=f"JSON, a single {type(value).__name__}, {size}", lines=[clean(value, 400)])
    if "nbformat" in value and isinstance(value.get("cells"), list):
        return _notebook(value, size)
    return _object(value, loaded, size)


def _maker(records: Any) -> str:
    nested = isinstance(records, list) and any(
        isinstance(item, dict) for record in records[:SAMPLE] if isinstance(record, dict) for item in record.values()
    )
    return "pd.json_normalize" if nested else "pd.DataFrame"


def _object(value: dict[str, Any], loaded: str, size: str) -> Findings:
    found = Findings(kind=f"JSON object, {count_text(len(value), 'key')}, {size}")
    lists = [item for item in value.values() if isinstance(item, list)]
    if lists and len(lists) == len(value) and len({len(item) for item in lists}) == 1 and not _holds_records(lists):
        rows = len(lists[0])
        records = [dict(zip(value, row, strict=True)) for row in zip(*(item[:SAMPLE] for item in lists), strict=True)]
        table = records_table(records, whole=rows <= SAMPLE)
        table.read_with = f"pd.DataFrame({loaded})"
        found.kind = f"JSON, columns as lists, {count_text(rows, 'row')} (exact), {size}"
        found.tables = [table]
        return found
    if value.get("type") == "FeatureCollection" and isinstance(value.get("features"), list):
        kinds = {
            (feature.get("geometry") or {}).get("type") for feature in value["features"] if isinstance(feature, dict)
        }
        found.kind = (
            f"GeoJSON, {count_text(len(value['features']), 'feature')} ({list_text(sorted(map(str, kinds)))}), {size}"
        )
    if len(value) > 1 and all(isinstance(item, dict) for item in value.values()) and _alike(list(value.values())):
        table = records_table(list(value.values())[:SAMPLE], whole=len(value) <= SAMPLE)
        table.read_with = f'pd.DataFrame.from_dict({loaded}, orient="index")'
        table.remarks.append(f"the keys ({list_text(list(value), 3)}) become the index")
        found.kind = f"JSON object of {len(value):,} records, {size}"
        found.tables = [table]
        return found
    for path, records in sorted(_record_lists(value), key=lambda pair: -len(pair[1]))[:4]:
        table = records_table(records[:SAMPLE], whole=len(records) <= SAMPLE)
        table.title, table.size = ".".join(path), f"{count_text(len(records), 'record')} (exact)"
        table.read_with = f"{_maker(records)}({loaded}{''.join(f'[{key!r}]' for key in path)})"
        found.tables.append(table)
    found.lines.append("paths:")
    found.lines += paths(value)
    if not found.tables:
        found.tables.append(Table(read_with=f"pd.json_normalize({loaded})"))
    return found


def _holds_records(lists: list[list[Any]]) -> bool:
    return any(isinstance(item, dict) for one in lists for item in one[:5])


def _alike(records: list[dict[str, Any]]) -> bool:
    """Whether objects share most of their keys, as records do and sections of a document do not."""
    first = set(records[0])
    return bool(first) and all(
        len(first & set(record)) >= 0.6 * max(len(first), len(record)) for record in records[:50]
    )


def _record_lists(value: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], list[Any]]]:
    if len(path) > 5 or not isinstance(value, dict):
        return []
    found = []
    for key, item in value.items():
        if isinstance(item, list) and item and all(isinstance(one, dict | list) for one in item[:20]):
            if all(isinstance(one, dict) for one in item):
                found.append(((*path, key), item))
        else:
            found += _record_lists(item, (*path, key))
    return found


def paths(value: Any) -> list[str]:
    """List the paths of a value with their types, `items[].price: number 1.5`, at most 120."""
    found: dict[str, str] = {}
    _walk(value, "", found)
    return [f"- {clean(path or '(top)', 100)}: {what}" for path, what in found.items()]


def _walk(value: Any, path: str, found: dict[str, str]) -> None:
    if len(found) >= 120 or path.count(".") > 8:
        return
    if isinstance(value, dict):
        for key, item in list(value.items())[:200]:
            _walk(item, f"{path}.{key}" if path else str(key), found)
    elif isinstance(value, list):
        found.setdefault(f"{path}[]", count_text(len(value), "item"))
        for item in value[:3]:
            if isinstance(item, dict | list):
                _walk(item, f"{path}[]", found)
    else:
        name = {str: "text", bool: "boolean", int: "integer", float: "number", type(None): "null"}[type(value)]
        found.setdefault(path, name if value is None else f"{name} {clean(value)}")


def _notebook(value: dict[str, Any], size: str) -> Findings:
    cells = [cell for cell in value["cells"] if isinstance(cell, dict)]
    code = sum(cell.get("cell_type") == "code" for cell in cells)
    found = Findings(kind=f"Jupyter notebook, {len(cells)} cells ({code} of code), {size}")
    for cell in cells[:30]:
        source = cell.get("source", "")
        text = "".join(source) if isinstance(source, list) else str(source)
        found.lines.append(f"- {cell.get('cell_type')}: {clean(text.strip(), 120)}")
    return found
