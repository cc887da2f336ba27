"""Describe JSON and JSON Lines: records as a table, nested data as paths with their types."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .findings import Findings, Look, Table, UnreadableError, clean, count_text, list_text, literal, size_text
from .json_records import records_table
from .rows import WHOLE, text_of
from .source import Source
from .texts import TextHead

LOADED = 12_000_000
"""JSON files up to this many bytes are loaded whole."""
SAMPLE = 5_000
LONGEST = 30_000_000
BROKEN_LISTED = 20


def describe_text(source: Source, head: TextHead, look: Look, kind: str, lie: str) -> Findings | None:
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


def _json_lines(source: Source, head: TextHead, look: Look) -> Findings | None:
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


def _whole(value: Any, source: Source, head: TextHead, look: Look) -> Findings:
    from .json_shapes import describe_value

    packed = f", {source.packing}-compressed" if source.packing else ""
    return describe_value(value, f"json.loads({text_expression(source, head)})", f"{size_text(look.size)}{packed}")


def _streamed(source: Source, head: TextHead, look: Look) -> Findings:
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


def _elements(source: Source, head: TextHead, look: Look) -> Iterator[tuple[Any, int]]:
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
