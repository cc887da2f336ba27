"""Keeps what the kernel needs of Python's library out of the reach of cells, which may replace parts of it.

A cell that sets `os.getpid` or `json.dumps` to something of its own does so for itself and its libraries. The kernel's
modules have copies of these modules, made before the first cell ran, and builtins of their own (see `start`). What
these copies and Python itself look up elsewhere is put back: builtins for as long as the kernel has something to do,
the rest (the `os.stat` of `os.path.exists`) for as long as a snapshot takes.
"""

import builtins
import importlib
import operator
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from .dict_contents import DictContents, is_alone

NAMES = ("json", "os", "os.path", "time", "hashlib", "io", "select", "struct", "stat", "re", "signal", "socket")
"""Modules that nothing of the kernel sets anything in, and that keep no variables of their own."""
LOOKED_UP = (*NAMES, "posix", "genericpath", "pickle", "contextlib", "functools", "operator", "types")
"""Modules whose functions are called through others, where no copy helps."""
DELETED: Any = object()
"""In the place of what a cell has deleted."""
KERNEL = "stepwell_kernel"
OURS = frozenset({"steps", "StepError", "HostFunctionError"})
"""Names in `builtins` that the kernel puts there."""


class CellBuiltins:
    """What cells have made of `builtins`: there while a cell runs and while the session waits, for its threads."""

    def __init__(self) -> None:
        self._space = vars(builtins)
        self._own = {name: value for name, value in self._space.items() if name not in OURS}
        self._of_cells: dict[str, Any] = {}
        """What is taken out now: name → value, or `DELETED`."""
        self._contents = DictContents(self._space)
        """All of them, when nothing was replaced and nothing added; that nothing has been since is seen faster."""

    def take_out(self) -> None:
        """Have builtins as they were before the first cell; names that cells added stay. May be done twice."""
        if self._is_untouched():
            return
        space, is_own = self._space, True
        for name, value in self._own.items():
            if (now := space.get(name, DELETED)) is not value:
                self._of_cells[name] = now
                space[name] = value
                is_own = False
        if is_own and is_alone() and not self._added():
            self._contents.remember()

    def changed(self) -> dict[str, Any]:
        """What cells have replaced, deleted (`DELETED`) or added, while the rest is taken out."""
        added = set[str]() if self._is_untouched() else self._added()
        return self._of_cells | {name: self._space[name] for name in added}

    def _is_untouched(self) -> bool:
        return self._contents.is_same() and is_alone()

    def _added(self) -> set[str]:
        return self._space.keys() - self._own.keys() - OURS

    def set(self, name: str, value: Any) -> None:
        """Have a name as a cell has made it, once what is taken out is put in again."""
        (self._of_cells if name in self._own else self._space)[name] = value

    def forget(self) -> None:
        """Have them as they were before the first cell, from now on."""
        self._of_cells.clear()
        for name in self._added():
            del self._space[name]

    def put_in(self) -> None:
        """Have them as cells have made them."""
        for name, now in self._of_cells.items():
            if now is DELETED:
                self._space.pop(name, None)
            else:
                self._space[name] = now
        self._of_cells.clear()


class OwnLibrary:
    """The copies, and the modules of the kernel that have them."""

    def __init__(self) -> None:
        self.builtins = CellBuiltins()
        self._copies: dict[str, ModuleType] = {}
        for name in NAMES:
            module = importlib.import_module(name)
            copy = ModuleType(module.__name__)
            copy.__dict__.update(vars(module))
            self._copies[name] = copy
        self._copies["os"].__dict__["path"] = self._copies["os.path"]
        self._functions: list[tuple[DictContents, list[str], list[Any]]] = []
        """The variables of each module in `LOOKED_UP`, the names of its functions and classes, and these."""
        for name in filter(sys.modules.__contains__, LOOKED_UP):
            space = vars(sys.modules[name])
            names = [variable for variable, value in space.items() if callable(value)]
            self._functions.append((DictContents(space), names, [space[variable] for variable in names]))
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
    def as_it_was(self) -> Iterator[dict[tuple[str, str], Any]]:
        """Have the library as it was before the first cell, and then as cells have made it.

        Yields:
            What cells have put there: name of the module and of the variable → their value, or `DELETED`.
        """
        is_not, of_cells = operator.is_not, dict[tuple[str, str], Any]()
        spaces: dict[str, dict[str, Any]] = {}
        alone = is_alone()
        for contents, names, values in self._functions:
            if alone and contents.is_same():
                continue
            space = contents.space
            if not any(map(is_not, map(space.get, names), values)):
                if alone:
                    contents.remember()
            else:
                module = space["__name__"]
                spaces[module] = space
                for name, value in zip(names, values, strict=True):
                    if (now := space.get(name, DELETED)) is not value:
                        of_cells[module, name] = now
                        space[name] = value
        try:
            yield of_cells
        finally:
            for (module, name), now in of_cells.items():
                if now is DELETED:
                    spaces[module].pop(name, None)
                else:
                    spaces[module][name] = now

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
