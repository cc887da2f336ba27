"""Describe a PDF: pages, title, whether its text can be taken out, and how it begins."""

from __future__ import annotations

import importlib
import io
import logging
import re
from typing import Any

from .findings import Findings, Look, UnreadableError, clean, count_text, literal, size_text

PAGES = 8
"""Text is taken from so many pages at most."""


def describe(look: Look, kind: str) -> Findings:
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


def _pages(reader: Any, look: Look) -> Findings:
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


def _without_library(look: Look) -> Findings:
    with open(look.path, "rb") as stream:  # noqa: PTH123  read in parts
        data = io.BytesIO(stream.read(30_000_000)).getvalue()
    found = Findings(kind=f"PDF, {size_text(look.size)}")
    if pages := len(re.findall(rb"/Type\s*/Page[^s]", data)):
        found.kind = f"PDF, about {count_text(pages, 'page')}, {size_text(look.size)}"
    if b"%%EOF" not in data[-4096:] and look.size < 30_000_000:
        raise UnreadableError("seems to be a PDF document that breaks off: its end is missing")
    found.remarks.append("this Python has no library to take its text out (pypdf)")
    return found
