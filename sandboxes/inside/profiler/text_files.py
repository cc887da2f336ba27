"""Text to be profiled: where its bytes come from, how its rows are read, and its first part decoded."""

from __future__ import annotations

import codecs
import csv
import importlib
import io
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO, cast

from .detection import Encoding, decodes, detect, looks_binary, marked
from .dialect import Dialect, Layout
from .findings import Inspection, UnreadableError, literal


@dataclass
class Source:
    """Bytes that can be read from the start as often as needed."""

    path: str
    """The file in the workspace."""
    size: int | None
    """Its bytes when unpacked; None when only unpacking would tell."""
    seekable: bool = True
    packing: str = ""
    """`gzip`, `bz2`, `xz`, `zstd`, `zip`; empty for a plain file."""
    member: str = ""
    """The name inside a zip archive."""
    only_member: bool = True
    packed_size: int = 0
    padding: int = 0
    """NUL bytes at the end that are none of its text, as a broken-off copy or a preallocated file leaves them."""

    @contextmanager
    def opened(self) -> Iterator[tuple[BinaryIO, Callable[[], int]]]:
        """Open it for reading; beside it, a function that gives how many packed bytes were consumed so far."""
        with open(self.path, "rb") as raw:  # noqa: PTH123  what is opened here is a stream, not a path's content
            if self.padding:
                yield _Part(raw, self.size or 0), raw.tell
            elif not self.packing:
                yield raw, raw.tell
            elif self.packing == "zip":
                with zipfile.ZipFile(raw) as archive, archive.open(self.member) as stream:
                    yield cast(BinaryIO, stream), lambda: 0
            else:
                with _unpacker(self.packing, raw) as stream:
                    yield stream, raw.tell

    @property
    def without_padding(self) -> str:
        """What cells write to have its bytes without those at its end."""
        return f"pathlib.Path({literal(self.path)}).read_bytes()[:{self.size}]"

    def head(self, size: int) -> bytes:
        """Give at most the first `size` bytes, unpacked."""
        with self.opened() as (stream, _):
            return _read_fully(stream, size)


def find_padding(path: str, size: int) -> Source:
    """A plain file as a source, without NUL bytes at its end; those of its last character stay."""
    padding = 0
    with open(path, "rb") as stream:  # noqa: PTH123  only its end
        while padding < size:
            stream.seek(max(size - padding - BLOCK_BYTES, 0))
            block = stream.read(min(BLOCK_BYTES, size - padding))
            found = len(block) - len(block.rstrip(b"\0"))
            padding += found
            if found < len(block):
                break
    cut = Source(path, size - padding, padding=padding)
    name = marked(cut.head(4096)) if padding else ""
    unit = 4 if "32" in name else 2 if "16" in name else 1
    padding -= -(size - padding) % unit
    return Source(path, size) if padding in (0, size) else Source(path, size - padding, padding=padding)


class _Part(io.RawIOBase, BinaryIO):  # type: ignore[misc,unused-ignore]
    """The first bytes of a file, which ends there; closing it leaves the file open."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        super().__init__()
        self._stream, self._size = stream, size

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        left = max(self._size - self._stream.tell(), 0)
        return self._stream.read(left if size < 0 else min(size, left))

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._stream.seek(offset if whence != 2 else self._size + offset, 0 if whence == 2 else whence)

    def tell(self) -> int:
        return self._stream.tell()


def _read_fully(stream: BinaryIO, size: int) -> bytes:
    parts, left = [], size
    while left > 0 and (part := stream.read(min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _unpacker(packing: str, raw: BinaryIO) -> BinaryIO:
    if packing == "gzip":
        import gzip

        return cast(BinaryIO, gzip.GzipFile(fileobj=raw, mode="rb"))
    if packing == "bz2":
        import bz2

        return cast(BinaryIO, bz2.BZ2File(raw))
    if packing == "xz":
        import lzma

        return cast(BinaryIO, lzma.LZMAFile(raw))
    return _zstd(raw)


def _zstd(raw: BinaryIO) -> BinaryIO:
    for module in ("compression.zstd", "backports.zstd"):
        try:
            return cast(BinaryIO, importlib.import_module(module).ZstdFile(raw))
        except ImportError:
            continue
    try:
        zstandard = importlib.import_module("zstandard")
        reader = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True, closefd=False)
        return cast(BinaryIO, io.BufferedReader(reader))
    except ImportError:
        pass
    try:
        pyarrow = importlib.import_module("pyarrow")
        return cast(BinaryIO, pyarrow.CompressedInputStream(pyarrow.PythonFile(raw), "zstd"))
    except ImportError:
        raise UnreadableError(
            "is compressed with Zstandard, and this Python has no library for it (zstandard)"
        ) from None


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
    """Whether a field does not end within bounds."""
    cut: bool = False
    """Whether a line was so long that it was read as several."""
    blocks: int = 0
    """Blocks beyond the head that rows were taken from."""
    chars: int = 0
    gaps: list[int] = field(default_factory=list)
    """Places of rows that come after blank lines."""
    _step: int = 1
    _most: int = 0
    _blank: bool = False

    def __post_init__(self) -> None:
        self._most = max(40, CELLS // max(self.width, 1))

    def add(self, line: int, row: list[str]) -> None:
        """Take a row in; keep it when it is its turn."""
        if self.read < 5:
            self.first.append([cell[:KEPT_CHARS] for cell in row])
        if self._blank and self.read and len(self.gaps) < 20:
            self.gaps.append(self.read)
        self._blank = False
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
            self._blank = self._blank or line in ("\n", "\r\n", "\r")
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


def read_rows(
    source: Source, dialect: Dialect, layout: Layout, encoding: str, look: Inspection, *, sampled: bool = False
) -> Rows:
    """Read a table's rows below its header: whole when it is small enough and there is time, else in samples.

    With `sampled` only its beginning is read, which takes a fraction of a second.
    """
    rows = Rows(layout.width)
    most = BLOCK_BYTES if sampled else None if source.size is None or source.size <= WHOLE else HEAD_BYTES
    with source.opened() as (stream, consumed):
        used, done = _through(rows, stream, dialect, layout, encoding, look, most)
        if done:
            rows.whole = True
            return rows
        packed = consumed()
    if source.size is not None and source.seekable and rows.read and not sampled:
        rows.estimate = _blocks(rows, source, dialect, encoding, used, look)
    elif packed and source.packed_size:
        rows.estimate = int(rows.read * source.packed_size / max(packed, 1))
    elif source.size and used:
        rows.estimate = int(rows.read * source.size / used)
    return rows


def _through(
    rows: Rows, stream: BinaryIO, dialect: Dialect, layout: Layout, encoding: str, look: Inspection, most: int | None
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


def _blocks(rows: Rows, source: Source, dialect: Dialect, encoding: str, used: int, look: Inspection) -> int:
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


HEAD = 262_144
WIDE_HEAD = 4_000_000
"""Bytes looked at when three lines do not fit into the usual head."""
EVIDENCE = 400_000


@dataclass
class TextHead:
    """What a text starts with."""

    encoding: Encoding
    text: str
    complete: bool
    """Whether this is all of it."""

    @property
    def lines(self) -> list[str]:
        """Whole lines with their ends; the last one may be cut when it is the only one."""
        found = list(io.StringIO(self.text, newline=""))
        return found if self.complete or len(found) < 2 else found[:-1]


def text_head(source: Source, look: Inspection) -> TextHead | None:
    """Read the head as text; None when the bytes are no text."""
    head = source.head(HEAD + 1)
    complete = len(head) <= HEAD
    if not complete and head.count(b"\n") + head.count(b"\r") < 4:
        head = source.head(WIDE_HEAD + 1)
        complete = len(head) <= WIDE_HEAD
    if name := marked(head):
        if not decodes(head, name, whole=complete):
            found = Encoding(name, clean=False)
            return TextHead(found, codecs.getincrementaldecoder(name)("replace").decode(head), complete)
        encoding = Encoding(name)
    elif looks_binary(head[:65_536]):
        return None
    else:
        encoding = detect(head if complete else _evidence(source, look))
    decoder = codecs.getincrementaldecoder(encoding.name)("replace")
    return TextHead(encoding, decoder.decode(head, final=complete), complete)


def _evidence(source: Source, look: Inspection) -> bytes:
    """Gather lines that hold bytes beyond ASCII: from all of a file when it is small, else from its head and blocks."""
    found = bytearray()
    if source.size is not None and source.size > WHOLE and source.seekable:
        with source.opened() as (stream, _):
            for block in range(BLOCKS + 1):
                stream.seek((source.size - BLOCK_BYTES) * block // BLOCKS)
                part = stream.read(BLOCK_BYTES)
                lines = part.split(b"\n")
                _take(found, lines[1:-1] if block else lines[:-1])
        return bytes(found)
    with source.opened() as (stream, _):
        left, rest = WHOLE, b""
        while left > 0 and len(found) < EVIDENCE and not look.over(0.7) and (part := stream.read(1 << 20)):
            left -= len(part)
            if part.isascii() and rest.isascii():
                rest = part[-4096:].rsplit(b"\n", 1)[-1]
                continue
            lines = (rest + part).split(b"\n")
            rest = lines.pop()[-(1 << 20) :]
            _take(found, lines)
        if len(found) < EVIDENCE:
            _take(found, [rest])
    return bytes(found)


def _take(found: bytearray, lines: list[bytes]) -> None:
    for line in lines:
        if not line.isascii() and len(found) < EVIDENCE:
            found += line + b"\n"
