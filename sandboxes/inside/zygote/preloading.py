"""What the parent of sandboxes has ready, so that each of them need not import it."""

import gc
import importlib
import io
import os
import sys
import traceback
from contextlib import suppress
from typing import Any

from . import huge_pages

KERNEL = (
    "session", "calls", "standby", "snapshots.engine", "snapshots.taking", "snapshots.restoring", "start", "lifeline",
    "rehearsal",
)  # fmt: skip


def preload(names: list[str]) -> None:
    """Import packages, use them once where that makes lazy parts of them ready, and freeze what is there.

    A package that is missing or broken is left to the cell that asks for it.
    """
    loaded = importlib.import_module("stepwell_kernel.snapshots.ambient").PRELOADED
    for name in names:
        with suppress(Exception):
            importlib.import_module(name)
            loaded += dict.fromkeys((name.partition(".")[0], name))
    _kernel()
    for use in (_matplotlib, *importlib.import_module("stepwell_kernel.rehearsal").PARTS, _traceback, _names):
        with suppress(Exception):
            use()
    gc.collect()
    gc.freeze()
    huge_pages.collapse()


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
    ambient = importlib.import_module("stepwell_kernel.snapshots.ambient")
    packages.loaded()
    ambient.imported()


def _traceback() -> None:
    compile("print(1)", "x", "exec")
    try:
        raise ValueError
    except ValueError:
        traceback.format_exc()
