"""Started by the host with two descriptors: reads from one, gives up everything, and writes what it found to the other.

What it writes: the results one after the other, then a JSON object that says how long each is or why there is none, and
the length of that object as eight bytes.
"""

import importlib.machinery
import importlib.util
import json
import mmap
import os
import resource
import signal
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

if not __package__:  # started by file path: the folder above is the package, wherever it was installed
    _spec = importlib.machinery.ModuleSpec("stepwell_inside", None, is_package=True)
    _spec.submodule_search_locations = [str(Path(__file__).resolve().parents[1])]
    sys.modules["stepwell_inside"] = importlib.util.module_from_spec(_spec)
    __package__ = "stepwell_inside.reader"

from . import pieces
from .tables import UnreadableTableError, prepare, write_table

if sys.platform == "linux":
    from ..zygote import landlock, seccomp, system

LENGTH = struct.Struct("!Q")
NOBODY = 65_534


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
    said: dict[str, Any] = {"sizes": []}
    try:
        for start, end in asked["parts"]:
            said["sizes"].append(READING[asked["what"]](data[start:end], target, asked))
    except UnreadableTableError as error:
        said = {"refused": str(error)}
    except pieces.UnsplittableError as error:
        said = {"refused": str(error)}
    except RecursionError:
        said = {"refused": "it is nested too deep"}
    except MemoryError:
        said = {"refused": "reading it needs more memory than is allowed"}
    except OSError as error:
        said = {"refused": f"it has more bytes than are allowed ({error.strerror})"}
    last = json.dumps(said).encode()
    write(target, last + LENGTH.pack(len(last)))


def confine(*, memory: int, seconds: int, written: int) -> None:
    """Give everything up but the descriptors that are open, as far as this machine supports it.

    From now on it opens no file, reaches no network and no other process, starts none, and has limits of memory, time
    and what it writes.

    Args:
        memory: Bytes that it may have.
        seconds: Seconds of the processor.
        written: Bytes that it may write to one file.
    """
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_DATA: memory,
        resource.RLIMIT_FSIZE: written,
        resource.RLIMIT_NOFILE: 64,
        resource.RLIMIT_NPROC: 0,  # one that it left behind would still have the file that the host reads then
    }
    with suppress(OSError):  # if memory runs short, this is what goes
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    for what, limit in limits.items():
        hard = resource.getrlimit(what)[1]
        value = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        with suppress(ValueError, OSError):  # a system may not take it
            resource.setrlimit(what, (value, value))
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    if sys.platform == "linux":
        system.no_new_privileges()
        system.prctl(system.PR_SET_DUMPABLE, 0)
        system.die_with_parent(signal.SIGKILL)
        if landlock.abi() >= 1:
            with suppress(OSError):
                landlock.restrict(read=(), write=(), network=False)
        if seccomp.supported():
            with suppress(OSError):
                seccomp.install(network=False, strict=True)


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
