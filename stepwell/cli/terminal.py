"""Terminals: whether there is one, and the console that draws on it."""

import os
import sys

from rich.console import Console
from rich.theme import Theme

THEME = Theme({"markdown.code": "bold cyan", "markdown.code_block": "cyan"})
"""Rich's own has a black background, which is ugly on a light terminal."""


class Terminal(Console):
    """A console that reads no markup and lets a closed pipe end the command."""

    def __init__(self) -> None:
        super().__init__(theme=THEME, markup=False, highlight=False, emoji=False)

    def on_broken_pipe(self) -> None:
        """Let the command decide how to end."""
        raise BrokenPipeError


def is_screen() -> bool:
    """Whether stdout and stderr both are a terminal that can move its cursor."""
    moves = os.environ.get("TERM", "") not in ("dumb", "unknown", "")
    return moves and sys.stdout.isatty() and sys.stderr.isatty()


def is_conversation() -> bool:
    """Whether somebody sits there who can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()
