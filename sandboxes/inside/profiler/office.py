"""Describe Word, PowerPoint and OpenDocument texts: how long they are and how their text begins."""

from __future__ import annotations

import re
import zipfile
import zlib
from html import unescape

from .findings import Findings, Look, UnreadableError, clean, count_text, size_text

READ = 20_000_000
CHECKED = 200_000_000
NAMES = {"docx": "Word document", "pptx": "PowerPoint presentation", "odt": "OpenDocument text"}


def describe(look: Look, kind: str) -> Findings:
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


def _document(archive: zipfile.ZipFile, look: Look, kind: str) -> Findings:
    text = _part(archive, "word/document.xml" if kind == "docx" else "content.xml")
    mark = "w:p" if kind == "docx" else "text:(?:p|h)"
    paragraphs = [_plain(part) for part in re.findall(rf"<{mark}[ >].*?</{mark}>", text, re.DOTALL)]
    paragraphs = [part for part in paragraphs if part]
    tables = len(re.findall(r"<(?:w:tbl|table:table)[ >]", text))
    counts = f"{count_text(len(paragraphs), 'paragraph')}, {count_text(tables, 'table')}"
    found = Findings(kind=f"{NAMES[kind]}, {counts}, {size_text(look.size)}")
    found.lines = ["begins:", *(clean(part, 200) for part in paragraphs[:40])]
    return found


def _slides(archive: zipfile.ZipFile, look: Look) -> Findings:
    names = [name for name in archive.namelist() if re.fullmatch(r"ppt/slides/slide\d+\.xml", name)]
    names.sort(key=lambda name: int(re.sub(r"\D", "", name)))
    found = Findings(kind=f"PowerPoint presentation, {count_text(len(names), 'slide')}, {size_text(look.size)}")
    for place, name in enumerate(names[:40], 1):
        words = [_plain(part) for part in re.findall(r"<a:p>.*?</a:p>", _part(archive, name), re.DOTALL)]
        found.lines.append(f"- slide {place}: {clean(' / '.join(word for word in words if word), 160)}")
    return found
