"""Puts the memory of a process into huge pages: a fork copies one entry for each of them, and not one for each page.

What a child writes to is still copied page by page, so it takes no more memory.
"""

import ctypes
import os
import re
import struct
from collections.abc import Iterator
from contextlib import suppress

from .system import libc

HUGE, PAGE = 2 << 20, 4 << 10
"""Bytes; where pages are of another size, huge ones are, too, and nothing is done."""
MADV_COLLAPSE = 25
"""Linux 6.1 and later; an older one refuses it, and all stays as it is."""
FULL = 480
"""Pages of 512 that must be there: what is missing would be added."""
PRESENT = 1 << 63
OWN = re.compile(rb"([0-9a-f]+)-([0-9a-f]+) rw.p \S+ \S+ 0 *(?:\[heap\])?$")
"""A line of `/proc/self/maps` that is private memory of no file, and not the stack."""


def collapse() -> None:
    """Put what is dense of this process's own memory into huge pages, as far as the system does that."""
    if os.sysconf("SC_PAGE_SIZE") != PAGE:
        return
    with suppress(OSError), open("/proc/self/pagemap", "rb", buffering=0) as pages:
        for start in list(_whole()):
            pages.seek(start // PAGE * 8)
            seen = pages.read(HUGE // PAGE * 8)
            if sum(entry & PRESENT != 0 for (entry,) in struct.iter_unpack("Q", seen)) >= FULL:
                libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(HUGE), MADV_COLLAPSE)


def _whole() -> Iterator[int]:
    """Where huge pages could begin."""
    with open("/proc/self/maps", "rb") as lines:
        for line in lines:
            if found := OWN.match(line.rstrip(b"\n")):
                start, end = (int(part, 16) for part in found.groups())
                yield from range(-(-start // HUGE) * HUGE, end - HUGE + 1, HUGE)
