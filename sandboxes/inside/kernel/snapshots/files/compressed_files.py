"""Compressed files that are being read, and text that is read through them or through bytes in memory.

Such a file is opened again and read up to where it was. How many characters were read of a text nobody tells, least of
all in a loop over its lines; a forked child counts them, which can read on without anybody noticing.
"""

import codecs
import io
import os
from pickle import PicklingError
from typing import Any

from ..child_answers import answer_of_child, read_apart
from ..current_session import path_here, portable_path
from .open_files import newline_of, path_of, reduce_file

READS = (1, "rb")
"""The mode of a file that is read, in all three modules; that of `gzip` is a text from Python 3.13 on."""
LARGEST = 8 << 20
"""Bytes of a file, as they are in it, through which text is counted."""
FARTHEST = 512 << 20
"""Bytes, decompressed, up to which a file is read again."""
MOST_CHARACTERS = 64 << 20
"""Of a text that is counted."""
PIECE = 1_000
"""Characters that are always fewer than are decoded at once."""
WITH_MARKS = ("utf-16", "utf-32", "utf-8-sig")
"""Encodings whose texts begin with a mark, which is written by whoever is at the beginning."""


def reduce_compressed(_pickler: Any, file: Any) -> Any:
    """A file of `gzip`, `bz2` or `lzma` that was opened by its path."""
    kind, space = type(file), vars(file)
    if (kind.__module__, kind.__name__) not in KINDS:
        raise PicklingError("a compressed file of a class of its own")
    if file.closed:
        return make_closed, (kind, space.get("name"), space.get("mode"))
    inner, mode = file_within(file), space.get("mode", space.get("_mode"))
    own = space.get("myfileobj") is not None or space.get("_closefp", False)
    arguments = getattr(space["_buffer"].raw, "_decomp_args", {}) if mode in READS else {}
    if mode not in READS or not own or arguments.get("format") or arguments.get("filters"):
        raise PicklingError("a compressed file that is being written, or was not opened by its path")
    path, place = path_of(inner), file.tell()
    if not isinstance(path, str) or not os.path.samestat(os.stat(path), os.fstat(inner.fileno())):
        raise PicklingError("its path belongs to another file by now")
    if place > FARTHEST:
        raise PicklingError("a large compressed file that is being read")
    return open_compressed, (kind, portable_path(os.path.abspath(path)), place, space.get("name"))


KINDS = {("gzip", "GzipFile"), ("bz2", "BZ2File"), ("lzma", "LZMAFile")}


def file_within(file: Any) -> Any:
    """The file that is decompressed."""
    return vars(file).get("fileobj") or vars(file).get("_fp")


def open_compressed(kind: Any, path: str, place: int, name: Any) -> Any:
    """The file, at its place."""
    file = kind(path_here(path))
    if name is not None:
        file.name = name
    file.seek(place)
    return file


def make_closed(kind: Any, name: Any, mode: Any) -> Any:
    """One that is closed; `gzip` says what it was called and opened for."""
    file = kind(io.BytesIO(), "rb") if name is None else kind(name, "rb", fileobj=io.BytesIO())
    file.close()
    if name is not None:
        file.mode = mode
    return file


def reduce_text(pickler: Any, file: Any) -> Any:
    """Text that is read or written through whatever."""
    if file.closed or type(file.buffer) in (io.BufferedReader, io.BufferedWriter, io.BufferedRandom):
        return reduce_file(pickler, file)
    return _reduce_layered(file)


def _reduce_layered(file: Any) -> Any:
    """Text that is read through a compressed file or a member of an archive, or read and written through bytes."""
    buffer = file.buffer
    if (type(buffer).__module__, type(buffer).__name__) not in UNDER or codecs.lookup(file.encoding).name in WITH_MARKS:
        raise PicklingError(f"text that is read through a {type(buffer).__name__}")
    if type(buffer) is not io.BytesIO and (file.writable() or not file.readable()):
        # Even in a child, what is still to be written would go into the file.
        raise PicklingError(f"text that is written through a {type(buffer).__name__}")
    settings = file.encoding, file.errors, newline_of(file), file.line_buffering, file.write_through
    count = int(answer_of_child(lambda: str(_characters(file, settings)).encode()))
    return make_layered, (buffer, count, *settings)


UNDER = {*KINDS, ("zipfile", "ZipExtFile"), ("_io", "BytesIO")}


def _characters(file: Any, settings: Any) -> int:
    """In a child: how many were read. What comes back only by chance is an error."""
    buffer = file.buffer
    in_memory = type(buffer) is io.BytesIO
    place, before = buffer.tell(), buffer.getvalue() if in_memory else b""
    if in_memory:
        file.flush()
        if buffer.getvalue() != before:
            raise ValueError("text that is still to be written to a BytesIO")
    else:
        descriptor = _descriptor(buffer)
        if os.fstat(descriptor).st_size > LARGEST:
            raise ValueError("a large compressed text that is being read")
        read_apart(descriptor)
    left = _length(file)
    file.seek(0)
    whole = _length(file)
    again = make_layered(buffer, whole - left, *settings)
    if in_memory and buffer.tell() != place:
        raise ValueError("text that was read in another way through a BytesIO")
    if _length(again) != left:
        raise ValueError("text whose place cannot be found again")
    return whole - left


def _descriptor(buffer: Any) -> int:
    inner: Any = file_within(buffer) or getattr(buffer, "_fileobj", None)
    descriptor: int = getattr(inner, "_file", inner).fileno()
    return descriptor


def _length(file: Any) -> int:
    length = 0
    while piece := len(file.read(1 << 20)):
        length += piece
        if length > MOST_CHARACTERS:
            raise ValueError("a large compressed text that is being read")
    return length


def make_layered(buffer: Any, count: int, *settings: Any) -> Any:
    """Text through a file, after so many characters."""
    buffer.seek(0)
    file = io.TextIOWrapper(buffer, *settings)
    while count > 0:
        read = len(file.read(min(count, PIECE)))
        if not read:
            break
        count -= read
    return file
