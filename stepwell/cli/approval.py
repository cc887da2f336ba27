"""Asks somebody at a terminal whether a cell may run, or whether a call may be made."""

import os
import shlex
import shutil
import subprocess
import sys
import termios

from rich.console import Console
from rich.text import Text

from graph.events import ApprovalAsked
from sandboxes.host.scratch import held_folder
from stepwell.cli.live_view import highlighted
from stepwell.cli.terminal_text import one_line
from stepwell.cli.words import call_lines
from stepwell.runs import Decision

EDITORS = ("sensible-editor", "nano", "vim", "vi")
"""Tried in this order when neither VISUAL nor EDITOR is set."""


def ask(console: Console, asked: ApprovalAsked) -> Decision | None:
    """Show a cell, or a call, and ask what to do with it.

    Returns:
        The decision, or None to leave the cell waiting.
    """
    console.print()
    if asked.call is not None:
        title, *lines = call_lines(asked.number, asked.call)
        console.print(Text(f"{title[0].upper()}{title[1:]}", "bold"))
        console.print(Text("\n".join(lines)))
        console.print(Text(f"The code of cell {asked.number}:"))
    else:
        console.print(Text(f"Cell {asked.number} waits for approval: {one_line(asked.purpose)}", "bold"))
    for line in highlighted(asked.code):
        console.print(Text.assemble("  ", line))
    if asked.functions:
        console.print(Text(f"It names: {one_line(', '.join(asked.functions))}", "yellow"))
    console.print()
    _forget_typed()
    prompt = "[a]pprove, [e]dit, [r]eject, [q]uit? " if asked.call is None else "[a]pprove, [r]eject, [q]uit? "
    try:
        while True:
            decision = _decided(console, asked, _typed(prompt).lower())
            if decision != "ask again":
                return decision if isinstance(decision, Decision) else None
    except (EOFError, KeyboardInterrupt):
        console.print()
        return None


def _decided(console: Console, asked: ApprovalAsked, word: str) -> Decision | str:
    if word in ("a", "approve", "y", "yes"):
        return Decision("approve", call=asked.call["id"] if asked.call is not None else "")
    if word in ("r", "reject", "n", "no"):
        return Decision("reject", remark=_typed("What should be different? "))
    if word in ("q", "quit"):
        return "leave"
    if word in ("e", "edit") and asked.call is None:
        try:
            return Decision("edit", code=edited(asked.code, asked.number))
        except EditError as problem:
            console.print(Text(str(problem), "yellow"))
    return "ask again"


class EditError(Exception):
    """The code was not edited; the message says why."""


def edited(code: str, number: int) -> str:
    """Let the user change the code in their editor.

    Raises:
        EditError: there is no editor, it failed, or it left the code as it was or empty.
    """
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or next(filter(shutil.which, EDITORS), "")
    if not command:
        raise EditError("No editor was found; set EDITOR to one, or use: stepwell resume … --edit FILE")
    with held_folder("edit") as folder:
        file = folder / f"cell-{number}.py"
        file.write_text(code, encoding="utf-8", errors="replace")
        try:
            # The user's own editor, by the user's own choice, without a shell.
            status = subprocess.run([*shlex.split(command), str(file)], check=False).returncode  # noqa: S603
            changed = file.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise EditError(f"The editor {one_line(command)} could not be used ({error}); set EDITOR.") from None
    if status != 0:
        raise EditError(f"The editor ended with code {status}; the cell is as it was.")
    if not changed.strip() or changed.strip() == code.strip():
        raise EditError("The editor left the code empty or as it was; approve it, or reject it with a remark.")
    return changed


def _typed(prompt: str) -> str:
    # Carried bytes that are not UTF-8 must not end up in a checkpoint.
    return input(prompt).strip().encode(errors="replace").decode()


def _forget_typed() -> None:
    # What was typed while a cell ran was not meant as an approval of the next.
    if sys.stdin.isatty():
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
