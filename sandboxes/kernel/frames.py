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
MAX_BODY = 32 << 20
"""Bytes."""

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


def check_lengths(head: int, body: int) -> None:
    """Refuse a frame before memory is set aside for it.

    Raises:
        ProtocolError: it announces more than a frame may hold.
    """
    if head > MAX_HEADER or body > MAX_BODY:
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
    """Cuts a stream of bytes into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """Add bytes.

        Returns:
            The frames that are complete now.

        Raises:
            ProtocolError: the bytes are not frames; nothing after them can be read.
        """
        buffer = self._buffer
        buffer += data
        frames: list[Frame] = []
        while len(buffer) >= LENGTHS.size:
            head, body = LENGTHS.unpack_from(buffer)
            middle = LENGTHS.size + head
            try:
                check_lengths(head, body)
                if len(buffer) < middle + body:
                    break
                header = read_header(bytes(buffer[LENGTHS.size : middle]))
            except ProtocolError as error:
                error.before = frames
                raise
            frames.append((header, bytes(buffer[middle : middle + body])))
            del buffer[: middle + body]
        return frames


def receive(fd: int) -> Frame:
    """Wait for the next frame.

    Raises:
        EOFError: the other side is gone.
        ProtocolError: what came is not a frame.
    """
    head, body = LENGTHS.unpack(_read(fd, LENGTHS.size))
    check_lengths(head, body)
    return read_header(_read(fd, head)), _read(fd, body)


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
