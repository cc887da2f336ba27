"""Reads what somebody types: lines that can be edited, with those of earlier times, and texts of several lines."""

import glob
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

HISTORY_LINES = 5_000
CONTINUED = "\\"
"""At the end of a line: the next one belongs to it."""


@contextmanager
def remembering(history: Path, *, all_lines: bool = True) -> Iterator[None]:
    """Line editing, and the lines of earlier times.

    Args:
        history: The file that keeps them, readable by its owner only.
        all_lines: Whether every line that is read meanwhile is kept, and not only those that `typed` reads.
    """
    try:
        import readline
    except ImportError:  # a Python without it
        yield
        return
    with suppress(OSError):
        readline.read_history_file(history)
    readline.set_auto_history(all_lines)
    try:
        yield
    finally:
        readline.set_auto_history(True)
        readline.set_history_length(HISTORY_LINES)
        with suppress(OSError):
            history.parent.mkdir(parents=True, exist_ok=True)
            history.touch(mode=0o600)
            readline.write_history_file(history)


@contextmanager
def completing(commands: Sequence[str], with_files: Sequence[str]) -> Iterator[None]:
    """The tabulator completes commands at the beginning of a line, and the names of files after some of them.

    Args:
        commands: All of them.
        with_files: Those that take names of files.
    """
    try:
        import readline
    except ImportError:
        yield
        return

    def candidates(text: str) -> list[str]:
        line = readline.get_line_buffer()[: readline.get_endidx()]
        command, space, _ = line.partition(" ")
        if not space:
            return [f"{name} " for name in commands if name.startswith(text)]
        if command not in with_files:
            return []
        found = glob.glob(f"{glob.escape(os.path.expanduser(text))}*")  # noqa: PTH111, PTH207 - what was typed, as it is
        return sorted(f"{name}/" if Path(name).is_dir() else name for name in found)

    def complete(text: str, state: int) -> str | None:
        found = candidates(text)
        return found[state] if state < len(found) else None

    before, delimiters = readline.get_completer(), readline.get_completer_delims()
    readline.set_completer(complete)
    readline.set_completer_delims(" \t\n")
    # Python on macOS has libedit, which is told so in other words.
    edits = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if edits else "tab: complete")
    try:
        yield
    finally:
        readline.set_completer(before)
        readline.set_completer_delims(delimiters)


def typed(prompt: str, more: str) -> str:
    """What is typed at a prompt, and kept; a backslash at the end of a line continues it.

    Raises:
        EOFError: Ctrl-D in an empty line.
        KeyboardInterrupt: Ctrl-C; nothing of it counts.
    """
    return _joined(_noted(input(prompt)), lambda: _noted(input(more)))


def _noted(line: str) -> str:
    with suppress(ImportError):
        import readline

        if line.strip():
            readline.add_history(line)
    return line


def piped() -> Iterator[str]:
    """The texts that come from a pipe, one a line, with the same continued lines."""

    def further() -> str:
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\r\n")

    while True:
        try:
            first = further()
        except EOFError:
            return
        yield _joined(first, further)


def _joined(first: str, further: Callable[[], str]) -> str:
    lines = [first]
    while lines[-1].endswith(CONTINUED):
        lines[-1] = lines[-1].removesuffix(CONTINUED)
        try:
            lines.append(further())
        except EOFError:  # what was typed so far counts
            break
    return "\n".join(lines)
