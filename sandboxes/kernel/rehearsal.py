"""Goes through what a first cell does, in a process that still waits for its order.

A forked process gets its own copy of each page when it first writes to it. After a rehearsal it has those that every
session writes to, and nobody has waited for them.
"""

import json
import linecache
import os
from types import ModuleType

from . import frames, namespace, workspace
from .cells import Cells, cell_name
from .streams import Stream

CELL = "rehearsed = [1, 'a', 2.5]\nfor each in rehearsed:\n    str(each)\nprint(end='')\nrehearsed"
NOWHERE = "/nonexistent"


def rehearse() -> None:
    """Run a cell for nobody, and leave nothing of it."""
    module = ModuleType("__main__")
    module.__dict__["__builtins__"] = __builtins__
    value = Cells(module).run(CELL, 0)
    linecache.cache.pop(cell_name(0), None)
    told = json.dumps({"namespace": namespace.rows(module.__dict__, {}), "value": repr(value)}).encode()
    for _ in frames.Unpacker().feed(frames.pack({"type": "done", "id": ""}, told)):
        pass
    workspace.changes(workspace.Scan(NOWHERE), workspace.Scan(NOWHERE))
    Stream(1).detach()
    os.environ["REHEARSED"] = ""
    del os.environ["REHEARSED"]
