"""Splitting a reply into prose, fenced blocks and tagged stretches: the grammar behind `models.replies`."""

import re
from dataclasses import dataclass
from typing import Literal

_FENCE = re.compile(r"^([ \t]*)(?:(`{3,})([^`\n]*)|(~{3,})([^\n]*))$", re.MULTILINE)
_TAG = re.compile(r"<(execute|code|answer)(?:\s[^<>\n]*)?>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a reply."""

    kind: Literal["prose", "fence", "execute", "code", "answer"]
    text: str
    """Without the marks around it."""
    tag: str = ""
    """Of a fence: the first word after its backticks, in lower case."""


def parts(text: str) -> list[Part]:
    """Split a reply into prose, fences and tagged stretches, in order, empty ones left out."""
    text = text.replace("\r\n", "\n")
    found: list[Part] = []
    position = 0
    while True:
        match, body_start, body_end, end = _next_mark(text, position)
        prose = text[position : match.start() if match else len(text)]
        if prose.strip():
            found.append(Part("prose", prose))
        if match is None:
            return found
        found.append(_marked(match, text[body_start:body_end]))
        position = end


def _next_mark(text: str, position: int) -> tuple[re.Match[str] | None, int, int, int]:
    """The next opening mark, where its body starts and ends, and where the text goes on after it."""
    fence = _FENCE.search(text, position)
    for tag in _TAG.finditer(text, position):
        if fence and fence.start() < tag.start():
            break
        name = tag.group(1).lower()
        closing = re.compile(f"</{name}\\s*>", re.IGNORECASE).search(text, tag.end())
        opens_line = not text[text.rfind("\n", 0, tag.start()) + 1 : tag.start()].strip()
        # A tag that is only talked about: `<code>df</code>` in a sentence, "put it into <execute> tags".
        if (name == "code" or closing is None) and not opens_line and text[tag.end() : tag.end() + 1] != "\n":
            continue
        return tag, tag.end(), closing.start() if closing else len(text), closing.end() if closing else len(text)
    if fence is None:
        return None, 0, 0, 0
    mark = fence.group(2) or fence.group(4)
    closing = re.compile(f"^[ \\t]*{mark[0]}{{{len(mark)},}}[ \\t]*$", re.MULTILINE).search(text, fence.end() + 1)
    start = min(fence.end() + 1, len(text))
    return fence, start, closing.start() if closing else len(text), closing.end() if closing else len(text)


def _marked(match: re.Match[str], body: str) -> Part:
    """The part that an opening mark and its body make."""
    if match.re is _FENCE:
        info = (match.group(3) or match.group(5) or "").strip().lower()
        tag = re.split(r"[\s,{:]", info.lstrip("{. "), maxsplit=1)[0].rstrip("}")
        if indent := match.group(1):
            body = re.sub(f"^{re.escape(indent)}", "", body, flags=re.MULTILINE)
        return Part("fence", body.removesuffix("\n"), tag)
    kind = match.group(1).lower()
    # On one line with its marks the spaces are decoration; on lines of its own they are indentation.
    body = body[1:].removesuffix("\n") if body.startswith("\n") else body.strip(" \t").removesuffix("\n")
    if kind == "execute":
        return Part("execute", body)
    return Part("code" if kind == "code" else "answer", body)
