"""The terminal's input while nobody is asked: typing is not echoed, and what the terminal itself answers is taken out.

A terminal that is asked what it can do answers as if somebody had typed that. So it is asked only where it is sure to
be one, its answer is waited for without echo, and one that comes later is removed before anybody reads a line.
"""

import os
import re
import select
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache

ASK = b"\x1b[c"
ANSWER = re.compile(rb"\x1b\[\?([\d;]*)c")
"""Primary device attributes: what a terminal can do, in numbers."""
SIXEL = b"4"
SECONDS = 1.0
"""How long an answer is waited for."""
LATE_SECONDS = 0.1
"""How long one is waited for that is late, when the terminal is given back."""


class TerminalInput:
    """The input of the terminal that the command runs in; does nothing where that is none, or not ours now.

    Args:
        source: Where typing is read.
        target: Where the terminal is written to.
        seconds: How long an answer is waited for.
    """

    def __init__(self, source: int | None = None, target: int | None = None, *, seconds: float = SECONDS) -> None:
        self._source = source if source is not None else _number(sys.stdin)
        self._target = target if target is not None else _number(sys.stdout)
        self._seconds = seconds
        self._owed = False
        """Whether an answer may still come."""
        self._before: list[object] | None = None
        self._sixel: bool | None = None

    def shows_sixel(self) -> bool:
        """Ask the terminal, once, whether it shows sixels; not while somebody types ahead.

        What is typed until it answers is lost.
        """
        if self._sixel is None:
            self._sixel = self._is_ours() and self._ask()
        return self._sixel

    def _ask(self) -> bool:
        with _changed(self._source, termios.ICANON | termios.ECHO):
            if _waits(self._source, 0.0):  # somebody types ahead
                return False
            os.write(self._target, ASK)
            found = ANSWER.search(self._read(self._seconds))
        self._owed = found is None
        return found is not None and SIXEL in found[1].split(b";")

    def _read(self, seconds: float) -> bytes:
        data, until = b"", time.monotonic() + seconds
        while not ANSWER.search(data) and (left := until - time.monotonic()) > 0 and _waits(self._source, left):
            piece = os.read(self._source, 1)  # no byte more than the answer has
            if not piece:
                break
            data += piece
        return data

    def silence(self) -> None:
        """Echo nothing that is typed."""
        if self._before is None and self._is_ours():
            self._before = termios.tcgetattr(self._source)
            _set(self._source, self._before, termios.ECHO)

    def give_back(self) -> None:
        """Leave the terminal as it was, without an answer that came late; may be called twice."""
        if self._owed and self._is_ours():
            with _changed(self._source, termios.ICANON | termios.ECHO):
                if _waits(self._source, LATE_SECONDS):
                    self._owed = not ANSWER.search(self._read(LATE_SECONDS))
        before, self._before = self._before, None
        if before is not None:
            with suppress(termios.error, OSError):
                termios.tcsetattr(self._source, termios.TCSANOW, before)  # type: ignore[arg-type]

    def _is_ours(self) -> bool:
        """Whether both ends are one terminal, and this program in its foreground: another one is stopped by asking."""
        try:
            same = os.ttyname(self._source) == os.ttyname(self._target)
            return same and os.tcgetpgrp(self._source) == os.getpgrp()
        except OSError:
            return False


@cache
def terminal_input() -> TerminalInput:
    """That of this process."""
    return TerminalInput()


@contextmanager
def _changed(source: int, without: int) -> Iterator[None]:
    before = termios.tcgetattr(source)
    _set(source, before, without)
    try:
        yield
    finally:
        termios.tcsetattr(source, termios.TCSANOW, before)


def _set(source: int, before: list[object], without: int) -> None:
    new: list[object] = [*before[:3], int(before[3]) & ~without, *before[4:]]  # type: ignore[call-overload]
    termios.tcsetattr(source, termios.TCSANOW, new)  # type: ignore[arg-type]


def _waits(source: int, seconds: float) -> bool:
    return bool(select.select([source], [], [], seconds)[0])


def _number(file: object) -> int:
    """A file's descriptor; -1 where it has none."""
    try:
        return int(file.fileno())  # type: ignore[attr-defined]
    except (AttributeError, OSError, ValueError):
        return -1
