"""The colours of the terminal: each can be read on a light background and on a dark one.

A program is not told which background it writes on, and the named colours are what a terminal makes of them: its yellow
and cyan are hardly seen on white. These are of the fixed part of the 256 colours, and their contrast is at least 3.8
with white and with black. Terminals with fewer colours get the nearest that they have.
"""

from pygments.token import Comment, Error, Keyword, Name, Number, Operator, String, Token
from rich.color import Color
from rich.style import Style
from rich.syntax import RICH_SYNTAX_THEMES
from rich.theme import Theme

GREEN, ORANGE, RED, BLUE, TEAL, PURPLE, GREY = 28, 130, 160, 32, 30, 133, 243
CODE_THEME = "stepwell"
"""The name under which Rich's code blocks find our colours of Python."""


def _style(number: int, *, bold: bool = False, italic: bool = False) -> Style:
    return Style(color=Color.from_ansi(number), bold=bold or None, italic=italic or None)


NAMED = {
    "green": _style(GREEN),
    "yellow": _style(ORANGE),
    "red": _style(RED),
    "cyan": _style(TEAL),
    "magenta": _style(PURPLE),
    "dim": _style(GREY),
    "bold green": _style(GREEN, bold=True),
}
"""What the views call by the names of colours."""

CODE: dict[tuple[str, ...], Style] = {
    Token: Style(),
    Comment: _style(GREY, italic=True),
    Keyword: _style(BLUE, bold=True),
    Operator.Word: _style(BLUE, bold=True),
    Name.Builtin: _style(TEAL),
    Name.Function: _style(TEAL),
    Name.Class: _style(TEAL, bold=True),
    Name.Decorator: _style(PURPLE),
    Name.Exception: _style(RED),
    String: _style(GREEN),
    Number: _style(PURPLE),
    Error: _style(RED),
}

# The only way to name a theme of one's own to Rich's Markdown.
RICH_SYNTAX_THEMES.setdefault(CODE_THEME, CODE)

# Rich's own code has a black background.
THEME = Theme(
    {
        **NAMED,
        "markdown.code": _style(TEAL, bold=True),
        "markdown.code_block": _style(TEAL),
        "markdown.h2": _style(PURPLE, bold=True),
        "markdown.h3": _style(PURPLE, bold=True),
        "markdown.h4": _style(PURPLE, italic=True),
        "markdown.list": Style(),
        "markdown.link": _style(BLUE),
        "markdown.link_url": _style(BLUE),
        "markdown.item.bullet": _style(PURPLE),
        "markdown.item.number": _style(TEAL),
        "markdown.block_quote": _style(PURPLE),
        "markdown.hr": _style(GREY),
        "markdown.table.border": _style(GREY),
        "markdown.table.header": _style(TEAL, bold=True),
    }
)
