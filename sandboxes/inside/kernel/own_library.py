"""Keeps what the kernel needs of Python's library out of the reach of cells, which may replace parts of it.

A cell that sets `os.getpid` or `json.dumps` to something of its own does so for itself and its libraries. The kernel's
modules have copies of these modules, made before the first cell ran.
"""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

NAMES = ("json", "os", "os.path", "time", "hashlib", "io", "select", "struct", "stat", "re", "signal", "socket")
"""Modules that nothing of the kernel sets anything in, and that keep no variables of their own."""
KERNEL = "stepwell_kernel"


class OwnLibrary:
    """The copies, and the modules of the kernel that have them."""

    def __init__(self) -> None:
        self._copies: dict[str, ModuleType] = {}
        for name in NAMES:
            module = importlib.import_module(name)
            copy = ModuleType(module.__name__)
            copy.__dict__.update(vars(module))
            self._copies[name] = copy
        self._copies["os"].__dict__["path"] = self._copies["os.path"]
        self.give()

    def give(self) -> None:
        """Give the copies to all modules of the kernel that are loaded."""
        by_module = {id(sys.modules[name]): copy for name, copy in self._copies.items()}
        for name, module in list(sys.modules.items()):
            if name == KERNEL or name.startswith(KERNEL + "."):
                for variable, value in list(vars(module).items()):
                    if isinstance(value, ModuleType) and id(value) in by_module:
                        vars(module)[variable] = by_module[id(value)]

    @contextmanager
    def importing(self) -> Iterator[None]:
        """Let modules of the kernel that are loaded meanwhile have the copies, too."""
        before = {name: sys.modules[name] for name in NAMES if name in sys.modules}
        sys.modules.update(self._copies)
        try:
            yield
        finally:
            sys.modules.update(before)


_shared: list[OwnLibrary] = []


def own_library() -> OwnLibrary:
    """That of this process; made when it is first asked for, before a cell has run."""
    if not _shared:
        _shared.append(OwnLibrary())
    return _shared[0]
