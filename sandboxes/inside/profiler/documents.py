"""Describe text, Markdown and logs: how long, how written, which headings, how it begins."""

from __future__ import annotations

import re

from .findings import Findings, Look, clean, count_text, size_text
from .rows import WHOLE, text_of
from .source import Source
from .texts import TextHead

LINE = 160


def describe_plain(source: Source, head: TextHead, look: Look, suffix: str) -> Findings:
    """Describe a text that is no table."""
    markdown = suffix in (".md", ".markdown") or (
        suffix in (".txt", "") and len(re.findall(r"(?m)^#{1,4} ", head.text)) >= 3
    )
    name = "Markdown" if markdown else "log" if suffix == ".log" else "text"
    lines, exact, headings = _count(source, head, look, markdown=markdown)
    count = f"{count_text(lines, 'line')}" if exact else f"about {lines:,} lines (estimated)"
    encoding = f"{head.encoding.name}{' (guessed)' if head.encoding.guessed else ''}"
    packed = f", {source.packing}-compressed" if source.packing else ""
    found = Findings(kind=f"{name}, {count}, encoding {encoding}, {size_text(look.size)}{packed}")
    if not head.encoding.clean:
        found.remarks.append(f"some bytes are not valid {head.encoding.name}")
    if headings:
        found.lines.append("headings: " + " / ".join(clean(heading, 60) for heading in headings[:25]))
    found.lines.append("begins:")
    shown = [line.rstrip("\r\n") for line in head.lines if line.strip()]
    found.lines += [clean(line, LINE) for line in shown[:60]]
    return found


def _count(source: Source, head: TextHead, look: Look, *, markdown: bool) -> tuple[int, bool, list[str]]:
    """Count lines, exactly when there is not too much of them, and gather headings on the way."""
    headings: list[str] = []
    if head.complete:
        lines = head.lines
        return len(lines), True, _headings(lines) if markdown else []
    with source.opened() as (stream, consumed):
        text = text_of(stream, head.encoding.name)
        count = used = 0
        ended = True
        while line := text.readline(1 << 20):
            used += len(line)
            ended = line.endswith(("\n", "\r"))
            count += ended
            if markdown and len(headings) < 25 and line.startswith("#"):
                headings += _headings([line])
            if used > WHOLE or (count % 1024 == 0 and look.over(0.4)):
                position, size = consumed(), source.packed_size or source.size or used
                return int(count * size / max(position, 1)), False, headings
    return count + (not ended), True, headings


def _headings(lines: list[str]) -> list[str]:
    found, fenced = [], False
    for line in lines:
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and re.match(r"#{1,6} \S", line):
            found.append(line.strip())
    return found
