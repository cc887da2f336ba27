"""Where messages arrive that come while a request is under way: files that the host uploads, one a message.

A context takes one message when it is opened and none after that, so what the host has to say to a cell that runs
(an interrupt, the answer to a call) comes this way.
"""

import os
from contextlib import suppress

from ..kernel import frames

FOLDER = "inbox"


class Inbox:
    """The folder in which messages arrive.

    Args:
        base: The folder of the sandbox's things.
    """

    def __init__(self, base: str) -> None:
        self._folder = os.path.join(base, FOLDER)
        os.makedirs(self._folder, exist_ok=True)
        self._taken: set[str] = set()
        """Names of what was taken: an upload whose answer was lost may be made again."""

    def clear(self) -> None:
        """Somebody else writes from now on: what is there, whole or not, is of no use."""
        self._taken.clear()
        for name in os.listdir(self._folder):
            with suppress(OSError):
                os.unlink(os.path.join(self._folder, name))

    def take(self) -> list[frames.Frame]:
        """The messages that have arrived whole, in the order of their names; they are removed."""
        taken: list[frames.Frame] = []
        for name in sorted(os.listdir(self._folder)):
            path = os.path.join(self._folder, name)
            try:
                message = _whole(path)
            except (OSError, frames.ProtocolError):
                message = ({}, b"")  # not from the host
            if message is None:
                break  # it is still being written, and those after it wait for it
            with suppress(OSError):
                os.unlink(path)
            if name not in self._taken:
                self._taken.add(name)
                taken.append(message)
        return taken


def _whole(path: str) -> frames.Frame | None:
    """The message in a file; None when it is not all there."""
    with open(path, "rb") as reading:
        start = reading.read(frames.LENGTHS.size)
        if len(start) < frames.LENGTHS.size:
            return None
        head, body = frames.LENGTHS.unpack(start)
        frames.check_lengths(head, body)
        if os.fstat(reading.fileno()).st_size < frames.LENGTHS.size + head + body:
            return None
        return frames.read_header(reading.read(head)), reading.read(body)
