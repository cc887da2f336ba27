"""Describe an image by its header: format and size in pixels; whether its data is all there."""

from __future__ import annotations

import struct
import zlib
from typing import BinaryIO

from .findings import Findings, Inspection, UnreadableError, size_text


def describe(look: Inspection, kind: str) -> Findings:
    """Describe an image.

    Raises:
        UnreadableError: its data breaks off or is damaged.
    """
    name = {"png": "PNG", "jpeg": "JPEG", "gif": "GIF", "bmp": "BMP", "webp": "WebP", "tiff": "TIFF"}[kind]
    with open(look.path, "rb") as stream:  # noqa: PTH123  read in parts
        try:
            width, height = _SIZES[kind](stream, look.size)
        except (struct.error, ValueError, IndexError) as error:
            raise UnreadableError(f"seems to be a {name} image that is truncated or corrupt: {error}") from error
    pixels = f", {width:,} x {height:,} pixels" if width else ""
    return Findings(kind=f"{name} image{pixels}, {size_text(look.size)}")


def _png(stream: BinaryIO, size: int) -> tuple[int, int]:
    stream.seek(8)
    width = height = 0
    while True:
        start = stream.read(8)
        if len(start) < 8:
            raise ValueError("its data breaks off")
        length, kind = struct.unpack(">I4s", start)
        if length > size:
            raise ValueError("its data breaks off")
        data = stream.read(length)
        check = stream.read(4)
        if len(data) < length or len(check) < 4:
            raise ValueError("its data breaks off")
        if zlib.crc32(kind + data) != int.from_bytes(check, "big"):
            raise ValueError("a checksum in it is wrong")
        if kind == b"IHDR":
            width, height = struct.unpack(">II", data[:8])
        if kind == b"IEND":
            return width, height


def _jpeg(stream: BinaryIO, size: int) -> tuple[int, int]:
    stream.seek(max(size - 65_536, 0))
    if b"\xff\xd9" not in stream.read():
        raise ValueError("its end is missing")
    stream.seek(2)
    while True:
        mark = stream.read(2)
        if len(mark) < 2 or mark[0] != 0xFF:
            raise ValueError("it has no frame header")
        while mark[1] == 0xFF:
            mark = mark[1:] + stream.read(1)
        if mark[1] in (0x01, *range(0xD0, 0xD9)):
            continue
        length = int.from_bytes(stream.read(2), "big")
        if 0xC0 <= mark[1] <= 0xCF and mark[1] not in (0xC4, 0xC8, 0xCC):
            _, height, width = struct.unpack(">BHH", stream.read(5))
            return width, height
        if length < 2:
            raise ValueError("it has no frame header")
        stream.seek(length - 2, 1)


def _gif(stream: BinaryIO, size: int) -> tuple[int, int]:
    stream.seek(6)
    width, height = struct.unpack("<HH", stream.read(4))
    stream.seek(max(size - 16, 0))
    if b"\x3b" not in stream.read():
        raise ValueError("its end is missing")
    return width, height


def _bmp(stream: BinaryIO, size: int) -> tuple[int, int]:
    stream.seek(2)
    if int.from_bytes(stream.read(4), "little") > size:
        raise ValueError("its data breaks off")
    stream.seek(18)
    width, height = struct.unpack("<ii", stream.read(8))
    return width, abs(height)


def _webp(stream: BinaryIO, size: int) -> tuple[int, int]:
    head = stream.read(30)
    if struct.unpack("<I", head[4:8])[0] + 8 > size:
        raise ValueError("its data breaks off")
    if head[12:16] == b"VP8X":
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    if head[12:16] == b"VP8L":
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1
    return int.from_bytes(head[26:28], "little") & 0x3FFF, int.from_bytes(head[28:30], "little") & 0x3FFF


def _tiff(stream: BinaryIO, size: int) -> tuple[int, int]:
    order = "<" if stream.read(2) == b"II" else ">"
    stream.seek(4)
    place = struct.unpack(f"{order}I", stream.read(4))[0]
    if place + 2 > size:
        raise ValueError("its data breaks off")
    stream.seek(place)
    found = {}
    for _ in range(struct.unpack(f"{order}H", stream.read(2))[0]):
        tag, kind, _, value = struct.unpack(f"{order}HHI4s", stream.read(12))
        found[tag] = struct.unpack(f"{order}{'H' if kind == 3 else 'I'}", value[: 2 if kind == 3 else 4])[0]
    return found.get(256, 0), found.get(257, 0)


_SIZES = {"png": _png, "jpeg": _jpeg, "gif": _gif, "bmp": _bmp, "webp": _webp, "tiff": _tiff}
