"""Open files: reopened at their position, and never truncated."""

import codecs
import contextlib
import ctypes
import functools
import io
import os
from pickle import PicklingError
from typing import Any

from ..child_answers import answer_of_child, read_apart
from ..current_session import CurrentSession, path_here, portable_path
from ..other_threads import may_reach
from ..singletons import special

MAX_COUNTED = 64 << 20
"""Bytes of a text file whose position is found by counting, because a loop over its lines hides it."""


def reduce_file(pickler: Any, file: Any) -> Any:
    """A file by its path, its mode and its position. What was written so far is flushed."""
    if file in (special("stdout"), special("stderr"), special("stdin")):
        return NotImplemented
    text = isinstance(file, io.TextIOWrapper)
    settings = (file.encoding, file.errors, newline_of(file)) if text else (None, None, None)
    if file.closed:
        return closed_file, (type(file).__name__, _name(file), _mode(file), settings)
    if text and type(file.buffer) not in (io.BufferedReader, io.BufferedWriter, io.BufferedRandom):
        raise PicklingError(f"text that is read through a {type(file.buffer).__name__}")
    path = path_of(file)
    if not isinstance(path, str) or not os.path.isfile(path):
        raise PicklingError(f"an open file without a path of its own ({path!r})")
    mode, path = _mode(file), os.path.abspath(path)
    if not os.path.samestat(os.stat(path), os.fstat(file.fileno())):
        raise PicklingError(f"its path {path} belongs to another file by now")
    place = position_of(file, settings) if text else file.tell()
    # In a loop over its lines it would say where it is from then on, and say it wrong; so nothing may be unwritten.
    if file.writable() and not (text and _is_in_loop(file)):
        file.flush()
    buffered = not isinstance(file, io.FileIO)
    name = _name(file)
    shown = "" if isinstance(name, str) and os.path.isabs(name) else name
    opened_as = getattr(file, "mode", "") if text else ""
    more: tuple[Any, ...] = (shown, opened_as) if opened_as not in ("", mode) else (shown,)
    if text and (file.write_through or file.newlines is not None):
        more = (shown, opened_as, file.write_through, file.newlines)
    return open_file, (portable_path(path), mode, place, settings, text and file.line_buffering, buffered, *more)


def reduce_text(pickler: Any, file: Any) -> Any:
    """Text of a class of its own, which may take itself apart; how far it was read is what it then forgets."""
    reduced = file.__reduce_ex__(5)
    if file.closed or not isinstance(reduced, tuple) or len(reduced) > 2:
        return reduced
    return *reduced, file.tell(), None, None, set_position


def set_position(file: Any, place: int) -> None:
    """Go on where it was."""
    file.seek(place)


def path_of(file: Any) -> Any:
    """Where it is now: the name that it was opened with says that only until the working directory changes."""
    name = _name(file)
    if isinstance(name, int):  # it was opened by the number of a descriptor
        with contextlib.suppress(OSError):
            return os.readlink(f"/proc/self/fd/{file.fileno()}")
    if not isinstance(name, str) or os.path.isabs(name):
        return name
    opened = os.fstat(file.fileno())
    for path in (name, f"/proc/self/fd/{file.fileno()}"):
        with contextlib.suppress(OSError):
            if os.path.samestat(os.stat(path), opened):
                return os.path.realpath(path) if path != name else name
    return name


SMALL_PIECE = 1_000
"""Characters that are always fewer than are decoded at once."""
NEWLINES = (None, "", "\n", "\r", "\r\n")
WORD = ctypes.sizeof(ctypes.c_void_p)


def newline_of(file: Any) -> str | None:
    """What a text file was given for `newline`, which it keeps and does not tell."""
    place = _place_of_newline()
    return None if place is None else _text_at(file, place)


def _text_at(file: Any, place: int) -> Any:
    held = ctypes.c_void_p.from_address(id(file) + place).value
    return None if held is None else ctypes.cast(held, ctypes.py_object).value


@functools.cache
def _place_of_newline() -> int | None:
    """Where CPython has it, behind the beginning of the object; None: in this Python it is not to be found."""
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(io.TextIOWrapper(io.BytesIO(), "utf-8", newline=one)) for one in NEWLINES]
        # Texts of at most one character exist once, so their places are known; only then is the last one looked at.
        known = [None if one is None else id(one) for one in NEWLINES[:-1]]
        places = [
            place
            for place in range(object.__basicsize__, io.TextIOWrapper.__basicsize__ - WORD + 1, WORD)
            if [ctypes.c_void_p.from_address(id(file) + place).value for file in files[:-1]] == known
        ]
        if len(places) == 1 and _text_at(files[-1], places[0]) == NEWLINES[-1]:
            return places[0]
    return None


def _name(file: Any) -> Any:
    try:
        name = file.name
    except (AttributeError, ValueError):
        return None
    return os.fspath(name) if isinstance(name, os.PathLike) else name


def _mode(file: Any) -> str:
    """What the file can do, without the truncation."""
    raw = file
    for name in ("buffer", "raw"):
        raw = getattr(raw, name, raw)
    try:
        mode = str(raw.mode)
    except (AttributeError, ValueError):
        mode = str(getattr(file, "mode", "r"))
    return mode.replace("b", "").replace("t", "").replace("U", "")


def position_of(file: Any, settings: Any) -> int:
    """Where a text file is. In the middle of a loop over its lines it does not say that; another one reads as much.

    Raises:
        PicklingError: That cannot be found out.
        ValueError: It is closed, or has bytes that are no text.
    """
    if not _is_in_loop(file):
        return int(file.tell())
    if not file.seekable():
        raise PicklingError("a text file in the middle of a loop over its lines")
    if may_reach(file):  # which may read on meanwhile
        raise PicklingError("a text file in the middle of a loop over its lines, which another thread may read")
    return int(answer_of_child(lambda: _place_in_loop(file, settings), among_threads=True))


def _is_in_loop(file: Any) -> bool:
    """Whether a text file does not say where it is, since a loop goes over its lines."""
    try:
        file.tell()
    except OSError:
        return True
    return False


MARGIN = 16
"""Bytes in which a character ends that a piece of a file has cut."""
WINDOW = 64 << 10
"""Bytes before it that are decoded where its lines are the same wherever one begins."""
BY_LINES = frozenset({"utf-8", "ascii", "iso8859-1", "iso8859-15", "cp1250", "cp1251", "cp1252"})
"""Encodings in which the end of a line is one byte that stands for nothing else."""


def _place_in_loop(file: Any, settings: Any) -> bytes:
    """In a child: where it is, when it has read some and gives what it has of that.

    What it reads on comes from a pipe, with no more than the rest of a character: nobody's place in the file is moved.
    One that is written as well goes to other places when it is read: it is read to its end by a descriptor of its own,
    which refuses what is still to be written.
    """
    number, left, end = file.fileno(), 0, 0
    by_lines = codecs.lookup(settings[0]).name in BY_LINES and not file.writable()
    if file.writable():
        read_apart(number)
        left = len(file.read())
    reached = os.lseek(number, 0, os.SEEK_CUR)
    if reached > MAX_COUNTED and not by_lines:
        raise PicklingError("a text file in the middle of a loop over its lines, far from its beginning")
    source = os.dup(number)
    start = max(reached - MARGIN, 0) if by_lines else 0
    content = os.pread(source, reached - start + MARGIN, start)
    end = _end_of_character(content, reached - start, settings, by_lines)
    if not file.writable():
        left = _left(file, number, content[reached - start : end])
    if by_lines:
        end, start = end + start, max(reached - WINDOW - 4 * left, 0)
        content = os.pread(source, end - start, start)
        begins = content.find(b"\n") + 1 if start else 0
        if start and not begins:  # a long line
            if reached > MAX_COUNTED:
                raise PicklingError("a text file in the middle of a loop over its lines, one of which is long")
            start, content = 0, os.pread(source, end, 0)
        start, content = start + begins, content[begins:]
        end = len(content)
    whole = len(_text(content[:end], settings).read())
    other = _text(content[:end], settings)
    other.read(whole - left)
    return str(start + other.tell()).encode()


def _end_of_character(content: bytes, reached: int, settings: Any, by_lines: bool) -> int:
    """Where the character ends that was cut at a place, which a decoder has the beginning of."""
    if by_lines:
        rest = content[reached:]
        return reached + (len(rest) - len(rest.lstrip(INNER)) if settings[0].lower().startswith("utf") else 0)
    for end in range(reached, max(len(content), reached) + 1):
        with contextlib.suppress(UnicodeDecodeError):
            _text(content[:end], settings).read()
            return end
    raise ValueError("a text file in the middle of a loop, with bytes that are no text")


INNER = bytes(range(0x80, 0xC0))
"""Bytes of UTF-8 with which no character begins."""


def _left(file: Any, number: int, rest: bytes) -> int:
    """In a child: how many characters a file gives that it has read already, with the rest of the last one."""
    reading, writing = os.pipe()
    os.write(writing, rest)
    os.close(writing)
    os.dup2(reading, number)
    return len(file.read())


def _text(content: bytes, settings: Any) -> io.TextIOWrapper:
    encoding, errors, newline = settings
    return io.TextIOWrapper(io.BytesIO(content), encoding=encoding, errors=errors, newline=newline)


def open_file(
    path: str,
    mode: str,
    place: int,
    settings: Any,
    line_buffering: bool,
    buffered: bool,
    name: str = "",
    opened_as: str = "",
    write_through: bool = False,
    newlines: Any = None,
) -> Any:
    """Open a file where it was; one that was being written is written on, not begun again.

    That of an earlier step is a copy, which can be read.
    """
    if CurrentSession.earlier_file is not None:
        mode, opened_as = "r", ""
    path, encoding, (errors, newline) = path_here(path), settings[0], settings[1:]
    options: dict[str, Any] = {"buffering": -1 if buffered else 0}
    if encoding is not None:
        options = {
            "buffering": 1 if line_buffering else -1,
            "encoding": encoding,
            "errors": errors,
            "newline": newline,
        }
    file: Any = open(path, mode if encoding is not None else mode + "b", opener=_reopen, **options)  # noqa: SIM115 (the user's)
    if name:
        raw = file
        for inner in ("buffer", "raw"):
            raw = getattr(raw, inner, raw)
        raw.name = name
    if opened_as:
        file.mode = opened_as
    if write_through:
        file.reconfigure(write_through=True)
    if newlines is not None:
        _look_for_newlines(file, newlines)
    file.seek(place)
    return file


def _look_for_newlines(file: Any, newlines: Any) -> None:
    """Read until it has met the ends of lines that it had met; going to another place than its beginning keeps them.

    Where they are not all that it meets it has met none, as if this had not been tried.
    """
    wanted = _as_set(newlines)
    with contextlib.suppress(OSError, ValueError):  # the file is another by now
        for _ in range(MAX_COUNTED // SMALL_PIECE):
            met = _as_set(file.newlines)
            if met == wanted:
                return
            if not met < wanted or not file.read(SMALL_PIECE):
                break
        file.seek(0)


def _as_set(newlines: Any) -> set[str]:
    return set(newlines) if isinstance(newlines, tuple) else {newlines} - {None}


def _reopen(path: str, flags: int) -> int:
    return os.open(path, flags & ~(os.O_CREAT | os.O_TRUNC | os.O_EXCL))


def closed_file(kind: str, name: Any, mode: str, settings: Any) -> Any:
    """A file that is closed, as most are that a variable still names."""
    mode_of_raw = mode.replace("x", "w") if mode.rstrip("+") in ("r", "w", "a", "x") else "r"
    raw = io.FileIO(os.devnull, mode_of_raw)
    raw.name = name
    file: Any = raw
    if kind != "FileIO":
        file = _buffered(mode_of_raw)(raw)
    if kind == "TextIOWrapper":
        encoding, errors, newline = settings
        file = io.TextIOWrapper(file, encoding=encoding, errors=errors, newline=newline)
        file.mode = mode
    file.close()
    return file


def _buffered(mode: str) -> Any:
    return io.BufferedRandom if "+" in mode else io.BufferedReader if "r" in mode else io.BufferedWriter


def open_image(path: str, frame: int, info: Any) -> Any:
    """An image at one of its frames, as snapshots had it before `pictures.py` was there."""
    import PIL.Image

    image = PIL.Image.open(path_here(path))
    image.seek(frame)
    image.info = info
    return image
