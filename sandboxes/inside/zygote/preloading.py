"""What the zygote imports before it forks, so that sandboxes need not."""

import ctypes
import gc
import importlib
import io
import os
import re
import struct
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

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
    """Put dense parts of this process's own memory into huge pages, where the system allows it."""
    if os.sysconf("SC_PAGE_SIZE") != PAGE:
        return
    with suppress(OSError), open("/proc/self/pagemap", "rb", buffering=0) as pages:
        for start in list(_whole()):
            pages.seek(start // PAGE * 8)
            seen = pages.read(HUGE // PAGE * 8)
            if sum(entry & PRESENT != 0 for (entry,) in struct.iter_unpack("Q", seen)) >= FULL:
                libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(HUGE), MADV_COLLAPSE)


def _whole() -> Iterator[int]:
    """The addresses at which huge pages could begin."""
    with open("/proc/self/maps", "rb") as lines:
        for line in lines:
            if found := OWN.match(line.rstrip(b"\n")):
                start, end = (int(part, 16) for part in found.groups())
                yield from range(-(-start // HUGE) * HUGE, end - HUGE + 1, HUGE)


KERNEL = (
    "session", "calls", "standby", "snapshots.engine", "snapshots.save", "snapshots.load",
    "snapshots.files.files_of_step", "proving.prover", "start", "parent_death",
    "warm_up",
)  # fmt: skip


def preload(names: list[str]) -> None:
    """Import packages, use them once where that makes lazy parts of them ready, and freeze what is there.

    A package that is missing or broken is left to the cell that asks for it.
    """
    gc.disable()  # nothing that is imported is garbage
    loaded = importlib.import_module("stepwell_kernel.snapshots.session_state.interpreter_state").PRELOADED
    for name in names:
        with suppress(Exception):
            importlib.import_module(name)
            loaded += dict.fromkeys((name.partition(".")[0], name))
    _kernel()
    for use in (_matplotlib, *importlib.import_module("stepwell_kernel.warm_up").PARTS, _traceback, _names):
        with suppress(Exception):
            use()
    gc.enable()
    gc.collect()
    gc.freeze()
    collapse()


def threads() -> int:
    """How many threads this process has; a process with several must not be forked."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 1


def _kernel() -> None:
    for name in KERNEL:
        with suppress(ImportError):
            importlib.import_module(f"stepwell_kernel.{name}")
    for name in ("ast", "linecache", "asyncio", "json", "decimal", "datetime", "random", "re", "collections"):
        importlib.import_module(name)


def _matplotlib() -> None:
    if "matplotlib.pyplot" not in sys.modules:
        return
    importlib.import_module("stepwell_kernel.figures").prepare()
    pyplot: Any = sys.modules["matplotlib.pyplot"]
    figure, axes = pyplot.subplots()
    axes.plot([1, 2])
    axes.set_title("x")
    figure.savefig(io.BytesIO(), format="png", bbox_inches="tight")
    pyplot.close("all")


def _names() -> None:
    packages = importlib.import_module("stepwell_kernel.packages")
    state = importlib.import_module("stepwell_kernel.snapshots.session_state.interpreter_state")
    packages.loaded()
    state.imported()


def _traceback() -> None:
    compile("print(1)", "x", "exec")
    try:
        raise ValueError
    except ValueError:
        traceback.format_exc()
