"""The wire between host and kernel: two lengths, a JSON header, a body. Used by both sides.

Sizes are checked before anything is allocated. A host reads with `Unpacker`, which never blocks; the kernel reads with
`receive`, which waits.
"""

import json
import os
import struct
from typing import Any

LENGTHS = struct.Struct("!II")
MAX_HEADER = 65_536
"""Bytes."""
MAX_BODY = 32_000_000
"""Bytes."""

STEP_REQUEST = "steps[]"
"""What a cell calls to read of an earlier step; no function of the user's program can have that name."""

Frame = tuple[dict[str, Any], bytes]


class ProtocolError(Exception):
    """What came over the wire is not a frame."""

    before: "list[Frame]"
    """The frames that came whole before it."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.before = []


def pack(header: dict[str, Any], body: bytes = b"") -> bytes:
    """A frame as bytes.

    Raises:
        ProtocolError: the header or the body is too large.
    """
    head = json.dumps(header).encode()
    if len(head) > MAX_HEADER or len(body) > MAX_BODY:
        raise ProtocolError(f"a frame of {len(head):,} + {len(body):,} bytes is too large")
    return LENGTHS.pack(len(head), len(body)) + head + body


def check_lengths(head: int, body: int, max_header: int = MAX_HEADER) -> None:
    """Refuse a frame before memory is set aside for it.

    Raises:
        ProtocolError: it announces more than a frame may hold.
    """
    if head > max_header or body > MAX_BODY:
        raise ProtocolError(f"a frame announces {head:,} + {body:,} bytes")


def read_header(data: bytes) -> dict[str, Any]:
    """The header of a frame.

    Raises:
        ProtocolError: it is not a JSON object.
    """
    try:
        header = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ProtocolError("the header of a frame is not JSON") from error
    if not isinstance(header, dict):
        raise ProtocolError("the header of a frame is not an object")
    return header


class Unpacker:
    """Cuts a stream of bytes into frames.

    Args:
        max_header: Bytes that a header may have.
    """

    def __init__(self, max_header: int = MAX_HEADER) -> None:
        self._buffer = bytearray()
        self._max_header = max_header

    def feed(self, data: bytes) -> list[Frame]:
        """Add bytes.

        Returns:
            The frames that are complete now.

        Raises:
            ProtocolError: the bytes are not frames; nothing after them can be read.
        """
        self.add(data)
        frames: list[Frame] = []
        try:
            while (frame := self.take()) is not None:
                frames.append(frame)
        except ProtocolError as error:
            error.before = frames
            raise
        return frames

    def add(self, data: bytes) -> None:
        """Add bytes, and look at them later."""
        self._buffer += data

    def take(self) -> Frame | None:
        """The next frame; None when it is not complete yet.

        Raises:
            ProtocolError: the bytes are not frames; nothing after them can be read.
        """
        buffer = self._buffer
        if len(buffer) < LENGTHS.size:
            return None
        head, body = LENGTHS.unpack_from(buffer)
        middle = LENGTHS.size + head
        check_lengths(head, body, self._max_header)
        if len(buffer) < middle + body:
            return None
        header = read_header(bytes(buffer[LENGTHS.size : middle]))
        with memoryview(buffer) as view:
            content = bytes(view[middle : middle + body])
        del buffer[: middle + body]
        return header, content


def receive(fd: int) -> Frame:
    """Wait for the next frame.

    Raises:
        EOFError: the other side is gone.
        ProtocolError: what came is not a frame.
    """
    head, body = LENGTHS.unpack(_read(fd, LENGTHS.size))
    check_lengths(head, body)
    header, content = _read(fd, head), _read(fd, body)  # all of it first: the next frame begins behind it
    return read_header(header), content


def send(fd: int, header: dict[str, Any], body: bytes = b"") -> None:
    """Write a whole frame, waiting as long as the other side needs."""
    data = memoryview(pack(header, body))
    while data:
        data = data[os.write(fd, data) :]


def _read(fd: int, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = os.read(fd, min(size - len(data), 1 << 20))
        if not chunk:
            raise EOFError
        data += chunk
    return bytes(data)
