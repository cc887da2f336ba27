"""What a stream printed: its head and a rolling tail are kept, the middle is only counted."""

import codecs
import time

from sandboxes.results import CapturedText

KEPT = 65_536
"""Bytes kept at each end."""
LIVE_SECONDS = 0.25
"""Once the head is full, listeners get a sample of the stream no more often than this."""
LIVE_BYTES = 2_048


class Capture:
    """Takes the bytes of a stream as they come; memory stays at three times `kept`, whatever is printed."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    @property
    def full(self) -> bool:
        """Whether the head is complete."""
        return len(self._head) >= self._kept

    def add(self, data: bytes) -> None:
        """Take more bytes."""
        self._total += len(data)
        room = self._kept - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail += data[-self._kept :]
            if len(self._tail) > 2 * self._kept:
                del self._tail[: -self._kept]

    def leave_out(self, count: int) -> None:
        """Count bytes that do not come: somebody else has left them out, between head and tail."""
        self._total += max(0, count)

    def text(self) -> CapturedText:
        """All of it as text; a character that was cut in two is counted among what is left out."""
        tail = bytes(self._tail[-self._kept :])
        dropped = self._total - len(self._head) - len(tail)
        if not dropped:
            whole = bytes(self._head) + tail
            return CapturedText(head=whole.decode("utf-8", "replace"))
        head = self._head[: len(self._head) - _cut_short(self._head)]
        while tail and tail[0] & 0xC0 == 0x80 and len(tail) > self._kept - 4:
            tail = tail[1:]
        return CapturedText(
            head=head.decode("utf-8", "replace"),
            tail=tail.decode("utf-8", "replace"),
            dropped=self._total - len(head) - len(tail),
        )


class Live:
    """Turns the bytes of a stream into pieces of text for a listener: all of the head, then samples."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._sampling = False
        self._last = 0.0

    def pieces(self, data: bytes, *, full: bool) -> str:
        """The text to pass on now; empty when there is none.

        Args:
            data: The bytes that came.
            full: Whether the stream's head is complete.
        """
        if not full:
            return self._decoder.decode(data)
        now = time.monotonic()
        if self._sampling and now - self._last < LIVE_SECONDS:
            return ""
        self._last = now
        sample = data[-LIVE_BYTES:].decode("utf-8", "ignore")
        if self._sampling:
            return sample
        self._sampling = True
        return "\n… much output: from here on only now and then …\n" + sample


def _cut_short(data: bytearray) -> int:
    """How many bytes at the end belong to a character that is not complete."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        needs = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return back if needs > back else 0
    return 0
