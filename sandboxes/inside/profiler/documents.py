"""Describe documents: text, Markdown and logs, Office documents, PDF."""

from __future__ import annotations

import importlib
import io
import logging
import re
import zipfile
import zlib
from html import unescape
from typing import Any

from .findings import Findings, Inspection, UnreadableError, clean, count_text, literal, size_text
from .text_files import WHOLE, Source, TextHead, text_of

LINE = 160
SEPARATORS = re.compile("[\v\f\x1c-\x1e\x85\u2028\u2029]")
"""What `str.splitlines` takes for the end of a line besides line feeds and carriage returns."""


def describe_plain(source: Source, head: TextHead, look: Inspection, suffix: str) -> Findings:
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
    if SEPARATORS.search(head.text):
        found.remarks.append("has form feeds or such within lines, where splitlines() splits, too; open() does not")
    if headings:
        found.lines.append("headings: " + " / ".join(clean(heading, 60) for heading in headings[:25]))
    found.lines.append("begins:")
    shown = [line.rstrip("\r\n") for line in head.lines if line.strip()]
    found.lines += [clean(line.replace("\f", "␌"), LINE) for line in shown[:60]]
    return found


def _count(source: Source, head: TextHead, look: Inspection, *, markdown: bool) -> tuple[int, bool, list[str]]:
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


READ = 20_000_000
CHECKED = 200_000_000
NAMES = {"docx": "Word document", "pptx": "PowerPoint presentation", "odt": "OpenDocument text"}


def describe_office(look: Inspection, kind: str) -> Findings:
    """Describe a document.

    Raises:
        UnreadableError: a part of it is damaged.
    """
    try:
        with zipfile.ZipFile(look.path) as archive:
            if sum(member.file_size for member in archive.infolist()) <= CHECKED and (bad := archive.testzip()):
                raise UnreadableError(f"is a {NAMES[kind]} in which {clean(bad)} is corrupt")
            return _slides(archive, look) if kind == "pptx" else _document(archive, look, kind)
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, OSError, RuntimeError) as error:
        raise UnreadableError(f"seems to be a {NAMES[kind]} that is corrupt: {clean(error, 100)}") from error


def _part(archive: zipfile.ZipFile, name: str) -> str:
    with archive.open(name) as stream:
        return stream.read(READ).decode("utf-8", "replace")


def _plain(text: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", "", text)).split())


def _document(archive: zipfile.ZipFile, look: Inspection, kind: str) -> Findings:
    text = _part(archive, "word/document.xml" if kind == "docx" else "content.xml")
    mark = "w:p" if kind == "docx" else "text:(?:p|h)"
    paragraphs = [_plain(part) for part in re.findall(rf"<{mark}[ >].*?</{mark}>", text, re.DOTALL)]
    paragraphs = [part for part in paragraphs if part]
    tables = len(re.findall(r"<(?:w:tbl|table:table)[ >]", text))
    counts = f"{count_text(len(paragraphs), 'paragraph')}, {count_text(tables, 'table')}"
    found = Findings(kind=f"{NAMES[kind]}, {counts}, {size_text(look.size)}")
    found.lines = ["begins:", *(clean(part, 200) for part in paragraphs[:40])]
    return found


def _slides(archive: zipfile.ZipFile, look: Inspection) -> Findings:
    names = [name for name in archive.namelist() if re.fullmatch(r"ppt/slides/slide\d+\.xml", name)]
    names.sort(key=lambda name: int(re.sub(r"\D", "", name)))
    found = Findings(kind=f"PowerPoint presentation, {count_text(len(names), 'slide')}, {size_text(look.size)}")
    for place, name in enumerate(names[:40], 1):
        words = [_plain(part) for part in re.findall(r"<a:p>.*?</a:p>", _part(archive, name), re.DOTALL)]
        found.lines.append(f"- slide {place}: {clean(' / '.join(word for word in words if word), 160)}")
    return found


PAGES = 8
"""Text is taken from so many pages at most."""


def describe_pdf(look: Inspection, kind: str) -> Findings:
    """Describe a PDF document.

    Raises:
        UnreadableError: it is truncated, corrupt or needs a password.
    """
    logging.disable(logging.CRITICAL)
    try:
        pypdf = importlib.import_module("pypdf")
    except ImportError:
        return _without_library(look)
    try:
        with open(look.path, "rb") as stream:  # noqa: PTH123  a stream stays open while pages are read
            reader = pypdf.PdfReader(stream, strict=False)
            if reader.is_encrypted and not _unlocked(reader):
                raise UnreadableError("is a password-protected PDF; it must be saved without the password to be read")
            return _pages(reader, look)
    except UnreadableError:
        raise
    except Exception as error:  # a damaged PDF makes pypdf raise almost anything
        raise UnreadableError(
            f"seems to be a PDF document that is truncated or corrupt: {clean(error, 120) or type(error).__name__}"
        ) from error


def _unlocked(reader: Any) -> bool:
    """Whether it opens with an empty password, as files do that only forbid printing."""
    try:
        return bool(reader.decrypt(""))
    except Exception:  # the cipher's library may be missing, or the file damaged: either way it stays shut
        return False


def _pages(reader: Any, look: Inspection) -> Findings:
    pages = len(reader.pages)
    if not pages:
        raise UnreadableError("seems to be a PDF document that is truncated or corrupt: it has no pages")
    found = Findings(kind=f"PDF, {count_text(pages, 'page')}, {size_text(look.size)}")
    texts: list[str] = []
    failed = 0
    for place in range(min(pages, PAGES)):
        if look.over(0.4):
            break
        try:
            texts.append(reader.pages[place].extract_text() or "")
        except Exception:  # one bad page says nothing about the others
            failed += 1
        look.publish(found)
    title = str((reader.metadata or {}).get("/Title") or "").strip()
    if title:
        found.lines.append(f"title: {clean(title, 160)}")
    chars = sum(len(text.strip()) for text in texts)
    looked = f"the first {len(texts)} pages" if pages > len(texts) else "it"
    if failed:
        found.remarks.append(f"the text of {failed} pages cannot be taken out")
    if chars < 20 * max(len(texts), 1):
        images = _has_images(reader)
        found.remarks.append(
            f"{looked} {'has' if looked == 'it' else 'have'} {'hardly any' if chars else 'no'} text to be taken out"
            + ("; it seems to be scanned, so reading it needs OCR" if images else "")
        )
    else:
        reading = f"[page.extract_text() for page in pypdf.PdfReader({literal(look.path)}).pages]"
        found.lines.append(f"read its text with: {reading}")
    for place, text in enumerate(texts, 1):
        if lines := [" ".join(line.split()) for line in text.splitlines() if line.strip()]:
            found.lines.append(f"page {place}:")
            found.lines += [clean(line, 160) for line in lines[:30]]
    return found


def _has_images(reader: Any) -> bool:
    try:
        return any("/XObject" in (page.get("/Resources") or {}) for page in list(reader.pages)[:3])
    except Exception:  # only a hint for a remark
        return False


def _without_library(look: Inspection) -> Findings:
    with open(look.path, "rb") as stream:  # noqa: PTH123  read in parts
        data = io.BytesIO(stream.read(30_000_000)).getvalue()
    found = Findings(kind=f"PDF, {size_text(look.size)}")
    if pages := len(re.findall(rb"/Type\s*/Page[^s]", data)):
        found.kind = f"PDF, about {count_text(pages, 'page')}, {size_text(look.size)}"
    if b"%%EOF" not in data[-4096:] and look.size < 30_000_000:
        raise UnreadableError("seems to be a PDF document that breaks off: its end is missing")
    found.remarks.append("this Python has no library to take its text out (pypdf)")
    return found
