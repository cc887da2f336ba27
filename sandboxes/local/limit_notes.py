"""What the model is told when a limit of the sandbox is behind an exception of a cell."""

import re

from sandboxes.host.limits import Limits
from sandboxes.results import CellError

THREADS = re.compile(r"can't start new thread|cannot start new thread|Resource temporarily unavailable")


def limit_note(error: CellError | None, limits: Limits) -> str:
    """Which limit it was, at what value, and what to do instead; empty when it was none."""
    if error is None:
        return ""
    said = f"{error.name}: {error.message}"
    if "MemoryError" in error.name:
        return (
            f"memory is limited to {_megabytes(limits.memory_or_half)}: read in chunks, take fewer columns or smaller "
            "types, or let DuckDB work on the file"
        )
    if "[Errno 27]" in said and limits.file_bytes:
        allowed = _megabytes(limits.file_bytes)
        return f"one file may have {allowed}: write several, or a compressed format such as Parquet"
    if "[Errno 28]" in said:
        return (
            f"/tmp and HOME have room for {_megabytes(limits.tmp_bytes)} each, /dev/shm for "  # noqa: S108 - that one is its own
            f"{_megabytes(limits.shared_memory_bytes)}: write large files to the working directory, and remove what is "
            "not needed any more"
        )
    if "[Errno 24]" in said:
        return f"a process may have {limits.open_files:,} files open: close them (with open(…) as file)"
    if THREADS.search(said):
        return f"{limits.processes:,} processes and threads are allowed: use fewer workers (n_jobs)"
    return ""


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"
