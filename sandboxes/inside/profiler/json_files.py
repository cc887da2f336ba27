"""Describe JSON and JSON Lines: records as a table, nested data as paths with their types."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .columns import describe_values
from .doubts import headed, repetition
from .findings import Findings, Inspection, Table, UnreadableError, clean, count_text, list_text, literal, size_text
from .text_files import WHOLE, Source, TextHead, text_of

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
    table.remarks += repetition([sorted(record.items()) for record in flat], "record", whole=whole)
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
        if headed(records[:50]):
            table.remarks.append("the first row is a header: pd.DataFrame(rows[1:], columns=rows[0])")
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


SHAPE_SAMPLE = 5_000


def describe_value(value: Any, loaded: str, size: str) -> Findings:
    """Describe a JSON value.

    Args:
        value: The value.
        loaded: The expression that loads it.
        size: The file's size, for the kind line.
    """
    if isinstance(value, list):
        table = records_table(value[:SHAPE_SAMPLE], whole=len(value) <= SHAPE_SAMPLE)
        table.read_with = f"{_maker(value)}({loaded})" if value else ""
        sampled = "" if len(value) <= SHAPE_SAMPLE else f", statistics from the first {SHAPE_SAMPLE:,}"
        return Findings(kind=f"JSON array, {count_text(len(value), 'record')} (exact){sampled}, {size}", tables=[table])
    if not isinstance(value, dict):
        return Findings(kind=f"JSON, a single {type(value).__name__}, {size}", lines=[clean(value, 400)])
    if "nbformat" in value and isinstance(value.get("cells"), list):
        return _notebook(value, size)
    return _object(value, loaded, size)


def _maker(records: Any) -> str:
    nested = isinstance(records, list) and any(
        isinstance(item, dict)
        for record in records[:SHAPE_SAMPLE]
        if isinstance(record, dict)
        for item in record.values()
    )
    return "pd.json_normalize" if nested else "pd.DataFrame"


def _object(value: dict[str, Any], loaded: str, size: str) -> Findings:
    found = Findings(kind=f"JSON object, {count_text(len(value), 'key')}, {size}")
    lists = [item for item in value.values() if isinstance(item, list)]
    if lists and len(lists) == len(value) and len({len(item) for item in lists}) == 1 and not _holds_records(lists):
        rows = len(lists[0])
        records = [
            dict(zip(value, row, strict=True)) for row in zip(*(item[:SHAPE_SAMPLE] for item in lists), strict=True)
        ]
        table = records_table(records, whole=rows <= SHAPE_SAMPLE)
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
        table = records_table(list(value.values())[:SHAPE_SAMPLE], whole=len(value) <= SHAPE_SAMPLE)
        table.read_with = f'pd.DataFrame.from_dict({loaded}, orient="index")'
        table.remarks.append(f"the keys ({list_text(list(value), 3)}) become the index")
        found.kind = f"JSON object of {len(value):,} records, {size}"
        found.tables = [table]
        return found
    for path, records in sorted(_record_lists(value), key=lambda pair: -len(pair[1]))[:4]:
        table = records_table(records[:SHAPE_SAMPLE], whole=len(records) <= SHAPE_SAMPLE)
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


LOADED = 12_000_000
"""JSON files up to this many bytes are loaded whole."""
SAMPLE = 5_000
LONGEST = 30_000_000
BROKEN_LISTED = 20


def describe_json(source: Source, head: TextHead, look: Inspection, kind: str, lie: str) -> Findings | None:
    """Describe a text that starts like JSON; None when it turns out not to be JSON.

    Raises:
        UnreadableError: it is JSON that breaks off or is broken.
    """
    lines = [line for line in head.lines if line.strip()]
    if (kind == "jsonl" or _is_lines(lines)) and (found := _json_lines(source, head, look)) is not None:
        return found
    named = kind == "jsonl" or source.path.lower().endswith((".json", ".geojson", ".ipynb"))
    size = source.size if source.size is not None else 10**12
    try:
        if size <= LOADED or head.complete:
            with source.opened() as (stream, _):
                return _whole(json.loads(text_of(stream, head.encoding.name).read()), source, head, look)
        return _streamed(source, head, look)
    except json.JSONDecodeError as error:
        if not named and not lie and not head.text.lstrip("\ufeff \t\r\n").startswith(('{"', "[{", "[[", "[\n")):
            return None
        cut = error.pos >= len(error.doc.rstrip()) - 1
        what = "breaks off at its end" if cut else f"is broken: {error.msg}"
        raise UnreadableError(f"seems to be JSON that {what} (line {error.lineno}, column {error.colno})") from error
    except ValueError as error:
        if "integer string conversion" not in str(error):
            raise
        sentence = (
            "is JSON with a whole number of more digits than Python reads; read it with json.load(…, parse_int=str)"
        )
        raise UnreadableError(sentence) from error


def _is_lines(lines: list[str]) -> bool:
    """Whether the first lines are JSON values of their own."""
    good = 0
    for line in lines[:20]:
        try:
            value = json.loads(line.lstrip("\ufeff"))
        except ValueError:
            continue
        good += isinstance(value, dict | list)
    return len(lines) >= 2 and good >= max(2, 0.6 * len(lines[:20]))


def _json_lines(source: Source, head: TextHead, look: Inspection) -> Findings | None:
    records: list[Any] = []
    broken: list[int] = []
    number = count = used = position = 0
    exact = True
    step = 1
    first: list[Any] = []
    with source.opened() as (stream, consumed):
        text = text_of(stream, head.encoding.name)
        while line := text.readline(LONGEST):
            number += 1
            used += len(line)
            if line.strip():
                count += 1
                if count % step == 0:
                    try:
                        records.append(json.loads(line.lstrip("\ufeff") if number == 1 else line))
                    except (ValueError, RecursionError):
                        broken.append(number)
                if count <= 20:
                    first = records[:3]
                if len(records) >= SAMPLE * 2 and used > LOADED:
                    # The first lines are checked one by one; of the rest every so many-th.
                    records, step = records[::2], step * 2
            if used > WHOLE or (number % 512 == 0 and look.over(0.35)):
                exact = False
                position = consumed() or used
                break
        else:
            position = used
    if len(broken) > max(2, 0.4 * count) or (broken and not records):
        return None
    size = source.packed_size or source.size or used
    total = count if exact else int(count * size / max(position, 1))
    table = _lines_table(source, head, records, broken, complete=exact and step == 1)
    rows = f"{count_text(total - len(broken), 'record')} (exact)" if exact else f"about {total:,} records (estimated)"
    packed = f", {source.packing}-compressed" if source.packing else ""
    sampled = "" if exact and step == 1 else f", statistics from a sample of {len(records):,} records"
    table.rows = records_table(first, whole=True).rows
    found = Findings(kind=f"JSON Lines, {rows}{sampled}, {size_text(look.size)}{packed}", tables=[table])
    if broken:
        found.remarks.append(f"{len(broken):,} lines are not valid JSON: line {list_text(broken)}")
    return found


def _lines_table(source: Source, head: TextHead, records: list[Any], broken: list[int], *, complete: bool) -> Table:
    table = records_table(records, whole=complete)
    handle = f'{text_expression(source, head)}.split("\\n")'
    if not broken:
        parsed = f"json.loads(line) for line in {handle} if line.strip()"
    elif complete and len(broken) <= BROKEN_LISTED:
        numbers = ", ".join(map(str, broken))
        parsed = f"json.loads(line) for n, line in enumerate({handle}, 1) if line.strip() and n not in {{{numbers}}}"
    else:
        table.remarks.append("because of the broken lines, read it line by line with try/except")
        return table
    plain = not broken and not source.member and head.encoding.name in ("ascii", "utf-8", "utf-8-sig")
    if plain and records and all(isinstance(record, dict) for record in records) and _survives(records):
        table.read_with = f"pd.read_json({literal(source.path)}, lines=True{_packing(source)})"
    elif any(isinstance(value, dict) for record in records if isinstance(record, dict) for value in record.values()):
        table.read_with = f"pd.json_normalize([{parsed}])"
    else:
        table.read_with = f"pd.DataFrame([{parsed}])"
    return table


def _packing(source: Source) -> str:
    suffix = {"gzip": ".gz", "bz2": ".bz2", "xz": ".xz", "zstd": ".zst"}.get(source.packing, "")
    told = (
        source.path.lower().endswith(suffix)
        if suffix
        else not source.path.lower().endswith((".gz", ".bz2", ".xz", ".zst", ".zip"))
    )
    return "" if told else f", compression={literal(source.packing) if source.packing else None}"


def _survives(records: list[Any]) -> bool:
    """Whether `pd.read_json` leaves values alone: it makes numbers of digits, and dates of what is named like one."""
    for record in records:
        for name, value in record.items():
            if isinstance(value, dict | list) or (isinstance(value, int) and abs(value) > 2**53):
                return False
            if isinstance(value, str) and (
                value[:1].isdigit() or value[:1] in "+-. " or value.lower() in ("nan", "inf", "true", "false")
            ):
                return False
            low = str(name).lower()
            if low.endswith(("_at", "_time")) or low.startswith("timestamp") or low in ("modified", "date"):
                return False
    return True


def text_expression(source: Source, head: TextHead) -> str:
    """Write an expression that gives the whole text of the file."""
    path, encoding = literal(source.path), head.encoding.name
    encoding = "utf-8" if encoding == "ascii" else encoding
    if not source.packing:
        return f"pathlib.Path({path}).read_text({literal(encoding)})"
    return f"{_opened(source, path, encoding)}.read()"


def _opened(source: Source, path: str, encoding: str) -> str:
    if source.packing == "zip":
        member = f"zipfile.ZipFile({path}).open({literal(source.member)})"
        return f'io.TextIOWrapper({member}, encoding="{encoding}")'
    if source.packing == "zstd":
        return f'zstandard.open({path}, "rt", encoding="{encoding}")'
    module = {"gzip": "gzip", "bz2": "bz2", "xz": "lzma"}[source.packing]
    return f'{module}.open({path}, "rt", encoding="{encoding}")'


def _whole(value: Any, source: Source, head: TextHead, look: Inspection) -> Findings:

    packed = f", {source.packing}-compressed" if source.packing else ""
    return describe_value(value, f"json.loads({text_expression(source, head)})", f"{size_text(look.size)}{packed}")


def _streamed(source: Source, head: TextHead, look: Inspection) -> Findings:
    """Describe a large file: the elements of an array one by one, of anything else only how it begins."""
    start = head.text.lstrip("\ufeff \t\r\n")
    packed = f", {source.packing}-compressed" if source.packing else ""
    size = f"{size_text(look.size)}{packed}"
    if not start.startswith("["):
        found = Findings(kind=f"JSON object, {size}")
        found.remarks.append("too large to be parsed here: only how it begins is shown")
        found.lines = ["begins:", clean(head.text[:1500], 1500)]
        return found
    records: list[Any] = []
    count, used, exact = 0, 0, True
    for value, position in _elements(source, head, look):
        if value is None and position < 0:
            exact = False
            break
        count, used = count + 1, position
        if count <= SAMPLE:
            records.append(value)
    total = count if exact else int(count * (source.size or used) / max(used, 1))
    rows = f"{count_text(total, 'record')} (exact)" if exact else f"about {total:,} records (estimated)"
    table = records_table(records, whole=exact and count == len(records))
    nested = any(isinstance(value, dict) for record in records if isinstance(record, dict) for value in record.values())
    maker = "pd.json_normalize" if nested else "pd.DataFrame"
    table.read_with = f"{maker}(json.loads({text_expression(source, head)}))"
    sampled = "" if count == len(records) and exact else f", statistics from the first {len(records):,}"
    return Findings(kind=f"JSON array, {rows}{sampled}, {size}", tables=[table])


def _elements(source: Source, head: TextHead, look: Inspection) -> Iterator[tuple[Any, int]]:
    """Give an array's elements with the characters used so far; (None, -1) when it was not read to its end."""
    decoder = json.JSONDecoder()
    with source.opened() as (stream, _):
        text = text_of(stream, head.encoding.name)
        buffer = text.read(1 << 20).lstrip("\ufeff \t\r\n")[1:]
        used, place, ended = 1, 0, False
        while True:
            while place < len(buffer) and buffer[place] in " \t\r\n,":
                place += 1
            if place < len(buffer) and buffer[place] == "]":
                return
            if used + place > WHOLE or look.over(0.35) or len(buffer) - place > LONGEST:
                yield None, -1
                return
            try:
                value, end = decoder.raw_decode(buffer, place)
                # A number at the end of the buffer may go on in the next one.
                complete = end < len(buffer) or ended
            except json.JSONDecodeError:
                if ended:
                    raise
                complete, value, end = False, None, place
            if complete:
                place = end
                yield value, used + place
                continue
            part = text.read(max(1 << 20, len(buffer) - place))
            ended = not part
            used += place
            buffer, place = buffer[place:] + part, 0
