"""What cells print and show: the text layers of descriptors 1 and 2, and rich displays."""

import base64
import io
import os
import sys
import time
from collections.abc import Callable
from typing import Any, ClassVar

from .summaries import clean, cut, long_repr, type_name

LINES_AT_ONCE = 5_000
"""Lines of one cell that are passed on one by one; a cell that prints more is flushed by the clock."""
FLUSH_SECONDS = 0.02


class Stream(io.TextIOWrapper):
    """UTF-8 text that reaches the host at each line end, and that cannot fail on a character."""

    def __init__(self, fd: int) -> None:
        raw = io.FileIO(fd, "w", closefd=False)
        super().__init__(io.BufferedWriter(raw, 65_536), encoding="utf-8", errors="backslashreplace", newline="\n")
        self.lines = 0
        self.waiting = 0.0

    def write(self, text: str, /) -> int:
        """Write, and flush when a line is complete; what waits for the rest of its line does not wait for long."""
        if self.lines < LINES_AT_ONCE and ("\n" in text or "\r" in text):
            written = super().write(text)
            self.lines += 1
            self.flush()
            return written
        now = time.monotonic()
        if self.waiting and now - self.waiting > FLUSH_SECONDS:
            self.flush()
        written = super().write(text)
        self.waiting = self.waiting or now
        return written

    def flush(self) -> None:
        """Pass on what was written."""
        super().flush()
        self.waiting = 0.0


class Streams:
    """Standard output and error of the session. A cell may close or redirect them; the next one has them again."""

    now: ClassVar[dict[int, Stream]] = {}
    """Those of this process by their descriptors, whatever a cell has put in their place."""

    def __init__(self) -> None:
        self._kept = {fd: os.dup(fd) for fd in (1, 2)}
        self._pipes = {fd: os.fstat(fd) for fd in (1, 2)}
        self._streams = {fd: Stream(fd) for fd in (1, 2)}
        self.renew()

    def renew(self) -> None:
        """Put everything back as it was at the start of the session."""
        for fd, kept in self._kept.items():
            if not _is(fd, self._pipes[fd]):
                os.dup2(kept, fd, inheritable=True)
            os.set_blocking(fd, True)  # a child process may have changed the pipe that it shares with us
            stream = self._streams[fd]
            if not _usable(stream):
                stream = self._streams[fd] = Stream(fd)
            stream.lines = 0
        sys.stdout, sys.stderr = self._streams[1], self._streams[2]
        Streams.now = self._streams

    def flush(self) -> None:
        """Pass on what is printed so far, also through streams that the user put in place of ours."""
        for stream in (sys.stdout, sys.stderr, *self._streams.values()):
            try:
                stream.flush()
            except Exception:  # a stream of the user's may raise anything
                continue


def _is(fd: int, pipe: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), pipe)
    except OSError:
        return False


def _usable(stream: Stream) -> bool:
    try:
        return not stream.closed
    except ValueError:  # its buffer was detached
        return False


MAX_TEXT = 20_000
"""Characters of one text form."""
MAX_HTML = 200_000
"""Characters; a longer HTML form is left out."""
MAX_PNG = 20_000_000
"""Bytes; a larger PNG form is left out."""
MAX_DISPLAYS = 50
"""Displays of one cell; the rest is counted."""
PNG = b"\x89PNG\r\n\x1a\n"

Send = Callable[[dict[str, str]], None]


class Displays:
    """What the running cell shows."""

    def __init__(self, root: str, send: Send) -> None:
        self._root = root
        self._send = send
        self._shown = 0
        self._left_out = 0
        self._number = 0
        self._pictures = 0
        self.drawn: Callable[[object, str], bool] = lambda value, kind: False
        """Shows a value if it is a figure, and says whether it was."""

    def begin(self, number: int) -> None:
        """Start counting for a new cell."""
        self._number, self._shown, self._left_out, self._pictures = number, 0, 0, 0

    def end(self) -> None:
        """Say how many displays were left out."""
        if self._left_out:
            self._send({"kind": "display", "text": f"… {self._left_out:,} more displays left out …"})

    def display(self, *objects: Any) -> None:
        """Show objects, each in the richest form that it has."""
        for value in objects:
            self.show(value, "display")

    def show(self, value: object, kind: str) -> None:
        """Show one object."""
        if not self.room():
            return
        if self.drawn(value, kind):
            return
        bundle = _bundle(value)
        html = bundle.get("text/html")
        if not isinstance(html, str):
            html = _form(value, "_repr_html_")
        png = _png(bundle.get("image/png")) or _png(_form(value, "_repr_png_"))
        self.send(
            kind,
            text=_text(value),
            html=html if isinstance(html, str) and len(html) <= MAX_HTML else "",
            path=self.keep(png) if png else "",
        )

    def room(self) -> bool:
        """Whether the cell may show one more thing; if not, it is counted."""
        if self._shown >= MAX_DISPLAYS:
            self._left_out += 1
            return False
        self._shown += 1
        return True

    def send(self, kind: str, *, text: str, html: str = "", path: str = "") -> None:
        """Send a display frame, after what was printed before it."""
        sys.stdout.flush()
        self._send({"kind": kind, "text": clean(text), "html": clean(html), "path": path})

    def picture(self) -> tuple[str, str]:
        """A name for the cell's next picture: its path in the workspace, and its full path; the folder is made."""
        self._pictures += 1
        path = f"figures/cell-{self._number:03}-{self._pictures}.png"
        os.makedirs(os.path.join(self._root, "figures"), exist_ok=True)
        return path, os.path.join(self._root, path)

    def keep(self, png: bytes) -> str:
        """Write a PNG into the workspace; its path there, or nothing when it cannot be written."""
        try:
            path, full = self.picture()
            with open(full, "wb") as file:
                file.write(png)
        except OSError:
            return ""
        return path


def _text(value: object) -> str:
    try:
        return cut(long_repr(value, MAX_TEXT), MAX_TEXT)
    except Exception as error:  # a __repr__ may raise anything, and must not end the cell
        return f"<{type_name(value)}; its repr raised {type_name(error)}>"


def _form(value: object, method: str) -> Any:
    """What a `_repr_…_` method gives. Looked up on the type: an object that has every attribute has no forms."""
    if getattr(type(value), method, None) is None:
        return None
    try:
        form = getattr(value, method, None)
        return form() if callable(form) else None
    except Exception:  # a rich form that fails leaves the text form
        return None


def _bundle(value: object) -> dict[Any, Any]:
    bundle = _form(value, "_repr_mimebundle_")
    if isinstance(bundle, tuple) and bundle:
        bundle = bundle[0]
    return bundle if isinstance(bundle, dict) else {}


def _png(data: object) -> bytes:
    if isinstance(data, tuple) and data:
        data = data[0]
    if isinstance(data, str):
        try:
            data = base64.b64decode(data)
        except ValueError:
            return b""
    if not isinstance(data, bytes) or not data.startswith(PNG) or len(data) > MAX_PNG:
        return b""
    return data
