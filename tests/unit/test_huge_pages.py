"""Dense memory goes into huge pages, which changes nothing of what is in it; sparse memory stays as it is."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

HELD = """
import ctypes, mmap, sys
from sandboxes.inside.zygote import preloading

def kilobytes(name):
    with open("/proc/self/smaps_rollup") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name))

PAGES = 16 << 20 >> 12
dense, sparse = (mmap.mmap(-1, 16 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) for _ in range(2))
for page in range(PAGES):
    dense[page * 4096] = page % 251
for page in range(0, PAGES, 16):
    sparse[page * 4096] = 7
before = kilobytes("Anonymous:")
preloading.collapse()
huge, grown = kilobytes("AnonHugePages:"), kilobytes("Anonymous:") - before
start, size = ctypes.addressof(ctypes.c_char.from_buffer(dense)), preloading.HUGE
for at in range(-(-start // size) * size, start + len(dense) - size + 1, size):
    preloading.libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(size), preloading.MADV_COLLAPSE)
print(huge, grown, kilobytes("AnonHugePages:") - huge)
assert all(dense[page * 4096] == page % 251 for page in range(PAGES))
assert all(sparse[page * 4096] == (0 if page % 16 else 7) for page in range(PAGES))
"""
RELEASE = tuple(int(part) for part in platform.release().split(".")[:2]) if sys.platform == "linux" else (0, 0)


@pytest.mark.skipif(RELEASE < (6, 1), reason="no memory can be put into huge pages on demand before Linux 6.1")
@pytest.mark.skipif(not Path("/sys/kernel/mm/transparent_hugepage").exists(), reason="this kernel has no huge pages")
def test_what_is_dense_is_put_into_huge_pages_and_what_is_sparse_does_not_grow() -> None:
    done = subprocess.run([sys.executable, "-c", HELD], capture_output=True, text=True, check=True)
    huge, grown, left = map(int, done.stdout.split())
    # A machine whose memory is in pieces has fewer huge pages to give.
    assert huge >= 12 << 10 or left <= 2 << 10
    assert grown <= 2 << 10
