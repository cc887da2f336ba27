"""The text layers of descriptors 1 and 2, which the host reads as raw pipes."""

import io
import os
import sys
import time

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
