"""Read the rows of a delimited text with flat memory: all of them when it is small, else its head and some blocks."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from .dialect import Dialect, Layout
from .findings import Look
from .source import Source

WHOLE = 64_000_000
"""Files up to this many bytes are read whole."""
HEAD_BYTES = 4_000_000
BLOCKS = 8
BLOCK_BYTES = 500_000
CELLS = 500_000
"""So many cells are kept for statistics, evenly spread over the rows that were read."""
KEPT_CHARS = 200
LONGEST_LINE = 8_000_000
"""Characters; what is longer is read as if it were several lines."""
SAMPLE_CHARS = 30_000_000


@dataclass
class Rows:
    """The rows that were read, or an even sample of them."""

    width: int
    sample: list[list[str]] = field(default_factory=list)
    first: list[list[str]] = field(default_factory=list)
    widths: Counter[int] = field(default_factory=Counter)
    read: int = 0
    estimate: int = 0
    """All rows of the file, when not all were read."""
    whole: bool = False
    """Whether all rows were read."""
    wide_lines: list[int] = field(default_factory=list)
    wide_filled: bool = False
    """Whether fields beyond the header's hold anything."""
    undecodable: int = 0
    """Lines with bytes that are not valid in the encoding."""
    nuls: bool = False
    unclosed: bool = False
    cut: bool = False
    """Whether a line was so long that it was read as several."""
    blocks: int = 0
    """Blocks beyond the head that rows were taken from."""
    chars: int = 0
    _step: int = 1
    _most: int = 0

    def __post_init__(self) -> None:
        self._most = max(40, CELLS // max(self.width, 1))

    def add(self, line: int, row: list[str]) -> None:
        """Take a row in; keep it when it is its turn."""
        if self.read < 5:
            self.first.append([cell[:KEPT_CHARS] for cell in row])
        self.widths[len(row)] += 1
        if len(row) > self.width:
            if len(self.wide_lines) < 20:
                self.wide_lines.append(line + 1)
            self.wide_filled = self.wide_filled or any(row[self.width :])
        if self.read % self._step == 0:
            kept = [cell if len(cell) <= KEPT_CHARS else cell[:KEPT_CHARS] for cell in row]
            self.sample.append(kept)
            self.chars += sum(map(len, kept))
            if len(self.sample) >= self._most or self.chars > SAMPLE_CHARS:
                self.sample = self.sample[::2]
                self.chars = sum(len(cell) for other in self.sample for cell in other)
                self._step *= 2
        self.read += 1

    def lines(self, stream: io.TextIOBase) -> Iterator[str]:
        """Give the lines of a text, none beyond bounds, noting what is wrong with them."""
        while line := stream.readline(LONGEST_LINE):
            if "\N{REPLACEMENT CHARACTER}" in line:
                self.undecodable += 1
            if len(line) == LONGEST_LINE:
                self.cut = True
            if "\0" in line:
                self.nuls = True
                line = line.replace("\0", "")
            yield line


def text_of(stream: BinaryIO, encoding: str) -> io.TextIOWrapper:
    """Open bytes as text that keeps its line ends and shows what cannot be decoded as U+FFFD."""
    stream = stream if isinstance(stream, _Counted) else _Counted(stream)
    return io.TextIOWrapper(stream, encoding=encoding, errors="replace", newline="")


def read_rows(source: Source, dialect: Dialect, layout: Layout, encoding: str, look: Look) -> Rows:
    """Read a table's rows below its header: whole when it is small enough and there is time, else in samples."""
    rows = Rows(layout.width)
    csv.field_size_limit(LONGEST_LINE * 2)
    small = source.size is None or source.size <= WHOLE
    with source.opened() as (stream, consumed):
        used, done = _through(rows, stream, dialect, layout, encoding, look, None if small else HEAD_BYTES)
        if done:
            rows.whole = True
            return rows
        packed = consumed()
    if source.size is not None and source.seekable and rows.read:
        rows.estimate = _blocks(rows, source, dialect, encoding, used, look)
    elif packed and source.packed_size:
        rows.estimate = int(rows.read * source.packed_size / max(packed, 1))
    elif source.size and used:
        rows.estimate = int(rows.read * source.size / used)
    return rows


def _through(
    rows: Rows, stream: BinaryIO, dialect: Dialect, layout: Layout, encoding: str, look: Look, most: int | None
) -> tuple[int, bool]:
    """Read from the start; give the bytes used (about, for a text that is decoded) and whether the end was reached."""
    counter = _Counted(stream)
    text = text_of(counter, encoding)
    begin = layout.first_line + (1 if layout.has_header else 0)
    limit = WHOLE if most is None else most
    try:
        for place, (line, row) in enumerate(dialect.rows(rows.lines(text))):
            if line < begin:
                continue
            rows.add(line, row)
            if place % 256 == 0 and (counter.count > limit + 65_536 or look.over(0.3)):
                return counter.count, False
    except csv.Error:
        rows.unclosed = True
        return counter.count, False
    return counter.count, True


class _Counted(io.RawIOBase, BinaryIO):  # type: ignore[misc,unused-ignore]
    """A stream that counts the bytes read from it and does not close what it reads from."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__()
        self._stream = stream
        self.count = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        data = self._stream.read(size)
        self.count += len(data)
        return data

    def read1(self, size: int = -1, /) -> bytes:
        return self.read(size if size and size > 0 else 65_536)


def _blocks(rows: Rows, source: Source, dialect: Dialect, encoding: str, used: int, look: Look) -> int:
    """Add rows from blocks between the head and the end; give an estimate of all rows."""
    size = source.size or 0
    head_rows, sampled, sampled_rows = rows.read, used, rows.read
    unit = 4 if "32" in encoding else 2 if "16" in encoding else 1
    with open(source.path, "rb") as stream:  # noqa: PTH123  what is opened here is a stream, not a path's content
        mark = stream.read(4)
        for block in range(BLOCKS):
            if look.over(0.3):
                break
            start = used + (size - used - BLOCK_BYTES) * block // (BLOCKS - 1)
            start -= start % unit
            if start <= used:
                continue
            stream.seek(start)
            text = stream.read(BLOCK_BYTES).decode(_plain(encoding, mark), "replace")
            lines = list(io.StringIO(text.replace("\0", ""), newline=""))
            at_end = block == BLOCKS - 1
            found, size_found = _aligned(lines[1:] if at_end else lines[1:-1], dialect, rows.width)
            for row in found:
                rows.add(-1, row)
            if found:
                rows.blocks += 1
                sampled += int(size_found * BLOCK_BYTES / max(len(text), 1))
                sampled_rows += len(found)
    return max(int(sampled_rows * size / max(sampled, 1)), head_rows)


def _plain(encoding: str, mark: bytes) -> str:
    """The encoding without its byte order mark, for bytes from the middle."""
    if encoding == "utf-8-sig":
        return "utf-8"
    if encoding in ("utf-16", "utf-32"):
        big = mark[:2] == codecs.BOM_UTF16_BE or mark[:4] == codecs.BOM_UTF32_BE
        return f"{encoding}-{'be' if big else 'le'}"
    return encoding


def _aligned(lines: list[str], dialect: Dialect, width: int) -> tuple[list[list[str]], int]:
    """Parse lines from somewhere in a file: it may begin inside of quotes, so the most regular beginning is taken."""
    best: list[list[str]] = []
    best_good, size = -1, 0
    for skip in range(min(4, max(len(lines), 1))):
        part = lines[skip:]
        try:
            found = [row for _, row in dialect.rows(part)]
        except csv.Error:
            continue
        good = sum(len(row) == width for row in found)
        if good > best_good:
            best, best_good, size = found, good, sum(map(len, part))
        if good == len(found):
            break
    # The last row may be cut inside of quotes.
    regular = [row for row in (best[:-1] if len(best) > 1 else best) if len(row) <= width * 2 + 10]
    return regular, size
