"""The head of a text file: its encoding and first lines, whatever the text then turns out to be."""

from __future__ import annotations

import codecs
import io
from dataclasses import dataclass

from .encoding import Encoding, decodes, detect, looks_binary, marked
from .findings import Look
from .rows import BLOCK_BYTES, BLOCKS, WHOLE
from .source import Source

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


def text_head(source: Source, look: Look) -> TextHead | None:
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


def _evidence(source: Source, look: Look) -> bytes:
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
