"""What a stream printed: its head and a rolling tail are kept, the middle is only counted."""

import codecs

from sandboxes.inside.bridge.supervision import BoundedOutput, Sampler
from sandboxes.results import CapturedText


class Capture(BoundedOutput):
    """What is kept of a stream whose bytes are taken as they come."""

    def leave_out(self, count: int) -> None:
        """Count bytes that the bridge left out between head and tail."""
        self._after += max(0, count)

    def text(self) -> CapturedText:
        """All of it as text; a character that was cut in two is counted among what is left out."""
        tail, dropped = self.tail, self.dropped
        if not dropped:
            whole = bytes(self.head) + tail
            return CapturedText(head=whole.decode("utf-8", "replace"))
        cut = _cut_short(self.head)
        head = self.head[: len(self.head) - cut]
        start = 0
        while start < len(tail) and tail[start] & 0xC0 == 0x80 and len(tail) - start > self._kept - 4:
            start += 1
        return CapturedText(
            head=head.decode("utf-8", "replace"),
            tail=tail[start:].decode("utf-8", "replace"),
            dropped=dropped + cut + start,
        )


class Live:
    """Turns the bytes of a stream into pieces of text for a listener: all of the head, then samples."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._sampler = Sampler()
        self._sampling = False

    def pieces(self, data: bytes, *, full: bool) -> str:
        """The text to pass on now; empty when there is none.

        Args:
            data: The bytes that came.
            full: Whether the stream's head is complete.
        """
        if not full:
            return self._decoder.decode(data)
        self._sampler.add(data)
        sample = self._sampler.take().decode("utf-8", "ignore")
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
