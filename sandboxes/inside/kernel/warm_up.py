"""Warms up a process that still waits for its order, by doing what first cells do.

A forked process gets its own copy of each page when it first writes to it. After the warm-up it has those that every
session writes to, and nobody has waited for them. The zygote warms up, too: what is imported on the way
is then there in all of them.
"""

import json
import linecache
import os
import sys
from types import ModuleType
from typing import Any

from . import frames, side_effects, summaries, tracebacks
from .cells import Cells, cell_name
from .output import Displays, Stream

CELL = "rehearsed = [1, 'a', 2.5]\nfor each in rehearsed:\n    str(each)\nprint(end='')\nrehearsed"
NOWHERE = "/nonexistent"


def run_cell() -> None:
    """Run a cell for nobody, and leave nothing of it."""
    module = ModuleType("__main__")
    module.__dict__["__builtins__"] = __builtins__
    value = Cells(module).run(CELL, 0)
    linecache.cache.pop(cell_name(0), None)
    told = json.dumps({"namespace": summaries.rows(module.__dict__, {}), "value": repr(value)}).encode()
    for _ in frames.Unpacker().feed(frames.pack({"type": "done", "id": ""}, told)):
        pass
    side_effects.changes(side_effects.Scan(NOWHERE), side_effects.Scan(NOWHERE))
    Stream(1).detach()
    os.environ["REHEARSED"] = ""
    del os.environ["REHEARSED"]


def build_session() -> None:
    """Make what a session is made of."""
    tracebacks.Tracebacks(NOWHERE)
    side_effects.SideEffectMonitor("", [NOWHERE], sealed=True)
    Displays(NOWHERE, lambda _: None).begin(1)


def group_table() -> None:
    """Group a table, where pandas is imported: a first group-by writes to as many pages as all the rest."""
    pandas: Any = sys.modules.get("pandas")
    if pandas is not None:
        frame = pandas.DataFrame({"a": [1, 2, 1], "b": [1.0, 2.0, 3.0], "c": ["x", "y", "x"]})
        for by in ("a", "c"):
            repr(frame.groupby(by)["b"].agg(["sum", "mean"]))
        int(frame.groupby("a")["b"].sum().sum())
        frame.head().to_html()


PARTS = (run_cell, build_session, group_table)
"""In the order of how many sessions need them."""
