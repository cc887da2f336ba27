"""Started by the host with two descriptors: reads from one, gives up everything, and writes what it found to the other.

What it writes: the results one after the other, then a JSON object that says how long each is or why there is none, and
the length of that object as eight bytes.
"""

import importlib.machinery
import importlib.util
import json
import mmap
import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

if not __package__:  # started by file path: the folder above is the package, wherever it was installed
    _spec = importlib.machinery.ModuleSpec("stepwell_inside", None, is_package=True)
    _spec.submodule_search_locations = [str(Path(__file__).resolve().parents[1])]
    sys.modules["stepwell_inside"] = importlib.util.module_from_spec(_spec)
    __package__ = "stepwell_inside.reader"

from . import pieces
from .confinement import confine
from .tables import UnreadableTableError, prepare, write_table

LENGTH = struct.Struct("!Q")


def main(arguments: list[str]) -> None:
    """Read one thing.

    Args:
        arguments: One JSON object: what to read, the descriptors, the limits, where in what came the parts are.
    """
    asked: dict[str, Any] = json.loads(arguments[0])
    source, target = asked["source"], asked["target"]
    if asked["what"] == "tables":
        prepare()
    confine(memory=asked["memory"], seconds=asked["seconds"], written=asked["written"])
    size = os.fstat(source).st_size
    data = memoryview(mmap.mmap(source, size, prot=mmap.PROT_READ) if size else b"")
    summary: dict[str, Any] = {"sizes": []}
    try:
        for start, end in asked["parts"]:
            summary["sizes"].append(READING[asked["what"]](data[start:end], target, asked))
    except UnreadableTableError as error:
        summary = {"refused": str(error)}
    except pieces.UnsplittableError as error:
        summary = {"refused": str(error)}
    except RecursionError:
        summary = {"refused": "it is nested too deep"}
    except MemoryError:
        summary = {"refused": "reading it needs more memory than is allowed"}
    except OSError as error:
        summary = {"refused": f"it has more bytes than are allowed ({error.strerror})"}
    last = json.dumps(summary).encode()
    write(target, last + LENGTH.pack(len(last)))


def write(target: int, data: bytes) -> int:
    """Write all of it."""
    left = memoryview(data)
    while left:
        left = left[os.write(target, left) :]
    return len(data)


def read_json(data: memoryview, target: int, asked: dict[str, Any]) -> int:
    """A JSON text, as pieces."""
    try:
        value = json.loads(bytes(data))
    except ValueError:
        raise UnreadableTableError("it is not JSON") from None
    return sum(write(target, piece) for piece in pieces.cut(value))


def read_table(data: memoryview, target: int, asked: dict[str, Any]) -> int:
    """A Parquet file, as a stream of Arrow."""
    before = os.lseek(target, 0, os.SEEK_CUR)
    room = max(0, asked["max_bytes"] - before)  # all tables of a call share it
    write_table(data, target, max_bytes=room, max_cells=asked["max_cells"])
    return os.lseek(target, 0, os.SEEK_CUR) - before


READING: dict[str, Callable[[memoryview, int, dict[str, Any]], int]] = {"json": read_json, "tables": read_table}

if __name__ == "__main__":
    main(sys.argv[1:])
    os._exit(0)  # all is written; Arrow may abort a process that ends while one of its threads does
