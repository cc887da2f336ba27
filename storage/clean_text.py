"""Texts that somebody else wrote, without what a terminal or an editor would obey instead of show."""

import ast
import re
import unicodedata
from collections.abc import Callable

ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # CSI: colours, cursor movements
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"  # strings: titles, links, images
    r"|\x1b[ -/]*[0-~]?"
)
"""One escape sequence, ended or not."""

INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]")
"""Control characters but tab and newline, and the marks that turn the direction of text."""
UNSEEN = re.compile(
    "(\U0001f3f4[\U000e0030-\U000e007a]{1,6}\U000e007f)"  # flags of regions
    "|[\u061c\u200b\u200e\u200f\u2060-\u206f\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Other marks of no width, and letters that nobody sees and programs read."""

SURROGATE = re.compile(r"[\ud800-\udfff]")

JOINERS = "\u200c\u200d"
"""Invisible, and part of words and of emoji."""

_LAYOUT = dict.fromkeys(map(ord, f"\n\t{JOINERS}"))


def clean(text: str) -> str:
    """Text that cannot move the cursor, set a title, make a link or turn the reading direction.

    Newlines and tabs stay. Carriage returns before a newline go; what a lone one would overwrite is left out.
    """
    if _is_plain(text):
        return text
    text = ESCAPE.sub("", text.replace("\r\n", "\n"))
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    text = re.sub("[\u2028\u2029\x85]", "\n", text)
    return SURROGATE.sub("\ufffd", INVISIBLE.sub("", text))


def _is_plain(text: str) -> bool:
    """Whether all of it is newlines, tabs and what Python calls printable: nearly always, and one look tells."""
    return text.replace("\n", "").replace("\t", "").isprintable()


def clean_prose(text: str) -> str:
    """The same for what people read and hand on: nothing is in it that they do not see."""
    return UNSEEN.sub(lambda found: found[1] or "", clean(text))


def clean_code(code: str) -> str:
    """Python that does the same, with what an editor would not show written as escape sequences.

    They stand in literals and comments. Code that needs such a character elsewhere, as a raw string can, is put into an
    `exec` of one literal.
    """
    code = code.replace("\r\n", "\n").replace("\r", "\n")
    visible = shown_code(code)
    if visible == code or ((meant := _parsed(code)) is not None and _parsed(visible) == meant):
        return visible
    return f"exec({code!r})"


def shown_code(code: str) -> str:
    """Code to be read and not to be run, with what an editor would not show written as escape sequences."""
    if _is_plain(code) or code.translate(_LAYOUT).isprintable():
        return code
    return escaped(code, _is_hidden)


def escaped(text: str, is_hidden: Callable[[str], bool]) -> str:
    """The text with some characters written as escape sequences of Python."""
    return "".join(_escape(char) if is_hidden(char) else char for char in text)


def _is_hidden(char: str) -> bool:
    shown = char.isprintable() or char in "\n\t" or char in JOINERS
    return not shown and unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def _escape(char: str) -> str:
    point = ord(char)
    return f"\\x{point:02x}" if point <= 0xFF else f"\\u{point:04x}" if point <= 0xFFFF else f"\\U{point:08x}"


def _parsed(code: str) -> str | None:
    try:
        return ast.dump(ast.parse(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
