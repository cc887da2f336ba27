"""An exception as text that shows the user's lines only.

Frames of cells and of files in the workspace keep their source line; what happened inside libraries between them is
one line; the kernel's own frames are never shown.
"""

import os
import traceback
from collections.abc import Iterator
from typing import Any

from .summaries import clean, cut, type_name

MAX_FRAMES = 2_000
MAX_TEXT = 16_000
"""Characters of a traceback; the middle of a longer one is left out."""
MAX_MESSAGE = 2_000
KERNEL = os.path.dirname(os.path.abspath(__file__)) + os.sep
SITE = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep


class _Stack(traceback.StackSummary):
    """Frames in which runs of library calls are one frame, whose file name is empty and whose name is the line."""

    def format_frame_summary(self, frame_summary: traceback.FrameSummary, **options: Any) -> str:
        if not frame_summary.filename:
            return f"  {frame_summary.name}\n"
        return super().format_frame_summary(frame_summary, **options)


class Tracebacks:
    """Writes tracebacks for a session whose workspace is `root`."""

    def __init__(self, root: str) -> None:
        self._root = os.path.join(root, "")

    def describe(self, error: BaseException) -> dict[str, str]:
        """Name, message and traceback of an exception, bounded; whatever its `__str__` does."""
        name = type_name(error)
        try:
            message = cut(clean(str(error)), MAX_MESSAGE)
        except Exception as failure:  # the user's __str__ may raise anything
            message = f"(its text cannot be shown: __str__ raised {type_name(failure)})"
        try:
            report = traceback.TracebackException.from_exception(error, limit=-MAX_FRAMES, compact=True)
            self._shorten(report, set())
            text = "".join(report.format())
        except Exception as failure:  # a traceback must come out, if a poor one
            text = f"{name}: {message}\n(no traceback: {type_name(failure)})\n"
        return {"name": cut(clean(name), 200), "message": message, "traceback": _middle_out(clean(text), MAX_TEXT)}

    def _shorten(self, report: traceback.TracebackException, seen: set[int]) -> None:
        """Rewrite the stack of an exception and of all that hang on it."""
        waiting = [report]
        while waiting:
            part = waiting.pop()
            if id(part) in seen:
                continue
            seen.add(id(part))
            stack = _Stack()
            stack.extend(self._users(part.stack))
            part.stack = stack
            waiting += [other for other in (part.__cause__, part.__context__, *(part.exceptions or ())) if other]

    def _users(self, stack: traceback.StackSummary) -> Iterator[traceback.FrameSummary]:
        inside: list[str] = []
        begun = not any(self._is_users(frame) for frame in stack)
        for frame in stack:
            if self._is_users(frame):
                begun = True
                yield from _collapsed(inside)
                inside = []
                yield self._shown(frame)
            elif begun and not frame.filename.startswith(KERNEL):
                inside.append(library_of(frame.filename))
        yield from _collapsed(inside)

    def _is_users(self, frame: traceback.FrameSummary) -> bool:
        name = frame.filename
        if name.startswith("<cell "):
            return True
        return name.startswith(self._root) and not any(part in name for part in SITE)

    def _shown(self, frame: traceback.FrameSummary) -> traceback.FrameSummary:
        """The frame with its source line read and its path relative to the workspace."""
        _ = frame.line
        if frame.filename.startswith(self._root):
            frame.filename = frame.filename[len(self._root) :]
        return frame


def _collapsed(inside: list[str]) -> Iterator[traceback.FrameSummary]:
    if inside:
        libraries = list(dict.fromkeys(inside))
        where = ", ".join(libraries[:3]) + (", …" if len(libraries) > 3 else "")
        calls = "1 call" if len(inside) == 1 else f"{len(inside)} calls"
        yield traceback.FrameSummary("", 0, f"… {calls} inside {where} …", lookup_line=False, line="")


def library_of(filename: str) -> str:
    """The package that a source file belongs to."""
    for site in SITE:
        if site in filename:
            return _first(filename.rpartition(site)[2])
    if filename.startswith(STANDARD_LIBRARY):
        return _first(filename[len(STANDARD_LIBRARY) :])
    if filename.startswith("<frozen "):
        return filename[8:-1].split(".")[0]
    if filename.startswith("<"):
        return "generated code"
    return _first(os.path.basename(filename)) if os.path.isabs(filename) else "compiled code"


def _first(path: str) -> str:
    return path.split(os.sep)[0].removesuffix(".py")


def _middle_out(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"
