"""What a local sandbox may use at most."""

import os
from dataclasses import dataclass

MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one sandbox; 0 means that there is none."""

    memory: int = 0
    """Bytes of memory, of all its processes together."""
    processes: int = 256
    """Processes and threads at a time."""
    file: int = 10_000 * MEGABYTE
    """Bytes of one file."""
    workspace: int = 50_000 * MEGABYTE
    """Bytes of all files of the workspace."""
    tmp: int = 2_000 * MEGABYTE
    """Bytes in `/tmp`, and as many in HOME; they count as memory."""
    shared_memory: int = 500 * MEGABYTE
    """Bytes in `/dev/shm`; they count as memory."""
    open_files: int = 1_024
    """Files that one process has open."""
    cpu: int = 0
    """Seconds of computing of one process, in its whole life."""

    @property
    def memory_or_half(self) -> int:
        """The memory limit; half of the machine's memory when none is set."""
        return self.memory or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
