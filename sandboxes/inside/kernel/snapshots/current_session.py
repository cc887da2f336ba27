"""Which session this is: its `__main__`, its folders, and its paths as snapshots have them, to be found elsewhere."""

import contextvars
import functools
import os
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar

from ..output import Streams
from .cell_sources import CellSources


class CurrentSession:
    """The `__main__` of this session, and what the kernel put into it."""

    main = ModuleType("__main__")
    display: object = None
    root = ""
    """Its workspace."""
    folders: ClassVar[dict[str, str]] = {}
    """Its folders by what stands for them in a path of a snapshot."""
    earlier_file: Callable[[str, str], str] | None = None
    """While variables of an earlier step are loaded: the copy of a file of that step, by its folder and its path."""
    streams: dict[str, Any]
    cells = CellSources()
    """The code of its cells."""
    not_made: ClassVar[dict[str, tuple[str, str]]] = {}
    """What a restore could not make of a variable that is there: kind and reason, by name."""
    asks_for_identities = False
    """Whether a cell of it calls `id`."""
    asks_for_attributes = False
    """Whether a cell of it uses the dictionary of attributes of an object."""
    context = contextvars.Context()
    """That in which cells run, as it was when a snapshot began; another thread may take that."""

    @classmethod
    def remember_streams(cls) -> None:
        """Remember the session's own streams: a cell may have put others there, and pickling does."""
        cls.context = contextvars.copy_context()
        own: dict[int, Any] = dict(Streams.now)
        cls.streams = {
            "stdout": own.get(1, sys.stdout),
            "stderr": own.get(2, sys.stderr),
            "stdin": sys.__stdin__,
        }


INSIDE = "workspace:"

FOLDERS = {"temporary:": "TMPDIR", "home:": "HOME"}
"""The other folders of a session: what stands for them, and the variable of the environment that names them."""

INSTALLED = ("/site-packages/", "/dist-packages/")

OF_OTHERS = (os.path.dirname(os.__file__) + "/", os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + "/")
"""Python's own library and the kernel, which may lie below a folder of the session."""


def begin(main: ModuleType, display: object, root: str, environment: dict[str, str]) -> None:
    """Say which session this is.

    Args:
        main: Its `__main__`.
        display: What the kernel put there to show things with.
        root: Its workspace.
        environment: The environment in which it began.
    """
    named = {mark: environment.get(variable, "") for mark, variable in FOLDERS.items()}
    CurrentSession.main, CurrentSession.display, CurrentSession.root = main, display, root
    CurrentSession.folders = {INSIDE: root, **{mark: folder for mark, folder in named.items() if folder}}


def is_of_session(path: Any, *more: str) -> bool:
    """Whether the file of a module is the user's: in a folder of the session, and not of a package installed there.

    Args:
        path: The file.
        more: Folders that are the session's besides.
    """
    if not isinstance(path, str) or not path.startswith(_prefixes(*CurrentSession.folders.values(), *more)):
        return False
    return not path.startswith(OF_OTHERS) and not any(name in path for name in INSTALLED)


@functools.lru_cache(maxsize=10)
def _prefixes(*folders: str) -> tuple[str, ...]:
    return tuple(os.path.join(folder, "") for folder in folders if folder)


def portable_path(path: str | os.PathLike[str]) -> str:
    """A path as a snapshot has it: that of a folder of the session may be another one elsewhere."""
    full = os.path.abspath(path)
    for mark, folder in CurrentSession.folders.items():
        root = os.path.join(folder, "")
        if (full + os.sep).startswith(root):
            return mark + full[len(root) :]
    return full


def path_here(path: str) -> str:
    """A path of a snapshot in this session."""
    for mark, folder in CurrentSession.folders.items():
        if path.startswith(mark):
            if CurrentSession.earlier_file is not None:
                return CurrentSession.earlier_file(mark, path[len(mark) :])
            return os.path.normpath(os.path.join(folder, path[len(mark) :]))
    return path


def existing(path: str) -> str:
    """The same, of a database that must be there.

    Raises:
        FileNotFoundError: It is not.
    """
    path = path_here(path)
    if path and not os.path.exists(path):
        raise FileNotFoundError(f"the database {path} is not there")
    return path
