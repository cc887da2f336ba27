"""Text that is safe and short enough for a terminal: no control characters, sizes and times in few words."""

import os
import shutil
import sys
import textwrap
import unicodedata
from collections import deque
from pathlib import Path
from urllib.parse import unquote, urlsplit

from stepwell.amounts import ago_text, count_text, duration_text, size_text
from storage.clean_text import clean, escaped


def is_screen() -> bool:
    """Whether stdout and stderr both are a terminal that can move its cursor."""
    moves = os.environ.get("TERM", "") not in ("dumb", "unknown", "")
    return moves and sys.stdout.isatty() and sys.stderr.isatty()


def is_conversation() -> bool:
    """Whether somebody sits there who can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


__all__ = ["OutputTail", "ago_text", "clean", "count_text", "duration_text", "one_line", "place", "reveal", "size_text"]

LONGEST_LINE = 4_000
"""Characters kept of a line that has no end."""


def reveal(code: str) -> str:
    """Code with every character that a terminal would not show written as an escape sequence of Python.

    What somebody approves must be what runs, so nothing is left out.
    """
    code = "".join(" " if unicodedata.category(char) == "Zs" else char for char in code)
    return escaped(code, lambda char: char not in "\n\t" and not char.isprintable())


def one_line(text: str, longest: int = LONGEST_LINE) -> str:
    """The text on one line, with single spaces, cut to `longest` characters."""
    # Cut before cleaning too: a line of a hundred megabytes must not be searched whole.
    line = " ".join(clean(text[: 4 * longest]).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def wrapped(text: str) -> str:
    """The text in lines that fit the terminal, broken between words.

    Code, which is indented, and a line with a command to paste stay as they are.
    """
    width = max(shutil.get_terminal_size().columns - 1, 20)
    wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    lines = text.split("\n")
    return "\n".join(line if line[:1] == " " or "stepwell " in line else wrapper.fill(line) for line in lines)


class OutputTail:
    """The last lines that a cell printed, as a terminal would show them: progress bars overwrite themselves."""

    def __init__(self, lines: int) -> None:
        self._lines: deque[tuple[str, str]] = deque(maxlen=lines)
        self._open: dict[str, str] = {}

    def feed(self, stream: str, text: str) -> None:
        """Add what a stream printed; a piece may end anywhere, also within an escape sequence."""
        *ended, rest = (self._open.pop(stream, "") + text).split("\n")
        for line in ended[-(self._lines.maxlen or 0) :]:
            self._lines.append((stream, clean(_overwritten(line))))
        if rest:
            self._open[stream] = _overwritten(rest)

    def lines(self) -> list[tuple[str, str]]:
        """Pairs of stream and line, oldest first."""
        unended = [(stream, clean(text)) for stream, text in self._open.items()]
        return [*self._lines, *(pair for pair in unended if pair[1])][-(self._lines.maxlen or 0) :]


def _overwritten(line: str) -> str:
    """What is left of a line after its carriage returns, cut; one at the end has overwritten nothing yet."""
    body = line.rstrip("\r")
    return body.rpartition("\r")[2][:LONGEST_LINE] + ("\r" if body != line else "")


def place(url: str) -> str:
    """Where a file is, as people write it: local ones as paths, those below the working directory relative to it."""
    if url.startswith("file://"):
        url = unquote(urlsplit(url).path)
    if "://" in url:
        return one_line(url)
    path = Path(url)
    here = Path.cwd()
    return one_line(str(path.relative_to(here) if path.is_relative_to(here) else path))
