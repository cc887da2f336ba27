"""What cells can read of earlier steps: `steps[3]["df"]`, `steps[3].file("outputs/a.csv")` and `steps[3].code`.

`steps` is a builtin, so it is none of the user's variables, and a variable of that name wins. The host says which
snapshot a step has and lays out the blobs that are asked for; they are read here. What was loaded stays the same object
until the cell ends; a later cell loads it anew from blobs that are still there, so that a cell never finds what another
one did to its copy, and gives the same when it runs again.
"""

import builtins
import json
import linecache
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from operator import index
from pathlib import Path
from typing import Any, ClassVar

from . import frames
from .calls import HostCalls
from .cells import cell_name

FOLDER = "earlier-steps"
"""Where files of earlier steps lie, in the folder for temporary files."""


class EarlierSteps:
    """What this session has read of the steps before the cell that runs.

    Args:
        calls: The way to the host.
        engine: What takes the session's snapshots; made when it is first asked for.
    """

    def __init__(self, calls: HostCalls, engine: Callable[[], Any]) -> None:
        self._calls = calls
        self._engine = engine
        self._lock = threading.RLock()
        self._snapshots: dict[int, Any] = {}
        self._files: dict[tuple[int, str], Path] = {}
        self._folder = os.path.join(tempfile.gettempdir(), FOLDER)
        Step.session = self
        builtins.steps = Steps()  # type: ignore[attr-defined]

    def begin(self) -> None:
        """A cell begins: it loads what it needs anew."""
        self._lock = threading.RLock()
        self._snapshots.clear()
        self._files.clear()

    def snapshot(self, number: int) -> Any:
        """The snapshot of a step; see `EarlierSnapshot`."""
        with self._lock:
            if number not in self._snapshots:
                engine = self._engine()
                id = self._ask(number)["snapshot"]
                folder = os.path.join(self._folder, str(number))
                self._snapshots[number] = engine.earlier(id, number, lambda names: self._ask(number, names), folder)
            return self._snapshots[number]

    def variable(self, number: int, name: str) -> Any:
        """A variable as it was after a step."""
        with self._lock:
            return self.snapshot(number).variable(name)

    def file(self, number: int, path: str) -> Path:
        """A copy of a file as it was after a step."""
        with self._lock:
            if (number, path) not in self._files:
                self._files[number, path] = Path(self.snapshot(number).write_file(path))
            return self._files[number, path]

    def _ask(self, number: int, names: Sequence[str] = ()) -> dict[str, Any]:
        """Have the host lay out the manifest of a step, or blobs that it names.

        Raises:
            StepError: there is no such step, or its snapshot cannot be read.
            OSError: the host cannot lay out anything now.
        """
        ok, body = self._calls.request(frames.STEP_REQUEST, f"{number}\n{''.join(names)}".encode())
        said: dict[str, Any] = json.loads(body)
        if ok:
            return said
        kind = OSError if said["kind"] == "OSError" else getattr(builtins, "StepError", KeyError)
        raise kind(said["message"])


class Step:
    """One earlier step: `step["df"]` is a variable as it was after that cell, `step.file("outputs/a.csv")` a file.

    Both are copies: nothing that is done to them changes the step, or the variables and files of now.
    """

    session: ClassVar[EarlierSteps]

    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        self._number = number

    def __getitem__(self, name: str) -> Any:
        if not isinstance(name, str):
            raise TypeError(f"the name of a variable is a text, not {name!r:.50}")
        return self.session.variable(self._number, name)

    def file(self, path: str | os.PathLike[str]) -> Path:
        """A copy of a workspace file as it was after that cell; its place, outside of the workspace.

        Raises:
            FileNotFoundError: there was none.
            IsADirectoryError: it was a folder.
        """
        name = os.path.normpath(os.path.relpath(path) if os.path.isabs(path) else os.fspath(path))
        if name.startswith("inputs" + os.sep):
            return Path(name).absolute()  # these are the same at all steps
        return self.session.file(self._number, name)

    @property
    def code(self) -> str:
        """The source of that cell; it goes along in snapshots, for tracebacks.

        Raises:
            LookupError: code of a cell has emptied Python's cache of sources.
        """
        entry = linecache.cache.get(cell_name(self._number))
        if entry is None or len(entry) != 4:
            raise LookupError(f"the source of step {self._number} is not in this session any more")
        return "".join(entry[2])

    def keys(self) -> list[str]:
        """The names of the variables that the step has."""
        return list(self.session.snapshot(self._number).names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    def __len__(self) -> int:
        return len(self.keys())

    def __repr__(self) -> str:
        return f"steps[{self._number}]"

    def __reduce__(self) -> Any:
        return step_of, (self._number,)


class Steps:
    """The steps of this analysis that lie before the cell: `steps[3]` is what there was after cell 3."""

    __slots__ = ()
    __iter__: ClassVar[None] = None

    def __getitem__(self, number: int) -> Step:
        step = Step(index(number))
        Step.session.snapshot(index(number))
        return step

    def __repr__(self) -> str:
        return "steps"

    def __reduce__(self) -> str:
        return "steps"


Steps.__module__ = "builtins"


def step_of(number: int) -> Step:
    """A step that a snapshot names; it is looked for when something of it is needed."""
    return Step(number)
