"""The list of commands in the help, by what they are for, on terminals and in pipes."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

GROUPS: Mapping[str, Sequence[str]] = {
    "Asking": ("run", "chat", "ask", "resume", "import"),
    "Looking at threads": ("threads", "show", "log", "diff", "export", "ui", "open"),
    "Going back to a step": ("fork", "shell", "replay"),
    "Keeping order": ("rename", "tag", "move", "delete", "gc", "sandboxes"),
    "Settings and this machine": ("config", "models", "trust", "doctor"),
    "For other programs": ("serve", "mcp", "acp", "kernel"),
    "Evaluating answers": ("eval", "compare"),
}
"""Every command is in one of them; within one they are listed in this order."""

REQUIRED = re.compile(r"^\{(.+)\}")


def group_of(command: str) -> str:
    """The heading under which a command is listed."""
    return next(heading for heading, commands in GROUPS.items() if command in commands)


class PlainUsage(TyperCommand):
    """Names what must be given as it is, where Typer puts braces around it: `ask THREAD QUESTION [FILE]...`."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The words of the line of usage."""
        return [REQUIRED.sub(r"\1", piece) for piece in super().collect_usage_pieces(ctx)]


class GroupedCommands(TyperGroup):
    """Lists commands under headings in plain text, too; Typer does that in its boxes only."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands in the order of the groups."""
        return [name for commands in GROUPS.values() for name in commands if name in self.commands]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the lists."""
        limit = formatter.width - 6 - max(len(name) for name in self.list_commands(ctx))
        for heading, commands in GROUPS.items():
            rows = [(name, self.commands[name].get_short_help_str(limit)) for name in commands]
            with formatter.section(heading):
                formatter.write_dl(rows)


def add_to(app: typer.Typer, name: str, command: Callable[..., None] | typer.Typer) -> None:
    """Add a command, or commands of its own, to the application in its group."""
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name, rich_help_panel=group_of(name))
    else:
        app.command(name, cls=PlainUsage, rich_help_panel=group_of(name))(command)
