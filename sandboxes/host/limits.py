"""What a local sandbox may use at most."""

import os
from dataclasses import dataclass

MEGABYTE = 1 << 20
MOST_TMP = 2_000 * MEGABYTE
SHARE = 4
"""Which part of the memory `/tmp`, HOME and `/dev/shm` may each have, unless it is said."""


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
    tmp: int = 0
    """Bytes in `/tmp`, and as many in HOME; they count as memory. 0: a quarter of it, at most 2,000 MB."""
    shared_memory: int = 500 * MEGABYTE
    """Bytes in `/dev/shm`, at most a quarter of the memory; they count as memory."""
    open_files: int = 1_024
    """Files that one process has open."""
    cpu: int = 0
    """Seconds of computing of one process, in its whole life."""

    @property
    def memory_or_half(self) -> int:
        """The memory limit; half of the machine's memory when none is set."""
        return self.memory or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2

    @property
    def tmp_bytes(self) -> int:
        """The size of `/tmp`, and of HOME: never more than the memory that they count as."""
        return min(self.tmp or min(MOST_TMP, self.memory_or_half // SHARE), self.memory_or_half)

    @property
    def shared_memory_bytes(self) -> int:
        """The size of `/dev/shm`."""
        return min(self.shared_memory, self.memory_or_half // SHARE)

    @property
    def file_bytes(self) -> int:
        """The size of one file: none is larger than the folder may be in which there may be most; 0: any."""
        most = self.workspace + self.memory_or_half if self.workspace else 0
        return min(self.file or most, most or self.file)
