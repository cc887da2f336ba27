"""What a sandbox sent, read with bounds: small JSON here, all else in a walled-in process that is made for it.

Reading takes time and memory, and a parser of somebody else's format may have holes. So JSON is read in this process
only while it is so small that it costs a few milliseconds at most; larger JSON, and every table, is read by
`sandboxes/inside/reader` in a process that has given up files, network and other processes and ends when it has read.
What comes back of JSON are pieces of a few kilobytes each, put together beside the event loop; of tables a stream of
Arrow, which is mapped, not copied, and validated.
"""

import asyncio
import fcntl
import json
import mmap
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from typing import Any
from weakref import WeakValueDictionary

from sandboxes.host.limits import MEGABYTE
from sandboxes.host.session_pool import owner
from sandboxes.host.tasks import uncancellable
from sandboxes.inside import PROGRAMS
from sandboxes.inside.reader import pieces

READER = PROGRAMS / "reader" / "__main__.py"
SMALL = 48 << 10
"""Bytes of JSON that are read in this process: 2 ms at the worst."""
MAX_ITEMS = 500_000
"""Values, keys and separators in one JSON text."""
MAX_JSON = 64 << 20
"""Bytes."""
MAX_TABLE = 512 * MEGABYTE
"""Bytes that the tables of one call may have in memory together."""
MAX_CELLS = 100_000_000
"""Rows times columns of a table."""
SECONDS = 60
"""How long one thing may be read."""
AT_ONCE = 2
"""Processes that read at a time."""
COUNTED = 1 << 18
"""Bytes that are counted at a time, so that other threads get their turn."""
MORE_MEMORY = 512 << 20
"""Bytes that the process has beside what it reads."""
SEPARATORS = b"[{,:"


class UnreadableError(ValueError):
    """What a sandbox sent is not read; the message says why."""


def items_in(data: bytes | memoryview) -> int:
    """How many values a JSON text has at most; costs a thousandth of reading it."""
    view = memoryview(data)
    count = 1
    for start in range(0, len(view), COUNTED):
        some = bytes(view[start : start + COUNTED])
        count += len(some) - len(some.translate(None, SEPARATORS))
    return count


async def read_json(data: bytes, *, max_bytes: int = MAX_JSON, max_items: int = MAX_ITEMS) -> Any:
    """The value of a JSON text.

    Args:
        data: The text.
        max_bytes: What it may have.
        max_items: Values that it may have, keys and elements counted.

    Raises:
        UnreadableError: it is not JSON, or exceeds a limit.
    """
    if len(data) > max_bytes:
        raise UnreadableError(f"it has {len(data):,} bytes, more than the {max_bytes:,} that are read")
    if len(data) <= SMALL:
        return read_small(data)
    count = await asyncio.to_thread(items_in, data)
    if count > max_items:
        raise UnreadableError(f"it has more than the {max_items:,} values that are read")
    memory = 40 * len(data) + 400 * count + MORE_MEMORY
    [found] = await _read("json", [data], memory=memory, written=8 * len(data) + (1 << 20))
    try:
        return await asyncio.to_thread(pieces.join_pieces, found)
    except ValueError as error:
        raise UnreadableError("it cannot be read") from error


def read_small(data: bytes) -> Any:
    """The value of a JSON text that is no longer than `SMALL`.

    Raises:
        UnreadableError: it is longer, or not JSON.
    """
    if len(data) > SMALL:
        raise UnreadableError(f"it has {len(data):,} bytes, more than the {SMALL:,} that are read")
    try:
        return json.loads(data)
    except ValueError:
        raise UnreadableError("it is not JSON") from None
    except RecursionError:
        raise UnreadableError("it is nested too deep") from None


async def read_tables(
    data: Sequence[bytes | memoryview], *, max_bytes: int = MAX_TABLE, max_cells: int = MAX_CELLS
) -> list[Any]:
    """The tables of pyarrow in Parquet files.

    Args:
        data: The files.
        max_bytes: What they may have in memory together.
        max_cells: Rows times columns that each may have.

    Raises:
        ImportError: pyarrow is not installed.
        UnreadableError: one is no Parquet, or exceeds a limit.
    """
    import pyarrow

    limits = {"max_bytes": max_bytes, "max_cells": max_cells}
    memory = 2 * max_bytes + MORE_MEMORY
    found = await _read("tables", data, memory=memory, written=max_bytes + (64 << 20), **limits)
    try:
        return await asyncio.to_thread(lambda: [_table(one) for one in found])
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise UnreadableError(f"it cannot be read: {str(error)[:200]}") from None


def _table(data: memoryview) -> Any:
    import pyarrow
    import pyarrow.ipc

    with pyarrow.ipc.open_stream(pyarrow.py_buffer(data)) as reader:
        table = reader.read_all()
    table.validate(full=True)
    return table


async def _read(
    what: str, data: Sequence[bytes | memoryview], *, memory: int, written: int, **limits: int
) -> list[memoryview]:
    """What the reader process found in each of these."""
    try:
        async with _turn(), AsyncExitStack() as files:
            source, target = _file(files), _file(files)
            parts = await uncancellable(asyncio.to_thread(_fill, source, data))
            asked = {
                "what": what, "source": source, "target": target, "parts": parts,
                "memory": memory, "written": written, "seconds": SECONDS, **limits,
            }  # fmt: skip
            await _run(asked)
            return await uncancellable(asyncio.to_thread(_found, target))
    except OSError as error:  # this machine has no more processes, descriptors or memory to give
        raise UnreadableError(f"it cannot be read now ({error.strerror or error})") from error


async def _run(asked: dict[str, Any]) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        str(READER),
        json.dumps(asked),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        pass_fds=(asked["source"], asked["target"]),
        cwd="/",
        env={"LANG": "C.UTF-8", "JE_ARROW_MALLOC_CONF": "background_thread:false", "OMP_NUM_THREADS": "1"},
    )
    try:
        async with asyncio.timeout(SECONDS):
            code = await process.wait()
    except TimeoutError:
        raise UnreadableError(f"reading it takes more than the {SECONDS} s that are allowed") from None
    finally:
        if process.returncode is None:
            process.kill()
            await asyncio.shield(process.wait())
    if code != 0:
        raise UnreadableError("reading it needs more memory or time than is allowed")


def _found(target: int) -> list[memoryview]:
    """What the reader process wrote, which is not trusted."""
    _seal(target)
    size = os.fstat(target).st_size
    try:
        view = memoryview(mmap.mmap(target, size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ))
        length = int.from_bytes(view[-8:], "big")
        said = read_small(bytes(view[-8 - length : -8]))
        if refused := said.get("refused"):
            raise UnreadableError(str(refused)[:500])
        found, at = [], 0
        for one in said["sizes"]:
            if type(one) is not int or not 0 <= one <= size - at:
                raise ValueError
            found.append(view[at : at + one])
            at += one
    except UnreadableError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError):
        raise UnreadableError("reading it failed") from None
    return found


def _seal(file: int) -> None:
    """Seal a file, whoever else has it open: what was validated must be what is used.

    Raises:
        UnreadableError: somebody can write to it still.
    """
    if sys.platform == "linux":
        try:
            fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE)
        except OSError as error:
            raise UnreadableError("reading it did not come to an end") from error


def _fill(file: int, data: Sequence[bytes | memoryview]) -> list[tuple[int, int]]:
    """Write these one after the other, and say where each begins and ends."""
    parts, at = [], 0
    for one in data:
        left = memoryview(one)
        parts.append((at, at + len(left)))
        at += len(left)
        while left:
            left = left[os.write(file, left) :]
    return parts


def _file(files: AsyncExitStack) -> int:
    """A file without a name, which is closed with the others."""
    if sys.platform == "linux":
        descriptor = os.memfd_create("stepwell", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    else:
        descriptor, path = tempfile.mkstemp(prefix="stepwell-")
        os.unlink(path)  # noqa: PTH108
    files.callback(os.close, descriptor)
    return descriptor


_slots: WeakValueDictionary[tuple[asyncio.AbstractEventLoop, str], asyncio.Semaphore] = WeakValueDictionary()
"""Of each event loop: those of all together, and of each user's who has something read."""


@asynccontextmanager
async def _turn() -> AsyncIterator[None]:
    """Wait for a turn; where there are users, each has one at a time."""
    name = owner.get().name
    async with _slot(name, 1) if name else nullcontext(), _slot("", AT_ONCE):
        yield


def _slot(name: str, count: int) -> asyncio.Semaphore:
    return _slots.setdefault((asyncio.get_running_loop(), name), asyncio.Semaphore(count))
