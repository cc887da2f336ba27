"""Splitting a reply into prose, fenced blocks and tagged stretches: the grammar behind `models.replies`."""

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

_FENCE = re.compile(r"^([ \t]*)(?:(`{3,})([^`\n]*)|(~{3,})([^\n]*))$", re.MULTILINE)
_TAG = re.compile(r"(^[ \t]*)?<(execute|code|answer)(?:\s[^<>\n]{0,200})?>", re.IGNORECASE | re.MULTILINE)

_CLOSINGS = {name: re.compile(f"</{name}\\s*>", re.IGNORECASE) for name in ("execute", "code", "answer")}


@dataclass(frozen=True, slots=True)
class ReplyPart:
    """A stretch of a reply."""

    kind: Literal["prose", "fence", "execute", "code", "answer"]
    text: str
    """Without the marks around it."""
    tag: str = ""
    """Of a fence: the first word after its backticks, in lower case."""


def parts(text: str) -> list[ReplyPart]:
    """Split a reply into prose, fences and tagged stretches, in order, empty ones left out."""
    text = text.replace("\r\n", "\n")
    marks = _Marks(text)
    found: list[ReplyPart] = []
    position = 0
    while True:
        mark = marks.after(position)
        prose = text[position : mark.opening.start() if mark else len(text)]
        if prose.strip():
            found.append(ReplyPart("prose", prose))
        if mark is None:
            return found
        found.append(_marked(mark.opening, text[mark.start : mark.end]))
        position = mark.goes_on


class _Mark(NamedTuple):
    """An opening mark, where its body starts and ends, and where the text goes on after it."""

    opening: re.Match[str]
    start: int
    end: int
    goes_on: int


class _Marks:
    """The marks of one text, found from left to right; what was found further on is kept, so that time stays linear."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._found: dict[re.Pattern[str], re.Match[str] | None] = {}

    def after(self, position: int) -> _Mark | None:
        """The next mark that opens a stretch."""
        fence = self._next(_FENCE, position)
        while (tag := self._next(_TAG, position)) and not (fence and fence.start() < tag.start()):
            if self._is_quoted(tag.start(2)):
                position = tag.end()
                continue
            name = tag.group(2).lower()
            closing = self._next(_CLOSINGS[name], tag.end())
            ends_line = self.text[tag.end() : tag.end() + 1] == "\n"
            # Else it is only talked about: `<code>df</code>` in a sentence, "put it into <execute> tags".
            if tag.group(1) is not None or ends_line or (closing and name != "code"):
                return self._mark(tag, tag.end(), closing)
            position = tag.end()
        if fence is None:
            return None
        marks = fence.group(2) or fence.group(4)
        start = min(fence.end() + 1, len(self.text))
        ending = re.compile(f"^[ \\t]*{marks[0]}{{{len(marks)},}}[ \\t]*$", re.MULTILINE)
        return self._mark(fence, start, ending.search(self.text, start))

    def _is_quoted(self, place: int) -> bool:
        """Whether a line of data is quoted there, as prompts mark them or as Markdown does."""
        return self.text[self.text.rfind("\n", 0, place) + 1 : place].lstrip().startswith(("|", ">"))

    def _mark(self, opening: re.Match[str], start: int, closing: re.Match[str] | None) -> _Mark:
        length = len(self.text)
        return _Mark(opening, start, closing.start() if closing else length, closing.end() if closing else length)

    def _next(self, pattern: re.Pattern[str], position: int) -> re.Match[str] | None:
        found = self._found.get(pattern)
        if pattern not in self._found or (found and found.start() < position):
            found = self._found[pattern] = pattern.search(self.text, position)
        return found


def _marked(match: re.Match[str], body: str) -> ReplyPart:
    """The part that an opening mark and its body make."""
    if match.re is _FENCE:
        info = (match.group(3) or match.group(5) or "").strip().lower()
        tag = re.split(r"[\s,{:]", info.lstrip("{. "), maxsplit=1)[0].rstrip("}")
        if indent := match.group(1):
            body = re.sub(f"^{re.escape(indent)}", "", body, flags=re.MULTILINE)
        return ReplyPart("fence", body.removesuffix("\n"), tag)
    kind = match.group(2).lower()
    # On one line with its marks the spaces are decoration; on lines of its own they are indentation.
    body = body[1:].removesuffix("\n") if body.startswith("\n") else body.strip(" \t").removesuffix("\n")
    if kind == "execute":
        return ReplyPart("execute", body)
    return ReplyPart("code" if kind == "code" else "answer", body)
