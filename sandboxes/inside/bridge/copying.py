"""Copies files into a container and out of it, over standard input and output; run as `python3 -c` with its source.

A file is its chunks, each after its length, and a length of zero. Into the container, each is preceded by its path,
after its length; a path of no length is the end. Out of it, the paths come as a line of JSON, and a file that there is
not is the length `MISSING`.

It is run before there is anything of ours in the container, so it imports nothing of ours.
"""

import json
import os
import stat
import struct
import sys
from typing import BinaryIO

LENGTH = struct.Struct("!I")
CHUNK = 1 << 18
MISSING = 0xFFFFFFFF


def put(source: BinaryIO) -> None:
    """Write the files that come in; one that does not come whole is not there afterwards."""
    while path := _exactly(source, _length(source)).decode("utf-8", "surrogateescape"):
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        try:
            with open(path, "wb") as writing:
                while length := _length(source):
                    writing.write(_exactly(source, length))
        except BaseException:
            os.unlink(path)
            raise


def get(paths: list[str], target: BinaryIO) -> None:
    """Send files, in their order."""
    for path in paths:
        try:
            # Whatever it has become meanwhile, nobody waits for it.
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError:
            target.write(LENGTH.pack(MISSING))
            continue
        with open(descriptor, "rb", buffering=0) as reading:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                target.write(LENGTH.pack(MISSING))
                continue
            while data := reading.read(CHUNK):
                target.write(LENGTH.pack(len(data)) + data)
        target.write(LENGTH.pack(0))
    target.flush()


def _length(source: BinaryIO) -> int:
    length: int = LENGTH.unpack(_exactly(source, LENGTH.size))[0]
    return length


def _exactly(source: BinaryIO, length: int) -> bytes:
    data = source.read(length)
    if len(data) < length:
        sys.exit("the files did not come whole")
    return data


if __name__ == "__main__":
    if sys.argv[1] == "put":
        put(sys.stdin.buffer)
    else:
        get(json.loads(sys.stdin.buffer.readline()), sys.stdout.buffer)
