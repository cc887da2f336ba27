"""Asks the operating system which pages of memory were written, so that the others need not be read.

Linux 6.7 and newer can protect pages against writing and undo that by itself at the first write, without telling
anybody (`UFFD_FEATURE_WP_ASYNC`). A page that is still protected was written by nobody: not by Python, compiled code,
another thread, or the system itself (`read` into a buffer). Memory that was unmapped, moved or given back has lost its
protection, and memory shared with other processes, whose writes would not be seen, does not count as protected.

That a page is shared with a forked copy would say less: pages that were moved, and new ones that hold zeros, look the
same (see docs/decisions/0031-steps-beside-the-model.md).
"""

import ctypes
import fcntl
import os
import platform
import struct
from contextlib import suppress

USERFAULTFD = {"x86_64": 323, "aarch64": 282}
FLAGS = os.O_CLOEXEC | os.O_NONBLOCK | 1
"""The last: faults of user code only (`UFFD_USER_MODE_ONLY`). The system-call filter allows just these."""
API, FEATURES = 0xAA, 1 << 15
"""Its version, and `UFFD_FEATURE_WP_ASYNC`."""
UFFDIO_API, UFFDIO_REGISTER, UFFDIO_UNREGISTER, UFFDIO_WRITEPROTECT = 0xC018AA3F, 0xC020AA00, 0x8010AA01, 0xC018AA06
MODE_WRITEPROTECT, PROTECT = 2, 1
PAGEMAP_SCAN = 0xC0606610
WPALLOWED, WRITTEN, FILE, PRESENT = 1, 2, 4, 8
"""Categories of pages: what is mapped of a file, or shared with other processes, counts as of a file."""
REGIONS = 1024
"""Ranges that are asked for at a time."""
MOST_CALLS = 64
HIGH = 100
"""The first number for descriptors, out of the way of those that cells see."""
PAGE = os.sysconf("SC_PAGESIZE")

Range = tuple[int, int]
"""Addresses: the first, and the one after the last."""


class WrittenPages:
    """Protects memory of this process, and tells what of it is still protected."""

    def __init__(self) -> None:
        self._faults = self._pages = -1
        self._opened = False
        self._regions = (ctypes.c_uint64 * (3 * REGIONS))()
        os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        """Open everything anew when it is needed: a copy has the descriptors, but they are about the original."""
        self._opened = False

    def works(self) -> bool:
        """Whether this system can do it; asked once in each process, and tried out before it is relied on."""
        if not self._opened:
            self._opened = True
            self.close()
            seen = False
            with suppress(OSError, AttributeError, ValueError):
                self._open()
                seen = self._is_seen()
            if not seen:
                self.close()
        return self._pages >= 0

    def _open(self) -> None:
        if platform.machine() not in USERFAULTFD or struct.calcsize("P") != 8:
            raise OSError("its numbers are not known")
        syscall = ctypes.CDLL(None, use_errno=True).syscall
        syscall.restype = ctypes.c_long
        faults = syscall(ctypes.c_long(USERFAULTFD[platform.machine()]), ctypes.c_long(FLAGS))
        if faults < 0:
            raise OSError("it is refused")
        try:
            fcntl.ioctl(faults, UFFDIO_API, bytearray(struct.pack("3Q", API, FEATURES, 0)))
            pages = os.open("/proc/self/pagemap", os.O_RDONLY | os.O_CLOEXEC)
            try:
                self._faults = fcntl.fcntl(faults, fcntl.F_DUPFD_CLOEXEC, HIGH)
                self._pages = fcntl.fcntl(pages, fcntl.F_DUPFD_CLOEXEC, HIGH)
            finally:
                os.close(pages)
        finally:
            os.close(faults)

    def close(self) -> None:
        """Track nothing any more.

        Cells may have closed the descriptors: what has their numbers then is left alone.
        """
        for descriptor, what in ((self._faults, "userfaultfd"), (self._pages, "/pagemap")):
            with suppress(OSError):
                if descriptor >= 0 and what in os.readlink(f"/proc/self/fd/{descriptor}"):
                    os.close(descriptor)
        self._faults = self._pages = -1

    def _is_seen(self) -> bool:
        """Whether a write, and nothing else, is seen in memory of which that is known."""
        import mmap

        with mmap.mmap(-1, 4 * PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
            memory[: 4 * PAGE] = b"\1" * (4 * PAGE)
            held = ctypes.c_char.from_buffer(memory)
            start = ctypes.addressof(held)
            del held
            self.protect(start, start + 4 * PAGE)
            before = self.unwritten(start, start + 4 * PAGE)
            memory[PAGE] = 2
            after = self.unwritten(start, start + 4 * PAGE)
        return before == [(start, start + 4 * PAGE)] and after == [
            (start, start + PAGE),
            (start + 2 * PAGE, start + 4 * PAGE),
        ]

    def protect(self, start: int, end: int) -> None:
        """Protect the pages that lie in a range; only what is read after that is known to be unwritten later.

        Raises:
            OSError: they cannot be protected.
        """
        # Registered with what lies on its first and last page: so a block of `malloc` stays one area, and can grow.
        first, last = start - start % PAGE, end + -end % PAGE
        fcntl.ioctl(
            self._faults, UFFDIO_REGISTER, bytearray(struct.pack("4Q", first, last - first, MODE_WRITEPROTECT, 0))
        )
        first, last = start + -start % PAGE, end - end % PAGE
        if first < last:
            asked = bytearray(struct.pack("3Q", first, last - first, PROTECT))
            fcntl.ioctl(self._faults, UFFDIO_WRITEPROTECT, asked)

    def release(self, start: int, end: int) -> None:
        """Protect a range no longer; it may not be there any more."""
        start, end = start - start % PAGE, end + -end % PAGE
        with suppress(OSError):
            fcntl.ioctl(self._faults, UFFDIO_UNREGISTER, bytearray(struct.pack("2Q", start, end - start)))

    def unwritten(self, start: int, end: int) -> list[Range]:
        """What was not written since it was protected, in order: whole pages that lie in the range.

        Raises:
            OSError: it cannot be known.
        """
        at, end = start + -start % PAGE, end - end % PAGE
        found: list[Range] = []
        for _ in range(MOST_CALLS):
            asked = bytearray(
                struct.pack(
                    "12Q", 96, 0, at, end, 0, ctypes.addressof(self._regions), REGIONS, 0,
                    WRITTEN | FILE, WPALLOWED | WRITTEN | FILE | PRESENT, 0, PRESENT,
                )
            )  # fmt: skip
            count = fcntl.ioctl(self._pages, PAGEMAP_SCAN, asked)
            for index in range(count):
                first, last = self._regions[3 * index], self._regions[3 * index + 1]
                if found and found[-1][1] == first:
                    found[-1] = (found[-1][0], last)
                else:
                    found.append((first, last))
            at = struct.unpack_from("Q", asked, 32)[0]
            if at >= end or not count:
                break
        return found
